import * as audit from "../../audit/log.ts";
import { ApiError, badRequest, notFound } from "../../core/errors.ts";
import type { Expression } from "../../core/expressions.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { AfterCommit, type Context, Json, type Resource, routes } from "../../core/resource.ts";
import { commitNumber, readCommit } from "../../git/commits.ts";
import { BRANCHES, isRefName, type Ref } from "../../git/refs.ts";
import type { Reader, Value } from "../../store/port.ts";
import { type RefRights, rightsOf } from "../protected-refs/abilities.ts";
import { protectFor, unprotect } from "../protected-refs/changes.ts";
import { commitFields, commitValues } from "../repositories/json.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";
import { fittingOf, pageByName, pageOfChosen, searched } from "../repositories/refs.ts";
import { applyAll, applyDeletion, openToChange, stageDeletion } from "../repositories/write.ts";
import { stageBranch, stageMerged } from "./changes.ts";
import { mergedCommits } from "./merged.ts";

/** A branch. */
const branch = presenter({
  name: field.text("name"),
  commit: field.nested(commitFields),
  merged: field.flag("merged"),
  protected: field.flag("protected"),
  developers_can_push: field.flag("developers_can_push"),
  developers_can_merge: field.flag("developers_can_merge"),
  can_push: field.flag("can_push"),
  default: field.flag("is_default"),
  web_url: field.derived(["project_path", "name"], "URL", ([path, name], { base }) => {
    const escaped = String(name).split("/").map(encodeURIComponent).join("/");
    return `${base}/${path}/-/tree/${escaped}`;
  }),
});
const branchRow = rowMaker(branch);

/** Makes the row of a branch. */
async function rowOf(
  opened: OpenRepository,
  { name, oid }: Ref,
  rights: RefRights,
): Promise<Value[]> {
  const { repository, head } = opened;
  const number = commitNumber(repository, oid) as number;
  const branchName = name.slice(BRANCHES.length);
  const values = {
    name: branchName,
    merged: mergedCommits(opened)[number] as number,
    protected: Number(rights.isProtected(branchName)),
    developers_can_push: Number(rights.developersMayPush(branchName)),
    developers_can_merge: Number(rights.developersMayMerge(branchName)),
    can_push: Number(rights.mayPush(branchName)),
    is_default: name === head ? 1 : 0,
  };
  return branchRow(values, commitValues(opened, await readCommit(repository, number)));
}

const ofRepository = { source: "project", repository: true } as const;
const { del, get, list, post, put } = routes({ ...ofRepository, path: "/repository/branches" });
const { del: deleteAll } = routes({ ...ofRepository, path: "/repository/merged_branches" });

const writing = { access: "anyone", role: "developer", concurrency: "per project" } as const;
/** Makes the rows of branches. */
async function rowsOf(
  db: Reader,
  opened: OpenRepository,
  refs: readonly Ref[],
): Promise<Value[][]> {
  const names = refs.map(({ name }) => name);
  const rights = await rightsOf(db, opened.project, names);
  const rows: Value[][] = [];
  for (const ref of refs) rows.push(await rowOf(opened, ref, rights));
  return rows;
}

/** A branch as it is after a change. */
const rowLater = (opened: OpenRepository, ref: Ref) =>
  new AfterCommit(async (db) => (await rowsOf(db, opened, [ref]))[0], "repository");

const one = { branch: param.anyText({ max: 1024 }) };

/**
 * Finds a branch that a route names, and that its repository was opened with.
 *
 * @throws ApiError 400 for a name that no branch can have, 404 if there is none
 */
function requireBranch({ refs }: OpenRepository, branchName: string): Ref {
  const name = BRANCHES + branchName;
  if (!isRefName(name)) throw new ApiError(400, { message: "The branch refname is invalid" });
  const ref = refs.get(name);
  if (!ref) throw notFound("Branch");
  return ref;
}

/** What the audit log calls a branch. */
const targetOf = ({ source, input }: Pick<Context, "source"> & { input: { branch: string } }) => ({
  target: `${input.branch} of ${source.fullPath}`,
});

/** The regular expression that names of branches have to fit. @throws ApiError 400 */
async function expressionOf(text: string): Promise<Expression> {
  const { readExpression } = await import("../../core/expressions.ts");
  const expression = readExpression(text);
  if (!expression) throw badRequest("Regex is invalid");
  return expression;
}

/** The order by the newest commits. */
function byTime(refs: readonly Ref[], { repository }: OpenRepository, sign: 1 | -1): Ref[] {
  const { graph } = repository;
  const timeOf = ({ oid }: Ref) => graph.times[commitNumber(repository, oid) as number] as number;
  return refs
    .map((ref) => ({ ref, time: timeOf(ref) }))
    .sort((a, b) => sign * (a.time - b.time))
    .map(({ ref }) => ref);
}

