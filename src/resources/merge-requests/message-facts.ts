import type { Viewer } from "../../core/access/visibility.ts";
import { readCommit } from "../../git/commits.ts";
import type { Repository } from "../../git/repository.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { closingIssues } from "../merge-request-versions/references.ts";
import {
  type Gathered,
  type MessageCommit,
  type MessageFacts,
  MOST_MENTIONED,
  type Named,
} from "./messages.ts";
import type { MergeFacts } from "./queries.ts";

/** The commits of a merge request, as messages mention them. */
export type MentionedCommits = Pick<MessageFacts, "commits" | "firstCommit">;

const NO_COMMITS: MentionedCommits = { commits: [], firstCommit: undefined };

/**
 * Gathers what messages of merge requests mention, with a statement for each kind of it.
 *
 * @param merges what `mergeFactsOf` found, at least one
 * @param needed what to gather besides; commits are given
 * @param commits those of merge requests, by id
 * @returns the facts by the ids of merge requests
 */
export async function gatherFacts(
  { db, viewer, base }: { readonly db: Reader; readonly viewer: Viewer; readonly base: string },
  merges: readonly MergeFacts[],
  needed: ReadonlySet<Gathered>,
  commits: ReadonlyMap<Value, MentionedCommits>,
): Promise<Map<number, MessageFacts>> {
  const ids = merges.map(({ id }) => id);
  const reviewers = needed.has("reviewers")
    ? await namedIn(db, "merge_request_reviewers", ids)
    : undefined;
  const approvers = needed.has("approvers") ? await namedIn(db, "approvals", ids) : undefined;
  const closed = needed.has("issues") ? await closingIssues(db, ids, viewer) : [];
  return new Map(
    merges.map((merge) => {
      const { id, iid, project } = merge;
      const issues = closed.filter(({ requestId }) => requestId === id);
      const facts = {
        ...merge,
        ...(commits.get(id) ?? NO_COMMITS),
        url: `${base}/${project}/-/merge_requests/${iid}`,
        author: authorOf(merge),
        merger: { name: merge.merger_name, email: merge.merger_email },
        reviewers: reviewers?.get(id) ?? [],
        approvers: approvers?.get(id) ?? [],
        issues: issues.map((issue) => issueName(issue, project)),
      };
      return [id, facts];
    }),
  );
}

const authorOf = ({ author_name: name, author_email: email }: MergeFacts): Named | undefined =>
  name !== null && email !== null ? { name, email } : undefined;

/** An issue, as texts of a project refer to it. */
function issueName(issue: { readonly path: string; readonly iid: number }, project: string) {
  const { path, iid } = issue;
  const namespace = project.slice(0, project.lastIndexOf("/") + 1);
  const isNeighbour = path.startsWith(namespace) && !path.slice(namespace.length).includes("/");
  const name = path === project ? "" : isNeighbour ? path.slice(namespace.length) : path;
  return `${name}#${iid}`;
}

/** The users of merge requests that a table has, as messages name them. */
async function namedIn(
  db: Reader,
  table: "approvals" | "merge_request_reviewers",
  ids: readonly number[],
): Promise<Map<number, Named[]>> {
  const among = placeholders(ids);
  const rows = await db.rows(
    `select x.merge_request_id, u.name, coalesce(u.commit_email, u.email) from ${table} x
     join users u on u.id = x.user_id
     where x.merge_request_id in (${among.sql}) order by x.created_at, x.user_id`,
    among.values,
  );
  const found = new Map<number, Named[]>();
  for (const [id, name, email] of rows as [number, string, string][]) {
    found.set(id, [...(found.get(id) ?? []), { name, email }]);
  }
  return found;
}

/**
 * Reads the commits of a merge request that messages mention.
 *
 * @param numbers of all its commits, the newest first
 */
export async function mentionedCommits(
  repository: Repository,
  numbers: readonly number[],
): Promise<MentionedCommits> {
  const read = async (number: number): Promise<MessageCommit> => {
    const { message, author, parents } = await readCommit(repository, number);
    return { message, author, isMerge: parents.length > 1 };
  };
  const commits: MessageCommit[] = [];
  for (const number of numbers.slice(0, MOST_MENTIONED)) commits.push(await read(number));
  const first = numbers.at(-1);
  const firstCommit = first === undefined ? undefined : await read(first);
  return { commits, firstCommit };
}
