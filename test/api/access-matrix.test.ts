import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROLES, type Role } from "../../src/core/access/roles.ts";
import { findVisible } from "../../src/core/access/source.ts";
import { VISIBILITIES } from "../../src/core/access/visibility.ts";
import { mayCall } from "../../src/core/http/authorize.ts";
import { csrfTokenOf, newSessionToken } from "../../src/core/http/session-cookie.ts";
import type { Context, Route } from "../../src/core/resource.ts";
import type { Scope } from "../../src/core/scopes.ts";
import { allMounts } from "../../src/mounts.ts";
import { insertWithToken } from "../../src/oauth/grants.ts";
import { SCIM_BASE } from "../../src/resources/scim/mount.ts";
import { type Places, pathOf, placesIn } from "../fixtures.ts";
import { hasTurn, isRepeated } from "../forms.ts";
import {
  type Answer,
  baseSeed,
  engine,
  everyone,
  type Person,
  type TestApp,
  testApp,
} from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { providerOf } from "./_scim.ts";
import { routes } from "./routes.ts";
import { openSession } from "./sessions.ts";

// Access is tested from each route's own declaration, so new routes are covered automatically. Answers are
// told apart by 401, 403 and the parent's 404; requests are built to change little when they are allowed.

const LEVELS: Partial<Record<Person, number>> = { admin: 100, ...ROLES };
const levelOf = (person: Person) => LEVELS[person] ?? 0;

/** Everybody with a token. */
const signedIn = everyone.filter((person) => person !== "anonymous");

let app: TestApp;
/** An application on the free tier with impersonation switched off. */
let free: TestApp;
/** Headers of signed-in users by user name; `csrf` includes the token of their cookie. */
const accessTokens: Record<string, string> = {};
const sessions = { plain: {}, csrf: {} } as Record<
  "plain" | "csrf",
  Record<string, Record<string, string>>
>;
/** CI job tokens by project and user name. */
const jobs: Record<string, Record<string, string>> = {};
/** A SCIM token from before the free tier. */
let freeToken = "";
const places = {} as Record<"public" | "private" | "lent", Places>;

beforeAll(async () => {
  const things = {
    labels: [{ name: "A" }, { name: "B" }],
    milestones: [{ title: "m" }],
    boards: [{ name: "b", lists: ["A", "B"] }],
  };
  const inProject = {
    boards: things.boards,
    default_branch: "main",
    // Without a pipeline, nobody may read the latest one.
    pipelines: [{ user: "owner", ref: "main", sha: "a".repeat(40), jobs: [{ name: "test" }] }],
  };
  const members = Object.fromEntries(Object.keys(ROLES).map((role) => [role, role as Role]));
  const seed = {
    users: [
      ...(baseSeed.users ?? []).map((user) => ({
        ...user,
        tokens: [
          ...(user.tokens ?? []),
          { token: `expired-of-${user.username}`, expires_at: "2020-01-01" },
          ...(["read_user", "read_api", "sudo"] as const).map((scope) => ({
            token: `${scope}-of-${user.username}`,
            scopes: [scope],
          })),
          { token: `impersonates-${user.username}`, impersonation: true },
          { token: `revoked-of-${user.username}`, name: "revoked" },
        ],
      })),
    ],
    groups: [
      {
        path: "open",
        visibility: "public" as const,
        members,
        ...things,
        projects: [{ path: "p", visibility: "public" as const, ...inProject }],
      },
      {
        path: "closed",
        members,
        ...things,
        projects: [{ path: "p", ...inProject }, { path: "q" }],
      },
      // Nobody is a member: all are let in by links, as what they are in the invited group, or as what the link says.
      {
        path: "lent",
        shared_with_groups: { crew: "owner" as const },
        ...things,
        projects: [
          {
            path: "p",
            ...inProject,
            shared_with_groups: {
              "crew/inner": "maintainer" as const,
              late: { role: "owner" as const, expires_at: "2020-01-01" },
            },
          },
        ],
      },
      {
        path: "crew",
        members,
        shared_with_groups: { chain: "owner" as const },
        subgroups: [{ path: "inner" }],
      },
      // What lets in nobody: a link that has expired, and a group that is invited to an invited one.
      { path: "late", members: { stranger: "owner" as const } },
      { path: "chain", members: { stranger: "owner" as const } },
    ],
  };
  app = await testApp({ seed, extra: toys });
  free = await testApp({ seed, tier: "free", impersonation: false, extra: toys });
  for (const { id, username: user } of await app.admin.users.list()) {
    sessions.plain[user] = await openSession(app, id);
    sessions.csrf[user] = await openSession(app, id, { csrf: true });
    const grant = { applicationId: null, userId: id, scopes: "api" };
    const issued = await app.store.transaction((db) => insertWithToken(db, grant, Date.now()));
    accessTokens[user] = issued.accessToken;
    for (const project of ["open/p", "closed/p", "closed/q"]) {
      const { token } = await app.admin.tokens.createForJob({ project, user });
      jobs[project] = { ...jobs[project], [user]: token };
    }
  }
  for (const { id, name } of await app.admin.tokens.list()) {
    if (name === "revoked") await app.admin.tokens.revoke(id);
  }
  const premium = await free.another({ tier: "premium" });
  freeToken = (await providerOf(premium, "open")).token;
  await premium.close();
  // Developers can't begin a repository.
  for (const project of ["open%2Fp", "closed%2Fp", "lent%2Fp"]) {
    const json = { branch: "main", content: "text", commit_message: "Begin" };
    await app.call(`POST /projects/${project}/repository/files/first`, { as: "admin", json });
  }
  places.public = await placesIn(app, "open", "open/p");
  places.private = await placesIn(app, "closed", "closed/p");
  places.lent = await placesIn(app, "lent", "lent/p");
});
afterAll(async () => {
  await app.dispose();
  await free.dispose();
});

