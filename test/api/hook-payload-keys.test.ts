import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { givePassword, PASSWORD } from "../helpers.ts";
import { Visitor } from "../visitor.ts";
import { type Hooked, startHooked } from "./_hooks.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

let hooked: Hooked;
let project: CiProject;

beforeAll(async () => {
  hooked = await startHooked();
  project = await ciProject(
    hooked.app,
    "told",
    `
compile:
  stage: build
  tags: [linux]
  script: [make]
check:
  script: [make test]
  environment: staging
`,
  );
});
afterAll(() => hooked.dispose());
afterEach(() => hooked.clear());

/** The keys of an object, as GitLab's documentation lists them. */
const keys = (text: string) =>
  text
    .trim()
    .split(/[\s,]+/)
    .sort();
const keysOf = (of: object) => Object.keys(of).sort();

const USER = keys("id, name, username, avatar_url, email");
const PLAIN_PROJECT =
  keys(`id, name, description, web_url, avatar_url, git_ssh_url, git_http_url, namespace,
  visibility_level, path_with_namespace, default_branch, ci_config_path`);
const PROJECT = [...PLAIN_PROJECT, ...keys("homepage, url, ssh_url, http_url")].sort();
const REPOSITORY = keys("name, url, description, homepage");
const CODE = [...REPOSITORY, ...keys("git_http_url, git_ssh_url, visibility_level")].sort();
const COMMIT = keys("id, message, title, timestamp, url, author");
const NOTE =
  keys(`id, note, description, noteable_type, noteable_id, author_id, commit_id, discussion_id, type, system,
  internal, line_code, position, original_position, change_position, resolved_at, resolved_by_id, resolved_by_push,
  st_diff, attachment, project_id, created_at, updated_at, updated_by_id, url`);
const ISSUE =
  keys(`assignee_id, assignee_ids, author_id, closed_at, confidential, created_at, description,
  discussion_locked, due_date, id, iid, last_edited_at, last_edited_by_id, milestone_id, moved_to_id,
  duplicated_to_id, project_id, relative_position, state_id, time_estimate, title, updated_at, updated_by_id, type,
  url, total_time_spent, time_change, human_total_time_spent, human_time_estimate, human_time_change, labels, state,
  severity, weight`);

it("has all keys of an issue's", async () => {
  await hooked.listen(project.path, "issues");
  const labels = "Told";
  await hooked.call(`POST ${project.path}/labels`, { name: labels, color: "#ff0000" });
  const json = { title: "Broken", labels, assignee_ids: [3] };
  await hooked.call(`POST ${project.path}/issues`, json);
  const [{ event, ...told }] = await hooked.next();
  expect(event).toBe("Issue Hook");
  expect(keysOf(told)).toEqual(
    keys(
      `object_kind, event_type, user, project, object_attributes, labels, changes, repository, assignees`,
    ),
  );
  expect(keysOf(told.user)).toEqual(USER);
  expect(keysOf(told.project)).toEqual(PROJECT);
  expect(keysOf(told.repository)).toEqual(REPOSITORY);
  expect(keysOf(told.object_attributes)).toEqual([...ISSUE, "action"].sort());
  expect(keysOf(told.labels[0])).toEqual(
    keys(
      `id, title, color, project_id, created_at, updated_at, template, description, type, group_id`,
    ),
  );
  expect(keysOf(told.assignees[0])).toEqual(USER);
});

