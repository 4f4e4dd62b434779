import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

const LABELS = "/groups/acme/labels";

describe("a strict server", () => {
  it("refuses attributes that a route does not have", async () => {
    const label = { name: "new", colour: "#ff0000", color: "#ff0000" };
    expect((await ask(server, "POST", LABELS, label)).status).toBe(201);
    expect((await tell(server, "GET", "strict")).json).toEqual({ parameters: false, types: false });
    expect((await tell(server, "PUT", "strict", { parameters: true })).json).toEqual({
      parameters: true,
      types: false,
    });
    const { status, json } = await ask(server, "POST", `${LABELS}?nmae=x`, { ...label, name: "b" });
    expect(status).toBe(400);
    expect(json.message.colour[0]).toMatch(
      /^is unknown. Did you mean color\? There are name, color/,
    );
    expect(json.message.nmae[0]).toMatch(/^is unknown\./);
    expect(Object.keys(json.message).sort()).toEqual(["colour", "nmae"]);
    expect((await ask(server, "GET", `${LABELS}?page=1&per_page=1&sudo=root`)).status).toBe(200);
    expect((await ask(server, "GET", `${LABELS}?serach=x`)).json.message.serach[0]).toMatch(
      /Did you mean search\?/,
    );
    // What GitLab converts is still converted.
    expect((await ask(server, "POST", LABELS, { name: 5, color: "#ff0000" })).status).toBe(201);
  });

  it("refuses unknown attributes within objects and lists of them", async () => {
    server.strict.set({ parameters: true });
    const commit = {
      branch: "main",
      commit_message: "x",
      actions: [{ action: "create", file_path: "a.txt", content: "x" }],
    };
    const path = "/projects/acme%2Fapp/repository/commits";
    expect((await ask(server, "POST", path, commit)).status).toBe(201);
    const settings = { default_branch_protection_defaults: { allow_forse_push: true } };
    const { json } = await ask(server, "PUT", "/groups/acme", settings);
    expect(json.message["default_branch_protection_defaults.allow_forse_push"][0]).toMatch(
      /Did you mean allow_force_push\?/,
    );
  });

  it("refuses values in JSON of another type, but not texts of queries and forms", async () => {
    server.strict.set({ types: true });
    const issue = (attributes: object) =>
      ask(server, "POST", "/projects/acme%2Fapp/issues", attributes);
    const problemOf = async (attributes: object) => {
      const { status, json } = await issue({ title: "x", ...attributes });
      expect(status).toBe(400);
      return json.message;
    };
    expect(await problemOf({ weight: "3" })).toEqual({ weight: ["must be of the type integer"] });
    expect(await problemOf({ title: 5 })).toEqual({ title: ["must be of the type string"] });
    expect(await problemOf({ confidential: "true" })).toEqual({
      confidential: ["must be of the type boolean"],
    });
    expect(await problemOf({ assignee_ids: 1 })).toEqual({
      assignee_ids: ["must be of the type array of integer"],
    });
    expect(await problemOf({ assignee_ids: ["1"], labels: 5 })).toEqual({
      assignee_ids: ["must be of the type array of integer"],
      labels: ["must be of the type comma-separated string"],
    });
    const good = {
      weight: 3,
      confidential: true,
      assignee_ids: [1],
      labels: ["bug"],
      milestone_id: null,
    };
    expect((await issue({ title: "x", ...good, unknown: 1 })).status).toBe(201);
    const form = await fetch(`${server.url}/api/v4/projects/acme%2Fapp/issues?weight=3`, {
      method: "POST",
      headers: {
        "private-token": server.token,
        "content-type": "application/x-www-form-urlencoded",
      },
      body: "title=x&confidential=true&assignee_ids[]=1",
    });
    expect(form.status).toBe(201);
  });

  it("refuses nobody before they are known, nor what other protocols leave open", async () => {
    server.strict.set({ parameters: true, types: true });
    expect((await ask({ ...server, token: "none" }, "GET", "/projects?x=1")).status).toBe(401);
    const { url } = server;
    expect((await fetch(`${url}/-/health?x=1`)).status).toBe(200);
    const query = JSON.stringify({ query: "{ currentUser { username } }", extensions: {} });
    const graphql = await fetch(`${url}/api/graphql`, {
      method: "POST",
      headers: { "private-token": server.token, "content-type": "application/json" },
      body: query,
    });
    expect(await graphql.json()).toEqual({ data: { currentUser: { username: "root" } } });
  });

  it("is so from the start if its options say so, and again after a reset", async () => {
    const strict = await startTestServer({ strict: { parameters: true } });
    strict.strict.set({ parameters: false });
    expect((await ask(strict, "GET", "/projects?x=1")).status).toBe(200);
    await strict.reset();
    expect((await ask(strict, "GET", "/projects?x=1")).status).toBe(400);
    expect((await tell(strict, "PUT", "strict", { parameter: true })).json.message).toMatch(
      /Did you mean parameters\?/,
    );
    await strict.close();
  });
});

interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  minimum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}
interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  schema: Schema;
}
interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  servers?: unknown;
}
const openapi = JSON.parse(
  await readFile(new URL("../../docs/openapi.json", import.meta.url), "utf8"),
) as { paths: Record<string, Record<string, Operation>> };

function resolved<T extends { $ref?: string }>(given: T): T {
  if (given.$ref === undefined) return given;
  let found: unknown = openapi;
  for (const part of given.$ref.slice(2).split("/"))
    found = (found as Record<string, unknown>)[part];
  return resolved(found as T);
}

/** A value of a schema. @param variant which one of several is taken */
function sample(given: Schema, variant: number): unknown {
  const schema = resolved(given);
  const variants = schema.oneOf ?? schema.anyOf;
  if (variants) return sample(variants[variant % variants.length] as Schema, variant);
  if (schema.allOf) return sample(schema.allOf[0] as Schema, variant);
  if (schema.enum) return schema.enum[variant % schema.enum.length];
  const type = [schema.type].flat()[0];
  if (type === "integer" || type === "number") return schema.minimum ?? 1;
  if (type === "boolean") return variant % 2 === 0;
  if (type === "array") return [sample(schema.items ?? {}, variant)];
  if (type === "string") {
    if (schema.format === "date") return "2026-01-01";
    return schema.format === "date-time" ? "2026-01-01T00:00:00Z" : "text";
  }
  const entries = Object.entries(schema.properties ?? {});
  return Object.fromEntries(entries.map(([name, one]) => [name, sample(one, variant)]));
}

const METHODS = ["get", "post", "put", "patch", "delete"];
const operations = Object.entries(openapi.paths).flatMap(([path, item]) =>
  METHODS.flatMap((method) => {
    const operation = item[method];
    return operation && !operation.servers && !item["servers"] ? [{ path, method, operation }] : [];
  }),
);

describe("what the reference has of each route", () => {
  it("is taken by a strict server", async () => {
    expect(operations.length).toBeGreaterThan(600);
    server.strict.set({ parameters: true, types: true });
    const refused: string[] = [];
    let unseen = 0;
    for (const { path, method, operation } of operations) {
      const parameters = (operation.parameters ?? []).map(resolved);
      const content = operation.requestBody?.content ?? {};
      const json = content["application/json"];
      for (const variant of method === "get" ? [0] : [0, 1]) {
        const query = new URLSearchParams();
        for (const { name, in: place, schema } of parameters) {
          if (place !== "query") continue;
          const value = sample(schema, variant);
          query.append(name, typeof value === "object" ? "" : String(value));
        }
        const filled = path.replaceAll(/\{\w+\}/g, "1");
        const call = () =>
          ask(
            server,
            method.toUpperCase(),
            `${filled}?${query}`,
            json && sample(json.schema, variant),
          );
        let answer = await call();
        if (answer.status === 401) {
          // The token was revoked, or its user blocked.
          await server.reset();
          server.strict.set({ parameters: true, types: true });
          answer = await call();
        }
        if (answer.status === 401) unseen += 1;
        const said = JSON.stringify(answer.json ?? null);
        if (/is unknown|must be of the type/.test(said)) {
          refused.push(`${method} ${path}: ${said.slice(0, 300)}`);
        }
      }
    }
    expect(refused).toEqual([]);
    expect(unseen).toBeLessThan(40);
  });
});