/** Ids of child records that don't exist, unless a `before` hook looks them up ahead of the role check. */
const nowhere = (route: Route, { params, ...place }: Places): Places => ({
  ...place,
  params: route.before
    ? params
    : Object.fromEntries(
        Object.entries(params).map(([name, value]) => [
          name,
          typeof value === "number" ? 4711 : value,
        ]),
      ),
});

const VALUES: Record<string, unknown> = {
  integer: 1,
  boolean: false,
  string: "-",
  date: "2026-01-01",
  timestamp: "2020-01-01",
  "comma-separated string": "x",
  "array of string": ["x"],
  "array of object": [],
};

/** The minimal parameters of a route, with values that fail validation or change nothing of note. */
function leastOf(route: Route, { params }: Places): Record<string, unknown> {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const sent: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(route.input ?? {})) {
    const { type, values, optional, without } = schema.notes;
    const needed = !optional || route.atLeastOne?.includes(name);
    if (!needed || without === "support" || inPath.includes(name)) continue;
    sent[name] = params[name] ?? values?.[0] ?? VALUES[type];
  }
  // Some fields are reserved for owners by the handler, not by the route's access.
  if (route.path === "/projects/:id") return { description: "x" };
  if (route.path === "/users/:user_id" && route.method === "PUT") return {};
  // The first choice is for administrators; registration tokens are compared by the handler.
  if (route.path === "/user/runners" || (route.path === "/runners" && route.method === "POST")) {
    return {};
  }
  // One of several is needed.
  if (route.method === "POST" && route.path.endsWith("/boards/:board_id/lists")) {
    return { label_id: params["label_id"] };
  }
  // Otherwise the project would take the tokens of all jobs from then on.
  if (route.path.endsWith("/job_token_scope")) return { enabled: true };
  // Rotating would invalidate the token.
  if (!parentOf(route) && route.path.endsWith("/rotate")) return { expires_at: "never" };
  return sent;
}

