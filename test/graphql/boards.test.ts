import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { boardIssues, boardSeed } from "../boards.ts";
import { type CallOptions, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;

/** Numbers of issues by title. */
const iids: Record<string, string> = {};
/** Global ids by title of issues. */
const ids: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp({ tier: "premium", seed: boardSeed });
  for (const [title, { id, iid }] of Object.entries(await boardIssues(app))) {
    iids[title] = String(iid);
    ids[title] = `gid://gitlab/Issue/${id}`;
  }
});
afterAll(() => app.dispose());

const OWNERS = {
  Group: ["group", "acme"],
  Project: ["project", "acme/site"],
} as const;

type BoardName = keyof typeof OWNERS;

const within = (name: BoardName, fields: string) => {
  const [kind, path] = OWNERS[name];
  return `{ ${kind}(fullPath: "${path}") { ${fields} } }`;
};

async function boardId(name: BoardName): Promise<string> {
  const data = await ask(app, within(name, "boards { nodes { id name } }"));
  const boards = data[OWNERS[name][0]].boards.nodes;
  return boards.find((board: { name: string }) => board.name === name).id;
}

interface List {
  id: string;
  title: string;
  listType: string;
  position: number | null;
  issuesCount: number;
  issues: { nodes: { title: string }[]; count: number; pageInfo: { endCursor: string } };
}

/** The lists of a board. */
async function listsOf(
  name: BoardName,
  as: CallOptions["as"] = "owner",
  { lists = "", issues = "" } = {},
): Promise<List[]> {
  const fields = `board(id: "${await boardId(name)}") { lists${lists} { nodes {
    id title listType position issuesCount
    issues${issues} { count nodes { title } pageInfo { endCursor } } } } }`;
  const { data, errors } = await send(app, as, within(name, fields));
  if (errors) throw new Error(errors[0].message);
  return data[OWNERS[name][0]].board.lists.nodes;
}

const titlesOf = (list: List | undefined) => list?.issues.nodes.map(({ title }) => title).join("");

/** The issues of each list of a board. */
const shown = async (name: BoardName, as?: CallOptions["as"], args?: object) =>
  (await listsOf(name, as, args)).map(titlesOf);

const listOf = async (name: BoardName, title: string) =>
  (await listsOf(name)).find((list) => list.title === title)?.id;

describe("a board", () => {
  it.each(["Group", "Project"] as const)("of a %s is what REST shows", async (name) => {
    const [kind, path] = OWNERS[name];
    const { json } = await app.call(`GET /${kind}s/${encodeURIComponent(path)}/boards`, {
      as: "owner",
    });
    const id = `gid://gitlab/Board/${json[0].id}`;
    const data = await ask(
      app,
      within(
        name,
        `boards { nodes { id name hideBacklogList hideClosedList weight webPath webUrl
           assignee { id } milestone { id } labels { nodes { title } }
           lists { nodes { title listType position collapsed maxIssueCount limitMetric
             label { title } } } } }
         one: boards(id: "${id}") { count } recentIssueBoards { nodes { id } }`,
      ),
    );
    const owner = data[kind];
    const board = owner.boards.nodes[0];
    expect(owner.boards.nodes).toHaveLength(1);
    expect(owner.one.count).toBe(1);
    expect(owner.recentIssueBoards.nodes).toEqual([]);
    const webPath = `${kind === "group" ? "/groups" : ""}/${path}/-/boards/${json[0].id}`;
    const common = { collapsed: false, maxIssueCount: 0, limitMetric: null };
    const label = (title: string, position: number) => ({
      title,
      listType: "label",
      position,
      label: { title },
      ...common,
    });
    const other = (title: string, listType: string) => ({
      title,
      listType,
      position: null,
      label: null,
      ...common,
    });
    expect(board).toMatchObject({
      id,
      name,
      hideBacklogList: false,
      hideClosedList: false,
      weight: null,
      webPath,
      webUrl: expect.stringMatching(new RegExp(`^https?://[^/]+${webPath}$`)),
      assignee: null,
      milestone: null,
      labels: { nodes: [] },
    });
    expect(board.lists.nodes).toEqual([
      other("Open", "backlog"),
      label("Development", 0),
      label("Testing", 1),
      other("Closed", "closed"),
    ]);
  });

  it("is null for those who may not see it, and in another group or project", async () => {
    const query = 'query ($id: BoardID!) { group(fullPath: "acme") { board(id: $id) { name } } }';
    const site = await boardId("Project");
    expect((await ask(app, query, { id: site })).group.board).toBeNull();
    const list = await listOf("Group", "Testing");
    const one = "query ($id: ListID!) { boardList(id: $id) { title issuesCount } }";
    expect((await ask(app, one, { id: list })).boardList).toEqual({
      title: "Testing",
      issuesCount: 2,
    });
    expect((await ask(app, one, { id: "gid://gitlab/List/9999" })).boardList).toBeNull();
  });

  it("of a project goes with its issues", async () => {
    const query = within("Project", "boards { count }");
    const list = await listOf("Project", "Testing");
    const site = "PUT /projects/acme%2Fsite";
    await app.call(site, { as: "owner", json: { issues_enabled: false } });
    try {
      expect((await ask(app, query)).project.boards.count).toBe(0);
      expect((await ask(app, `{ boardList(id: "${list}") { id } }`)).boardList).toBeNull();
    } finally {
      await app.call(site, { as: "owner", json: { issues_enabled: true } });
    }
  });
});

