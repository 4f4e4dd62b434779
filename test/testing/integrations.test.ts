// What integrations send of pushes and pipelines: calls are kept, and mails, too.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ webhooks: "keep" });
});
afterEach(() => server.close());

const SITE = "/projects/acme%2Fapp";

async function setUp(slug: string, json: object) {
  const { status } = await ask(server, "PUT", `${SITE}/integrations/${slug}`, json);
  expect(status).toBe(200);
}

/** Commits a file. */
async function commit(branch: string, path: string, content: string, start?: string) {
  const made = await ask(server, "POST", `${SITE}/repository/commits`, {
    branch,
    ...(start && { start_branch: start }),
    commit_message: `Write ${path}`,
    actions: [{ action: "create", file_path: path, content }],
  });
  expect(made.status).toBe(201);
}

/** Ends a new pipeline of the default branch. */
async function pipeline(status: "success" | "failed", name = "check") {
  const path = ".gitlab-ci.yml";
  const { status: found } = await ask(
    server,
    "GET",
    `${SITE}/repository/files/${encodeURIComponent(path)}?ref=main`,
  );
  if (found === 404) await commit("main", path, JSON.stringify({ [name]: { script: "make" } }));
  else await ask(server, "POST", `${SITE}/pipeline`, { ref: "main" });
  const [{ id }] = (await ask(server, "GET", `${SITE}/jobs?scope=pending`)).json;
  await tell(server, "PUT", `jobs/${id}`, { status });
}

// biome-ignore lint/suspicious/noExplicitAny: tests assert the shape themselves
const bodies = async () => (await server.hooks.list()).map(({ payload }) => payload as any);

describe("messages about code", () => {
  it("tell of pushes to the branches that are wanted, and of pipelines that failed", async () => {
    const webhook = "https://chat.example.com/in/secret";
    await setUp("mattermost", { webhook, push_channel: "code" });
    await commit("main", "a.txt", "a");
    await commit("topic", "b.txt", "b", "main");
    await pipeline("success");
    await pipeline("failed");
    const told = await bodies();
    expect(
      told.map(({ channel, text }) => [channel, text.replace(/<[^|]*\|([^>]*)>/g, "$1")]),
    ).toEqual([
      ["code", expect.stringMatching(/pushed new branch main to acme\/app$/)],
      ["code", expect.stringMatching(/pushed to branch main of acme\/app \(Compare changes\)$/)],
      [undefined, expect.stringMatching(/^acme\/app: Pipeline #2 of branch main by .* has failed/)],
    ]);
    expect(told[1].attachments[0].text).toMatch(/^<[^|]*\|[\da-f]{8}>: Write \.gitlab-ci\.yml - /);
    expect(told[2].attachments[0].text).toMatch(/^Failed: <[^|]*\|check>$/);
    const [call] = await server.hooks.list();
    expect(call?.url).toBe("https://chat.example.com/*****");
  });

  it("tell of all branches and pipelines if that is wanted", async () => {
    const json = { branches_to_be_notified: "all", notify_only_broken_pipelines: false };
    await setUp("pumble", { webhook: "https://chat.example.com/in", ...json });
    await commit("main", "a.txt", "a");
    await commit("topic", "b.txt", "b", "main");
    await pipeline("success");
    const told = await bodies();
    expect(told.map(({ text }) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"))).toEqual([
      expect.stringContaining("pushed new branch main"),
      expect.stringContaining("pushed new branch topic"),
      expect.stringContaining("pushed to branch main"),
      expect.stringContaining("has passed"),
    ]);
  });

  it("are sent to Pushover without what they are kept with", async () => {
    const keys = { api_key: "s3cret-app", user_key: "s3cret-user" };
    await setUp("pushover", { ...keys, priority: "1", sound: "siren" });
    await commit("main", "a.txt", "a");
    const [call] = await server.hooks.list();
    expect(call?.url).toBe("https://api.pushover.net/*****");
    expect(JSON.stringify(await server.hooks.list())).not.toContain("s3cret");
  });
});

describe("mails", () => {
  it("tell of pushes, with their commits and files", async () => {
    await setUp("emails-on-push", { recipients: "a@example.com b@example.com,a@example.com" });
    await commit("main", "a.txt", "a");
    await commit("main", "b.txt", "b");
    const mails = await server.mails.list();
    expect(mails.map(({ to }) => to)).toEqual([
      "a@example.com",
      "b@example.com",
      "a@example.com",
      "b@example.com",
    ]);
    const [, , last] = mails;
    expect(last).toMatchObject({ subject: "[acme/app][main] Write b.txt" });
    expect(last?.text).toContain("pushed to branch main of acme/app (Compare changes).\n");
    expect(last?.text).toMatch(/[\da-f]{8}: Write b\.txt - .*\nhttp.*\n {2}\+ b\.txt\n/);
    expect(await server.hooks.list()).toEqual([]);
  });

  it("tell of pipelines that failed", async () => {
    await setUp("pipelines-email", { recipients: "a@example.com" });
    await pipeline("success");
    await pipeline("failed");
    const mails = (await server.mails.list()).filter(({ to }) => to === "a@example.com");
    expect(mails).toEqual([
      expect.objectContaining({
        subject: expect.stringMatching(/^acme\/app \| Failed pipeline for main \| [\da-f]{8}$/),
        text: expect.stringMatching(/has failed.*\nhttp[\s\S]*Failed: check\nhttp/),
      }),
    ]);
  });
});
