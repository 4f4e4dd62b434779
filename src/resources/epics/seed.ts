import * as v from "valibot";
import {
  type CheckedRecord,
  type InsertNested,
  type InstantSeed,
  instant,
  oneOf,
  SeedError,
  type SeededSource,
  type Seeding,
  type SeedParts,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import { updateRow } from "../../store/update.ts";
import * as hierarchy from "../hierarchy/queries.ts";
import { EPIC } from "../issuables/epic.ts";
import { recordState } from "../issuables/history.ts";
import { replaceLabels } from "../issuables/queries.ts";
import type { SeededIssuable } from "../issuables/seed.ts";
import * as issues from "../issues/queries.ts";
import { labelIdsOf } from "../labels/seed.ts";
import { seededHome } from "../namespaces/home.ts";
import * as epics from "./queries.ts";

/** An epic of a seed. */
export interface EpicSeed {
  title: string;
  description?: string | undefined;
  /** A user name. */
  author: string;
  /** Names; missing labels are created in the group. */
  labels?: string[] | undefined;
  state?: Word<"opened" | "closed"> | undefined;
  /** Default `false`. */
  confidential?: boolean | undefined;
  /** Such as `#1068bf`. */
  color?: string | undefined;
  /** A day. */
  start_date?: string | undefined;
  /** A day. */
  due_date?: string | undefined;
  /** The number of an epic of the group that it is below, which comes before it. */
  parent?: number | undefined;
  /** The issues that are below it, such as `acme/site#1`. */
  issues?: string[] | undefined;
  created_at?: InstantSeed;
}

const day = v.optional(v.pipe(v.string(), v.isoDate()));

const entries = {
  title: v.string(),
  description: v.optional(v.string()),
  author: v.string(),
  labels: v.optional(v.array(v.string()), []),
  state: v.optional(oneOf(["opened", "closed"]), "opened"),
  confidential: v.optional(v.boolean(), false),
  color: v.optional(v.pipe(v.string(), v.regex(/^#[0-9a-fA-F]{6}$/))),
  start_date: day,
  due_date: day,
  parent: v.optional(v.number()),
  issues: v.optional(v.array(v.string()), []),
  created_at: instant,
};

/** The id of an issue. @throws SeedError if there is none */
async function issueNamed(db: Parameters<typeof hierarchy.put>[0], name: string): Promise<number> {
  const [, project = "", iid = 0] = /^(.+)#(\d{1,9})$/.exec(name) ?? [];
  const [row] = await db.rows(
    `select i.id from issues i join projects p on p.id = i.project_id
     where lower(p.full_path) = lower(?) and i.iid = ? and i.issue_type = 'issue'`,
    [project, Number(iid)],
  );
  if (!row) throw new SeedError(`there is no issue ${name}`);
  return row[0] as number;
}

/** A group's epics. @param nested what each of them has */
export const epicsPart = <Nested extends SeedParts<SeededIssuable>>(nested: Nested) =>
  seedList({
    entries,
    nested,
    counted: "epics",
    async insert(seeding, epic, group: SeededSource, insertNested: InsertNested<SeededIssuable>) {
      // They are kept in hidden projects, after which no other gets its id; and any issue may be below them.
      seeding.atEnd(() => insert(seeding, epic, group, insertNested));
    },
  });

async function insert(
  seeding: Seeding,
  epic: CheckedRecord<typeof entries>,
  group: SeededSource,
  insertNested: InsertNested<SeededIssuable>,
): Promise<void> {
  const { db } = seeding;
  const { title, description, author, created_at: at = seeding.now } = epic;
  const { start_date = null, due_date = null, color = null } = epic;
  const projectId = await seededHome(db, group);
  const confidential = Number(epic.confidential);
  const inserted = await issues.insert(
    db,
    {
      project_id: projectId,
      author_id: seeding.userId(author),
      title,
      description,
      columns: { issue_type: "epic", confidential, start_date, due_date },
    },
    at,
  );
  const { id, iid } = inserted;
  await epics.replaceDetails(db, id, {
    color,
    start_date_fixed: start_date,
    start_date_is_fixed: Number(start_date !== null),
    due_date_fixed: due_date,
    due_date_is_fixed: Number(due_date !== null),
  });
  await replaceLabels(db, EPIC, id, await labelIdsOf(seeding, group, epic.labels));
  if (epic.parent !== undefined) {
    const parent = await db.one<{ id: number; confidential: number }>(
      "select id, confidential from issues where project_id = ? and iid = ?",
      [projectId, epic.parent],
    );
    if (!parent || parent.id === id || parent.confidential > confidential) {
      throw new SeedError(`an epic can't be below epic ${epic.parent} of ${group.fullPath}`);
    }
    await hierarchy.put(db, id, parent.id);
  }
  for (const name of epic.issues) await hierarchy.put(db, await issueNamed(db, name), id);
  const isOpen = epic.state === "opened";
  await insertNested({
    kind: EPIC,
    column: EPIC.column,
    id,
    iid,
    project: { ...group, column: "project_id", id: projectId, isHome: true },
    title,
    author,
    assignees: [],
    createdAt: at,
    endedAt: isOpen ? undefined : at,
  });
  if (isOpen) return;
  const closed_by_id = seeding.userId(author);
  await updateRow(db, "issues", id, { state: "closed", closed_at: at, closed_by_id }, at);
  recordState({ db, caller: { id: closed_by_id }, now: at }, EPIC, id, "closed");
  EPIC.place?.(db, [id]);
}
