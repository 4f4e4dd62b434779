import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, type TestApp, testApp } from "../helpers.ts";

// Numbers in test names are case ids.

let clock = Date.parse("2026-06-15T12:34:56.789Z");

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => clock });
});
afterAll(() => app.dispose());

const call: TestApp["call"] = (request, options) =>
  app.call(request, { as: "developer", ...options });

let made = 0;
/** An unused milestone title. */
const fresh = () => {
  made += 1;
  return `milestone ${made}`;
};

/** Creates an empty public group, or a project in one, and returns its path and id. */
async function newPlace(kind: "group" | "project") {
  made += 1;
  const as = "admin";
  const json = { name: `Place ${made}`, path: `place-${made}`, visibility: "public" };
  const group = (await call("POST /groups", { as, json })).json;
  const users = await call("GET /users?username=developer", { as });
  await call(`POST /groups/${group.id}/members`, {
    as,
    json: { user_id: users.json[0].id, access_level: 30 },
  });
  if (kind === "group")
    return { at: `/groups/${group.id}`, id: group.id, web: `groups/${group.path}` };
  const project = (await call("POST /projects", { as, json: { ...json, namespace_id: group.id } }))
    .json;
  return { at: `/projects/${project.id}`, id: project.id, web: project.path_with_namespace };
}

it("have unique titles across a group and its own projects", async () => {
  const { id } = await newPlace("group");
  const [one, other] = await Promise.all(
    ["one", "other"].map(async (name) => {
      const json = { name, namespace_id: id };
      return (await call("POST /projects", { as: "admin", json })).json.id as number;
    }),
  );
  const create = async (place: string, title: string) =>
    (await call(`POST ${place}/milestones?title=${title}`, { as: "admin" })).status;
  expect(await create(`/groups/${id}`, "above")).toBe(201);
  expect(await create(`/projects/${one}`, "above")).toBe(400);
  expect(await create(`/projects/${one}`, "below")).toBe(201);
  expect(await create(`/groups/${id}`, "below")).toBe(400);
  expect(await create(`/projects/${other}`, "below")).toBe(201);
});

