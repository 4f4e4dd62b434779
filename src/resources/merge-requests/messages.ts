import { invalid } from "../../core/errors.ts";
import { LONG_TEXT } from "../../core/input.ts";
import { titleOf } from "../../git/commits.ts";

/** Somebody as messages name them. */
export interface Named {
  readonly name: string;
  readonly email: string;
}

/** A commit, as far as messages need it. */
export interface MessageCommit {
  readonly message: string;
  readonly author: Named;
  readonly isMerge: boolean;
}

/** What templates of messages may mention of a merge request. */
export interface MessageFacts {
  readonly title: string;
  readonly description: string | null;
  readonly source_branch: string;
  readonly target_branch: string;
  readonly source_project_id: number | null;
  /** The full path of its project. */
  readonly project: string;
  readonly iid: number;
  /** The address of its page. */
  readonly url: string;
  readonly author: Named | undefined;
  readonly merger: Named;
  readonly reviewers: readonly Named[];
  readonly approvers: readonly Named[];
  /** The issues that it closes, as the project's texts refer to them: `#1`, `group/project#2`. */
  readonly issues: readonly string[];
  /** The newest first, as many as messages mention. */
  readonly commits: readonly MessageCommit[];
  /** The oldest of all commits. */
  readonly firstCommit: MessageCommit | undefined;
}

/** Commits that a message mentions at most, the newest ones. */
export const MOST_MENTIONED = 100;
/** Longer messages of commits are not repeated, in characters. */
const MOST_OF_ONE = 100 * 1024;
/** Likewise, of all of them. */
const MOST_OF_ALL = 512 * 1024;
/** The longest title in place of such a message. */
const MOST_OF_TITLE = 1000;

/** A message, or its title if that is too long. */
const repeated = (message: string, isLong = message.length > MOST_OF_ONE) =>
  isLong
    ? `${titleOf(message).slice(0, MOST_OF_TITLE)}\n\n-- Skipped commit body exceeding 100KiB in size.`
    : message.trim();

const signed = ({ name, email }: Named) => `${name} <${email}>`;
const lines = (word: string, people: readonly Named[]) =>
  people.map((person) => `${word}: ${signed(person)}`).join("\n");

/** GitLab's placeholders: `%{title}` and so on. */
const PLACEHOLDERS = {
  source_branch: ({ source_branch }) => source_branch,
  target_branch: ({ target_branch }) => target_branch,
  title: ({ title }) => title,
  issues: ({ issues }) => (issues.length === 0 ? null : `Closes ${sentenceOf(issues)}`),
  description: ({ description }) => description,
  reference: ({ project, iid }) => `${project}!${iid}`,
  local_reference: ({ iid }) => `!${iid}`,
  source_project_id: ({ source_project_id: id }) => (id === null ? null : String(id)),
  first_commit: ({ firstCommit }) => repeated(firstCommit?.message ?? ""),
  first_multiline_commit: (facts) => multilineOf(facts) ?? facts.title,
  first_multiline_commit_description: (facts) => {
    const message = multilineOf(facts);
    return message === undefined ? null : message.slice(titleOf(message).length).trim();
  },
  url: ({ url }) => url,
  reviewed_by: ({ reviewers }) => lines("Reviewed-by", reviewers),
  approved_by: ({ approvers }) => lines("Approved-by", approvers),
  merged_by: ({ merger }) => signed(merger),
  merge_request_author: ({ author }) => (author ? signed(author) : null),
  co_authored_by: ({ commits, author }) => {
    const authors = new Map(commits.map((commit) => [commit.author.email, commit.author]));
    if (author) authors.delete(author.email);
    return lines("Co-authored-by", [...authors.values()]);
  },
  all_commits: ({ commits }) => {
    let characters = 0;
    const items = commits
      .filter(({ isMerge }) => !isMerge)
      .map(({ message }) => {
        characters += message.length;
        const isLong = message.length > MOST_OF_ONE || characters > MOST_OF_ALL;
        return `* ${repeated(message, isLong)}`;
      });
    return items.join("\n\n");
  },
} satisfies Readonly<Record<string, (facts: MessageFacts) => string | null>>;

