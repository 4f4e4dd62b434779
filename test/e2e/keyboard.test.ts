// What is done on pages, in Chromium: by keyboard alone, and without JavaScript. One part has its turn for each commit.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import { afterAll, expect, it } from "vitest";
import { meaningOf } from "../../src/core/scopes.ts";
import { ciProject, runnerOf, takeJob } from "../api/_pipelines.ts";
import { type Receiver, startReceiver } from "../api/_receiver.ts";
import { isLong } from "../forms.ts";
import { givePassword, PASSWORD } from "../helpers.ts";
import { numberOfCommit } from "../run/share.ts";
import { type Keys, keysOf, shop, signIn, visit } from "./browser.ts";

const mails: string[] = [];
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ["STARTTLS"],
  onData(stream, _, done) {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", async () => {
      mails.push((await PostalMime.parse(Buffer.concat(chunks))).text ?? "");
      done();
    });
  },
});
let receiver: Receiver;

const opened = shop(async () => {
  receiver = await startReceiver();
  smtp.listen(0, "127.0.0.1");
  await once(smtp.server, "listening");
  const { port } = smtp.server.address() as AddressInfo;
  // Mails have links, which need an address that is known before the server starts.
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const url = `http://127.0.0.1:${(free.address() as AddressInfo).port}`;
  await new Promise((resolve) => free.close(resolve));
  return {
    url,
    background: true,
    mail: { smtp: `smtp://127.0.0.1:${port}`, from: "pm@example.com", interval: 20 },
    webhooks: { deliver: true, allowLocalRequests: true },
  };
});
afterAll(async () => {
  await receiver?.close();
  await new Promise<void>((resolve) => smtp.close(resolve));
});

/** Somebody who is signed in, with a keyboard. */
async function keysFor(login: string, password = PASSWORD): Promise<Keys & { url: () => string }> {
  const { page } = await visit(opened.browser, { width: 1280 });
  await page.goto(`${opened.server.url}/users/sign_in`);
  await signIn(page, login, password);
  return { ...keysOf(page, opened.server.url), url: () => page.url() };
}

const SITE = "/acme/site/-";
const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGVGcpzIwSJVGGtKMLSfjZNWkQAfQlYRKP2bMTvCDmYH a";

/** Milestones, labels, boards, people of issues, to-do items. */
async function plans() {
  const keys = await keysFor("admin");
  await keys.open(`${SITE}/milestones`);
  await keys.follow("New milestone");
  await keys.type("Title", "By keys");
  await keys.follow("Create milestone");
  await keys.follow("Edit");
  await keys.type("Description", "**Soon**");
  await keys.follow("Save changes");
  await keys.see("Soon");
  await keys.open(`${SITE}/labels/new`);
  await keys.type("Name", "keyed");
  await keys.type("Color", "red");
  await keys.follow("Create label");
  await keys.see("keyed");
  await keys.open(`${SITE}/issues/new`);
  await keys.type("Title", "Planned by keys");
  await keys.type("Description", "- [ ] a task");
  await keys.press("keyed", "Space");
  await keys.press("The owner (@owner)", "Space");
  await keys.choose("Milestone", "By keys");
  await keys.follow("Create issue");
  for (const text of ["keyed", "By keys", "The owner"]) await keys.see(text);
  await keys.follow("☐");
  await keys.see("☑");
  await keys.follow("Add a to-do item");
  await keys.open("/dashboard/todos");
  await keys.see("Planned by keys");
  await keys.follow("Mark all as done");
  await keys.see("There is nothing for you to do.");
  const { json: boards } = await opened.app.call("GET /projects/acme%2Fsite/boards", {
    as: "owner",
  });
  await keys.open(`${SITE}/boards/${boards[0].id}`);
  await keys.follow("Move Planned by keys");
  await keys.choose("To", "Closed");
  await keys.follow("Move");
  await keys.open(`${SITE}/issues?state=closed`);
  await keys.see("Planned by keys");
}

