import {
  type Viewer,
  visibleIssues,
  visibleMergeRequestRows,
  visibleProjects,
} from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { all } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { iterationFields } from "../iterations/json.ts";
import { NOT_DELETED_ITERATION } from "../iterations/queries.ts";
import { type ParentEpic, parentEpics } from "./epic.ts";
import { issuableFields, subscribed } from "./fields.ts";
import { placeLabels } from "./positions.ts";
import { taskStatus, tasksOf } from "./tasks.ts";
import { type IssuableType, issuableJoins } from "./type.ts";

/** How many open issues an issue blocks, of a hundred links. Only an issue alone has it: in a list it would be read for each. */
const BLOCKED = `(select count(*) from
  (select k.target_id from issue_links k where k.source_id = i.id and k.link_type = 'blocks' limit 100) as k
  join issues bi on bi.id = k.target_id where bi.state = 'opened')`;

/** How bad an incident is, from the worst: `S1` to `S4`. */
export const SEVERITIES = ["critical", "high", "medium", "low", "unknown"] as const;

/** A severity in words: `High - S2`. */
export function severityName(severity: unknown): string {
  const place = SEVERITIES.indexOf(severity as (typeof SEVERITIES)[number]);
  const word = `${String(severity)[0]?.toUpperCase()}${String(severity).slice(1)}`;
  return severity === "unknown" ? word : `${word} - S${place + 1}`;
}

/** The column of how bad an incident is: `critical`, `high`, `medium`, `low`, or `unknown` as of everything else. */
export const SEVERITY = "case i.issue_type when 'incident' then i.severity else 'unknown' end";

const link = (suffix: string) =>
  field.url(
    ["i.project_id", "i.iid"],
    (project, iid) => `/api/v4/projects/${project}/issues/${iid}${suffix}`,
  );

const NAMED = { prefix: "issue", alias: "i", path: "issues", sigil: "#" } as const;

const shownEpic = {
  id: field.integer("id"),
  iid: field.integer("iid"),
  title: field.text("title"),
  url: field.text("url"),
  group_id: field.integer("group_id"),
  human_readable_end_date: field.text("human_readable_end_date"),
  human_readable_timestamp: field.text("human_readable_timestamp"),
};

const fields = {
  ...issuableFields(NAMED),
  merge_requests_count: field.embedded("merge_requests_count", "integer", "null"),
  type: field.text("upper(i.issue_type)"),
  severity: field.text(`upper(${SEVERITY})`),
  has_tasks: field.derived(
    ["i.description"],
    "boolean",
    ([text]) => tasksOf(String(text ?? "")).count > 0,
  ),
  task_status: field.omittedIf(
    (text) => tasksOf(String(text ?? "")).count === 0,
    field.derived(["i.description"], "string", ([text]) => taskStatus(String(text))),
  ),
  moved_to_id: field.integer("i.moved_to_id"),
  epic: field.embedded("epic", "object", "null", { fields: shownEpic }),
  epic_iid: field.embedded("epic_iid", "integer", "null"),
  iteration: field.nested(iterationFields),
  health_status: field.constant(null),
  service_desk_reply_to: field.constant(null),
  _links: field.nested({
    self: link(""),
    notes: link("/notes"),
    award_emoji: link("/award_emoji"),
    project: field.url("i.project_id", (project) => `/api/v4/projects/${project}`),
    closed_as_duplicate_of: field.constant(null),
  }),
};

const DAY = new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" });

/** How far an epic is, in GitLab's words. */
function timeOf({ start_date: start, due_date: due }: ParentEpic, today: string): string | null {
  const bold = (what: string | number) => `<strong>${what}</strong>`;
  if (due !== null && due < today) return bold("Past due");
  if (start !== null && start > today) return bold("Upcoming");
  if (due === null) return null;
  const days = (Date.parse(due) - Date.parse(today)) / 86_400_000;
  return days === 0 ? bold("Today") : `${bold(days)} ${days === 1 ? "day" : "days"} remaining`;
}

/** An epic as the issues below it show it. */
const epicOf = (epic: ParentEpic, today: string) => ({
  id: epic.id,
  iid: epic.iid,
  title: epic.title,
  url: `/groups/${epic.group_path}/-/epics/${epic.iid}`,
  group_id: epic.group_id,
  human_readable_end_date: epic.due_date && DAY.format(Date.parse(epic.due_date)),
  human_readable_timestamp: timeOf(epic, today),
});

/** Joins what the fields of an issue need: as of every issuable, and its iteration. */
export const issueJoins = `${issuableJoins("i")}
  left join iterations it on it.id = i.iteration_id and ${NOT_DELETED_ITERATION}
  left join namespaces itn on itn.id = it.namespace_id`;

/** Issues. */
export const ISSUE: IssuableType = {
  ...NAMED,
  table: "issues",
  column: "issue_id",
  number: "iid",
  className: "Issue",
  parameter: "issue_iid",
  name: "issue",
  one: "an issue",
  many: "issues",
  involved: ["issue_assignees"],
  whenDisabled: "leave out",
  search: {
    name: "issue_search",
    table: "issues",
    columns: ["title", "description"],
    owners: ["project_id"],
  },
  from: `issues i join projects p on p.id = i.project_id ${issueJoins}`,
  visible: visibleIssues,
  projects: visibleProjects,
  listed: presenter(fields),
  single: presenter({
    ...fields,
    subscribed,
    blocking_issues_count: field.integer(BLOCKED),
  }),
  place: placeLabels,
  readOwn: async (ids, { db, presenter, viewer, source }) => {
    const from = source?.kind === "group" ? source.fullPath : null;
    const [counts, epics] = await Promise.all([
      closingCounts(db, ids, viewer),
      parentEpics(db, ids, viewer),
    ]);
    return (rows) => {
      for (const row of rows) {
        const epic = epics.get(row[presenter.at("id")] as Value);
        row[presenter.at("epic_iid")] = String(epic?.iid ?? null);
        row[presenter.at("epic")] = epic ? JSON.stringify(epicOf(epic, viewer.today)) : "null";
        const count = counts.get(row[presenter.at("id")] as Value) ?? 0;
        row[presenter.at("merge_requests_count")] = String(count);
        row[presenter.at("references")] = from;
      }
    };
  },
};

/** Merge requests that are looked at for each issue: no read takes longer the more there are. */
const MOST_CLOSING = 100;

/** How many merge requests close each of some issues, of those that the caller may read; {@link MOST_CLOSING} at most. */
export async function closingCounts(
  db: Reader,
  ids: readonly Value[],
  viewer: Viewer,
): Promise<Map<Value, number>> {
  if (ids.length === 0) return new Map();
  const among = placeholders(ids);
  const readable = all([visibleProjects(viewer), visibleMergeRequestRows(viewer)]);
  const found = await db.rows(
    statement`select i.id, (select count(*) from
        (select merge_request_id from merge_request_issues
         where issue_id = i.id and closes = 1 limit ${String(MOST_CLOSING)}) x
        join merge_requests mr on mr.id = x.merge_request_id join projects p on p.id = mr.project_id
        where ${readable.sql})
     from issues i where i.id in (${among.sql})`,
    [...readable.values, ...among.values],
  );
  return new Map(found.map(([id, count]) => [id as Value, Number(count)]));
}