describe("the lists of a board", () => {
  it.each([
    ["Group", "owner", ["dey", "abfx", "cz", "hg"]],
    ["Group", "stranger", ["de", "ab", "c", "hg"]],
    ["Project", "owner", ["de", "abf", "c", "hg"]],
    ["Project", "stranger", ["de", "ab", "c", "hg"]],
  ] as const)("of a %s have the issues that a %s may read", async (name, as, expected) => {
    const lists = await listsOf(name, as);
    const sorted = (text: string | undefined) => [...(text ?? "")].sort().join("");
    expect(lists.map(titlesOf).map(sorted)).toEqual(expected.map(sorted));
    expect(titlesOf(lists[3])).toBe("hg");
    for (const [index, list] of lists.entries()) {
      expect([list.issues.count, list.issuesCount]).toEqual([
        expected[index]?.length,
        expected[index]?.length,
      ]);
    }
  });

  it.each(["Group", "Project"] as const)("of a %s are read in pages, both ways", async (name) => {
    const whole = await listsOf(name);
    for (const [at, { id, issues }] of whole.entries()) {
      for (const [size, cursor] of [
        ["first", "after"],
        ["last", "before"],
      ] as const) {
        const found: string[] = [];
        let place: string | undefined;
        for (;;) {
          const from = place === undefined ? "" : `, ${cursor}: "${place}"`;
          const { boardList } = await ask(
            app,
            `{ boardList(id: "${id}") { issues(${size}: 2${from}) { nodes { title }
               pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } }`,
          );
          const titles = boardList.issues.nodes.map(({ title }: { title: string }) => title);
          const { pageInfo } = boardList.issues;
          if (size === "first") found.push(...titles);
          else found.unshift(...titles);
          place = size === "first" ? pageInfo.endCursor : pageInfo.startCursor;
          if (!(size === "first" ? pageInfo.hasNextPage : pageInfo.hasPreviousPage)) break;
        }
        expect(found.join(""), `${at} ${size}`).toBe(issues.nodes.map((one) => one.title).join(""));
      }
    }
  });

  it.each([
    ['{labelName: ["UX"]}', ["d", "b", "", ""]],
    ['{not: {labelName: ["UX"]}}', ["e", "af", "c", "hg"]],
    ['{assigneeUsername: ["developer"]}', ["d", "", "", ""]],
    ["{assigneeWildcardId: NONE}", ["e", "abf", "c", "hg"]],
    ['{not: {assigneeUsername: ["developer"]}}', ["e", "abf", "c", "hg"]],
    ['{authorUsername: "developer"}', ["", "", "", ""]],
    ['{not: {authorUsername: "owner"}}', ["", "", "", ""]],
    ['{or: {authorUsernames: ["owner", "developer"]}}', ["de", "abf", "c", "hg"]],
    ['{milestoneTitle: "v1"}', ["d", "", "", ""]],
    ["{milestoneWildcardId: ANY}", ["d", "", "", ""]],
    ['{not: {milestoneTitle: "v1"}}', ["e", "abf", "c", "hg"]],
    ['{weight: "3"}', ["d", "", "", ""]],
    ["{weightWildcardId: NONE}", ["e", "abf", "c", "hg"]],
    ["{confidential: true}", ["", "f", "", ""]],
    ['{search: "c"}', ["", "", "c", ""]],
    ["{types: [INCIDENT]}", ["", "", "", ""]],
    ["{not: {types: [ISSUE]}}", ["", "", "", ""]],
    ["{not: {types: [INCIDENT]}}", ["de", "abf", "c", "hg"]],
    ['{iids: ["1", "3"]}', ["", "a", "c", ""]],
    ['{not: {iids: ["1", "3"]}}', ["de", "bf", "", "hg"]],
    ['{myReactionEmoji: "rocket"}', ["", "", "", ""]],
  ])("are filtered by %s", async (filter, expected) => {
    const lists = await listsOf("Project", "owner", {
      lists: `(issueFilters: ${filter})`,
      issues: `(filters: ${filter})`,
    });
    expect(lists.map(titlesOf)).toEqual(expected);
    expect(lists.map(({ issuesCount }) => issuesCount)).toEqual(
      expected.map(({ length }) => length),
    );
    const [open] = lists;
    const alone = `{ boardList(id: "${open?.id}", issueFilters: ${filter}) { issuesCount } }`;
    expect((await ask(app, alone)).boardList.issuesCount).toBe(expected[0]?.length);
  });

  it("are counted for at most 200 lists at once", async () => {
    const change = (sql: string) => app.store.transaction((db) => db.run(sql));
    await change(
      `insert into boards (namespace_id, name, created_at, updated_at)
       with recursive n(x) as (select 1 union all select x + 1 from n where x < 67)
       select (select id from namespaces where full_path = 'acme'), 'many', 0, 0 from n`,
    );
    await change(
      `insert into board_lists (board_id, list_type, created_at, updated_at)
       select id, type, 0, 0 from boards
       cross join (select 'backlog' as type union all select 'closed') as types where name = 'many'`,
    );
    await change(
      `insert into board_lists (board_id, label_id, position, created_at, updated_at)
       select id, (select min(id) from labels where name = 'Testing'), 0, 0, 0 from boards
       where name = 'many'`,
    );
    try {
      const counted = (last: number) =>
        send(
          app,
          "owner",
          `{ group(fullPath: "acme") { boards(last: ${last}) { nodes {
             lists(first: 3) { nodes { issuesCount } } } } } }`,
        );
      const { data, errors: none } = await counted(66);
      expect(none).toBeUndefined();
      const counts = [{ issuesCount: 7 }, { issuesCount: 2 }, { issuesCount: 2 }];
      expect(data.group.boards.nodes[65].lists.nodes).toEqual(counts);
      const { errors } = await counted(67);
      expect(errors?.[0].message).toBe("The issues of more than 200 lists are not counted");
    } finally {
      await change("delete from boards where name = 'many'");
    }
  });

  it("refuse filters that exclude each other", async () => {
    const both = '(filters: {assigneeUsername: ["developer"], assigneeWildcardId: ANY})';
    await expect(listsOf("Project", "owner", { issues: both })).rejects.toThrow(
      "Only one of [assigneeUsername, assigneeWildcardId] arguments is allowed at the same time.",
    );
  });
});

