import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

const START = Date.parse("2026-06-15T12:00:00.000Z");
let clock = START;
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => clock });
});
afterAll(() => app.dispose());

const PATH = "/broadcast_messages";
const tell = (json: object, as: Person = "admin") => app.call(`POST ${PATH}`, { as, json });

it("is told to everybody for an hour", async () => {
  const made = await tell({ message: "The server rests at noon." });
  const shown = {
    id: expect.any(Number),
    message: "The server rests at noon.",
    starts_at: "2026-06-15T12:00:00.000Z",
    ends_at: "2026-06-15T13:00:00.000Z",
    color: "#E75E40",
    font: "#FFFFFF",
    target_access_levels: [],
    target_path: null,
    broadcast_type: "banner",
    dismissable: false,
    theme: "indigo",
    active: true,
  };
  expect([made.status, made.json]).toEqual([201, shown]);
  expect((await app.call(`GET ${PATH}`)).json).toEqual([shown]);
  const path = `${PATH}/${made.json.id}`;
  clock += 3_600_000;
  expect((await app.call(`GET ${path}`)).json).toEqual({ ...shown, active: false });
  clock = START;
  const changes = {
    message: "It has rested.",
    ends_at: "2026-06-16T00:00:00.000Z",
    color: "#abc",
    target_access_levels: [30, 40],
    target_path: "*/welcome",
    broadcast_type: "notification",
    dismissable: true,
    theme: "red",
  };
  const changed = await app.call(`PUT ${path}`, { as: "admin", json: changes });
  expect([changed.status, changed.json]).toEqual([200, { ...shown, ...changes }]);
  expect((await app.call(`DELETE ${path}`, { as: "admin" })).status).toBe(204);
  for (const method of ["GET", "PUT", "DELETE"]) {
    expect((await app.call(`${method} ${path}`, { as: "admin" })).status).toBe(404);
  }
});

it.each([
  [{}, "message"],
  [{ message: "m", color: "red" }, "color"],
  [{ message: "m", font: "#ab" }, "font"],
  [{ message: "m", target_access_levels: [35] }, "target_access_levels"],
  [{ message: "m", broadcast_type: "loud" }, "broadcast_type"],
  [{ message: "m", starts_at: "noon" }, "starts_at"],
])("is refused as %j", async (json, name) => {
  const { status, text } = await tell(json);
  expect([status, text.includes(name)]).toEqual([400, true]);
});

it("is administrators' to tell", async () => {
  const { json } = await tell({ message: "m" });
  for (const [as, status] of [
    ["owner", 403],
    ["anonymous", 401],
  ] as const) {
    expect((await tell({ message: "m" }, as)).status).toBe(status);
    for (const method of ["PUT", "DELETE"]) {
      const answer = await app.call(`${method} ${PATH}/${json.id}`, { as, json: { message: "n" } });
      expect(answer.status).toBe(status);
    }
  }
});
