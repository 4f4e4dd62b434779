import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findSource } from "../../src/core/access/source.ts";
import { collapseList } from "../../src/resources/boards/changes.ts";
import { countIssues, findScope, listIssues } from "../../src/resources/boards/issues.ts";
import { type IssueMove, moveIssueOnBoard } from "../../src/resources/boards/moves.ts";
import type { BoardList } from "../../src/resources/boards/queries.ts";
import { SUBJECT_ID } from "../../src/resources/boards/subjects.ts";
import type { Database, Reader } from "../../src/store/port.ts";
import { boardIssues, boardSeed } from "../boards.ts";
import { clock, type TestApp, testApp } from "../helpers.ts";

// REST has no route for the issues of a board's lists. These tests call the functions that GraphQL uses.

let app: TestApp;
const TODAY = "2026-11-22";
const userIds: Record<string, number> = {};
const issueIds: Record<string, number> = {};
/** Numbers and projects of issues by title. */
const numbers: Record<string, { iid: number; path: string }> = {};
/** Board ids by name. */
const boardIds: Record<string, number> = {};

/** The groups of the seed; a board of the first one has a list of each kind. */
const groups = boardSeed.groups?.map((group) =>
  group.path === "acme"
    ? {
        ...group,
        iteration_cadences: [
          {
            title: "Weeks",
            iterations: [{ title: "first", start_date: "2026-11-16", due_date: "2026-11-29" }],
          },
        ],
        boards: [
          ...(group.boards ?? []),
          {
            name: "Plans",
            lists: [
              "Testing",
              { milestone: "v1" },
              { assignee: "developer" },
              { iteration: "first" },
              { assignee: "stranger" },
            ],
          },
        ],
      }
    : group,
);

beforeAll(async () => {
  app = await testApp({ seed: { ...boardSeed, groups } });
  for (const { id, username } of await app.admin.users.list()) userIds[username] = id;
  for (const [title, { id, iid, path }] of Object.entries(await boardIssues(app))) {
    issueIds[title] = id;
    numbers[title] = { iid, path };
  }
  for (const path of ["/projects/acme%2Fsite", "/groups/acme"]) {
    const { json } = await app.call(`GET ${path}/boards`, { as: "admin" });
    for (const { id, name } of json) boardIds[name] = id;
  }
});
afterAll(() => app.dispose());

function viewerOf(username: string | undefined) {
  const caller = username && {
    id: userIds[username] as number,
    username,
    admin: username === "admin",
    external: false,
    scopes: ["api" as const],
    by: { kind: "token" as const, id: 1 },
  };
  return { caller: caller || undefined, today: TODAY };
}

async function viewing(db: Reader, board: string, username?: string) {
  const viewer = viewerOf(username);
  const source =
    board === "Project"
      ? await findSource(db, "project", "acme/site", viewer)
      : await findSource(db, "group", "acme", viewer);
  const scope = await findScope(db, boardIds[board] as number);
  if (!scope) throw new Error("the board is gone");
  const lists = await db.all<
    Pick<BoardList, "id" | "list_type" | "subject_id"> & { name: string | null }
  >(
    `select bl.id, bl.list_type, ${SUBJECT_ID} as subject_id, coalesce(l.name, m.title, u.username, it.title) as name
     from board_lists bl left join labels l on l.id = bl.label_id left join milestones m on m.id = bl.milestone_id
     left join users u on u.id = bl.assignee_id left join iterations it on it.id = bl.iteration_id
     where bl.board_id = ?`,
    [boardIds[board] as number],
  );
  const list = (name: string) => {
    const found = lists.find((one) => (one.name ?? one.list_type) === name);
    if (!found) throw new Error(`there is no list ${name}`);
    return found;
  };
  return { viewer, source, scope, list };
}

const titleOf = ({ id }: { id: number }) =>
  Object.entries(issueIds).find(([, one]) => one === id)?.[0];

/** The titles of a list's issues. */
async function shown(board: string, name: string, as = "owner", more: object = {}) {
  const { scope, list, ...who } = await viewing(app.store, board, as);
  const found = await listIssues(app.store, who, scope, list(name), { first: 100, ...more });
  return found.map(titleOf).join("");
}

/** A move on a board; lists by name. */
type Move = Pick<IssueMove, "position"> & {
  from?: string;
  to?: string;
  before?: string;
  after?: string;
};

async function move(board: string, title: string, way: Move, as = "owner") {
  await app.store.transaction(async (db: Database) => {
    const { source, viewer, list } = await viewing(db, board, as);
    const { iid, path } = numbers[title] as { iid: number; path: string };
    const { caller } = viewer;
    if (!caller) throw new Error("nobody moves issues");
    const moved = await moveIssueOnBoard(
      db,
      { source, caller, viewer },
      {
        boardId: boardIds[board] as number,
        project: await findSource(db, "project", path, viewer),
        iid,
        ...(way.from && { fromListId: list(way.from).id }),
        ...(way.to && { toListId: list(way.to).id }),
        ...((way.before || way.after) && {
          neighbours: {
            ...(way.before && { before: issueIds[way.before] }),
            ...(way.after && { after: issueIds[way.after] }),
          },
        }),
        ...(way.position !== undefined && { position: way.position }),
      },
      clock(),
    );
    expect(moved).toBe(issueIds[title]);
  });
}

