import { expect } from "vitest";
import { type Answer, type Person, type TestApp, testApp, waitFor } from "../helpers.ts";
import { type Receiver, startReceiver } from "./_receiver.ts";

/** An application that calls hooks, and a receiver of them. */
export interface Hooked {
  readonly app: TestApp;
  readonly receiver: Receiver;
  /** Adds a hook of `path` that listens for these events only, and returns it. */
  listen(path: string, ...events: string[]): Promise<Answer["json"]>;
  /** Calls a route, which must succeed. */
  call(request: string, json?: object, as?: Person): Promise<Answer["json"]>;
  /** The next so many payloads, in order, each with its `event` of the headers. */
  next(count?: number): Promise<Answer["json"][]>;
  /** Waits until all hooks are called. */
  idle(): Promise<void>;
  /** Waits until all hooks are called, and removes them. */
  clear(): Promise<void>;
  dispose(): Promise<void>;
}

/** Starts an application and a receiver. */
export async function startHooked(): Promise<Hooked> {
  const receiver = await startReceiver();
  const app = await testApp({
    url: "https://pm.example.com",
    webhooks: { deliver: true, allowLocalRequests: true, interval: 10 },
  });
  const idle = async () => {
    const waiting = "select count(*) from outbox where worker = 'hooks'";
    await waitFor(async () => Number((await app.store.rows(waiting))[0]?.[0]) === 0);
  };
  return {
    app,
    receiver,
    idle,
    async listen(path, ...events) {
      const flags = Object.fromEntries(events.map((event) => [`${event}_events`, true]));
      const json = { url: receiver.url, push_events: false, ...flags };
      const added = await app.call(`POST ${path}/hooks`, { as: "admin", json });
      expect(added.status).toBe(201);
      return added.json;
    },
    async call(request, json, as = "maintainer") {
      const answer = await app.call(request, { as, ...(json && { json }) });
      expect([request, answer.status, answer.status < 300 || answer.text]).toEqual([
        request,
        answer.status,
        true,
      ]);
      return answer.json;
    },
    async next(count = 1) {
      await waitFor(async () => receiver.received.length >= count);
      return receiver.received
        .splice(0, count)
        .map(({ headers, json }) => ({ event: headers["x-gitlab-event"], ...json }));
    },
    async clear() {
      await idle();
      await app.store.transaction((db) => db.run("delete from hooks"));
      receiver.received.length = 0;
    },
    async dispose() {
      await app.dispose();
      await receiver.close();
    },
  };
}
