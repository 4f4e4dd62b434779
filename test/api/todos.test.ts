import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";

const list = async (as: Person, query = "") => (await app.call(`GET /todos?${query}`, { as })).json;
const userId = async (as: Person) => (await app.call("GET /user", { as })).json.id;

beforeEach(async () => {
  for (const as of ["guest", "reporter", "developer", "stranger"] as const) {
    await app.call("POST /todos/mark_as_done", { as });
  }
});

async function newIssue(as: Person = "owner", json: object = {}, path = SITE) {
  const answer = await app.call(`POST ${path}/issues`, { as, json: { title: "Look", ...json } });
  expect(answer.status, answer.text).toBe(201);
  return answer.json;
}

describe("todos", () => {
  it("are not available to anonymous callers", async () => {
    expect((await app.call("GET /todos")).status).toBe(401);
    expect((await app.call("POST /todos/mark_as_done")).status).toBe(401);
  });

  it("are created by assigning, with GitLab's fields", async () => {
    const issue = await newIssue("owner", { assignee_ids: [await userId("guest")] });
    const { json: project } = await app.call(`GET ${SITE}`);
    const { json: listed } = await app.call(`GET ${SITE}/issues?iids[]=${issue.iid}`);
    expect(await list("guest")).toEqual([
      {
        id: expect.any(Number),
        project: {
          id: project.id,
          description: null,
          name: "Site",
          name_with_namespace: "Acme / Site",
          path: "site",
          path_with_namespace: "acme/site",
          created_at: project.created_at,
        },
        author: expect.objectContaining({ username: "owner" }),
        action_name: "assigned",
        target_type: "Issue",
        target: listed[0],
        target_url: issue.web_url,
        body: "Look",
        state: "pending",
        created_at: expect.any(String),
      },
    ]);
  });

  it("are created by assigning later, once", async () => {
    const { iid } = await newIssue();
    const assignee_ids = [await userId("guest")];
    for (const title of ["a", "b"]) {
      await app.call(`PUT ${SITE}/issues/${iid}`, { as: "owner", json: { assignee_ids, title } });
    }
    expect(await list("guest")).toHaveLength(1);
  });

  it("are created by mentions in descriptions and notes, in any case, but not in code", async () => {
    const description = "Ask @Guest. `@reporter` and mail@developer.example don't count; @nobody";
    const { iid } = await newIssue("owner", { description });
    expect(await list("guest")).toMatchObject([{ action_name: "mentioned", body: "Look" }]);
    expect(await list("reporter")).toEqual([]);
    expect(await list("developer")).toEqual([]);
    const body = "@reporter have a look, @owner too";
    const note = await app.call(`POST ${SITE}/issues/${iid}/notes`, {
      as: "owner",
      json: { body },
    });
    expect(await list("reporter")).toMatchObject([
      {
        action_name: "directly_addressed",
        body,
        target_url: `http://pm.test/acme/site/-/issues/${iid}#note_${note.json.id}`,
      },
    ]);
    expect(await list("owner")).toEqual([]);
  });

  it("are created for the members of a group that is mentioned, unless it can't be", async () => {
    const group = { name: "crew", path: "crew", visibility: "public" };
    const { json: crew } = await app.call("POST /groups", { as: "owner", json: group });
    const team = { name: "pilots", path: "pilots", parent_id: crew.id, visibility: "public" };
    const { json: pilots } = await app.call("POST /groups", { as: "owner", json: team });
    const add = async (id: number, name: Person) => {
      const json = { user_id: await userId(name), access_level: 20 };
      await app.call(`POST /groups/${id}/members`, { as: "owner", json });
    };
    for (const name of ["guest", "stranger"] as const) await add(crew.id, name);
    await add(pilots.id, "reporter");
    const told = async () => [
      (await list("guest")).length,
      (await list("stranger")).length,
      (await list("reporter")).length,
    ];
    await newIssue("owner", { description: "Dear @Crew, look." });
    expect(await told()).toEqual([1, 1, 0]);
    // The path of a subgroup mentions nobody of the group above it, nor a user with that name.
    await newIssue("owner", { description: "@crew/pilots or @guest/other" });
    expect(await told()).toEqual([1, 1, 1]);
    await newIssue("owner", { description: "@crew", confidential: true });
    expect(await told()).toEqual([1, 1, 1]);
    const off = { mentions_disabled: true };
    await app.call(`PUT /groups/${crew.id}`, { as: "owner", json: off });
    await newIssue("owner", { description: "@crew and @crew/pilots" });
    expect(await told()).toEqual([1, 1, 2]);
  });

  it("are not created for users who can't read the record", async () => {
    const description = "@stranger @guest";
    await newIssue("owner", { description }, "/projects/secret%2Fvault");
    await newIssue("owner", { description, confidential: true });
    expect(await list("stranger")).toEqual([]);
    expect(await list("guest")).toHaveLength(1);
  });

  it("disappear with their target", async () => {
    const { iid } = await newIssue("owner", { description: "@guest" });
    const put = (confidential: boolean) =>
      app.call(`PUT ${SITE}/issues/${iid}`, { as: "owner", json: { confidential } });
    await put(true);
    expect(await list("guest")).toEqual([]);
    await put(false);
    expect(await list("guest")).toHaveLength(1);
    await app.call(`DELETE ${SITE}/issues/${iid}`, { as: "owner" });
    expect(await list("guest")).toEqual([]);
  });

  it("are done when their owner answers, closes or awards", async () => {
    const doings: ((path: string) => Promise<{ status: number }>)[] = [
      (path) => app.call(`POST ${path}/notes`, { as: "reporter", json: { body: "yes" } }),
      (path) => app.call(`PUT ${path}?state_event=close`, { as: "reporter" }),
      (path) => app.call(`POST ${path}/award_emoji`, { as: "reporter", json: { name: "ok" } }),
    ];
    for (const act of doings) {
      const { iid } = await newIssue("owner", { description: "@reporter" });
      expect(await list("reporter")).toHaveLength(1);
      expect((await act(`${SITE}/issues/${iid}`)).status).toBeLessThan(300);
      expect(await list("reporter")).toEqual([]);
    }
  });

  it("are marked as done, repeatedly too, by their owner only", async () => {
    await newIssue("owner", { description: "@guest" });
    const [{ id }] = await list("guest");
    const other = await app.call(`POST /todos/${id}/mark_as_done`, { as: "owner" });
    expect([other.status, other.json]).toEqual([404, { message: "404 Not found" }]);
    for (const status of [201, 201]) {
      const done = await app.call(`POST /todos/${id}/mark_as_done`, { as: "guest" });
      expect([done.status, done.json.id, done.json.state]).toEqual([status, id, "done"]);
    }
    expect(await list("guest")).toEqual([]);
    expect((await list("guest", "state=done"))[0].id).toBe(id);
    expect((await app.call("POST /todos/98765/mark_as_done", { as: "guest" })).status).toBe(404);
  });

  it("are all marked as done: 204", async () => {
    await newIssue("owner", { description: "@guest" });
    await newIssue("owner", { description: "@guest" });
    expect(await list("guest")).toHaveLength(2);
    const { status, text } = await app.call("POST /todos/mark_as_done", { as: "guest" });
    expect([status, text]).toEqual([204, ""]);
    expect(await list("guest")).toEqual([]);
  });

  it("are all marked as done, however many there are, and nobody else's", async () => {
    const { id } = await newIssue("owner", { description: "@guest @developer" });
    const guest = await userId("guest");
    await app.store.transaction((db) =>
      db.run(
        `insert into todos (user_id, project_id, issue_id, author_id, action, created_at, updated_at)
         with recursive n(x) as (select 1 union all select x + 1 from n where x < 1100)
         select td.user_id, td.project_id, td.issue_id, td.author_id, td.action, td.created_at, td.updated_at
         from n join todos td on td.issue_id = ? and td.user_id = ?`,
        [id, guest],
      ),
    );
    const others = (await list("developer")).length;
    expect(await list("guest", "per_page=100")).toHaveLength(100);
    expect((await app.call("POST /todos/mark_as_done", { as: "guest" })).status).toBe(204);
    expect(await list("guest")).toEqual([]);
    expect(await list("developer")).toHaveLength(others);
  });

  it.each(["issues", "merge_requests"])("are put on the list by hand for %s", async (kind) => {
    const json = { title: "t", source_branch: "mark", target_branch: "main" };
    const { json: made } = await app.call(`POST ${SITE}/${kind}`, { as: "developer", json });
    const path = `POST ${SITE}/${kind}/${made.iid}/todo`;
    const first = await app.call(path, { as: "guest" });
    expect(first.status, first.text).toBe(201);
    expect(first.json).toMatchObject({
      action_name: "marked",
      state: "pending",
      target: { id: made.id, title: "t" },
    });
    const again = await app.call(path, { as: "guest" });
    expect([again.status, again.text]).toEqual([304, ""]);
    await app.call(`POST /todos/${first.json.id}/mark_as_done`, { as: "guest" });
    expect((await app.call(path, { as: "guest" })).status).toBe(201);
    expect((await app.call(path)).status).toBe(401);
    const unknown = await app.call(`POST ${SITE}/${kind}/99999/todo`, { as: "guest" });
    expect(unknown.status).toBe(404);
  });

  it("are filtered and paginated, newest first", async () => {
    const issue = await newIssue("owner", { description: "see @developer" });
    const request = await app.call(`POST ${SITE}/merge_requests`, {
      as: "maintainer",
      json: {
        title: "MR",
        source_branch: "todo",
        target_branch: "main",
        assignee_id: await userId("developer"),
      },
    });
    const author = await userId("maintainer");
    const { json: group } = await app.call("GET /groups/acme", { as: "developer" });
    const { json: secret } = await app.call("GET /groups/secret", { as: "developer" });
    const ids = async (query: string) =>
      (await list("developer", query)).map((todo: { target: { id: number } }) => todo.target.id);
    expect(await ids("")).toEqual([request.json.id, issue.id]);
    expect(await ids("type=Issue")).toEqual([issue.id]);
    expect(await ids("type=MergeRequest")).toEqual([request.json.id]);
    expect(await ids("action=assigned")).toEqual([request.json.id]);
    expect(await ids("action=build_failed")).toEqual([]);
    expect(await ids(`author_id=${author}`)).toEqual([request.json.id]);
    expect(await ids(`project_id=${issue.project_id}`)).toHaveLength(2);
    expect(await ids("project_id=99999")).toEqual([]);
    expect(await ids(`group_id=${group.id}`)).toHaveLength(2);
    expect(await ids(`group_id=${secret.id}`)).toEqual([]);
    const page = await app.call("GET /todos?per_page=1&page=2", { as: "developer" });
    expect(page.json).toMatchObject([{ target: { id: issue.id } }]);
    expect(page.headers.get("x-total")).toBe("2");
    for (const wrong of ["action=foo", "state=all", "type=Snippet"]) {
      expect((await app.call(`GET /todos?${wrong}`, { as: "developer" })).status).toBe(400);
    }
  });
});
