import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { followers } from "../../docs/generate/followers.ts";

it("docs/jobs.md has what follows from changes", () => {
  const text = readFileSync(new URL("../../docs/jobs.md", import.meta.url), "utf8");
  const [, table] = /\| a change of .*\n\|[-|]+\n((?:\|.*\n)+)/.exec(text) ?? [];
  expect(table).toBe(followers());
});
