import { ApiError, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { AfterCommit, Json, type Resource, routes } from "../../core/resource.ts";
import { commitNumber, readCommit } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { BRANCHES, isRefName, type Ref } from "../../git/refs.ts";
import type { Value } from "../../store/port.ts";
import { commitFields, commitValues } from "../repositories/json.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";
import { pageByName, pageOfChosen, searched } from "../repositories/refs.ts";
import { applyAll, openToChange, stage } from "../repositories/write.ts";
import { stageBranch, stageMerged } from "./changes.ts";
import { mergedCommits } from "./merged.ts";
import { protectionOf } from "./protection.ts";

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
async function rowOf(opened: OpenRepository, { name, oid }: Ref): Promise<Value[]> {
  const { repository, project, head } = opened;
  const number = commitNumber(repository, oid) as number;
  const protection = protectionOf(project);
  return branchRow({
    ...commitValues(opened, await readCommit(repository, number)),
    name: name.slice(BRANCHES.length),
    merged: mergedCommits(opened)[number] as number,
    protected: protection.isProtected ? 1 : 0,
    developers_can_push: protection.developersCanPush ? 1 : 0,
    developers_can_merge: protection.developersCanMerge ? 1 : 0,
    can_push: protection.canPush ? 1 : 0,
    is_default: name === head ? 1 : 0,
  });
}

const ofRepository = { source: "project", repository: true } as const;
const { del, get, list, post } = routes({ ...ofRepository, path: "/repository/branches" });
const { del: deleteAll } = routes({ ...ofRepository, path: "/repository/merged_branches" });

const writing = { access: "anyone", role: "developer", beside: "others" } as const;
const anyName = param.anyText({ max: 1024 });

/** A branch by its name. @throws ApiError 400 for a name that no branch has, 404 */
function requireBranch({ refs }: OpenRepository, branch: string): Ref {
  const name = BRANCHES + branch;
  if (!isRefName(name)) throw new ApiError(400, { message: "The branch refname is invalid" });
  const ref = refs.get(name);
  if (!ref) throw notFound("Branch");
  return ref;
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
        sort: param.optional(param.choice(["name_asc", "updated_asc", "updated_desc"])),
      },
      presenter: branch,
      prepare: (_, preparing) => openRepository(preparing, ["HEAD"]),
      handle: ({ db, input, page, prepared: opened }) => {
        const { search, sort = "name_asc" } = input;
        if (!search && sort === "name_asc") return pageByName(db, opened, BRANCHES, page, rowOf);
        const choose = (refs: readonly Ref[], current: OpenRepository) => {
          const found = search ? searched(refs, BRANCHES, search) : refs;
          if (sort === "name_asc") return found;
          return byTime(found, current, sort === "updated_asc" ? 1 : -1);
        };
        return pageOfChosen(db, opened, BRANCHES, page, choose, rowOf);
      },
    }),
    get("/:branch", {
      summary: "Get a branch; HEAD answers 204 if there is one",
      access: "anyone",
      input: { branch: anyName },
      presenter: branch,
      prepare: ({ branch: name }, preparing) =>
        openRepository(preparing, ["HEAD", `${BRANCHES}${name}`]),
      handle: ({ input, request, prepared: opened }) => {
        const ref = requireBranch(opened, input.branch);
        return request.method === "HEAD" ? undefined : rowOf(opened, ref);
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
        return new AfterCommit(() => rowOf(place, ref));
      },
    }),
    del("/:branch", {
      summary: "Delete a branch",
      ...writing,
      input: { branch: anyName },
      prepare: async ({ branch: name }, preparing) => {
        const place = await openToChange(preparing, [BRANCHES + name]);
        const { repository } = place;
        const { name: fullName, oid: from } = requireBranch(place, name);
        const commit = await readCommit(repository, commitNumber(repository, from) as number);
        const change = { name: fullName, from, to: undefined };
        const received = await stage(place, new Draft(repository), [change]);
        return { received, authoredAt: 1000 * commit.author.time };
      },
      handle: async ({ db, prepared: { received, authoredAt }, requireUnmodified, now }) => {
        requireUnmodified(authoredAt);
        await applyAll(db, received, now);
        return undefined;
      },
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
