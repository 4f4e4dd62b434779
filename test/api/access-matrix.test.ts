import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROLES, type Role, VISIBILITIES } from "../../src/core/access.ts";
import type { Scope } from "../../src/core/auth.ts";
import { notesOf } from "../../src/core/input.ts";
import type { Context, Route } from "../../src/core/resource.ts";
import { baseSeed, everyone, type Person, type TestApp, testApp } from "../helpers.ts";
import { type Places, pathOf, placesIn, routes } from "./routes.ts";

// What each route says of itself decides who is let in: a route that is added is in here by being there. Answers are
// told apart by 401, 403 and the parent's 404; requests are made so that they change little where they are let in.

const LEVELS: Partial<Record<Person, number>> = { admin: 100, ...ROLES };
const levelOf = (person: Person) => LEVELS[person] ?? 0;

let app: TestApp;
let free: TestApp;
const places: Record<"public" | "private", Places> = {} as Record<"public" | "private", Places>;

beforeAll(async () => {
  const things = {
    labels: [{ name: "A" }, { name: "B" }],
    milestones: [{ title: "m" }],
    boards: [{ name: "b", lists: ["A", "B"] }],
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
        ],
      })),
    ],
    groups: [
      {
        path: "open",
        visibility: "public" as const,
        members,
        ...things,
        projects: [{ path: "p", visibility: "public" as const }],
      },
      { path: "closed", members, ...things, projects: [{ path: "p" }] },
    ],
  };
  app = await testApp({ seed });
  free = await testApp({ seed, tier: "free" });
  places.public = await placesIn(app, "open", "open/p");
  places.private = await placesIn(app, "closed", "closed/p");
});
afterAll(async () => {
  await app.dispose();
  await free.dispose();
});

/** Child records that no one has, where no `before` looks them up ahead of the role. */
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
  "comma-separated string": "x",
};

/** The least a route asks for, in values that its own rules refuse or that change nothing of note. */
function leastOf(route: Route, { params }: Places): Record<string, unknown> {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const sent: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(route.input ?? {})) {
    const { type, values, optional } = notesOf(schema);
    const needed = !optional || route.atLeastOne?.includes(name);
    if (!needed || inPath.includes(name)) continue;
    sent[name] = params[name] ?? values?.[0] ?? VALUES[type];
  }
  // What the handler itself reserves for owners is not the route's.
  if (route.path === "/projects/:id") return { description: "x" };
  if (route.path === "/users/:user_id" && route.method === "PUT") return {};
  return sent;
}

