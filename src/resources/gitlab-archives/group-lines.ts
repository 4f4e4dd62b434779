import { VISIBILITIES } from "../../core/access/visibility.ts";
import {
  badgeRow,
  boardRows,
  epicDetailsRow,
  flagIn,
  issueRows,
  labelRow,
  listIn,
  memberRow,
  milestoneRow,
  numberIn,
  type Row,
  textIn,
  toldIn,
} from "../bulk-imports/rows.ts";
import type { Told } from "../bulk-imports/source.ts";
import { GROUP_ARCHIVED } from "../exports/archived.ts";
import { ArchiveError, GROUP, type Line } from "../exports/format.ts";
import { type Here, objectsIn, People, rowLines } from "./relations.ts";
import { type Archive, entriesOf } from "./tar.ts";
import { detailsIn, Numbers } from "./told.ts";

const MOST_GROUPS = 10_000;
const MOST_NAMES = 100_000;

/** A record of a group, by the number that the group has in the archive. */
interface OfGroup {
  readonly group: number;
  readonly told: Told;
}

/**
 * An archive of a group that GitLab has written, as lines of an archive of ours: it is read once for each relation, that of
 * all groups in it.
 *
 * @throws ArchiveError if it is damaged, or of a project
 */
export async function* groupLinesOf(archive: Archive, here: Here): AsyncGenerator<Line> {
  const reading = new GroupReading(archive, here);
  yield* reading.groups();
  yield* reading.people();
  yield* reading.rowsOf("labels", (one) => reading.label(one));
  yield* reading.rowsOf("milestones", (one) => reading.milestone(one));
  yield* reading.rowsOf("badges", (one) => reading.badge(one));
  yield* reading.rowsOf("members", (one) => reading.member(one));
  yield* reading.rowsOf("boards", (one) => reading.board(one));
  yield* reading.rowsOf("epics", (one) => reading.epic(one));
  yield* reading.rowsOf("epics", (one) => reading.parent(one));
  yield { end: true };
}

/** Reads one archive, and knows what its records name. */
class GroupReading {
  readonly #archive: Archive;
  readonly #now: number;
  readonly #people: People;
  readonly #isNamed = (id: unknown) => this.#people.has(id);
  readonly #numbers = new Numbers();
  /** The numbers of labels and milestones by their groups and names. */
  readonly #labels = new Map<string, number>();
  readonly #milestones = new Map<string, number>();
  /** The epics that were read. */
  readonly #epics = new Set<number>();

  constructor(archive: Archive, { now, namesHere }: Here) {
    this.#archive = archive;
    this.#now = now;
    this.#people = new People(namesHere);
  }

  /** The records of a relation, group by group. */
  async *#relation(relation: string): AsyncGenerator<OfGroup> {
    for await (const { name, bytes } of entriesOf(this.#archive)) {
      const [, group, of] = /^tree\/groups\/(\d{1,15})\/([a-z_]{1,64})\.ndjson$/.exec(name) ?? [];
      if (of !== relation) continue;
      for await (const told of objectsIn(bytes)) yield { group: Number(group), told };
    }
  }

  rowsOf(relation: string, rowsOf: (one: OfGroup) => Row[]): AsyncGenerator<Line> {
    return rowLines(this.#relation(relation), rowsOf, GROUP_ARCHIVED);
  }

  /** The groups, each after the one that it is in. */
  async *groups(): AsyncGenerator<Line> {
    const found = new Map<number, Told>();
    for await (const { name, bytes } of entriesOf(this.#archive)) {
      const [, group] = /^tree\/groups\/(\d{1,15})\.json$/.exec(name) ?? [];
      if (group === undefined) continue;
      if (found.size >= MOST_GROUPS) throw new ArchiveError("the archive has too many groups");
      for await (const told of objectsIn(bytes)) found.set(Number(group), told);
    }
    const below = new Map<number | undefined, number[]>();
    for (const [id, { parent_id }] of found) {
      const parent = found.has(parent_id as number) ? (parent_id as number) : undefined;
      below.set(parent, [...(below.get(parent) ?? []), id]);
    }
    const top = below.get(undefined) ?? [];
    if (top.length !== 1) {
      throw new ArchiveError("the archive has no tree/groups with one group at the top");
    }
    const ordered: number[] = [...top];
    for (const id of ordered) ordered.push(...(below.get(id) ?? []));
    const rows = ordered.map((id) => groupRow(id, id === top[0], found.get(id) as Told));
    yield { table: "namespaces", columns: Object.keys(rows[0] as object) };
    for (const row of rows) yield Object.values(row);
  }

  async *people(): AsyncGenerator<Line> {
    for (const name of ["members", "user_contributions"]) {
      yield* this.#people.namedIn(toldOf(this.#relation(name)));
    }
  }

  /** The number of a label or milestone that a group has, or uses of a group above. */
  #named(
    known: Map<string, number>,
    group: number,
    name: string,
    rowOf: (id: number) => Row,
  ): { id: number; rows: Row[] } {
    const key = `${group} ${name}`;
    const before = known.get(key);
    if (before !== undefined) return { id: before, rows: [] };
    if (known.size >= MOST_NAMES) throw new ArchiveError("the archive has too many labels");
    const id = this.#numbers.next();
    known.set(key, id);
    return { id, rows: [of(group, rowOf(id))] };
  }

  #labelOf(group: number, told: Told) {
    const name = textIn(told["title"]) ?? "";
    return this.#named(this.#labels, numberIn(told["group_id"]) ?? group, name, (id) =>
      labelRow({ ...told, id, name }, this.#now),
    );
  }

