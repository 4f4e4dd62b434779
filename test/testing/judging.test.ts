import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Expectation } from "../../src/testing/changes/expectations.ts";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    now: "2026-01-01T00:00:00Z",
    seed: {
      users: [
        { username: "root", admin: true, tokens: [{ scopes: ["api", "sudo"] }] },
        { username: "ada" },
        { username: "bob", tokens: [{ token: "bob-token" }] },
      ],
      groups: [
        {
          path: "acme",
          members: { ada: "maintainer", bob: "developer" },
          labels: [{ name: "bug" }, { name: "feature" }, { name: "stale" }],
          milestones: [{ title: "v1" }, { title: "v2" }],
          projects: [
            {
              path: "site",
              issues: [
                { title: "Logo is too small", author: "ada", labels: ["bug"], milestone: "v1" },
                {
                  title: "Logo too small",
                  author: "bob",
                  notes: [{ author: "bob", body: "Any news?" }],
                },
                {
                  title: "Dark mode",
                  author: "bob",
                  labels: ["stale"],
                  assignees: ["ada"],
                  todos: ["ada"],
                },
              ],
            },
            { path: "app" },
          ],
        },
      ],
    },
  });
  const commits = "POST /projects/acme%2Fsite/repository/commits";
  const write = (action: string, content: string) => [{ action, file_path: "README.md", content }];
  await done([
    [commits, { branch: "main", commit_message: "Begin", actions: write("create", "Site") }],
    ["POST /projects/acme%2Fsite/repository/branches?branch=fix&ref=main", undefined],
    [commits, { branch: "fix", commit_message: "Fix", actions: write("update", "The site") }],
    [
      "POST /projects/acme%2Fsite/merge_requests",
      { source_branch: "fix", target_branch: "main", title: "Fix the title" },
    ],
  ]);
  await server.snapshots.save("task");
});
afterEach(() => server.snapshots.restore("task"));
afterAll(() => server.close());

type Step = [request: string, body?: unknown, as?: string];

/** Takes the steps of an agent. */
async function done(steps: readonly Step[]): Promise<void> {
  for (const [request, body, as] of steps) {
    const [method = "", path = ""] = request.replace("SITE", "/projects/acme%2Fsite").split(" ");
    const { status, json } = await ask(
      { ...server, token: as ?? server.token },
      method,
      path,
      body,
    );
    expect(status, `${request} ${JSON.stringify(json)}`).toBeLessThan(300);
  }
}

interface Task {
  task: string;
  right: Step[];
  expected: Expectation;
  /** What agents do instead, and what they are told of it. */
  wrong: { steps: Step[]; difference: string }[];
}

const file = (branch: string, content: string, path = "README.md", action = "update") => ({
  ...{ branch, commit_message: "Write", actions: [{ action, file_path: path, content }] },
});
const issue = (number: number) => `acme/site#${number}`;