function requestOf(route: Route, place: Places) {
  const path = pathOf(route, nowhere(route, place));
  const sent = leastOf(route, place);
  return {
    request: `${route.method} ${path}${route.method === "GET" ? `?${new URLSearchParams(sent as Record<string, string>)}` : ""}`,
    // Nothing is deleted by who may.
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

const named = (some: readonly Route[]) =>
  some.map((route) => [`${route.method} ${route.path}`, route] as const);
const parentOf = (route: Route) =>
  route.path.startsWith("/groups/:id")
    ? "Group"
    : route.path.startsWith("/projects/:id")
      ? "Project"
      : undefined;

/** Routes whose handlers refuse anonymous callers although the route is open, with what. */
const REFUSED_BY_HANDLERS: Record<string, 401 | 403> = {
  "GET /users": 403,
  // Without scope=all they list the caller's own (gitlab-facts §13).
  "GET /issues": 401,
  "GET /merge_requests": 401,
};

function roleOf(route: Route, visibility: "public" | "private"): Role | undefined {
  if (typeof route.role !== "function") return route.role;
  const caller = { id: -1, admin: false, external: false };
  const context = {
    caller,
    viewer: { caller, today: "" },
    input: { user_id: 4711 },
    source: { visibility: VISIBILITIES[visibility], level: 0 },
  };
  return route.role(context as unknown as Context<never, never> & Parameters<typeof route.role>[0]);
}

/** What a route's own data says a person gets: a status that refuses, or nothing. */
function refusalOf(
  route: Route,
  as: Person,
  visibility: "public" | "private",
): 401 | 403 | 404 | undefined {
  const name = `${route.method} ${route.path}`;
  if (as === "anonymous" && route.access !== "anyone") return 401;
  if (route.access === "admin" && as !== "admin") return 403;
  if (parentOf(route) && visibility === "private" && levelOf(as) === 0) return 404;
  const role = roleOf(route, visibility);
  if (role && levelOf(as) < ROLES[role]) return as === "anonymous" ? 401 : 403;
  return as === "anonymous" ? REFUSED_BY_HANDLERS[name] : undefined;
}

/** What an answer says, as far as access goes. */
function refusalIn(status: number, json: { message?: unknown } | undefined, route: Route) {
  if (status === 401 || status === 403) return status;
  if (status === 404 && json?.message === `404 ${parentOf(route)} Not Found`) return 404;
  return undefined;
}

describe("the table of routes", () => {
  it("has a role for every write below a group or project, or a reason why not", () => {
    const open = routes
      .filter((route) => parentOf(route) && route.method !== "GET" && !route.role)
      .map((route) => `${route.method} ${route.path}`)
      // Issues, merge requests and what is on them are decided by the record: its author, whether it is
      // confidential, whether it is locked (gitlab-facts §13). Their own tests go through the roles.
      .filter((name) => !/ \/projects\/:id\/(issues|merge_requests)/.test(name));
    expect(open.sort()).toEqual([
      // Each for themselves, on what they can read
      "POST /groups/:id/labels/:label_id/subscribe",
      "POST /groups/:id/labels/:label_id/unsubscribe",
      "POST /projects/:id/labels/:label_id/subscribe",
      "POST /projects/:id/labels/:label_id/unsubscribe",
      "POST /projects/:id/star",
      "POST /projects/:id/unstar",
      "PUT /groups/:id/notification_settings",
      "PUT /projects/:id/notification_settings",
    ]);
  });

  it("has no write open to anyone, but where a role is needed anyway", () => {
    const open = routes
      .filter(({ method, access, role }) => method !== "GET" && access === "anyone" && !role)
      .map(({ method, path }) => `${method} ${path}`);
    expect(open).toEqual([]);
  });

  it("leaves to handlers what makes groups and projects, and who calls", () => {
    const open = routes
      .filter((route) => !parentOf(route) && !route.access && !route.role)
      .map((route) => `${route.method} ${route.path}`);
    expect(open.sort()).toEqual([
      // What the caller did, wants to hear of, has to do, and keeps
      "DELETE /snippets/:snippet_id",
      "GET /events",
      "GET /metadata",
      "GET /notification_settings",
      "GET /snippets",
      "GET /snippets/:snippet_id",
      "GET /snippets/:snippet_id/raw",
      "GET /snippets/public",
      "GET /todos",
      "GET /user",
      "GET /users/:user_id/events",
      "GET /version",
      "POST /groups",
      "POST /projects",
      "POST /snippets",
      "POST /todos/:todo_id/mark_as_done",
      "POST /todos/mark_as_done",
      "PUT /notification_settings",
      "PUT /snippets/:snippet_id",
    ]);
  });

  it("has each path and method once", () => {
    const all = routes.map(({ method, path }) => `${method} ${path.replace(/:\w+/g, ":")}`);
    expect(all.filter((one, index) => all.indexOf(one) !== index)).toEqual([]);
  });
});

describe.each(["public", "private"] as const)("in a %s place", (visibility) => {
  it.each(named(routes))("%s lets in whom it says", async (_, route) => {
    const place = places[visibility];
    const found: unknown[] = [];
    const expected: unknown[] = [];
    for (const as of everyone) {
      const { request, ...options } = requestOf(route, place);
      const { status, json } = await app.call(request, { as, ...options });
      expect([request, as, status]).not.toEqual([request, as, 500]);
      found.push([as, refusalIn(status, json, route)]);
      expected.push([as, refusalOf(route, as, visibility)]);
    }
    expect(found).toEqual(expected);
  });
});

describe("whoever calls", () => {
  const ask = async (route: Route, token: string, on: TestApp = app) => {
    const { request, headers, ...options } = requestOf(route, places.public);
    return on.call(request, { ...options, headers: { ...headers, "private-token": token } });
  };

  it.each(named(routes))(
    "%s is 403 to the blocked, 401 with a token that is none",
    async (_, route) => {
      expect((await ask(route, "token-of-blocked")).status).toBe(403);
      for (const token of ["expired-of-admin", "no token at all", "expired-of-blocked"]) {
        const { status, json, headers } = await ask(route, token);
        expect([status, json]).toEqual([401, { message: "401 Unauthorized" }]);
        expect(headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
      }
    },
  );

  it.each(named(routes))("%s is reached by the scopes it says", async (_, route) => {
    const accepted: readonly Scope[] =
      route.scopes ?? (route.method === "GET" ? ["api", "read_api"] : ["api"]);
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

  it.each(named(routes))("%s is 403 below its tier", async (_, route) => {
    // One who is let in otherwise.
    const { status } = await ask(route, "token-of-admin", free);
    if ((route.tier ?? "free") === "free") expect(status).not.toBe(403);
    else expect(status).toBe(403);
  });
});
