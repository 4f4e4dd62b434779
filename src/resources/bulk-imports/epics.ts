import { homeOf } from "../../core/access/source.ts";
import type { Database } from "../../store/port.ts";
import { newPositionOf, placeLabels } from "../issuables/positions.ts";
import { ensureHome } from "../namespaces/home.ts";
import * as namespaces from "../namespaces/queries.ts";
import { epicHere, placeBelow } from "./epic-places.ts";
import { emojiOfNotes, namedIn } from "./projects.ts";
import * as imports from "./queries.ts";
import type { SourceRecord } from "./records.ts";
import { epicRows, idIn, instantIn, listIn, numberIn, textIn } from "./rows.ts";
import type { Bringing } from "./running.ts";
import { SourceError, type Told } from "./source.ts";

/** Only those of the group itself, as old as they are. */
const OWN = {
  include_ancestor_groups: false,
  include_descendant_groups: false,
  order_by: "created_at",
  sort: "asc",
} as const;

/** Brings epics, and then which of them are below which, and related: a parent may be newer than what is below it. */
export async function bringEpics(bringing: Bringing): Promise<void> {
  const list = `${bringing.path}/epics`;
  let home: Promise<number> | undefined;
  await bringing.list("epics", list, OWN, (told) => {
    home ??= homeOfGroup(bringing);
    return epicOf(bringing, told, home);
  });
  const { running, place } = bringing;
  if ((await imports.countRecords(running.store.reader(), place, "epics")) === 0) return;
  await bringing.list("epic_places", list, OWN, async (told) => {
    const at = `${list}/${told["iid"]}/related_epics`;
    const related = await bringing.about("related epics", at);
    const parent = numberIn(told["parent_id"]);
    if (parent === null && related.length === 0) return undefined;
    return {
      ...{ kind: "epic_places", key: String(told["id"]), title: textIn(told["title"]), rows: [] },
      instead: async (db) => {
        const id = await epicHere(db, place, numberIn(told["id"]));
        if (id === undefined) return undefined;
        await placeBelow(db, place, { id, parent });
        for (const other of related) await relate(db, bringing, id, other);
        return id;
      },
    };
  });
}

/** The hidden project that has the epics of the group that is brought. */
async function homeOfGroup({ running: { store, now }, place }: Bringing): Promise<number> {
  const group = await namespaces.find(store, place.id);
  const fullPath = group?.full_path ?? "";
  const home = { id: await homeOf(store, fullPath), namespaceId: place.id, fullPath };
  return store.transaction((db) => ensureHome(db, home, now()));
}

async function epicOf(
  bringing: Bringing,
  told: Told,
  home: Promise<number>,
): Promise<SourceRecord> {
  const at = `${bringing.path}/epics/${told["iid"]}`;
  const about = (list: string, of: string) => aboutEpic(bringing, told, list, of);
  const [discussions, emoji, labelEvents, stateEvents] = await Promise.all([
    about("discussions", "noteable_id"),
    bringing.about("emoji of epics", `${at}/award_emoji`),
    about("resource_label_events", "resource_id"),
    about("resource_state_events", "resource_id"),
  ]);
  const noteEmoji = await emojiOfNotes(bringing, at, discussions);
  const events = { labelEvents, stateEvents, milestoneEvents: [], weightEvents: [] };
  const details = { discussions, emoji, noteEmoji, ...events };
  const named = await namedIn(bringing, told, details);
  const rows = epicRows(told, details, named);
  return bringing.record("epics", String(told["id"]), rows, [told, details], {
    here: named.here,
    home: await home,
    after: async (db, id) => {
      await db.run("update issues set relative_position = ? where id = ?", [newPositionOf(id), id]);
      placeLabels(db, [id]);
    },
  });
}

/**
 * A list about an epic. GitLab finds the epic by its id there, and servers of this kind by its number: what the entries say
 * that they are of tells which one it was.
 */
async function aboutEpic(
  { running, path: group }: Bringing,
  { id, iid }: Told,
  list: string,
  of: string,
): Promise<Told[]> {
  for (const number of [iid, id]) {
    try {
      const found = await running.source.all(`${group}/epics/${number}/${list}`);
      const own = found.filter((entry) => isOf(entry, of, id));
      if (own.length > 0) return own;
    } catch (error) {
      if (!(error instanceof SourceError) || error.status !== 404) throw error;
    }
  }
  return [];
}

/** Whether an event, or the first note of a discussion, is of an epic with an id there. */
function isOf(entry: Told, column: string, id: unknown): boolean {
  const [first = entry] = listIn(entry["notes"]);
  return first[column] === id;
}

/** Relates an epic to another one that was brought. */
async function relate(
  db: Database,
  { running, place }: Bringing,
  id: number,
  other: Told,
): Promise<void> {
  const otherId = await epicHere(db, place, idIn(other));
  const type = other["link_type"];
  if (otherId === undefined || !/^(relates_to|blocks|is_blocked_by)$/.test(String(type))) return;
  const [source, target] = type === "is_blocked_by" ? [otherId, id] : [id, otherId];
  // A relation without a direction is told by both.
  const [known] = await db.rows("select 1 from issue_links where source_id = ? and target_id = ?", [
    target,
    source,
  ]);
  if (known) return;
  const at = instantIn(other["link_created_at"]) ?? running.now();
  await db.run(
    `insert into issue_links (source_id, target_id, link_type, created_at, updated_at) values (?, ?, ?, ?, ?)
     on conflict do nothing`,
    [
      source,
      target,
      type === "relates_to" ? type : "blocks",
      at,
      instantIn(other["link_updated_at"]) ?? at,
    ],
  );
}
