import { findSource, homePlace } from "../../core/access/source.ts";
import { conflict, forbidden, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Route, routes } from "../../core/resource.ts";
import { all, when } from "../../store/conditions.ts";
import type { Reader, Value } from "../../store/port.ts";
import { mayAdminEpicRelation } from "../issuables/abilities.ts";
import { embed, rowsOf } from "../issuables/embed.ts";
import { EPIC, epicJoins } from "../issuables/epic.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { Presenting } from "../issuables/type.ts";
import * as links from "../issue-links/queries.ts";

/** An epic as another one's list of related ones shows it. */
const relatedEpic = presenter({
  ...EPIC.listed.fields,
  related_epic_link_id: field.integer("x.id"),
  link_type: field.text("x.link_type"),
  link_created_at: field.instant("x.created_at"),
  link_updated_at: field.instant("x.updated_at"),
});

const epic = (column: string) => field.json(column, "Epic", { fields: EPIC.listed.fields });

/** A link; `fillIn` replaces the ids of the epics. */
const link = presenter({
  id: field.integer("x.id"),
  source_epic: epic("x.source_id"),
  target_epic: epic("x.target_id"),
  link_type: field.text("x.link_type"),
  created_at: field.instant("x.created_at"),
  updated_at: field.instant("x.updated_at"),
});

/** Writes both epics into rows of {@link link}. */
async function fillIn(context: Presenting & { db: Reader }, rows: Value[][]): Promise<Value[][]> {
  const { listed } = EPIC;
  const ends = [link.at("source_epic"), link.at("target_epic")];
  const ids = new Set(rows.flatMap((row) => ends.map((at) => row[at] as number)));
  const epics = await rowsOf({ ...context, presenter: listed }, EPIC, [...ids]);
  const texts = new Map(
    epics.map((row) => [row[listed.at("id")], listed.write(row, context.view)] as const),
  );
  for (const row of rows) {
    for (const at of ends) row[at] = texts.get(row[at]) ?? "null";
  }
  return rows;
}

/** A link as a row of its presenter. */
async function rowOf(context: Presenting & { db: Reader }, found: links.IssueLink) {
  const { id, source_id, target_id, link_type, created_at, updated_at } = found;
  const row: Value[] = [id, source_id, target_id, link_type, created_at, updated_at];
  await fillIn(context, [row]);
  return row;
}

const number = { epic_iid: param.recordId() };
const time = () => param.optional(param.looseInstant());

const { del, list, post } = routes({
  source: "group",
  isHome: true,
  path: "/epics/:epic_iid/related_epics",
});

/** Links between epics. */
export const relatedRoutes: readonly Route[] = [
  routes({ source: "group", isHome: true }).list("/related_epic_links", {
    summary: "List the links between epics of a group and its subgroups and others, oldest first",
    access: "anyone",
    input: {
      created_after: time(),
      created_before: time(),
      updated_after: time(),
      updated_before: time(),
    },
    presenter: link,
    handle: async (context) => {
      const { db, page, presenter, source, viewer, input } = context;
      const times = all([
        when("x.created_at >= ?", input.created_after),
        when("x.created_at <= ?", input.created_before),
        when("x.updated_at >= ?", input.updated_after),
        when("x.updated_at <= ?", input.updated_before),
      ]);
      const listed = await links.listBelow(db, presenter, page, source.namespaceId, viewer, times);
      await fillIn(context, listed.rows);
      return listed;
    },
  }),
  list("", {
    summary: "List the epics related to an epic that the caller can see, oldest link first",
    access: "anyone",
    input: number,
    presenter: relatedEpic,
    handle: async (context) => {
      const { db, page, presenter, viewer, input } = context;
      const { id } = await findIssuable(context, EPIC, input.epic_iid);
      const of = { type: EPIC, joins: epicJoins };
      const listed = await links.list(db, presenter, page, id, viewer, of);
      await embed(context, EPIC, listed.rows);
      return listed;
    },
  }),
  post("", {
    summary: "Relate two epics",
    role: "reporter",
    input: {
      ...number,
      target_group_id: param.text(),
      target_epic_iid: param.integer(),
      link_type: param.optional(param.choice(links.LINK_TYPES)),
    },
    presenter: link,
    handle: async (context) => {
      const { db, viewer, now, input } = context;
      const { link_type = "relates_to" } = input;
      const found = await findIssuable(context, EPIC, input.epic_iid);
      const group = await findSource(db, "group", input.target_group_id, viewer);
      const source = await homePlace(db, group);
      const other = await findIssuable({ db, source, viewer }, EPIC, input.target_epic_iid, "Epic");
      if (!mayAdminEpicRelation(group)) throw forbidden();
      if (found.id === other.id) throw invalid({ source: ["cannot be related to itself"] });
      if (await links.areLinked(db, found.id, other.id)) {
        throw conflict("Epic(s) already assigned");
      }
      return rowOf(context, await links.insert(db, found.id, other.id, link_type, now));
    },
  }),
  del("/:related_epic_link_id", {
    summary: "Remove the link between two epics, which is shown a last time",
    role: "reporter",
    input: { ...number, related_epic_link_id: param.recordId() },
    presenter: link,
    handle: async (context) => {
      const { db, viewer, input } = context;
      const { id } = await findIssuable(context, EPIC, input.epic_iid);
      const found = await links.find(db, id, input.related_epic_link_id, viewer, EPIC);
      if (!found) throw notFound();
      const group = await findSource(db, "group", String(found.other_group_id), viewer);
      if (!mayAdminEpicRelation(group)) throw forbidden();
      await links.remove(db, found.id);
      return rowOf(context, found);
    },
  }),
];
