import { HOME_PATH } from "../../core/access/source.ts";
import { ON_EPIC, type Viewer, visibleHomes, visibleIssues } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { all } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { contrast } from "../labels/json.ts";
import { userFields } from "../users/json.ts";
import { subscribed } from "./fields.ts";
import { placeLabels } from "./positions.ts";
import type { IssuableType } from "./type.ts";

/** The path of the group that has the epics of a hidden project `p`. */
export const GROUP_PATH = `substr(p.full_path, 1, length(p.full_path) - ${`/${HOME_PATH}`.length})`;

/** The path of a project or, as in the addresses of its pages, of a group that has the epic. */
export const PLACE_PATH = `case when ${ON_EPIC} then 'groups/' || ${GROUP_PATH} else p.full_path end`;

/** The colour of epics that were given none. */
export const EPIC_COLOR = "#1068bf";

const link = (path: (group: string, iid: string) => string) =>
  field.url(["p.namespace_id", "i.iid"], path);
const epicAt = (group: string, iid: string) => `/api/v4/groups/${group}/epics/${iid}`;

/** A day of an epic, as REST says where it comes from: only what was set by hand has one. */
const dates = (name: "start_date" | "due_date") => ({
  [name]: field.date(`i.${name}`),
  [`${name}_is_fixed`]: field.flag(`coalesce(ed.${name}_is_fixed, 0)`),
  [`${name}_fixed`]: field.date(`ed.${name}_fixed`),
  [`${name}_from_inherited_source`]: field.constant(null),
  [`${name}_from_milestones`]: field.constant(null),
});

/** The parent's group and number, as `group/number`: `embed` fills them in where the caller may read it. */
const PARENT = "null as parent_place";

const fields = {
  id: field.integer("i.id"),
  work_item_id: field.integer("i.id"),
  iid: field.integer("i.iid"),
  color: field.text(`coalesce(ed.color, '${EPIC_COLOR}')`),
  text_color: field.derived([`coalesce(ed.color, '${EPIC_COLOR}')`], "string", ([color]) =>
    contrast(String(color)),
  ),
  group_id: field.integer("p.namespace_id"),
  parent_id: field.embedded("parent_id", "integer", "null"),
  parent_iid: field.embedded("parent_iid", "integer", "null"),
  title: field.text("i.title"),
  description: field.text("i.description"),
  state: field.text("i.state"),
  confidential: field.flag("i.confidential"),
  web_url: field.url(["gn.full_path", "i.iid"], (group, iid) => `/groups/${group}/-/epics/${iid}`),
  reference: field.derived(["i.iid"], "string", ([iid]) => `&${iid}`),
  references: {
    ...field.derived(
      ["null as refers_from", "i.iid", "gn.full_path"],
      "object",
      ([from, iid, path]) => {
        const [short, full] = [`&${iid}`, `${path}&${iid}`];
        return { short, relative: from === null || from === path ? short : full, full };
      },
    ),
    fields: Object.fromEntries(
      ["short", "relative", "full"].map((name) => [name, field.text("gn.full_path")]),
    ),
  },
  author: field.nested(userFields("u")),
  ...dates("start_date"),
  end_date: field.date("i.due_date"),
  ...dates("due_date"),
  created_at: field.instant("i.created_at"),
  updated_at: field.instant("i.updated_at"),
  closed_at: field.instant("i.closed_at"),
  labels: field.embedded("labels", "array of string", "[]"),
  upvotes: field.embedded("upvotes", "integer", "null"),
  downvotes: field.embedded("downvotes", "integer", "null"),
  imported: field.constant(false),
  imported_from: field.constant("none"),
  _links: field.nested({
    self: link(epicAt),
    epic_issues: link((group, iid) => `${epicAt(group, iid)}/issues`),
    group: field.url("p.namespace_id", (group) => `/api/v4/groups/${group}`),
    parent: field.derived([PARENT], "URL", ([place], { base }) =>
      place === null ? null : `${base}${epicAt(...(String(place).split("/") as [string, string]))}`,
    ),
  }),
};

/** Joins what an epic `i` of a hidden project `p` shows. */
export const epicJoins = `join namespaces gn on gn.id = p.namespace_id
  left join epic_details ed on ed.issue_id = i.id left join users u on u.id = i.author_id`;

/** Epics of groups: issues of the hidden projects that have them (docs/decisions/0104). */
export const EPIC: IssuableType = {
  table: "issues",
  alias: "i",
  column: "issue_id",
  number: "iid",
  prefix: "issue",
  className: "Epic",
  path: "epics",
  sigil: "&",
  parameter: "epic_iid",
  name: "epic",
  one: "an epic",
  many: "epics",
  involved: ["issue_assignees"],
  whenDisabled: "leave out",
  search: {
    name: "issue_search",
    table: "issues",
    columns: ["title", "description"],
    owners: ["project_id"],
  },
  from: `issues i join projects p on p.id = i.project_id ${epicJoins}`,
  visible: visibleIssues,
  projects: visibleHomes,
  listed: presenter(fields),
  single: presenter({ ...fields, subscribed }),
  place: placeLabels,
  readOwn: async (ids, { db, presenter, viewer, source }) => {
    const parents = await parentEpics(db, ids, viewer);
    const from = source?.fullPath ?? null;
    const [id, place, parentId, parentIid, references] = [
      presenter.at("id"),
      presenter.find(field.text(PARENT)) as number,
      ...["parent_id", "parent_iid", "references"].map((name) => presenter.at(name)),
    ] as [number, number, number, number, number];
    return (rows) => {
      for (const row of rows) {
        const parent = parents.get(row[id] as Value);
        row[references] = from;
        row[parentId] = String(parent?.id ?? null);
        row[parentIid] = String(parent?.iid ?? null);
        row[place] = parent ? `${parent.group_id}/${parent.iid}` : null;
      }
    };
  },
};

/** An epic that something is below. */
export interface ParentEpic {
  readonly child_id: number;
  readonly id: number;
  readonly iid: number;
  readonly title: string;
  readonly group_id: number;
  readonly group_path: string;
  readonly start_date: string | null;
  readonly due_date: string | null;
}

/** The epics that some issues or epics are below, by the ids of these; without those that the caller may not read. */
export async function parentEpics(
  db: Reader,
  ids: readonly Value[],
  viewer: Viewer,
): Promise<Map<Value, ParentEpic>> {
  if (ids.length === 0) return new Map();
  const among = placeholders(ids);
  // Most lists have nothing that is below anything: the conditions on what may be read cost more than to see that.
  const placed = await db.rows(
    statement`select 1 from work_item_parents where issue_id in (${among.sql}) limit 1`,
    among.values,
  );
  if (placed.length === 0) return new Map();
  // The level is the caller's in one project, which an epic is not of.
  const { level: _, ...anywhere } = viewer;
  const readable = all([visibleHomes(anywhere), visibleIssues(anywhere)]);
  const found = await db.all<ParentEpic>(
    statement`select h.issue_id as child_id, i.id, i.iid, i.title, p.namespace_id as group_id,
       gn.full_path as group_path, i.start_date, i.due_date
     from work_item_parents h join issues i on i.id = h.parent_id join projects p on p.id = i.project_id
     join namespaces gn on gn.id = p.namespace_id
     where h.issue_id in (${among.sql}) and i.issue_type = 'epic' and ${readable.sql}`,
    [...among.values, ...readable.values],
  );
  return new Map(found.map((one) => [one.child_id, one]));
}