const MOVE = `mutation ($board: BoardID!, $project: ID!, $iid: String!, $from: ID, $to: ID,
    $before: ID, $after: ID, $position: Int) {
  issueMoveList(input: {boardId: $board, projectPath: $project, iid: $iid, fromListId: $from,
    toListId: $to, moveBeforeId: $before, moveAfterId: $after, positionInList: $position}) {
    issue { title state relativePosition labels { nodes { title } } } errors } }`;

describe("moving an issue", () => {
  const move = async (title: string, variables: object, as: CallOptions["as"] = "owner") =>
    send(app, as, MOVE, {
      board: await boardId("Project"),
      project: "acme/site",
      iid: iids[title],
      ...variables,
    });
  const numberOf = (id: string | undefined) => id?.split("/").at(-1);

  it("changes its place, by numbers or global ids", async () => {
    const { data } = await move("f", { after: ids["b"], before: numberOf(ids["a"]), from: null });
    expect(data.issueMoveList).toMatchObject({ issue: { title: "f" }, errors: [] });
    expect((await shown("Project"))[1]).toBe("afb");
    await move("f", { before: ids["b"] });
    expect((await shown("Project"))[1]).toBe("abf");
  });

  it("takes the label of the list it comes to, closes and reopens", async () => {
    const [open, development, testing, closed] = (await listsOf("Project")).map(({ id }) => id);
    const go = async (from: unknown, to: unknown, position?: number) =>
      (await move("e", { from, to, position })).data.issueMoveList.issue;
    expect((await go(open, testing, 0)).labels.nodes).toEqual([{ title: "Testing" }]);
    expect(await shown("Project")).toEqual(["d", "abf", "ec", "hg"]);
    expect((await go(testing, development, -1)).labels.nodes).toEqual([{ title: "Development" }]);
    expect(await shown("Project")).toEqual(["d", "abfe", "c", "hg"]);
    expect(await go(development, closed)).toMatchObject({ state: "closed", labels: { nodes: [] } });
    expect(await go(closed, open)).toMatchObject({ state: "opened", labels: { nodes: [] } });
    expect(await shown("Project")).toEqual(["ed", "abf", "c", "hg"]);
  });

  it.each([
    [
      {},
      "At least one of the arguments fromListId, toListId, positionInList, moveAfterId, or moveBeforeId is required",
    ],
    [{ from: "1" }, "Both fromListId and toListId must be present"],
    [{ position: 1 }, "Both fromListId and toListId are required when positionInList is given"],
    [
      { from: "1", to: "2", position: 1, before: "1" },
      "positionInList is mutually exclusive with any of moveBeforeId or moveAfterId",
    ],
    [{ from: "1", to: "2", position: -2 }, "positionInList must be >= 0 or -1"],
    [
      { before: "gid://gitlab/Project/1" },
      '"gid://gitlab/Project/1" does not represent an instance of Issue',
    ],
  ])("is refused with %o", async (variables, message) => {
    const { data, errors } = await move("a", variables);
    expect([data.issueMoveList, errors?.[0].message]).toEqual([null, message]);
  });

  it("needs the role of a reporter, the issue's board and its lists", async () => {
    const unavailable = async (title: string, variables: object, as?: CallOptions["as"]) => {
      const { data, errors } = await move(title, variables, as);
      expect(data.issueMoveList).toBeNull();
      expect(errors?.[0].message).toBe(NOT_AVAILABLE);
    };
    await unavailable("a", { before: ids["b"] }, "guest");
    await unavailable("a", { before: ids["b"] }, "stranger");
    await unavailable("x", { before: ids["b"], project: "acme/team/core" });
    await unavailable("a", { from: "999", to: "998" });
    await unavailable("a", { before: ids["b"], board: "gid://gitlab/Board/9999" });
    expect((await shown("Project"))[1]).toBe("abf");
  });

  it("shows positions in the order of the issues", async () => {
    // Closed ones have no copies of their positions that would have to be changed, too.
    await app.store.transaction(async (db) => {
      await db.run("update issues set relative_position = ? where title = 'g'", [2 ** 52]);
      await db.run("update issues set relative_position = ? where title = 'h'", [2 ** 53 - 1]);
    });
    const { nodes } = (
      await ask(
        app,
        `{ project(fullPath: "acme/site") { issues(sort: RELATIVE_POSITION_ASC) {
           nodes { title relativePosition } } } }`,
      )
    ).project.issues;
    const titles = nodes.map((one: { title: string }) => one.title).join("");
    expect([titles.includes("ab"), titles.slice(-2)]).toEqual([true, "gh"]);
    const positions = nodes.map((one: { relativePosition: number }) => one.relativePosition);
    expect(positions).toEqual([...positions].sort((one, other) => one - other));
    expect(new Set(positions).size).toBe(nodes.length);
    expect(positions.at(-1)).toBeLessThan(2 ** 31);
  });
});