const TASKS: Task[] = [
  {
    task: "Open an issue 'Login is broken' with the label bug, for bob",
    right: [["POST SITE/issues", { title: "Login is broken", labels: "bug", assignee_ids: [3] }]],
    expected: {
      created: [
        {
          type: "issue",
          path: issue(4),
          record: { title: "Login is broken", labels: ["bug"], assignees: [{ username: "bob" }] },
        },
      ],
    },
    wrong: [
      {
        steps: [["POST SITE/issues", { title: "Login is broken", assignee_ids: [3] }]],
        difference: 'acme/site#4: labels: expected ["bug"], is []',
      },
      {
        steps: [
          ["POST SITE/issues", { title: "Login is broken", labels: "bug", assignee_ids: [2] }],
        ],
        difference: 'acme/site#4: assignees: expected [{"username":"bob"}], is ["ada"]',
      },
      { steps: [], difference: "issue acme/site#4: expected to be created, is not" },
    ],
  },
  {
    task: "Close issue 2 as done",
    right: [["PUT SITE/issues/2", { state_event: "close" }]],
    expected: { updated: [{ path: issue(2), changes: { state: ["opened", "closed"] } }] },
    wrong: [
      {
        steps: [["PUT SITE/issues/1", { state_event: "close" }]],
        difference: "acme/site#2: expected to be updated, is not; updated were acme/site#1",
      },
      {
        steps: [["PUT SITE/issues/2", { state_event: "close", title: "Closed" }]],
        difference:
          'acme/site#2: title: changed from "Logo too small" to "Closed", which is not expected',
      },
    ],
  },
  {
    task: "Mark issue 2 as a duplicate: link it to issue 1 and close it",
    right: [
      ["POST SITE/issues/2/links", { target_project_id: 1, target_issue_iid: 1 }],
      ["PUT SITE/issues/2", { state_event: "close" }],
    ],
    expected: {
      created: [{ type: "issue link", record: { source_issue: issue(2), target_issue: issue(1) } }],
      updated: [{ path: issue(2), changes: { state: ["opened", "closed"] } }],
    },
    wrong: [
      {
        steps: [["PUT SITE/issues/2", { state_event: "close" }]],
        difference: "issue link: expected to be created, is not",
      },
    ],
  },
  {
    task: "Answer the question in issue 2",
    right: [["POST SITE/issues/2/notes", { body: "It is done." }]],
    expected: {
      created: [{ type: "note", record: { body: "It is done.", author: "root", noteable_iid: 2 } }],
    },
    wrong: [
      {
        steps: [["POST SITE/issues/1/notes", { body: "It is done." }]],
        difference: "acme/site#1 (note 2): noteable_iid: expected 2, is 1",
      },
      {
        steps: [
          ["POST SITE/issues/2/notes", { body: "It is done." }],
          ["POST SITE/issues/2/notes", { body: "Really." }],
        ],
        difference: "acme/site#2 (note 3): note was created, which is not expected",
      },
    ],
  },
  {
    task: "Replace the label stale of issue 3 by feature",
    right: [["PUT SITE/issues/3", { add_labels: "feature", remove_labels: "stale" }]],
    expected: { updated: [{ path: issue(3), changes: { labels: [["stale"], ["feature"]] } }] },
    wrong: [
      {
        steps: [["PUT SITE/issues/3", { add_labels: "feature" }]],
        difference: 'acme/site#3: labels: expected ["feature"], is ["feature","stale"]',
      },
    ],
  },
  {
    task: "Delete the label stale of the group",
    right: [["DELETE /groups/acme/labels/stale"]],
    expected: { deleted: [{ type: "label", path: "acme (label stale)" }] },
    wrong: [
      {
        steps: [["PUT SITE/issues/3", { labels: "" }]],
        difference: "label acme (label stale): expected to be deleted, is not",
      },
    ],
  },
  {
    task: "Assign issue 1 to ada and move it to v2",
    right: [["PUT SITE/issues/1", { assignee_ids: [2], milestone_id: 2 }]],
    expected: {
      updated: [{ path: issue(1), changes: { assignees: [[], ["ada"]], milestone: ["v1", "v2"] } }],
    },
    wrong: [
      {
        steps: [["PUT SITE/issues/1", { assignee_ids: [2] }]],
        difference: 'acme/site#1: milestone: expected to change to "v2", is unchanged',
      },
    ],
  },
  {
    task: "Make issue 3 due on 1 March, with a weight of 5",
    right: [["PUT SITE/issues/3", { due_date: "2026-03-01", weight: 5 }]],
    expected: {
      updated: [{ path: issue(3), changes: { due_date: [null, "2026-03-01"], weight: [null, 5] } }],
    },
    wrong: [
      {
        steps: [["PUT SITE/issues/3", { due_date: "2026-01-03", weight: 5 }]],
        difference: 'acme/site#3: due_date: expected "2026-03-01", is "2026-01-03"',
      },
    ],
  },
  {
    task: "Create a branch docs and add docs/index.md there",
    right: [
      ["POST SITE/repository/branches?branch=docs&ref=main"],
      ["POST SITE/repository/commits", file("docs", "Docs", "docs/index.md", "create")],
    ],
    expected: {
      created: [{ type: "branch", record: { name: "docs", commit: { title: "Write" } } }],
    },
    wrong: [
      {
        steps: [["POST SITE/repository/branches?branch=docs&ref=main"]],
        difference: 'acme/site (branch docs): commit: title: expected "Write", is "Begin"',
      },
      {
        steps: [["POST SITE/repository/commits", file("main", "Docs", "docs/index.md", "create")]],
        difference: "branch: expected to be created, is not",
      },
    ],
  },
  {
    task: "Write into README.md on main, in one commit",
    right: [["POST SITE/repository/commits", file("main", "New")]],
    expected: {
      updated: [{ type: "branch", path: "acme/site (branch main)", commits: [{ title: "Write" }] }],
    },
    wrong: [
      {
        steps: [
          ["POST SITE/repository/commits", file("main", "Ne")],
          ["POST SITE/repository/commits", file("main", "New")],
        ],
        difference: "acme/site (branch main): commits: expected [{",
      },
    ],
  },
  {
    task: "Merge the merge request",
    right: [["PUT SITE/merge_requests/1/merge"]],
    expected: {
      updated: [
        { type: "merge request", path: "acme/site!1", changes: { state: ["opened", "merged"] } },
      ],
    },
    wrong: [
      {
        steps: [["PUT SITE/merge_requests/1", { state_event: "close" }]],
        difference: 'acme/site!1: state: expected "merged", is "closed"',
      },
    ],
  },
  {
    task: "Approve the merge request as bob",
    right: [["POST SITE/merge_requests/1/approve", undefined, "bob-token"]],
    expected: { created: [{ type: "approval", record: { user: "bob" } }] },
    wrong: [
      {
        steps: [["POST SITE/merge_requests/1/notes", { body: "Approved" }, "bob-token"]],
        difference: "approval: expected to be created, is not",
      },
    ],
  },
  {
    task: "Ask ada to review the merge request, and mark it as a draft",
    right: [["PUT SITE/merge_requests/1", { reviewer_ids: [2], title: "Draft: Fix the title" }]],
    expected: {
      updated: [
        {
          path: "acme/site!1",
          changes: {
            reviewers: [[], ["ada"]],
            draft: [false, true],
            title: ["Fix the title", "Draft: Fix the title"],
          },
        },
      ],
    },
    wrong: [
      {
        steps: [
          ["PUT SITE/merge_requests/1", { assignee_ids: [2], title: "Draft: Fix the title" }],
        ],
        difference: 'acme/site!1: reviewers: expected to change to ["ada"], is unchanged',
      },
    ],
  },
  {
    task: "Make ada an owner of the group",
    right: [["PUT /groups/acme/members/2", { access_level: 50 }]],
    expected: {
      updated: [{ type: "member", path: "acme (member ada)", changes: { access_level: [40, 50] } }],
    },
    wrong: [
      {
        steps: [["POST SITE/members", { user_id: 1, access_level: 40 }]],
        difference: "member acme (member ada): expected to be updated, is not",
      },
    ],
  },
  {
    task: "Remove bob from the group",
    right: [["DELETE /groups/acme/members/3"]],
    expected: { deleted: [{ type: "member", record: { username: "bob" } }] },
    wrong: [
      {
        steps: [["PUT /groups/acme/members/3", { access_level: 10 }]],
        difference: "member: expected to be deleted, is not",
      },
    ],
  },
  {
    task: "Create the project acme/docs with a README",
    right: [["POST /projects", { name: "docs", namespace_id: 4, initialize_with_readme: true }]],
    expected: {
      created: [
        {
          type: "project",
          path: "acme/docs",
          record: { default_branch: "main", visibility: "private" },
        },
      ],
    },
    wrong: [
      {
        steps: [["POST /projects", { name: "docs", initialize_with_readme: true }]],
        difference: "project acme/docs: expected to be created, is not; created were root/docs",
      },
      {
        steps: [
          [
            "POST /projects",
            {
              name: "docs",
              namespace_id: 4,
              initialize_with_readme: true,
              default_branch: "trunk",
            },
          ],
        ],
        difference: 'acme/docs: default_branch: expected "main", is "trunk"',
      },
    ],
  },
  {
    task: "Delete issue 2",
    right: [["DELETE SITE/issues/2"]],
    expected: { deleted: [{ type: "issue", record: { title: "Logo too small" } }] },
    wrong: [
      {
        steps: [["DELETE SITE/issues/1"]],
        difference: 'acme/site#1: title: expected "Logo too small", is "Logo is too small"',
      },
    ],
  },
  {
    task: "Set the CI variable ENV to production",
    right: [["POST SITE/variables", { key: "ENV", value: "production" }]],
    expected: {
      created: [
        { type: "variable", path: "acme/site (variable ENV)", record: { value: "production" } },
      ],
    },
    wrong: [
      {
        steps: [["POST SITE/variables", { key: "ENV", value: "prod" }]],
        difference: 'acme/site (variable ENV): value: expected "production", is "prod"',
      },
      {
        steps: [["POST /groups/acme/variables", { key: "ENV", value: "production" }]],
        difference:
          "variable acme/site (variable ENV): expected to be created, is not; created were acme (variable ENV)",
      },
    ],
  },
  {
    task: "Release v1.0 of main, with notes",
    right: [
      [
        "POST SITE/releases",
        { tag_name: "v1.0", ref: "main", name: "First", description: "All of it" },
      ],
    ],
    expected: {
      created: [
        { type: "release", record: { tag_name: "v1.0", name: "First", description: "All of it" } },
        { type: "tag", path: "acme/site (tag v1.0)" },
      ],
    },
    wrong: [
      {
        steps: [["POST SITE/repository/tags?tag_name=v1.0&ref=main"]],
        difference: "release: expected to be created, is not",
      },
    ],
  },
  {
    task: "Log two hours on issue 1, and thank its author with an emoji",
    right: [
      ["POST SITE/issues/1/add_spent_time", { duration: "2h" }],
      ["POST SITE/issues/1/award_emoji", { name: "heart" }],
    ],
    expected: {
      created: [
        { type: "time spent", record: { time_spent: 7200, user: "root" } },
        { type: "award emoji", record: { name: "heart" } },
      ],
    },
    wrong: [
      {
        steps: [
          ["POST SITE/issues/1/time_estimate", { duration: "2h" }],
          ["POST SITE/issues/1/award_emoji", { name: "heart" }],
        ],
        difference: "time spent: expected to be created, is not",
      },
    ],
  },
  {
    task: "Do nothing",
    right: [["GET SITE/issues"]],
    expected: {},
    wrong: [
      {
        steps: [["POST SITE/issues", { title: "Nothing" }]],
        difference: "acme/site#4: issue was created, which is not expected",
      },
    ],
  },
];