async function labelsOf(title: string) {
  const { iid, path } = numbers[title] as { iid: number; path: string };
  const { json } = await app.call(`GET /projects/${encodeURIComponent(path)}/issues/${iid}`, {
    as: "admin",
  });
  return [json.state, ...json.labels];
}

describe("the lists of a board", () => {
  it.each([
    ["Project", "owner", "abf", "c", "de", "hg"],
    ["Project", "stranger", "ab", "c", "de", "hg"],
    ["Group", "owner", "xabf", "zc", "yde", "hg"],
    ["Group", "stranger", "ab", "c", "de", "hg"],
  ])("of a %s show %s their issues", async (board, as, development, testing, open, closed) => {
    const sorted = (titles: string) =>
      [...titles]
        .sort((one, other) => (issueIds[one] as number) - (issueIds[other] as number))
        .join("");
    expect(await shown(board, "Development", as)).toBe(sorted(development));
    expect(await shown(board, "Testing", as)).toBe(sorted(testing));
    expect(await shown(board, "backlog", as)).toBe(sorted(open));
    expect(await shown(board, "closed", as)).toBe(closed);
  });

  it.each(["Project", "Group"])("of a %s are read in parts, from either end", async (board) => {
    for (const name of ["Development", "backlog", "closed"]) {
      const all = await shown(board, name);
      const { scope, list, ...who } = await viewing(app.store, board, "owner");
      const read: (string | undefined)[] = [];
      let after: { at: number; id: number } | undefined;
      for (;;) {
        const [one] = await listIssues(app.store, who, scope, list(name), { first: 1, after });
        if (!one) break;
        read.push(titleOf(one));
        after = one;
      }
      expect(read.join("")).toBe(all);
      expect(await shown(board, name, "owner", { reversed: true })).toBe(
        [...all].reverse().join(""),
      );
      const counted = await countIssues(app.store, who, scope, list(name));
      expect(counted).toEqual({ issues: all.length, weight: all.includes("d") ? "3" : "0" });
    }
  });

  it("show only what is in the board's scope", async () => {
    const at = `/projects/acme%2Fsite/boards/${boardIds["Project"]}`;
    const { json: milestones } = await app.call("GET /groups/acme/milestones", { as: "owner" });
    for (const [scope, open, development] of [
      [{ labels: "UX" }, "d", "b"],
      [{ labels: "", weight: 3 }, "d", ""],
      [{ weight: null, assignee_id: userIds["developer"] }, "d", ""],
      [{ assignee_id: null, milestone_id: milestones[0].id }, "d", ""],
      [{ milestone_id: null }, "de", "abf"],
    ] as const) {
      const { status } = await app.call(`PUT ${at}`, { as: "owner", json: scope });
      expect(status).toBe(200);
      expect(await shown("Project", "backlog")).toBe(open);
      expect(await shown("Project", "Development")).toBe(development);
    }
  });

  it("filter by further conditions", async () => {
    const filter = { sql: "i.confidential = ?", values: [1] };
    expect(await shown("Group", "Development", "owner", { filter })).toBe("f");
  });
});

