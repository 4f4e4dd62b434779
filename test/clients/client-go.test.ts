import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { startTestServer } from "../../src/testing.ts";
import { isLong } from "../forms.ts";

// GitLab's own client for Go, whose types are strict: each of its methods that read is called once.

const folder = fileURLToPath(new URL("../suites/client-go", import.meta.url));
const run = promisify(execFile);
function hasGo(): boolean {
  const has = spawnSync("go", ["version"]).status === 0;
  if (!has) console.warn("not tested, since there is no Go");
  return has;
}
/** The first run fetches the module and compiles it. */
const LONG = 600_000;
const TOKEN = "root-token";

/** What the client can't read, and why. */
const UNREAD: Readonly<Record<string, string>> = {
  "WorkItems.ListWorkItems": "the client fails without options",
};

interface Outcome {
  method: string;
  status: number;
  error?: string;
}

const url = "https://tools.example.com/in";
const tracker = { issues_url: url, project_url: url };
/** Integrations that the client reads, each with settings of all types. */
const integrations = Object.entries({
  slack: { webhook: url, channel: "#all", notify_only_broken_pipelines: false },
  mattermost: { webhook: url, labels_to_be_notified: "~a" },
  discord: { webhook: url },
  "microsoft-teams": { webhook: url },
  "hangouts-chat": { webhook: url },
  telegram: { token: "t", room: "@a", thread: 3 },
  matrix: { token: "t", room: "!a:b" },
  jira: { url, password: "p", jira_auth_type: 1, project_keys: ["A"], issues_enabled: true },
  "drone-ci": { token: "t", drone_url: url, enable_ssl_verification: false },
  "external-wiki": { external_wiki_url: url },
  "custom-issue-tracker": { ...tracker, new_issue_url: url },
  redmine: { ...tracker, new_issue_url: url },
  youtrack: tracker,
  datadog: { api_key: "k", datadog_ci_visibility: true },
  "emails-on-push": { recipients: "a@example.com", disable_diffs: true },
  "pipelines-email": { recipients: "a@example.com" },
  harbor: { url, project_name: "p", username: "u", password: "p" },
  "slack-slash-commands": { token: "t" },
  "mattermost-slash-commands": { token: "t" },
  "webex-teams": { webhook: url },
}).map(([slug, properties]) => ({ slug, properties }));

const author = "root";
const seed = {
  users: [
    {
      username: "root",
      admin: true,
      tokens: [{ token: TOKEN, scopes: ["api" as const, "sudo" as const] }],
    },
  ],
  groups: [
    {
      path: "acme",
      members: { root: "owner" as const },
      labels: [{ name: "bug" }],
      integrations,
      milestones: [{ title: "First" }],
      projects: [
        {
          path: "site",
          integrations: [
            ...integrations,
            { slug: "jenkins", properties: { jenkins_url: url, project_name: "p" } },
            { slug: "github", properties: { token: "t", repository_url: url } },
          ],
          issues: [{ title: "Issue", author, notes: [{ body: "Note", author }] }],
          variables: [{ key: "KEY", value: "value" }],
          wiki: [{ title: "home", content: "Page" }],
          snippets: [{ title: "Snippet", file_name: "a.txt", content: "Text", author }],
          releases: [{ tag: "v1", name: "One" }],
          pushes: [
            {
              ref: "main",
              author,
              commits: [{ message: "First", files: { "README.md": "Hello\n" } }],
            },
            {
              ref: "change",
              author,
              start_branch: "main",
              commits: [{ message: "Second", files: { "b.txt": "b\n" } }],
            },
            { ref: "v1", ref_type: "tag" as const, author, start_branch: "main" },
          ],
          merge_requests: [
            {
              title: "Change",
              source_branch: "change",
              target_branch: "main",
              author,
              notes: [{ body: "Note", author }],
            },
          ],
        },
      ],
    },
  ],
};

it.skipIf(!isLong || !hasGo())(
  "client-go reads what its methods ask for",
  async () => {
    await using server = await startTestServer({ seed });
    const { stdout } = await run("go", ["run", ".", server.url, TOKEN], { cwd: folder });
    const outcomes: Outcome[] = JSON.parse(stdout);
    const unread = outcomes.filter(({ error }) => error !== undefined);
    expect(unread.map(({ method }) => method)).toEqual(Object.keys(UNREAD));
    expect(outcomes.filter(({ status }) => status >= 500)).toEqual([]);
    const answered = outcomes.filter(({ status }) => status === 200);
    expect(answered.length).toBeGreaterThanOrEqual(255);
  },
  LONG,
);