it("has all keys of a merge request's, with approvals", async () => {
  await hooked.listen(project.path, "merge_requests");
  const at = `${project.path}/merge_requests`;
  await hooked.call(`POST ${project.path}/repository/branches`, { branch: "work", ref: "main" });
  const json = { source_branch: "work", target_branch: "main", title: "Work", reviewer_ids: [3] };
  const { iid } = await hooked.call(`POST ${at}`, json, "developer");
  await hooked.call(`POST ${project.path}/approval_rules`, { name: "Two", approvals_required: 2 });
  await hooked.call(`POST ${at}/${iid}/approve`, {}, "maintainer");
  await hooked.call(`POST ${at}/${iid}/approve`, {}, "owner");
  await hooked.call(`POST ${at}/${iid}/unapprove`, {}, "owner");
  await hooked.call(`POST ${at}/${iid}/unapprove`, {}, "maintainer");
  const [opened, ...approvals] = await hooked.next(5);
  expect(approvals.map(({ object_attributes }) => object_attributes.action)).toEqual([
    "approval",
    "approved",
    "unapproved",
    "unapproval",
  ]);
  const { event, ...told } = opened;
  expect(event).toBe("Merge Request Hook");
  expect(keysOf(told)).toEqual(
    keys(
      `object_kind, event_type, user, project, object_attributes, labels, changes, repository, reviewers`,
    ),
  );
  expect(keysOf(told.object_attributes)).toEqual(
    keys(`id, iid, title, description, state, state_id, source_branch, target_branch, source_project_id,
      target_project_id, source, target, last_commit, author_id, assignee_id, assignee_ids, reviewer_ids, milestone_id,
      merge_status, detailed_merge_status, merge_commit_sha, merge_error, merge_params, merge_user_id,
      merge_when_pipeline_succeeds, head_pipeline_id, draft, work_in_progress, labels, blocking_discussions_resolved,
      first_contribution, time_estimate, total_time_spent, time_change, human_total_time_spent, human_time_estimate,
      human_time_change, created_at, updated_at, last_edited_at, last_edited_by_id, updated_by_id, discussion_locked,
      prepared_at, url, action`),
  );
  expect(keysOf(told.object_attributes.source)).toEqual(PROJECT);
});

it("has all keys of a note's and an emoji's, which are told of nothing confidential", async () => {
  await hooked.listen(project.path, "note", "emoji");
  const issue = await hooked.call(`POST ${project.path}/issues`, { title: "Broken" });
  const at = `${project.path}/issues/${issue.iid}`;
  const hidden = await hooked.call(`POST ${at}/notes`, { body: "Hush", internal: true });
  await hooked.call(`POST ${at}/notes/${hidden.id}/award_emoji`, { name: "tada" });
  const note = await hooked.call(`POST ${at}/notes`, { body: "Why?" });
  const award = await hooked.call(`POST ${at}/notes/${note.id}/award_emoji`, { name: "tada" });
  const [first, given] = await hooked.next(2);
  await hooked.call(`DELETE ${at}/notes/${note.id}/award_emoji/${award.id}`);
  await hooked.call(`POST ${at}/award_emoji`, { name: "tada" });
  const [taken, other] = await hooked.next(2);
  const { event: noteEvent, ...told } = first;
  expect(noteEvent).toBe("Note Hook");
  expect(keysOf(told)).toEqual(
    keys(
      `object_kind, event_type, user, project_id, project, object_attributes, repository, issue`,
    ),
  );
  expect(keysOf(told.object_attributes)).toEqual([...NOTE, "action"].sort());
  expect(keysOf(told.issue)).toEqual(ISSUE);
  const { event, ...emoji } = given;
  expect(event).toBe("Emoji Hook");
  expect(keysOf(emoji)).toEqual(
    keys(`object_kind, event_type, user, project_id, project, object_attributes, note, issue`),
  );
  expect(keysOf(emoji.object_attributes)).toEqual(
    keys(
      `user_id, created_at, id, name, awardable_type, awardable_id, updated_at, action, awarded_on_url`,
    ),
  );
  expect(keysOf(emoji.note)).toEqual(NOTE);
  expect(emoji).toMatchObject({
    object_kind: "emoji",
    event_type: "award",
    object_attributes: {
      name: "tada",
      awardable_type: "Note",
      awardable_id: note.id,
      awarded_on_url: expect.stringMatching(new RegExp(`/issues/${issue.iid}#note_${note.id}$`)),
    },
    note: { id: note.id },
    issue: { id: issue.id },
  });
  expect(taken).toMatchObject({ event_type: "revoke", object_attributes: { id: award.id } });
  expect(keysOf(taken)).toEqual(keysOf(given));
  expect(other).toMatchObject({ object_attributes: { awardable_type: "Issue" } });
  expect(other).not.toHaveProperty("note");
});

