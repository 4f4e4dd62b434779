import { describe, expect, it } from "vitest";
import type { Seed } from "../../src/testing.ts";
import { refusal, serving, users } from "./gitbeaker.ts";

const seed: Seed = {
  users,
  groups: [
    {
      path: "acme",
      members: { ann: "owner", bob: "developer" },
      labels: [{ name: "bug" }, { name: "urgent" }],
      milestones: [{ title: "v1" }],
      projects: [
        {
          path: "site",
          issues: [
            {
              title: "One",
              author: "ann",
              labels: ["bug"],
              milestone: "v1",
              created_at: "2026-01-01",
            },
            {
              title: "Two",
              author: "bob",
              labels: ["bug", "urgent"],
              assignees: ["ann"],
              created_at: "2026-01-02",
            },
            {
              title: "Three",
              author: "bob",
              state: "closed",
              description: "words",
              created_at: "2026-01-03",
            },
            { title: "Secret", author: "ann", confidential: true, created_at: "2026-01-04" },
            { title: "Five", author: "ann", created_at: "2026-01-05" },
          ],
          merge_requests: [1, 2, 3].map((at) => ({
            title: `Change ${at}`,
            author: "bob",
            source_branch: `topic-${at}`,
          })),
          snippets: [{ title: "Handy", file_name: "a", content: "a", author: "ann" }],
          pushes: [{ author: "bob", ref: "topic-1", commit_to: "1".repeat(40) }],
        },
        { path: "other" },
      ],
    },
  ],
};

const SITE = "acme/site";

const { server, ann: gitlab, bob } = await serving(seed, 2);

