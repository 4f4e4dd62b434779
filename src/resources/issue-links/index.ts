import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import type { Value } from "../../store/port.ts";
import { embed, rowsOf } from "../issuables/embed.ts";
import { ISSUE } from "../issuables/issue.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { Presenting } from "../issuables/type.ts";
import * as changes from "./changes.ts";
import * as links from "./queries.ts";
import { migrations } from "./table.ts";

/** An issue as another one's list of links shows it. */
const linkedIssue = presenter({
  ...ISSUE.listed.fields,
  issue_link_id: field.integer("x.id"),
  link_type: field.text("x.link_type"),
  link_created_at: field.instant("x.created_at"),
  link_updated_at: field.instant("x.updated_at"),
});

const issue = (column: string) => field.json(column, "Issue", { fields: ISSUE.listed.fields });

/** A link; `rowOf` replaces the ids of the issues. */
const link = presenter({
  id: field.integer("x.id"),
  source_issue: issue("x.source_id"),
  target_issue: issue("x.target_id"),
  link_type: field.text("x.link_type"),
});

/** A link as a row of its presenter. */
async function rowOf(context: Presenting, found: links.IssueLink): Promise<Value[]> {
  const { listed } = ISSUE;
  const ids = [found.source_id, found.target_id];
  const rows = await rowsOf({ ...context, presenter: listed }, ISSUE, ids);
  const texts = new Map(
    rows.map((row) => [row[listed.at("id")], listed.write(row, context.view)] as const),
  );
  const written = ids.map((id) => texts.get(id) ?? "null");
  return [found.id, ...written, found.link_type];
}

const number = { issue_iid: param.recordId() };
const one = { ...number, issue_link_id: param.recordId() };

const { del, get, list, post } = routes({
  source: "project",
  path: "/issues/:issue_iid/links",
  features: ["issues"],
  whenDisabled: "leave out",
});

/** Links between issues. */
export const issueLinkResource: Resource = {
  name: "Issue links",
  migrations,
  routes: [
    list("", {
      summary: "List the issues linked with an issue that the caller can see, oldest link first",
      input: number,
      presenter: linkedIssue,
      handle: async (context) => {
        const { db, presenter, page, viewer, input } = context;
        const { id } = await findIssuable(context, ISSUE, input.issue_iid);
        const listed = await links.list(db, presenter, page, id, viewer);
        await embed(context, ISSUE, listed.rows);
        return listed;
      },
    }),
    get("/:issue_link_id", {
      summary: "Get a link with both issues",
      input: one,
      presenter: link,
      handle: async (context) => {
        const { db, viewer, input } = context;
        const { id } = await findIssuable(context, ISSUE, input.issue_iid);
        const found = await links.find(db, id, input.issue_link_id, viewer);
        if (!found) throw notFound();
        return rowOf(context, found);
      },
    }),
    post("", {
      summary: "Link two issues; `blocks` and `is_blocked_by` need the premium tier",
      role: "reporter",
      concurrency: "alone",
      input: {
        ...number,
        target_project_id: param.orNull(param.text()),
        target_issue_iid: param.integer(),
        link_type: param.optional(param.choice(links.LINK_TYPES)),
      },
      presenter: link,
      handle: async (context) => {
        const { input, source } = context;
        const { link_type = "relates_to", target_project_id } = input;
        const found = await findIssuable(context, ISSUE, input.issue_iid);
        const other = {
          project: target_project_id ?? String(source.id),
          iid: input.target_issue_iid,
        };
        return rowOf(context, await changes.link(context, found, other, link_type));
      },
    }),
    del("/:issue_link_id", {
      summary: "Remove a link, which is shown a last time",
      role: "reporter",
      concurrency: "alone",
      input: one,
      presenter: link,
      handle: async (context) => {
        const { input } = context;
        const found = await findIssuable(context, ISSUE, input.issue_iid);
        return rowOf(context, await changes.unlink(context, found, input.issue_link_id));
      },
    }),
  ],
};