it("has all keys of a pipeline's and a job's, and no masked values", async () => {
  await hooked.call(`POST ${project.path}/variables`, {
    key: "PASSWORD",
    value: "hunter22secret",
    masked: true,
  });
  await hooked.listen(project.path, "pipeline", "job");
  const pipeline = await hooked.call(`POST ${project.path}/pipeline`, {
    ref: "main",
    variables: [
      { key: "LEVEL", value: "3" },
      { key: "LEAK", value: "it is hunter22secret" },
    ],
  });
  const jobs: { id: number; name: string }[] = await hooked.call(
    `GET ${project.path}/pipelines/${pipeline.id}/jobs`,
  );
  const idOf = (called: string) => jobs.find(({ name }) => name === called)?.id as number;
  await hooked.app.admin.jobs.finish(idOf("compile"));
  await hooked.app.admin.jobs.finish(idOf("check"), { status: "failed" });
  const all = await hooked.next(11);
  expect(JSON.stringify(all)).not.toContain("hunter22");
  const statuses = (event: string, of: (told: (typeof all)[number]) => string) =>
    all.filter((told) => told.event === event).map(of);
  expect(statuses("Pipeline Hook", (told) => told.object_attributes.status)).toEqual([
    "pending",
    "running",
    "failed",
  ]);
  expect(statuses("Job Hook", (told) => `${told.build_name} ${told.build_status}`).sort()).toEqual([
    "check created",
    "check failed",
    "check pending",
    "check running",
    "compile created",
    "compile pending",
    "compile running",
    "compile success",
  ]);
  const { event, ...told } = all.findLast((one) => one.event === "Pipeline Hook");
  expect(keysOf(told)).toEqual(
    keys("object_kind, object_attributes, merge_request, user, project, commit, builds"),
  );
  expect(keysOf(told.object_attributes)).toEqual(
    keys(`id, iid, name, ref, tag, sha, before_sha, source, status, detailed_status, stages, created_at, finished_at,
      duration, queued_duration, protected_ref, variables, url`),
  );
  expect(told).toMatchObject({
    object_kind: "pipeline",
    object_attributes: {
      id: pipeline.id,
      sha: project.sha,
      detailed_status: "failed",
      stages: ["build", "test"],
      variables: [
        { key: "LEVEL", value: "3" },
        { key: "LEAK", value: "[MASKED]" },
      ],
      url: pipeline.web_url,
    },
    merge_request: null,
    user: { username: "maintainer" },
  });
  expect(keysOf(told.user)).toEqual(USER);
  expect(keysOf(told.project)).toEqual(PLAIN_PROJECT);
  expect(keysOf(told.commit)).toEqual(COMMIT);
  expect(told.builds.map(({ name }: { name: string }) => name)).toEqual(["compile", "check"]);
  expect(keysOf(told.builds[1])).toEqual(
    keys(`id, stage, name, status, created_at, started_at, finished_at, duration, queued_duration, failure_reason, when,
      manual, allow_failure, user, runner, artifacts_file, environment`),
  );
  expect(told.builds[1]).toMatchObject({
    artifacts_file: { filename: null, size: null },
    environment: { name: "staging", action: "start", deployment_tier: null },
  });
  const { event: jobEvent, ...job } = all.find((one) => one.build_status === "running");
  expect(jobEvent).toBe("Job Hook");
  expect(keysOf(job)).toEqual(
    keys(`object_kind, ref, tag, before_sha, sha, retries_count, build_id, build_name, build_stage, build_status,
      build_created_at, build_created_at_iso, build_started_at, build_started_at_iso, build_finished_at,
      build_finished_at_iso, build_duration, build_queued_duration, build_allow_failure, build_failure_reason,
      pipeline_id, runner, project_id, project_name, user, commit, repository, project, environment`),
  );
  expect(job).toMatchObject({
    object_kind: "build",
    build_name: "compile",
    build_finished_at: null,
    build_started_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/),
    pipeline_id: pipeline.id,
  });
  expect(keysOf(job.commit)).toEqual(
    keys(
      `id, name, sha, message, author_name, author_email, author_url, status, duration, started_at, finished_at`,
    ),
  );
  expect(keysOf(job.repository)).toEqual(CODE);
  expect(keysOf(job.project)).toEqual(PLAIN_PROJECT);
});

