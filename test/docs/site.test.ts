import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { isLong } from "../forms.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const site = join(root, "build/site");

describe.runIf(isLong)("the site of `npm run docs:site`", () => {
  let pages: string[] = [];
  beforeAll(() => {
    const options = { cwd: root, encoding: "utf8" } as const;
    const { status, stderr } = spawnSync(process.execPath, ["docs/site/build.mjs"], options);
    expect([status, stderr]).toEqual([0, expect.any(String)]);
    pages = readdirSync(site, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".html"))
      .sort();
  });

  it("has a page for each document", () => {
    const documents = ["docs", "docs/reference", "docs/decisions"].flatMap((folder) =>
      readdirSync(join(root, folder))
        .filter((name) => name.endsWith(".md"))
        .map((name) => join(folder, name.replace(/README\.md$/, "index.md"))),
    );
    const missing = ["index.md", "CHANGELOG.md", ...documents].filter(
      (path) => !pages.includes(path.replace(/\.md$/, ".html")),
    );
    expect(missing).toEqual([]);
  });

  it("has no link that leads nowhere, nor to a heading that isn't there", () => {
    const ids = new Map<string, Set<string>>();
    const idsOf = (page: string) => {
      const known =
        ids.get(page) ??
        new Set(
          [...readFileSync(join(site, page), "utf8").matchAll(/ id="([^"]+)"/g)].map(
            ([, id]) => id as string,
          ),
        );
      ids.set(page, known);
      return known;
    };
    const dead = pages
      .filter((page) => page !== "404.html")
      .flatMap((page) => {
        const text = readFileSync(join(site, page), "utf8");
        return [...text.matchAll(/<a [^>]*href="([^"]*)"/g)]
          .map(([, link]) => (link as string).replaceAll("&amp;", "&"))
          .filter((link) => {
            if (/^[a-z]+:/.test(link)) return false;
            const [path = "", anchor = ""] = link.split("#");
            const target = path.startsWith("/") ? path.slice(1) : join(dirname(page), path);
            const file = path === "" ? page : normalize(target === "" ? "." : target);
            const found = [file, join(file, "index.html")].find(
              (one) => existsSync(join(site, one)) && statSync(join(site, one)).isFile(),
            );
            if (found === undefined) return !existsSync(join(site, file));
            return anchor !== "" && !idsOf(found).has(decodeURIComponent(anchor));
          })
          .map((link) => `${page}: ${link}`);
      });
    expect([...new Set(dead)]).toEqual([]);
  });

  it("finds words without a network", () => {
    const assets = readdirSync(join(site, "assets/chunks"));
    const index = assets.find((name) => name.includes("localSearchIndex"));
    const text = readFileSync(join(site, "assets/chunks", index ?? ""), "utf8");
    expect(text.includes('["codeowners"')).toBe(true);
  });
});
