import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";
const VAULT = "/projects/secret%2Fvault";

beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const create = async (project = SITE, json: object = {}) => {
  const made = await app.call(`POST ${project}/issues`, {
    as: "owner",
    json: { title: "An issue", ...json },
  });
  expect(made.status, made.text).toBe(201);
  return made.json as { id: number; iid: number; project_id: number };
};

type Issue = Awaited<ReturnType<typeof create>>;

const link = (one: Issue, other: Issue, json: object = {}, as: Person = "reporter", on = app) =>
  on.call(`POST /projects/${one.project_id}/issues/${one.iid}/links`, {
    as,
    json: { target_project_id: other.project_id, target_issue_iid: other.iid, ...json },
  });

const linksOf = async ({ project_id, iid }: Issue, as: Person = "reporter") =>
  (await app.call(`GET /projects/${project_id}/issues/${iid}/links`, { as })).json;

describe("links of issues", () => {
  it("are to issues of the same project, if the other one is null", async () => {
    const [one, other] = [await create(), await create()];
    const made = await link(one, other, { target_project_id: null });
    expect([made.status, made.json.target_issue?.id]).toEqual([201, other.id]);
    const missing = await app.call(`POST ${SITE}/issues/${one.iid}/links`, {
      as: "reporter",
      json: { target_issue_iid: other.iid },
    });
    expect([missing.status, missing.json]).toEqual([
      400,
      { message: '400 (Bad request) "target_project_id" not given' },
    ]);
  });

  it("are made once, and shown on both sides", async () => {
    const [one, other] = [await create(), await create()];
    const made = await link(one, other);
    expect(made.status, made.text).toBe(201);
    const whole = (await app.call(`GET ${SITE}/issues?iids[]=${one.iid}`)).json[0];
    expect(made.json).toEqual({
      id: expect.any(Number),
      source_issue: whole,
      target_issue: expect.objectContaining({
        iid: other.iid,
        labels: [],
        time_stats: whole.time_stats,
      }),
      link_type: "relates_to",
    });
    for (const again of [await link(one, other), await link(other, one, { link_type: "blocks" })]) {
      expect([again.status, again.json]).toEqual([409, { message: "Issue(s) already assigned" }]);
    }
    expect(await linksOf(other)).toEqual([
      {
        ...whole,
        issue_link_id: made.json.id,
        link_type: "relates_to",
        link_created_at: expect.stringMatching(/Z$/),
        link_updated_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect(await linksOf(one)).toMatchObject([{ iid: other.iid, link_type: "relates_to" }]);
    const path = `${SITE}/issues/${other.iid}/links/${made.json.id}`;
    expect((await app.call(`GET ${path}`, { as: "guest" })).json).toEqual(made.json);
    const removed = await app.call(`DELETE ${path}`, { as: "reporter" });
    expect([removed.status, removed.json]).toEqual([200, made.json]);
    const gone = await app.call(`DELETE ${path}`, { as: "reporter" });
    expect([gone.status, gone.json]).toEqual([404, { message: "404 Not found" }]);
    expect(await linksOf(one)).toEqual([]);
  });

  it("can say what blocks what, above the free tier", async () => {
    const [one, other, third] = [await create(), await create(), await create()];
    const made = await link(one, other, { link_type: "is_blocked_by" });
    expect(made.json).toMatchObject({
      source_issue: { iid: other.iid },
      target_issue: { iid: one.iid },
      link_type: "blocks",
    });
    await link(one, third, { link_type: "blocks" });
    const shown = (links: { iid: number; link_type: string }[]) =>
      links.map(({ iid, link_type }) => [iid, link_type]);
    expect(shown(await linksOf(one))).toEqual([
      [other.iid, "is_blocked_by"],
      [third.iid, "blocks"],
    ]);
    expect(shown(await linksOf(other))).toEqual([[one.iid, "blocks"]]);
    expect(shown(await linksOf(third))).toEqual([[one.iid, "is_blocked_by"]]);
    expect((await link(other, third, { link_type: "likes" })).status).toBe(400);
  });

  it("only relate issues in the free tier", async () => {
    const free = await testApp({ tier: "free" });
    const issues: Issue[] = [];
    for (const title of ["One", "Other"]) {
      const { json } = await free.call(`POST ${SITE}/issues`, { as: "owner", json: { title } });
      issues.push(json);
    }
    const [one, other] = issues as [Issue, Issue];
    const refused = await link(one, other, { link_type: "blocks" }, "owner", free);
    expect([refused.status, refused.json.message]).toEqual([
      403,
      "403 Forbidden - Blocked issues not available for current license",
    ]);
    expect((await link(one, other, {}, "owner", free)).status).toBe(201);
    await free.dispose();
  });

  it("with an issue that the caller can't see are left out", async () => {
    const [one, confidential, hidden] = [
      await create(),
      await create(SITE, { confidential: true }),
      await create(VAULT),
    ];
    const first = await link(one, confidential, {}, "owner");
    const second = await link(hidden, one, {}, "owner");
    const [at, forAll] = [`${SITE}/issues/${one.iid}/links`, await linksOf(one, "reporter")];
    expect(forAll.map(({ id }: Issue) => id)).toEqual([confidential.id, hidden.id]);
    const { json, headers } = await app.call(`GET ${at}`, { as: "stranger" });
    expect([json, headers.get("x-total")]).toEqual([[], "0"]);
    for (const { id } of [first.json, second.json]) {
      expect((await app.call(`GET ${at}/${id}`, { as: "stranger" })).status).toBe(404);
      expect((await app.call(`GET ${at}/${id}`, { as: "reporter" })).status).toBe(200);
    }
    expect((await app.call(`GET ${at}`)).status).toBe(401);
  });

  it("need the right to change both issues", async () => {
    const [one, other] = [await create(), await create()];
    const elsewhere = await app.call("POST /projects", {
      as: "stranger",
      json: { name: "Elsewhere", visibility: "public" },
    });
    const theirs = await app.call(`POST /projects/${elsewhere.json.id}/issues`, {
      as: "stranger",
      json: { title: "Theirs" },
    });
    expect((await link(one, other, {}, "guest")).status).toBe(403);
    expect((await link(one, theirs.json)).status).toBe(403);
    expect((await link(theirs.json, one, {}, "stranger")).status).toBe(403);
    const made = await link(one, theirs.json, {}, "admin");
    const path = `/projects/${elsewhere.json.id}/issues/1/links/${made.json.id}`;
    expect((await app.call(`DELETE ${path}`, { as: "stranger" })).status).toBe(403);
    const secret = await create(VAULT);
    const unseen = await link(theirs.json, secret, {}, "stranger");
    expect([unseen.status, unseen.json]).toEqual([404, { message: "404 Project Not Found" }]);
    expect((await link(one, { ...other, iid: 4711 })).status).toBe(404);
    expect((await link(one, one)).status).toBe(400);
    await app.call(`POST /projects/${elsewhere.json.id}/archive`, { as: "stranger" });
    expect((await link(other, theirs.json, {}, "admin")).status).toBe(403);
  });

  it("go with a deleted issue, and follow a moved one", async () => {
    const [one, other, third] = [await create(), await create(), await create()];
    await link(one, other);
    await link(third, one);
    const to = await create(VAULT);
    const moved = await app.call(`POST ${SITE}/issues/${one.iid}/move`, {
      as: "owner",
      json: { to_project_id: to.project_id },
    });
    expect(await linksOf(one)).toEqual([]);
    const ids = (links: Issue[]) => links.map(({ id }) => id);
    expect(ids(await linksOf(moved.json))).toEqual([other.id, third.id]);
    expect(ids(await linksOf(other))).toEqual([moved.json.id]);
    await app.call(`DELETE ${VAULT}/issues/${moved.json.iid}`, { as: "owner" });
    expect(await linksOf(other)).toEqual([]);
  });
});
