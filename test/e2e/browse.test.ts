import { describe, expect, it } from "vitest";
import { isLong } from "../forms.ts";
import { PASSWORD } from "../helpers.ts";
import { numberOfCommit } from "../run/share.ts";
import { look, shop, signIn, violations, visit } from "./browser.ts";
import { kit } from "./kit.ts";

const opened = shop();

const OF_PROJECT = `
  issues merge_requests commits branches tags releases pipelines jobs environments packages dependencies boards milestones labels wikis
  snippets project_members issues/1 merge_requests/1 merge_requests/1/diffs merge_requests/1/diffs?view=parallel merge_requests/1/commits merge_requests/1/pipelines merge_requests/1/diffs?w=1 wikis/home/history pipeline_schedules pipeline_schedules/new tree/main wikis/home blob/main/docs/file-0000 blame/main/docs/file-0000
`;
const FORMS = `
  issues/new issues/1/edit merge_requests/new merge_requests/1/edit new/main edit/main/docs/file-0000 delete/main/docs/file-0000
  upload/main branches/new tags/new wikis/new wikis/home/edit releases/new releases/t0/edit milestones/new milestones/1 milestones/1/edit
  labels/new labels/1/edit pipelines/new snippets/new
  edit settings/repository settings/ci_cd settings/access_tokens hooks hooks/new protected_branches/new deploy_tokens/new
  variables/new runners/new project_members/new transfer notification_settings
`;
const FORMS_OF_GROUP =
  "milestones/new labels/new wikis/new edit settings/ci_cd settings/access_tokens settings/scim settings/scim/new hooks hooks/new group_members/new transfer notification_settings";
const OF_GROUP =
  "activity issues merge_requests epics iterations boards milestones labels wikis group_members";
const below = (base: string, paths: string) =>
  paths
    .trim()
    .split(/\s+/)
    .map((path) => `${base}/-/${path}`);

/** All parts of pages on one, which only tests have. */
const KIT = "/kit";

/** Where there is nothing. */
const NOWHERE = "/acme/nothing";

const OF_ADMINS = `users users/new groups projects runners broadcast_messages broadcast_messages/new audit_logs background_jobs background_jobs?worker=mail
  application_settings/general`;

const OF_ACCOUNT =
  "user_settings/profile profile/emails profile/emails/new user_settings/ssh_keys user_settings/ssh_keys/new user_settings/gpg_keys profile/notifications profile user_settings/personal_access_tokens user_settings/applications user_settings/active_sessions user_settings/password/edit profile/two_factor_auth";

/** A page of each kind. */
const PAGES = [
  KIT,
  ...["/explore/projects", "/explore/groups", "/dashboard/projects", "/dashboard/groups"],
  ...["/dashboard/issues", "/dashboard/merge_requests", "/dashboard/todos"],
  ...["/search", "/search?search=issue&scope=issues"],
  ...["/acme/site/activity", "/dashboard/activity", "/users/admin/activity"],
  ...["/acme", "/acme/site", "/developer", NOWHERE],
  ...below("/acme/site", OF_PROJECT),
  ...below("/acme/site", FORMS),
  ...below("/groups/acme", OF_GROUP),
  ...below("/groups/acme", FORMS_OF_GROUP),
  ...below("", OF_ACCOUNT),
  ...["/admin", ...OF_ADMINS.split(/\s+/).map((path) => `/admin/${path}`)],
  ...["/-/snippets/new", "/dashboard/todos?state=done"],
];

/** How people see pages: one way has its turn for each commit, and all have it in the long form. */
const WAYS = [
  { kind: "phone", width: 390, dark: false },
  { kind: "phone-dark", width: 390, dark: true },
  { kind: "desktop", width: 1280, dark: false },
  { kind: "desktop-dark", width: 1280, dark: true },
].filter((_, at, all) => isLong || at === numberOfCommit() % all.length);

