import { createHash } from "node:crypto";
import fc from "fast-check";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import type { Route } from "../../src/core/resource.ts";
import { tablesOf } from "../../src/database/schema.ts";
import { allMounts } from "../../src/mounts.ts";
import { openStore } from "../../src/store/open.ts";
import { undocumented } from "../documented.ts";
import { createFixtures, fixtureSeed, type Places, placesIn } from "../fixtures.ts";
import { hasTurn, runs, tryRandomly } from "../forms.ts";
import {
  call,
  everyone,
  newDatabase,
  PASSWORD_COST,
  type Person,
  SECRET_KEY,
  type TestApp,
  type TestDatabase,
  waitFor,
} from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { type UndoingStore, undoing } from "../undoing.ts";
import { providerOf } from "./_scim.ts";
import { oddRequestsTo, requestsTo } from "./random-requests.ts";
import { routes, storesInMany } from "./routes.ts";
import { openSession } from "./sessions.ts";

const RUNS = runs(14, 50);

let database: TestDatabase;
let store: UndoingStore;
let app: Pick<TestApp, "admin" | "call" | "close">;
let places: Places;
/** Places for routes whose callers have a token of their own: of a runner, its job, or a trigger. */
let tokenPlaces: { readonly pattern: RegExp; readonly params: Places["params"] }[];
/** A SCIM token. */
let scimToken: string;
/** Requests answered with a 500. */
let failures: unknown[] = [];