it("names the runner of a job, and what is tried again", async () => {
  await hooked.listen(project.path, "job");
  const runner = await hooked.call(
    "POST /user/runners",
    { runner_type: "project_type", project_id: project.id, tag_list: "linux,amd64" },
    "maintainer",
  );
  const pipeline = await hooked.call(`POST ${project.path}/pipeline`, { ref: "main" });
  const claimed = await hooked.app.call("POST /jobs/request", { json: { token: runner.token } });
  expect(claimed.status).toBe(201);
  const { id, token } = claimed.json;
  await hooked.app.call(`PUT /jobs/${id}`, { json: { token, state: "failed" } });
  await hooked.call(`POST ${project.path}/jobs/${id}/retry`);
  await hooked.call(`POST ${project.path}/pipelines/${pipeline.id}/cancel`);
  const all = await hooked.next(10);
  const running = all.find((told) => told.build_status === "running");
  expect(running.runner).toEqual({
    id: runner.id,
    runner_type: "project_type",
    description: null,
    active: true,
    is_shared: false,
    tags: ["amd64", "linux"],
  });
  expect(all.find((told) => told.build_status === "failed")).toMatchObject({
    build_id: id,
    build_failure_reason: "unknown_failure",
  });
  const again = all.filter((told) => told.build_name === "compile" && told.retries_count === 1);
  expect(again.slice(0, 2).map((told) => told.build_status)).toEqual(["created", "pending"]);
});

it("has all keys of a release's", async () => {
  await hooked.listen(project.path, "releases");
  await hooked.call(`POST ${project.path}/releases`, {
    tag_name: "v1",
    ref: "main",
    description: "First",
    assets: { links: [{ name: "tool", url: "https://example.com/tool" }] },
  });
  await hooked.call(`PUT ${project.path}/releases/v1`, { name: "One" });
  const all = await hooked.next(2);
  await hooked.call(`DELETE ${project.path}/releases/v1`);
  all.push(...(await hooked.next()));
  expect(all.map(({ action }) => action)).toEqual(["create", "update", "delete"]);
  for (const { event, ...told } of all) {
    expect(event).toBe("Release Hook");
    expect(keysOf(told)).toEqual(
      keys(
        `object_kind, id, created_at, description, name, released_at, tag, project, url, action, assets, commit`,
      ),
    );
    expect(keysOf(told.assets)).toEqual(keys("count, links, sources"));
    expect(keysOf(told.assets.links[0])).toEqual(keys("id, link_type, name, url"));
    expect(keysOf(told.commit)).toEqual(COMMIT);
    expect(told).toMatchObject({ object_kind: "release", tag: "v1", assets: { count: 4 } });
  }
});

it("has all keys of a deployment's", async () => {
  await hooked.listen(project.path, "deployment");
  const deployment = { environment: "live", sha: project.sha, ref: "main", tag: false };
  const { id } = await hooked.call(`POST ${project.path}/deployments`, {
    ...deployment,
    status: "running",
  });
  await hooked.call(`PUT ${project.path}/deployments/${id}`, { status: "success" });
  const all = await hooked.next(2);
  expect(all.map(({ status }) => status)).toEqual(["running", "success"]);
  const { event, ...told } = all[0];
  expect(event).toBe("Deployment Hook");
  expect(keysOf(told)).toEqual(
    keys(`object_kind, status, status_changed_at, deployment_id, deployable_id, deployable_url, environment,
      environment_tier, environment_slug, environment_external_url, project, short_sha, user, user_url, commit_url,
      commit_title, ref`),
  );
  expect(told).toMatchObject({
    deployment_id: id,
    environment: "live",
    short_sha: project.sha.slice(0, 8),
    user: { username: "maintainer" },
    user_url: "https://pm.example.com/maintainer",
  });
});

