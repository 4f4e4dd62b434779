// What is done on the pages of groups and projects, in Chromium: by keyboard, by mouse, and by their scripts.
import { describe, expect, it } from "vitest";
import { ciProject, runnerOf, takeJob } from "../api/_pipelines.ts";
import { PASSWORD } from "../helpers.ts";
import { look, shop, signIn, tabTo, violations, visit } from "./browser.ts";

const opened = shop();

describe.each([
  { kind: "phone", width: 390, dark: true },
  { kind: "desktop", width: 1280, dark: false },
])("in Chromium: $kind", ({ kind, width, dark }) => {
  it("people sign up by keyboard alone, without JavaScript", async () => {
    const { page } = await visit(opened.browser, { width, dark });
    await page.goto(`${opened.server.url}/users/sign_in`);
    await tabTo(page, "Register now");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/users/sign_up");
    await page.keyboard.type("Grace Hopper");
    for (const [name, text] of [
      ["User name", `grace-${kind}`],
      ["E-mail address", `grace-${kind}@navy.example`],
      ["Password", PASSWORD],
    ] as const) {
      await tabTo(page, name);
      await page.keyboard.type(text);
    }
    await page.keyboard.press("Enter");
    await page.getByText("awaiting approval").waitFor();
    const { page: other } = await visit(opened.browser, { width, dark, scripts: true });
    const problems: string[] = [];
    for (const path of ["/users/sign_in", "/users/sign_up", "/search", "/-/invites/none"]) {
      await other.goto(opened.server.url + path);
      await look(other, `${kind}${path.replaceAll("/", "-")}`);
      for (const one of await violations(other)) problems.push(`${path} ${one}`);
    }
    expect(problems).toEqual([]);
  });

  it("an issue is made, discussed and closed by keyboard alone, without JavaScript", async () => {
    const { page } = await visit(opened.browser, { width, dark });
    await page.goto(`${opened.server.url}/users/sign_in?return_to=/acme/site/-/issues`);
    await signIn(page, "admin", PASSWORD);
    const to = (name: string) => tabTo(page, name);
    await to("New issue");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/issues/new");
    await to("Title");
    await page.keyboard.type("By keyboard");
    await page.keyboard.press("Enter");
    await page.waitForURL(/issues\/\d+$/);
    expect(await page.locator("h1").textContent()).toBe("By keyboard");
    await to("Comment");
    await page.keyboard.type("It *works*");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#note_\d+$/);
    expect(await page.locator("article em").textContent()).toBe("works");
    await to("Close");
    await page.keyboard.press("Enter");
    await page.locator(".tag.closed").waitFor();
    expect(await violationsOfPage()).toEqual([]);

    async function violationsOfPage() {
      const other = await visit(opened.browser, { width, dark, scripts: true });
      await other.page.goto(`${opened.server.url}/users/sign_in`);
      await signIn(other.page, "admin", PASSWORD);
      await other.page.goto(page.url());
      return violations(other.page);
    }
  });

  it("an issue is changed and answered, and a file committed and asked to be merged, by keyboard alone, without JavaScript", async () => {
    const { page } = await visit(opened.browser, { width, dark });
    await page.goto(`${opened.server.url}/users/sign_in?return_to=/acme/site/-/issues/new`);
    await signIn(page, "admin", PASSWORD);
    const press = async (name: string, key = "Enter") => {
      await tabTo(page, name);
      await page.keyboard.press(key);
    };
    const type = async (name: string, text: string) => {
      await tabTo(page, name);
      await page.keyboard.press("Control+A");
      await page.keyboard.type(text);
    };
    await type("Title", "To be changed");
    await page.keyboard.press("Enter");
    await page.waitForURL(/issues\/\d+$/);
    const issue = page.url();
    await press("Edit");
    await page.waitForURL("**/edit");
    await type("Title", "");
    await page.keyboard.press("Delete");
    await page.keyboard.type("Changed");
    await press("Confidential", "Space");
    await press("UX", "Space");
    await press("Save changes");
    await page.waitForURL(issue);
    expect(await page.locator("h1").textContent()).toBe("Changed");
    expect(await page.locator("aside").textContent()).toContain("UX");
    await type("Comment", "Why?");
    await press("Comment");
    await page.waitForURL(/#note_\d+$/);
    await page.goto(issue);
    await press("Reply to The admin");
    await type("Your reply", "*So*");
    await press("Send reply");
    await page.locator("article em").waitFor();
    await page.goto(issue);
    await press("Resolve the thread of The admin");
    await page.locator("article .tag", { hasText: "Resolved" }).first().waitFor();
    await page.goto(issue);
    await press("👍");
    await page.locator("[aria-pressed=true]").waitFor();
    await page.goto(issue);
    await press("Add a to-do item");
    await page.locator("button", { hasText: "Mark as done" }).waitFor();

    await page.goto(`${opened.server.url}/acme/site/-/tree/main`);
    await press("New file");
    await page.waitForURL("**/new/main");
    await type("Path", `by-keyboard-${kind}.txt`);
    await type("Content", "One line");
    await type("To the branch", `by-keyboard-${kind}`);
    await press("Commit");
    await page.waitForURL("**/merge_requests/new?*");
    await type("Title", "By keyboard");
    await press("Create merge request");
    await page.waitForURL(/merge_requests\/\d+$/);
    expect(await page.locator("h1").textContent()).toBe("By keyboard");
    await press("Mark as draft");
    await page.locator(".lead .tag", { hasText: "Draft" }).waitFor();
    await page.goto(`${opened.server.url}/acme/site/-/branches`);
    await press("New branch");
    await page.waitForURL("**/branches/new");
    await type("Name", `short-lived-${kind}`);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/tree/short-lived-*");
  });
});

it("a job's page shows its log and its state while it runs, and is quiet afterwards", async () => {
  const project = await ciProject(opened.app, "runs", "build:\n  script: [make]\n");
  await project.call("POST /pipeline", { as: "owner", json: { ref: "main" } });
  const job = await takeJob(opened.app, await runnerOf(opened.app, project));
  const send = async (from: number, text: string) => {
    const range = `${from}-${from + text.length - 1}`;
    const headers = { "job-token": job.token, "content-range": range };
    const { status } = await opened.app.call(`PATCH /jobs/${job.id}/trace`, {
      headers,
      body: text,
    });
    expect(status).toBe(202);
  };
  await send(0, "first <line>\n");
  const { page, complaints } = await visit(opened.browser, { width: 1280, scripts: true });
  await page.goto(`${opened.server.url}/users/sign_in`);
  await signIn(page, "admin", PASSWORD);
  await page.goto(`${opened.server.url}/secret/runs/-/jobs/${job.id}`);
  expect(await page.locator("#state").textContent()).toBe("Running");
  await page.evaluate("window.isSame = true");
  await send(13, "second line\n");
  await page.locator(".log", { hasText: "second line" }).waitFor();
  expect(await page.locator(".log").textContent()).toBe("first <line>\nsecond line\n");
  const json = { token: job.token, state: "failed", failure_reason: "script_failure" };
  await opened.app.call(`PUT /jobs/${job.id}`, { json });
  await page.locator("#state", { hasText: "Failed" }).waitFor();
  expect(await page.locator("#facts").textContent()).toContain("script_failure");
  await page.getByRole("button", { name: "Retry" }).waitFor();
  expect([await page.evaluate("window.isSame"), complaints]).toEqual([true, []]);
  expect(await violations(page)).toEqual([]);
  expect(await page.locator("[data-live]").count()).toBe(0);
});

it("the page of a merge request shows what others say and what its pipeline does, and leaves alone what is typed", async () => {
  const project = await ciProject(opened.app, "talked", "build:\n  script: [make]\n");
  const actions = [{ action: "create", file_path: "a.txt", content: "one\n" }];
  const commit = { branch: "topic", start_branch: "main", commit_message: "a", actions };
  await project.call("POST /repository/commits", { as: "owner", json: commit });
  const json = { source_branch: "topic", target_branch: "main", title: "Talked about" };
  await project.call("POST /merge_requests", { as: "owner", json });
  const say = (body: string) =>
    project.call("POST /merge_requests/1/discussions", { as: "owner", json: { body } });
  await say("At first");
  const { page, complaints } = await visit(opened.browser, { width: 1280, scripts: true });
  await page.clock.install();
  await page.goto(`${opened.server.url}/users/sign_in`);
  await signIn(page, "admin", PASSWORD);
  await page.goto(`${opened.server.url}/secret/talked/-/merge_requests/1`);
  await page.evaluate("window.isSame = true");
  await say("And then");
  const hears = (part: string, text: RegExp) =>
    expect
      .poll(
        async () => {
          await page.clock.runFor(16_000);
          return page.locator(part).textContent();
        },
        { timeout: 20_000 },
      )
      .toMatch(text);
  await hears("#said", /And then/);
  await page.getByText("Reply to The owner").first().click();
  await page.getByLabel("Your reply").first().fill("Not lost");
  await say("At last");
  await project.call("POST /pipeline", { as: "owner", json: { ref: "topic" } });
  await hears("#facts", /pending/);
  expect(await page.getByLabel("Your reply").first().inputValue()).toBe("Not lost");
  expect(await page.locator("#said").textContent()).not.toContain("At last");
  expect(await page.evaluate("window.isSame")).toBe(true);
  expect(complaints).toEqual([]);
});

it("cards of a board are moved by dragging, and by keyboard", async () => {
  const project = await ciProject(opened.app, "planned", undefined);
  await project.call("POST /labels", { as: "owner", json: { name: "Doing", color: "#1c5bbf" } });
  const { json: board } = await project.call("POST /boards", { as: "owner", json: { name: "b" } });
  const { json: labels } = await project.call("GET /labels", { as: "owner" });
  const list = { label_id: labels[0].id };
  await project.call(`POST /boards/${board.id}/lists`, { as: "owner", json: list });
  for (const title of ["One", "Two", "Three"]) {
    await project.call("POST /issues", { as: "owner", json: { title } });
  }
  const { page, complaints } = await visit(opened.browser, { width: 1280, scripts: true });
  await page.goto(`${opened.server.url}/users/sign_in`);
  await signIn(page, "admin", PASSWORD);
  await page.goto(`${opened.server.url}/secret/planned/-/boards/${board.id}`);
  const column = (title: string) => page.locator("[data-list]", { hasText: title });
  const card = (title: string) => page.locator(".card", { hasText: title });
  await card("Two").dragTo(column("Doing"));
  await column("Doing").locator(".card", { hasText: "Two" }).waitFor();
  await card("Three").dragTo(card("Two"));
  await column("Doing").locator(".card", { hasText: "Three" }).waitFor();
  expect(await column("Doing").locator("h3").allTextContents()).toEqual(["Three", "Two"]);
  const { json: moved } = await project.call("GET /issues/3", { as: "owner" });
  expect(moved.labels).toEqual(["Doing"]);
  await tabTo(page, "Move Two");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\?move=\d+#card-\d+$/);
  await look(page, "board-with-a-form");
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Move", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/boards\/\d+#card-\d+$/);
  expect(await column("Doing").locator("h3").allTextContents()).toEqual(["Two", "Three"]);
  expect([complaints, await violations(page)]).toEqual([[], []]);
});
