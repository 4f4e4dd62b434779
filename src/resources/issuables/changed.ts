import type { Issuable } from "./queries.ts";
import type { Differences, IssuableType, Writing } from "./type.ts";

/** Why an issuable changes, as far as that is not the caller's wish alone, and what happens to it besides. */
export interface Cause {
  /** The name of a commit whose message says so, in hex. */
  readonly commit?: string;
  /** The id of a merge request that was merged. */
  readonly mergeRequestId?: number;
  /** A push: the head that the merge request had before. */
  readonly oldrev?: string | null;
  /** The id of a version that a merge request got. */
  readonly version?: number | undefined;
  /** An approval that was given or taken back; `approved` and `unapproved` if it is the one that counts. */
  readonly approval?: "approval" | "approved" | "unapproval" | "unapproved";
  /** Its approval rules have changed. */
  readonly rules?: true;
  /** The ids of those who wait for it to be merged, which has conflicts now. */
  readonly stuck?: readonly number[];
  /** The ids of those who waited for it to be merged, which it is not any more, as it got new commits. */
  readonly aborted?: readonly number[];
  /** The id of a reviewer who is asked again. */
  readonly asked?: number;
  /** What a note says that the caller has done, without its subject. */
  readonly note?: string;
}

/** A change of an issuable that was made, as its followers see it. */
export interface Change {
  readonly writing: Writing;
  readonly type: IssuableType;
  /** The issuable as it is now. A new issue may have no number yet. */
  readonly issuable: Pick<Issuable, "id" | "title" | "description" | "state"> & {
    readonly iid?: number | undefined;
    readonly source_project_id?: number | null | undefined;
  };
  /** What is different: attributes and columns by name. All of them were `null`, or empty, before it was made. */
  readonly differences: Differences;
  readonly cause: Cause;
}