function requestOf(route: Route, place: Places) {
  const path = pathOf(route, nowhere(route, place));
  const sent = leastOf(route, place);
  return {
    request: `${route.method} ${path}${route.method === "GET" ? `?${new URLSearchParams(sent as Record<string, string>)}` : ""}`,
    // Keeps allowed callers from deleting anything.
    headers: { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" },
    ...(route.upload
      ? { body: uploadOf(route.upload.part) }
      : route.method !== "GET" && { json: sent }),
  };
}

function uploadOf(part: string): FormData {
  const form = new FormData();
  form.append(part, new Blob(["x"]), "x.txt");
  return form;
}

/** Access is decided by the same code and statements everywhere: all routes are tried on SQLite and Node, elsewhere some. */
const onEngine =
  engine === "sqlite" && !isRepeated
    ? routes
    : // What another route has archived must not stay so.
      routes.filter((route) => hasTurn(route) || route.path.endsWith("/unarchive"));
const named = (some: readonly Route[]) =>
  some.map((route) => [`${route.method} ${route.path}`, route] as const);
/** Whether a route needs the token of a trigger, and no other credentials. */
const isTriggered = ({ path }: Route) => path.endsWith("/trigger/pipeline");
const parentOf = (route: Route) =>
  /^\/groups?\/:id/.test(route.path)
    ? "Group"
    : route.path.startsWith("/projects/:id") && !isTriggered(route)
      ? "Project"
      : undefined;

/** Open routes whose handlers refuse anonymous callers, with the status. */
const REFUSED_BY_HANDLERS: Record<string, 401 | 403> = {
  // Who is not known is asked, as Maven needs it; the file is none of theirs.
  "GET /packages/maven/:path*": 401,
  "GET /users": 403,
  // It takes only the token of a job that runs.
  "GET /job": 401,
  // They take only the token of a project's programs.
  "GET /feature_flags/unleash/:project_id/client/features": 401,
  "GET /feature_flags/unleash/:project_id/features": 401,
  "POST /feature_flags/unleash/:project_id/client/metrics": 401,
  "POST /feature_flags/unleash/:project_id/client/register": 401,
  // Without scope=all they list the caller's own.
  "GET /issues": 401,
  "GET /issues_statistics": 401,
  "GET /merge_requests": 401,
};

/** Routes that take the tokens of jobs that run, and refuse others. */
const OF_JOBS: Record<string, 403> = {
  "GET /jobs/:job_id/artifacts": 403,
  "POST /jobs/:job_id/artifacts": 403,
  "PATCH /jobs/:job_id/trace": 403,
  "PUT /jobs/:job_id": 403,
};

/** Routes that answer 403 for a record that does not exist. */
const UNKNOWN = new Set([
  "PUT /projects/:id/releases/:tag_name",
  "DELETE /projects/:id/releases/:tag_name",
]);

/** Routes that hide other users' records from everybody but administrators. */
const OWN: Record<string, 401> = { "GET /personal_access_tokens/:token_id": 401 };

/** Routes that answer 401 to members below a role. */
const UNSEEN: Record<string, Role> = {
  "GET /groups/:id/access_tokens": "owner",
  "GET /groups/:id/access_tokens/:token_id": "owner",
  "GET /projects/:id/access_tokens": "maintainer",
  "GET /projects/:id/access_tokens/:token_id": "maintainer",
};

/** Routes for users who have no access yet. */
const ASKING = ["POST /groups/:id/access_requests", "POST /projects/:id/access_requests"];

function roleOf(route: Route, visibility: "public" | "private"): Role | undefined {
  const reading = route.repository && visibility === "private" ? "reporter" : undefined;
  if (typeof route.role !== "function") return route.role ?? reading;
  const caller = { id: -1, admin: false, external: false };
  const viewer = { caller, today: "" };
  const context = {
    caller,
    viewer,
    input: { user_id: 4711 },
    source: { viewer, visibility: VISIBILITIES[visibility], level: 0, hasPublicJobs: true },
  };
  return route.role(context as unknown as Context<never, never> & Parameters<typeof route.role>[0]);
}

/** The refusal status a route's declaration implies for a person, or undefined. */
function refusalOf(
  route: Route,
  as: Person,
  visibility: "public" | "private",
): 401 | 403 | 404 | undefined {
  const name = `${route.method} ${route.path}`;
  if (as === "anonymous" && route.access !== "anyone") return 401;
  if (route.access === "admin" && as !== "admin") return 403;
  if (parentOf(route) && visibility === "private" && levelOf(as) === 0) {
    return as === "anonymous" && route.basicAuth === "asked" ? 401 : 404;
  }
  const seeing = UNSEEN[name];
  if (seeing && levelOf(as) < ROLES[seeing]) return 401;
  // Who does not see the group is told that it does not exist.
  const isOfMembers = route.path.startsWith("/analytics/group_activity/");
  if (isOfMembers && visibility === "public" && levelOf(as) === 0) return 403;
  if (ASKING.includes(name) && as !== "admin" && levelOf(as) > 0) return 403;
  const role = roleOf(route, visibility);
  if (role && levelOf(as) < ROLES[role]) return as === "anonymous" ? 401 : 403;
  if (UNKNOWN.has(name)) return 403;
  if (as === "anonymous") return REFUSED_BY_HANDLERS[name];
  return as === "admin" ? undefined : OWN[name];
}

/** The access-related part of an answer. */
function refusalIn(status: number, json: { message?: unknown } | undefined, route: Route) {
  if (status === 401 || status === 403) return status;
  if (status === 404 && json?.message === `404 ${parentOf(route)} Not Found`) return 404;
  return undefined;
}

describe("the table of routes", () => {
  it("declares a role for every write below a group or project, with the exceptions listed here", () => {
    const open = routes
      .filter((route) => parentOf(route) && !route.isReading && !route.role)
      .filter(({ access }) => access !== "admin")
      .map((route) => `${route.method} ${route.path}`)
      // Access to issues, merge requests and their children, and to those of snippets, depends on the record: its
      // author, whether it is confidential, whether it is locked. Their own tests cover the roles.
      .filter(
        (name) =>
          !/ \/projects\/:id\/(issues|merge_requests|snippets\/:noteable_id)/.test(name) &&
          !/ \/groups\/:id\/(-\/)?epics\/:/.test(name),
      );
    expect(open.sort()).toEqual(
      [
        // Every user for themselves, on what they can read
        "DELETE /projects/:id/repository/commits/:sha/discussions/:discussion_id/notes/:note_id",
        // Others than owners do not learn that they may not.
        "DELETE /groups/:id/share/:group_id",
        "POST /groups/:id/share",
        "POST /groups/:id/labels/:label_id/subscribe",
        "POST /groups/:id/labels/:label_id/unsubscribe",
        "POST /projects/:id/labels/:label_id/subscribe",
        "POST /projects/:id/labels/:label_id/unsubscribe",
        "POST /projects/:id/repository/commits/:sha/comments",
        "POST /projects/:id/repository/commits/:sha/discussions",
        "POST /projects/:id/repository/commits/:sha/discussions/:discussion_id/notes",
        "POST /projects/:id/star",
        "POST /projects/:id/unstar",
        "POST /projects/:id/uploads",
        "PUT /groups/:id/notification_settings",
        "PUT /projects/:id/notification_settings",
        "PUT /projects/:id/repository/commits/:sha/discussions/:discussion_id/notes/:note_id",
      ]
        .concat(ASKING)
        .sort(),
    );
  });

  it("has no write open to anyone, except where the handler requires a role", () => {
    const open = routes
      .filter((route) => !isTriggered(route))
      .filter(({ isReading, access, role }) => !isReading && access === "anyone" && !role)
      .map(({ method, path }) => `${method} ${path}`);
    expect(open.sort()).toEqual([
      // Runners, and Unleash's clients, have tokens of their own.
      "DELETE /runners",
      "DELETE /runners/managers",
      "PATCH /jobs/:job_id/trace",
      "POST /feature_flags/unleash/:project_id/client/metrics",
      "POST /feature_flags/unleash/:project_id/client/register",
      "POST /jobs/:job_id/artifacts",
      "POST /jobs/request",
      "POST /runners",
      "POST /runners/reset_authentication_token",
      "POST /runners/verify",
      "PUT /jobs/:job_id",
    ]);
  });

  it("leaves access to handlers only for creating groups and projects and for the caller's own records", () => {
    const open = routes
      .filter((route) => !parentOf(route) && !route.access && !route.role)
      .map((route) => `${route.method} ${route.path}`);
    expect(open.sort()).toEqual(
      [
        // The caller's own activity, subscriptions, todos, snippets, tokens, keys and addresses, and the runners they manage
        "DELETE /personal_access_tokens/:token_id",
        "DELETE /personal_access_tokens/self",
        "DELETE /runners/:runner_id",
        "DELETE /snippets/:snippet_id",
        "DELETE /user/emails/:email_id",
        "DELETE /user/gpg_keys/:gpg_key_id",
        "DELETE /user/keys/:key_id",
        // They find the project by the suggestions.
        "PUT /suggestions/:suggestion_id/apply",
        "PUT /suggestions/batch_apply",
        "GET /analytics/group_activity/issues_count",
        "GET /analytics/group_activity/merge_requests_count",
        "GET /analytics/group_activity/new_members_count",
        // They find the project, group or pipeline by what was exported.
        "GET /dependency_list_exports/:export_id",
        "GET /dependency_list_exports/:export_id/download",
        "POST /pipelines/:pipeline_id/dependency_list_exports",
        "GET /events",
        "GET /metadata",
        "GET /namespaces",
        "GET /namespaces/:namespace_id",
        "GET /namespaces/:path/exists",
        "GET /notification_settings",
        "GET /personal_access_tokens",
        "GET /personal_access_tokens/:token_id",
        "GET /personal_access_tokens/self",
        "GET /search",
        "GET /runners",
        "GET /runners/:runner_id",
        "GET /runners/:runner_id/jobs",
        "GET /runners/:runner_id/managers",
        "GET /snippets",
        "GET /snippets/:snippet_id",
        "GET /snippets/:snippet_id/files/:ref/:file_path/raw",
        "GET /snippets/:snippet_id/raw",
        "GET /snippets/all",
        "GET /snippets/public",
        "GET /todos",
        "GET /user",
        "GET /user/emails",
        "GET /user/emails/:email_id",
        "GET /user/gpg_keys",
        "GET /user/gpg_keys/:gpg_key_id",
        "GET /user/keys",
        "GET /user/keys/:key_id",
        "GET /user/preferences",
        "GET /user/status",
        "GET /user_counts",
        "GET /users/:user_id/project_deploy_keys",
        "GET /users/:user_id/associations_count",
        "GET /users/:user_id/events",
        "GET /users/:user_id/followers",
        "GET /users/:user_id/following",
        "GET /version",
        "PATCH /user/status",
        "GET /bulk_imports",
        "GET /bulk_imports/:import_id",
        "GET /bulk_imports/:import_id/entities",
        "GET /bulk_imports/:import_id/entities/:entity_id",
        "GET /bulk_imports/:import_id/entities/:entity_id/failures",
        "GET /bulk_imports/entities",
        "POST /bulk_imports",
        "POST /bulk_imports/:import_id/cancel",
        "POST /ci/lint",
        "POST /groups",
        "POST /groups/import",
        "POST /import/github",
        "POST /import/github/cancel",
        "POST /markdown",
        "POST /personal_access_tokens/:token_id/rotate",
        "POST /personal_access_tokens/self/rotate",
        "POST /projects",
        "POST /projects/import",
        "POST /runners/:runner_id/reset_authentication_token",
        "POST /snippets",
        "POST /todos/:todo_id/mark_as_done",
        "POST /todos/mark_as_done",
        "POST /user/emails",
        "POST /user/gpg_keys",
        "POST /user/gpg_keys/:gpg_key_id/revoke",
        "POST /user/keys",
        "POST /user/personal_access_tokens",
        "POST /user/runners",
        "POST /users/:user_id/follow",
        "POST /users/:user_id/unfollow",
        "PUT /notification_settings",
        "PUT /runners/:runner_id",
        "PUT /snippets/:snippet_id",
        "PUT /user/avatar",
        "PUT /user/preferences",
        "PUT /user/status",
      ].sort(),
    );
  });

  it("accepts job tokens only below a project: for releases, packages, environments, deployments, states of Terraform, secure files, container images, and mostly reading", () => {
    const released = /^\/projects\/:id\/(releases|packages|secure_files|terraform|registry)(\/|$)/;
    const opted = routes.filter(({ jobTokens, path }) => jobTokens && !released.test(path));
    // Registries of packages show what the jobs may read.
    const isRegistry = ({ path }: Route) =>
      /^(\/groups?\/:id\/-)?\/packages\/(composer|maven|npm|nuget|pypi)\//.test(path);
    const named = opted.filter((route) => !isRegistry(route));
    expect(named.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      "DELETE /projects/:id/deployments/:deployment_id",
      "DELETE /projects/:id/environments/:environment_id",
      "DELETE /projects/:id/environments/review_apps",
      "GET /projects/:id",
      "GET /projects/:id/dependencies",
      "GET /projects/:id/deployments",
      "GET /projects/:id/deployments/:deployment_id",
      "GET /projects/:id/environments",
      "GET /projects/:id/environments/:environment_id",
      "GET /projects/:id/jobs",
      "GET /projects/:id/jobs/:job_id/artifacts",
      "GET /projects/:id/jobs/:job_id/artifacts/:artifact_path*",
      "GET /projects/:id/jobs/artifacts/:ref_name*/download",
      "GET /projects/:id/jobs/artifacts/:ref_name*/raw/:artifact_path*",
      "GET /projects/:id/merge_requests",
      "GET /projects/:id/merge_requests/:merge_request_iid",
      "GET /projects/:id/pipelines",
      "GET /projects/:id/pipelines/:pipeline_id",
      "GET /projects/:id/pipelines/:pipeline_id/bridges",
      "GET /projects/:id/pipelines/:pipeline_id/jobs",
      "GET /projects/:id/pipelines/latest",
      "GET /projects/:id/repository/files/:file_path/raw",
      "POST /projects/:id/deployments",
      "POST /projects/:id/environments",
      "POST /projects/:id/environments/:environment_id/stop",
      "POST /projects/:id/environments/stop_stale",
      "PUT /projects/:id/deployments/:deployment_id",
      "PUT /projects/:id/environments/:environment_id",
      "PUT /projects/:id/pipelines/:pipeline_id/metadata",
    ]);
  });

  it("accepts scopes other than api and read_api only for users, their keys and addresses, events, versions, runners and the token itself", () => {
    const other = routes.filter(({ scopes }) => scopes);
    const of = (scope: Scope) =>
      other
        .filter(({ scopes }) => scopes?.includes(scope))
        .map(({ method, path }) => `${method} ${path}`)
        .sort();
    const self = ["DELETE /personal_access_tokens/self", "GET /personal_access_tokens/self"];
    expect(of("sudo")).toEqual(self);
    expect(of("self_rotate")).toEqual([...self, "POST /personal_access_tokens/self/rotate"]);
    expect(of("create_runner")).toEqual([...self, "POST /user/runners"]);
    expect(of("manage_runner")).toEqual([
      ...self.slice(0, 1),
      "DELETE /runners/:runner_id",
      ...self.slice(1),
      "GET /runners",
      "GET /runners/:runner_id",
      "GET /runners/:runner_id/jobs",
      "GET /runners/:runner_id/managers",
      "GET /runners/all",
      "POST /runners/:runner_id/reset_authentication_token",
      "PUT /runners/:runner_id",
    ]);
    const ofNothing = ["admin_mode", "ai_features", "k8s_proxy", "read_registry"] as const;
    for (const scope of ofNothing) expect(of(scope)).toEqual(self);
    expect(of("read_user")).toEqual([
      ...self.slice(0, 1),
      "GET /events",
      "GET /metadata",
      ...self.slice(1),
      "GET /user",
      "GET /user/emails",
      "GET /user/emails/:email_id",
      "GET /user/gpg_keys",
      "GET /user/gpg_keys/:gpg_key_id",
      "GET /user/keys",
      "GET /user/keys/:key_id",
      "GET /user/status",
      "GET /users",
      "GET /users/:user_id",
      "GET /users/:user_id/emails",
      "GET /users/:user_id/events",
      "GET /users/:user_id/gpg_keys",
      "GET /users/:user_id/gpg_keys/:gpg_key_id",
      "GET /users/:user_id/impersonation_tokens",
      "GET /users/:user_id/impersonation_tokens/:token_id",
      "GET /users/:user_id/keys",
      "GET /users/:user_id/keys/:key_id",
      "GET /users/:user_id/status",
      "GET /version",
    ]);
    expect(other.filter(({ scopes }) => !scopes?.includes("api"))).toEqual([]);
  });

  it("has each path and method once", () => {
    const all = routes.map(({ method, path }) => `${method} ${path.replace(/:\w+/g, ":")}`);
    expect(all.filter((one, index) => all.indexOf(one) !== index)).toEqual([]);
  });
});

