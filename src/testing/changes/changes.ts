import type { App } from "../../app.ts";
import type { Reader, Store } from "../../store/port.ts";
import { type Found, type Kind, kinds } from "./kinds.ts";
import { EMBEDDED, isNoise, normal, withoutNoise } from "./noise.ts";
import { type Show, viewing } from "./view.ts";

type Json = Record<string, unknown>;
type Key = string | number;

/** A record that has come to be, or is gone. */
export interface ChangedRecord {
  /** Its kind, such as `issue`. */
  type: string;
  /** What names it, such as `acme/site#3`. */
  path: string;
  /** As the API shows it. */
  record: Json;
}

/** A record that differs. */
export interface UpdatedRecord {
  type: string;
  path: string;
  /** Each attribute that differs, before and after. */
  changes: Record<string, [before: unknown, after: unknown]>;
  /** Of a branch or tag: the commit that it named, and the one that it names. */
  from?: string;
  to?: string;
  /** The commits that a branch has got, oldest first. */
  commits?: Json[];
}

/** How two states differ. */
export interface Changes {
  created: ChangedRecord[];
  updated: UpdatedRecord[];
  deleted: ChangedRecord[];
}

/** {@link Changes} with what is left out of them. */
export interface AllChanges {
  created: (ChangedRecord & Hidden)[];
  updated: (UpdatedRecord & Hidden)[];
  deleted: (ChangedRecord & Hidden)[];
}

interface Hidden {
  /** Whether it follows from another change. */
  follows: boolean;
  /** Its path before. */
  formerPath: string;
  belongs: Belonging;
}

/** What a record belongs to. */
interface Belonging {
  /** The path of its project, group, issue and the like. */
  within: readonly string[];
  /** The paths of others with which it is deleted, too. */
  others: readonly string[];
  comesAlong: boolean;
}

/** What is left of changes for whoever asks for them. */
export function shownOf(changes: AllChanges, all: boolean): Changes {
  const shown = <Item extends Hidden>(items: Item[]) =>
    items
      .filter(({ follows }) => all || !follows)
      .map(({ follows: _, formerPath: __, belongs: ___, ...item }) => item);
  const { created, updated, deleted } = changes;
  return {
    created: shown(created),
    updated: shown(updated),
    deleted: shown(deleted),
  } as Changes;
}

/** Two states, and how they are looked at. */
export interface Comparing {
  readonly before: Store;
  readonly after: Store;
  /** Starts an application on a state. */
  readonly open: (store: Store) => Promise<App>;
  /** The address with which links begin. */
  readonly base: string;
  readonly now: number;
  /** Whether everything is told: times, counts and whatever follows. */
  readonly all: boolean;
}

/**
 * Compares two states: the rows of all tables that kinds of records are told from, and of records with rows that differ what
 * the API shows of them. What it takes grows with the number of rows, and with what has changed.
 */
export async function compare(comparing: Comparing): Promise<AllChanges> {
  const { before, after, all } = comparing;
  const candidates = await candidatesIn(before, after);
  const changes: AllChanges = { created: [], updated: [], deleted: [] };
  if (candidates.size === 0) return changes;
  const found: { kind: Kind; keys: Key[]; old: Map<Key, Found>; now: Map<Key, Found> }[] = [];
  for (const [kind, keys] of candidates) {
    const [old, now] = [await find(before, kind, keys), await find(after, kind, keys)];
    found.push({ kind, keys, old, now });
  }
  await viewing(before, comparing, (showBefore) =>
    viewing(after, comparing, async (showAfter) => {
      const gone = new Gone();
      const merged = new Set<unknown>();
      for (const { kind, keys, old, now } of found) {
        for (const key of keys) {
          const other = kind.isAlways ? (old.get(key) ?? now.get(key)) : undefined;
          const [was, is] = [old.get(key) ?? other, now.get(key) ?? other];
          if (was && !is) {
            const record = await recordOf(kind, was, showBefore);
            gone.add(kind, was, record);
            changes.deleted.push({
              ...named(kind, was, kind.path(was)),
              record: told(kind, record, all),
            });
          }
          if (is && !was) {
            const record = await recordOf(kind, is, showAfter);
            changes.created.push({
              ...named(kind, is, kind.path(is)),
              record: told(kind, record, all),
            });
          }
          if (!was || !is) continue;
          if (is["state"] === "merged" && was["state"] !== "merged") {
            for (const sha of [is["merge_commit_sha"], is["squash_commit_sha"], is["sha"]])
              merged.add(sha);
          }
          const records = {
            before: await recordOf(kind, was, showBefore),
            after: await recordOf(kind, is, showAfter),
          };
          const differing = differencesOf(kind, records, gone, all);
          gone.rename(kind, records);
          if (Object.keys(differing).length === 0) continue;
          changes.updated.push({
            ...named(kind, is, kind.path(was)),
            follows: false,
            changes: differing,
            ...(kind.moves && (await moveOf(is, records, showAfter))),
          });
        }
      }
      markFollowing(changes, merged);
    }),
  );
  return changes;
}