  #milestoneOf(group: number, told: Told) {
    const title = textIn(told["title"]) ?? "";
    return this.#named(this.#milestones, numberIn(told["group_id"]) ?? group, title, (id) =>
      milestoneRow({ ...told, id }),
    );
  }

  label = ({ group, told }: OfGroup): Row[] =>
    this.#labelOf(group, { ...told, group_id: group }).rows;

  milestone = ({ group, told }: OfGroup): Row[] =>
    this.#milestoneOf(group, { ...told, group_id: group }).rows;

  badge({ group, told }: OfGroup): Row[] {
    return [of(group, badgeRow({ ...told, id: this.#numbers.next() }, this.#now))];
  }

  member({ group, told }: OfGroup): Row[] {
    const user = toldIn(told["user"]);
    const { access_level, expires_at, created_at } = told;
    const id = user["id"] ?? told["user_id"];
    const row = memberRow({ id, access_level, expires_at, created_at }, this.#now);
    return [of(group, { ...row, values: { ...row.values, id: this.#numbers.next() } })];
  }

  board({ group, told }: OfGroup): Row[] {
    const rows: Row[] = [];
    const labels = new Map<unknown, number>();
    const named = (label: Told) => {
      const found = this.#labelOf(group, label);
      rows.push(...found.rows);
      labels.set(label["title"], found.id);
      return { name: label["title"] };
    };
    const lists = listIn(told["lists"]).filter(
      ({ label }) => textIn(toldIn(label)["title"]) !== null,
    );
    const milestone = toldIn(told["milestone"]);
    const found =
      textIn(milestone["title"]) === null ? undefined : this.#milestoneOf(group, milestone);
    const board = {
      ...told,
      id: this.#numbers.next(),
      name: told["name"] ?? "Development",
      lists: lists.map(({ label, position }) => ({
        ...{ id: this.#numbers.next(), position, label: named(toldIn(label)) },
      })),
      labels: listIn(told["labels"]).map(named),
      milestone: found ? { id: found.id } : null,
      assignee: null,
    };
    const names = {
      label: (name: unknown) => labels.get(name),
      milestone: (id: unknown) => numberIn(id) ?? undefined,
    };
    const made = boardRows(board, names, this.#now);
    return [
      ...rows,
      ...(found?.rows ?? []),
      ...made.map((row) => (row.table === "boards" ? of(group, row) : row)),
    ];
  }

  epic({ group, told }: OfGroup): Row[] {
    const id = numberIn(told["id"]);
    if (id === null || this.#epics.has(id)) return [];
    if (this.#epics.size >= MOST_NAMES) throw new ArchiveError("the archive has too many epics");
    this.#epics.add(id);
    const rows: Row[] = [];
    const labels = new Map<unknown, number>();
    const links = [...listIn(told["label_links"]), ...listIn(told["resource_label_events"])];
    for (const label of links.map((link) => toldIn(link["label"]))) {
      if (textIn(label["title"]) === null) continue;
      const found = this.#labelOf(group, label);
      rows.push(...found.rows);
      labels.set(label["title"], found.id);
    }
    const epic = {
      ...told,
      id,
      author: { id: told["author_id"] },
      closed_by: { id: told["closed_by_id"] },
      labels: listIn(told["label_links"]).map(({ label }) => toldIn(label)["title"]),
      due_date: told["due_date"] ?? told["end_date"],
      milestone: null,
      assignees: [],
    };
    const details = detailsIn(told, this.#numbers, new Map(), this.#isNamed);
    const names = { label: (name: unknown) => labels.get(name), milestone: () => undefined };
    const made = issueRows(epic, details, names).map((row) => {
      if (row.table === "issues") {
        return of(group, { ...row, values: { ...row.values, issue_type: "epic" } });
      }
      return row.table === "notes" ? of(group, row) : row;
    });
    return [...rows, ...made, epicDetailsRow({ ...told, id })];
  }

  /** Which epic an epic is below: both were read before. */
  parent({ told }: OfGroup): Row[] {
    const [id, parent_id] = [
      numberIn(told["id"]),
      numberIn(toldIn(told["parent"])["id"] ?? told["parent_id"]),
    ];
    if (id === null || parent_id === null || !this.#epics.has(parent_id)) return [];
    const position = numberIn(told["relative_position"]) ?? id;
    return [{ table: "work_item_parents", values: { issue_id: id, parent_id, position } }];
  }
}

/** A row that belongs to a group. */
const of = (group: number, { table, values }: Row): Row => ({
  table,
  values: { ...values, [GROUP]: group },
});

/** The settings of a group. */
const groupRow = (id: number, isTop: boolean, told: Told) => ({
  id,
  parent_id: isTop ? null : (told["parent_id"] as number),
  name: String(told["name"] ?? told["path"]),
  path: String(told["path"]),
  description: textIn(told["description"]) ?? "",
  visibility: numberIn(told["visibility_level"]) ?? VISIBILITIES.private,
  lfs_enabled: told["lfs_enabled"] === false ? 0 : 1,
  request_access_enabled: flagIn(told["request_access_enabled"]),
  emails_disabled: flagIn(told["emails_disabled"]),
  kept_settings: null,
});

async function* toldOf(records: AsyncIterable<OfGroup>): AsyncGenerator<Told> {
  for await (const { told } of records) yield told;
}