/** A way to authenticate: headers, and the person whose rights apply on a route. */
interface Way {
  headers(as: Exclude<Person, "anonymous">, place: Places): Record<string, string>;
  rights(as: Exclude<Person, "anonymous">, route: Route): Person;
}

const tokenWay = (name: (as: Person) => string): Way => ({
  headers: (as) => ({ "private-token": name(as) }),
  rights: (as) => as,
});

const WAYS: Record<string, Way> = {
  "a token": tokenWay((as) => `token-of-${as}`),
  "an impersonation token": tokenWay((as) => `impersonates-${as}`),
  "sudo, whose token may do nothing else": {
    headers: (as) => ({ "private-token": "sudo-of-admin", sudo: as }),
    rights: (as) => as,
  },
  "an OAuth2 access token": {
    headers: (as) => ({ authorization: `Bearer ${accessTokens[as]}` }),
    rights: (as) => as,
  },
  "a session": {
    headers: (as) => sessions.plain[as] as Record<string, string>,
    rights: (as, route) => (route.method === "GET" ? as : "anonymous"),
  },
  "a session and its CSRF token": {
    headers: (as) => sessions.csrf[as] as Record<string, string>,
    rights: (as) => as,
  },
  "a job token": {
    headers: (as, place) => ({ "job-token": jobs[place.project]?.[as] as string }),
    rights: (as, route) => (route.jobTokens ? as : "anonymous"),
  },
};

