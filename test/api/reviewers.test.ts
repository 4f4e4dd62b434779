import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
let branches = 0;

const get = async (path: string, as: Person = "developer") =>
  (await app.call(`GET ${path}`, { as })).json;
const idOf = async (username: string): Promise<number> =>
  (await get(`/users?username=${username}`))[0].id;
const idsOf = (...usernames: string[]) => Promise.all(usernames.map(idOf));
const names = (people: { username: string }[]) => people.map(({ username }) => username);

async function newRequest(json: object, as: Person = "developer") {
  branches += 1;
  const answer = await app.call(`POST ${SITE}/merge_requests`, {
    as,
    json: { title: "A change", source_branch: `b${branches}`, target_branch: "main", ...json },
  });
  expect(answer.status, answer.text).toBe(201);
  return { ...answer.json, path: `${SITE}/merge_requests/${answer.json.iid}` };
}

const change = (path: string, json: object, as: Person = "developer") =>
  app.call(`PUT ${path}`, { as, json });

describe("reviewers", () => {
  it("are asked when a merge request is created, and get a todo", async () => {
    const reviewer_ids = await idsOf("reporter", "maintainer");
    const made = await newRequest({ reviewer_ids });
    expect(names(made.reviewers)).toEqual(["maintainer", "reporter"]);
    expect(await get(`${made.path}/reviewers`)).toEqual(
      ["maintainer", "reporter"].map((username) => ({
        user: expect.objectContaining({ username, web_url: `http://pm.test/${username}` }),
        state: "unreviewed",
        created_at: expect.any(String),
      })),
    );
    const [todo] = await get("/todos?action=review_requested", "reporter");
    expect(todo).toMatchObject({
      action_name: "review_requested",
      author: { username: "developer" },
      target: { iid: made.iid, reviewers: [{ username: "maintainer" }, { username: "reporter" }] },
    });
    const [note] = await get(`${made.path}/notes`);
    expect(note).toMatchObject({
      body: "requested review from @maintainer and @reporter",
      system: true,
    });
  });

  it("are replaced, and keep what they said", async () => {
    const made = await newRequest({ reviewer_ids: await idsOf("owner", "maintainer", "reporter") });
    await app.call(`POST ${made.path}/approve`, { as: "maintainer" });
    const { json } = await change(made.path, {
      reviewer_ids: await idsOf("maintainer", "guest", "stranger", "admin"),
    });
    expect(names(json.reviewers)).toEqual(["admin", "maintainer", "guest", "stranger"]);
    const states = (await get(`${made.path}/reviewers`)).map(
      ({ user, state }: { user: { username: string }; state: string }) => [user.username, state],
    );
    expect(Object.fromEntries(states)).toEqual({
      admin: "unreviewed",
      maintainer: "approved",
      guest: "unreviewed",
      stranger: "unreviewed",
    });
    const [note] = await get(`${made.path}/notes`);
    expect(note.body).toBe(
      "requested review from @admin, @guest, and @stranger and removed review request for @owner and @reporter",
    );
    await app.call(`POST ${made.path}/unapprove`, { as: "maintainer" });
    const [, maintainer] = await get(`${made.path}/reviewers`);
    expect(maintainer.state).toBe("unapproved");
    const nobody = await change(made.path, { reviewer_ids: [] });
    expect(nobody.json.reviewers).toEqual([]);
  });

  it("are set by reporters and above only", async () => {
    const made = await newRequest({ assignee_ids: await idsOf("guest") });
    const ids = { reviewer_ids: await idsOf("owner") };
    expect((await change(made.path, ids, "guest")).json.reviewers).toEqual([]);
    expect((await change(made.path, ids, "reporter")).status).toBe(403);
    expect((await change(made.path, ids, "maintainer")).json.reviewers).toHaveLength(1);
  });

  it("find the merge requests that they were asked about", async () => {
    const [owner] = await idsOf("owner");
    const made = await newRequest({ title: "For the owner", reviewer_ids: [owner] });
    for (const filter of [`reviewer_id=${owner}`, "reviewer_username=Owner"]) {
      const found = await get(`${SITE}/merge_requests?${filter}`);
      expect(found[0].iid, filter).toBe(made.iid);
      expect(
        found.every(({ reviewers }: { reviewers: { username: string }[] }) =>
          names(reviewers).includes("owner"),
        ),
      ).toBe(true);
    }
    expect(await get(`${SITE}/merge_requests?reviewer_username=nobody`)).toEqual([]);
    const alone = await newRequest({ title: "For nobody" });
    const iids = async (filter: string) =>
      (await get(`${SITE}/merge_requests?${filter}`)).map(({ iid }: { iid: number }) => iid);
    const none = await iids("reviewer_id=None");
    const any = await iids("reviewer_id=Any");
    expect([none.includes(alone.iid), none.includes(made.iid)]).toEqual([true, false]);
    expect([any.includes(alone.iid), any.includes(made.iid)]).toEqual([false, true]);
    const refused = await app.call(`GET ${SITE}/merge_requests?reviewer_id=me`, { as: "owner" });
    expect([refused.status, refused.json]).toEqual([
      400,
      { message: { reviewer_id: ["is invalid"] } },
    ]);
  });

  it("take part: they are participants, subscribed, and get mails", async () => {
    const made = await newRequest({ reviewer_ids: await idsOf("guest") });
    expect(names(await get(`${made.path}/participants`))).toEqual(["developer", "guest"]);
    expect((await get(made.path, "guest")).subscribed).toBe(true);
    await app.call(`POST ${made.path}/approve`, { as: "owner" });
    const [newest] = await app.store.rows("select max(id) from events");
    const told = await app.admin.activity.recipients(newest?.[0] as number);
    expect(names(told).sort()).toEqual(["developer", "guest"]);
  });
});
