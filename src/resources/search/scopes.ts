import type { Caller } from "../../core/access/caller.ts";
import { membershipsIn } from "../../core/access/memberships.ts";
import { inheritedBy } from "../../core/access/owner.ts";
import type { Source } from "../../core/access/source.ts";
import { readableSnippets, type Viewer, visibleLinks } from "../../core/access/visibility.ts";
import * as param from "../../core/input.ts";
import { unsupported, unsupportedFlag } from "../../core/kept.ts";
import type { Page, RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { any, belowGroup, type Condition, projectsBelow } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { ISSUE } from "../issuables/issue.ts";
import { list as listIssuables } from "../issuables/list.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { IssuableType, Presenting } from "../issuables/type.ts";
import { anyMilestone, projectMilestone } from "../milestones/json.ts";
import * as milestones from "../milestones/queries.ts";
import { note } from "../notes/json.ts";
import * as notes from "../notes/queries.ts";
import { basicProject } from "../projects/json.ts";
import { list as listProjects } from "../projects/list.ts";
import { commit } from "../repositories/json.ts";
import { snippet } from "../snippets/json.ts";
import * as snippets from "../snippets/queries.ts";
import { userSummary } from "../users/json.ts";
import * as users from "../users/queries.ts";
import {
  blob,
  findBlobs,
  findCommits,
  ofMany,
  ofProject,
  openCode,
  openWikiPages,
  type Places,
} from "./code.ts";

/** What a search is about. */
interface Searching extends Presenting {
  readonly db: Reader;
  readonly page: Page;
  readonly viewer: Viewer;
  /** People are found by those who are signed in. */
  readonly caller: Caller | undefined;
  /** The group or project that is searched; without one, everything is. */
  readonly source: Source | undefined;
  readonly input: {
    readonly search: string;
    readonly state?: string | undefined;
    readonly confidential?: boolean | undefined;
    readonly sort?: "asc" | "desc" | undefined;
  };
}

/** What can be found, by the word for it: how it is presented, and a page of it. */
interface Scope {
  readonly presenter: Presenter;
  readonly ofProject?: Presenter;
  readonly find: (searching: Searching) => Promise<RowPage>;
}

/** What can be found in repositories. */
interface RepositoryScope extends Pick<Scope, "presenter"> {
  /** Opens a project's. */
  readonly open: Parameters<typeof ofProject>[1];
  readonly find: (places: Places, page: Page, text: string) => Promise<RowPage>;
}

const placeOf = (source: Source | undefined) =>
  source?.kind === "group" ? { groupId: source.id } : { projectId: source?.id };

const issuables = (type: IssuableType): Scope => ({
  presenter: type.listed,
  find: (searching) => {
    const { input, source } = searching;
    return listIssuables(searching, type, {
      ...placeOf(source),
      values: {
        search: input.search,
        state: input.state === "all" ? undefined : input.state,
        confidential: type === ISSUE ? input.confidential : undefined,
      },
      orderBy: "created_at",
      sort: input.sort ?? "desc",
    });
  },
});

/**
 * The condition that a row `u` of users belongs to a project, also by a group that is invited to it; or is a member of a
 * group, of one above it, or of anything below it, as in GitLab.
 */
function belongsTo(source: Source): Condition {
  if (source.kind === "project") {
    const { sql, values } = membershipsIn(source, visibleLinks(source.viewer, source));
    return { sql: `u.id in (select m.user_id from (${sql}) as m)`, values };
  }
  const members = any([
    inheritedBy("m", source),
    belowGroup("m.namespace_id", source.id),
    projectsBelow("m.project_id", source.id),
  ]);
  return {
    sql: `u.id in (select m.user_id from members m where ${members.sql})`,
    values: members.values,
  };
}

const SCOPES = {
  projects: {
    presenter: basicProject,
    find: ({ db, presenter, page, viewer, source, input }) =>
      listProjects(
        db,
        presenter,
        page,
        viewer,
        { search: input.search, namespaceId: source?.id, below: source !== undefined },
        { orderBy: "created_at", sort: input.sort ?? "desc" },
      ),
  },
  issues: issuables(ISSUE),
  merge_requests: issuables(MERGE_REQUEST),
  milestones: {
    presenter: anyMilestone,
    ofProject: projectMilestone,
    find: ({ db, presenter, page, viewer, source, input }) =>
      milestones.search(db, presenter, page, viewer, { text: input.search, ...placeOf(source) }),
  },
  users: {
    presenter: userSummary,
    find: ({ db, presenter, page, caller, source, input }) =>
      users.list(db, presenter, page, {
        search: input.search,
        searcher: caller,
        among: source && belongsTo(source),
        orderBy: "id",
        sort: input.sort ?? "desc",
      }),
  },
  snippet_titles: {
    presenter: snippet,
    find: ({ db, presenter, page, viewer, input }) =>
      snippets.search(db, presenter, page, readableSnippets(viewer), input.search),
  },
  notes: {
    presenter: note,
    find: ({ db, presenter, page, viewer, source, input }) =>
      notes.search(db, presenter, page, viewer, (source as Source).id, input.search),
  },
} satisfies Record<string, Scope>;

const REPOSITORY_SCOPES = {
  wiki_blobs: { presenter: blob, open: openWikiPages, find: findBlobs },
  commits: { presenter: commit, open: openCode, find: findCommits },
  blobs: { presenter: blob, open: openCode, find: findBlobs },
} satisfies Record<string, RepositoryScope>;

type RepositoryScopeName = keyof typeof REPOSITORY_SCOPES;
/** Scopes by name, without those that only projects have. */
type ScopeName = Exclude<keyof typeof SCOPES, "notes"> | RepositoryScopeName;

const IN_REPOSITORIES = Object.keys(REPOSITORY_SCOPES) as RepositoryScopeName[];

const repositoryScopeOf = (name: string): RepositoryScope | undefined =>
  name in REPOSITORY_SCOPES ? REPOSITORY_SCOPES[name as RepositoryScopeName] : undefined;

const scopeOf = (name: string): Scope => SCOPES[name as keyof typeof SCOPES];

/** What can be searched for everywhere. */
export const OF_ALL = [
  "projects",
  "issues",
  "merge_requests",
  "milestones",
  "users",
  "snippet_titles",
  ...IN_REPOSITORIES,
] as const;
/** What can be searched for in a group. */
export const OF_GROUPS = OF_ALL.filter((name) => name !== "snippet_titles");
/** What can be searched for in a project. */
export const OF_PROJECTS = [
  "issues",
  "merge_requests",
  "milestones",
  "users",
  "notes",
  ...IN_REPOSITORIES,
] as const;

/** The attributes of a search for one of some kinds of things. */
export const inputOf = <const Name extends ScopeName | "notes">(names: readonly Name[]) => ({
  scope: param.choice(names),
  search: param.text(),
  state: param.optional(param.choice(["opened", "closed", "merged", "all"])),
  confidential: param.optional(param.boolean()),
  order_by: param.optional(param.choice(["created_at"])),
  sort: param.optional(param.choice(["asc", "desc"])),
  // Archived projects are searched, too.
  include_archived: unsupported(param.boolean(), true),
  exclude_forks: unsupportedFlag(),
  regex: unsupportedFlag(),
  num_context_lines: unsupported(param.integer()),
});

/** Opens what is searched, if that is in repositories. @throws ApiError what opening it answers */
export const prepare = (
  { scope, ref }: { readonly scope: string; readonly ref?: string | undefined },
  preparing: PrepareContext,
): Promise<Places> | undefined => {
  const { source } = preparing;
  const found = repositoryScopeOf(scope);
  if (!found) return undefined;
  return source?.kind === "project"
    ? ofProject({ ...preparing, source }, found.open, ref)
    : ofMany(preparing, found.open);
};

/** How what is found is presented. @param name of its kind, which {@link inputOf} has checked */
export const presenterOf = (name: string, kind?: Source["kind"]): Presenter => {
  const found = repositoryScopeOf(name);
  if (found) return found.presenter;
  const scope = scopeOf(name);
  return (kind === "project" && scope.ofProject) || scope.presenter;
};

/** A page of what is found. @param source the group or project that is searched, if it is not everything */
export const find = (
  context: Omit<Searching, "source"> & {
    readonly input: { readonly scope: string };
    readonly prepared: Places | undefined;
  },
  source: Source | undefined,
): Promise<RowPage> => {
  const { input, page, prepared } = context;
  const found = prepared && repositoryScopeOf(input.scope);
  return found
    ? found.find(prepared, page, input.search)
    : scopeOf(input.scope).find({ ...context, source });
};