describe.each(["public", "private"] as const)("in a %s place", (visibility) => {
  it.each(named(onEngine))("%s allows exactly the declared callers", async (_, route) => {
    const { request, headers: plain, ...sent } = requestOf(route, places[visibility]);
    const told = async (headers?: Record<string, string>) => {
      const { status, json } = await app.call(request, {
        ...sent,
        headers: { ...plain, ...headers },
      });
      return status === 500 ? status : refusalIn(status, json, route);
    };

    const found: Record<string, unknown> = { anonymous: await told() };
    const expected: Record<string, unknown> = {
      anonymous: refusalOf(route, "anonymous", visibility),
    };
    for (const [way, { headers, rights }] of Object.entries(WAYS)) {
      // Whom a way authenticates does not depend on the route: of the others, about one is tried at a time.
      if (way !== "a token" && !hasTurn(route, way)) continue;
      for (const as of signedIn) {
        const name = `${as} by ${way}`;
        found[name] = await told(headers(as, places[visibility]));
        const isOfJob = way === "a job token" && OF_JOBS[`${route.method} ${route.path}`];
        const who = route.ownCredentials ? "anonymous" : rights(as, route);
        expected[name] = isOfJob || refusalOf(route, who, visibility);
      }
    }
    expect(found).toEqual(expected);
  });
});

