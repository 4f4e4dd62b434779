// What still runs once a client has gone: nothing. Each loop that can be long pauses, and ends there.
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { Pace } from "../../src/turns/pace.ts";
import { createFixtures, fixtureSeed, type Places, pathOf, placesIn } from "../fixtures.ts";
import { type TestApp, testApp, tokenOf } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { routes } from "./routes.ts";

let app: TestApp;
let places: Places;
beforeAll(async () => {
  app = await testApp({ seed: fixtureSeed(2), extra: toys });
  await createFixtures(app, 2);
  places = await placesIn(app, "acme", "acme/site");
});
afterAll(() => app.dispose());

/**
 * Sends a request whose client leaves at the first pause.
 *
 * @returns the pauses and statements that there were afterwards; `undefined` if there was no pause
 */
async function leave(request: string, headers: Record<string, string>) {
  const client = new AbortController();
  const { signal } = client;
  const pause = Pace.prototype.pause;
  const after: string[] = [];
  // Each loop takes each of the pauses that it may take.
  const isDue = vi.spyOn(Pace.prototype, "isDue", "get").mockReturnValue(true);
  const paused = vi.spyOn(Pace.prototype, "pause").mockImplementation(function (this: Pace) {
    if (signal.aborted) after.push("a pause");
    else {
      app.statements.length = 0;
      client.abort();
    }
    return pause.call(this);
  });
  try {
    const { body } = await app.fetch(new Request(request, { headers, signal }));
    const reader = body?.getReader();
    if (signal.aborted) await reader?.cancel();
    signal.addEventListener("abort", () => void reader?.cancel());
    while (reader && !(await reader.read()).done);
    return signal.aborted ? [...after, ...app.statements] : undefined;
  } finally {
    paused.mockRestore();
    isDue.mockRestore();
  }
}

const reading = routes.filter(({ method, isReading }) => method === "GET" && isReading);

it("nothing of a request goes on, whatever it reads", async () => {
  const wrong: unknown[] = [];
  const seen: string[] = [];
  for (const route of reading) {
    const path = pathOf(route, places);
    const after = await leave(`http://pm.test/api/v4${path}`, {
      "private-token": tokenOf("admin"),
    });
    if (after) seen.push(route.path);
    if (after && after.length > 0) wrong.push([route.path, after]);
  }
  expect(wrong).toEqual([]);
  // What has pauses: the number is here so that no change of this test makes it pass for want of any.
  expect(seen.length).toBeGreaterThan(12);
});

it.each(["default", "topo"])("others who wait for the same log get it: order=%s", async (order) => {
  const path = `/projects/acme%2Fsite/repository/commits?order=${order}&until=2100-01-01T00:00:00Z`;
  const headers = { "private-token": tokenOf("admin") };
  const [left, others] = await Promise.all([
    leave(`http://pm.test/api/v4${path}`, headers),
    app.call(`GET ${path}`, { headers }),
  ]);
  expect(left).toBeDefined();
  expect([others.status, others.json.length]).toEqual([200, expect.any(Number)]);
  const plain = await app.call("GET /projects/acme%2Fsite/repository/commits", { headers });
  expect(others.json).toEqual(plain.json);
  expect((await app.call(`GET ${path}`, { headers })).json).toEqual(plain.json);
});