/** Pages of what has no fixed address: those of the first of each list. */
async function pagesOfFirst(): Promise<string[]> {
  const pages: string[] = [];
  for (const [list, page] of [
    ["hooks", "hooks/:id/edit"],
    ["pipelines", "pipelines/:id"],
    ["jobs", "jobs/:id"],
    ["snippets", "snippets/:id"],
    ["boards", "boards/:id"],
    ["releases", "releases/:tag_name"],
    ["packages", "packages/:id"],
    ["repository/commits", "commit/:id"],
    ["repository/tags", "tags/:name"],
    ["pipeline_schedules", "pipeline_schedules/:id/edit"],
  ] as const) {
    const { json } = await opened.app.call(`GET /projects/acme%2Fsite/${list}`, { as: "owner" });
    const path = page.replace(/:(\w+)/, (_, name: string) => encodeURIComponent(json[0][name]));
    pages.push(`/acme/site/-/${path}`);
  }
  return pages;
}

const HOSTILE = `<script>document.title = "run"</script><img src="x" onerror="document.title = 'run'"><a href="javascript:document.title='run'">a</a>
<svg onload="document.title = 'run'"></svg><style>body { display: none }</style><iframe src="javascript:1"></iframe>
[b](javascript:document.title='run') ![c](" onerror="document.title='run')`;
const [NAME = ""] = HOSTILE.split("<a", 1);

/** Writes what would run, where it could, into all that has texts. What browsers refuse to run or load, they complain of. */
async function writeEverywhere(): Promise<void> {
  const texts = { title: NAME, description: HOSTILE };
  const file = { action: "create", file_path: `${Date.now()}.md`, content: HOSTILE };
  for (const [request, json] of [
    ["PUT /groups/acme", { description: NAME }],
    ["PUT /projects/acme%2Fsite", { description: HOSTILE }],
    ["PUT /projects/acme%2Fsite/issues/1", texts],
    ["PUT /projects/acme%2Fsite/merge_requests/1", texts],
    ["POST /projects/acme%2Fsite/issues/1/notes", { body: HOSTILE }],
    ["POST /projects/acme%2Fsite/merge_requests/1/notes", { body: HOSTILE }],
    ["PUT /projects/acme%2Fsite/releases/t0", { name: NAME, description: HOSTILE }],
    ["PUT /projects/acme%2Fsite/wikis/home", { content: HOSTILE }],
    ["POST /projects/acme%2Fsite/milestones", { title: `${NAME}${Date.now()}` }],
    ["POST /projects/acme%2Fsite/labels", { name: `${NAME}${Date.now()}`, color: "#123456" }],
    ["POST /projects/acme%2Fsite/boards", { name: NAME }],
    ["POST /projects/acme%2Fsite/variables", { key: `K${Date.now()}`, value: HOSTILE }],
    [
      "POST /projects/acme%2Fsite/repository/commits",
      { branch: "main", commit_message: HOSTILE, actions: [file] },
    ],
    ["PUT /user/status", { message: NAME.slice(0, 100) }],
  ] as const) {
    const { status, text } = await opened.app.call(request, { as: "owner", json });
    expect([request, status < 300], text).toEqual([request, true]);
  }
}

describe.each(WAYS)("in Chromium: $kind", ({ kind, width, dark }) => {
  it("every page fits its window, is there for everybody, and runs nothing that people have written", async () => {
    await writeEverywhere();
    const { page, complaints } = await visit(opened.browser, { width, dark, scripts: true });
    await page.goto(`${opened.server.url}/users/sign_in`);
    await signIn(page, "admin", PASSWORD);
    await page.route(opened.server.url + KIT, (route) => route.fulfill(kit(opened.server.url)));
    const problems: string[] = [];
    for (const path of [...PAGES, ...(await pagesOfFirst())]) {
      const status = (await page.goto(opened.server.url + path))?.status();
      if (status !== 200 && path !== NOWHERE) problems.push(`${path} answers ${status}`);
      if ((await page.title()) === "run") problems.push(`${path} runs something`);
      await look(page, `${kind}${path.replaceAll("/", "-")}`);
      for (const one of await violations(page)) problems.push(`${path} ${one}`);
    }
    // A secret that is shown once.
    await page.goto(`${opened.server.url}/acme/site/-/triggers/new`);
    await page.getByLabel("Description").fill("Nightly");
    await page.getByRole("button", { name: "Create trigger" }).click();
    expect(await page.locator("code.secret").isVisible()).toBe(true);
    await look(page, `${kind}-secret`);
    problems.push(...(await violations(page)));
    expect(problems).toEqual([]);
    expect(complaints.filter((one) => !one.includes("404"))).toEqual([]);
  });
});
