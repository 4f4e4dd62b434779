import { readFileSync } from "node:fs";
import type { Follower } from "../../src/core/followers.ts";
import { FOLLOWERS as ISSUABLES } from "../../src/resources/issuables/followers.ts";
import { FOLLOWERS as MEMBERS } from "../../src/resources/members/followers.ts";
import { FOLLOWERS as NOTES } from "../../src/resources/notes/followers.ts";

const TABLES: Readonly<Record<string, readonly Pick<Follower<never, string>, "does" | "after">[]>> =
  {
    "an issue or merge request": ISSUABLES.issue,
    "a merge request, besides": ISSUABLES.merge_request.filter(
      (follower) => !ISSUABLES.issue.includes(follower),
    ),
    "a note": NOTES,
    "a membership": MEMBERS,
  };

/** jobs.md as it is, with the table of what follows from changes as it has to be. */
export function jobs(): string {
  const rows = Object.entries(TABLES).flatMap(([of, followers]) =>
    followers.map(({ does, after }, at) => {
      const causes = [...new Set(after)].map((cause) => `\`${cause}\``).join(", ");
      return `| ${at === 0 ? of : ""} | ${causes} | ${does} |`;
    }),
  );
  const text = readFileSync(new URL("../jobs.md", import.meta.url), "utf8");
  const [all, head] = /(\| a change of .*\n\|[-|]+\n)(?:\|.*\n)*/.exec(text) ?? [];
  if (all === undefined) throw new Error("docs/jobs.md has no table of what follows from changes");
  return text.replace(all, () => `${head}${rows.join("\n")}\n`);
}