it("has all keys of a push's and a wiki page's", async () => {
  await hooked.listen(project.path, "push", "tag_push", "wiki_page");
  await hooked.listen("", "repository_update");
  await hooked.call(`POST ${project.path}/repository/branches`, { branch: "next", ref: "main" });
  await hooked.call(`POST ${project.path}/repository/tags`, { tag_name: "v2", ref: "main" });
  await hooked.call(`POST ${project.path}/wikis`, { title: "Home", content: "Welcome" });
  const all = await hooked.next(5);
  const [pushed, tagged, page] = ["Push", "Tag Push", "Wiki Page"].map((name) => {
    const { event, ...told } = all.find((one) => one.event === `${name} Hook`);
    return told;
  });
  for (const told of [pushed, tagged]) {
    expect(keysOf(told)).toEqual(
      keys(`object_kind, event_name, before, after, ref, ref_protected, checkout_sha, message, user_id, user_name,
        user_username, user_email, user_avatar, project_id, project, commits, total_commits_count, push_options,
        repository`),
    );
    expect(keysOf(told.repository)).toEqual(CODE);
    expect(keysOf(told.project)).toEqual(PROJECT);
  }
  expect(keysOf(tagged.commits[0])).toEqual(
    [...COMMIT, ...keys("added, modified, removed")].sort(),
  );
  expect(keysOf(page)).toEqual(keys("object_kind, user, project, wiki, object_attributes"));
  expect(keysOf(page.wiki)).toEqual(
    keys("web_url, git_ssh_url, git_http_url, path_with_namespace, default_branch"),
  );
  expect(keysOf(page.object_attributes)).toEqual(
    keys("title, content, format, message, slug, version_id, url, action, diff_url"),
  );
  const { event, ...update } = all.find((one) => one.event_name === "repository_update");
  expect(event).toBe("System Hook");
  expect(keysOf(update)).toEqual(
    keys(
      `event_name, user_id, user_name, user_email, user_avatar, project_id, project, changes, refs`,
    ),
  );
});

it("has all keys of a milestone's", async () => {
  await hooked.listen(project.path, "milestone");
  const at = `${project.path}/milestones`;
  const { id } = await hooked.call(`POST ${at}`, { title: "1.0" });
  await hooked.call(`PUT ${at}/${id}`, { description: "Soon" });
  await hooked.call(`PUT ${at}/${id}`, { state_event: "close" });
  await hooked.call(`PUT ${at}/${id}`, { state_event: "activate" });
  const all = await hooked.next(3);
  await hooked.call(`DELETE ${at}/${id}`);
  all.push(...(await hooked.next()));
  expect(all.map(({ action }) => action)).toEqual(["create", "close", "reopen", "delete"]);
  for (const { event, ...told } of all) {
    expect(event).toBe("Milestone Hook");
    expect(keysOf(told)).toEqual(
      keys("object_kind, event_type, project, object_attributes, action"),
    );
    expect(keysOf(told.object_attributes)).toEqual(
      keys(
        `id, iid, title, description, state, created_at, updated_at, due_date, start_date, project_id`,
      ),
    );
  }
});

