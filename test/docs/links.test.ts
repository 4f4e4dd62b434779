import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { filesBelow } from "../run/kinds.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
/** The targets of a document's links to files, in their order. */
const linksOf = (path: string) =>
  [
    ...withoutCode(read(path))
      .replaceAll(/`[^`\n]*`/g, "")
      .matchAll(/\]\(([^)\s]+)\)/g),
  ]
    .map(([, target]) => target as string)
    .filter((target) => !/^[a-z]+:/.test(target));
const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, "");
/** The names of a document's headings in links, as GitHub makes them. */
const anchorsOf = (path: string) =>
  [...withoutCode(read(path)).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    (heading as string)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...filesBelow("docs").filter((path) => path.endsWith(".md")),
];

describe("each link leads to something", () => {
  it.each(documents)("in %s", (path) => {
    const broken = linksOf(path).filter((link) => {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? path : normalize(join(dirname(path), file));
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

it("the README names each document once", () => {
  const guides = documents.filter((path) => dirname(path) === "docs");
  const named = linksOf("README.md").filter((link) => guides.includes(link));
  expect(named.toSorted()).toEqual(guides.toSorted());
});

it("the list of decisions names each one once, in the order of their numbers", () => {
  const files = readdirSync(join(root, "docs/decisions")).filter((name) => name !== "README.md");
  expect(linksOf("docs/decisions/README.md")).toEqual(files.toSorted());
});