/** Whether the declaration of a route is its whole rule: then it says who may call it. */
function isDeclared(route: Route): boolean {
  const name = `${route.method} ${route.path}`;
  const isOther = UNKNOWN.has(name) || name in UNSEEN || ASKING.includes(name);
  return parentOf(route) !== undefined && typeof route.role !== "function" && !isOther;
}

describe.each(["public", "private"] as const)("what is told about a %s place", (visibility) => {
  it.each(named(onEngine.filter(isDeclared)))("%s is told as it is answered", async (_, route) => {
    const place = places[visibility];
    const kind = route.source as "group" | "project";
    const users = new Map((await app.admin.listUsers()).map((user) => [user.username, user]));
    for (const as of everyone) {
      const user = users.get(as);
      const caller = user && { ...user, external: false };
      const viewer = { caller, today: "2026-01-01" };
      const source = await findVisible(app.store.reader(), kind, place[kind], viewer);
      const told = source !== undefined && mayCall(route, source, "ultimate", false);
      expect([as, told]).toEqual([as, refusalOf(route, as, visibility) === undefined]);
    }
  });
});

describe("callers", () => {
  const ask = async (route: Route, token: string, on: TestApp = app) => {
    const { request, headers, ...options } = requestOf(route, places.public);
    return on.call(request, { ...options, headers: { ...headers, "private-token": token } });
  };

  const looking = onEngine.filter(({ ownCredentials }) => !ownCredentials);

  it.each(named(onEngine.filter(({ ownCredentials }) => ownCredentials)))(
    "%s looks at no token of a user",
    async (_, route) => {
      const { request, ...options } = requestOf(route, places.public);
      const nobody = await app.call(request, options);
      for (const token of ["token-of-blocked", "token-of-owner", "no token at all"]) {
        const { status, text } = await ask(route, token);
        expect([token, status, text]).toEqual([token, nobody.status, nobody.text]);
      }
    },
  );

  it.each(named(looking))(
    "%s is 403 for blocked users, 401 with an invalid token",
    async (_, route) => {
      expect((await ask(route, "token-of-blocked")).status).toBe(403);
      const { request, headers, ...options } = requestOf(route, places.public);
      const signedInAs = { ...headers, ...sessions.csrf["blocked"] };
      expect((await app.call(request, { ...options, headers: signedInAs })).status).toBe(403);
      for (const token of [
        "expired-of-admin",
        "expired-of-blocked",
        "revoked-of-admin",
        "revoked-of-blocked",
        "no token at all",
      ]) {
        const { status, json, headers } = await ask(route, token);
        expect([status, json]).toEqual([401, { message: "401 Unauthorized" }]);
        expect(headers.get("www-authenticate")).toBe(
          route.basicAuth === "asked"
            ? 'Basic realm="GitLab Packages Registry"'
            : 'Bearer error="invalid_token"',
        );
      }
    },
  );

  it.each(named(looking))("%s accepts exactly the declared scopes", async (_, route) => {
    const accepted: readonly Scope[] =
      route.scopes ?? (route.isReading ? ["api", "read_api"] : ["api"]);
    for (const [scope, token] of [
      ["api", "token-of-owner"],
      ["api", "impersonates-owner"],
      ["read_api", "read_api-of-owner"],
      ["read_user", "read_user-of-owner"],
      ["sudo", "sudo-of-owner"],
    ] as const) {
      const { status, json } = await ask(route, token);
      const refused = status === 403 && json.error === "insufficient_scope";
      expect([token, refused]).toEqual([token, !accepted.includes(scope)]);
      if (refused) expect(json.scope).toBe(accepted.join(" "));
    }
  });

  it.each(named(looking))(
    "%s is 401 with an impersonation token if these are switched off",
    async (_, route) => {
      expect((await ask(route, "impersonates-owner", free)).status).toBe(401);
    },
  );

  it.each(named(onEngine))("%s confines a CI job to its project", async (_, route) => {
    const { request, ...options } = requestOf(route, places.private);
    const call = (token: string) =>
      app.call(request, { ...options, headers: { ...options.headers, "job-token": token } });
    const { status, json } = await call(jobs["closed/q"]?.["maintainer"] as string);
    const unknown = await call("no job at all");
    if (route.jobTokens && route.source !== "project") {
      expect(unknown.status).toBe(401);
    } else if (route.jobTokens) {
      const message =
        "403 Forbidden - Authentication by CI/CD job token not allowed from closed/q to closed/p.";
      expect([status, json]).toEqual([403, { message }]);
      expect(unknown.status).toBe(401);
    } else {
      expect([status, json]).toEqual([unknown.status, unknown.json]);
    }
  });

  it.each(named(onEngine))("%s is 403 below its tier", async (_, route) => {
    // A caller who would otherwise be allowed.
    const { status } = await ask(route, "token-of-admin", free);
    const name = `${route.method} ${route.path}`;
    // Whether there is a pipeline depends on the routes that had their turn before.
    if (name === "GET /projects/:id/pipelines/latest") expect([200, 403]).toContain(status);
    else if (UNKNOWN.has(name)) expect(status).toBe(403);
    else if ((route.tier ?? "free") === "free") expect(status).not.toBe(403);
    else expect(status).toBe(403);
  });
});

