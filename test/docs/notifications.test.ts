import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { occasions } from "../../docs/generate/notifications.ts";

it("docs/notifications.md has what people get mail about", () => {
  const text = readFileSync(new URL("../../docs/notifications.md", import.meta.url), "utf8");
  const [, table] = /\| what happens .*\n\|[-|]+\n((?:\|.*\n)+)/.exec(text) ?? [];
  expect(table).toBe(occasions());
});