beforeAll(async () => {
  database = await newDatabase();
  store = undoing(await openStore(database.database));
  const at = Date.now();
  const onError = (error: unknown) => failures.push(error);
  const made = await createAppOn(
    store,
    { secretKey: SECRET_KEY, now: () => at, onError, background: false, sites: "path" },
    toys,
    PASSWORD_COST,
  );
  app = { ...made, call: (text, options) => call(made, text, options) };
  await app.admin.seed(fixtureSeed(1));
  await createFixtures(app, 1);
  places = await placesIn(app, "acme", "acme/site");
  tokenPlaces = await placesOfTokens();
  // The first use of a token, and a user's first request of a day, is recorded after the answer; no later one is while the clock stands still.
  const people = everyone.filter((as) => as !== "anonymous");
  await Promise.all([...people, "blocked" as const].map((as) => app.call("GET /version", { as })));
  const provider = await providerOf(app);
  scimToken = provider.token;
  await provider.ask("GET /Schemas");
  await waitFor(async () => {
    const [unused] = await store.rows(
      `select count(*) from (select id from tokens where last_used_at is null and name <> 'a token'
           and user_id not in (select user_id from resource_bots union all select user_id from service_accounts)
         union all select max(id) from scim_tokens having max(last_used_at) is null
         union all select u.id from users u join tokens t on t.user_id = u.id
           where u.state = 'active' and u.last_activity_on is null and t.last_used_at is not null) as unused`,
    );
    return unused?.[0] === 0;
  });
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

async function placesOfTokens(): Promise<typeof tokenPlaces> {
  const of = async (request: string, json: object, as: Person = "owner") =>
    (await app.call(request, { as, json })).json as { id: number; token: string };
  const project = "/projects/acme%2Fsite";
  const runner = await of("POST /user/runners", { runner_type: "instance_type" }, "admin");
  const registration = await of(`POST ${project}/runners/reset_registration_token`, {});
  const trigger = await of(`POST ${project}/triggers`, { description: "random" });
  await of(`POST ${project}/pipeline`, { ref: "main" });
  const { id: job_id, token } = await of(
    "POST /jobs/request",
    { token: runner.token },
    "anonymous",
  );
  return [
    { pattern: /^\/jobs\/:job_id/, params: { job_id, token } },
    { pattern: /^\/runners$/, params: { token: registration.token } },
    { pattern: /^\/(runners|jobs\/request)/, params: { token: runner.token } },
    { pattern: /\/trigger\/pipeline$/, params: { id: "acme/site", token: trigger.token } },
  ];
}

function placesOf({ path }: Route): Places {
  const more = tokenPlaces.find(({ pattern }) => pattern.test(path));
  return more ? { ...places, params: { ...places.params, ...more.params } } : places;
}

const tables = [...(await tablesOf()).map(({ name }) => name), "topics"];

/** A checksum of the whole database. */
async function checksum(): Promise<string> {
  const hash = createHash("sha256");
  for (const table of tables) {
    const rows = (await store.rows(`select * from ${table}`)).map((row) => JSON.stringify(row));
    hash.update(`${table} ${rows.length}\n${rows.sort().join("\n")}\n`);
  }
  return hash.digest("hex");
}

const text = v.pipe(v.string(), v.nonEmpty());
const reasons = v.pipe(v.array(text), v.minLength(1));

/** The shapes of an error: see docs/errors.md. */
const RefusedShape = v.union([
  v.strictObject({ message: v.union([text, reasons]) }),
  v.strictObject({ message: v.strictObject({ error: text }) }),
  v.strictObject({ message: text, error_code: v.picklist(["conflict", "empty"]) }),
  v.strictObject({ message: v.record(v.string(), reasons) }),
  v.strictObject({ error: v.union([text, reasons]) }),
  v.strictObject({ error: text, error_description: text, scope: text }),
  // Of imports from GitHub.
  v.strictObject({ errors: text }),
]);

describe("random parameters", () => {
  it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s: every answer has a documented shape, and refused requests store nothing",
    async (_, route) => {
      let before = await checksum();
      const takesMany = storesInMany(route);
      store.undoes = !takesMany;
      const property = fc.asyncProperty(requestsTo(route, placesOf(route)), async (sent) => {
        failures = [];
        store.accepted();
        const { request, ...options } = sent;
        const { status, json, text, headers } = await app.call(request, options);
        expect(failures).toEqual([]);
        expect(headers.get("x-request-id")).toBeTruthy();
        const [method, path] = request.split(/[ ?]/) as [string, string];
        const documented = undocumented(method, `/api/v4${path}`, { status, headers, json });
        expect(documented).toBeUndefined();
        if (takesMany && status < 300) before = await checksum();
        if (takesMany && status >= 300) expect(await checksum()).toBe(before);
        if (status < 300) return;
        if (!takesMany) expect(store.accepted()).toBe(0);
        if (status === 302 || status === 304) {
          expect(text).toBe("");
        } else {
          expect(status).toBeLessThan(500);
          expect(headers.get("content-type")).toBe("application/json");
          expect([text, v.is(RefusedShape, json)]).toEqual([text, true]);
        }
      });
      const examples = oddRequestsTo(route, places).map((one): [typeof one] => [one]);
      const numRuns = examples.length + (hasTurn(route) ? RUNS : Math.ceil(RUNS / 5));
      await tryRandomly(property, { examples, numRuns });
      expect(await checksum()).toBe(before);
    },
    60_000,
  );
});

describe("random parameters to the other mounts", () => {
  const others = allMounts
    .filter(({ name }) => name !== "REST API")
    .flatMap((mount) =>
      mount.resources
        .flatMap((resource) => resource.routes)
        // What is at the root is ours only on a server of our own, and some paths only with a query.
        .filter(
          ({ path, asked }) =>
            !["/", "/favicon.ico", "/robots.txt"].includes(mount.base + path) &&
            asked === undefined,
        )
        .map((route) => [`${route.method} ${mount.base}${route.path}`, mount, route] as const),
    );

  it.each(others)(
    "%s: nothing fails, and refused requests store nothing",
    async (_, mount, route) => {
      const before = await checksum();
      store.undoes = true;
      // Ids that the API's fixtures don't have are 1.
      const path = route.path.replace(/:(\w+)\*?/g, (__, name) =>
        encodeURIComponent(places.params[name] ?? 1),
      );
      const filled = { ...route, path };
      const { json } = await app.call("GET /user", { as: "owner" });
      const session = await openSession({ store }, json.id, { csrf: true });
      const scimHeaders = { authorization: `Bearer ${scimToken}` };
      const property = fc.asyncProperty(requestsTo(filled, places), async (sent) => {
        failures = [];
        const { request, ...options } = sent;
        const [method, rest = ""] = request.split(" ", 2);
        const url = `http://pm.test${mount.base}${rest}`;
        const ours = mount.hasForms ? session : mount.name === "SCIM" ? scimHeaders : undefined;
        const headers = ours ? { ...options.headers, ...ours } : options.headers;
        const answer = await app.call(`${method} ${url}`, {
          ...options,
          ...(headers && { headers }),
        });
        expect(failures).toEqual([]);
        expect(undocumented(method as string, new URL(url).pathname, answer)).toBeUndefined();
        // SCIM says of what it does not have that it is not implemented.
        expect(answer.status === 501 ? 0 : answer.status).toBeLessThan(500);
        const type = answer.headers.get("content-type") ?? "";
        if (answer.status >= 400) {
          const isText = ["Git", "Addresses for programs", "Hosts of sites"].includes(mount.name);
          const json = /^application\/((scim|vnd\.git-lfs)\+)?json/;
          // Without credentials, git-lfs gets what Git gets.
          const isPlain = isText || (mount.name === "Git LFS" && answer.status === 401);
          const form = isPlain ? /^text\/plain/ : json;
          expect(type).toMatch(mount.hasForms ? /^text\/html/ : form);
          expect(answer.text).not.toBe("");
        }
      });
      await tryRandomly(property, { numRuns: Math.ceil(RUNS / 2) });
      store.undoes = false;
      expect(await checksum()).toBe(before);
    },
    60_000,
  );
});

it("of 200 concurrent writes, half of them invalid, exactly the accepted ones are stored", async () => {
  store.undoes = false;
  failures = [];
  const paths = {
    labels: "/groups/acme/labels",
    milestones: "/groups/acme/milestones",
    boards: "/groups/acme/boards",
    issues: "/projects/acme%2Fsite/issues",
    pages: "/projects/acme%2Fsite/wikis",
  };
  const nowhere = {
    path: "/projects/none%2Fnone/issues",
    json: { title: "concurrent" },
    fails: 404,
  };
  const pairs = Array.from({ length: 100 }, (_, at) => {
    const name = `concurrent ${at}`;
    const color = "#123456";
    const { labels, milestones, boards, issues, pages } = paths;
    return (
      [
        [
          { path: labels, json: { name, color } },
          { path: labels, json: { name, color }, fails: 409 },
        ],
        [
          { path: milestones, json: { title: name } },
          { path: milestones, json: { title: "" }, fails: 400 },
        ],
        [
          { path: boards, json: { name } },
          { path: boards, json: { name }, as: "guest", fails: 403 },
        ],
        [{ path: issues, json: { title: name } }, nowhere],
        [
          { path: pages, json: { title: name, content: name } },
          { path: pages, json: { title: `${name}/`, content: "" }, fails: 400 },
        ],
      ] as { path: string; json: object; as?: Person; fails?: number }[][]
    )[at % 5] as { path: string; json: object; as?: Person; fails?: number }[];
  });
  const writes = pairs.flat();
  const answers = await Promise.all(
    writes.map(({ path, json, as = "owner" }) => app.call(`POST ${path}`, { as, json })),
  );
  expect(failures).toEqual([]);
  const expected = writes.map(({ fails = 201 }) => fails);
  const statuses = answers.map(({ status }) => status);
  // Either of two labels with the same name may come first.
  expect(statuses.sort()).toEqual(expected.sort());

  const listed = await Promise.all(
    Object.values(paths).map(
      async (path) => (await app.call(`GET ${path}?per_page=100`, { as: "owner" })).json,
    ),
  );
  const names = listed
    .flat()
    .map((one: { name?: string; title?: string }) => one.name ?? one.title)
    .filter((name) => name?.startsWith("concurrent "));
  expect(names.sort()).toEqual(Array.from({ length: 100 }, (_, at) => `concurrent ${at}`).sort());
});