describe("who may do what", () => {
  // In a public place        anonymous stranger guest reporter developer maintainer owner admin
  const rows: [string, object | undefined, number[]][] = [
    ["GET ", undefined, [401, 200, 200, 200, 200, 200, 200, 200]], // 368
    ["GET /:id", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["POST ", { title: "x" }, [401, 403, 403, 403, 201, 201, 201, 201]],
    ["PUT /:id", { description: "x" }, [401, 403, 403, 403, 200, 200, 200, 200]],
    ["DELETE /:id", undefined, [401, 403, 403, 403, 204, 204, 204, 204]], // 367
  ];
  const places = [
    ["/groups/acme/milestones", (statuses: number[]) => statuses],
    ["/projects/acme%2Fsite/milestones", (statuses: number[]) => statuses],
    ["/groups/secret/milestones", (statuses: number[]) => statuses.with(1, 404)],
    ["/projects/secret%2Fvault/milestones", (statuses: number[]) => statuses.with(1, 404)],
  ] as const;

  describe.each(places)("%s", (at, change) => {
    it.each(rows)("%s %j", async (template, json, expected) => {
      const statuses: number[] = [];
      for (const as of everyone) {
        const { json: one } = await call(`POST ${at}`, { as: "admin", json: { title: fresh() } });
        const request = template.replace(" ", ` ${at}`).replace(":id", String(one.id));
        const sent = json && { ...json, ...("title" in json && { title: fresh() }) };
        statuses.push((await call(request, { as, ...(sent && { json: sent }) })).status);
      }
      expect(statuses).toEqual(change(expected));
    });
  });
});

describe.each(["group", "project"] as const)("milestones of a %s", (kind) => {
  it("364: are created with a title, and numbered within their group or project", async () => {
    const { at, id, web } = await newPlace(kind);
    const { status, json } = await call(`POST ${at}/milestones`, { form: { title: "One" } });
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.any(Number),
      iid: 1,
      [kind === "group" ? "group_id" : "project_id"]: id,
      title: "One",
      description: null,
      state: "active",
      created_at: new Date(clock).toISOString(),
      updated_at: new Date(clock).toISOString(),
      due_date: null,
      start_date: null,
      expired: false,
      web_url: `http://pm.test/${web}/-/milestones/1`,
    });
    const second = await call(`POST ${at}/milestones`, {
      json: { title: "Two", description: "é", start_date: "2026-07-01", due_date: "2026-07-01" },
    });
    expect(second.json).toMatchObject({
      iid: 2,
      title: "Two",
      description: "é",
      start_date: "2026-07-01",
      due_date: "2026-07-01",
    });
    expect((await call(`GET ${at}/milestones/${json.id}`)).json).toEqual(json);
    const other = await newPlace(kind);
    expect((await call(`POST ${other.at}/milestones?title=One`)).json.iid).toBe(1);
  });

  it("created at once get distinct numbers", async () => {
    const { at } = await newPlace(kind);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        call(`POST ${at}/milestones?title=at+once+${index}`),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
    const iids = answers.map(({ json }) => json.iid).sort((a, b) => a - b);
    expect(iids).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it.each([
    [{}, '400 (Bad request) "title" not given'],
    [{ title: "" }, { title: ["can't be blank"] }],
    [{ title: "x".repeat(256) }, { title: ["is too long (maximum is 255 characters)"] }],
    [{ title: "x", due_date: "soon" }, { due_date: ["is invalid"] }],
    [{ title: "x", due_date: "2026-07-01T25" }, { due_date: ["is invalid"] }],
    [
      { title: "x", start_date: "2026-07-02", due_date: "2026-07-01" },
      { due_date: ["must be greater than start date"] },
    ],
  ])("refuse %j", async (json, message) => {
    const { at } = await newPlace(kind);
    const answer = await call(`POST ${at}/milestones`, { json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
    expect((await call(`GET ${at}/milestones`)).json).toEqual([]);
  });

  it("365: have unique titles", async () => {
    const { at } = await newPlace(kind);
    const taken = { title: ["already being used for another group or project milestone."] };
    const { json } = await call(`POST ${at}/milestones?title=taken`);
    await call(`POST ${at}/milestones?title=other`);
    const again = await call(`POST ${at}/milestones?title=taken`);
    expect([again.status, again.json]).toEqual([400, { message: taken }]);
    const renamed = await call(`PUT ${at}/milestones/${json.id}?title=other`);
    expect([renamed.status, renamed.json]).toEqual([400, { message: taken }]);
    expect((await call(`PUT ${at}/milestones/${json.id}?title=taken`)).status).toBe(200);
  });

  it("are listed newest first, filtered by state, iids, title and search", async () => {
    const { at } = await newPlace(kind);
    for (const title of ["first", "second", "third 100%"]) {
      await call(`POST ${at}/milestones`, { json: { title, description: `about ${title}` } });
    }
    const [, second] = (await call(`GET ${at}/milestones`)).json;
    await call(`PUT ${at}/milestones/${second.id}?state_event=close`);
    for (const [query, expected] of [
      ["", ["third 100%", "second", "first"]],
      ["state=active", ["third 100%", "first"]],
      ["state=closed", ["second"]],
      ["iids[]=1&iids[]=3", ["third 100%", "first"]],
      ["iids=2", ["second"]],
      ["iids[]=99", []],
      ["title=second", ["second"]],
      ["title=SECOND", []],
      ["search=ABOUT+f", ["first"]],
      ["search=0%25", ["third 100%"]],
      ["search=_", []],
      ["state=active&iids[]=2", []],
    ] as const) {
      const { status, json, headers } = await call(`GET ${at}/milestones?${query}`);
      const titles = json.map(({ title }: { title: string }) => title);
      expect([query, status, titles]).toEqual([query, 200, expected]);
      expect(headers.get("x-total")).toBe(String(expected.length));
    }
    for (const [query, message] of [
      ["state=open", { state: ["does not have a valid value"] }],
      ["iids[]=x", { iids: ["is invalid"] }],
    ] as const) {
      const { status, json } = await call(`GET ${at}/milestones?${query}`);
      expect([status, json]).toEqual([400, { message }]);
    }
  });

  it("change only what is sent, and are closed and reopened", async () => {
    const { at } = await newPlace(kind);
    const { json: before } = await call(`POST ${at}/milestones`, {
      json: { title: "t", description: "d", start_date: "2026-07-01", due_date: "2026-07-31" },
    });
    const put = async (json: object) => call(`PUT ${at}/milestones/${before.id}`, { json });
    clock += 5000;
    const updated_at = new Date(clock).toISOString();
    expect((await put({ due_date: "2026-07-30T23:59:00-07:00" })).json.due_date).toBe("2026-07-30");
    expect((await put({ due_date: "2026-07-31" })).json.due_date).toBe("2026-07-31");
    expect((await put({ title: "new" })).json).toEqual({ ...before, title: "new", updated_at });
    expect((await put({ state_event: "close" })).json.state).toBe("closed");
    expect((await put({ state_event: "close" })).json.state).toBe("closed");
    expect((await put({ state_event: "activate" })).json.state).toBe("active");
    for (const empty of [null, ""]) {
      for (const attribute of ["description", "due_date", "start_date"]) {
        await put({ description: "d", start_date: "2026-07-01", due_date: "2026-07-31" });
        expect((await put({ [attribute]: empty })).json[attribute]).toBe(null);
      }
    }
  });

  it("refuse invalid changes", async () => {
    const { at } = await newPlace(kind);
    const { json: before } = await call(`POST ${at}/milestones`, {
      json: { title: "t", start_date: "2026-07-10", due_date: "2026-07-20" },
    });
    const order = { due_date: ["must be greater than start date"] };
    for (const [sent, message] of [
      [
        {},
        "400 (Bad request) title, description, due_date, start_date, state_event are missing, at least one parameter must be provided",
      ],
      [{ title: "" }, { title: ["can't be blank"] }],
      [{ state_event: "reopen" }, { state_event: ["does not have a valid value"] }],
      [{ due_date: "2026-07-09" }, order],
      [{ start_date: "2026-07-21" }, order],
      [{ due_date: "2026-02-30" }, { due_date: ["is invalid"] }],
    ] as const) {
      const answer = await call(`PUT ${at}/milestones/${before.id}`, { json: sent });
      expect([sent, answer.status, answer.json]).toEqual([sent, 400, { message }]);
    }
    expect((await call(`GET ${at}/milestones/${before.id}`)).json).toEqual(before);
  });

  it("are found by id, not by iid, and only in their own group or project", async () => {
    const [here, there] = [await newPlace(kind), await newPlace(kind)];
    const { json } = await call(`POST ${here.at}/milestones?title=x`);
    expect(json.id).not.toBe(json.iid);
    for (const path of [
      `${here.at}/milestones/${json.iid}`,
      `${here.at}/milestones/4711`,
      `${there.at}/milestones/${json.id}`,
    ]) {
      for (const request of [`GET ${path}`, `PUT ${path}?title=y`, `DELETE ${path}`]) {
        const answer = await call(request);
        expect([request, answer.status, answer.json]).toEqual([
          request,
          404,
          { message: "404 Not found" },
        ]);
      }
    }
  });

  it("are deleted, but only if unchanged", async () => {
    const { at } = await newPlace(kind);
    const { json } = await call(`POST ${at}/milestones?title=x`);
    const headers = { "if-unmodified-since": new Date(clock - 60_000).toUTCString() };
    expect((await call(`DELETE ${at}/milestones/${json.id}`, { headers })).status).toBe(412);
    const { status, text } = await call(`DELETE ${at}/milestones/${json.id}`);
    expect([status, text]).toEqual([204, ""]);
    expect((await call(`GET ${at}/milestones/${json.id}`)).status).toBe(404);
  });
});

it("of groups are found by words of their titles, and by their days", async () => {
  const { at } = await newPlace("group");
  for (const [title, start_date, due_date] of [
    ["Release 17.4 and 17.5", "2026-01-01", "2026-01-31"],
    ["Release 17.5", "2026-02-01", undefined],
    ["Someday 17.4", undefined, undefined],
    ["Until March", undefined, "2026-03-01"],
  ]) {
    const made = await call(`POST ${at}/milestones`, { json: { title, start_date, due_date } });
    expect(made.status, made.text).toBe(201);
  }
  const titles = async (query: string) => {
    const { status, json, text } = await call(`GET ${at}/milestones?${query}`);
    expect(status, text).toBe(200);
    return json.map(({ title }: { title: string }) => title).sort();
  };
  expect(await titles("search_title=17.5+17.4")).toEqual(["Release 17.4 and 17.5"]);
  expect(await titles("search_title=RELEASE")).toEqual(["Release 17.4 and 17.5", "Release 17.5"]);
  expect(await titles("containing_date=2026-01-31T12:00:00Z")).toEqual(["Release 17.4 and 17.5"]);
  expect(await titles("containing_date=2026-02-02")).toEqual([]);
  expect(await titles("start_date=2026-01-31&end_date=2026-02-01")).toEqual([
    "Release 17.4 and 17.5",
    "Release 17.5",
    "Until March",
  ]);
  expect(await titles("start_date=2026-03-02&end_date=2026-04-01")).toEqual(["Release 17.5"]);
  expect((await call(`GET ${at}/milestones?start_date=2026-01-01`)).status).toBe(400);
});