function named(kind: Kind, found: Found, formerPath: string) {
  const path = kind.path(found);
  return {
    type: kind.type,
    path,
    formerPath,
    follows: kind.follows?.(found) ?? false,
    belongs: belonging(kind, found),
  };
}

/** What a record belongs to. */
function belonging(kind: Kind, found: Found): Belonging {
  const isPath = (path: string | null | undefined) => typeof path === "string";
  const within = [kind.within?.(found)].filter(isPath);
  const others = [kind.with?.(found)].filter(isPath);
  return { within, others, comesAlong: kind.comesAlong ?? false };
}

/** What is deleted with something else, comes along with it, or follows from a merge or from another change. */
function markFollowing(
  { created, updated, deleted }: AllChanges,
  merged: ReadonlySet<unknown>,
): void {
  const deletedPaths = new Set(deleted.map(({ path }) => path));
  for (const item of deleted) {
    const { within, others } = item.belongs;
    item.follows = [...within, ...others].some(
      (path) => path !== item.path && deletedPaths.has(path),
    );
  }
  const createdPaths = new Set(created.map(({ path }) => path));
  const projects = [...created, ...updated].filter(({ type }) => type === "project");
  const topics = new Set(
    projects.flatMap((project) =>
      "record" in project ? project.record["topics"] : project.changes["topics"]?.[1],
    ),
  );
  for (const item of created) {
    const { comesAlong, within } = item.belongs;
    item.follows ||=
      // The first branch of a project is protected, and its topics are made.
      (item.type === "protected branch" &&
        createdPaths.has(item.path.replace("(protected branch ", "(branch "))) ||
      (item.type === "topic" && topics.has(item.record["name"])) ||
      (comesAlong && within.some((path) => path !== item.path && createdPaths.has(path)));
  }
  const touched = new Set(
    [...created, ...updated, ...deleted].flatMap((item) =>
      item.type === "todo" ? [] : [item.path, ...item.belongs.within],
    ),
  );
  for (const item of updated) {
    item.follows =
      (item.to !== undefined && merged.has(item.to)) ||
      // Who answers has done what there was to do.
      (item.type === "todo" && item.belongs.within.some((path) => touched.has(path)));
  }
}

/** By kind, the keys of records with rows that differ. */
async function candidatesIn(before: Reader, after: Reader): Promise<Map<Kind, Key[]>> {
  const found = new Map<Kind, Set<Key>>();
  const tables = new Map<string, Kind[]>();
  for (const kind of kinds) {
    for (const table of Object.keys(kind.rows))
      tables.set(table, [...(tables.get(table) ?? []), kind]);
  }
  for (const [table, of] of tables) {
    const columns = of.map(({ rows }) => `(${rows[table]})`).join(", ");
    const sql = `select ${columns}, ${table}.* from ${table}`;
    const [old, now] = [await before.rows(sql), await after.rows(sql)];
    for (const row of differing(old, now)) {
      for (const [at, kind] of of.entries()) {
        const key = row[at] as Key | null;
        if (key === null) continue;
        found.set(kind, (found.get(kind) ?? new Set()).add(key));
      }
    }
  }
  // In the order of the kinds, since some look at what has become of others.
  return new Map(
    kinds.flatMap((kind) => {
      const keys = found.get(kind);
      return keys ? [[kind, [...keys].sort(byKey)] as const] : [];
    }),
  );
}

function byKey(a: Key, b: Key): number {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1;
}

/** The rows that only one of two lists has. */
function differing(old: readonly unknown[][], now: readonly unknown[][]): unknown[][] {
  const left = new Map<string, unknown[]>();
  for (const row of old) left.set(JSON.stringify(row), row);
  const added = now.filter((row) => !left.delete(JSON.stringify(row)));
  return [...left.values(), ...added];
}