describe("issues", () => {
  it("are put into another order", async () => {
    const [first, second] = await gitlab.Issues.all({ projectId: SITE, sort: "asc" });
    const options = { moveAfterId: first?.id as number };
    await gitlab.Issues.reorder(SITE, second?.iid as number, options);
    const orderBy = "relative_position" as const;
    const all = await gitlab.Issues.all({ projectId: SITE, orderBy, sort: "asc" });
    expect(all.slice(0, 2).map(({ id }) => id)).toEqual([second?.id, first?.id]);
  });

  it("are created, shown, changed, closed, reopened and removed", async () => {
    const { id: userId } = await bob.Users.showCurrentUser();
    const [milestone] = await gitlab.GroupMilestones.all("acme");
    const made = await gitlab.Issues.create(SITE, "Süßes & Saures", {
      description: "Much *text*",
      labels: "bug,new one",
      assigneeIds: [userId],
      milestoneId: milestone?.id as number,
      dueDate: "2026-04-01",
      weight: 3,
      confidential: true,
    });
    expect(made).toMatchObject({
      iid: 6,
      title: "Süßes & Saures",
      state: "opened",
      labels: ["bug", "new one"],
      assignees: [{ username: "bob" }],
      assignee: { username: "bob" },
      author: { username: "ann" },
      milestone: { title: "v1" },
      due_date: "2026-04-01",
      weight: 3,
      confidential: true,
      web_url: `${server.url}/acme/site/-/issues/6`,
    });
    expect(await gitlab.Issues.show(6, { projectId: SITE })).toMatchObject({
      id: made.id,
      subscribed: true,
    });
    const changed = await gitlab.Issues.edit(SITE, 6, {
      title: "Sweets",
      addLabels: "urgent",
      removeLabels: "new one",
      stateEvent: "close",
      assigneeIds: [],
      confidential: false,
    });
    expect(changed).toMatchObject({
      title: "Sweets",
      labels: ["bug", "urgent"],
      state: "closed",
      closed_by: { username: "ann" },
      closed_at: "2026-03-01T12:00:00.000Z",
      assignees: [],
      confidential: false,
    });
    expect((await gitlab.Issues.edit(SITE, 6, { stateEvent: "reopen" })).state).toBe("opened");
    expect(await refusal(bob.Issues.remove(SITE, 6))).toEqual([403, "403 Forbidden"]);
    await gitlab.Issues.remove(SITE, 6);
    const gone = gitlab.Issues.show(6, { projectId: SITE });
    expect((await refusal(gone))[0]).toBe(404);
    expect((await refusal(gitlab.Issues.edit(SITE, 1)))[0]).toBe(400);
  });

  const titles = async (found: Promise<{ title: string }[]>) =>
    (await found).map(({ title }) => title);

  it("are listed across pages: of a project, of a group, of everybody", async () => {
    const all = ["Five", "Secret", "Three", "Two", "One"];
    expect(await titles(gitlab.Issues.all({ projectId: SITE }))).toEqual(all);
    expect(server.requests.map(({ query }) => query)).toEqual([
      "",
      "page=2&per_page=2",
      "page=3&per_page=2",
    ]);
    expect(await titles(gitlab.Issues.all({ groupId: "acme" }))).toEqual(all);
    expect(await titles(gitlab.Issues.all({ scope: "all", perPage: 4 }))).toEqual(all);
    expect(await titles(gitlab.Issues.all())).toEqual(["Five", "Secret", "One"]);
    const { paginationInfo } = await gitlab.Issues.all({
      projectId: SITE,
      showExpanded: true,
      pagination: "offset",
      page: 1,
      perPage: 3,
      maxPages: 1,
    });
    expect(paginationInfo).toMatchObject({ total: 5, totalPages: 2, next: 2, perPage: 3 });
  });

  it.each([
    [{ state: "closed" }, ["Three"]],
    [{ labels: "bug" }, ["Two", "One"]],
    [{ labels: "bug,urgent" }, ["Two"]],
    [{ labels: "None" }, ["Five", "Secret", "Three"]],
    [{ milestone: "v1" }, ["One"]],
    [{ iids: [1, 3] }, ["Three", "One"]],
    [{ search: "words" }, ["Three"]],
    [{ authorUsername: "bob" }, ["Three", "Two"]],
    [{ assigneeUsername: ["ann"] }, ["Two"]],
    [{ confidential: true }, ["Secret"]],
    [{ orderBy: "created_at", sort: "asc", createdAfter: "2026-01-04" }, ["Secret", "Five"]],
    [{ createdBefore: "2026-01-01T00:00:00Z" }, ["One"]],
  ] as const)("are found by %o", async (filter, expected) => {
    const options = { projectId: SITE, ...filter } as { projectId: string };
    expect(await titles(gitlab.Issues.all(options))).toEqual(expected);
  });

  it("are moved to another project", async () => {
    await gitlab.IssueNotes.create(SITE, 2, "A note");
    const { id } = await gitlab.Projects.show("acme/other");
    const moved = await gitlab.Issues.move(SITE, 2, id);
    expect(moved).toMatchObject({ iid: 1, project_id: id, title: "Two", state: "opened" });
    expect(await gitlab.IssueNotes.all("acme/other", 1)).toMatchObject([{ body: "A note" }]);
    expect((await gitlab.Issues.show(2, { projectId: SITE })).state).toBe("closed");
  });

  it("are subscribed to, and added to the todos, once", async () => {
    expect((await gitlab.Issues.subscribe(SITE, 3)).subscribed).toBe(true);
    // gitbeaker treats 304 as an error, as with GitLab.
    expect((await refusal(gitlab.Issues.subscribe(SITE, 3)))[0]).toBe(304);
    expect((await gitlab.Issues.unsubscribe(SITE, 3)).subscribed).toBe(false);
    expect(await gitlab.Issues.createTodo(SITE, 3)).toMatchObject({
      action_name: "marked",
      target: { iid: 3 },
      state: "pending",
    });
    expect((await refusal(gitlab.Issues.createTodo(SITE, 3)))[0]).toBe(304);
  });
});