/** Wikis, releases, snippets. */
async function writes() {
  const keys = await keysFor("admin");
  await keys.open(`${SITE}/wikis`);
  await keys.follow("New page");
  await keys.type("Title", "By keys");
  await keys.type("Content", "It is **bold**");
  await keys.follow("Preview");
  await keys.see("It is bold");
  await keys.attach("Attach a file", "notes.txt", "what was attached");
  await keys.follow("Create page");
  await keys.see("notes.txt");
  await keys.follow("Edit");
  await keys.type("Content", "Changed");
  await keys.follow("Save changes");
  await keys.follow("History");
  await keys.see("created page: By keys");
  await keys.open(`${SITE}/releases/new`);
  await keys.type("Tag", "v-keys");
  await keys.type("Of", "main");
  await keys.type("Name", "Keys");
  await keys.follow("Create release");
  await keys.type("Name", "A link");
  await keys.type("URL", "https://example.com/keys");
  await keys.follow("Add link");
  await keys.see("A link");
  await keys.open("/-/snippets/new");
  await keys.type("Title", "Kept by keys");
  await keys.type("Name of the file", "a.txt");
  await keys.type("Content", "one");
  await keys.follow("Create snippet");
  await keys.see("Kept by keys");
}

/** Files, merge requests from their first to their last, pipelines and jobs. */
async function codes() {
  const project = await ciProject(
    opened.app,
    "keyed",
    "build:\n  script: [make]\nship:\n  stage: deploy\n  needs: []\n  when: manual\n  script: [make]\n",
  );
  const base = "/secret/keyed/-";
  const keys = await keysFor("admin");
  await keys.open(`${base}/upload/main`);
  await keys.attach("File", "up.txt", "one\n");
  await keys.follow("Commit");
  await keys.follow("up.txt");
  await keys.follow("Edit");
  await keys.type("Content", "two\n");
  await keys.type("To the branch", "keys");
  await keys.follow("Commit");
  await keys.type("Title", "Merged by keys");
  await keys.follow("Create merge request");
  await keys.see("Merged by keys");
  const request = keys.url();
  await keys.follow("1");
  await keys.follow("1");
  await keys.type("Your comment", "On this line");
  await keys.follow("Start a thread");
  await keys.see("On this line");
  await keys.open(new URL(request).pathname);
  await keys.follow("Edit");
  await keys.press("The owner (@owner)", "Space");
  await keys.follow("Save changes");
  await keys.see("Assignees");
  // Nobody approves what they have written themselves.
  await givePassword(opened.app, "owner");
  const other = await keysFor("owner");
  await other.open(new URL(request).pathname);
  await other.follow("Approve");
  await other.see("Take the approval back");
  await other.follow("Merge");
  await other.see("Merged");
  await keys.open(`${base}/pipelines`);
  await keys.follow("New pipeline");
  await keys.type("Variables", "HOW=by keys");
  await keys.follow("Start pipeline");
  await keys.follow("ship");
  await keys.press("Play with variables");
  await keys.type("Variables", "WHERE=here");
  await keys.follow("Play");
  await keys.see("Pending");
  await keys.follow("Cancel");
  await keys.see("Canceled");
  await keys.follow("Retry");
  await keys.see("Pending");
  const job = await takeJob(opened.app, await runnerOf(opened.app, project));
  expect(job.variables).toBeDefined();
}

/** Accounts: passwords, what others see, addresses, keys, tokens, applications, sessions, two-factor, notifications. */
async function accounts() {
  const email = "keys@example.com";
  await opened.app.admin.users.create({
    username: "keys",
    name: "Keys",
    email,
    password: PASSWORD,
  });
  const { page } = await visit(opened.browser, { width: 1280 });
  const visitor = keysOf(page, opened.server.url);
  await visitor.open("/users/sign_in");
  await visitor.follow("Forgot your password?");
  await visitor.type("Your e-mail address", email);
  await visitor.follow("Send the link");
  await expect.poll(() => mails.join("\n"), { timeout: 20_000 }).toContain("reset_password_token");
  const [, path = ""] = /(\/users\/password\/edit\S+)/.exec(mails.join("\n")) ?? [];
  await visitor.open(path);
  const chosen = "quite another password";
  await visitor.type("New password", chosen);
  await visitor.type("New password again", chosen);
  await visitor.follow("Set password");

  const keys = await keysFor("keys", chosen);
  await keys.follow("@keys");
  await keys.follow("Profile");
  await keys.type("About you", "I type");
  await keys.follow("Save changes");
  await keys.see("I type");
  await keys.follow("E-mails");
  await keys.follow("New address");
  await keys.type("E-mail address", "other@example.com");
  await keys.follow("Create address");
  await keys.see("to be confirmed");
  await keys.follow("SSH keys");
  await keys.follow("New SSH key");
  await keys.type("Key", KEY);
  await keys.type("Title", "laptop");
  await keys.follow("Create SSH key");
  await keys.see("laptop");
  await keys.confirm("Delete");
  await keys.follow("Notifications");
  await keys.choose("You get mails about", "Everything");
  await keys.follow("Save changes");
  await keys.follow("Access tokens");
  await keys.type("Name", "by keys");
  await keys
    .press("read_apiReads everything", "Space")
    .catch(() => keys.press("read_api", "Space"));
  await keys.follow("Create token");
  await keys.see("Keep it now");
  await keys.confirm("Revoke");
  await keys.follow("Sessions");
  await keys.follow("Password");
  await keys.type("Current password", chosen);
  await keys.type("New password", PASSWORD);
  await keys.type("New password again", PASSWORD);
  await keys.follow("Change password");
  await keys.see("has been changed");
}