async function find(db: Reader, kind: Kind, keys: readonly Key[]) {
  const where = kind.where === undefined ? "" : ` and ${kind.where}`;
  const found = await db.all<Found & { key: Key }>(
    `${kind.find} where ${kind.key} in (select value from json_each(?))${where}`,
    [JSON.stringify(keys)],
  );
  return new Map(found.map((row) => [row.key, row]));
}

async function recordOf(kind: Kind, found: Found, show: Show): Promise<Json> {
  const { key: _, ...columns } = found;
  let shown: unknown = columns;
  const path = kind.api?.(found);
  if (path !== undefined) {
    shown = await show(path, kind.as?.(found));
    if (Array.isArray(shown)) shown = shown.find((one) => kind.pick?.(one, found));
  }
  // What the API does not show, as of a project that is being deleted.
  const record = (shown ?? columns) as Json;
  return kind.record ? kind.record(record, found) : record;
}

interface Records {
  readonly before: Json;
  readonly after: Json;
}

function differencesOf(kind: Kind, { before, after }: Records, gone: Gone, all: boolean) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const differing: UpdatedRecord["changes"] = {};
  for (const name of names) {
    const [was, is] = [before[name], after[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) continue;
    if (!all) {
      if (isNoise(name, kind) || name === "author") continue;
      const left = gone.left(name, was);
      if (JSON.stringify(normal(left)) === JSON.stringify(normal(is))) continue;
      // Without a picture of their own, people have one of their initial.
      if (name === "avatar_url" && isInitial(was) && isInitial(is)) continue;
    }
    const masked = kind.masked && [...kind.masked(before), ...kind.masked(after)].includes(name);
    const shown = (value: unknown) => {
      if (masked) return MASKED;
      return all ? (value ?? null) : withoutNoise(commitOf(value ?? null), EMBEDDED);
    };
    differing[name] = [shown(was), shown(is)];
  }
  return differing;
}

const MASKED = "[MASKED]";

/** A record as it is told. */
function told(kind: Kind, record: Json, all: boolean): Json {
  const masked = Object.fromEntries((kind.masked?.(record) ?? []).map((name) => [name, MASKED]));
  const shown = { ...record, ...masked };
  return all ? shown : withoutNoise(shown, kind);
}

const isInitial = (url: unknown) => /\/-\/avatars\/\w+-\d+\.svg$/.test(String(url));

/** A commit as its id. */
function commitOf(value: unknown): unknown {
  const { short_id: short, id } = (value ?? {}) as Json;
  return short === undefined ? value : id;
}

async function moveOf(found: Found, { before, after }: Records, show: Show) {
  const [from, to] = [commitOf(before["commit"]), commitOf(after["commit"])] as [string, string];
  const compared = (await show(
    `/projects/${found["project"]}/repository/compare?from=${from}&to=${to}`,
  )) as { commits?: Json[] } | undefined;
  const commits = (compared?.commits ?? []).map((commit) => withoutNoise(commit) as Json);
  return { from, to, commits };
}

/** Records that others refer to, and that are gone or have another name: what refers to them has not been changed itself. */
class Gone {
  readonly #labels = new Map<string, string | undefined>();
  readonly #ids = new Set<string>();

  add(kind: Kind, found: Found, record: Json): void {
    if (kind.type === "label") this.#labels.set(String(record["name"]), undefined);
    if (kind.type === "user" || kind.type === "milestone")
      this.#ids.add(`${kind.type} ${found["key"]}`);
  }

  rename(kind: Kind, { before, after }: Records): void {
    if (kind.type !== "label" || before["name"] === after["name"]) return;
    this.#labels.set(String(before["name"]), String(after["name"]));
  }

  /** What is left of a value without what is gone. */
  left(name: string, value: unknown): unknown {
    if (Array.isArray(value)) {
      return value.flatMap((one) => {
        const left = this.left(name, one);
        return left === null || left === undefined ? [] : [left];
      });
    }
    if (typeof value === "string" && name === "labels" && this.#labels.has(value)) {
      return this.#labels.get(value);
    }
    if (typeof value !== "object" || value === null) return value;
    const { id, username } = value as Json;
    const kind = username === undefined ? name : "user";
    return this.#ids.has(`${kind} ${id}`) ? null : value;
  }
}
