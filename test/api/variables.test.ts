import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSecrets } from "../../src/core/secrets.ts";
import { variablesFor } from "../../src/resources/variables/effective.ts";
import { call, engine, type Person, SECRET_KEY, type TestApp, testApp } from "../helpers.ts";

const SITE = "/projects/acme%2Fsite/variables";
const CORE = "/projects/acme%2Fteam%2Fcore/variables";
const ACME = "/groups/acme/variables";
const INSTANCE = "/admin/ci/variables";
const OTHER_KEY = "11".repeat(32);

let app: TestApp;
beforeAll(async () => {
  // That secrets can't be decrypted is reported.
  app = await testApp({ onError: () => undefined });
});
afterAll(() => app.dispose());

async function add(json: object, path = SITE, as: Person = "admin") {
  const answer = await app.call(`POST ${path}`, { as, json });
  expect([answer.text, answer.status]).toEqual([answer.text, 201]);
  return answer.json;
}

const message = async (request: string, json?: object, as: Person = "maintainer") => {
  const answer = await app.call(request, { as, ...(json && { json }) });
  return [answer.status, answer.json?.message];
};

describe("variables of projects", () => {
  it("are added with defaults, listed from the oldest, changed and removed", async () => {
    const added = await add({ key: "A", value: "b" }, SITE, "maintainer");
    expect(added).toEqual({
      variable_type: "env_var",
      key: "A",
      value: "b",
      hidden: false,
      protected: false,
      masked: false,
      raw: false,
      environment_scope: "*",
      description: null,
    });
    const second = {
      key: "A_FILE",
      value: "c\nd",
      variable_type: "file",
      description: "Two lines",
    };
    await add({ ...second, protected: true, raw: true }, SITE, "owner");
    const { json } = await app.call(`GET ${SITE}`, { as: "maintainer" });
    expect(json.map((one: { key: string }) => one.key)).toEqual(["A", "A_FILE"]);
    const changed = await app.call(`PUT ${SITE}/A_FILE`, {
      as: "maintainer",
      json: { value: "", key: "IGNORED", variable_type: "env_var", description: null },
    });
    expect([changed.status, changed.json]).toMatchObject([
      200,
      { key: "A_FILE", value: "", variable_type: "env_var", description: null, protected: true },
    ]);
    expect((await app.call(`DELETE ${SITE}/A_FILE`, { as: "maintainer" })).status).toBe(204);
    expect(await message(`GET ${SITE}/A_FILE`)).toEqual([404, "404 Variable Not Found"]);
    expect(await message(`DELETE ${SITE}/A_FILE`)).toEqual([404, "404 Variable Not Found"]);
  });

  it("are for maintainers only", async () => {
    for (const request of [`GET ${SITE}`, `GET ${SITE}/A`, `POST ${SITE}?key=B&value=c`]) {
      expect((await app.call(request, { as: "developer" })).status).toBe(403);
      expect((await app.call(request)).status).toBe(401);
    }
  });

  it("need a key of letters, digits and _, and a value", async () => {
    const letters = { key: ["can contain only letters, digits and '_'."] };
    expect(await message(`POST ${SITE}`, { key: "A-B", value: "c" })).toEqual([400, letters]);
    expect(await message(`POST ${SITE}`, { key: "A\n", value: "c" })).toEqual([400, letters]);
    expect(await message(`POST ${SITE}`, { key: "a".repeat(256), value: "c" })).toEqual([
      400,
      { key: ["is too long (maximum is 255 characters)"] },
    ]);
    expect(await message(`POST ${SITE}`, { key: "B" })).toEqual([
      400,
      '400 (Bad request) "value" not given',
    ]);
    expect((await message(`POST ${SITE}`, { key: "B", value: "c".repeat(10_001) }))[0]).toBe(400);
    expect((await message(`POST ${SITE}`, { key: "B", value: "c", variable_type: "x" }))[0]).toBe(
      400,
    );
  });

  it("are unique by key and environment scope", async () => {
    await add({ key: "SCOPED", value: "all" });
    expect(await message(`POST ${SITE}`, { key: "SCOPED", value: "again" })).toEqual([
      400,
      { key: ["(SCOPED) has already been taken"] },
    ]);
    await add({ key: "SCOPED", value: "of staging", environment_scope: "staging" });
    const several =
      "There are multiple variables with provided parameters. Please use 'filter[environment_scope]'";
    expect(await message(`GET ${SITE}/SCOPED`)).toEqual([409, several]);
    expect(await message(`PUT ${SITE}/SCOPED`, { value: "x" })).toEqual([409, several]);
    expect(await message(`DELETE ${SITE}/SCOPED`)).toEqual([409, several]);
    const filtered = `${SITE}/SCOPED?filter[environment_scope]=`;
    const { status, json } = await app.call(`GET ${filtered}staging`, { as: "maintainer" });
    expect([status, json.value]).toEqual([200, "of staging"]);
    expect(await message(`GET ${filtered}production`)).toEqual([404, "404 Variable Not Found"]);
    expect(await message(`PUT ${filtered}staging`, { environment_scope: "*" })).toEqual([
      400,
      { key: ["(SCOPED) has already been taken"] },
    ]);
    const filter = { environment_scope: "staging" };
    const moved = { as: "maintainer", json: { filter, environment_scope: "review/*" } } as const;
    expect((await app.call(`PUT ${SITE}/SCOPED`, moved)).json).toMatchObject({
      value: "of staging",
      environment_scope: "review/*",
    });
    const removed = await app.call(`DELETE ${filtered}*`, { as: "maintainer" });
    expect(removed.status).toBe(204);
    expect((await app.call(`GET ${SITE}/SCOPED`, { as: "maintainer" })).json.value).toBe(
      "of staging",
    );
    const bad = await message(`POST ${SITE}`, { key: "B", value: "c", environment_scope: "a;b" });
    expect(bad[0]).toBe(400);
    expect(bad[1]).toHaveProperty("environment_scope");
  });

  it("are masked only if their value can be recognised in a trace", async () => {
    const invalid = [400, { value: ["is invalid"] }];
    for (const value of ["short", "two\nlines of it", "with a space", "with$dollar"]) {
      expect(await message(`POST ${SITE}`, { key: "M", value, masked: true })).toEqual(invalid);
    }
    const raw = { key: "RAW", value: "with$dollar", masked: true, raw: true };
    expect(await add(raw)).toMatchObject({ masked: true, raw: true });
    // Without raw, the dollar would begin another variable.
    expect(await message(`PUT ${SITE}/RAW`, { raw: false })).toEqual(invalid);
    await add({ key: "UNMASKED", value: "short" });
    expect(await message(`PUT ${SITE}/UNMASKED`, { masked: true })).toEqual(invalid);
    const longer = { as: "maintainer", json: { masked: true, value: "longer-one" } } as const;
    expect((await app.call(`PUT ${SITE}/UNMASKED`, longer)).json).toMatchObject({ masked: true });
    expect(await message(`PUT ${SITE}/UNMASKED`, { value: "short" })).toEqual(invalid);
  });

  it("are hidden for ever", async () => {
    const hidden = { key: "HIDDEN", value: "never-shown", masked_and_hidden: true };
    expect(await add(hidden)).toMatchObject({ value: null, hidden: true, masked: true });
    const change = { as: "owner", json: { value: "never-shown-2" } } as const;
    expect((await app.call(`PUT ${SITE}/HIDDEN`, change)).json.value).toBeNull();
    expect((await app.call(`GET ${SITE}/HIDDEN`, { as: "owner" })).json.value).toBeNull();
    expect(await message(`PUT ${SITE}/HIDDEN`, { masked: false })).toEqual([
      400,
      { base: ["The visibility setting cannot be changed for masked and hidden variables."] },
    ]);
    const { text } = await app.call(`GET ${SITE}`, { as: "owner" });
    expect(text).not.toContain("never-shown");
  });

  it("are in the audit log without their values", async () => {
    await add({ key: "AUDITED", value: "a-secret-value" });
    await app.call(`PUT ${SITE}/AUDITED`, { as: "owner", json: { value: "another-secret" } });
    await app.call(`DELETE ${SITE}/AUDITED`, { as: "owner" });
    const { json, text } = await app.call("GET /audit_events", { as: "admin" });
    const actions = json
      .filter((one: { details: { target_details: string } }) =>
        one.details.target_details.includes("AUDITED"),
      )
      .map((one: { details: { custom_message: string } }) => one.details.custom_message);
    expect(actions).toEqual(["CI variable removed", "CI variable changed", "CI variable added"]);
    expect(text).not.toContain("secret-value");
    expect(text).not.toContain("another-secret");
  });

  it("are a thousand at most", async () => {
    await app.admin.seed({
      groups: [
        {
          path: "full",
          projects: [
            {
              path: "p",
              variables: Array.from({ length: 999 }, (_, at) => ({ key: `K${at}`, value: "v" })),
            },
          ],
        },
      ],
    });
    await add({ key: "LAST", value: "v" }, "/projects/full%2Fp/variables");
    const more = { key: "MORE", value: "v" };
    expect(await message("POST /projects/full%2Fp/variables", more, "admin")).toEqual([
      400,
      { base: ["Maximum number of project ci variables (1000) exceeded"] },
    ]);
  });
});

