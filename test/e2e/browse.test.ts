// How the pages of what groups and projects have look, in Chromium: on a phone and a desktop, light and dark.
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Server, serve } from "../../src/node.ts";
import { createFixtures, fixtureSeed } from "../fixtures.ts";
import { givePassword, PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { launch, look, signIn, violations, visit } from "./browser.ts";

let browser: Browser;
let app: TestApp;
let server: Server;
beforeAll(async () => {
  browser = await launch();
  app = await testApp({ seed: fixtureSeed(1), extra: toys });
  await createFixtures(app, 1);
  await givePassword(app, "admin");
  server = await serve(app, { port: 0 });
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await app?.dispose();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

const OF_PROJECT = `
  issues merge_requests commits branches tags releases pipelines jobs environments packages boards milestones labels wikis
  snippets project_members issues/1 merge_requests/1 merge_requests/1/diffs merge_requests/1/diffs?view=parallel merge_requests/1/commits tree/main wikis/home blame/main/docs/file-0000
`;
const FORMS = `
  issues/new issues/1/edit merge_requests/new merge_requests/1/edit new/main edit/main/docs/file-0000 delete/main/docs/file-0000
  upload/main branches/new tags/new wikis/new wikis/home/edit releases/new releases/t0/edit milestones/new milestones/1/edit
  labels/new labels/1/edit pipelines/new snippets/new
  edit settings/repository settings/ci_cd settings/access_tokens hooks hooks/new protected_branches/new deploy_tokens/new
  variables/new runners/new project_members/new
`;
const FORMS_OF_GROUP =
  "milestones/new labels/new wikis/new edit settings/ci_cd settings/access_tokens hooks hooks/new group_members/new";
const OF_GROUP =
  "issues merge_requests epics iterations boards milestones labels wikis group_members";
const below = (base: string, paths: string) =>
  paths
    .trim()
    .split(/\s+/)
    .map((path) => `${base}/-/${path}`);

/** Where there is nothing. */
const NOWHERE = "/acme/nothing";

const OF_ADMINS = `users users/new groups projects runners broadcast_messages broadcast_messages/new audit_logs
  application_settings/general`;

/** A page of each kind. */
const PAGES = [
  ...["/explore/projects", "/explore/groups", "/dashboard/projects", "/dashboard/groups"],
  ...["/dashboard/issues", "/dashboard/merge_requests", "/dashboard/todos"],
  ...["/search", "/search?search=issue&scope=issues"],
  ...["/acme", "/acme/site", "/developer", NOWHERE],
  ...below("/acme/site", OF_PROJECT),
  ...below("/acme/site", FORMS),
  ...below("/groups/acme", OF_GROUP),
  ...below("/groups/acme", FORMS_OF_GROUP),
  ...["/admin", ...OF_ADMINS.split(/\s+/).map((path) => `/admin/${path}`)],
  ...["/-/snippets/new", "/dashboard/todos?state=done"],
];

describe.each([
  { kind: "phone", width: 390, dark: true },
  { kind: "desktop", width: 1280, dark: false },
])("in Chromium: $kind", ({ kind, width, dark }) => {
  it("every page fits its window, and is there for everybody", async () => {
    const { page, complaints } = await visit(browser, { width, dark, scripts: true });
    await page.goto(`${server.url}/users/sign_in`);
    await signIn(page, "admin", PASSWORD);
    const problems: string[] = [];
    const { json: hooks } = await app.call("GET /projects/acme%2Fsite/hooks", { as: "owner" });
    for (const path of [...PAGES, `/acme/site/-/hooks/${hooks[0].id}/edit`]) {
      const status = (await page.goto(server.url + path))?.status();
      if (status !== 200 && path !== NOWHERE) problems.push(`${path} answers ${status}`);
      await look(page, `${kind}${path.replaceAll("/", "-")}`);
      for (const one of await violations(page)) problems.push(`${path} ${one}`);
    }
    // A secret that is shown once.
    await page.goto(`${server.url}/acme/site/-/triggers/new`);
    await page.getByLabel("Description").fill("Nightly");
    await page.getByRole("button", { name: "Create trigger" }).click();
    expect(await page.locator("code.secret").isVisible()).toBe(true);
    await look(page, `${kind}-secret`);
    problems.push(...(await violations(page)));
    expect(problems).toEqual([]);
    expect(complaints.filter((one) => !one.includes("404"))).toEqual([]);
  });

  it("nothing that people have written runs or loads a script", async () => {
    const hostile = `<script>document.title = "run"</script><img src="x" onerror="document.title = 'run'"><a href="javascript:document.title='run'">a</a>
<svg onload="document.title = 'run'"></svg><style>body { display: none }</style><iframe src="javascript:1"></iframe>`;
    const project = "/projects/acme%2Fsite";
    const json = { title: hostile.slice(0, 200), description: hostile };
    const { json: issue } = await app.call(`POST ${project}/issues`, { as: "owner", json });
    const body = { body: hostile };
    await app.call(`POST ${project}/issues/${issue.iid}/notes`, { as: "owner", json: body });
    await app.call(`PUT ${project}`, { as: "owner", json: { description: hostile } });
    const { page, complaints } = await visit(browser, { width, dark, scripts: true });
    await page.goto(`${server.url}/users/sign_in`);
    await signIn(page, "admin", PASSWORD);
    const path = `/acme/site/-/issues/${issue.iid}`;
    for (const address of [path, "/acme/site", "/acme/site/-/issues", "/explore/projects"]) {
      await page.goto(server.url + address);
      expect([address, await page.title()]).not.toEqual([address, "run"]);
      expect(await page.locator("h1").isVisible()).toBe(true);
    }
    expect(complaints.filter((one) => !one.includes("404"))).toEqual([]);
  });
});
