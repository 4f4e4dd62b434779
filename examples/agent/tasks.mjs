const project_id = "acme/site";
const issue = (iid) => ({ project_id, issue_iid: String(iid) });
const label = "acme/site#1";

/**
 * What an agent is asked to do; the calls of a good one, in the place of a model; and what must have changed then, and
 * nothing else.
 */
export const TASKS = [
  {
    task: "The logo is fixed: close its issue",
    calls: [["update_issue", { ...issue(1), state_event: "close" }]],
    updated: [{ type: "issue", path: label, changes: { state: ["opened", "closed"] } }],
  },
  {
    task: "Label the issue about the logo as a bug",
    calls: [["update_issue", { ...issue(1), labels: ["bug"] }]],
    updated: [{ type: "issue", path: label, changes: { labels: [[], ["bug"]] } }],
  },
  {
    task: "Rename the issue about the search to 'Search finds nothing'",
    calls: [["update_issue", { ...issue(2), title: "Search finds nothing" }]],
    updated: [
      {
        type: "issue",
        path: "acme/site#2",
        changes: { title: ["Where is the search?", "Search finds nothing"] },
      },
    ],
  },
  {
    task: "Give the issue about the search to Bob",
    calls: [["update_issue", { ...issue(2), assignee_ids: [2] }]],
    updated: [{ type: "issue", path: "acme/site#2" }],
    created: [{ type: "todo" }],
  },
  {
    task: "The issue about the logo is due at the end of 2030",
    calls: [["update_issue", { ...issue(1), due_date: "2030-12-31" }]],
    updated: [{ type: "issue", path: label, changes: { due_date: [null, "2030-12-31"] } }],
  },
  {
    task: "Hide the issue about the logo from guests",
    calls: [["update_issue", { ...issue(1), confidential: true }]],
    updated: [{ type: "issue", path: label, changes: { confidential: [false, true] } }],
  },
  {
    task: "Open an issue 'Move to HTTPS' with the label bug",
    calls: [["create_issue", { project_id, title: "Move to HTTPS", labels: ["bug"] }]],
    created: [
      { type: "issue", path: "acme/site#3", record: { title: "Move to HTTPS", labels: ["bug"] } },
    ],
  },
  {
    task: "Answer 'On it' in the issue about the logo",
    calls: [["create_issue_note", { ...issue(1), body: "On it" }]],
    created: [{ type: "note", record: { body: "On it" } }],
  },
  {
    task: "Make a label 'urgent' in red",
    calls: [["create_label", { project_id, name: "urgent", color: "#ff0000" }]],
    created: [{ type: "label", record: { name: "urgent", color: "#ff0000" } }],
  },
  {
    task: "Plan a milestone 'Launch' for the first of May 2030",
    calls: [["create_milestone", { project_id, title: "Launch", due_date: "2030-05-01" }]],
    created: [{ type: "milestone", record: { title: "Launch", due_date: "2030-05-01" } }],
  },
  {
    task: "The issue about the logo blocks the one about the search",
    calls: [
      [
        "create_issue_link",
        { ...issue(1), target_project_id: project_id, target_issue_iid: "2", link_type: "blocks" },
      ],
    ],
    created: [{ type: "issue link" }],
  },
  {
    task: "Branch off main as 'logo'",
    calls: [["create_branch", { project_id, branch: "logo", ref: "main" }]],
    created: [{ type: "branch" }],
  },
  {
    task: "Add NOTES.md with 'Notes' to main",
    calls: [
      [
        "create_or_update_file",
        {
          project_id,
          file_path: "NOTES.md",
          content: "Notes\n",
          commit_message: "Add notes",
          branch: "main",
        },
      ],
    ],
    updated: [{ type: "branch", commits: [{ title: "Add notes" }] }],
  },
  {
    task: "Describe the project as 'The shop'",
    calls: [["update_project", { project_id, description: "The shop" }]],
    updated: [{ type: "project", path: "acme/site", changes: { description: [null, "The shop"] } }],
  },
  {
    task: "Write a wiki page 'Home' that says 'Welcome'",
    calls: [["create_wiki_page", { project_id, title: "Home", content: "Welcome" }]],
    created: [{ type: "wiki page", record: { title: "Home", content: "Welcome" } }],
  },
  {
    task: "React to the issue about the logo with a rocket",
    calls: [["create_issue_emoji_reaction", { ...issue(1), name: "rocket" }]],
    created: [{ type: "award emoji", record: { name: "rocket" } }],
  },
  {
    task: "Lock the discussion of the issue about the search",
    calls: [["update_issue", { ...issue(2), discussion_locked: true }]],
    updated: [
      { type: "issue", path: "acme/site#2", changes: { discussion_locked: [false, true] } },
    ],
  },
  {
    task: "The issue about the search weighs 3",
    calls: [["update_issue", { ...issue(2), weight: 3 }]],
    updated: [{ type: "issue", path: "acme/site#2", changes: { weight: [null, 3] } }],
  },
  {
    task: "Delete the issue about the search",
    calls: [["delete_issue", issue(2)]],
    deleted: [{ type: "issue", path: "acme/site#2" }],
  },
  {
    task: "How many issues are open? Change nothing",
    calls: [["list_issues", { project_id, state: "opened" }]],
  },
];
