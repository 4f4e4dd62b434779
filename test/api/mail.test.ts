import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import { type App, type AppOptions, createApp, type MailChange } from "../../src/index.ts";
import { add } from "../../src/resources/placeholders/queries.ts";
import { openStore } from "../../src/store/open.ts";
import {
  baseSeed,
  call,
  clock,
  newDatabase,
  type Person,
  SECRET_KEY,
  type TestDatabase,
  waitFor,
} from "../helpers.ts";
import { Visitor } from "../visitor.ts";

interface Received {
  to: string[];
  subject: string | undefined;
  text: string | undefined;
  messageId: string | undefined;
  inReplyTo: string | undefined;
  references: string | undefined;
}

let server: SMTPServer;
let received: Received[];
/** The headers of each of them, by lower-case name. */
let headersOf: Map<string, string>[];
/** What each of them says in HTML. */
let documents: string[];
/** How many of the first mails are refused. */
let refusals: number;
/** The SMTP status of the refusal. */
let refusal: number;
let smtp: string;
/** The mail server answers after this. */
let held: Promise<void>;
let database: TestDatabase;

beforeEach(async () => {
  received = [];
  headersOf = [];
  documents = [];
  refusals = 0;
  refusal = 451;
  held = Promise.resolve();
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", async () => {
        await held;
        if (refusals > 0) {
          refusals -= 1;
          done(Object.assign(new Error("No"), { responseCode: refusal }));
          return;
        }
        const mail = await PostalMime.parse(Buffer.concat(chunks));
        const to = session.envelope.rcptTo.map(({ address }) => address);
        documents.push(mail.html ?? "");
        const { subject, text, messageId, inReplyTo, references } = mail;
        headersOf.push(new Map(mail.headers.map(({ key, value }) => [key, value])));
        received.push({ to, subject, text, messageId, inReplyTo, references });
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

const mail = () => ({ smtp, from: "pm@example.com", interval: 20 });
const open = (options: Parameters<typeof createApp>[0] = {}) =>
  createApp({ database: database.database, url: "https://pm.example.com", now: clock, ...options });

async function arrived(count: number): Promise<void> {
  for (let tries = 0; received.length < count && tries < 200; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(received).toHaveLength(count);
}

const note = (app: Awaited<ReturnType<typeof open>>, body: string) =>
  call(app, "POST /projects/acme%2Fsite/issues/1/notes", { as: "developer", json: { body } });

it("sends each notification once, also across a restart", async () => {
  const before = await open();
  await before.admin.seed(baseSeed);
  const issue = { title: "Broken button", description: "It is grey." };
  await call(before, "POST /projects/acme%2Fsite/issues", { as: "owner", json: issue });
  await before.close();

  const app = await open({ mail: mail() });
  let release = () => {};
  held = new Promise((resolve) => {
    release = resolve;
  });
  // Nobody waits for a mail.
  expect((await note(app, "I can mend it.")).status).toBe(201);
  release();
  await arrived(1);
  expect(received[0]).toEqual({
    to: ["owner@example.com"],
    subject: "Re: acme/site | Broken button (#1)",
    text: expect.stringContaining("I can mend it."),
    messageId: expect.stringMatching(/^<event-\d+-user-\d+\.[\da-f-]{36}@pm\.example\.com>$/),
    inReplyTo: expect.stringMatching(/^<issue-\d+-user-\d+\.[\da-f-]{36}@pm\.example\.com>$/),
    references: received[0]?.inReplyTo,
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

it("says the same in HTML, with links to what its recipient may see", async () => {
  const app = await open({ mail: mail(), secretKey: SECRET_KEY });
  await app.admin.seed(baseSeed);
  const issue = { title: "Broken <b>button</b>" };
  const path = "/projects/acme%2Fsite/issues";
  await call(app, `POST ${path}`, { as: "guest", json: issue });
  await call(app, "POST /projects/secret%2Fvault/issues", {
    as: "admin",
    json: { title: "Keys", confidential: true },
  });
  await call(app, `POST ${path}/1/subscribe`, { as: "admin" });
  await note(app, "**Grey** <script>alert(1)</script> like #1, secret/vault#1 [x](javascript:1)");
  // Whether the administrator is told that the issue was opened depends on who is faster.
  const comments = () => documents.filter((page) => page.includes("commented"));
  await waitFor(async () => comments().length === 2);
  const [admins = "", guests = ""] = comments().toSorted(
    (a, b) => Number(a.includes("take part")) - Number(b.includes("take part")),
  );
  const site = "https://pm.example.com/acme/site/-/issues/1";
  const vault = 'href="https://pm.example.com/secret/vault/-/issues/1"';
  for (const page of [guests, admins]) {
    expect(page).toContain("commented on issue #1: Broken &lt;b&gt;button&lt;/b&gt;</p>");
    expect(page).toContain("<strong>Grey</strong>");
    expect(page).not.toMatch(/<script|"javascript:/);
    expect(page).toContain(`href="${site}"`);
    expect(page).toMatch(new RegExp(`<a href="${site}#note_\\d+">Open the issue</a>`));
    expect(page).toMatch(/<hr>.*you (take part|are subscribed).*\/unsubscribe">Get no more mails/s);
  }
  expect([guests.includes(vault), admins.includes(vault)]).toEqual([false, true]);
  expect(guests).not.toContain("Keys");
  await app.close();
});

it("begins and ends with the messages of the application, if it is to", async () => {
  const app = await open({ mail: mail() });
  await app.admin.seed(baseSeed);
  const issue = { title: "Broken button" };
  await call(app, "POST /projects/acme%2Fsite/issues", { as: "owner", json: issue });
  const look = (json: object) => call(app, "PUT /application/appearance", { as: "admin", json });
  await look({ header_message: "Confidential.", footer_message: "Do not reply." });
  await note(app, "I can mend it.");
  await arrived(1);
  await look({ email_header_and_footer_enabled: true });
  await note(app, "Done.");
  await arrived(2);
  const texts = received.map(({ text }) => text?.trim());
  expect(texts[0]).not.toMatch(/Confidential|reply/);
  expect(texts[1]).toMatch(/^Confidential\.\n\n[\s\S]*Done\.[\s\S]*\n\nDo not reply\.$/);
  const settings = { html_emails_enabled: false };
  await call(app, "PUT /application/settings", { as: "admin", json: settings });
  await note(app, "Again.");
  await arrived(3);
  expect([received[2]?.text?.includes("Again."), documents[2]]).toEqual([true, ""]);
  expect(documents[1]).toMatch(/<p>Confidential\.<\/p>.*Done\..*<p>Do not reply\.<\/p>/s);
  await app.close();
});

it("tells programs what it is about, and how to get no more of it, without signing in", async () => {
  const app = await open({ mail: mail(), secretKey: SECRET_KEY });
  await app.admin.seed(baseSeed);
  const path = "/projects/acme%2Fsite/issues";
  await call(app, `POST ${path}`, { as: "owner", json: { title: "Broken button" } });
  await note(app, "I can mend it.");
  await arrived(1);
  const headers = Object.fromEntries(headersOf[0] ?? []);
  expect(headers).toMatchObject({
    "x-gitlab-project-path": "acme/site",
    "x-gitlab-issue-id": expect.stringMatching(/^\d+$/),
    "x-gitlab-issue-iid": "1",
    "list-unsubscribe": expect.stringMatching(
      /^<https:\/\/pm\.example\.com\/-\/sent_notifications\/[\w-]+\/unsubscribe>$/,
    ),
    "list-unsubscribe-post": "List-Unsubscribe=One-Click",
  });
  const address = (headers["list-unsubscribe"] as string).slice(1, -1);
  expect(received[0]?.text).toContain(`To get no more about it: ${address}`);
  const subscribed = async () =>
    (await call(app, `GET ${path}/1`, { as: "owner" })).json.subscribed;

  // Programs that follow each link change nothing.
  const { pathname } = new URL(address);
  const link = `http://pm.test${pathname}`;
  const asked = await call(app, `GET ${link}`);
  expect([asked.status, await subscribed()]).toEqual([200, true]);
  expect(asked.text).toContain("no more mails about this issue");
  expect(asked.text).not.toContain("Broken");
  expect(asked.text).toContain(`action="${pathname}"`);
  const form = "List-Unsubscribe=One-Click";
  const done = await call(app, `POST ${link}`, { form });
  expect([done.status, await subscribed()]).toEqual([200, false]);
  expect((await call(app, `POST ${link}`, { form })).status).toBe(200);

  // Nobody else makes such a link: neither of plain text, nor of another secret of this server.
  const other = (key: string) => `http://pm.test/-/sent_notifications/${key}/unsubscribe`;
  const plain = Buffer.from("issue 1 2").toString("base64url");
  for (const key of [plain, "x", pathname.split("/")[3]?.replace(/..$/, "AA") as string]) {
    expect([key, (await call(app, `POST ${other(key)}`, { form })).status]).toEqual([key, 404]);
  }
  await call(app, `DELETE ${path}/1`, { as: "owner" });
  expect((await call(app, `POST ${link}`, { form })).status).toBe(404);
  await app.close();
});

it("is about snippets, too", async () => {
  const app = await open({ mail: mail() });
  await app.admin.seed(baseSeed);
  const snippet = { title: "Handy", file_name: "a", content: "a", visibility: "public" };
  const path = "POST /projects/acme%2Fsite/snippets";
  await call(app, path, { as: "owner", json: snippet });
  const { status } = await call(app, `${path}/1/notes`, { as: "guest", json: { body: "Nice." } });
  expect(status).toBe(201);
  await arrived(1);
  expect(received[0]).toMatchObject({
    to: ["owner@example.com"],
    subject: "Re: acme/site | Handy ($1)",
    inReplyTo: expect.stringMatching(/^<snippet-1-user-/),
  });
  expect(received[0]?.text).toContain("The guest commented on snippet $1: Handy");
  expect(received[0]?.text).toContain("https://pm.example.com/acme/site/-/snippets/1#note_1");
  await app.close();
});

it("retries with growing delays, and resumes after a restart", async () => {
  let now = Date.now();
  const stopped = () => now;
  const before = await open({ now: stopped });
  await before.admin.seed(baseSeed);
  await call(before, "POST /projects/acme%2Fsite/issues", { as: "owner", json: { title: "A" } });
  await before.close();

  refusals = 2;
  const app = await open({ mail: mail(), now: stopped });
  await note(app, "Hello");
  const refused = async ({ admin }: App, left: number) => {
    // The next attempt is counted from when the refusal is recorded, after it was sent.
    await waitFor(async () => {
      const [mail] = await admin.mails.list();
      return refusals === left && mail?.state === "waiting" && mail.attempts === 2 - left;
    });
  };
  await refused(app, 1);
  await app.close();

  const again = await open({ mail: mail(), now: stopped });
  now += 31_000;
  await refused(again, 0);
  expect(received).toEqual([]);
  now += 61_000;
  await arrived(1);
  await again.close();
});

it("requires the application's URL for its links", async () => {
  await expect(createApp({ mail: mail() })).rejects.toThrow(
    "createApp: url is missing: links in mails begin with it",
  );
});

it("sends each mail once, however many processes send", async () => {
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
  await waitFor(async () => (await first.admin.mails.list()).length === 0);
  await Promise.all(apps.map((app) => app.close()));
  const told = toOwner().map(({ text }) => /Comment \d+\./.exec(text ?? "")?.[0]);
  expect(told.sort()).toEqual(notes.sort());
  const ids = received.map(({ messageId }) => messageId);
  expect(new Set(ids).size).toBe(ids.length);
});

const SITE = "/projects/acme%2Fsite";
const postAs = (app: App, as: Person, path: string, json: object) =>
  call(app, `POST ${path}`, { as, json });
const isSent = (app: App) => waitFor(async () => (await app.admin.mails.list()).length === 0);

it("describes new issues, within a length limit, and threads follow-ups for each recipient", async () => {
  const app = await open({ mail: mail() });
  await app.admin.seed(baseSeed);
  const description = `@developer See this.${"x".repeat(20_000)}`;
  await postAs(app, "owner", `${SITE}/issues`, { title: "One\nBcc: x@example.com", description });
  await isSent(app);
  await note(app, "Seen.");
  await postAs(app, "owner", `${SITE}/issues/1/notes`, { body: "Good." });
  await arrived(3);
  // Mails of several workers arrive in any order.
  const opened = received[0] as Received;
  const later = received.slice(1);
  const good = later.find(({ to }) => to.includes("developer@example.com")) as Received;
  const seen = later.find(({ to }) => to.includes("owner@example.com")) as Received;
  expect(opened.subject).toBe("acme/site | One Bcc: x@example.com (#1)");
  expect(opened.to).toEqual(["developer@example.com"]);
  expect(opened.text).toContain("@developer See this.xxx");
  expect(opened.text?.length).toBeLessThan(11_000);
  expect([opened.inReplyTo, opened.references]).toEqual([undefined, undefined]);
  expect([good.to, good.inReplyTo, good.references]).toEqual([
    opened.to,
    opened.messageId,
    opened.messageId,
  ]);
  expect(seen.to).toEqual(["owner@example.com"]);
  expect(seen.inReplyTo).not.toBe(opened.messageId);
  await app.close();

  // Another installation with the same name and ids has different Message-IDs.
  const elsewhere = await newDatabase();
  const other = await createApp({
    database: elsewhere.database,
    url: "https://pm.example.com",
    mail: mail(),
  });
  await other.admin.seed(baseSeed);
  await postAs(other, "owner", `${SITE}/issues`, { title: "One", description: "@developer" });
  await arrived(4);
  expect(received[3]?.messageId).not.toBe(opened.messageId);
  await other.close();
  await elsewhere.drop();
});

it("loses no event of a request that began before the last mail", async () => {
  const app = await open({ mail: mail() });
  await app.admin.seed(baseSeed);
  await postAs(app, "owner", `${SITE}/issues`, { title: "A" });
  let finish = () => {};
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"body":"Begun'));
      finish = () => {
        controller.enqueue(new TextEncoder().encode(' first"}'));
        controller.close();
      };
    },
  });
  const slow = app.fetch(
    new Request(`https://pm.example.com/api/v4${SITE}/issues/1/notes`, {
      method: "POST",
      headers: { "content-type": "application/json", "private-token": "token-of-developer" },
      body,
      duplex: "half",
    } as RequestInit),
  );
  await note(app, "Begun second");
  await arrived(1);
  finish();
  expect((await slow).status).toBe(201);
  await arrived(2);
  expect(received.map(({ text }) => /Begun \w+/.exec(text ?? "")?.[0])).toEqual([
    "Begun second",
    "Begun first",
  ]);
  await app.close();
});

it("stores permanently refused mails until somebody retries them", async () => {
  const app = await open({ mail: mail() });
  await app.admin.seed(baseSeed);
  await postAs(app, "owner", `${SITE}/issues`, { title: "A" });
  [refusals, refusal] = [1, 550];
  await note(app, "Hello");
  const failed = async () => (await app.admin.mails.list())[0]?.state === "failed";
  await waitFor(failed);
  const [kept] = await app.admin.mails.list();
  expect(kept).toMatchObject({
    user: "owner",
    reason: "participating",
    attempts: 1,
    next_attempt_at: null,
    error: expect.stringContaining("550"),
  });
  await expect(app.admin.mails.retry(987_654)).rejects.toThrow("404 Mail Not Found");
  expect(await app.admin.mails.retry(kept?.id)).toEqual({ mails: 1 });
  await arrived(1);
  await isSent(app);
  await app.close();
});

it("skips recipients who lost access while the mail waited", async () => {
  let now = Date.now();
  const app = await open({ mail: mail(), now: () => now });
  await app.admin.seed(baseSeed);
  await postAs(app, "guest", "/projects/secret%2Fvault/issues", { title: "A" });
  [refusals, now] = [1, now + 1000];
  await postAs(app, "owner", "/projects/secret%2Fvault/issues/1/notes", { body: "Hello" });
  await waitFor(async () => {
    const queued = await app.admin.mails.list();
    return refusals === 0 && queued.every(({ state }) => state === "waiting");
  });
  const { json } = await call(app, "GET /user", { as: "guest" });
  await call(app, `DELETE /groups/secret/members/${json.id}`, { as: "owner" });
  now += 60_000;
  await isSent(app);
  expect(received).toEqual([]);
  await app.close();
});

it("reports once that the server is down and once that it is back, also in the probe", async () => {
  let now = Date.now();
  const gone = createServer();
  gone.listen(0, "127.0.0.1");
  await once(gone, "listening");
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const changes: MailChange[] = [];
  const errors: unknown[] = [];
  const app = await open({
    mail: {
      ...mail(),
      smtp: `smtp://127.0.0.1:${port}`,
      onChange: (change) => changes.push(change),
    },
    now: () => now,
    onError: (error) => errors.push(error),
  });
  await app.admin.seed(baseSeed);
  const ready = async () => (await call(app, "GET /-/readiness")).json;
  expect(await ready()).toEqual({ status: "ok", mail: "ok" });
  await postAs(app, "owner", `${SITE}/issues`, { title: "A" });
  for (const body of ["One", "Two", "Three"]) await note(app, body);
  await waitFor(async () => changes.length > 0);
  expect(await ready()).toEqual({ status: "ok", mail: "failing" });
  for (let turn = 0; turn < 3; turn += 1) {
    now += 31_000;
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  expect(changes).toEqual([{ failing: true, error: expect.stringContaining("ECONNREFUSED") }]);

  server.server.close();
  const back = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: (stream, _, done) => stream.on("end", () => done()).resume(),
  });
  back.listen(port, "127.0.0.1");
  await once(back.server, "listening");
  await waitFor(async () => {
    now += 10 * 60_000;
    return (await app.admin.mails.list()).length === 0;
  });
  expect(changes.slice(1)).toEqual([{ failing: false }]);
  expect(await ready()).toEqual({ status: "ok", mail: "ok" });
  expect(errors).toEqual([]);
  await app.close();
  await new Promise<void>((resolve) => back.close(resolve));
});

it("closes soon although the server does not come to an end of its answer", async () => {
  const sockets: Socket[] = [];
  let lines = 0;
  const endless = createServer((socket) => {
    sockets.push(socket);
    socket.write("220 here\r\n");
    socket.once("data", () => {
      const answering = setInterval(() => {
        lines += 1;
        socket.write("250-and\r\n");
      }, 50);
      // Whoever has ended the connection is not written to any more, though it may take a while to close.
      for (const event of ["end", "close"]) socket.once(event, () => clearInterval(answering));
    });
    socket.on("error", () => undefined);
  });
  endless.listen(0, "127.0.0.1");
  await once(endless, "listening");
  const { port } = endless.address() as AddressInfo;
  const app = await open({ mail: { ...mail(), smtp: `smtp://127.0.0.1:${port}` } });
  await app.admin.seed(baseSeed);
  await postAs(app, "owner", `${SITE}/issues`, { title: "A" });
  await note(app, "Hello");
  await waitFor(async () => lines > 0);
  const [socket] = sockets as [Socket];
  const cut = once(socket, "close");
  await app.close();
  await cut;
  // At twenty a second: otherwise it ends when a mail may take no longer, after a minute.
  expect(lines).toBeLessThan(600);
  endless.close();
  // Another process gets it at once.
  const again = await open({ mail: mail() });
  await arrived(1);
  await again.close();
});

it("closes the database if it can't start", async () => {
  const store = await openStore(database.database);
  const wrong = { smtp: "no://where?\0", from: "x" };
  for (const options of [{ pages: ["no"] }, { url: "http://x", mail: wrong, pages: ["no"] }]) {
    const failing = await openStore(database.database);
    await expect(createAppOn(failing, options as AppOptions)).rejects.toThrow(TypeError);
    await expect((async () => failing.rows("select 1"))()).rejects.toThrow();
  }
  await store.close();
});

it("asks whether an address is its user's, by a link whose secret is stored nowhere", async () => {
  const app = await open({ mail: mail() });
  await app.admin.seed(baseSeed);
  const invited = { email: "ada@further.example", access_level: 30 };
  const invitations = "POST /projects/secret%2Fvault/invitations";
  expect((await call(app, invitations, { as: "owner", json: invited })).json).toEqual({
    status: "success",
  });
  await arrived(1);
  expect(received[0]).toMatchObject({
    to: ["ada@further.example"],
    subject: "Invitation to join secret/vault",
  });
  expect(received[0]?.text).toContain("has invited you to secret/vault, as developer.");

  const json = { email: "Ada@further.example" };
  expect((await call(app, "POST /user/emails", { as: "stranger", json })).status).toBe(201);
  await arrived(2);
  expect(received[1]).toMatchObject({
    to: ["Ada@further.example"],
    subject: "Confirm your e-mail address",
  });
  const link = /https:\/\/pm\.example\.com(\/\S+)/.exec(received[1]?.text ?? "")?.[1] ?? "";
  expect(link).toMatch(/^\/users\/confirmation\?confirmation_token=[0-9a-f]{64}$/);
  const store = await openStore(database.database);
  for (const table of ["user_emails", "outbox"]) {
    const rows = await store.rows(`select * from ${table}`);
    expect(JSON.stringify(rows)).not.toContain(link.slice(-64));
  }
  await store.close();
  const vault = () => call(app, "GET /projects/secret%2Fvault", { as: "stranger" });
  expect((await vault()).status).toBe(404);
  const visitor = new Visitor({ fetch: app.fetch });
  expect((await visitor.get(link)).page).toContain("<strong>Ada@further.example</strong>");
  expect((await vault()).status).toBe(404);
  const form = { confirmation_token: link.slice(-64) };
  const confirmed = await visitor.post("/users/confirmation", form);
  expect([confirmed.status, confirmed.page.includes("is confirmed")]).toEqual([200, true]);
  expect((await vault()).status).toBe(200);
  expect((await visitor.get(link)).status).toBe(404);
  await app.close();
});

it("sends who has forgotten their password a link to set one, and tells nobody whether there is an account", async () => {
  const quiet = await open();
  await quiet.admin.seed(baseSeed);
  const before = new Visitor({ fetch: quiet.fetch });
  expect((await before.get("/users/sign_in")).page).not.toContain("Forgot your password?");
  expect((await before.get("/users/password/new")).status).toBe(404);
  await quiet.close();

  const app = await open({ mail: mail() });
  const visitor = new Visitor({ fetch: app.fetch });
  expect((await visitor.get("/users/sign_in")).page).toContain('href="/users/password/new"');
  const ask = async (email: string) => {
    await visitor.get("/users/password/new");
    return visitor.post("/users/password/new", { email });
  };
  await call(app, "POST /users/6/block", { as: "admin" });
  const { json: blocked } = await call(app, "GET /users/6", { as: "admin" });
  const answers = [];
  for (const email of [
    "nobody@example.com",
    "",
    `${blocked.username}@example.com`,
    "OWNER@example.com ",
  ]) {
    const { status, page } = await ask(email);
    answers.push([status, page.replaceAll(/value="\w+"/g, "")]);
  }
  expect(new Set(answers.map(String)).size).toBe(1);
  expect(answers[0]?.[0]).toBe(200);
  await arrived(1);
  expect(received[0]).toMatchObject({ to: ["OWNER@example.com"], subject: "Set your password" });
  const link = /https:\/\/pm\.example\.com(\/\S+)/.exec(received[0]?.text ?? "")?.[1] ?? "";
  expect(link).toMatch(/^\/users\/password\/edit\?reset_password_token=[0-9a-f]{64}$/);
  const store = await openStore(database.database);
  const stored = await Promise.all(
    ["outbox", "invitations", "audit_events"].map((table) => store.rows(`select * from ${table}`)),
  );
  expect(JSON.stringify(stored)).not.toContain(link.slice(-64));
  await store.close();

  await visitor.get(link);
  const chosen = "correct horse battery";
  const form = {
    reset_password_token: link.slice(-64),
    password: chosen,
    password_confirmation: chosen,
  };
  expect((await visitor.post("/users/password", form)).page).toContain(
    "Your password has been set.",
  );
  expect((await visitor.get(link)).status).toBe(404);
  expect((await visitor.signIn("owner", chosen)).status).toBe(303);

  const other = new Visitor({ fetch: app.fetch });
  const statuses: number[] = [];
  for (let at = 0; at < 4; at += 1) {
    await other.get("/users/password/new");
    statuses.push(
      (await other.post("/users/password/new", { email: "reporter@example.com" })).status,
    );
  }
  expect(statuses).toEqual([200, 200, 200, 429]);
  await app.close();
});

it("confirms the address of who signs up, and of who was invited by the link of that mail", async () => {
  const app = await open({ mail: mail() });
  await app.admin.seed(baseSeed);
  const json = { email_confirmation_setting: "hard", signup_enabled: true };
  expect((await call(app, "PUT /application/settings", { as: "admin", json })).status).toBe(200);
  const form = { name: "Grace", username: "grace", password: "correct horse" };
  const signUp = async (more: Record<string, string>) => {
    const visitor = new Visitor({ fetch: app.fetch });
    await visitor.get("/users/sign_up");
    const { status, page } = await visitor.post("/users/sign_up", { ...form, ...more });
    const address = more["email"] ?? "";
    return [status, page.replaceAll(/value="\w+"/g, "").replaceAll(address, "ADDRESS")];
  };
  const linkIn = (at: number) =>
    /https:\/\/pm\.example\.com(\/\S+)/.exec(received[at]?.text ?? "")?.[1] ?? "";
  const free = await signUp({ email: "grace@navy.example" });
  expect(free[0]).toBe(200);
  expect(await signUp({ email: "OWNER@example.com", username: "other" })).toEqual(free);
  await arrived(2);
  expect(received.map(({ to, subject }) => [to[0], subject])).toEqual([
    ["grace@navy.example", "Confirmation instructions"],
    ["OWNER@example.com", "You have an account already"],
  ]);
  // Neither name is free any more: that would tell which of the addresses was.
  for (const username of ["grace", "other"]) {
    expect((await signUp({ email: `${username}2@navy.example`, username }))[0]).toBe(422);
  }
  const named = "GET /users?username=grace";
  expect((await call(app, named, { as: "admin" })).json).toEqual([]);
  const visitor = new Visitor({ fetch: app.fetch });
  const link = linkIn(0);
  expect((await visitor.get(link)).page).toContain("<strong>@grace</strong>");
  const secret = { confirmation_token: link.slice(-64) };
  const confirmed = await visitor.post("/users/confirmation", secret);
  expect([confirmed.status, confirmed.page.includes("awaiting approval")]).toEqual([200, true]);
  expect((await visitor.post("/users/confirmation", secret)).status).toBe(404);
  const [grace] = (await call(app, named, { as: "admin" })).json;
  expect([grace.email, grace.state]).toEqual(["grace@navy.example", "blocked_pending_approval"]);
  await arrived(3);
  expect(received[2]).toMatchObject({ to: ["admin@example.com"], subject: "Account request" });
  await call(app, `POST /users/${grace.id}/approve`, { as: "admin" });
  await arrived(4);
  expect(received[3]).toMatchObject({ to: [grace.email], subject: "Your account is approved" });
  expect((await visitor.signIn("grace", form.password)).status).toBe(303);

  const free2 = { require_admin_approval_after_user_signup: false };
  await call(app, "PUT /application/settings", { as: "admin", json: free2 });
  const invite = (email: string) =>
    call(app, "POST /projects/secret%2Fvault/invitations", {
      ...{ as: "owner", json: { email, access_level: 30 } },
    });
  await invite("ida@navy.example");
  await arrived(5);
  const ida = new Visitor({ fetch: app.fetch });
  const shown = await ida.get(linkIn(4));
  expect(shown.page).toContain("<strong>secret/vault</strong> as developer");
  const invited = /href="(\/users\/sign_up\?invite=\w+)"/.exec(shown.page)?.[1] ?? "";
  expect((await ida.get(invited)).page).toContain("<strong>ida@navy.example</strong>");
  const made = await ida.post("/users/sign_up", {
    ...{ ...form, username: "ida", email: "else@where.example" },
    invite: invited.slice(-64),
  });
  expect([made.status, made.page.includes("You can sign in now.")]).toEqual([200, true]);
  expect((await ida.signIn("ida", form.password)).status).toBe(303);
  expect((await ida.get("/secret/vault")).status).toBe(200);
  expect((await ida.get(linkIn(4))).status).toBe(404);

  await invite("grace@home.example");
  await arrived(6);
  expect((await visitor.get("/secret/vault")).status).toBe(404);
  const path = linkIn(5);
  expect((await visitor.get(path)).page).toContain("Accept the invitation");
  expect((await visitor.get("/secret/vault")).status).toBe(404);
  const accepted = await visitor.post(`${path}/accept`);
  expect([accepted.status, accepted.headers.get("location")]).toEqual([303, "/secret/vault"]);
  expect((await visitor.get("/secret/vault")).status).toBe(200);
  await invite("nobody@home.example");
  await arrived(7);
  await visitor.get(linkIn(6));
  expect((await visitor.post(`${linkIn(6)}/decline`)).page).toContain("You have declined");
  expect((await visitor.post(`${linkIn(6)}/accept`)).status).toBe(404);
  await app.close();
});

it("asks who is said to have done what was imported, and tells whoever has said so", async () => {
  const app = await open({ mail: mail() });
  await app.admin.seed(baseSeed);
  const store = await openStore(database.database);
  const { json } = await call(app, "GET /groups/acme", { as: "owner" });
  const origin = {
    ...{ namespaceId: json.id, importType: "gitlab_migration" },
    hostname: "https://gitlab.example.com",
  };
  const ada = { identifier: "7", username: "ada", name: "Ada" };
  await store.transaction((db) => add(db, origin, ada, clock()));
  await store.close();
  const path = "/groups/acme/placeholder_reassignments";
  const { text } = await call(app, `GET ${path}`, { as: "owner" });
  const body = new FormData();
  body.append("file", new Blob([text.replace(",ada,,", ",ada,stranger,")]), "who.csv");
  expect((await call(app, `POST ${path}`, { as: "owner", body })).status).toBe(201);
  await arrived(2);
  const to = (address: string) => received.find((one) => one.to[0] === address);
  expect(to("stranger@example.com")).toMatchObject({
    subject: "Reassignments in acme waiting for review",
    text: expect.stringMatching(
      /Ada \(@ada\)[\s\S]*https:\/\/pm\.example\.com\/import\/source_users\/\d+/,
    ),
  });
  expect(to("owner@example.com")).toMatchObject({
    subject: "Placeholder reassignments in acme finished",
    text: expect.stringContaining("1 processed, 0 failed, 0 skipped"),
  });
  await app.close();
});
