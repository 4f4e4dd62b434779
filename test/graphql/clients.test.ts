import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { send } from "./ask.ts";

// Documents as clients of GitLab send them: one unknown field would fail a whole document.

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  await app.call("POST /projects/acme%2Fsite/issues", {
    as: "owner",
    json: { title: "Plan", labels: "UX", assignee_ids: [2] },
  });
  await app.call("POST /projects/acme%2Fsite/merge_requests", {
    as: "owner",
    json: { title: "Change", source_branch: "change", target_branch: "main" },
  });
});
afterAll(() => app.dispose());

/** The data of a document that must have no errors. */
async function answer(query: string, variables: object = {}) {
  const { data, errors } = await send(app, "owner", query, variables);
  expect(errors).toBeUndefined();
  return data;
}

describe("Backstage", () => {
  it("reads the groups below a group", async () => {
    const data = await answer(
      `query listDescendantGroups($group: ID!, $endCursor: String) {
        group(fullPath: $group) {
          descendantGroups(first: 100, after: $endCursor) {
            nodes { id name description fullPath visibility parent { id } }
            pageInfo { endCursor hasNextPage }
          }
        }
      }`,
      { group: "acme", endCursor: null },
    );
    const { json: acme } = await app.call("GET /groups/acme", { as: "owner" });
    expect(data.group.descendantGroups).toMatchObject({
      nodes: [
        {
          name: "Team",
          description: "",
          fullPath: "acme/team",
          visibility: "private",
          parent: { id: `gid://gitlab/Group/${acme.id}` },
        },
      ],
      pageInfo: { hasNextPage: false },
    });
  });

  it("reads the members of a group, whose ids are numbers after a prefix", async () => {
    const data = await answer(
      `query getGroupMembers($group: ID!, $relations: [GroupMemberRelation!], $endCursor: String) {
        group(fullPath: $group) {
          groupMembers(first: 100, relations: $relations, after: $endCursor) {
            nodes { user { id username publicEmail name state webUrl avatarUrl } }
            pageInfo { endCursor hasNextPage }
          }
        }
      }`,
      { group: "acme/team", relations: ["DIRECT", "DESCENDANTS", "INHERITED"] },
    );
    const { json } = await app.call("GET /groups/acme%2Fteam/members/all", { as: "owner" });
    type Member = { user: { id: string; username: string } };
    const ids = data.group.groupMembers.nodes.map(({ user }: Member) =>
      Number(user.id.replace(/^gid:\/\/gitlab\/User\//, "")),
    );
    expect(ids.sort()).toEqual(json.map(({ id }: { id: number }) => id).sort());
  });
});

describe("Terraform's provider", () => {
  it("reads who it is", async () => {
    const data = await answer(
      "query { currentUser { id username name bot groupCount namespace { id } publicEmail } }",
    );
    const { json } = await app.call("GET /user", { as: "owner" });
    expect(data.currentUser).toEqual({
      id: `gid://gitlab/User/${json.id}`,
      username: "owner",
      name: "The owner",
      bot: false,
      groupCount: 2,
      namespace: { id: expect.stringMatching(/^gid:\/\/gitlab\/Namespaces::UserNamespace\/\d+$/) },
      publicEmail: json.public_email || null,
    });
  });
});

describe("glab", () => {
  it("reads all pages of a list", async () => {
    const query = `query ($endCursor: String) {
      group(fullPath: "acme") { labels(first: 2, after: $endCursor) { nodes { title }
        pageInfo { hasNextPage endCursor } } } }`;
    const titles: string[] = [];
    let endCursor: string | null = null;
    for (let pages = 0; pages < 5; pages += 1) {
      const data: Awaited<ReturnType<typeof answer>> = await answer(query, { endCursor });
      const { labels } = data.group;
      titles.push(...labels.nodes.map(({ title }: { title: string }) => title));
      if (!labels.pageInfo.hasNextPage) break;
      endCursor = labels.pageInfo.endCursor;
    }
    expect(titles).toEqual(["Development", "Testing", "UX"]);
  });
});

describe("the JetBrains plugin", () => {
  it("reads the user and the server's version", async () => {
    const { json } = await app.call("GET /version", { as: "owner" });
    const data = await answer(
      `query { currentUser { id username name avatarUrl webUrl }
        metadata { version revision enterprise } }`,
    );
    expect(data.metadata).toMatchObject({ version: json.version, revision: json.revision });
    expect(data.currentUser.username).toBe("owner");
  });

  it("reads the caller's groups", async () => {
    const query = `query ($cursor: String) { groups(allAvailable: false, first: 100, after: $cursor) {
      pageInfo { startCursor endCursor hasNextPage } nodes { id name fullPath } } }`;
    const data = await answer(query, { cursor: null });
    const paths = data.groups.nodes.map(({ fullPath }: { fullPath: string }) => fullPath);
    expect(paths).toEqual(["acme", "secret", "acme/team"]);
    const { data: none } = await send(app, "stranger", query, { cursor: null });
    expect(none.groups.nodes).toEqual([]);
  });

  it("reads a project with its rules, members and labels", async () => {
    const data = await answer(
      `query ($fullPath: ID!, $cursor: String) { project(fullPath: $fullPath) {
        id name nameWithNamespace fullPath httpUrlToRepo sshUrlToRepo webUrl
        onlyAllowMergeIfAllDiscussionsAreResolved onlyAllowMergeIfPipelineSucceeds
        allowsMultipleMergeRequestAssignees allowsMultipleMergeRequestReviewers
        userPermissions { createSnippet } repository { rootRef }
        projectMembers(after: $cursor, relations: [DIRECT, INHERITED]) {
          pageInfo { endCursor hasNextPage }
          nodes { id accessLevel { integerValue } user { id username name avatarUrl webUrl } } }
        labels(after: $cursor, includeAncestorGroups: true) {
          pageInfo { endCursor hasNextPage } nodes { id title color } }
      } }`,
      { fullPath: "acme/site" },
    );
    expect(data.project).toMatchObject({
      nameWithNamespace: "Acme / Site",
      onlyAllowMergeIfPipelineSucceeds: false,
      userPermissions: { createSnippet: true },
      repository: { rootRef: null },
      labels: { nodes: [{ title: "Development" }, { title: "Testing" }, { title: "UX" }] },
    });
    expect(data.project.projectMembers.nodes).toHaveLength(5);
  });

  it("reads merge requests by branch and in detail, and asks for reviews", async () => {
    const data = await answer(
      `query ($project: ID!, $source: String!, $target: String!) { project(fullPath: $project) {
        mergeRequests(sourceBranches: [$source], targetBranches: [$target], state: opened, first: 1) {
          nodes { id iid title description webUrl createdAt state draft
            author { ...userFields } mergedAt
            targetProject { fullPath } sourceProject { fullPath httpUrlToRepo }
            sourceBranch targetBranch conflicts approvedBy(first: 1000) { nodes { ...userFields } }
            reviewers { nodes { ...userFields } } assignees { nodes { ...userFields } }
            diffRefs { baseSha headSha startSha } labels { nodes { title } }
            headPipeline { id status } commits(first: 1000) { nodes { sha shortId author { name } } }
            shouldRemoveSourceBranch } } } }
      fragment userFields on User { id username name avatarUrl webUrl state }`,
      { project: "acme/site", source: "change", target: "main" },
    );
    expect(data.project.mergeRequests.nodes).toMatchObject([
      {
        iid: "1",
        state: "opened",
        draft: false,
        author: { username: "owner", state: "active" },
        sourceProject: { fullPath: "acme/site" },
        approvedBy: { nodes: [] },
        reviewers: { nodes: [] },
        headPipeline: null,
        commits: { nodes: [] },
        diffRefs: null,
      },
    ]);
    const { mergeRequestSetReviewers } = await answer(
      `mutation ($projectPath: ID!, $iid: String!, $reviewers: [String!]!) {
        mergeRequestSetReviewers(input: {projectPath: $projectPath, iid: $iid, reviewerUsernames: $reviewers}) {
          mergeRequest { iid reviewers { nodes { id } } } errors } }`,
      { projectPath: "acme/site", iid: "1", reviewers: [] },
    );
    expect(mergeRequestSetReviewers).toEqual({
      mergeRequest: { iid: "1", reviewers: { nodes: [] } },
      errors: [],
    });
  });
});

describe("the JetBrains plugin for GitLab's paid tiers", () => {
  const fragments = `
    fragment user on User { id username name avatarUrl webUrl }
    fragment project on Project { id name nameWithNamespace path fullPath httpUrlToRepo sshUrlToRepo
      squashReadOnly removeSourceBranchAfterMerge onlyAllowMergeIfAllDiscussionsAreResolved
      onlyAllowMergeIfPipelineSucceeds allowMergeOnSkippedPipeline mergeRequestsFfOnlyEnabled
      allowsMultipleMergeRequestAssignees allowsMultipleMergeRequestReviewers
      userPermissions { createSnippet } repository { rootRef } }
    fragment reviewer on MergeRequestReviewer { ...user mergeRequestInteraction { approved reviewed } }
    fragment commit on Commit { sha shortId fullTitle description author { ...user } authorName authoredDate }
    fragment page on PageInfo { startCursor endCursor hasNextPage }
    fragment request on MergeRequest { id iid title description webUrl createdAt targetBranch sourceBranch
      labels(first: 100) { pageInfo { ...page } nodes { id title color } }
      diffRefs { baseSha startSha headSha } approvalsRequired conflicts
      headPipeline { jobs(first: 1000) { pageInfo { ...page }
        nodes { name status allowFailure detailedStatus { detailsPath } } } }
      mergeStatusEnum mergeable state draft squash squashOnMerge squashReadOnly
      defaultSquashCommitMessage defaultMergeCommitMessage shouldRemoveSourceBranch
      forceRemoveSourceBranch shouldBeRebased rebaseInProgress
      targetProject { ...project } sourceProject { ...project } author { ...user }
      approvedBy(first: 1000) { pageInfo { ...page } nodes { ...user } }
      assignees(first: 1000) { pageInfo { ...page } nodes { ...user } }
      reviewers(first: 1000) { pageInfo { ...page } nodes { ...reviewer } }
      commits(first: 1000) { pageInfo { ...page } nodes { ...commit } }
      userPermissions { canApprove canMerge createNote updateMergeRequest } }`;

  it("reads a merge request", async () => {
    const { project } = await answer(
      `query ($project: ID!, $iid: String!) {
        project(fullPath: $project) { mergeRequest(iid: $iid) { ...request } } } ${fragments}`,
      { project: "acme/site", iid: "1" },
    );
    expect(project.mergeRequest).toMatchObject({
      targetProject: { path: "site", mergeRequestsFfOnlyEnabled: false },
      reviewers: { nodes: [] },
      commits: { pageInfo: { startCursor: null, endCursor: null, hasNextPage: false }, nodes: [] },
      headPipeline: null,
      // It is their own: their approval would not count, as `user_can_approve` of the REST API says.
      userPermissions: { canApprove: false, canMerge: true, createNote: true },
    });
  });

  it("reads the discussions of a merge request with their emoji, within the limits", async () => {
    const query = `query ($project: ID!, $iid: String!, $pageSize: Int = 100, $cursor: String) {
      project(fullPath: $project) { mergeRequest(iid: $iid) {
        discussions(first: $pageSize, after: $cursor) { pageInfo { ...page } nodes { ...discussion } } } } }
    fragment page on PageInfo { startCursor endCursor hasNextPage }
    fragment user on User { id username name avatarUrl webUrl }
    fragment discussion on Discussion { id replyId createdAt
      notes(first: 1000) { pageInfo { ...page } nodes { ...note } } }
    fragment note on Note { id createdAt author { ...user } body system
      awardEmoji { nodes { name emoji user { ...user } } }
      position { diffRefs { baseSha headSha startSha } filePath positionType oldLine oldPath newLine newPath }
      url resolvable resolved userPermissions { resolveNote adminNote } }`;
    const { project } = await answer(query, { project: "acme/site", iid: "1" });
    expect(project.mergeRequest.discussions.nodes).toEqual([]);
  });

  it("learns from a work item how many assignees an issue may have", async () => {
    const { project } = await answer(
      `query ($fullPath: ID!, $pageSize: Int = 100, $cursor: String) { project(fullPath: $fullPath) {
        workItems(first: $pageSize, after: $cursor) { nodes { workItemType { name } widgets { __typename
          ... on WorkItemWidgetAssignees { allowsMultipleAssignees } } } pageInfo { ...page } } } }
      fragment page on PageInfo { startCursor endCursor hasNextPage }`,
      { fullPath: "acme/site" },
    );
    expect(project.workItems.nodes).toHaveLength(1);
    expect(project.workItems.nodes[0].workItemType).toEqual({ name: "Issue" });
    expect(project.workItems.nodes[0].widgets).toContainEqual({
      __typename: "WorkItemWidgetAssignees",
      allowsMultipleAssignees: true,
    });
  });

  it("is told that it can't comment on lines, and whom it can't ask again", async () => {
    const noteableId = (
      await answer('{ project(fullPath: "acme/site") { mergeRequest(iid: "1") { id } } }')
    ).project.mergeRequest.id;
    const { createDiffNote } = await answer(
      `mutation ($noteableId: NoteableID!, $body: String!, $position: DiffPositionInput!) {
        createDiffNote(input: {noteableId: $noteableId, position: $position, body: $body}) {
          note { discussion { id replyId createdAt } } errors } }`,
      {
        noteableId,
        body: "Here",
        position: {
          headSha: "a",
          startSha: "b",
          baseSha: "b",
          newLine: 1,
          paths: { newPath: "a" },
        },
      },
    );
    expect(createDiffNote).toEqual({
      note: null,
      errors: ['Note {:line_code=>["can\'t be blank", "must be a valid line code"]}'],
    });
    const { mergeRequestReviewerRereview } = await answer(
      `mutation ($projectPath: ID!, $iid: String!, $userId: UserID!) {
        mergeRequestReviewerRereview(input: {projectPath: $projectPath, iid: $iid, userId: $userId}) {
          mergeRequest { id } errors } }`,
      { projectPath: "acme/site", iid: "1", userId: "gid://gitlab/User/1" },
    );
    expect(mergeRequestReviewerRereview).toEqual({
      mergeRequest: null,
      errors: ["Reviewer not found"],
    });
  });
});

describe("the extension for VS Code", () => {
  it("reads the discussions of an issue, replies, edits and resolves", async () => {
    const notes = `notes { pageInfo { hasNextPage endCursor } nodes { id createdAt system
      author { avatarUrl name username webUrl } body bodyHtml url
      userPermissions { resolveNote adminNote createNote }
      position { diffRefs { baseSha headSha startSha } filePath positionType newLine oldLine newPath oldPath } } }`;
    const discussions = `discussions(after: $after) { pageInfo { hasNextPage endCursor }
      nodes { replyId createdAt resolved resolvable ${notes} } }`;
    const variables = { fullPath: "acme/site", iid: "1", after: null };
    const noteableId = (
      await answer('{ project(fullPath: "acme/site") { mergeRequest(iid: "1") { id } } }')
    ).project.mergeRequest.id;
    const begun = await answer(
      `mutation ($id: NoteableID!, $body: String!) {
        createDiscussion(input: { noteableId: $id, body: $body }) { errors note { discussion { replyId } } } }`,
      { id: noteableId, body: "Why?" },
    );
    expect(begun.createDiscussion.errors).toEqual([]);
    const { replyId } = begun.createDiscussion.note.discussion;
    const create = `mutation CreateNote($issuableId: NoteableID!, $body: String!, $replyId: DiscussionID) {
      createNote(input: { noteableId: $issuableId, body: $body, discussionId: $replyId }) {
        errors note { id discussion { replyId } } } }`;
    const sent = { issuableId: noteableId, body: "Because.", replyId };
    const { createNote } = await answer(create, sent);
    expect(createNote).toMatchObject({ errors: [], note: { discussion: { replyId } } });
    const toggle = `mutation ($replyId: DiscussionID!, $resolved: Boolean!) {
      discussionToggleResolve(input: { id: $replyId, resolve: $resolved }) { errors } }`;
    await answer(toggle, { replyId, resolved: true });
    const read = await answer(
      `query ($fullPath: ID!, $iid: String!, $after: String) { project(fullPath: $fullPath) {
        id mergeRequest(iid: $iid) { ${discussions} } } }`,
      variables,
    );
    expect(read.project.mergeRequest.discussions.nodes).toMatchObject([
      {
        replyId,
        resolved: true,
        resolvable: true,
        notes: { nodes: [{ body: "Why?", position: null }, { body: "Because." }] },
      },
      { resolvable: false, notes: { nodes: [{ system: true, body: "resolved all threads" }] } },
    ]);
  });

  it("finds the caller's projects", async () => {
    const data = await answer(
      `fragment projectDetails on Project { id name description httpUrlToRepo sshUrlToRepo fullPath
        webUrl wikiEnabled group { id } }
      query getProjects($search: String, $membership: Boolean, $limit: Int) {
        projects(search: $search, membership: $membership, first: $limit, searchNamespaces: true) {
          nodes { ...projectDetails repository { empty } } } }`,
      { search: "acme", membership: true, limit: 30 },
    );
    const { json } = await app.call("GET /projects/acme%2Fsite", { as: "owner" });
    const found = data.projects.nodes.find(
      ({ fullPath }: { fullPath: string }) => fullPath === "acme/site",
    );
    expect(data.projects.nodes).toHaveLength(2);
    expect(found).toEqual({
      id: `gid://gitlab/Project/${json.id}`,
      name: json.name,
      description: json.description,
      httpUrlToRepo: json.http_url_to_repo,
      sshUrlToRepo: json.ssh_url_to_repo,
      fullPath: "acme/site",
      webUrl: json.web_url,
      wikiEnabled: true,
      group: { id: `gid://gitlab/Group/${json.namespace.id}` },
      repository: { empty: true },
    });
  });
});

describe("python-gitlab", () => {
  it("fetches the schema, and sends any document", async () => {
    const data = await answer(
      "{ __schema { queryType { name } mutationType { name } types { name kind fields { name } } } }",
    );
    expect(data.__schema.queryType).toEqual({ name: "Query" });
    expect(await answer('{ echo(text: "hello") }')).toEqual({
      echo: expect.stringMatching(/hello/),
    });
  });
});
