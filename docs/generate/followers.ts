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

/** The rows of the table in jobs.md that says what follows from changes, in their order. */
export function followers(): string {
  const rows = Object.entries(TABLES).flatMap(([of, followers]) =>
    followers.map(({ does, after }, at) => {
      const causes = [...new Set(after)].map((cause) => `\`${cause}\``).join(", ");
      return `| ${at === 0 ? of : ""} | ${causes} | ${does} |`;
    }),
  );
  return `${rows.join("\n")}\n`;
}