describe("variables of groups", () => {
  it("are for owners", async () => {
    expect(await add({ key: "G", value: "v" }, ACME, "owner")).toMatchObject({
      key: "G",
      environment_scope: "*",
    });
    expect((await app.call(`GET ${ACME}`, { as: "maintainer" })).status).toBe(403);
    expect(await message(`GET ${ACME}/NOPE`, undefined, "owner")).toEqual([
      404,
      "404 GroupVariable Not Found",
    ]);
  });

  it("have environment scopes from the premium tier on", async () => {
    const free = await app.another({ tier: "free" });
    const json = { key: "FREE", value: "v", environment_scope: "staging" };
    const added = await free.call(`POST ${ACME}`, { as: "owner", json });
    expect([added.status, added.json.environment_scope]).toEqual([201, "*"]);
    await free.close();
    const scoped = await add({ ...json, key: "PREMIUM" }, ACME, "owner");
    expect(scoped.environment_scope).toBe("staging");
  });
});

describe("variables of the instance", () => {
  it("are for administrators, and have no scope", async () => {
    expect(await add({ key: "I", value: "v", masked: false }, INSTANCE)).toEqual({
      variable_type: "env_var",
      key: "I",
      value: "v",
      protected: false,
      masked: false,
      raw: false,
      description: null,
    });
    expect((await app.call(`GET ${INSTANCE}`, { as: "owner" })).status).toBe(403);
    expect(await message(`GET ${INSTANCE}/NOPE`, undefined, "admin")).toEqual([
      404,
      "404 InstanceVariable Not Found",
    ]);
    const changed = await app.call(`PUT ${INSTANCE}/I?value=w`, { as: "admin" });
    expect(changed.json.value).toBe("w");
    expect((await app.call(`DELETE ${INSTANCE}/I`, { as: "admin" })).status).toBe(204);
  });
});

