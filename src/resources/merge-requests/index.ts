import { forbidden } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { escaped } from "../../core/markup.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { headOf } from "../events/record.ts";
import { mayUpdate } from "../issuables/abilities.ts";
import { inputOf } from "../issuables/attributes.ts";
import { change, created, stateColumns } from "../issuables/change.ts";
import { rowOf } from "../issuables/embed.ts";
import { ISSUE } from "../issuables/issue.ts";
import { MERGE_REQUEST, simpleMergeRequest } from "../issuables/merge-request.ts";
import { REQUEST_ORDERS } from "../issuables/orders.ts";
import { columnsIn, plannedLinks, planningInput } from "../issuables/planning.ts";
import { listRoutes, sharedRoutes } from "../issuables/routes.ts";
import { findIssuable } from "../issuables/rules.ts";
import { renderAll } from "../markdown/render.ts";
import { addVersion, renewVersion } from "../merge-request-versions/versions.ts";
import { afterCommands, commandsIn } from "../quick-actions/perform.ts";
import { checkCode, divergedCommits } from "./code.ts";
import { collaborationIn, collaborationOf } from "./collaboration.ts";
import { contextCommitRoutes } from "./context-commits.ts";
import { mergeRoutes } from "./merging.ts";
import { planChange, planOpening, requireOpening } from "./opening.ts";
import * as requests from "./queries.ts";
import { referredIssues, referringRequests } from "./references.ts";
import { migrations } from "./table.ts";
import { versionRoutes } from "./versions.ts";

const lists = listRoutes(MERGE_REQUEST, {
  orders: ["created_at", "updated_at", ...REQUEST_ORDERS],
  showing: { view: param.optional(param.choice(["simple"])) },
  presenter: ({ input }) =>
    input["view"] === "simple" ? simpleMergeRequest : MERGE_REQUEST.listed,
});

const attributes = {
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  allow_collaboration: param.optional(param.boolean()),
  allow_maintainer_to_push: param.optional(param.boolean()),
  reviewer_ids: param.clearable(param.arrayOf(param.integer(), { max: 200 })),
  // Rules say how many approvals are needed.
  approvals_before_merge: unsupported(param.integer(), 0),
  merge_after: unsupported(param.looseInstant()),
  ...inputOf("merge_request"),
  ...planningInput,
};

const number = { merge_request_iid: param.recordId() };

const flag = (value: boolean | undefined) => (value === undefined ? undefined : Number(value));

const changes = {
  title: param.optional(param.title()),
  target_branch: param.optional(param.text()),
  state_event: param.optional(param.choice(["close", "reopen"])),
  ...attributes,
};

const project = routes({ source: "project", features: ["merge_requests"] });
const issue = routes({
  source: "project",
  path: "/issues/:issue_iid",
  features: ["issues"],
  whenDisabled: "leave out",
});

