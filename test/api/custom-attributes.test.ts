import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

// Cases R44 to R46 of what GitLab answers.

let app: TestApp;
const ids: Record<string, number> = {};
beforeAll(async () => {
  app = await testApp();
  for (const { username, id } of (await app.call("GET /users?per_page=100", { as: "admin" }))
    .json) {
    ids[username] = id;
  }
});
afterAll(() => app.dispose());

const ask = async (request: string, as: Person = "admin", json?: object) => {
  const { status, json: answer } = await app.call(request, { as, ...(json && { json }) });
  return [status, answer];
};

const owners = [
  ["project", () => "/projects/acme%2Fsite", "path", "site"],
  ["group", () => "/groups/acme", "path", "acme"],
  ["user", () => `/users/${ids["guest"]}`, "username", "guest"],
] as const;

describe.each(owners)("custom attributes of a %s", (kind, path, name, called) => {
  const of = () => `${path()}/custom_attributes`;

  it("are set, read, replaced and removed", async () => {
    expect(await ask(`GET ${of()}`)).toEqual([200, []]);
    expect(await ask(`PUT ${of()}/team`, "admin", { value: "a" })).toEqual([
      200,
      { key: "team", value: "a" },
    ]);
    expect(await ask(`PUT ${of()}/team?value=b`)).toEqual([200, { key: "team", value: "b" }]);
    expect(await ask(`PUT ${of()}/cost%20centre?value=`)).toEqual([
      200,
      { key: "cost centre", value: "" },
    ]);
    expect(await ask(`GET ${of()}/team`)).toEqual([200, { key: "team", value: "b" }]);
    expect((await ask(`GET ${of()}`))[1]).toEqual([
      { key: "cost centre", value: "" },
      { key: "team", value: "b" },
    ]);
    expect(await ask(`DELETE ${of()}/cost%20centre`)).toEqual([204, undefined]);
    for (const method of ["GET", "DELETE"]) {
      expect(await ask(`${method} ${of()}/cost%20centre`)).toEqual([
        404,
        { message: "404 Not found" },
      ]);
    }
  });

  it("filter lists, and are shown in them, for administrators", async () => {
    const list = `/${kind}s`;
    const found = async (query: string, as: Person = "admin") => {
      const [status, json] = await ask(`GET ${list}?per_page=100&${query}`, as);
      expect(status).toBe(200);
      return json.map((one: Record<string, unknown>) => one[name]);
    };
    const all = await found("");
    expect(all.length).toBeGreaterThan(1);
    expect(await found("custom_attributes[team]=b")).toEqual([called]);
    expect(await found("custom_attributes[team]=a")).toEqual([]);
    expect(await found("custom_attributes[team]=b&custom_attributes[other]=x")).toEqual([]);
    await ask(`PUT ${of()}/other?value=x`);
    expect(await found("custom_attributes[team]=b&custom_attributes[other]=x")).toEqual([called]);
    const others = await found("", "owner");
    expect(await found("custom_attributes[team]=a", "owner")).toEqual(others);

    const attributes = [
      { key: "other", value: "x" },
      { key: "team", value: "b" },
    ];
    const shown = async (request: string, as: Person = "admin") => {
      const [, json] = await ask(`GET ${request}`, as);
      const listed = Array.isArray(json) ? json : [json];
      return listed.map((one: Record<string, unknown>) => [one[name], one["custom_attributes"]]);
    };
    const listed = await shown(`${list}?per_page=100&with_custom_attributes=true`);
    expect(listed.filter(([who]) => who === called)).toEqual([[called, attributes]]);
    expect(listed.filter(([who]) => who !== called)[0]?.[1]).toEqual([]);
    expect(await shown(`${path()}?with_custom_attributes=true`)).toEqual([[called, attributes]]);
    expect(await shown(path())).toEqual([[called, undefined]]);
    expect(await shown(`${path()}?with_custom_attributes=true`, "owner")).toEqual([
      [called, undefined],
    ]);
    await ask(`DELETE ${of()}/other`);
  });

  it("are administrators' only", async () => {
    for (const request of [`GET ${of()}`, `GET ${of()}/team`, `DELETE ${of()}/team`]) {
      expect(await ask(request, "developer")).toEqual([403, { message: "403 Forbidden" }]);
    }
    expect((await ask(`PUT ${of()}/team?value=x`, "owner"))[0]).toBe(403);
    expect((await ask(`GET ${of()}`, "anonymous"))[0]).toBe(401);
  });

  it("are refused if they are malformed, or too many", async () => {
    expect(await ask(`PUT ${of()}/team`)).toEqual([
      400,
      { message: '400 (Bad request) "value" not given' },
    ]);
    expect((await ask(`PUT ${of()}/team?value=${"x".repeat(256)}`))[0]).toBe(400);
    for (const query of ["custom_attributes=x", "custom_attributes[a][b]=x"]) {
      const [status, json] = await ask(`GET /${kind}s?${query}`);
      expect([status, json]).toEqual([400, { message: { custom_attributes: ["is invalid"] } }]);
    }
    expect((await ask(`PUT ${of()}/k1?value=x`))[0]).toBe(200);
    await app.store.transaction(async (db) => {
      for (let at = 2; at < 100; at += 1) {
        await db.run(
          `insert into custom_attributes (user_id, namespace_id, project_id, key, value, created_at, updated_at)
           select user_id, namespace_id, project_id, ?, value, 0, 0 from custom_attributes where key = 'k1'
             and value = 'x'`,
          [`k${at}`],
        );
      }
    });
    expect(await ask(`PUT ${of()}/more?value=x`)).toEqual([
      400,
      { message: { key: ["is one too many"] } },
    ]);
    expect((await ask(`PUT ${of()}/k1?value=y`))[0]).toBe(200);
  });
});

it("custom attributes belong to what exists", async () => {
  for (const [path, message] of [
    ["/users/424242", "404 User Not Found"],
    ["/projects/424242", "404 Project Not Found"],
    ["/groups/424242", "404 Group Not Found"],
  ] as const) {
    expect(await ask(`PUT ${path}/custom_attributes/a?value=b`)).toEqual([404, { message }]);
  }
});