describe.each([
  ["issues", "IssueNotes", "IssueNoteAwardEmojis", "IssueAwardEmojis", "Issue"],
  [
    "merge requests",
    "MergeRequestNotes",
    "MergeRequestNoteAwardEmojis",
    "MergeRequestAwardEmojis",
    "MergeRequest",
  ],
] as const)("of %s", (_name, notesOf, noteEmojisOf, emojisOf, type) => {
  it("notes are created, changed, listed and removed", async () => {
    const notes = gitlab[notesOf];
    const made = await notes.create(SITE, 1, "First\n\nsecond line");
    expect(made).toMatchObject({
      body: "First\n\nsecond line",
      author: { username: "ann" },
      noteable_type: type,
      noteable_iid: 1,
      system: false,
    });
    expect(await notes.show(SITE, 1, made.id)).toMatchObject({ id: made.id });
    expect((await notes.edit(SITE, 1, made.id, { body: "Better" })).body).toBe("Better");
    for (const body of ["b", "c"]) await bob[notesOf].create(SITE, 1, body);
    const bodies = (await notes.all(SITE, 1, { sort: "asc", orderBy: "created_at" })).map(
      ({ body }) => body,
    );
    expect(bodies).toEqual(["Better", "b", "c"]);
    expect((await refusal(bob[notesOf].edit(SITE, 1, made.id, { body: "x" })))[0]).toBe(403);
    await notes.remove(SITE, 1, made.id);
    expect(await refusal(notes.show(SITE, 1, made.id))).toEqual([404, "404 Not found"]);
    expect((await refusal(notes.create(SITE, 1, undefined as unknown as string)))[0]).toBe(400);
  });

  it("emoji are awarded, listed and removed, on notes too", async () => {
    const emojis = gitlab[emojisOf];
    for (const name of ["thumbsup", "heart", "tada"]) await emojis.award(SITE, 1, name);
    const all = await emojis.all(SITE, 1);
    expect(all.map(({ name }) => name)).toEqual(["thumbsup", "heart", "tada"]);
    const [first] = all;
    const id = first?.id as number;
    expect(await emojis.show(SITE, 1, id)).toMatchObject({
      user: { username: "ann" },
      awardable_type: type,
    });
    expect((await refusal(emojis.award(SITE, 1, "heart")))[0]).toBe(404);
    await emojis.remove(SITE, 1, id);
    expect(await refusal(emojis.show(SITE, 1, id))).toEqual([404, "404 Award Emoji Not Found"]);

    const note = await gitlab[notesOf].create(SITE, 1, "Look");
    const given = await bob[noteEmojisOf].award(SITE, 1, note.id, "eyes");
    expect(given).toMatchObject({ name: "eyes", awardable_type: "Note", awardable_id: note.id });
    expect(await gitlab[noteEmojisOf].all(SITE, 1, note.id)).toEqual([given]);
    expect(await gitlab[noteEmojisOf].show(SITE, 1, note.id, given.id)).toEqual(given);
    await bob[noteEmojisOf].remove(SITE, 1, note.id, given.id);
    expect(await gitlab[noteEmojisOf].all(SITE, 1, note.id)).toEqual([]);
  });
});

it.each(["IssueDiscussions", "MergeRequestDiscussions", "ProjectSnippetDiscussions"] as const)(
  "%s are begun, answered, changed, listed and removed",
  async (name) => {
    const discussions = gitlab[name];
    const on = 1;
    const begun = await bob[name].create(SITE, on, "Why?");
    expect(begun).toMatchObject({ individual_note: false, notes: [{ type: "DiscussionNote" }] });
    const { id } = begun;
    const reply = await discussions.addNote(SITE, on, id, "Because");
    expect(reply).toMatchObject({ body: "Because", author: { username: "ann" } });
    const edited = await discussions.editNote(SITE, on, id, reply.id, { body: "Just because" });
    expect(edited.body).toBe("Just because");
    const both = { id, notes: [{ body: "Why?" }, { body: "Just because" }] };
    expect(await discussions.show(SITE, on, id)).toMatchObject(both);
    expect((await discussions.all(SITE, on)).at(-1)).toMatchObject(both);
    if (name === "MergeRequestDiscussions") {
      const resolving = { resolved: true };
      const resolved = await gitlab[name].editNote(SITE, on, id, reply.id, resolving);
      expect(resolved).toMatchObject({ resolved: true, resolved_by: { username: "ann" } });
    }
    await discussions.removeNote(SITE, on, id, reply.id);
    expect((await discussions.show(SITE, on, id)).notes).toHaveLength(1);
    const unknown = await refusal(discussions.show(SITE, on, "0".repeat(40)));
    expect(unknown).toEqual([404, "404 Discussion Not Found"]);
  },
);

