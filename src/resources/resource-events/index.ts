import { NOT_DELETED_LABEL, NOT_DELETED_MILESTONE } from "../../core/access/visibility.ts";
import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import type { Resource, Route } from "../../core/resource.ts";
import { EPIC } from "../issuables/epic.ts";
import { ISSUE } from "../issuables/issue.ts";
import { routesBelow } from "../issuables/places.ts";
import { numberOf } from "../issuables/routes.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { IssuableType } from "../issuables/type.ts";
import { ISSUABLE_TYPES, targetOf } from "../issuables/types.ts";
import { iterationFields } from "../iterations/json.ts";
import { NOT_DELETED_ITERATION } from "../iterations/queries.ts";
import { scopeLabelFields } from "../labels/json.ts";
import { anyMilestoneFields } from "../milestones/json.ts";
import { userFields } from "../users/json.ts";
import { migrations } from "./table.ts";

/** What happened to issuables, as one kind of list shows it. */
interface Kind {
  name: "label" | "milestone" | "state" | "iteration" | "weight";
  /** Whether only issues have such events. */
  isOfIssues?: true;
  summary: (type: IssuableType) => string;
  presenter: Presenter;
  /** Joins what events refer to. */
  joins: string;
}

const target = targetOf("re");

const moment = {
  id: field.integer("re.id"),
  user: field.nested(userFields("u")),
  created_at: field.instant("re.created_at"),
};
const common = {
  ...moment,
  resource_type: field.text(
    `case when exists (select 1 from issues o where o.id = re.issue_id and o.issue_type = 'epic') then 'Epic'
      else ${target.className} end`,
  ),
  resource_id: field.integer(target.id),
};

const KINDS: readonly Kind[] = [
  {
    name: "label",
    summary: ({ one }) => `List when labels were added to ${one} or removed, oldest first`,
    presenter: presenter({
      ...common,
      label: field.nested(scopeLabelFields),
      action: field.text("re.action"),
    }),
    joins: `left join labels l on l.id = re.label_id and ${NOT_DELETED_LABEL}`,
  },
  {
    name: "milestone",
    summary: ({ one }) => `List when the milestone of ${one} was set or removed, oldest first`,
    presenter: presenter({
      ...common,
      milestone: field.nested(anyMilestoneFields),
      action: field.text("re.action"),
      state: field.text("re.state"),
    }),
    joins: `left join milestones m on m.id = re.milestone_id and ${NOT_DELETED_MILESTONE}
      left join namespaces mn on mn.id = m.namespace_id left join projects mp on mp.id = m.project_id`,
  },
  {
    name: "state",
    summary: ({ one }) => `List when ${one} was closed, reopened or merged, oldest first`,
    presenter: presenter({
      ...common,
      source_commit: field.text("re.source_commit"),
      source_merge_request_id: field.integer("re.source_merge_request_id"),
      state: field.text("re.state"),
    }),
    joins: "",
  },
  {
    name: "iteration",
    isOfIssues: true,
    summary: ({ one }) => `List when ${one} was put into iterations or taken out, oldest first`,
    presenter: presenter({
      ...moment,
      resource_type: field.constant(ISSUE.className),
      resource_id: field.integer("re.issue_id"),
      iteration: field.nested(iterationFields),
      action: field.text("re.action"),
    }),
    joins: `left join iterations it on it.id = re.iteration_id and ${NOT_DELETED_ITERATION}
      left join namespaces itn on itn.id = it.namespace_id`,
  },
  {
    name: "weight",
    isOfIssues: true,
    summary: ({ one }) => `List when the weight of ${one} was set or removed, oldest first`,
    presenter: presenter({
      ...moment,
      issue_id: field.integer("re.issue_id"),
      weight: field.integer("re.weight"),
    }),
    joins: "",
  },
];

function routesOf(
  type: IssuableType,
  { name, isOfIssues, summary, presenter: shown, joins }: Kind,
): Route[] {
  const { path, parameter, column, one } = type;
  const { get, list } = routesBelow(type, "");
  const tier = isOfIssues ? "premium" : "free";
  const at = `/${path}/:${parameter}/resource_${name}_events` as const;
  const number = numberOf(type);
  const table = `resource_${name}_events re`;
  const presented = `${table} left join users u on u.id = re.user_id ${joins}`;
  return [
    list(at, {
      summary: summary(type),
      tier,
      access: "anyone",
      input: number,
      presenter: shown,
      handle: async (context) => {
        const { db, presenter, page, input } = context;
        const { id } = await findIssuable(context, type, input[parameter]);
        return paginate(db, presenter, page, {
          from: `${presented} where re.${column} = ?`,
          countFrom: `${table} where re.${column} = ?`,
          values: [id],
          order: "re.id",
        });
      },
    }),
    get(`${at}/:event_id`, {
      summary: `Get one change of the ${name} of ${one}`,
      tier,
      access: "anyone",
      input: { ...number, event_id: param.recordId() },
      presenter: shown,
      handle: async (context) => {
        const { db, presenter, input } = context;
        const { id } = await findIssuable(context, type, input[parameter]);
        const [found] = await db.rows(
          `select ${presenter.columns} from ${presented} where re.id = ? and re.${column} = ?`,
          [input.event_id, id],
        );
        if (!found) throw notFound();
        return found;
      },
    }),
  ];
}

/**
 * Changes of the labels, milestones and states of issues, epics and merge requests, and of the iterations and weights of
 * issues.
 */
export const resourceEventResource: Resource = {
  name: "Resource events",
  migrations,
  routes: [
    ...ISSUABLE_TYPES.flatMap((type) =>
      KINDS.filter(({ isOfIssues }) => !isOfIssues || type === ISSUE).flatMap((kind) =>
        routesOf(type, kind),
      ),
    ),
    ...KINDS.filter(({ name, isOfIssues }) => !isOfIssues && name !== "milestone").flatMap((kind) =>
      routesOf(EPIC, kind),
    ),
  ],
};