it.each(TASKS)("$task", async ({ right, expected, wrong }) => {
  const expectation = { since: "task", only: true, ...expected };
  await done(right);
  const { status, json } = await tell(server, "POST", "changes/expect", expectation);
  expect({ status, json }).toEqual({
    status: 200,
    json: { ok: true, differences: [] },
  });
  for (const { steps, difference } of wrong) {
    await server.snapshots.restore("task");
    await done(steps);
    const { ok, differences } = await server.expectChanges(expectation);
    expect(ok).toBe(false);
    expect(differences.join("\n")).toContain(difference);
  }
});

it("Expectations are met in any order, and without `only` besides anything else", async () => {
  await done([
    ["POST SITE/issues", { title: "One", labels: "bug,feature" }],
    ["POST SITE/issues", { title: "Two" }],
    ["PUT SITE/issues/1", { title: "Other" }],
  ]);
  const created = [
    { type: "issue" },
    { type: "issue", record: { title: "One", labels: ["feature", "bug"] } },
  ];
  expect(await server.expectChanges({ since: "task", created })).toEqual({
    ok: true,
    differences: [],
  });
  const twice = [...created, { type: "issue" }];
  expect((await server.expectChanges({ since: "task", created: twice })).ok).toBe(false);
  await expect(server.expectChanges({ creatd: [] } as never)).rejects.toThrow(
    /Did you mean created\?/,
  );
});
