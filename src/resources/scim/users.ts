import type { Caller, Proof } from "../../core/access/caller.ts";
import { FEATURES } from "../../core/access/features.ts";
import { ROLES } from "../../core/access/roles.ts";
import { VISIBILITIES } from "../../core/access/visibility.ts";
import { forbidden, preconditionFailed } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, RawReply, type Resource, routes } from "../../core/resource.ts";
import {
  listJson,
  resourceTypesJson,
  type Selection,
  schemasJson,
  selectionOf,
  serviceJson,
  userJson,
} from "../../scim/answers.ts";
import { targetOf, USER_SCHEMA } from "../../scim/attributes.ts";
import { conditionOf, orderOf } from "../../scim/conditions.ts";
import { failed, quoted, refused } from "../../scim/errors.ts";
import { MAX_FILTER_LENGTH, parseFilter } from "../../scim/filter.ts";
import { patched } from "../../scim/patch.ts";
import { named, readUser, replaced } from "../../scim/values.ts";
import type { Database, Reader } from "../../store/port.ts";
import * as changes from "./changes.ts";
import { SCIM_TYPE, scimPath } from "./mount.ts";
import * as scim from "./queries.ts";

/** Users of a page, if none or more are asked for. */
const MAX_RESULTS = 100;

const group = { group_path: param.anyText() };
const one = { ...group, uid: param.anyText() };

/** Which attributes of users an answer has. */
const selection = {
  attributes: param.optional(param.commaSeparated()),
  excludedAttributes: param.optional(param.commaSeparated()),
};

const search = {
  filter: param.optional(param.anyText({ max: MAX_FILTER_LENGTH })),
  sortBy: param.optional(param.anyText()),
  sortOrder: param.optional(param.choice(["ascending", "descending"])),
  startIndex: param.optional(param.integer()),
  count: param.optional(param.integer()),
  ...selection,
};
const readSearch = param.inputReader(search);

type Search = param.Input<typeof search>;
type Asking = Pick<Context, "view"> & { caller: Caller };
type Reading = Asking & { db: Reader };
type Changing = Asking & Pick<Context, "now" | "viewer" | "request"> & { db: Database };

/** The token of the request; the mount has no other credentials. */
function tokenOf({ by }: Caller): Extract<Proof, { kind: "scim" }> {
  if (by.kind !== "scim") throw new TypeError(`SCIM was called with a ${by.kind}`);
  return by;
}

const urlOf = ({ view, caller }: Asking) => view.base + scimPath(tokenOf(caller).groupPath);

function changeOf({ db, caller, now, viewer, request }: Changing): changes.ScimChange {
  const { groupId, groupPath, accessLevel } = tokenOf(caller);
  return {
    db,
    source: {
      viewer,
      kind: "group",
      id: groupId,
      fullPath: groupPath,
      visibility: VISIBILITIES.private,
      column: "namespace_id",
      namespaceId: groupId,
      level: ROLES.owner,
      memberships: { own: null, inherited: null },
      features: FEATURES,
      archived: false,
      hasPublicJobs: false,
    },
    by: { id: null, name: caller.username, ip: request.ip },
    now,
    today: viewer.today,
    accessLevel,
  };
}

async function requireUser(
  { db, caller }: Reading,
  { uid }: { uid: string },
): Promise<scim.ScimUser> {
  const found = await scim.find(db, tokenOf(caller).groupId, uid);
  if (!found) throw failed(404, "There is no user with this id.");
  return found;
}

const etagOf = ({ version }: scim.ScimUser) => `W/"${version}"`;

