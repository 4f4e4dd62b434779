import { expect, it } from "vitest";
import type { Person, TestApp } from "../helpers.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";

let app: TestApp;
let workshop: Workshop;
shareWorkshop((opened) => {
  ({ app, workshop } = opened);
});

const STATISTICS = "/projects/owner%2Ffetched/statistics";
const get = (as: Person) => app.call(`GET ${STATISTICS}`, { as });

/** Fetches are counted while they are answered. */
async function countedAs(total: number) {
  for (;;) {
    const { json } = await get("owner");
    if (json.fetches.total >= total) return json;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it("GET /projects/:id/statistics counts fetches by day, which bring objects", async () => {
  const { git, url } = workshop;
  await app.call("POST /projects", { as: "owner", json: { name: "fetched" } });
  expect((await get("owner")).json).toEqual({ fetches: { total: 0, days: [] } });
  const file = { branch: "main", content: "a", commit_message: "m" };
  const make = (name: string) =>
    app.call(`POST /projects/owner%2Ffetched/repository/files/${name}`, {
      as: "owner",
      json: file,
    });
  await make("a");
  const address = url("owner/fetched", "owner");
  await git("", "clone", "--quiet", address, "one");
  await git("one", "-c", "protocol.version=0", "fetch", "--quiet");
  await git("", "-c", "protocol.version=0", "clone", "--quiet", address, "two");
  await git("one", "ls-remote", "--quiet");
  const { fetches } = await countedAs(2);
  const date = new Date().toISOString().slice(0, 10);
  expect(fetches.days).toEqual([{ count: 2, date }]);
  await make("b");
  await git("one", "pull", "--quiet");
  expect((await countedAs(3)).fetches.total).toBe(3);
});

it("forgets and leaves out what is older than 30 days", async () => {
  const project = (await app.call("GET /projects/owner%2Ffetched", { as: "owner" })).json.id;
  const DAY = 86_400_000;
  const days = [29, 30, 400].map((ago) => new Date(Date.now() - ago * DAY).toISOString());
  await app.store.transaction(async (db) => {
    for (const day of days) {
      const values = [project, day.slice(0, 10)];
      await db.run("insert into project_fetches (project_id, day, count) values (?, ?, 5)", values);
    }
  });
  expect((await get("owner")).json.fetches.total).toBe(8);
  await app.admin.maintenance.sweepDaily();
  expect(await app.store.rows("select count(*) from project_fetches")).toEqual([[2]]);
});

it("is for those who may push", async () => {
  const users = (await app.call("GET /users", { as: "admin" })).json;
  const idOf = (name: string) =>
    users.find(({ username }: { username: string }) => username === name).id;
  for (const [name, access_level] of [
    ["developer", 30],
    ["reporter", 20],
  ] as const) {
    const json = { user_id: idOf(name), access_level };
    await app.call("POST /projects/owner%2Ffetched/members", { as: "owner", json });
  }
  const asked = async (as: Person) => (await get(as)).status;
  const statuses = [await asked("developer"), await asked("reporter"), await asked("stranger")];
  expect(statuses).toEqual([200, 403, 404]);
});
