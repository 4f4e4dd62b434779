import { readFileSync } from "node:fs";
import { KEYWORDS, REFUSED } from "../../src/ci/keywords.ts";

/** ci.md as it is, with the table of keywords as the parser has them. */
export function keywords(): string {
  const list = (keys: readonly string[]) => keys.map((key) => `\`${key}\``).join(", ");
  const rows = Object.entries(KEYWORDS).map(([place, keys]) => {
    const refused: readonly string[] = Object.hasOwn(REFUSED, place)
      ? REFUSED[place as keyof typeof REFUSED]
      : [];
    return `| ${place} | ${list(keys)} | ${list(refused)} |`;
  });
  const text = readFileSync(new URL("../ci.md", import.meta.url), "utf8");
  const [all, head] = /(\| where .*\n\|[- |]+\n)(?:\|.*\n)*/.exec(text) ?? [];
  if (all === undefined) throw new Error("docs/ci.md has no table of keywords");
  return text.replace(all, () => `${head}${rows.join("\n")}\n`);
}
