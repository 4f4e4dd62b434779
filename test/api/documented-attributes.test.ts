import { readFileSync } from "node:fs";
import { buildSchema, type GraphQLObjectType, getNamedType, isLeafType } from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../src/core/resource.ts";
import { type Attribute, ENTITIES, type Entity, type Ids } from "../attributes.ts";
import { hasTurn } from "../forms.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { routes } from "./routes.ts";

// GitLab ignores what it does not know. Nothing that it documents may be ignored here: an attribute is read back, is
// refused by name, or test/attributes.ts says why it can't be read.

const root = new URL("../../", import.meta.url);
const schema = buildSchema(readFileSync(new URL("docs/schema.graphql", root), "utf8"));

let app: TestApp;
let ids: Ids;
beforeAll(async () => {
  app = await testApp({ webhooks: { allowLocalRequests: true } });
  const get = async (path: string) => (await app.call(`GET ${path}`, { as: "admin" })).json;
  const idOf = async (username: string) => (await get(`/users?username=${username}`))[0].id;
  const reset = await app.call("POST /runners/reset_registration_token", { as: "admin" });
  ids = {
    group: (await get("/groups/acme")).id,
    users: {
      owner: await idOf("owner"),
      developer: await idOf("developer"),
      reporter: await idOf("reporter"),
    },
    milestone: (await get("/groups/acme/milestones"))[0].id,
    registrationToken: reset.json.token,
  };
});
afterAll(() => app.dispose());

const send = (request: string, json: object) => app.call(request, { as: "admin", json });
const read = async (path: string) => (await app.call(`GET ${path}`, { as: "admin" })).json;
const resolved = (value: unknown) => (typeof value === "function" ? value(ids) : value);

/** What an attribute is in an answer. */
const seenIn = (name: string, { read: reader }: Attribute, json: Record<string, unknown>) =>
  reader ? reader(json) : json[name];

const isSame = (one: unknown, other: unknown) => {
  try {
    expect(one).toEqual(other);
    return true;
  } catch {
    return false;
  }
};

type Named = readonly [name: string, attribute: Attribute];
const createdWith = ({ both, onlyCreated = {} }: Entity): readonly Named[] =>
  Object.entries({ ...both, ...onlyCreated });
const changedWith = ({ both, onlyChanged = {} }: Entity): readonly Named[] =>
  Object.entries({ ...both, ...onlyChanged });

/** Those that are sent alone for this commit: all are sent together with others. */
const inTurn = ({ read: pathOf }: Entity, method: Route["method"], all: readonly Named[]) =>
  all.filter(([name]) => hasTurn({ method, path: `${pathOf(ANY)}/${name}` }));

/** In place of what was created, for paths. */
const ANY = { id: 1, iid: 1, name: "name" };

let made = 0;

/** Creates one, as far as that can be done: of the settings there is one. */
async function create({ create: how }: Entity, json: object = {}) {
  if (!how) return { status: 201, json: {}, text: "" };
  made += 1;
  return send(`POST ${how.path}`, { ...how.needs(made, ids), ...json });
}

/** What is wrong with an answer to one attribute, if anything is. */
async function problemsOf(
  entity: Entity,
  [name, attribute]: Named,
  answers: (
    json: object,
  ) => Promise<{ status: number; json: Record<string, unknown>; text: string }>,
  accepted: Attribute["accepted"],
): Promise<string[]> {
  const problems: string[] = [];
  for (const { sent, seen } of accepted) {
    const value = resolved(sent);
    const { status, json, text } = await answers({ [name]: value });
    if (status >= 300) {
      problems.push(`${name}=${JSON.stringify(value)} is ${status} ${text.slice(0, 200)}`);
      continue;
    }
    const shown = seenIn(name, attribute, await read(entity.read(json)));
    if (!isSame(shown, resolved(seen))) {
      problems.push(`${name}=${JSON.stringify(value)} is shown as ${JSON.stringify(shown)}`);
    }
  }
  for (const value of attribute.refused) {
    const { status, text } = await answers({ [name]: value });
    const isNamed = attribute.status === status || (status === 400 && text.includes(name));
    if (!isNamed)
      problems.push(`${name}=${JSON.stringify(value)} is ${status} ${text.slice(0, 200)}`);
  }
  return problems;
}

