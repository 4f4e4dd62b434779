import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { type EachUser, NOT_DELETED_MILESTONE, type Viewer } from "../../core/access/visibility.ts";
import type { SearchIndex } from "../../core/lists/search-index.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Context } from "../../core/resource.ts";
import type { Recording } from "../../hooks/events.ts";
import type { Condition } from "../../store/conditions.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

/** A type of record that can be discussed: how its table and its words differ from those of the others. */
export interface DiscussedType {
  readonly table: "issues" | "merge_requests" | "snippets" | "noted_commits";
  /** The column with which notes refer to this one. */
  readonly column: "issue_id" | "merge_request_id" | "snippet_id" | "noted_commit_id";
  /** The class name in answers. */
  readonly className: "Issue" | "Epic" | "MergeRequest" | "Snippet" | "Commit";
  /** One of them, in words: `an issue`. */
  readonly one: string;
}

/** A type of record with plain notes and emoji, besides discussions. */
export interface NoteableType extends DiscussedType {
  readonly table: "issues" | "merge_requests" | "snippets";
  /** The alias of the table in queries. */
  readonly alias: "i" | "mr" | "s";
  /** The column with which tables for all types refer to this one. */
  readonly column: "issue_id" | "merge_request_id" | "snippet_id";
  /** The column with the number in URL paths and in references: within its project, or the id. */
  readonly number: "iid" | "id";
  /** In lists of events the name of the target's type. */
  readonly prefix: "issue" | "merge_request" | "snippet";
  readonly className: "Issue" | "Epic" | "MergeRequest" | "Snippet";
  /** Their segment in URL paths and, but for epics, the project's feature. */
  readonly path: "issues" | "epics" | "merge_requests" | "snippets";
  /** The character before the number in references. */
  readonly sigil: "#" | "&" | "!" | "$";
  /** What one is called: `issue`. */
  readonly name: string;
  /** What reading routes do if the project has the feature disabled: see `SharedOfSource` in core/resource.ts. */
  readonly whenDisabled: "refuse" | "leave out";
  /** The condition under which the caller may read a row in a project `p` they can read. */
  readonly visible: (viewer: Viewer | EachUser) => Condition;
  /** The condition on the projects `p` that can have such rows which the caller reads. */
  readonly projects: (viewer: Viewer | EachUser) => Condition;
}

/**
 * A type of issuable, as GitLab calls what issues and merge requests have in common: how its tables, words and answers
 * differ from those of the others.
 */
export interface IssuableType extends NoteableType {
  readonly table: "issues" | "merge_requests";
  readonly alias: "i" | "mr";
  readonly column: "issue_id" | "merge_request_id";
  /** Also the prefix of the tables of assignees, labels and subscriptions. */
  readonly prefix: "issue" | "merge_request";
  readonly className: "Issue" | "Epic" | "MergeRequest";
  readonly path: "issues" | "epics" | "merge_requests";
  /** The path parameter with their number in the project, or in the group. */
  readonly parameter: "issue_iid" | "epic_iid" | "merge_request_iid";
  /** Several of them, in words: `issues`. */
  readonly many: string;
  /** The tables with its users who take part because they are assigned to it, or asked to review it. */
  readonly involved: readonly string[];
  /** Whether reading routes accept CI job tokens. */
  readonly jobTokens?: true;
  /** The index of their titles and descriptions. */
  readonly search: SearchIndex;
  /** The tables a row is presented from. */
  readonly from: string;
  /** One of them in a list. */
  readonly listed: Presenter;
  /** One alone: only then `subscribed` says whether the caller is. */
  readonly single: Presenter;
  /**
   * Updates what is stored of the places of some of them on boards. To be called whenever their labels or their state
   * have changed.
   */
  readonly place?: (db: Database, ids: readonly number[]) => void;
  /**
   * Reads what the fields need that only this type has.
   *
   * @param ids of those that are presented
   * @returns a function that fills it into their rows
   */
  readonly readOwn: (
    ids: readonly Value[],
    context: Presenting,
  ) => Promise<(rows: readonly Value[][]) => void>;
}

/** What presenting issuables depends on. */
export interface Presenting extends Pick<Context, "presenter" | "view" | "viewer" | "tier"> {
  readonly db: Reader;
  /** The project or group of the request's path, if there is one. */
  readonly source?: Source | undefined;
}

/** Joins the author, the user who closed it and the milestone of an issuable. */
export const issuableJoins = (alias: string) => `left join users u on u.id = ${alias}.author_id
  left join users cb on cb.id = ${alias}.closed_by_id
  left join milestones m on m.id = ${alias}.milestone_id and ${NOT_DELETED_MILESTONE}
  left join namespaces mn on mn.id = m.namespace_id left join projects mp on mp.id = m.project_id`;

/** What changing an issuable depends on: its project, who changes it and when. */
export interface Writing extends Pick<Context, "source" | "viewer" | "now"> {
  readonly db: Database;
  readonly caller: Caller;
  /** What is known of the request that does it, if one does. */
  readonly request?: Recording["request"];
  readonly tier?: Context["tier"];
  /** The commit that the source branch must be at for `/merge` to merge it. */
  readonly head?: string | undefined;
  readonly view?: Pick<Context["view"], "base">;
}

/** What an attribute was, and what it is now. Labels and people are ids in ascending order. */
export interface Difference<T = Value | readonly number[]> {
  readonly previous: T;
  readonly current: T;
}

/** What is different, by attribute or column. */
export type Differences = Readonly<Record<string, Difference | undefined>>;
