import { expect, it } from "vitest";
import { repeats } from "../forms.ts";
import { baseSeed, SECRET_KEY, testApp } from "../helpers.ts";
import { kill, programOf, startProgram } from "../program.ts";
import { startReceiver } from "./_receiver.ts";

const KILLS = repeats(1, 4);
const HOOKS = 2;
const PROJECT = "/projects/acme%2Fsite";

it("loses no event, and keeps the order of each hook, when calling processes are killed at any time", async () => {
  const receiver = await startReceiver();
  // By hook, each event that was accepted once or more often, in the order of the first time, with its key.
  const accepted = Array.from({ length: HOOKS }, () => new Map<string, number>());
  const calls = Array.from({ length: HOOKS }, () => 0);
  const called = () => calls.reduce((sum, more) => sum + more, 0);
  receiver.answer = ({ path, headers, json }) => {
    const hook = Number(path.slice(1));
    const count = (calls[hook] ?? 0) + 1;
    calls[hook] = count;
    if (count % 3 === 0) return 500;
    const key = headers["idempotency-key"] as string;
    accepted[hook]?.set(key, json.object_attributes.iid);
    return 200;
  };
  const app = await testApp({ seed: baseSeed, webhooks: { allowLocalRequests: true } });
  for (let hook = 0; hook < HOOKS; hook += 1) {
    const json = { url: `${receiver.url}/${hook}`, push_events: false, issues_events: true };
    expect((await app.call(`POST ${PROJECT}/hooks`, { as: "maintainer", json })).status).toBe(201);
  }
  const program = await programOf(new URL("_hook-caller.ts", import.meta.url));
  const start = () => startProgram(program, app.database, SECRET_KEY);
  const pause = (milliseconds: number) =>
    new Promise((resolve) => setTimeout(resolve, milliseconds));

  const left = () => app.store.rows("select id from outbox where worker = 'hooks' limit 1");

  const written: number[] = [];
  for (let killed = 0; killed < KILLS; killed += 1) {
    const children = await Promise.all([start(), start()]);
    const before = called();
    const writing = (async () => {
      for (let more = 0; more < 8; more += 1) {
        const json = { title: `Issue ${killed} ${more}` };
        const issue = await app.call(`POST ${PROJECT}/issues`, { as: "owner", json });
        expect(issue.status).toBe(201);
        written.push(issue.json.iid);
      }
    })();
    // At any point while calling.
    while (called() <= before + killed * 3) await pause(5);
    for (const child of children) await kill(child);
    await writing;
    // Others take over what the dead were doing when its lease ends, long after this test: now, since nobody is alive.
    await app.store.transaction((db) =>
      db.run("update outbox set owner = null, due_at = 0 where worker = 'hooks'"),
    );
  }
  const last = await start();
  while ((await left()).length > 0) await pause(20);
  await kill(last);
  await program.remove();

  expect(written).toHaveLength(8 * KILLS);
  for (const events of accepted) expect([...events.values()]).toEqual(written);
  await receiver.close();
  await app.dispose();
});
