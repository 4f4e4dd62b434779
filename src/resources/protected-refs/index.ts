import * as audit from "../../audit/log.ts";
import { ROLES } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { ApiError, conflict, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, type Resource, type Route, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { protectedBranch, protectedTag } from "./json.ts";
import { level, levelFrom, levels, requireMaintainers } from "./levels.ts";
import * as rules from "./queries.ts";
import { migrations } from "./table.ts";
import { isWildcard } from "./wildcards.ts";

const name = { name: param.text() };

const lists = {
  allowed_to_push: levels,
  allowed_to_merge: levels,
  allowed_to_unprotect: levels,
};

/**
 * The access levels that a rule about branches gets.
 *
 * @param now those it has
 * @throws ApiError 400 for what can't be kept
 */
function levelsIn(
  input: param.Input<
    typeof lists & {
      push_access_level: typeof level;
      merge_access_level: typeof level;
      unprotect_access_level: typeof level;
    }
  >,
  now?: rules.BranchLevels,
) {
  const { allowed_to_push, allowed_to_merge, allowed_to_unprotect } = input;
  const of = (known: number | undefined) =>
    now && known !== undefined ? { id: now.id, level: known } : undefined;
  requireMaintainers(
    {
      name: "allowed_to_unprotect",
      list: allowed_to_unprotect,
      level: input.unprotect_access_level,
    },
    now?.id,
  );
  return {
    push_level: levelFrom(
      { name: "allowed_to_push", list: allowed_to_push, level: input.push_access_level },
      of(now?.push_level),
    ),
    merge_level: levelFrom(
      { name: "allowed_to_merge", list: allowed_to_merge, level: input.merge_access_level },
      of(now?.merge_level),
    ),
  };
}

/** A project can have this many rules with wildcards about branches, and as many about tags: each is tried. */
const MAX_WILDCARDS = 100;

/** @throws ApiError 400 if a project has too many rules with wildcards already */
async function requireFewWildcards(
  db: Reader,
  table: rules.RulesTable,
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
  table: rules.RulesTable,
): Promise<rules.FoundRule> {
  const found = await rules.find(db, table, source.id, input.name);
  if (!found) throw notFound();
  return found;
}

/** What the audit log calls a branch or tag. */
const targetOf = ({ source, input }: Pick<Context, "source"> & { input: { name: string } }) => ({
  target: `${input.name} of ${source.fullPath}`,
});

const branches = routes({ source: "project", path: "/protected_branches" });
const tags = routes({ source: "project", path: "/protected_tags" });

/** The route that removes a rule. */
const unprotecting = (
  { del }: typeof branches | typeof tags,
  what: "branch" | "tag",
  table: rules.RulesTable,
): Route =>
  del("/:name", {
    summary: `Unprotect a ${what}`,
    role: "maintainer",
    input: name,
    handle: async (context) => {
      const found = await ruleOf(context, table);
      context.requireUnmodified(found.updated_at);
      await rules.remove(context.db, table, found.id);
      await audit.log(context, `${what} unprotected`, targetOf(context));
      return undefined;
    },
  });

/** Protected branches of projects. */
export const protectedBranchResource: Resource = {
  name: "Protected branches",
  migrations,
  routes: [
    branches.list("", {
      summary: "List the protected branches of a project",
      role: "reporter",
      input: { search: param.optional(param.anyText()) },
      presenter: protectedBranch,
      handle: ({ db, presenter, page, source, input }) =>
        rules.list(db, presenter, page, "protected_branches", source, input.search),
    }),
    branches.get("/:name", {
      summary: "Get a protected branch, or the rule of a wildcard",
      role: "reporter",
      input: name,
      presenter: protectedBranch,
      handle: async (context) => {
        const { id } = await ruleOf(context, "protected_branches");
        return rules.row(context.db, context.presenter, "protected_branches", id);
      },
    }),
    branches.post("", {
      summary: "Protect a branch, or with `*` in the name all that fit it",
      role: "maintainer",
      input: {
        ...name,
        push_access_level: level,
        merge_access_level: level,
        unprotect_access_level: level,
        ...lists,
        allow_force_push: param.optional(param.boolean()),
        code_owner_approval_required: param.optional(param.boolean()),
      },
      presenter: protectedBranch,
      handle: async (context) => {
        const { db, source, input, presenter, now } = context;
        if (await rules.find(db, "protected_branches", source.id, input.name)) {
          throw conflict(`Protected branch '${input.name}' already exists`);
        }
        await requireFewWildcards(db, "protected_branches", source, input.name);
        const { push_level, merge_level } = levelsIn(input);
        const rule = {
          name: input.name,
          push_level: push_level ?? ROLES.maintainer,
          merge_level: merge_level ?? ROLES.maintainer,
          allow_force_push: Number(input.allow_force_push ?? false),
          code_owner_approval_required: Number(input.code_owner_approval_required ?? false),
        };
        const id = await rules.insert(db, "protected_branches", source.id, rule, now);
        await audit.log(context, "branch protected", targetOf(context));
        return rules.row(db, presenter, "protected_branches", id);
      },
    }),
    branches.patch("/:name", {
      summary: "Change a protected branch",
      role: "maintainer",
      input: {
        ...name,
        push_access_level: level,
        merge_access_level: level,
        unprotect_access_level: level,
        ...lists,
        allow_force_push: param.optional(param.boolean()),
        code_owner_approval_required: param.optional(param.boolean()),
      },
      presenter: protectedBranch,
      handle: async (context) => {
        const { db, input, presenter, now } = context;
        const { id } = await ruleOf(context, "protected_branches");
        const flag = (isSet: boolean | undefined) =>
          isSet === undefined ? undefined : Number(isSet);
        const changes = {
          ...levelsIn(input, await rules.levelsOf(db, id)),
          allow_force_push: flag(input.allow_force_push),
          code_owner_approval_required: flag(input.code_owner_approval_required),
        };
        await updateRow(db, "protected_branches", id, changes, now);
        await audit.log(context, "branch protection changed", targetOf(context));
        return rules.row(db, presenter, "protected_branches", id);
      },
    }),
    unprotecting(branches, "branch", "protected_branches"),
  ],
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
      handle: ({ db, presenter, page, source }) =>
        rules.list(db, presenter, page, "protected_tags", source, undefined),
    }),
    tags.get("/:name", {
      summary: "Get a protected tag, or the rule of a wildcard",
      role: "maintainer",
      input: name,
      presenter: protectedTag,
      handle: async (context) => {
        const { id } = await ruleOf(context, "protected_tags");
        return rules.row(context.db, context.presenter, "protected_tags", id);
      },
    }),
    tags.post("", {
      summary: "Protect a tag, or with `*` in the name all that fit it",
      role: "maintainer",
      input: { ...name, create_access_level: level, allowed_to_create: levels },
      presenter: protectedTag,
      handle: async (context) => {
        const { db, source, input, presenter, now } = context;
        if (await rules.find(db, "protected_tags", source.id, input.name)) {
          throw new ApiError(422, { message: ["Name has already been taken"] });
        }
        await requireFewWildcards(db, "protected_tags", source, input.name);
        const rule = {
          name: input.name,
          create_level:
            levelFrom({
              name: "allowed_to_create",
              list: input.allowed_to_create,
              level: input.create_access_level,
            }) ?? ROLES.maintainer,
        };
        const id = await rules.insert(db, "protected_tags", source.id, rule, now);
        await audit.log(context, "tag protected", targetOf(context));
        return rules.row(db, presenter, "protected_tags", id);
      },
    }),
    unprotecting(tags, "tag", "protected_tags"),
  ],
};