it.each(named(onEngine))("%s treats those whom links let in as members", async (_, route) => {
  const { request, headers, ...sent } = requestOf(route, places.lent);
  for (const as of signedIn) {
    const answer = await app.call(request, { as, ...sent, headers });
    const found = answer.status === 500 ? 500 : refusalIn(answer.status, answer.json, route);
    // They have credentials of their own, which the test of private places uses.
    const who = route.ownCredentials ? "anonymous" : as;
    expect([as, found]).toEqual([as, refusalOf(route, who, "private")]);
  }
});

describe("access to SCIM", () => {
  const routesOfScim = allMounts
    .filter(({ name }) => name === "SCIM")
    .flatMap((mount) => mount.resources.flatMap((resource) => resource.routes));

  it.each(named(routesOfScim))("%s is open to a token of its group only", async (_, route) => {
    const own = await providerOf(app, "open");
    const other = await providerOf(app, "closed");
    // Nobody has this id, and the bodies say nothing.
    const path = route.path
      .replace(":group_path*", "open")
      .replace(":uid", "4711")
      .replace(/:\w+/g, "none");
    const request = `${route.method} ${SCIM_BASE}${path}`;
    const json = route.method === "GET" ? {} : { json: {} };
    const ask = (headers: Record<string, string>, on = app) =>
      on.call(request, { headers, ...json });
    const allowed = await ask({ authorization: `Bearer ${own.token}` });
    expect([200, 400, 404, 501]).toContain(allowed.status);
    const strangers = [
      {},
      { "private-token": own.token },
      { authorization: `Bearer ${other.token}` },
    ];
    for (const { headers } of Object.values(WAYS)) strangers.push(headers("admin", places.public));
    for (const headers of [...strangers, { authorization: "Bearer token-of-admin" }]) {
      expect([headers, (await ask(headers)).status]).toEqual([headers, 401]);
    }
    const { status } = await ask({ authorization: `Bearer ${freeToken}` }, free);
    expect(status).toBe(403);
  });
});

