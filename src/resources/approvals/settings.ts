import * as audit from "../../audit/log.ts";
import { invalid } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Route, routes } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import {
  inForce,
  isLocked,
  isShared,
  type SharedSetting,
  STRICT,
} from "../approval-state/settings.ts";
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
  ...each(FLAGS, (name) => field.flag(countingOf(name))),
  require_reauthentication_to_approve: field.flag(countingOf("require_password_to_approve")),
});

/** SQL of what counts for a project `p`. */
function countingOf(flag: Flag): string {
  return isShared(flag) ? inForce(flag) : `p.${flag}`;
}

/** A presenter of the settings by the names of newer clients. */
const newerOf = (value: (flag: Flag) => string, locked: (flag: SharedSetting) => string) =>
  presenter(
    each(NEWER_NAMES, (name) => {
      const [flag, isOpposite] = NEWER[name];
      const shown = value(flag);
      const lock = isShared(flag) ? locked(flag) : undefined;
      return field.nested({
        value: field.flag(isOpposite ? `1 - ${shown}` : shown),
        locked: lock ? field.flag(`case when ${lock} then 1 else 0 end`) : field.constant(false),
        inherited_from: lock
          ? field.text(`case when ${lock} then 'group' end`)
          : field.constant(null),
      });
    }),
  );

const newerSettings = newerOf(countingOf, isLocked);

/** Whether a group above a group `n` is strict. */
const isLockedAbove = (flag: SharedSetting): string =>
  `exists (select 1 from namespace_ancestors sa join group_approval_settings up on up.namespace_id = sa.ancestor_id
    where sa.namespace_id = n.id and sa.ancestor_id <> n.id and up.${flag} = ${STRICT[flag]})`;

/** SQL of what counts for a group `n` with its own settings `own`: what nobody has said is not strict. */
const groupValue = (flag: Flag): string =>
  isShared(flag)
    ? `case when ${isLockedAbove(flag)} then ${STRICT[flag]} else coalesce(own.${flag}, ${1 - STRICT[flag]}) end`
    : "0";

const groupSettings = newerOf(groupValue, isLockedAbove);

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

type Flags = Partial<Record<Flag, boolean | undefined>>;

/** @throws ApiError 400 */
function requireSupported(flags: Flags): void {
  if (flags.selective_code_owner_removals) {
    throw invalid({ selective_code_owner_removals: ["is not supported"] });
  }
}

/** Checks that nothing is allowed that a group above forbids. @throws ApiError 400 */
async function requireUnlocked(
  db: Reader,
  flags: Flags,
  {
    from,
    id,
    isLocked: locked,
  }: {
    readonly from: string;
    readonly id: number;
    readonly isLocked: (flag: SharedSetting) => string;
  },
): Promise<void> {
  const lenient = FLAGS.filter(isShared).filter(
    (name) => flags[name] !== undefined && Number(flags[name]) !== STRICT[name],
  );
  if (lenient.length === 0) return;
  const columns = lenient.map((name) => `case when ${locked(name)} then 1 else 0 end`);
  const [row] = await db.rows(`select ${columns.join(", ")} from ${from}`, [id]);
  const refused = lenient.filter((_, at) => row?.[at] === 1);
  if (refused.length > 0) throw invalid(each(refused, () => ["is locked by a group"]));
}

/** What newer clients send, by the names of the columns. */
function flagsOf(input: Partial<Record<Newer, boolean | undefined>>): Flags {
  const flags: Flags = {};
  for (const name of NEWER_NAMES) {
    const [flag, isOpposite] = NEWER[name];
    const value = input[name];
    if (value !== undefined) flags[flag] = value !== isOpposite;
  }
  return flags;
}

async function groupSettingsOf({
  db,
  source,
  presenter: shown,
}: Pick<Context, "source" | "presenter"> & { db: Reader }): Promise<Value[]> {
  const [row] = await db.rows(
    `select ${shown.columns} from namespaces n
     left join group_approval_settings own on own.namespace_id = n.id where n.id = ?`,
    [source.id],
  );
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
  requireSupported(flags);
  await requireUnlocked(db, flags, { from: "projects p where p.id = ?", id: source.id, isLocked });
  const columns = each(FLAGS, (name) =>
    flags[name] === undefined ? undefined : Number(flags[name]),
  );
  await updateRow(db, "projects", source.id, columns, now);
  const row = await settingsOf(context);
  await audit.log(context, "approval settings changed", { target: source.fullPath });
  return row;
}

const { get, post, put } = routes({ source: "project" });
const ofGroup = routes({ source: "group" });

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
    handle: (context) => change(context, flagsOf(context.input)),
  }),
  ofGroup.get("/merge_request_approval_setting", {
    summary: "Get what a group says about approvals in the projects below it",
    role: "owner",
    tier: "premium",
    presenter: groupSettings,
    handle: groupSettingsOf,
  }),
  ofGroup.put("/merge_request_approval_setting", {
    summary:
      "Change what a group says about approvals: what it forbids, no project below it allows",
    role: "owner",
    tier: "premium",
    input: newerInput,
    atLeastOne: NEWER_NAMES,
    presenter: groupSettings,
    handle: async (context) => {
      const { db, source, now } = context;
      const flags = flagsOf(context.input);
      requireSupported(flags);
      const above = { from: "namespaces n where n.id = ?", id: source.id, isLocked: isLockedAbove };
      await requireUnlocked(db, flags, above);
      const [known] = await db.rows(
        "select id from group_approval_settings where namespace_id = ?",
        [source.id],
      );
      const id = known
        ? (known[0] as number)
        : await insertRow(db, "group_approval_settings", {
            ...{ namespace_id: source.id, created_at: now, updated_at: now },
          });
      const columns = each(FLAGS.filter(isShared), (name) =>
        flags[name] === undefined ? undefined : Number(flags[name]),
      );
      await updateRow(db, "group_approval_settings", id, columns, now);
      await audit.log(context, "approval settings changed", { target: source.fullPath });
      return groupSettingsOf(context);
    },
  }),
];
