import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, NOT_AVAILABLE, send } from "../graphql/ask.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";

const STATES = "/projects/acme%2Fsite/terraform/state";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

/** Calls as Terraform's `http` backend does: with HTTP Basic, whose user name is of no importance. */
const call = (request: string, body?: object | string, user = "maintainer") =>
  app.call(request, {
    headers: {
      authorization: `Basic ${Buffer.from(`anybody:token-of-${user}`).toString("base64")}`,
      "content-type": "application/json",
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });

const stateOf = (serial: number) => ({
  version: 4,
  serial,
  lineage: "x",
  outputs: { a: "s3cret" },
});
const lock = {
  ID: "lock-1",
  Operation: "OperationTypePlan",
  Info: "",
  Who: "ann@laptop",
  Version: "1.9.0",
  Created: "2026-01-02T03:04:05Z",
  Path: "",
};

describe("the http backend", () => {
  it("locks a state, stores versions, reads the newest one, and unlocks it", async () => {
    const none = await call(`GET ${STATES}/main`);
    expect([none.status, none.text]).toEqual([204, ""]);
    const locked = await call(`POST ${STATES}/main/lock`, lock);
    expect([locked.status, locked.text]).toEqual([200, ""]);
    for (const serial of [1, 2]) {
      const stored = await call(`POST ${STATES}/main?ID=lock-1`, stateOf(serial));
      expect([stored.status, stored.text]).toEqual([200, ""]);
    }
    const read = await call(`GET ${STATES}/main`, undefined, "developer");
    expect([read.status, read.headers.get("content-type"), read.json]).toEqual([
      200,
      "application/json",
      stateOf(2),
    ]);
    expect((await call(`DELETE ${STATES}/main/lock?ID=lock-1`)).status).toBe(200);
    expect((await call(`GET ${STATES}/main/versions/1`)).json).toEqual(stateOf(1));
    expect((await call(`DELETE ${STATES}/main/versions/2`)).status).toBe(204);
    expect((await call(`GET ${STATES}/main`)).json).toEqual(stateOf(1));
    expect((await call(`DELETE ${STATES}/main/versions/2`)).status).toBe(404);
    expect((await call(`DELETE ${STATES}/main`)).status).toBe(200);
    expect((await call(`GET ${STATES}/main`)).status).toBe(204);
  });

  it("refuses what another lock prevents, and says which", async () => {
    await call(`POST ${STATES}/locked/lock`, lock);
    const told = {
      ...lock,
      Who: "maintainer",
      Created: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    };
    for (const [request, body] of [
      [`POST ${STATES}/locked/lock`, { ...lock, ID: "lock-2" }],
      [`POST ${STATES}/locked?ID=lock-2`, stateOf(1)],
      [`POST ${STATES}/locked`, stateOf(1)],
      [`DELETE ${STATES}/locked/lock?ID=lock-2`, undefined],
      [`DELETE ${STATES}/locked`, undefined],
    ] as const) {
      const answer = await call(request, body);
      expect([request, answer.status, answer.json]).toEqual([request, 409, told]);
    }
    // As `force-unlock` by hand.
    expect((await call(`DELETE ${STATES}/locked/lock`)).status).toBe(200);
    expect((await call(`POST ${STATES}/locked?ID=lock-1`, stateOf(1))).status).toBe(409);
    expect((await call(`POST ${STATES}/locked`, stateOf(1))).status).toBe(200);
  });

  it("stores a version again, and takes one without a serial, or with one in the query", async () => {
    const path = `${STATES}/serials`;
    await call(`POST ${path}`, { ...stateOf(7), lineage: "first" });
    await call(`POST ${path}`, { ...stateOf(7), lineage: "second" });
    expect((await call(`GET ${path}`)).json.lineage).toBe("second");
    await call(`POST ${path}`, { outputs: {} });
    expect((await call(`GET ${path}/versions/8`)).json).toEqual({ outputs: {} });
    await call(`POST ${path}?serial=12`, stateOf(3));
    expect((await call(`GET ${path}/versions/12`)).json).toEqual(stateOf(3));
    expect((await call(`POST ${path}`, "")).status).toBe(204);
    expect((await call(`POST ${path}`, "no JSON")).status).toBe(422);
  });

  it("is for developers who read, and maintainers who write", async () => {
    expect((await call(`GET ${STATES}/roles`, undefined, "reporter")).status).toBe(403);
    expect((await call(`POST ${STATES}/roles`, stateOf(1), "developer")).status).toBe(403);
    expect((await call(`POST ${STATES}/roles/lock`, lock, "developer")).status).toBe(403);
    expect((await app.call(`GET ${STATES}/roles`)).status).toBe(401);
    expect((await call(`GET ${STATES}/no%20name`)).status).toBe(400);
  });

  it("stores nothing that can be read in the database", async () => {
    await call(`POST ${STATES}/secret`, stateOf(1));
    const rows = await app.store.rows("select content from terraform_state_versions");
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain("s3cret");
  });

  it("takes states of up to 8 MiB", async () => {
    const text = (length: number) => JSON.stringify({ serial: 1, text: "x".repeat(length) });
    expect((await call(`POST ${STATES}/large`, text(8_000_000))).status).toBe(200);
    expect((await call(`GET ${STATES}/large`)).text).toHaveLength(text(8_000_000).length);
    expect((await call(`POST ${STATES}/large`, text(8_400_000))).status).toBe(413);
  });
});

describe("GraphQL", () => {
  const SITE = 'project(fullPath: "acme/site")';
  const change = (as: Person, mutation: string, id: string) =>
    send(app, as, `mutation { ${mutation}(input: { id: "${id}" }) { errors } }`);

  it("shows states with their newest versions to developers, as glab lists them", async () => {
    for (const serial of [3, 5]) await call(`POST ${STATES}/listed`, stateOf(serial));
    await call(`POST ${STATES}/listed/lock`, lock);
    const query = `{ ${SITE} { terraformState(name: "listed") { name lockedByUser { username } lockedAt deletedAt
      latestVersion { serial downloadPath createdAt updatedAt } } terraformStates { count nodes { id name } } } }`;
    const { project } = await ask(app, query, {}, "developer");
    expect(project.terraformStates.nodes.map(({ name }: { name: string }) => name)).toContain(
      "listed",
    );
    const { terraformState: shown } = project;
    expect(shown).toMatchObject({ deletedAt: null, lockedByUser: { username: "maintainer" } });
    expect(shown.latestVersion.serial).toBe(5);
    const read = await app.call(`GET ${shown.latestVersion.downloadPath}`, { as: "developer" });
    expect(read.json).toEqual(stateOf(5));
    for (const as of ["reporter", "stranger"] as const) {
      expect((await ask(app, query, {}, as)).project).toEqual({
        terraformState: null,
        terraformStates: { count: 0, nodes: [] },
      });
    }
  });

  const LOCKED = ["state is already locked"];

  it("locks, unlocks and deletes states for maintainers", async () => {
    await call(`POST ${STATES}/changed`, stateOf(1));
    const query = `{ ${SITE} { terraformState(name: "changed") { id lockedAt } } }`;
    const { id } = (await ask(app, query)).project.terraformState;
    for (const mutation of ["terraformStateLock", "terraformStateUnlock", "terraformStateDelete"]) {
      const { errors } = await change("developer", mutation, id);
      expect(errors?.map(({ message }) => message)).toEqual([NOT_AVAILABLE]);
    }
    const did = async (mutation: string) =>
      (await change("maintainer", mutation, id)).data[mutation].errors;
    expect(await did("terraformStateLock")).toEqual([]);
    expect(await did("terraformStateLock")).toEqual(LOCKED);
    expect(await did("terraformStateDelete")).toEqual(LOCKED);
    expect(await did("terraformStateUnlock")).toEqual([]);
    expect((await ask(app, query)).project.terraformState.lockedAt).toBeNull();
    expect(await did("terraformStateDelete")).toEqual([]);
    expect((await ask(app, query)).project.terraformState).toBeNull();
  });
});