describe("moving an issue", () => {
  it("to another list changes its labels", async () => {
    await move("Project", "a", { from: "Development", to: "Testing" });
    expect(await labelsOf("a")).toEqual(["opened", "Testing"]);
    expect(await shown("Project", "Testing")).toBe("ac");
    await move("Project", "a", { from: "Testing", to: "Development" });
    expect(await shown("Project", "Development")).toBe("abf");
  });

  it("to the open list takes the labels of all lists", async () => {
    await move("Project", "b", { from: "Development", to: "backlog" });
    expect(await labelsOf("b")).toEqual(["opened", "UX"]);
    expect(await shown("Project", "backlog")).toBe("bde");
    await move("Project", "b", { from: "backlog", to: "Development" });
    expect(await labelsOf("b")).toEqual(["opened", "Development", "UX"]);
  });

  it("to the closed list closes it, and out of it reopens it", async () => {
    await move("Group", "z", { from: "Testing", to: "closed" });
    expect(await labelsOf("z")).toEqual(["closed"]);
    expect((await shown("Group", "closed"))[0]).toBe("z");
    await move("Group", "z", { from: "closed", to: "Testing" });
    expect(await labelsOf("z")).toEqual(["opened", "Testing"]);
    expect(await shown("Group", "closed")).toBe("hg");
  });

  it("puts it between others, also of other projects", async () => {
    await move("Project", "f", { before: "a", after: "b" });
    expect(await shown("Project", "Development")).toBe("afb");
    await move("Group", "x", { before: "f", after: "b" });
    expect(await shown("Group", "Development")).toBe("afxb");
    await move("Group", "x", { after: "a" });
    expect(await shown("Group", "Development")).toBe("xafb");
  });

  it.each([
    [0, "eafb"],
    [2, "afeb"],
    [-1, "afbe"],
    [99, "afbe"],
  ])("to position %s of a list", async (position, order) => {
    await move("Project", "e", { from: "backlog", to: "Development", position });
    expect(await shown("Project", "Development")).toBe(order);
    await move("Project", "e", { from: "Development", to: "backlog" });
  });

  it("within a list to a position", async () => {
    await move("Project", "b", { to: "Development", position: 0 });
    expect(await shown("Project", "Development")).toBe("baf");
    await move("Project", "b", { to: "Development", position: -1 });
    expect(await shown("Project", "Development")).toBe("afb");
  });

  it("needs the role of a reporter, an issue of the board and its lists", async () => {
    const way = { from: "Development", to: "Testing" };
    await expect(move("Project", "a", way, "guest")).rejects.toMatchObject({ status: 403 });
    await move("Project", "a", way, "reporter");
    await move("Project", "a", { from: "Testing", to: "Development" }, "reporter");
    await expect(move("Project", "x", way)).rejects.toMatchObject({ status: 404 });
    expect(await labelsOf("a")).toEqual(["opened", "Development"]);
  });

  const planOf = async (title: string) => {
    const { iid, path } = numbers[title] as { iid: number; path: string };
    const { json } = await app.call(`GET /projects/${encodeURIComponent(path)}/issues/${iid}`, {
      as: "admin",
    });
    const assignees = json.assignees.map(({ username }: { username: string }) => username);
    return [
      json.state,
      json.milestone?.title,
      assignees.join(),
      json.iteration?.title,
      ...json.labels,
    ];
  };

  it("to lists of milestones, people and iterations plans it", async () => {
    const lists = ["backlog", "Testing", "v1", "developer", "first", "closed"];
    const board = async () => Promise.all(lists.map((name) => shown("Plans", name)));
    const before = await board();
    expect(before.slice(1)).toEqual(["cz", "d", "d", "", "hg"]);
    expect([...String(before[0])].sort().join("")).toBe("abefxy");
    for (const [from, to, plan, place] of [
      ["backlog", "v1", ["opened", "v1", "", undefined], "v1"],
      // Only of one of the same kind, and of the open list, it keeps nothing of where it was.
      ["v1", "developer", ["opened", "v1", "developer", undefined], "developer"],
      ["developer", "first", ["opened", "v1", "developer", "first"], "first"],
      ["first", "Testing", ["opened", "v1", "developer", "first", "Testing"], "Testing"],
      ["developer", "stranger", ["opened", "v1", "stranger", "first", "Testing"], "stranger"],
      ["v1", "closed", ["closed", "v1", "stranger", "first"], "closed"],
      ["closed", "developer", ["opened", "v1", "stranger,developer", "first"], "developer"],
      ["first", "backlog", ["opened", "v1", "stranger,developer", undefined], "v1"],
      ["v1", "backlog", ["opened", undefined, "stranger,developer", undefined], "stranger"],
      ["stranger", "backlog", ["opened", undefined, "developer", undefined], "developer"],
      ["developer", "backlog", ["opened", undefined, "", undefined], "backlog"],
    ] as const) {
      await move("Plans", "e", { from, to });
      const [state, milestone, assignees, ...more] = await planOf("e");
      const people = assignees.split(",").sort().reverse().join();
      expect([state, milestone, people, ...more]).toEqual(plan);
      expect(await shown("Plans", place)).toContain("e");
    }
    expect(await board()).toEqual(before);
    await expect(move("Plans", "f", { from: "backlog", to: "stranger" })).rejects.toMatchObject({
      body: { message: { error: "Not authorized to assign issue to list user" } },
    });
    await move("Plans", "d", { to: "v1", position: 0 });
    const { scope, list, ...who } = await viewing(app.store, "Plans", "owner");
    expect(await countIssues(app.store, who, scope, list("developer"))).toEqual({
      issues: 1,
      weight: "3",
    });
  });

  it("leaves a consistent database", async () => {
    const wrong = await app.store.rows(
      `select x.issue_id from issue_labels x join issues i on i.id = x.issue_id
       where x.project_id <> i.project_id
         or coalesce(x.open_position, -1) <> case when i.state = 'opened' then i.relative_position else -1 end`,
    );
    expect(wrong).toEqual([]);
  });
});

it("collapses lists for each user", async () => {
  const { list } = await viewing(app.store, "Project", "owner");
  const { id } = list("backlog");
  const collapsed = () =>
    app.store.rows("select user_id from collapsed_board_lists where list_id = ?", [id]);
  await app.store.transaction(async (db) => {
    await collapseList(db, id, userIds["owner"] as number, true);
    await collapseList(db, id, userIds["owner"] as number, true);
    await collapseList(db, id, userIds["guest"] as number, true);
    await collapseList(db, id, userIds["guest"] as number, false);
  });
  expect(await collapsed()).toEqual([[userIds["owner"]]]);
});