/** Settings of projects and groups, from the first to the last. */
async function settings() {
  await ciProject(opened.app, "kept", undefined);
  const base = "/secret/kept/-";
  const keys = await keysFor("admin");
  await keys.open(`${base}/edit`);
  await keys.type("Description", "Kept by keys");
  await keys.follow("Save changes");
  await keys.follow("Repository");
  await keys.follow("New protected branch");
  await keys.type("Name", "stable-*");
  await keys.follow("Create protected branch");
  await keys.see("stable-*");
  await keys.follow("New deploy key");
  await keys.type("Title", "a host");
  await keys.type("Key", KEY);
  await keys.follow("Create deploy key");
  await keys.see("a host");
  await keys.follow("CI/CD");
  await keys.follow("New variable");
  await keys.type("Key", "BY");
  await keys.type("Value", "keys");
  await keys.follow("Create variable");
  await keys.see("BY");
  await keys.follow("New runner");
  await keys.type("Description", "a runner");
  await keys.follow("Create runner");
  await keys.see("Keep this now");
  await keys.follow("Webhooks");
  await keys.follow("New webhook");
  await keys.type("URL", receiver.url);
  await keys.press("Events: issues", "Space");
  await keys.follow("Create webhook");
  await keys.follow("Edit");
  await keys.follow("Test push");
  await keys.follow("Resend");
  await keys.follow("Access tokens");
  await keys.follow("New access token");
  await keys.type("Name", "a bot");
  await keys.press(`read_api: ${meaningOf("read_api")}`, "Space");
  await keys.follow("Create access token");
  await keys.see("Keep this now");
  await keys.follow("Members");
  await keys.follow("New member");
  await keys.type("User name", "stranger");
  await keys.choose("Role", "Reporter");
  await keys.follow("Add member");
  await keys.see("stranger");
  await keys.follow("New invitation");
  await keys.type("E-mail address", "new@example.com");
  await keys.follow("Create invitation");
  await keys.see("new@example.com");
  await keys.follow("Settings");
  await keys.confirm("Archive");
  await keys.confirm("Unarchive");
  await keys.follow("Transfer");
  await keys.choose("To the group", "acme");
  await keys.follow("Transfer project");
  expect(keys.url()).toContain("/acme/kept/-/edit");
  await keys.confirm("Delete");
  await keys.open("/groups/acme/-/edit");
  await keys.type("Description", "Ours, by keys");
  await keys.follow("Save changes");
  await keys.follow("SCIM");
  await keys.follow("New SCIM token");
}

/** The administration. */
async function administers() {
  const keys = await keysFor("admin");
  await keys.open("/admin/users");
  await keys.follow("New user");
  await keys.type("Name", "Made by keys");
  await keys.type("User name", "made");
  await keys.type("E-mail address", "made@example.com");
  await keys.type("Password", PASSWORD);
  await keys.follow("Create user");
  await keys.type("Search", "made");
  await keys.follow("Show");
  await keys.follow("Block");
  await keys.follow("Unblock");
  await keys.confirm("Delete");
  await keys.follow("Broadcast messages");
  await keys.follow("New broadcast message");
  await keys.type("Message", "By keys");
  await keys.follow("Create broadcast message");
  await keys.see("By keys");
  await keys.follow("Settings");
  await keys.type("Default branch of new projects", "trunk");
  await keys.follow("Save changes");
  await keys.follow("Runners");
  await keys.follow("New runner");
  await keys.type("Description", "of everybody");
  await keys.follow("Create runner");
  await keys.see("Keep this now");
  await keys.follow("Background work");
  await keys.follow("Audit log");
  await keys.see("user created");
}

const ALL = { plans, writes, codes, accounts, settings, administers };
const turn = Object.entries(ALL).filter(
  (_, at, all) => isLong || at === numberOfCommit() % all.length,
);

it.each(turn)("who %s needs neither a mouse nor JavaScript", (_, flow) => flow());