/** What of the facts takes look-ups of its own. */
export type Gathered = "reviewers" | "approvers" | "issues" | "commits";

/** The placeholders that mention what is gathered; of the commits, the oldest one is part. */
const GATHERED: Readonly<Record<Gathered, readonly (keyof typeof PLACEHOLDERS)[]>> = {
  reviewers: ["reviewed_by"],
  approvers: ["approved_by"],
  issues: ["issues"],
  commits: [
    "first_commit",
    "first_multiline_commit",
    "first_multiline_commit_description",
    "co_authored_by",
    "all_commits",
  ],
};

/** `#1`, `#1 and #2`, `#1, #2 and #3`. */
const sentenceOf = (words: readonly string[]) =>
  [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" and ");

/** The message of the oldest commit that is no merge and has more than a title. */
function multilineOf({ commits }: MessageFacts): string | undefined {
  const messages = commits.filter(({ isMerge }) => !isMerge).map(({ message }) => message.trim());
  const found = messages.findLast((message) => message.includes("\n"));
  return found === undefined ? undefined : repeated(found);
}

const NAMES = Object.keys(PLACEHOLDERS).join("|");
const PLACEHOLDER = new RegExp(`%\\{(${NAMES})\\}`, "g");
/** A line with a single placeholder. */
const ALONE = new RegExp(`^[ \\t]*%\\{(${NAMES})\\}[ \\t]*$`);

/** What messages are if the project has no templates of its own. */
const DEFAULT_TEMPLATES = {
  merge:
    "Merge branch '%{source_branch}' into '%{target_branch}'\n\n%{title}\n\n%{issues}\n\nSee merge request %{reference}",
  squash: "%{title}",
} as const;

/** What has to be gathered for a message: most mention little. */
export function gatheredFor(kind: "merge" | "squash", template: string | null): Set<Gathered> {
  const text = template ?? DEFAULT_TEMPLATES[kind];
  const isMentioned = (name: string) => text.includes(`%{${name}}`);
  const all = Object.keys(GATHERED) as Gathered[];
  return new Set(all.filter((gathered) => GATHERED[gathered].some(isMentioned)));
}

/**
 * Fills in the template of a commit's message. A line with nothing but an empty placeholder is left out, and the empty
 * line before it if there is another one behind it.
 *
 * @param template that of the project, if it has one
 * @param facts with what {@link gatheredFor} says
 * @throws ApiError 400 if the message is too long: a template may name a long text many times
 */
export function messageOf(
  kind: "merge" | "squash",
  template: string | null,
  facts: MessageFacts,
): string {
  const known = new Map<string, string>();
  let characters = 0;
  const filled = (name: string) => {
    const value = known.get(name) ?? PLACEHOLDERS[name as keyof typeof PLACEHOLDERS](facts) ?? "";
    known.set(name, value);
    return value;
  };
  const placed = (name: string) => {
    const value = filled(name);
    characters += value.length;
    if (characters <= LONG_TEXT) return value;
    throw invalid({
      [`${kind}_commit_message`]: [`is too long (maximum is ${LONG_TEXT} characters)`],
    });
  };
  const written = (template ?? DEFAULT_TEMPLATES[kind]).replaceAll("\r\n", "\n").split("\n");
  const kept: string[] = [];
  for (const [at, line] of written.entries()) {
    const alone = ALONE.exec(line)?.[1];
    if (alone === undefined || filled(alone) !== "") {
      kept.push(line.replace(PLACEHOLDER, (_, name: string) => placed(name)));
    } else if (kept.at(-1) === "" && (written[at + 1] ?? "") === "") kept.pop();
  }
  return kept.join("\n");
}