it("tells once of an access token that expires within a week", async () => {
  await hooked.listen(project.path, "resource_access_token");
  await hooked.listen("/groups/secret", "resource_access_token");
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const add = (path: string, name: string, expires_at: string) =>
    hooked.call(`POST ${path}/access_tokens`, { name, scopes: ["api"], expires_at }, "owner");
  const soon = await add(project.path, "soon", day(6));
  await add(project.path, "later", day(9));
  const group = await add("/groups/secret", "group's", day(6));
  await hooked.app.admin.maintenance.sweepDaily();
  const another = await hooked.app.another({ now: () => Date.now() + 2 * 86_400_000 });
  await another.admin.maintenance.sweepDaily();
  await another.close();
  // The hooks of the project and of its group are told of the project's.
  const all = await hooked.next(5);
  expect(all.map(({ object_attributes }) => object_attributes.name).sort()).toEqual([
    "group's",
    "later",
    "later",
    "soon",
    "soon",
  ]);
  const { event, ...told } = all.find((one) => one.object_attributes.id === soon.id);
  expect(event).toBe("Resource Access Token Hook");
  expect(keysOf(told)).toEqual(keys("object_kind, project, object_attributes, event_name"));
  expect(keysOf(told.object_attributes)).toEqual(keys("user_id, created_at, id, name, expires_at"));
  const other = all.find((one) => one.object_attributes.id === group.id);
  expect(keysOf(other)).toEqual(keys("event, object_kind, group, object_attributes, event_name"));
  expect(keysOf(other.group)).toEqual(keys("group_id, group_name, group_path"));
});

const MEMBER =
  keys(`created_at, updated_at, group_name, group_path, group_id, user_username, user_name, user_email,
  user_id, group_access, expires_at, event_name`);

it("has all keys of members', subgroups' and projects' of a group", async () => {
  await hooked.listen("/groups/acme", "member", "subgroup", "project");
  const { id } = await hooked.call("GET /groups/acme");
  const [{ id: user_id }] = await hooked.call("GET /users?username=stranger");
  await hooked.call("POST /groups/acme/access_requests", {}, "stranger");
  await hooked.call(`DELETE /groups/acme/access_requests/${user_id}`, undefined, "owner");
  await hooked.call("POST /groups/acme/members", { user_id, access_level: 20 }, "owner");
  await hooked.call(`PUT /groups/acme/members/${user_id}`, { access_level: 30 }, "owner");
  await hooked.call(`DELETE /groups/acme/members/${user_id}`, undefined, "owner");
  const members = await hooked.next(5);
  expect(members.map(({ event_name }) => event_name)).toEqual([
    "user_access_request_to_group",
    "user_access_request_revoked_for_group",
    "user_add_to_group",
    "user_update_for_group",
    "user_remove_from_group",
  ]);
  for (const { event, ...told } of members) {
    expect(event).toBe("Member Hook");
    expect(keysOf(told)).toEqual(MEMBER);
  }
  const group = await hooked.call("POST /groups", { name: "T", path: "t", parent_id: id }, "owner");
  await hooked.call("POST /projects", { name: "T", path: "t", namespace_id: group.id }, "owner");
  const [{ event: first, ...subgroup }, owner, { event: second, ...inside }] = await hooked.next(3);
  expect([first, owner.event, second]).toEqual(["Subgroup Hook", "Member Hook", "Project Hook"]);
  expect(keysOf(subgroup)).toEqual(
    keys(`created_at, updated_at, event_name, name, path, full_path, group_id, parent_group_id, parent_name, parent_path,
      parent_full_path`),
  );
  expect(keysOf(inside)).toEqual(
    keys(`created_at, updated_at, event_name, name, path, path_with_namespace, project_id, project_namespace_id, owners,
      project_visibility`),
  );
});

const KEY =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB0cnPfhCbKUbvqhiaGmHSzRZ5hRqOWrUWD7I5aJyKDW told@example.com";

