import * as audit from "../../audit/log.ts";
import { invalid } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Route, routes } from "../../core/resource.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import type { Writing } from "../issuables/type.ts";
import { requireOfAnybody } from "./changes.ts";

const FLAGS = [
  "reset_approvals_on_push",
  "selective_code_owner_removals",
  "disable_overriding_approvers_per_merge_request",
  "merge_requests_author_approval",
  "merge_requests_disable_committers_approval",
  "require_password_to_approve",
] as const;
type Flag = (typeof FLAGS)[number];

/** What the newer route calls the settings, and whether it means the opposite. */
const NEWER = {
  allow_author_approval: ["merge_requests_author_approval", false],
  allow_committer_approval: ["merge_requests_disable_committers_approval", true],
  allow_overrides_to_approver_list_per_merge_request: [
    "disable_overriding_approvers_per_merge_request",
    true,
  ],
  retain_approvals_on_push: ["reset_approvals_on_push", true],
  selective_code_owner_removals: ["selective_code_owner_removals", false],
  require_password_to_approve: ["require_password_to_approve", false],
  require_reauthentication_to_approve: ["require_password_to_approve", false],
} as const satisfies Readonly<Record<string, readonly [Flag, boolean]>>;
type Newer = keyof typeof NEWER;
const NEWER_NAMES = Object.keys(NEWER) as Newer[];

/** An object with a value for each of some names. */
const each = <Name extends string, T>(names: readonly Name[], make: (name: Name) => T) =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>;

/** SQL of the approvals of anybody that a project `p` asks for. */
const OF_ANYBODY = `coalesce((select ar.approvals_required from approval_rules ar
  where ar.project_id = p.id and ar.merge_request_id is null and ar.rule_type = 'any_approver'), 0)`;

const settings = presenter({
  approvers: field.constant([]),
  approver_groups: field.constant([]),
  approvals_before_merge: field.integer(OF_ANYBODY),
  ...each(FLAGS, (name) => field.flag(`p.${name}`)),
  require_reauthentication_to_approve: field.flag("p.require_password_to_approve"),
});

const newerSettings = presenter(
  each(NEWER_NAMES, (name) => {
    const [flag, isOpposite] = NEWER[name];
    return field.nested({
      value: field.flag(isOpposite ? `1 - p.${flag}` : `p.${flag}`),
      locked: field.constant(false),
      inherited_from: field.constant(null),
    });
  }),
);

const flagsInput = each(FLAGS, () => param.optional(param.boolean()));
const settingsInput = {
  approvals_before_merge: param.optional(param.integer({ min: 0, max: 100 })),
  ...flagsInput,
};
const newerInput = each(NEWER_NAMES, () => param.optional(param.boolean()));

async function settingsOf({
  db,
  source,
  presenter: shown,
}: Pick<Context, "source" | "presenter"> & { db: Reader }): Promise<Value[]> {
  const [row] = await db.rows(`select ${shown.columns} from projects p where p.id = ?`, [
    source.id,
  ]);
  return row as Value[];
}

/** Changes the settings that are sent. @throws ApiError 400 */
async function change(
  context: Writing &
    Pick<Context, "presenter"> &
    Parameters<typeof audit.log>[0] & { db: Database },
  flags: Partial<Record<Flag, boolean | undefined>>,
): Promise<Value[]> {
  const { db, source, now } = context;
  if (flags.selective_code_owner_removals) {
    throw invalid({ selective_code_owner_removals: ["is not supported"] });
  }
  const columns = each(FLAGS, (name) =>
    flags[name] === undefined ? undefined : Number(flags[name]),
  );
  await updateRow(db, "projects", source.id, columns, now);
  const row = await settingsOf(context);
  await audit.log(context, "approval settings changed", { target: source.fullPath });
  return row;
}

const { get, post, put } = routes({ source: "project" });

/** What projects say about approvals. */
export const settingRoutes: readonly Route[] = [
  get("/approvals", {
    summary: "Get what a project says about approvals of its merge requests",
    role: "developer",
    tier: "premium",
    presenter: settings,
    handle: settingsOf,
  }),
  post("/approvals", {
    summary: "Change what a project says about approvals of its merge requests",
    role: "maintainer",
    tier: "premium",
    input: settingsInput,
    atLeastOne: Object.keys(settingsInput) as (keyof typeof settingsInput)[],
    presenter: settings,
    handle: async (context) => {
      const { approvals_before_merge: count, ...flags } = context.input;
      if (count !== undefined) await requireOfAnybody(context, null, count);
      return change(context, flags);
    },
  }),
  get("/merge_request_approval_setting", {
    summary: "Get what a project says about approvals, by the names of newer clients",
    role: "maintainer",
    tier: "premium",
    presenter: newerSettings,
    handle: settingsOf,
  }),
  put("/merge_request_approval_setting", {
    summary: "Change what a project says about approvals, by the names of newer clients",
    role: "maintainer",
    tier: "premium",
    input: newerInput,
    atLeastOne: NEWER_NAMES,
    presenter: newerSettings,
    handle: (context) => {
      const flags: Partial<Record<Flag, boolean>> = {};
      for (const name of NEWER_NAMES) {
        const [flag, isOpposite] = NEWER[name];
        const value = context.input[name];
        if (value !== undefined) flags[flag] = value !== isOpposite;
      }
      return change(context, flags);
    },
  }),
];
