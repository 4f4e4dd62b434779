import { once } from "node:events";
import type { AddressInfo } from "node:net";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createApp } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import { baseSeed, call, newDatabase, type TestDatabase } from "../helpers.ts";

interface Received {
  to: string[];
  subject: string | undefined;
  text: string | undefined;
  messageId: string | undefined;
}

let server: SMTPServer;
let received: Received[];
/** How many mails are refused first. */
let refusals: number;
let smtp: string;
let database: TestDatabase;

beforeEach(async () => {
  received = [];
  refusals = 0;
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", async () => {
        if (refusals > 0) {
          refusals -= 1;
          done(Object.assign(new Error("Try again later"), { responseCode: 451 }));
          return;
        }
        const mail = await PostalMime.parse(Buffer.concat(chunks));
        const to = session.envelope.rcptTo.map(({ address }) => address);
        const { subject, text, messageId } = mail;
        received.push({ to, subject, text, messageId });
        done();
      });
    },
  });
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  smtp = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  database = await newDatabase();
});
afterEach(async () => {
  await new Promise<void>((resolve) => server.close(resolve));
  await database.drop();
});

const mail = () => ({ smtp, from: "pm@example.com" });
const open = (options: Parameters<typeof createApp>[0] = {}) =>
  createApp({ database: database.database, url: "https://pm.example.com", ...options });

async function arrived(count: number): Promise<void> {
  for (let tries = 0; received.length < count && tries < 200; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(received).toHaveLength(count);
}

const note = (app: Awaited<ReturnType<typeof open>>, body: string) =>
  call(app, "POST /projects/acme%2Fsite/issues/1/notes", { as: "developer", json: { body } });

it("sends what people are to hear of, once, also after a restart", async () => {
  const before = await open();
  await before.admin.seed(baseSeed);
  const issue = { title: "Broken button", description: "See @guest" };
  await call(before, "POST /projects/acme%2Fsite/issues", { as: "owner", json: issue });
  await before.close();

  const app = await open({ mail: mail() });
  const started = performance.now();
  expect((await note(app, "I can mend it.")).status).toBe(201);
  expect(performance.now() - started).toBeLessThan(1000);
  await arrived(1);
  expect(received[0]).toEqual({
    to: ["owner@example.com"],
    subject: "acme/site | Broken button (#1)",
    text: expect.stringContaining("I can mend it."),
    messageId: expect.stringMatching(/^<event-\d+-mail-\d+@pm-api>$/),
  });
  expect(received[0]?.text).toContain("The developer commented on issue #1: Broken button");
  expect(received[0]?.text).toContain("https://pm.example.com/acme/site/-/issues/1");
  await app.close();

  const again = await open({ mail: mail() });
  await note(again, "Done.");
  await arrived(2);
  expect(received.map(({ text }) => text?.includes("Done."))).toEqual([false, true]);
  await again.close();
});

it("tries again, later each time, and goes on where it was after a restart", async () => {
  let now = Date.now();
  const clock = () => now;
  const before = await open({ now: clock });
  await before.admin.seed(baseSeed);
  await call(before, "POST /projects/acme%2Fsite/issues", { as: "owner", json: { title: "A" } });
  await before.close();

  refusals = 2;
  const app = await open({ mail: mail(), now: clock });
  await note(app, "Hello");
  now += 5000;
  const refused = async (left: number) => {
    for (let tries = 0; refusals > left && tries < 200; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(refusals).toBe(left);
  };
  await refused(1);
  await app.close();

  const again = await open({ mail: mail(), now: clock });
  now += 31_000;
  await refused(0);
  expect(received).toEqual([]);
  now += 61_000;
  await arrived(1);
  await again.close();
});

it("needs an address for its links", async () => {
  await expect(createApp({ mail: mail() })).rejects.toThrow(
    "createApp: url is missing: links in mails begin with it",
  );
});

it("sends each mail once, however many processes do so", async () => {
  const apps = await Promise.all(Array.from({ length: 3 }, () => open({ mail: mail() })));
  await apps[0]?.admin.seed(baseSeed);
  const issue = { title: "Many comments", description: "See @guest" };
  const [first] = apps as [(typeof apps)[number]];
  await call(first, "POST /projects/acme%2Fsite/issues", { as: "owner", json: issue });
  const notes = Array.from({ length: 20 }, (_, index) => `Comment ${index}.`);
  for (const [index, body] of notes.entries()) {
    expect((await note(apps[index % 3] as typeof first, body)).status).toBe(201);
  }
  const toOwner = () => received.filter(({ to }) => to[0] === "owner@example.com");
  for (let tries = 0; toOwner().length < notes.length && tries < 300; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // Who would send one again does so within a turn.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await Promise.all(apps.map((app) => app.close()));
  const told = toOwner().map(({ text }) => /Comment \d+\./.exec(text ?? "")?.[0]);
  expect(told.sort()).toEqual(notes.sort());
  const ids = received.map(({ messageId }) => messageId);
  expect(new Set(ids).size).toBe(ids.length);
});

it("gives up what a process that died was sending, while others run", async () => {
  const app = await open({ mail: mail() });
  await app.admin.seed(baseSeed);
  await call(app, "POST /projects/acme%2Fsite/issues", { as: "owner", json: { title: "A" } });
  await note(app, "Hello");
  const store = await openStore(database.database);
  const become = async (state: string) => {
    const states = async () => new Set((await store.rows("select state from mail_outbox")).flat());
    for (let tries = 0; tries < 200; tries += 1) {
      const found = await states();
      if (found.size === 1 && found.has(state)) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await states()).toEqual(new Set([state]));
  };
  // Two turns after it happened, what there is to send is in the outbox.
  await new Promise((resolve) => setTimeout(resolve, 2500));
  await become("sent");
  const sent = received.length;
  await store.transaction((db) =>
    db.run("update mail_outbox set state = 'sending', updated_at = updated_at - 660000"),
  );
  await become("interrupted");
  expect(received).toHaveLength(sent);
  await app.close();
  await store.close();
});
