import type { Source } from "../../core/access/source.ts";
import { refused } from "../../core/errors.ts";
import { hasTier, type Tier } from "../../core/resource.ts";
import type { Awaitable, Reader } from "../../store/port.ts";
import * as iterations from "../iterations/queries.ts";
import * as labels from "../labels/queries.ts";
import * as milestones from "../milestones/queries.ts";
import * as users from "../users/queries.ts";

/** What a list is of that is neither the open nor the closed one. */
export const SUBJECTS = ["label", "milestone", "assignee", "iteration"] as const;
/** One of these. */
export type Subject = (typeof SUBJECTS)[number];

/** The id of what a list `bl` is of; null for the open and the closed one. */
export const SUBJECT_ID = `coalesce(${SUBJECTS.map((type) => `bl.${type}_id`).join(", ")})`;

interface Kind {
  find(db: Reader, source: Source, id: number): Awaitable<{ readonly id: number } | undefined>;
  readonly absent: string;
  /** What is answered without a licence for such lists, if they need one. */
  readonly unavailable?: string;
}

const unavailable = (what: string) => `${what} lists not available with your current license`;

const KINDS: Readonly<Record<Subject, Kind>> = {
  label: {
    find: (db, source, id) => labels.findInherited(db, source, { id }),
    absent: "Label not found!",
  },
  milestone: {
    find: (db, source, id) => milestones.findFor(db, source, { id }),
    absent: "Milestone not found!",
    unavailable: unavailable("Milestone"),
  },
  assignee: {
    find: (db, _, id) => users.find(db, id),
    absent: "User not found!",
    unavailable: unavailable("Assignee"),
  },
  iteration: {
    find: (db, source, id) => iterations.findFor(db, source, { id }),
    absent: "Iteration not found!",
    unavailable: unavailable("Iteration"),
  },
};

/** What a list is of. */
export interface Listed {
  readonly type: Subject;
  readonly id: number;
}

/**
 * Checks that a board of a group or project may have a list of something: a label, milestone or iteration of its own or of
 * a group above it, or a user.
 *
 * @throws ApiError 400
 */
export async function requireSubject(
  db: Reader,
  { source, tier }: { readonly source: Source; readonly tier: Tier },
  { type, id }: Listed,
): Promise<void> {
  const { find, absent, unavailable } = KINDS[type];
  if (unavailable && !hasTier(tier, "premium")) throw refused(unavailable);
  if (!(await find(db, source, id))) throw refused(absent);
}