/** Honours `If-Match` (RFC 7644 §3.14). @throws ApiError 412 */
function requireMatch({ request }: Pick<Context, "request">, found: scim.ScimUser): void {
  const given = request.header("if-match");
  if (given === undefined) return;
  // Versions are weak, so they are compared weakly.
  const tags = given.split(",", 100).map((tag) => tag.trim().replace(/^W\//, ""));
  if (!tags.includes("*") && !tags.includes(`"${found.version}"`)) throw preconditionFailed();
}

function shown(context: Asking, found: scim.ScimUser, chosen: Selection | undefined) {
  const location = `${urlOf(context)}/Users/${found.uid}`;
  const meta = [["meta.location", location] as const, ["meta.version", etagOf(found)] as const];
  return { location, json: userJson(new Map([...found.attributes, ...meta]), chosen) };
}

/** An answer with one user. */
function replyOf(
  context: Asking,
  found: scim.ScimUser,
  input: Pick<Search, "attributes" | "excludedAttributes">,
  status = 200,
): RawReply {
  const chosen = selectionOf(input.attributes, input.excludedAttributes);
  const { location, json } = shown(context, found, chosen);
  const headers = { "content-type": SCIM_TYPE, etag: etagOf(found) };
  return new RawReply(
    status,
    status === 201 ? { ...headers, location } : headers,
    JSON.stringify(json),
  );
}

async function found(context: Reading, given: Search): Promise<Json> {
  const { groupId } = tokenOf(context.caller);
  const chosen = selectionOf(given.attributes, given.excludedAttributes);
  const where = given.filter === undefined ? undefined : parseFilter(given.filter);
  const direction = given.sortOrder === "descending" ? "desc" : "asc";
  const order = orderOf(sortingOf(given.sortBy), direction);
  const startIndex = Math.max(1, given.startIndex ?? 1);
  const limit = Math.min(Math.max(0, given.count ?? MAX_RESULTS), MAX_RESULTS);
  const condition = where && conditionOf(where, groupId);
  const window = { limit, offset: startIndex - 1 };
  const page = await scim.list(context.db, groupId, condition, order, window);
  const resources = page.users.map((user) => shown(context, user, chosen).json);
  return new Json(listJson(resources, page.total, startIndex));
}

function sortingOf(sortBy: string | undefined) {
  if (sortBy === undefined || sortBy === "") return undefined;
  const target = targetOf(sortBy);
  if (!target) throw refused("invalidPath", `There is no attribute ${quoted(sortBy)}.`);
  return target;
}

/** The search of a body, whose names may be in any case. */
function searchOf(body: Readonly<Record<string, unknown>>): Search {
  const entries = Object.keys(search).map((name) => [name, named(body, name)]);
  return readSearch(Object.fromEntries(entries.filter(([, value]) => value !== undefined)));
}

/** Refuses a filter where there is nothing to filter (RFC 7644 §4). @throws ApiError 403 */
function requireNoFilter({ filter }: { filter?: string | undefined }): void {
  if (filter !== undefined) throw forbidden();
}

const listed = (all: readonly Record<string, unknown>[]) => listJson(all, all.length, 1);

/** The one with an id, in any case. @throws ApiError 404 */
function onlyOne(all: readonly Record<string, unknown>[], id: string): Json {
  const match = all.find((each) => String(each["id"]).toLowerCase() === id.toLowerCase());
  if (!match) throw failed(404, "There is none with this name.");
  return new Json(match);
}

const EXAMPLE_URL = "https://pm.example.com/api/scim/v2/groups/acme";
const MINIMAL_EXAMPLE = {
  schemas: [USER_SCHEMA],
  id: "0c1f4a53-7a9d-4a3b-8c5e-1e1d6c0f2b11",
  userName: "ada@example.com",
  active: true,
  meta: {
    resourceType: "User",
    created: "2026-11-22T08:00:00.000Z",
    lastModified: "2026-11-22T08:00:00.000Z",
    location: `${EXAMPLE_URL}/Users/0c1f4a53-7a9d-4a3b-8c5e-1e1d6c0f2b11`,
    version: 'W/"1"',
  },
};
const EXAMPLE = {
  ...MINIMAL_EXAMPLE,
  externalId: "00u1abcd",
  name: { familyName: "Lovelace", givenName: "Ada" },
  emails: [{ value: "ada@example.com", type: "work", primary: true }],
};
/** What is left with `attributes=`. */
const FEWEST = { schemas: EXAMPLE.schemas, id: EXAMPLE.id };
const EXAMPLES = [EXAMPLE, MINIMAL_EXAMPLE, FEWEST];
const LIST_EXAMPLE = listJson(EXAMPLES, 2, 1);

const { del, get, patch, post, put, query } = routes({ path: "/groups/:group_path*" });
const tier = "premium";
const discovery = { tier, input: { ...group, filter: param.optional(param.anyText()) } } as const;

function notImplemented(): never {
  throw failed(501, "This is not implemented.");
}

/** The SCIM API of groups (RFC 7644). */
export const scimUserResource: Resource = {
  name: "SCIM",
  migrations: [],
  routes: [
    get("/Users", {
      summary: "List the users of the group, with a filter, an order and pages",
      tier,
      input: { ...group, ...search },
      examples: [LIST_EXAMPLE],
      handle: (context) => found(context, context.input),
    }),
    ...(["/Users/.search", "/.search"] as const).map((path) =>
      query(path, {
        summary: "List the users of the group, with a filter, an order and pages in the body",
        tier,
        input: group,
        body: "object",
        examples: [LIST_EXAMPLE],
        handle: (context) => found(context, searchOf(context.body)),
      }),
    ),
    post("/Users", {
      summary: "Add a user: an account is created, or joined if one has the e-mail address",
      tier,
      input: { ...group, ...selection },
      body: "object",
      status: 201,
      examples: EXAMPLES,
      handle: async (context) => {
        const uid = await changes.addUser(changeOf(context), readUser(context.body));
        return replyOf(context, await requireUser(context, { uid }), context.input, 201);
      },
    }),
    get("/Users/:uid", {
      summary: "Get a user",
      tier,
      input: { ...one, ...selection },
      examples: EXAMPLES,
      handle: async (context) =>
        replyOf(context, await requireUser(context, context.input), context.input),
    }),
    put("/Users/:uid", {
      summary: "Replace a user",
      tier,
      input: { ...one, ...selection },
      body: "object",
      examples: EXAMPLES,
      handle: async (context) => {
        const user = await requireUser(context, context.input);
        requireMatch(context, user);
        const attributes = replaced(user.attributes, context.body);
        await changes.changeUserTo(changeOf(context), user, attributes);
        return replyOf(context, await requireUser(context, user), context.input);
      },
    }),
    patch("/Users/:uid", {
      summary: "Change some attributes of a user",
      tier,
      input: { ...one, ...selection },
      body: "object",
      examples: EXAMPLES,
      handle: async (context) => {
        const user = await requireUser(context, context.input);
        requireMatch(context, user);
        const attributes = patched(user.attributes, context.body);
        await changes.changeUserTo(changeOf(context), user, attributes);
        return replyOf(context, await requireUser(context, user), context.input);
      },
    }),
    del("/Users/:uid", {
      summary: "Remove a user, and their memberships of the group and below; the account stays",
      tier,
      input: one,
      handle: async (context) => {
        const user = await requireUser(context, context.input);
        requireMatch(context, user);
        await changes.removeUser(changeOf(context), user);
        return undefined;
      },
    }),
    get("/ServiceProviderConfig", {
      ...discovery,
      summary: "Get what the SCIM API can do",
      examples: [serviceJson(EXAMPLE_URL, MAX_RESULTS)],
      handle: (context) => {
        requireNoFilter(context.input);
        return new Json(serviceJson(urlOf(context), MAX_RESULTS));
      },
    }),
    get("/ResourceTypes", {
      ...discovery,
      summary: "List the kinds of resources",
      examples: [listJson(resourceTypesJson(EXAMPLE_URL), 1, 1)],
      handle: (context) => {
        requireNoFilter(context.input);
        return new Json(listed(resourceTypesJson(urlOf(context))));
      },
    }),
    get("/ResourceTypes/:name", {
      ...discovery,
      summary: "Get a kind of resource",
      input: { ...discovery.input, name: param.anyText() },
      examples: resourceTypesJson(EXAMPLE_URL),
      handle: (context) => {
        requireNoFilter(context.input);
        return onlyOne(resourceTypesJson(urlOf(context)), context.input.name);
      },
    }),
    get("/Schemas", {
      ...discovery,
      summary: "List the schemas of users",
      examples: [listJson([], 2, 1)],
      handle: (context) => {
        requireNoFilter(context.input);
        return new Json(listed(schemasJson(urlOf(context))));
      },
    }),
    get("/Schemas/:name", {
      ...discovery,
      summary: "Get a schema",
      input: { ...discovery.input, name: param.anyText() },
      examples: [{ id: USER_SCHEMA, name: "User" }],
      handle: (context) => {
        requireNoFilter(context.input);
        return onlyOne(schemasJson(urlOf(context)), context.input.name);
      },
    }),
    query("/Bulk", {
      status: 501,
      summary: "Not implemented: 501",
      tier,
      input: group,
      body: "object",
      handle: notImplemented,
    }),
    ...[get, query, put, patch, del].map((declare) =>
      declare("/Me", {
        status: 501,
        summary: "Not implemented: 501",
        tier,
        input: group,
        handle: notImplemented,
      }),
    ),
  ],
};
