import { memberProjects, type Viewer, visibleProjects } from "../../core/access/visibility.ts";
import { BRANCHES, bounds } from "../../git/refs.ts";
import {
  boolean,
  computed,
  connection,
  emptyConnection,
  type GraphContext,
  type GraphqlModule,
  loaded,
  type OutputFields,
  property,
  required,
  rowType,
  string,
  time,
  type ValueType,
  valueType,
} from "../../graphql/declare.ts";
import { listed, listOf } from "../../graphql/loaded-pages.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { type Action, rowsOfGrants } from "./grants.ts";
import { LEVEL, WHO, whoIs } from "./json.ts";
import { fits } from "./wildcards.ts";

/** A grant as its type shows it. */
interface ShownGrant {
  readonly level: number;
  readonly who: string;
  readonly userId: number | null;
  readonly groupId: number | null;
  readonly key: { readonly id: string; readonly title: string } | null;
}

const deployKey = valueType("AccessLevelDeployKey", "A deploy key that may do something.", {
  id: required(property("ID")),
  title: required(property("String")),
});

/** Who may do something. */
const accessLevels = (type: string, about: string, more: OutputFields = {}) =>
  valueType(type, about, {
    accessLevel: required(property("Int", ({ level }: ShownGrant) => level)),
    accessLevelDescription: required(property("String", ({ who }: ShownGrant) => who)),
    user: property("UserCore", ({ userId }: ShownGrant) => userId),
    group: property("Group", ({ groupId }: ShownGrant) => groupId),
    ...more,
  });

/** A rule as its protection shows it. */
interface Protection {
  readonly allowsForcePush: boolean;
  readonly asksOwners: boolean;
  readonly grants: Partial<Record<Action, ShownGrant[]>>;
}

const granted = (of: ValueType, action: Action) =>
  listed(of, ({ grants }: Protection) => listOf(grants[action] ?? []));

const protection = valueType("BranchProtection", "What a rule about branches protects.", {
  allowForcePush: required(
    property("Boolean", ({ allowsForcePush }: Protection) => allowsForcePush),
  ),
  codeOwnerApprovalRequired: required(
    property("Boolean", ({ asksOwners }: Protection) => asksOwners),
  ),
  isGroupLevel: property("Boolean", () => false),
  pushAccessLevels: granted(
    accessLevels("PushAccessLevel", "Who may push.", {
      deployKey: property(deployKey, ({ key }: ShownGrant) => key),
    }),
    "push",
  ),
  mergeAccessLevels: granted(accessLevels("MergeAccessLevel", "Who may merge."), "merge"),
  unprotectAccessLevels: granted(
    accessLevels("UnprotectAccessLevel", "Who may unprotect."),
    "unprotect",
  ),
});

/** What rules protect, in two statements. */
async function protectionsOf(
  ids: readonly Value[],
  { db }: GraphContext,
): Promise<Map<Value, Protection>> {
  const among = placeholders(ids);
  const rules = await db.rows(
    `select id, allow_force_push, code_owner_approval_required from protected_branches where id in (${among.sql})`,
    among.values,
  );
  const protections = new Map(
    rules.map(([id, force, owners]) => [
      id as Value,
      { allowsForcePush: force === 1, asksOwners: owners === 1, grants: {} } as Protection,
    ]),
  );
  const columns = [LEVEL, ...WHO, "g.user_id", "g.group_id", "k.id", "k.title"].join(", ");
  for (const row of await rowsOfGrants(db, "protected_branches", columns, ids)) {
    const [level, own, name, userId, groupId, keyId, title, ruleId, action] = row;
    const grants = protections.get(ruleId as Value)?.grants ?? {};
    const named = grants[action as Action] ?? [];
    grants[action as Action] = named;
    const who = whoIs([own as Value, name as Value]);
    const key = keyId === null ? null : { id: `gid://gitlab/DeployKey/${keyId}`, title };
    named.push({ level, who, userId, groupId, key } as ShownGrant);
  }
  return protections;
}

const approvalRule = valueType("ApprovalProjectRule", "A rule about approvals.", {
  id: required(property("ID")),
  name: property("String"),
  type: property("String"),
  approvalsRequired: property("Int"),
});
const statusCheck = valueType("ExternalStatusCheck", "A check outside of this server.", {
  id: required(property("ID")),
  name: required(property("String")),
  externalUrl: required(property("String")),
});

/** As REST shows rules: to reporters. */
const visible = (viewer: Viewer) =>
  viewer.caller?.admin ? visibleProjects(viewer) : memberProjects(viewer, "reporter");

/** How many branches each rule's name fits, in two statements. */
async function countsOf(ids: readonly Value[], { db }: GraphContext): Promise<Map<Value, number>> {
  const among = placeholders(ids);
  const rules = await db.rows(
    `select id, project_id, name from protected_branches where id in (${among.sql})`,
    among.values,
  );
  const projects = placeholders([...new Set(rules.map(([, projectId]) => projectId as Value))]);
  const branches = await db.rows(
    `select g.project_id, r.name from git_repositories g join git_refs r on r.repository_id = g.id
     where g.project_id in (${projects.sql}) and g.kind = 'code' and r.name > ? and r.name < ?`,
    [...projects.values, ...bounds(BRANCHES)],
  );
  const named = new Map<Value, string[]>();
  for (const [projectId, name] of branches) {
    const own = named.get(projectId as Value) ?? [];
    named.set(projectId as Value, own);
    own.push(String(name).slice(BRANCHES.length));
  }
  return new Map(
    rules.map(([id, projectId, pattern]) => [
      id as Value,
      (named.get(projectId as Value) ?? []).filter((name) => fits(String(pattern), name)).length,
    ]),
  );
}

const rule = rowType("BranchRule", {
  about: "What is decided about the branches with a name.",
  from: "protected_branches pr join projects p on p.id = pr.project_id",
  key: "pr.id",
  visible,
  fields: {
    id: computed("ID!", ["pr.id"], ([id]) => `gid://gitlab/Projects::BranchRule/${id}`),
    name: required(string("pr.name")),
    isDefault: required(boolean("case when pr.name = p.default_branch then 1 else 0 end")),
    isProtected: required(boolean("1")),
    matchingBranchesCount: required(loaded("Int", countsOf, { empty: 0 })),
    branchProtection: loaded(protection, protectionsOf),
    approvalRules: emptyConnection(approvalRule),
    externalStatusChecks: emptyConnection(statusCheck),
    createdAt: time("pr.created_at"),
    updatedAt: time("pr.updated_at"),
  },
});

/** Rules about branches. */
export const graphqlModule: GraphqlModule = {
  types: [rule],
  extend: {
    Project: {
      branchRules: connection("BranchRule", {
        query: () => ({ parent: "pr.project_id", order: [{ sql: "pr.id" }] }),
      }),
    },
  },
};