const LIST = `mutation ($board: BoardID!, $label: LabelID, $position: Int, $backlog: Boolean) {
  boardListCreate(input: {boardId: $board, labelId: $label, position: $position, backlog: $backlog}) {
    list { id title position listType } errors } }`;

/** What GitLab's own page of boards sends (app/assets/javascripts/boards/graphql of its repository). */
const PAGE = {
  lists: `query BoardLists($fullPath: ID!, $boardId: BoardID!, $filters: BoardIssueInput,
      $isGroup: Boolean = false, $isProject: Boolean = false) {
    group(fullPath: $fullPath) @include(if: $isGroup) {
      id board(id: $boardId) { id hideBacklogList hideClosedList
        lists(issueFilters: $filters) { nodes { ...BoardListFragment } } } }
    project(fullPath: $fullPath) @include(if: $isProject) {
      id board(id: $boardId) { id hideBacklogList hideClosedList
        lists(issueFilters: $filters) { nodes { ...BoardListFragment } } } }
  }
  fragment BoardListFragment on BoardList { ...BoardListShared maxIssueCount limitMetric
    assignee { id name username avatarUrl webUrl } milestone { id title webPath description }
    iteration { id title startDate dueDate webUrl iterationCadence { id title } }
    status { id name iconName color position } }
  fragment BoardListShared on BoardList { id title position listType collapsed
    label { id title color textColor description } }`,
  issues: `query BoardListIssues($fullPath: ID!, $boardId: BoardID!, $id: ListID, $filters: BoardIssueInput,
      $isGroup: Boolean = false, $isProject: Boolean = false, $after: String, $first: Int) {
    queryComplexity { score limit }
    group(fullPath: $fullPath) @include(if: $isGroup) { id board(id: $boardId) { id
      lists(id: $id, issueFilters: $filters) { nodes { id listType
        issues(first: $first, filters: $filters, after: $after) {
          nodes { ...Issue } pageInfo { ...PageInfo } } } } } }
    project(fullPath: $fullPath) @include(if: $isProject) { id board(id: $boardId) { id
      lists(id: $id, issueFilters: $filters) { nodes { id listType
        issues(first: $first, filters: $filters, after: $after) {
          nodes { ...Issue } pageInfo { ...PageInfo } } } } } }
  }
  fragment Issue on Issue { id iid title referencePath: reference(full: true) closedAt dueDate
    emailsDisabled confidential hidden webUrl relativePosition type severity weight
    iteration { id title }
    milestone { id title state expired }
    author { id username avatarUrl name webUrl }
    assignees { nodes { ...User } } labels { nodes { id title color description } } }
  fragment User on User { id avatarUrl name username webUrl webPath }
  fragment PageInfo on PageInfo { hasNextPage hasPreviousPage startCursor endCursor }`,
  count: `query BoardList($id: ListID!, $filters: BoardIssueInput) {
    boardList(id: $id, issueFilters: $filters) { id issuesCount } }`,
  boards: `query Boards($fullPath: ID!) {
    group(fullPath: $fullPath) { id boards { nodes { id name } } recentIssueBoards { nodes { id name } }
      projects(search: "", first: 100, includeSubgroups: true, withIssuesEnabled: true) {
        nodes { id name fullPath nameWithNamespace archived } pageInfo { endCursor hasNextPage } }
      descendantGroups(first: 100) { nodes { id name fullName fullPath } }
      labels(includeAncestorGroups: true, searchTerm: "") { nodes { id title color textColor } }
      milestones(includeAncestors: true, searchTitle: "") { nodes { id title } } } }`,
};