/** Mounts with tests of their own. */
const isOwn = new Set([
  "REST API",
  "SCIM",
  "Git",
  "Git LFS",
  "Addresses",
  "Addresses for programs",
  "Tokens of the container registry",
  "Hosts of sites",
]);

describe("access to the other mounts", () => {
  // Git's depends on what is fetched or pushed: test/api/git-access.test.ts and lfs.test.ts; addresses on what they are of: addresses.test.ts,
  // uploads.test.ts and avatars.test.ts; that of images on the scopes that are asked for: container-images.test.ts.
  const others = allMounts
    .filter(({ name, authenticators }) => authenticators.length > 0 && !isOwn.has(name))
    .flatMap((mount) =>
      mount.resources
        .flatMap((resource) => resource.routes)
        // What is at the root is ours only on a server of our own.
        .filter(({ path }) => !["/", "/favicon.ico", "/robots.txt"].includes(mount.base + path))
        .map((route) => [`${route.method} ${mount.base}${route.path}`, mount, route] as const),
    );
  const visitor = newSessionToken();
  const visitorsForm = {
    cookie: `_service_session=${visitor}`,
    "x-csrf-token": csrfTokenOf(visitor),
  };

  it.each(others)("%s is refused to callers who are not declared", async (_, mount, route) => {
    const path = `http://pm.test${mount.base}${route.path.replace(/:\w+/g, "4711")}`;
    const ask = (headers: Record<string, string>) =>
      app.call(`${route.method} ${path}`, { headers });
    const isSignIn = ({ status, headers }: Answer) =>
      [302, 303].includes(status) && headers.get("location")?.startsWith("/users/sign_in") === true;
    const anonymous = await ask(mount.hasForms ? visitorsForm : {});
    const isOpen = route.access === "anyone";
    if (isOpen) expect(anonymous.status).not.toBe(401);
    else expect(mount.hasForms ? isSignIn(anonymous) : anonymous.status === 401).toBe(true);
    if (mount.hasForms) {
      // A new one, since signing out is among the routes.
      const { id } = await app.admin.users.get("stranger");
      const { "x-csrf-token": csrf, ...plain } = await openSession(app, id, { csrf: true });
      if (route.method !== "GET") expect((await ask(plain)).status).toBe(422);
      const signedIn = await ask({ ...plain, "x-csrf-token": csrf as string });
      if (!isOpen) expect(isSignIn(signedIn)).toBe(false);
      // A token opens no page.
      const withToken = await ask({ ...visitorsForm, "private-token": "token-of-admin" });
      expect(withToken.status).toBe(anonymous.status);
    } else {
      const statusOf = async (as: string) =>
        (await ask({ "private-token": `token-of-${as}` })).status;
      expect(await statusOf("stranger")).toBe(route.access === "admin" ? 403 : 200);
      expect(await statusOf("admin")).toBe(200);
    }
  });
});
