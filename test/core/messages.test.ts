import { describe, expect, it } from "vitest";
import {
  gatheredFor,
  type MessageFacts,
  messageOf,
} from "../../src/resources/merge-requests/messages.ts";

const ada = { name: "Ada", email: "ada@example.com" };
const bob = { name: "Bob", email: "bob@example.com" };
const facts: MessageFacts = {
  title: "Add wings",
  description: "They flap.",
  source_branch: "wings",
  target_branch: "main",
  source_project_id: 7,
  project: "acme/site",
  iid: 3,
  url: "http://pm.test/acme/site/-/merge_requests/3",
  author: ada,
  merger: bob,
  reviewers: [bob],
  approvers: [ada, bob],
  issues: ["#1", "acme/core#2", "#3"],
  commits: [
    { message: "Merge main", author: ada, isMerge: true },
    { message: "Third\n", author: bob, isMerge: false },
    { message: "Second\n\nWith a body\n", author: ada, isMerge: false },
    { message: "First\n", author: ada, isMerge: false },
  ],
  firstCommit: { message: "First\n", author: ada, isMerge: false },
};
const without = {
  ...facts,
  issues: [],
  description: null,
  commits: [],
  firstCommit: undefined,
  approvers: [],
};

describe("a template", () => {
  it.each([
    ["%{source_branch} > %{target_branch}", "wings > main"],
    ["%{title}", "Add wings"],
    ["%{issues}", "Closes #1, acme/core#2 and #3"],
    ["%{description}", "They flap."],
    ["%{reference} %{local_reference}", "acme/site!3 !3"],
    ["%{source_project_id}", "7"],
    ["%{first_commit}", "First"],
    ["%{first_multiline_commit}", "Second\n\nWith a body"],
    ["%{first_multiline_commit_description}", "With a body"],
    ["%{url}", "http://pm.test/acme/site/-/merge_requests/3"],
    ["%{reviewed_by}", "Reviewed-by: Bob <bob@example.com>"],
    ["%{approved_by}", "Approved-by: Ada <ada@example.com>\nApproved-by: Bob <bob@example.com>"],
    ["%{merged_by}", "Bob <bob@example.com>"],
    ["%{merge_request_author}", "Ada <ada@example.com>"],
    ["%{co_authored_by}", "Co-authored-by: Bob <bob@example.com>"],
    ["%{all_commits}", "* Third\n\n* Second\n\nWith a body\n\n* First"],
    [
      "%{nothing} %{constructor} %%{title} $& %{title",
      "%{nothing} %{constructor} %Add wings $& %{title",
    ],
  ])("%j", (template, message) => {
    expect(messageOf("merge", template, facts)).toBe(message);
    // Nor does it take more than is gathered for it.
    const gathered = gatheredFor("merge", template);
    const { reviewers, approvers, issues, commits, firstCommit } = facts;
    const sparse: MessageFacts = {
      ...facts,
      reviewers: gathered.has("reviewers") ? reviewers : [],
      approvers: gathered.has("approvers") ? approvers : [],
      issues: gathered.has("issues") ? issues : [],
      commits: gathered.has("commits") ? commits : [],
      firstCommit: gathered.has("commits") ? firstCommit : undefined,
    };
    expect(messageOf("merge", template, sparse)).toBe(message);
  });

  it("needs nothing gathered that it does not mention", () => {
    expect(gatheredFor("merge", null)).toEqual(new Set(["issues"]));
    expect(gatheredFor("squash", null)).toEqual(new Set());
    expect(gatheredFor("squash", "%{title} %{reviewed_by} %{all_commits}")).toEqual(
      new Set(["reviewers", "commits"]),
    );
  });

  it.each<[string | null, string]>([
    ["a\n\n%{issues}\n\nb", "a\n\nb"],
    ["a\n%{issues}\nb", "a\nb"],
    ["a\n\n%{issues}\nb", "a\n\nb"],
    ["a\n\n%{issues}", "a"],
    ["%{issues}\na", "a"],
    ["a\r\n\r\n %{approved_by} \r\n\r\nb", "a\n\nb"],
    ["a\n\n%{issues}%{title}", "a\n\nAdd wings"],
    ["%{first_multiline_commit}", "Add wings"],
    ["a\n\n%{first_commit}%{description}\n\nb", "a\n\n\n\nb"],
    [null, "Merge branch 'wings' into 'main'\n\nAdd wings\n\nSee merge request acme/site!3"],
  ])("%j leaves out lines with nothing but an empty placeholder", (template, message) => {
    expect(messageOf("merge", template, without)).toBe(message);
  });

  it("repeats what is in it literally, also what looks like a placeholder or pattern", () => {
    expect(messageOf("squash", null, { ...facts, title: "$1 %{url} $&" })).toBe("$1 %{url} $&");
  });

  it("repeats no long messages, and not all of many", () => {
    const long = { message: `Long\n\n${"x".repeat(200_000)}`, author: ada, isMerge: false };
    const skipped = "Long\n\n-- Skipped commit body exceeding 100KiB in size.";
    const message = (template: string, more: Partial<MessageFacts>) =>
      messageOf("merge", template, { ...facts, ...more });
    expect(message("%{all_commits}", { commits: [long] })).toBe(`* ${skipped}`);
    expect(message("%{first_commit}", { firstCommit: long })).toBe(skipped);
    const medium = { message: `M\n\n${"x".repeat(90_000)}`, author: ada, isMerge: false };
    const commits = Array.from({ length: 100 }, () => medium);
    expect(message("%{all_commits}", { commits }).length).toBeLessThan(700_000);
    expect(() => message("%{all_commits}".repeat(3), { commits })).toThrow(/is too long/);
  });
});