/** Branches of projects' repositories. */
export const branchResource: Resource = {
  name: "Branches",
  migrations: [],
  routes: [
    list("", {
      summary: "List the branches of a project",
      access: "anyone",
      input: {
        search: param.optional(param.anyText()),
        regex: param.optional(param.anyText({ max: 1000 })),
        sort: param.optional(param.choice(["name_asc", "updated_asc", "updated_desc"])),
      },
      presenter: branch,
      prepare: (_, preparing) => openRepository(preparing, ["HEAD"]),
      handle: async ({ db, input, page, prepared: opened }) => {
        const { search, regex, sort = "name_asc" } = input;
        const expression = regex ? await expressionOf(regex) : undefined;
        const show = (current: OpenRepository, refs: readonly Ref[]) => rowsOf(db, current, refs);
        if (!search && !expression && sort === "name_asc")
          return pageByName(db, opened, BRANCHES, page, show);
        const choose = async (refs: readonly Ref[], current: OpenRepository) => {
          const fitting = expression
            ? await fittingOf(refs, BRANCHES, expression, opened.budget)
            : refs;
          const found = search ? searched(fitting, BRANCHES, search) : fitting;
          if (sort === "name_asc") return found;
          return byTime(found, current, sort === "updated_asc" ? 1 : -1);
        };
        return pageOfChosen(db, opened, BRANCHES, page, choose, show);
      },
    }),
    get("/:branch", {
      summary: "Get a branch; HEAD answers 204 if there is one",
      access: "anyone",
      input: one,
      presenter: branch,
      prepare: ({ branch: name }, preparing) =>
        openRepository(preparing, ["HEAD", `${BRANCHES}${name}`]),
      handle: async ({ db, input, request, prepared: opened }) => {
        const ref = requireBranch(opened, input.branch);
        return request.method === "HEAD" ? undefined : (await rowsOf(db, opened, [ref]))[0];
      },
    }),
    put("/:branch/protect", {
      summary: "Protect a branch; of one that is protected, change what developers may do",
      role: "maintainer",
      input: {
        ...one,
        developers_can_push: param.optional(param.boolean()),
        developers_can_merge: param.optional(param.boolean()),
      },
      presenter: branch,
      prepare: ({ branch: name }, preparing) =>
        openRepository(preparing, ["HEAD", `${BRANCHES}${name}`]),
      handle: async (context) => {
        const { input, prepared: opened } = context;
        const ref = requireBranch(opened, input.branch);
        const developers = {
          canPush: input.developers_can_push,
          canMerge: input.developers_can_merge,
        };
        await protectFor(context, input.branch, developers);
        await audit.log(context, "branch protected", targetOf(context));
        return rowLater(opened, ref);
      },
    }),
    put("/:branch/unprotect", {
      summary: "Remove the rule of a branch; those with wildcards stay",
      role: "maintainer",
      input: one,
      presenter: branch,
      prepare: ({ branch: name }, preparing) =>
        openRepository(preparing, ["HEAD", `${BRANCHES}${name}`]),
      handle: async (context) => {
        const { input, prepared: opened } = context;
        const ref = requireBranch(opened, input.branch);
        if (await unprotect(context, input.branch)) {
          await audit.log(context, "branch unprotected", targetOf(context));
        }
        return rowLater(opened, ref);
      },
    }),
    post("", {
      summary: "Create a branch",
      ...writing,
      input: { branch: param.text({ max: 1024 }), ref: param.text({ max: 1024 }) },
      presenter: branch,
      prepare: async ({ branch: name, ref }, preparing) =>
        stageBranch(await openToChange(preparing, [BRANCHES + name], ["HEAD", ref]), name, ref),
      handle: async ({ db, prepared: { received, place, ref }, now }) => {
        await applyAll(db, received, now);
        return rowLater(place, ref);
      },
    }),
    del("/:branch", {
      summary: "Delete a branch",
      ...writing,
      input: one,
      prepare: async ({ branch: name }, preparing) => {
        const place = await openToChange(preparing, [BRANCHES + name]);
        return stageDeletion(place, requireBranch(place, name));
      },
      handle: applyDeletion,
    }),
    deleteAll("", {
      summary: "Delete the branches that are merged into the default branch",
      ...writing,
      status: 202,
      examples: [{ message: "202 Accepted" }],
      prepare: async (_, preparing) => stageMerged(await openToChange(preparing, [], ["HEAD"])),
      handle: async ({ db, prepared: received, now }) => {
        if (received) await applyAll(db, received, now);
        return new Json({ message: "202 Accepted" });
      },
    }),
  ],
};
