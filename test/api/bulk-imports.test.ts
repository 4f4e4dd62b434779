// Groups and projects that are imported from another server of GitLab's API, and what becomes of it if that misbehaves.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Server, serve } from "../../src/node.ts";
import { createFixtures, fixtureSeed, pathOf, placesIn } from "../fixtures.ts";
import { clock, type Person, SECRET_KEY, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { resourceOf, routes } from "./routes.ts";

/** The server that is imported from. */
let source: TestApp;
let served: Server;
/** The one that imports. */
let app: TestApp;
/** How far its clock is ahead, in milliseconds: everybody may begin six imports a minute. */
let ahead = 0;

const OPTIONS = {
  webhooks: { deliver: false, allowLocalRequests: true },
  secretKey: SECRET_KEY,
  now: () => clock() + ahead,
};

beforeAll(async () => {
  source = await testApp({ seed: fixtureSeed(2), extra: toys, secretKey: SECRET_KEY });
  await createFixtures(source, 2);
  served = await serve(source, { port: 0, grace: 100 });
  const { users = [] } = fixtureSeed(2);
  app = await testApp({ ...OPTIONS, seed: { users } });
  await app.call("PUT /application/settings", { as: "admin", json: { bulk_import_enabled: true } });
});
afterAll(async () => {
  await served.close();
  await source.dispose();
  await app.dispose();
});

const work = () => app.admin.maintenance.updateMirrors();

/** Asks for an import. */
function ask(entity: object, { as = "admin" as Person, url = served.url, token = "token-of-admin" } = {}) {
  ahead += 61_000;
  const entities = [{ source_type: "group_entity", destination_namespace: "", ...entity }];
  const json = { configuration: { url, access_token: token }, entities };
  return app.call("POST /bulk_imports", { as, json });
}

describe("a group that was imported", () => {
  let id = 0;
  beforeAll(async () => {
    const asked = await ask({ source_full_path: "acme", destination_slug: "acme" });
    expect([asked.status, asked.json]).toMatchObject([
      201,
      { status: "created", source_type: "gitlab", source_url: served.url, has_failures: false },
    ]);
    id = asked.json.id;
    await work();
  });

  it("says how it has ended", async () => {
    const { json } = await app.call(`GET /bulk_imports/${id}`, { as: "admin" });
    const entities = (await app.call(`GET /bulk_imports/${id}/entities`, { as: "admin" })).json;
    console.log(JSON.stringify(entities, null, 1));
    expect(json.status).toBe("finished");
  });

  it("has what the first one has, wherever one looks", async () => {
    const from = await placesIn(source, "acme", "acme/site");
    const to = await placesIn(app, "acme", "acme/site");
    const different: unknown[] = [];
    for (const route of routes.filter((one) => one.method === "GET" && one.source !== undefined)) {
      const [one, other] = [
        await source.call(`GET ${pathOf(route, from)}`, { as: "admin" }),
        await app.call(`GET ${pathOf(route, to)}`, { as: "admin" }),
      ];
      const [first, second] = [one, other].map(({ status, json }) =>
        JSON.stringify([status, json]),
      );
      if (first !== second) different.push([resourceOf(route).name, route.path, first, second]);
    }
    require("node:fs").writeFileSync("/tmp/hm-different.json", JSON.stringify(different, null, 1));
  });
});