/** The attributes that are sent together, with their first or last values. */
function together(attributes: readonly Named[], at: 0 | -1) {
  const sent = attributes.flatMap(([name, attribute]) => {
    const pair = attribute.isAlone ? undefined : attribute.accepted.at(at);
    return pair ? [{ name, attribute, value: resolved(pair.sent), seen: resolved(pair.seen) }] : [];
  });
  return {
    json: Object.fromEntries(sent.map(({ name, value }) => [name, value])),
    wrongIn: (json: Record<string, unknown>) =>
      sent.flatMap(({ name, attribute, seen }) => {
        const shown = seenIn(name, attribute, json);
        return isSame(shown, seen) ? [] : [`${name} is shown as ${JSON.stringify(shown)}`];
      }),
    sent,
  };
}

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** What GraphQL shows of attributes that have a field of their name, with a value: as `name` and its text. */
async function inGraphql(
  { graphql }: Entity,
  json: Record<string, unknown>,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (!graphql) return new Map();
  const fields = (schema.getType(graphql.type) as GraphQLObjectType).getFields();
  const own = names.filter((name) => {
    const field = fields[camel(name)];
    const hasIt = field !== undefined && !graphql.except?.includes(name);
    return hasIt && isLeafType(getNamedType(field.type));
  });
  const query = graphql.query(json);
  const closing = "}".repeat(query.split("{").length);
  const { json: answer } = await send("POST /api/graphql", {
    query: `{ ${query} { ${own.map(camel).join(" ")} } ${closing}`,
  });
  expect(answer.errors).toBeUndefined();
  const outer = Object.values(answer.data)[0] as Record<string, unknown>;
  const found = query.includes("{") ? Object.values(outer)[0] : outer;
  const values = found as Record<string, unknown>;
  return new Map(own.map((name) => [name, textOf(values[camel(name)])]));
}

/** A value as REST and GraphQL have it in common: without case, and without the time of a day. */
const textOf = (value: unknown) =>
  String(value)
    .toLowerCase()
    .replace(/t00:00:00.*/, "");

describe.each(ENTITIES.map((entity) => [entity.name, entity] as const))("%s", (_, entity) => {
  it.runIf(entity.create)(
    "has each attribute alone from the beginning, or refuses it",
    async () => {
      const problems: string[] = [];
      for (const named of inTurn(entity, "POST", createdWith(entity))) {
        const [, { accepted }] = named;
        const answers = (json: object) => create(entity, json);
        problems.push(...(await problemsOf(entity, named, answers, accepted.slice(0, 1))));
      }
      expect(problems).toEqual([]);
    },
  );

  it.runIf(entity.update)("is changed by each attribute alone, or refuses it", async () => {
    const { method, path } = entity.update as NonNullable<Entity["update"]>;
    const { json: one } = await create(entity);
    const problems: string[] = [];
    for (const named of inTurn(entity, method, changedWith(entity))) {
      const [, { accepted }] = named;
      const answers = async (json: object) => ({
        ...(await send(`${method} ${path(one)}`, json)),
        json: one,
      });
      const first = accepted.slice(0, Math.max(1, accepted.length - 1));
      problems.push(...(await problemsOf(entity, named, answers, first)));
    }
    expect(problems).toEqual([]);
  });

  it("has all of them together, also in GraphQL", async () => {
    const first = together(createdWith(entity), 0);
    const { status, json: one, text } = await create(entity, first.json);
    expect(status, text).toBe(201);
    const shown = await read(entity.read(one));
    if (entity.create) expect(first.wrongIn(shown)).toEqual([]);
    const { update } = entity;
    let { sent } = first;
    let last = shown;
    if (update) {
      const second = together(changedWith(entity), -1);
      const changed = await send(`${update.method} ${update.path(one)}`, second.json);
      expect(changed.status, changed.text).toBe(200);
      last = await read(entity.read(one));
      expect(second.wrongIn(last)).toEqual([]);
      ({ sent } = second);
    }
    const plain = sent.filter(({ attribute }) => attribute.read === undefined);
    const found = await inGraphql(
      entity,
      last,
      plain.map(({ name }) => name),
    );
    const expected = new Map(
      plain.flatMap(({ name, seen }) => (found.has(name) ? [[name, textOf(seen)]] : [])) as [
        string,
        string,
      ][],
    );
    expect(found).toEqual(expected);
    if (entity.graphql) expect(found.size).toBeGreaterThan(3);
  });

  it("is listed with all that its routes take", () => {
    const { create: creation, update } = entity;
    const inputOf = (method: string, path: string) => {
      const matches = (route: string) =>
        new RegExp(`^${route.replace(/:\w+\*?/g, "[^/]+")}$`).test(path);
      const route = routes.find((one) => one.method === method && matches(one.path));
      const inPath = new Set([...(route?.path ?? "").matchAll(/:(\w+)/g)].map(([, name]) => name));
      return Object.keys(route?.input ?? {}).filter((name) => !inPath.has(name));
    };
    const listed = new Set([...createdWith(entity), ...changedWith(entity)].map(([name]) => name));
    if (creation) {
      const needed = Object.keys(creation.needs(0, { ...ids, registrationToken: "" }));
      const missing = inputOf("POST", creation.path).filter((name) => !listed.has(name));
      expect(missing.filter((name) => !needed.includes(name))).toEqual([]);
    }
    if (update) {
      const missing = inputOf(update.method, update.path(ANY)).filter((name) => !listed.has(name));
      expect(missing).toEqual([]);
    }
  });
});

it("what is sent in another file is sent there", () => {
  const elsewhere = ENTITIES.flatMap((entity) =>
    Object.entries({ ...entity.both, ...entity.onlyCreated, ...entity.onlyChanged }).flatMap(
      ([name, { why = "" }]) => (why.startsWith("test/") ? [[name, why] as const] : []),
    ),
  );
  const wrong = elsewhere.filter(
    ([name, file]) => !readFileSync(new URL(file, root), "utf8").includes(name),
  );
  expect(wrong).toEqual([]);
});