describe("merge requests", () => {
  it("are created, changed, closed, reopened, merged and removed", async () => {
    const made = await bob.MergeRequests.create(SITE, "feature/x", "main", "Feature", {
      description: "Closes #1",
      labels: "bug",
      removeSourceBranch: true,
    });
    expect(made).toMatchObject({
      iid: 4,
      state: "opened",
      source_branch: "feature/x",
      target_branch: "main",
      labels: ["bug"],
      author: { username: "bob" },
      web_url: `${server.url}/acme/site/-/merge_requests/4`,
    });
    const again = bob.MergeRequests.create(SITE, "feature/x", "main", "Again");
    expect((await refusal(again))[0]).toBe(409);
    const same = bob.MergeRequests.create(SITE, "main", "main", "Nothing");
    expect((await refusal(same))[0]).toBe(422);
    expect((await bob.MergeRequests.show(SITE, 4)).id).toBe(made.id);
    const { id: assigneeId } = await gitlab.Users.showCurrentUser();
    const changed = await gitlab.MergeRequests.edit(SITE, 4, { title: "Better", assigneeId });
    expect(changed).toMatchObject({ title: "Better", assignee: { username: "ann" } });
    expect((await gitlab.MergeRequests.edit(SITE, 4, { stateEvent: "close" })).state).toBe(
      "closed",
    );
    expect(await refusal(gitlab.MergeRequests.merge(SITE, 4))).toEqual([
      405,
      "405 Method Not Allowed",
    ]);
    expect((await gitlab.MergeRequests.edit(SITE, 4, { stateEvent: "reopen" })).state).toBe(
      "opened",
    );
    const wrong = gitlab.MergeRequests.merge(SITE, 1, { sha: "2".repeat(40) });
    expect((await refusal(wrong))[0]).toBe(409);
    expect(await gitlab.MergeRequests.accept(SITE, 1, { sha: "1".repeat(40) })).toMatchObject({
      state: "merged",
      merged_by: { username: "ann" },
      merged_at: "2026-03-01T12:00:00.000Z",
    });
    await gitlab.MergeRequests.remove(SITE, 4);
    expect((await refusal(gitlab.MergeRequests.show(SITE, 4)))[0]).toBe(404);
  });

  it("are listed across pages, and filtered", async () => {
    const titles = async (found: Promise<{ title: string }[]>) =>
      (await found).map(({ title }) => title);
    const all = ["Change 3", "Change 2", "Change 1"];
    expect(await titles(gitlab.MergeRequests.all({ projectId: SITE }))).toEqual(all);
    expect(server.requests).toHaveLength(2);
    expect(await titles(gitlab.MergeRequests.all({ groupId: "acme" }))).toEqual(all);
    expect(await titles(gitlab.MergeRequests.all({ scope: "all" }))).toEqual(all);
    expect(await titles(gitlab.MergeRequests.all())).toEqual([]);
    expect(await titles(bob.MergeRequests.all({ scope: "created_by_me" }))).toEqual(all);
    const topic = { projectId: SITE, sourceBranch: "topic-2" };
    expect(await titles(gitlab.MergeRequests.all(topic))).toEqual(["Change 2"]);
    const merged = { projectId: SITE, state: "merged" } as const;
    expect(await titles(gitlab.MergeRequests.all(merged))).toEqual([]);
    const some = gitlab.MergeRequests.all({ projectId: SITE, iids: [1, 3], sort: "asc" });
    expect(await titles(some)).toEqual(["Change 1", "Change 3"]);
  });

  it("are subscribed to, and added to the todos", async () => {
    expect((await gitlab.MergeRequests.subscribe(SITE, 1)).subscribed).toBe(true);
    expect((await gitlab.MergeRequests.unsubscribe(SITE, 1)).subscribed).toBe(false);
    expect(await gitlab.MergeRequests.createTodo(SITE, 1)).toMatchObject({
      target_type: "MergeRequest",
      target: { iid: 1, source_branch: "topic-1" },
    });
  });
});

it("the time of issues and merge requests is estimated, spent and reset", async () => {
  const { Issues, MergeRequests } = gitlab;
  expect(await Issues.addTimeEstimate(SITE, 1, "1w")).toMatchObject({ time_estimate: 144_000 });
  expect(await MergeRequests.setTimeEstimate(SITE, 1, "1w")).toMatchObject({
    human_time_estimate: "1w",
  });
  for (const of of [Issues, MergeRequests]) {
    expect(await of.addSpentTime(SITE, 1, "3h30m")).toMatchObject({ total_time_spent: 12_600 });
    const { human_total_time_spent } = await of.showTimeStats(SITE, 1);
    expect(human_total_time_spent).toBe("3h 30m");
    expect(await of.resetSpentTime(SITE, 1)).toMatchObject({ total_time_spent: 0 });
    expect(await of.resetTimeEstimate(SITE, 1)).toMatchObject({ time_estimate: 0 });
  }
});

