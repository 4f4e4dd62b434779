import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const guide = await readFile(join(root, "docs/testing.md"), "utf8");

interface Block {
  section: string;
  language: string;
  code: string;
}

const blocks: Block[] = guide.split(/^## /m).flatMap((text) => {
  const section = text.slice(0, text.indexOf("\n"));
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = "", code = ""]) => ({
    section,
    language,
    code,
  }));
});

const excerpts: Record<string, string[]> = {
  js: ["examples/in-a-test/vitest.test.mjs", "examples/in-a-test/node-test.mjs"],
  ts: ["test/testing/test-server.test.ts"],
};

/** Whether all paragraphs of a code block occur in one of the tested files, ignoring indentation. */
async function isExcerpt({ language, code }: Block): Promise<boolean> {
  const flat = (text: string) => text.replace(/^\s+/gm, "");
  for (const file of excerpts[language] ?? []) {
    const text = flat(await readFile(join(root, file), "utf8"));
    if (code.split("\n\n").every((paragraph) => text.includes(flat(paragraph)))) return true;
  }
  return false;
}

/** A user's project in which the package and a client are installed. */
let project: string;
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "pm-api-docs-"));
  await mkdir(join(project, "node_modules/@gitbeaker"), { recursive: true });
  await symlink(root, join(project, "node_modules/pm-api"));
  const client = "node_modules/@gitbeaker/rest";
  await symlink(join(root, client), join(project, client));
});
afterAll(() => rm(project, { recursive: true }));

const programs: Block[] = [];
for (const block of blocks) {
  const isProgram = !["json", "sh", "text"].includes(block.language);
  if (isProgram && !(await isExcerpt(block))) programs.push(block);
}

describe("docs/testing.md", () => {
  it("contains code only in the known languages", () => {
    expect(new Set(blocks.map(({ language }) => language))).toEqual(
      new Set(["js", "ts", "json", "sh", "text"]),
    );
    expect(programs.length).toBeGreaterThan(7);
    expect(programs.filter(({ language }) => language !== "js")).toEqual([]);
  });

  it.concurrent.each(programs)(
    "$section: its code runs without changes",
    async ({ section, code }) => {
      const folder = await mkdtemp(join(project, "block-"));
      for (const { code: seed } of blocks.filter(
        (block) => block.section === section && block.language === "json",
      )) {
        await writeFile(join(folder, "seed.json"), seed);
      }
      const file = join(folder, "block.mjs");
      await writeFile(file, code);
      await promisify(execFile)(process.execPath, [file]);
    },
  );
});