describe("the variables of a job", () => {
  const secrets = createSecrets({ secretKey: SECRET_KEY }, ":memory:", true);
  const of = async (use: { isProtected?: boolean; environment?: string } = {}) => {
    const [[id, namespaceId]] = (await app.store.rows(
      "select id, namespace_id from projects where full_path = 'acme/team/core'",
    )) as [[number, number]];
    const { isProtected = false, environment } = use;
    return variablesFor(app.store, secrets, { id, namespaceId }, { isProtected, environment });
  };
  const valueIn = async (key: string, use?: Parameters<typeof of>[0]) =>
    (await of(use)).find((one) => one.key === key)?.value;

  it("come from the nearest owner, then from the closest scope, decrypted", async () => {
    await add({ key: "V", value: "instance" }, INSTANCE);
    expect(await valueIn("V")).toBe("instance");
    await add({ key: "V", value: "acme" }, ACME);
    expect(await valueIn("V")).toBe("acme");
    await add({ key: "V", value: "team" }, "/groups/acme%2Fteam/variables");
    expect(await valueIn("V")).toBe("team");
    await add({ key: "V", value: "core in review", environment_scope: "review/*" }, CORE);
    expect(await valueIn("V")).toBe("team");
    expect(await valueIn("V", { environment: "review/a" })).toBe("core in review");
    await add({ key: "V", value: "core" }, CORE);
    await add({ key: "V", value: "core in review/a", environment_scope: "review/a" }, CORE);
    await add({ key: "V", value: "core in a*", environment_scope: "*/a" }, CORE);
    expect(await valueIn("V")).toBe("core");
    expect(await valueIn("V", { environment: "review/a" })).toBe("core in review/a");
    expect(await valueIn("V", { environment: "review/b" })).toBe("core in review");
    expect(await valueIn("V", { environment: "staging" })).toBe("core");
  });

  it("include protected ones only for protected branches and tags", async () => {
    await add({ key: "P", value: "protected", protected: true }, CORE);
    expect(await valueIn("P")).toBeUndefined();
    expect(await valueIn("P", { isProtected: true })).toBe("protected");
  });

  it("say what must be masked, and how they are given", async () => {
    const masked = { key: "MASKED", value: "12345678", masked: true, raw: true };
    await add({ ...masked, variable_type: "file" }, CORE);
    expect((await of()).find(({ key }) => key === "MASKED")).toEqual({
      ...masked,
      variable_type: "file",
    });
  });
});

