import * as audit from "../../audit/log.ts";
import type { Role } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { ApiError, conflict, forbidden, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, type Resource, type Route, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { ensureHome } from "../namespaces/home.ts";
import { mayUnprotect } from "./abilities.ts";
import { branchAttributes, tagAttributes, wantedIn } from "./allowed.ts";
import { addRule, changeRule } from "./changes.ts";
import type { RulesTable } from "./grants.ts";
import { protectedBranch, protectedBranchOfGroup, protectedTag } from "./json.ts";
import * as rules from "./queries.ts";
import { migrations } from "./table.ts";
import { hasCodeOwners } from "./tiers.ts";
import { isWildcard } from "./wildcards.ts";

const name = { name: param.text() };

const flags = {
  allow_force_push: param.optional(param.boolean()),
  code_owner_approval_required: param.optional(param.boolean()),
};

/**
 * What a rule about branches is to say besides who may do what.
 *
 * @throws ApiError 400 for what this tier does not have
 */
function flagsIn({ input, tier }: Pick<Context, "tier"> & { input: param.Input<typeof flags> }) {
  const { allow_force_push: force, code_owner_approval_required: owners } = input;
  if (owners && !hasCodeOwners(tier)) {
    throw invalid({ code_owner_approval_required: ["needs the tier ultimate"] });
  }
  return {
    ...(force !== undefined && { allow_force_push: Number(force) }),
    ...(owners !== undefined && { code_owner_approval_required: Number(owners) }),
  };
}

const BRANCH_ACTIONS = ["push", "merge", "unprotect"] as const;

/** A project can have this many rules with wildcards about branches, and as many about tags: each is tried. */
const MAX_WILDCARDS = 100;

/** @throws ApiError 400 if a project has too many rules with wildcards already */
async function requireFewWildcards(
  db: Reader,
  table: RulesTable,
  { id }: Source,
  pattern: string,
): Promise<void> {
  if (!isWildcard(pattern)) return;
  if ((await rules.countWildcards(db, table, id)) >= MAX_WILDCARDS) {
    throw invalid({ name: [`has a wildcard, as ${MAX_WILDCARDS} others do (the maximum)`] });
  }
}

/** @throws ApiError 404 */
async function ruleOf(
  { db, source, input }: Pick<Context, "source"> & { db: Reader; input: { name: string } },
  table: RulesTable,
): Promise<rules.FoundRule> {
  const found = await rules.find(db, table, source.id, input.name);
  if (!found) throw notFound();
  return found;
}

/** What the audit log calls a branch or tag. */
const targetOf = ({ source, input }: Pick<Context, "source"> & { input: { name: string } }) => ({
  target: `${input.name} of ${source.fullPath}`,
});

const projectBranches = routes({ source: "project", path: "/protected_branches" });
const groupBranches = routes({ source: "group", path: "/protected_branches", isHome: true });
const tags = routes({ source: "project", path: "/protected_tags" });

/** The route that removes a rule. */
const unprotecting = (
  { del }: typeof projectBranches | typeof tags,
  role: Role,
  what: "branch" | "tag",
  table: RulesTable,
): Route =>
  del("/:name", {
    summary: `Unprotect a ${what}`,
    role,
    input: name,
    handle: async (context) => {
      const found = await ruleOf(context, table);
      if (!(await mayUnprotect(context.db, context.source, table, found.id))) throw forbidden();
      context.requireUnmodified(found.updated_at);
      await rules.remove(context.db, table, found.id);
      await audit.log(context, `${what} unprotected`, targetOf(context));
      return undefined;
    },
  });

/** The routes of the rules about branches of projects, or of top-level groups, whose rules are in force in all projects below. */
function branchRoutes(kind: Source["kind"]): Route[] {
  const isGroups = kind === "group";
  const shown = isGroups ? protectedBranchOfGroup : protectedBranch;
  const [reader, writer] = isGroups
    ? (["owner", "owner"] as const)
    : (["reporter", "maintainer"] as const);
  const branches = isGroups ? groupBranches : projectBranches;
  return [
    branches.list("", {
      summary: `List the protected branches of a ${kind}`,
      role: reader,
      input: { search: param.optional(param.anyText()) },
      presenter: shown,
      handle: (context) => {
        const { page, source, input } = context;
        return rules.list(context, page, "protected_branches", source, input.search);
      },
    }),
    branches.get("/:name", {
      summary: "Get a protected branch, or the rule of a wildcard",
      role: reader,
      input: name,
      presenter: shown,
      handle: async (context) => {
        const { db, source, input } = context;
        const found = isGroups
          ? await rules.find(db, "protected_branches", source.id, input.name)
          : await rules.findInForce(db, source.id, input.name);
        if (!found) throw notFound();
        return rules.row(context, "protected_branches", found.id);
      },
    }),
    branches.post("", {
      summary: "Protect a branch, or with `*` in the name all that fit it",
      role: writer,
      input: {
        ...name,
        ...branchAttributes,
        ...flags,
      },
      presenter: shown,
      handle: async (context) => {
        const { db, input, now } = context;
        if (isGroups && context.source.fullPath.includes("/")) {
          throw new ApiError(422, { message: ["Group must be a top-level group"] });
        }
        const source = { ...context.source, id: await ensureHome(db, context.source, now) };
        if (await rules.find(db, "protected_branches", source.id, input.name)) {
          throw conflict(`Protected branch '${input.name}' already exists`);
        }
        await requireFewWildcards(db, "protected_branches", source, input.name);
        const rule = { name: input.name, ...flagsIn(context) };
        const wanted = wantedIn(BRANCH_ACTIONS, input);
        const id = await addRule({ ...context, source }, "protected_branches", rule, wanted);
        await audit.log(context, "branch protected", targetOf(context));
        return rules.row(context, "protected_branches", id);
      },
    }),
    branches.patch("/:name", {
      summary: "Change a protected branch",
      role: writer,
      input: {
        ...name,
        ...branchAttributes,
        ...flags,
      },
      presenter: shown,
      handle: async (context) => {
        const { id } = await ruleOf(context, "protected_branches");
        await changeRule(context, id, flagsIn(context), wantedIn(BRANCH_ACTIONS, context.input));
        await audit.log(context, "branch protection changed", targetOf(context));
        return rules.row(context, "protected_branches", id);
      },
    }),
    unprotecting(branches, writer, "branch", "protected_branches"),
  ];
}

/** Protected branches of projects and groups. */
export const protectedBranchResource: Resource = {
  name: "Protected branches",
  migrations,
  routes: [...branchRoutes("project"), ...branchRoutes("group")],
};

/** Protected tags of projects. */
export const protectedTagResource: Resource = {
  name: "Protected tags",
  migrations: [],
  routes: [
    tags.list("", {
      summary: "List the protected tags of a project",
      role: "maintainer",
      presenter: protectedTag,
      handle: (context) =>
        rules.list(context, context.page, "protected_tags", context.source, undefined),
    }),
    tags.get("/:name", {
      summary: "Get a protected tag, or the rule of a wildcard",
      role: "maintainer",
      input: name,
      presenter: protectedTag,
      handle: async (context) => {
        const { id } = await ruleOf(context, "protected_tags");
        return rules.row(context, "protected_tags", id);
      },
    }),
    tags.post("", {
      summary: "Protect a tag, or with `*` in the name all that fit it",
      role: "maintainer",
      input: { ...name, ...tagAttributes },
      presenter: protectedTag,
      handle: async (context) => {
        const { db, source, input } = context;
        if (await rules.find(db, "protected_tags", source.id, input.name)) {
          throw new ApiError(422, { message: ["Name has already been taken"] });
        }
        await requireFewWildcards(db, "protected_tags", source, input.name);
        const wanted = wantedIn(["create"], input);
        const id = await addRule(context, "protected_tags", { name: input.name }, wanted);
        await audit.log(context, "tag protected", targetOf(context));
        return rules.row(context, "protected_tags", id);
      },
    }),
    unprotecting(tags, "maintainer", "tag", "protected_tags"),
  ],
};