describe("the documents of GitLab's own page", () => {
  it.each(["Group", "Project"] as const)("show a board of a %s", async (name) => {
    const [kind, fullPath] = OWNERS[name];
    const at = {
      fullPath,
      boardId: await boardId(name),
      isGroup: kind === "group",
      isProject: kind === "project",
      filters: { not: {} },
    };
    const { board } = (await ask(app, PAGE.lists, at))[kind];
    expect(board.lists.nodes).toHaveLength(4);
    expect(board.lists.nodes[0]).toMatchObject({ title: "Open", status: null, iteration: null });
    for (const { id } of board.lists.nodes) {
      const variables = { ...at, id, first: 10, filters: { labelName: ["Development"] } };
      const data = await ask(app, PAGE.issues, variables);
      expect(data.queryComplexity.score).toBeLessThan(data.queryComplexity.limit);
      const [list] = data[kind].board.lists.nodes;
      const { boardList } = await ask(app, PAGE.count, { id, filters: variables.filters });
      expect(boardList).toEqual({ id, issuesCount: list.issues.nodes.length });
    }
    const [, development] = board.lists.nodes;
    const all = { ...at, id: development.id, first: 1 };
    const read: string[] = [];
    let after: string | undefined;
    do {
      const [list] = (await ask(app, PAGE.issues, { ...all, after }))[kind].board.lists.nodes;
      read.push(...list.issues.nodes.map((one: { referencePath: string }) => one.referencePath));
      after = list.issues.pageInfo.hasNextPage ? list.issues.pageInfo.endCursor : undefined;
    } while (after !== undefined);
    expect(read).toHaveLength(name === "Group" ? 4 : 3);
    expect(read[0]).toMatch(/^acme\/.+#\d+$/);
  });

  it("find boards, and what they can be filtered by", async () => {
    const { group } = await ask(app, PAGE.boards, { fullPath: "acme" });
    expect(group.boards.nodes).toEqual([{ id: await boardId("Group"), name: "Group" }]);
    expect(group.projects.nodes.length).toBeGreaterThan(1);
  });
});

describe("changing boards", () => {
  it.each(["Group", "Project"] as const)("of a %s", async (name) => {
    const [kind, path] = OWNERS[name];
    const created = await ask(
      app,
      `mutation ($path: ID!, $user: UserID) { createBoard(input: {${kind}Path: $path, name: "New",
         hideClosedList: true, labels: ["UX"], weight: 3, assigneeId: $user, clientMutationId: "1"}) {
         clientMutationId errors board { id name hideClosedList weight webPath assignee { username }
           labels { nodes { title } } lists { nodes { title } } } } }`,
      { path, user: (await ask(app, "{ currentUser { id } }")).currentUser.id },
    );
    const { board, errors, clientMutationId } = created.createBoard;
    expect([errors, clientMutationId]).toEqual([[], "1"]);
    expect(board).toMatchObject({
      name: "New",
      hideClosedList: true,
      weight: 3,
      assignee: { username: "owner" },
      labels: { nodes: [{ title: "UX" }] },
      lists: { nodes: [{ title: "Open" }] },
    });

    const changed = await ask(
      app,
      `mutation ($id: BoardID!) { updateBoard(input: {id: $id, name: "Newer", weight: null,
         assigneeId: null, labelIds: [], hideClosedList: false, hideBacklogList: true}) { errors
         board { name weight assignee { username } labels { nodes { title } } lists { nodes { title } } } } }`,
      { id: board.id },
    );
    expect(changed.updateBoard).toEqual({
      errors: [],
      board: {
        name: "Newer",
        weight: null,
        assignee: null,
        labels: { nodes: [] },
        lists: { nodes: [{ title: "Closed" }] },
      },
    });

    const labels = await ask(app, '{ group(fullPath: "acme") { labels { nodes { id title } } } }');
    const label = (title: string) =>
      labels.group.labels.nodes.find((one: { title: string }) => one.title === title).id;
    const add = async (variables: object) =>
      (await ask(app, LIST, { board: board.id, ...variables })).boardListCreate;
    expect((await add({ label: label("UX") })).list).toMatchObject({ title: "UX", position: 0 });
    const second = (await add({ label: label("Testing"), position: 0 })).list;
    expect(second).toMatchObject({ title: "Testing", position: 0 });
    expect(await add({ label: label("UX") })).toEqual({
      list: null,
      errors: ["Label has already been taken"],
    });
    expect((await add({ backlog: true })).list).toMatchObject({ title: "Open", position: null });

    const change = `mutation ($id: ListID!, $position: Int, $collapsed: Boolean) {
      updateBoardList(input: {listId: $id, position: $position, collapsed: $collapsed}) {
        list { position collapsed } errors } }`;
    const update = async (variables: object) =>
      (await ask(app, change, { id: second.id, ...variables })).updateBoardList.list;
    expect(await update({ position: 1 })).toEqual({ position: 1, collapsed: false });
    expect(await update({ collapsed: true })).toEqual({ position: 1, collapsed: true });
    const one = `{ boardList(id: "${second.id}") { collapsed } }`;
    expect((await ask(app, one, {}, "admin")).boardList.collapsed).toBe(false);
    expect(await update({ collapsed: false })).toEqual({ position: 1, collapsed: false });

    const removed = await ask(
      app,
      `mutation ($list: ListID!, $board: BoardID!) {
         destroyBoardList(input: {listId: $list}) { list { id } errors }
         destroyBoard(input: {id: $board}) { board { id } errors } }`,
      { list: second.id, board: board.id },
    );
    expect(removed).toEqual({
      destroyBoardList: { list: null, errors: [] },
      destroyBoard: { board: null, errors: [] },
    });
    expect((await ask(app, within(name, "boards { count }")))[kind].boards.count).toBe(1);
  });

  it.each([
    [
      'createBoard(input: {name: "x"}) { errors }',
      "Exactly one of group_path or project_path arguments is required",
    ],
    [
      'createBoard(input: {groupPath: "acme", projectPath: "acme/site"}) { errors }',
      "Exactly one of group_path or project_path arguments is required",
    ],
    [
      'createBoard(input: {groupPath: "acme", labels: ["a"], labelIds: []}) { errors }',
      "Only one of [labels, labelIds] arguments is allowed at the same time.",
    ],
    ['createBoard(input: {groupPath: "acme/none", name: "x"}) { errors }', NOT_AVAILABLE],
    ['updateBoard(input: {id: "gid://gitlab/Board/9999", name: "x"}) { errors }', NOT_AVAILABLE],
    ['destroyBoard(input: {id: "gid://gitlab/Board/9999"}) { errors }', NOT_AVAILABLE],
    ['destroyBoardList(input: {listId: "gid://gitlab/List/9999"}) { errors }', NOT_AVAILABLE],
    [
      'boardListCreate(input: {boardId: "gid://gitlab/Board/1"}) { errors }',
      "one and only one of backlog or labelId or milestoneId or assigneeId or iterationId or statusId is required",
    ],
    [
      'boardListCreate(input: {boardId: "gid://gitlab/Board/1", backlog: true, labelId: "gid://gitlab/Label/1"}) { errors }',
      "one and only one of backlog or labelId or milestoneId or assigneeId or iterationId or statusId is required",
    ],
  ])("refuses %s", async (field, message) => {
    const { errors } = await send(app, "owner", `mutation { ${field} }`);
    expect(errors?.[0].message).toContain(message);
  });

  it("needs the role of a reporter, and that of an owner to remove lists", async () => {
    const [board, list] = [await boardId("Project"), await listOf("Project", "Testing")];
    const attempts: [field: string, as: "guest" | "developer"][] = [
      ['createBoard(input: {projectPath: "acme/site", name: "x"}) { errors }', "guest"],
      [`updateBoard(input: {id: "${board}", name: "x"}) { errors }`, "guest"],
      [`destroyBoard(input: {id: "${board}"}) { errors }`, "guest"],
      [`boardListCreate(input: {boardId: "${board}", backlog: true}) { errors }`, "guest"],
      [`updateBoardList(input: {listId: "${list}", position: 0}) { errors }`, "guest"],
      [`destroyBoardList(input: {listId: "${list}"}) { errors }`, "developer"],
    ];
    for (const [field, as] of attempts) {
      const { errors } = await send(app, as, `mutation { ${field} }`);
      expect(errors?.[0].message, field).toBe(NOT_AVAILABLE);
    }
    const { data } = await send(
      app,
      "guest",
      `mutation { updateBoardList(input: {listId: "${list}", collapsed: true}) { list { collapsed } } }`,
    );
    expect(data.updateBoardList.list.collapsed).toBe(true);
  });

  it("has no lists of statuses, and no limits", async () => {
    const [board, list] = [await boardId("Project"), await listOf("Project", "Testing")];
    const create = (name: string, subject: string) =>
      `${name}: boardListCreate(input: {boardId: "${board}", ${subject}}) { errors list { id } }`;
    const limit = (name: string, limits: string) =>
      `${name}: boardListUpdateLimitMetrics(input: {listId: "${list}", ${limits}}) {
        errors list { maxIssueCount maxIssueWeight limitMetric } }`;
    const { data, errors } = await send(
      app,
      "owner",
      `mutation { ${create("a", 'milestoneId: "gid://gitlab/Milestone/98765"')}
        ${create("c", 'iterationId: "gid://gitlab/Iteration/98765"')}
        ${create("d", 'statusId: "gid://gitlab/WorkItems::Statuses::SystemDefined::Status/1"')}
        ${limit("none", "maxIssueCount: 0, maxIssueWeight: 0")}
        ${limit("some", "maxIssueCount: 5, limitMetric: issue_count")}
        move: issueMoveList(input: {boardId: "${board}", projectPath: "acme/site", iid: "1",
          epicId: "gid://gitlab/Epic/98765"}) { errors } }`,
    );
    const refusedAs = (error: string) => ({ errors: [error], list: null });
    expect(data).toEqual({
      a: refusedAs("Milestone not found!"),
      c: refusedAs("Iteration not found!"),
      d: refusedAs("Status feature not available"),
      none: { errors: [], list: { maxIssueCount: 0, maxIssueWeight: 0, limitMetric: null } },
      some: { errors: ["Limits of lists are not supported"], list: null },
      move: { errors: ["No Work Item found with ID: 98765."] },
    });
    expect(errors).toBeUndefined();
    const refused = await send(app, "guest", `mutation { ${limit("none", "maxIssueCount: 0")} }`);
    expect(refused.errors?.[0].message).toBe(NOT_AVAILABLE);
  });
});

it("has lists of milestones and people, and swimlanes of epics", async () => {
  const id = await boardId("Project");
  const { group, users } = await ask(
    app,
    `{ group(fullPath: "acme") { milestones(searchTitle: "v1") { nodes { id } } }
      users(usernames: ["developer"]) { nodes { id } } }`,
  );
  const made = await ask(
    app,
    `mutation { a: boardListCreate(input: {boardId: "${id}", position: 0,
        milestoneId: "${group.milestones.nodes[0].id}"}) { errors list { id title listType position milestone { title } } }
      b: boardListCreate(input: {boardId: "${id}", assigneeId: "${users.nodes[0].id}"}) {
        errors list { id title listType assignee { username } issues { nodes { title } } } }
      c: createEpic(input: {groupPath: "acme", title: "Lane"}) { errors epic { id } } }`,
    {},
    "owner",
  );
  expect(made.a).toMatchObject({
    errors: [],
    list: { title: "v1", listType: "milestone", position: 0, milestone: { title: "v1" } },
  });
  expect(made.b).toMatchObject({
    errors: [],
    list: { title: "@developer", listType: "assignee", issues: { nodes: [{ title: "d" }] } },
  });
  const epic = made.c.epic.id;
  const lanes = async (filters = "", as: CallOptions["as"] = "owner") => {
    const lane = `epics${filters} { nodes { title userPreferences { collapsed } descendantCounts { openedIssues } } }`;
    const open = `lists { nodes { title issues(filters: {epicId: "${epic}"}) { nodes { title epic { title } } } } }`;
    const { project } = await ask(
      app,
      within("Project", `board(id: "${id}") { ${lane} ${open} }`),
      {},
      as,
    );
    return project.board;
  };
  expect((await lanes()).epics.nodes).toEqual([]);
  const way = `boardId: "${id}", projectPath: "acme/site", iid: "${iids["d"]}"`;
  const moved = await ask(
    app,
    `mutation { issueMoveList(input: {${way}, epicId: "${epic}"}) { errors issue { epic { title } } } }`,
    {},
    "owner",
  );
  expect(moved.issueMoveList).toEqual({ errors: [], issue: { epic: { title: "Lane" } } });
  const { epics, lists } = await lanes();
  expect(epics.nodes).toEqual([
    { title: "Lane", userPreferences: null, descendantCounts: { openedIssues: 1 } },
  ]);
  const found = lists.nodes.flatMap(
    (one: { title: string; issues: { nodes: { title: string; epic: object }[] } }) =>
      one.issues.nodes.map(({ title, epic: { ...lane } }) => [one.title, title, lane]),
  );
  expect(found).toEqual([
    ["v1", "d", { title: "Lane" }],
    ["@developer", "d", { title: "Lane" }],
  ]);
  expect((await lanes('(issueFilters: {labelName: ["UX"]})')).epics.nodes).toHaveLength(1);
  expect((await lanes('(issueFilters: {labelName: ["Testing"]})')).epics.nodes).toEqual([]);
  const wild = `issues(epicWildcardId: ANY) { nodes { title } } none: issues(epicId: "None") { count }`;
  const { project } = await ask(app, within("Project", wild), {}, "owner");
  expect(project.issues.nodes).toEqual([{ title: "d" }]);
  const taken = await ask(
    app,
    `mutation { issueMoveList(input: {${way}, epicId: null}) { errors issue { epic { title } } } }`,
    {},
    "owner",
  );
  expect(taken.issueMoveList).toEqual({ errors: [], issue: { epic: null } });
  await ask(
    app,
    `mutation { a: destroyBoardList(input: {listId: "${made.a.list.id}"}) { errors }
      b: destroyBoardList(input: {listId: "${made.b.list.id}"}) { errors } }`,
    {},
    "owner",
  );
});

it("tells the weights of lists together, of those issues that a filter selects", async () => {
  const id = await listOf("Project", "Open");
  const weights = async (filters: string, as?: CallOptions["as"]) => {
    const query = `{ boardList(id: "${id}"${filters}) { totalIssueWeight issuesCount } }`;
    return (await ask(app, query, {}, as)).boardList;
  };
  const all = await weights("");
  expect(all.totalIssueWeight).toBe("3");
  expect(await weights(', issueFilters: {labelName: ["UX", null]}')).toEqual({
    totalIssueWeight: "3",
    issuesCount: 1,
  });
  expect(await weights(', issueFilters: {not: {labelName: ["UX"]}}')).toEqual({
    totalIssueWeight: "0",
    issuesCount: all.issuesCount - 1,
  });
});