describe("values at rest", () => {
  const stored = async () =>
    (await app.store.rows("select value from ci_variables order by id")).map(([text]) =>
      String(text),
    );

  it("are encrypted, and again after a change of the key", async () => {
    await add({ key: "AT_REST", value: "plain-text-value" });
    const before = await stored();
    for (const value of before) expect(value).toMatch(/^\$1\$[0-9a-f]{8}\$/);
    const both = await app.another({ secretKey: `${OTHER_KEY},${SECRET_KEY}` });
    const { secrets } = await both.admin.secrets.rotate();
    expect(secrets).toBe(before.length);
    expect((await both.admin.secrets.check()).outdated).toBe(0);
    const { json } = await both.call(`GET ${SITE}/AT_REST`, { as: "owner" });
    expect(json.value).toBe("plain-text-value");
    expect((await stored()).filter((value) => before.includes(value))).toEqual([]);
    // The first process has only the old key.
    expect((await app.call(`GET ${SITE}/AT_REST`, { as: "owner" })).status).toBe(503);
    const json2 = { key: "NEW", value: "v" };
    expect((await app.call(`POST ${SITE}`, { as: "owner", json: json2 })).status).toBe(503);
    const back = await app.another({ secretKey: `${SECRET_KEY},${OTHER_KEY}` });
    await back.admin.secrets.rotate();
    await back.close();
    await both.close();
    expect((await app.call(`GET ${SITE}/AT_REST`, { as: "owner" })).status).toBe(200);
  });

  it("can't be moved to another owner or key", async () => {
    await add({ key: "MINE", value: "mine" });
    const theft = `update ci_variables set value = (select value from ci_variables where key = 'AT_REST')
      where key = 'MINE'`;
    await app.store.transaction((db) => db.run(theft));
    expect((await app.call(`GET ${SITE}/MINE`, { as: "owner" })).status).toBe(503);
    await app.call(`DELETE ${SITE}/MINE`, { as: "owner" });
  });

  it("whose key is lost are counted, and removed on request", async () => {
    const { text } = await app.call(`GET ${SITE}/AT_REST`, { as: "owner" });
    expect(text).toContain("plain-text-value");
    const count = (await stored()).length;
    const other = await app.another({ secretKey: OTHER_KEY });
    expect(await other.admin.secrets.check()).toMatchObject({ lost: [], lostOthers: count });
    const refused = await other.call(`POST ${SITE}`, {
      as: "owner",
      json: { key: "NEW", value: "v" },
    });
    expect([refused.status, refused.json.message]).toEqual([
      503,
      "503 Service Unavailable - The server's key for secrets is missing: its administrator finds more in its log",
    ]);
    expect(await other.admin.secrets.removeLost()).toEqual({ users: [], others: count });
    const added = await other.call(`POST ${SITE}`, { as: "owner", json: { key: "A", value: "v" } });
    expect(added.status).toBe(201);
    await other.close();
  });

  it.runIf(engine === "postgres")(
    "need a key, which PostgreSQL doesn't have by itself",
    async () => {
      const own = await testApp({ secretKey: undefined } as never);
      const { status, json } = await call(own, `POST ${SITE}`, {
        as: "owner",
        json: { key: "A", value: "v" },
      });
      expect([status, json.message]).toEqual([503, expect.stringContaining("key for secrets")]);
      await own.dispose();
    },
  );
});