it("has all keys of users', members', groups' and projects' of the instance", async () => {
  await hooked.listen("");
  const account = { email: "t2@example.com", name: "T", username: "t2", password: "12345678x" };
  const { id: user_id } = await hooked.call("POST /users", account, "admin");
  await hooked.call(`PUT /users/${user_id}`, { username: "t3" }, "admin");
  await hooked.call(`POST ${project.path}/members`, { user_id, access_level: 30 }, "owner");
  await hooked.call(`PUT ${project.path}`, { path: "told2" }, "owner");
  const group = await hooked.call("POST /groups", { name: "G", path: "g2" }, "owner");
  await hooked.call(`PUT /groups/${group.id}`, { path: "g3" }, "owner");
  await hooked.call(`DELETE /groups/${group.id}`, undefined, "owner");
  const all = await hooked.next(8);
  const user = "created_at, updated_at, event_name, name, email, user_id, username";
  const place = "created_at, updated_at, event_name, name, path, full_path, group_id";
  const expected: [string, string][] = [
    ["user_create", user],
    ["user_rename", `${user}, old_username`],
    [
      "user_add_to_team",
      `created_at, updated_at, event_name, project_name, project_path, project_path_with_namespace, project_id,
       access_level, project_visibility, user_username, user_name, user_email, user_id`,
    ],
    [
      "project_rename",
      `created_at, updated_at, event_name, name, path, path_with_namespace, project_id, project_namespace_id, owners,
       project_visibility, old_path_with_namespace`,
    ],
    ["group_create", place],
    [
      "user_add_to_group",
      `created_at, updated_at, event_name, group_name, group_path, group_id, group_access, expires_at, user_username,
       user_name, user_email, user_id`,
    ],
    ["group_rename", `${place}, old_path, old_full_path`],
    ["group_destroy", place],
  ];
  expect(all.map(({ event, ...told }) => [told.event_name, keysOf(told)])).toEqual(
    expected.map(([name, text]) => [name, keys(text)]),
  );
});

it("tells the instance's hooks of keys, and of blocked users who sign in", async () => {
  await hooked.listen("");
  const { id } = await hooked.call("POST /user/keys", { title: "Mine", key: KEY });
  await hooked.call(`DELETE /user/keys/${id}`);
  const all = await hooked.next(2);
  expect(all.map(({ event, event_name }) => [event, event_name])).toEqual([
    ["System Hook", "key_create"],
    ["System Hook", "key_destroy"],
  ]);
  for (const { event, ...told } of all) {
    expect(keysOf(told)).toEqual(keys("created_at, updated_at, event_name, username, key, id"));
    expect(told).toMatchObject({ id, username: "maintainer" });
  }
  await givePassword(hooked.app, "stranger");
  const [{ id: user_id }] = await hooked.call("GET /users?username=stranger");
  await hooked.call(`POST /users/${user_id}/block`, {}, "admin");
  const visitor = new Visitor(hooked.app);
  await visitor.get("/users/sign_in");
  await visitor.post("/users/sign_in", { login: "stranger", password: PASSWORD });
  const [{ event, ...failed }] = await hooked.next();
  expect(keysOf(failed)).toEqual(
    keys("created_at, updated_at, event_name, name, email, user_id, username, state"),
  );
  expect(failed).toMatchObject({ event_name: "user_failed_login", user_id, state: "blocked" });
});

it("tells pipelines of merge requests with their source branch", async () => {
  const of = await ciProject(
    hooked.app,
    "of-requests",
    `review: { script: [make], rules: [{ if: '$CI_MERGE_REQUEST_ID' }] }\n`,
  );
  const commit = {
    branch: "feature",
    start_branch: "main",
    commit_message: "Change",
    actions: [{ action: "create", file_path: "b", content: "b\n" }],
  };
  await hooked.call(`POST ${of.path}/repository/commits`, commit);
  const request = await hooked.call(`POST ${of.path}/merge_requests`, {
    title: "Change",
    source_branch: "feature",
    target_branch: "main",
  });
  await hooked.listen(of.path, "pipeline");
  await hooked.call(`POST ${of.path}/merge_requests/${request.iid}/pipelines`);
  const [told] = await hooked.next();
  expect(told).toMatchObject({
    object_attributes: { ref: "feature", source: "merge_request_event", tag: false },
    merge_request: { iid: request.iid },
  });
});