it("issues are linked and unlinked, and tell who participates", async () => {
  const { Issues, IssueLinks, MergeRequests } = gitlab;
  const made = await IssueLinks.create(SITE, 1, SITE, 2, { linkType: "blocks" });
  expect(made).toMatchObject({ source_issue: { iid: 1 }, target_issue: { iid: 2 } });
  const [linked] = await IssueLinks.all(SITE, 2);
  expect(linked).toMatchObject({ iid: 1, link_type: "is_blocked_by" });
  await IssueLinks.remove(SITE, 2, linked?.issue_link_id as number);
  expect(await IssueLinks.all(SITE, 1)).toEqual([]);
  for (const of of [Issues, MergeRequests]) {
    const names = (await of.allParticipants(SITE, 2)).map(({ username }) => username);
    expect(names).toContain("bob");
  }
});

it("merge requests tell which issues they close", async () => {
  const { Issues, MergeRequests } = gitlab;
  await MergeRequests.edit(SITE, 1, { description: "Closes #2, see #1" });
  const closed = await MergeRequests.allIssuesClosed(SITE, 1);
  expect(closed.map(({ iid }) => iid)).toEqual([2]);
  expect(await Issues.allClosedByMergeRequestst(SITE, 2)).toMatchObject([{ iid: 1 }]);
  expect(await Issues.allClosedByMergeRequestst(SITE, 1)).toEqual([]);
  expect(await Issues.allRelatedMergeRequests(SITE, 1)).toMatchObject([{ iid: 1 }]);
});

it("changes of labels and states are listed", async () => {
  await gitlab.Issues.edit(SITE, 5, { addLabels: "bug", stateEvent: "close" });
  const [added] = await gitlab.IssueLabelEvents.all(SITE, 5);
  expect(added).toMatchObject({ action: "add", label: { name: "bug" } });
  expect(await gitlab.IssueLabelEvents.show(SITE, 5, added?.id as number)).toEqual(added);
  expect(await gitlab.IssueStateEvents.all(SITE, 5)).toMatchObject([{ state: "closed" }]);
  expect(await gitlab.MergeRequestMilestoneEvents.all(SITE, 1)).toEqual([]);
});

describe("todos", () => {
  it("are listed across pages, filtered, and marked as done: one, then all", async () => {
    const { id } = await gitlab.Users.showCurrentUser();
    await bob.IssueNotes.create(SITE, 1, "What does @ann think?");
    await bob.Issues.edit(SITE, 3, { assigneeIds: [id] });
    await gitlab.MergeRequests.createTodo(SITE, 1);
    const todos = await gitlab.TodoLists.all();
    expect(todos.map(({ action_name, target_type }) => [action_name, target_type])).toEqual([
      ["marked", "MergeRequest"],
      ["assigned", "Issue"],
      ["mentioned", "Issue"],
    ]);
    expect(server.requests.filter(({ path }) => path === "/api/v4/todos")).toHaveLength(2);
    expect(todos[2]).toMatchObject({
      author: { username: "bob" },
      project: { path_with_namespace: SITE },
      body: "What does @ann think?",
    });
    expect(await gitlab.TodoLists.all({ type: "MergeRequest" })).toMatchObject([todos[0]]);
    expect(await gitlab.TodoLists.all({ action: "assigned" })).toMatchObject([todos[1]]);
    const [first] = todos;
    const done = await gitlab.TodoLists.done({ todoId: first?.id as number });
    expect(done).toMatchObject({ id: first?.id, state: "done" });
    await gitlab.TodoLists.done();
    expect(await gitlab.TodoLists.all()).toEqual([]);
    expect(await gitlab.TodoLists.all({ state: "done" })).toHaveLength(3);
    const others = bob.TodoLists.done({ todoId: first?.id as number });
    expect(await refusal(others)).toEqual([404, "404 Not found"]);
  });
});