/** Merge requests. In a project without a repository they are only records. */
export const mergeRequestResource: Resource = {
  name: "Merge requests",
  migrations,
  routes: [
    ...lists,
    project.post("/merge_requests", {
      summary: "Create a merge request between two branches of a project",
      role: "developer",
      input: {
        title: param.title(),
        source_branch: param.text(),
        target_branch: param.text(),
        target_project_id: param.optional(param.integer()),
        ...attributes,
      },
      presenter: MERGE_REQUEST.single,
      prepare: (input, preparing) => planOpening(preparing, input),
      handle: async (context) => {
        const { db, caller, input, now, prepared: opening } = context;
        const { source, target, version } = opening;
        const isFork = source.id !== target.id;
        if (isFork) db.lock(target.id);
        await requireOpening(db, opening);
        const { title, source_branch, target_branch } = input;
        const { text: description, commands } = commandsIn(MERGE_REQUEST, input.description);
        const owner = { project_id: target.id, source_project_id: source.id };
        const inTarget = { ...context, source: target };
        const defaults = await requests.defaultsOf(db, source.id, target.id);
        const { milestone_id, ...columns } = await columnsIn(inTarget, MERGE_REQUEST, input);
        const made = await requests.insert(
          db,
          {
            ...owner,
            author_id: caller.id,
            title,
            description,
            source_branch,
            target_branch,
            sha: version ? null : await headOf(db, source.id, source_branch),
            allow_collaboration: await collaborationIn(context, opening, input),
            milestone_id,
            columns: { ...defaults, ...columns },
          },
          now,
        );
        const added = version && (await addVersion(context, { ...made, ...owner }, version));
        await created(
          inTarget,
          MERGE_REQUEST,
          { ...made, ...owner, title, description: description ?? null, milestone_id },
          plannedLinks(inTarget, input),
          { version: added },
        );
        return afterCommands(inTarget, MERGE_REQUEST, made.id, commands, (reader) =>
          rowOf({ ...inTarget, db: reader }, MERGE_REQUEST, made.id),
        );
      },
    }),
    project.get("/merge_requests/:merge_request_iid", {
      jobTokens: true,
      summary: "Get a merge request by its number within the project",
      access: "anyone",
      input: {
        ...number,
        include_diverged_commits_count: param.optional(param.boolean()),
        include_rebase_in_progress: param.optional(param.boolean()),
        render_html: param.optional(param.boolean()),
      },
      presenter: MERGE_REQUEST.single,
      prepare: async (input, preparing) => {
        const { id } = await checkCode(preparing, input.merge_request_iid);
        const diverged = input.include_diverged_commits_count
          ? await divergedCommits(preparing, input.merge_request_iid)
          : null;
        return { id, diverged };
      },
      handle: async (context) => {
        const { input, presenter } = context;
        const { id, diverged } = context.prepared;
        const row = await rowOf(context, MERGE_REQUEST, id);
        if (diverged !== null) row[presenter.at("diverged_commits_count")] = String(diverged);
        if (input.include_rebase_in_progress) row[presenter.at("rebase_in_progress")] = "false";
        if (input.render_html) {
          const [title, description] = [
            row[presenter.at("title")],
            row[presenter.at("description")],
          ];
          const texts = [String(description ?? "")];
          const about = { project: context.source, hasStates: true };
          const [html] = await renderAll({ ...context, ...about }, texts);
          row[presenter.at("title_html")] = JSON.stringify(escaped(String(title)));
          row[presenter.at("description_html")] = JSON.stringify(html);
        }
        return row;
      },
    }),
    project.put("/merge_requests/:merge_request_iid", {
      summary: "Change, close or reopen a merge request",
      input: { ...number, ...changes },
      atLeastOne: Object.keys(changes) as (keyof typeof changes)[],
      presenter: MERGE_REQUEST.single,
      prepare: (input, preparing) => planChange(preparing, input),
      handle: async (context) => {
        const { db, input, prepared: opening } = context;
        const { title, target_branch, state_event } = input;
        const { text: description, commands } = commandsIn(MERGE_REQUEST, input.description);
        const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
        if (!mayUpdate(MERGE_REQUEST)(found, context)) throw forbidden();
        let version: number | undefined;
        if (opening) {
          await requireOpening(db, opening, found.id);
          const request = { ...found, source_project_id: opening.source.id };
          version = await renewVersion(context, request, opening.version);
        }
        const columns = {
          title,
          description,
          target_branch,
          allow_collaboration: flag(await collaborationOf(context, found.id, input)),
          ...(await columnsIn(context, MERGE_REQUEST, input)),
          ...stateColumns(context, found, state_event),
        };
        const wanted = { columns, ...plannedLinks(context, input) };
        await change(context, MERGE_REQUEST, found, wanted, { version });
        return afterCommands(context, MERGE_REQUEST, found.id, commands, (reader) =>
          rowOf({ ...context, db: reader }, MERGE_REQUEST, found.id),
        );
      },
    }),
    ...mergeRoutes,
    ...(["closes_issues", "related_issues"] as const).map((name) =>
      project.list(`/merge_requests/:merge_request_iid/${name}`, {
        summary:
          name === "closes_issues"
            ? "List the issues that a merge request into the default branch closes"
            : "List the issues that the title, description and commits of a merge request refer to",
        access: "anyone",
        input: number,
        presenter: ISSUE.listed,
        handle: async (context) => {
          const { merge_request_iid } = context.input;
          const { id } = await findIssuable(context, MERGE_REQUEST, merge_request_iid);
          return referredIssues(context, id, name === "closes_issues" ? "closing" : "all");
        },
      }),
    ),
    ...(["related_merge_requests", "closed_by"] as const).map((name) =>
      issue.list(`/${name}`, {
        summary:
          name === "closed_by"
            ? "List the merge requests that close an issue when they are merged"
            : "List the merge requests whose titles, descriptions or commits refer to an issue",
        access: "anyone",
        input: { issue_iid: param.recordId() },
        presenter: MERGE_REQUEST.listed,
        handle: async (context) => {
          const { id } = await findIssuable(context, ISSUE, context.input.issue_iid);
          return referringRequests(context, id, name === "closed_by" ? "closing" : "all");
        },
      }),
    ),
    ...versionRoutes,
    ...contextCommitRoutes,
    ...sharedRoutes(MERGE_REQUEST),
  ],
};
