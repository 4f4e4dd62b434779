import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, type TestApp, testApp } from "../helpers.ts";

// Numbers in test names are case ids.

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const call: TestApp["call"] = (request, options) =>
  app.call(request, { as: "developer", ...options });
const namesOf = (labels: { name: string }[]) => labels.map(({ name }) => name);

let made = 0;
/** An unused label name. */
const fresh = () => {
  made += 1;
  return `label ${made}`;
};

const PLACES = [
  ["group", "/groups/acme/labels"],
  ["project", "/projects/acme%2Fsite/labels"],
] as const;

describe("who may do what", () => {
  // In a public place          anonymous stranger guest reporter developer maintainer owner admin
  const rows: [string, object | undefined, number[]][] = [
    ["GET ", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /:label", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["POST ", { name: "x", color: "#000" }, [401, 403, 403, 201, 201, 201, 201, 201]],
    ["PUT /:label", { color: "#111" }, [401, 403, 403, 200, 200, 200, 200, 200]],
    ["PUT ", { label_id: 0, color: "#111" }, [401, 403, 403, 200, 200, 200, 200, 200]],
    ["DELETE /:label", undefined, [401, 403, 403, 204, 204, 204, 204, 204]],
    ["DELETE ?name=:name", undefined, [401, 403, 403, 204, 204, 204, 204, 204]],
    ["POST /:label/subscribe", {}, [401, 201, 201, 201, 201, 201, 201, 201]],
    ["POST /:label/unsubscribe", {}, [401, 304, 304, 304, 304, 304, 304, 304]],
  ];
  const places = [
    ["/groups/acme/labels", (statuses: number[]) => statuses],
    ["/projects/acme%2Fsite/labels", (statuses: number[]) => statuses],
    ["/groups/secret/labels", (statuses: number[]) => statuses.with(1, 404)],
    ["/projects/secret%2Fvault/labels", (statuses: number[]) => statuses.with(1, 404)],
  ] as const;

  describe.each(places)("%s", (at, change) => {
    it.each(rows)("%s %j", async (template, json, expected) => {
      const statuses: number[] = [];
      for (const as of everyone) {
        const name = fresh();
        const label = await call(`POST ${at}`, { as: "admin", json: { name, color: "#000" } });
        const request = template
          .replace(" ", ` ${at}`)
          .replace(":label", String(label.json.id))
          .replace(":name", encodeURIComponent(name));
        const sent = json && {
          ...json,
          ...("name" in json && { name: fresh() }),
          ...("label_id" in json && { label_id: label.json.id }),
        };
        statuses.push((await call(request, { as, ...(sent && { json: sent }) })).status);
        await call(`DELETE ${at}/${label.json.id}`, { as: "admin" });
      }
      expect(statuses).toEqual(change(expected));
    });
  });
});

describe.each(PLACES)("labels of a %s", (kind, at) => {
  it("356: are created with a name and a colour", async () => {
    const name = fresh();
    const { status, json } = await call(`POST ${at}`, { json: { name, color: "#FFAABB" } });
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.any(Number),
      name,
      color: "#FFAABB",
      description: null,
      text_color: "#333333",
      open_issues_count: 0,
      closed_issues_count: 0,
      open_merge_requests_count: 0,
      subscribed: false,
      ...(kind === "project" && { priority: null, is_project_label: true }),
    });
    expect((await call(`GET ${at}/${json.id}`)).json).toEqual(json);
  });

  it("have surrounding blanks stripped from their names", async () => {
    const [name, other] = [fresh(), fresh()];
    const { json } = await call(`POST ${at}`, { json: { name: `\t ${name} `, color: "#000" } });
    expect(json.name).toBe(name);
    const changed = await call(`PUT ${at}/${json.id}`, { json: { new_name: ` ${other}\n` } });
    expect(changed.json.name).toBe(other);
    const taken = await call(`POST ${at}`, { json: { name: ` ${other}`, color: "#000" } });
    expect(taken.status).toBe(409);
    const long = await call(`POST ${at}`, {
      json: { name: `${fresh().padEnd(255, "x")}  `, color: "#000" },
    });
    expect(long.status).toBe(201);
  });

  it("have an optional description, and a priority in projects", async () => {
    const { json } = await call(`POST ${at}`, {
      form: { name: fresh(), color: "#abc", description: "é & ü", priority: "3" },
    });
    expect(json).toMatchObject({ color: "#abc", description: "é & ü" });
    expect(json.priority).toBe(kind === "project" ? 3 : undefined);
  });

  it.each([
    ["#000000", "#FFFFFF"],
    ["#fff", "#333333"],
    ["#428BCA", "#FFFFFF"],
    ["#FFFF00", "#333333"],
  ])("of the colour %s have text of %s", async (color, text_color) => {
    const { json } = await call(`POST ${at}`, { json: { name: fresh(), color } });
    expect(json).toMatchObject({ color, text_color });
  });

  it.each([
    ["red", "#FF0000"],
    [" DarkOrange ", "#FF8C00"],
    ["#ff0000", "#ff0000"],
  ])("may have the colour %j, which is %s", async (named, color) => {
    const { json } = await call(`POST ${at}`, { json: { name: fresh(), color: named } });
    expect(json.color).toBe(color);
  });

  it.each([
    [{ color: "#000" }, '400 (Bad request) "name" not given'],
    [{ name: "x" }, '400 (Bad request) "color" not given'],
    [{ name: "", color: "#000" }, { title: ["can't be blank"] }],
    [{ name: " ", color: "#000" }, { title: ["can't be blank"] }],
    [{ name: "a,b", color: "#000" }, { title: ["is invalid"] }], // 359
    [
      { name: "x".repeat(256), color: "#000" },
      { title: ["is too long (maximum is 255 characters)"] },
    ],
    [{ name: ["x"], color: "#000" }, { name: ["is invalid"] }],
    [{ name: "x", color: "#FFAAFF2" }, { color: ["must be a valid color code"] }], // 358
    [{ name: "x", color: "#ff" }, { color: ["must be a valid color code"] }],
    [{ name: "x", color: "reddish" }, { color: ["must be a valid color code"] }],
    [{ name: "x", color: "#00000g" }, { color: ["must be a valid color code"] }],
    [{ name: "x", color: "#000000\n" }, { color: ["must be a valid color code"] }],
    [{ name: "x", color: "" }, { color: ["can't be blank"] }],
  ])("refuse %j", async (json, message) => {
    const answer = await call(`POST ${at}`, { json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it("refuse an invalid priority, in projects", async () => {
    for (const [priority, reason] of [
      [-1, "must be between 0 and 2147483647"],
      ["high", "is invalid"],
    ]) {
      const { status, json } = await call(`POST ${at}`, {
        json: { name: fresh(), color: "#000", priority },
      });
      if (kind === "group") expect(status).toBe(201);
      else expect([status, json]).toEqual([400, { message: { priority: [reason] } }]);
    }
  });

  it("have unique names: 409", async () => {
    const name = fresh();
    await call(`POST ${at}`, { json: { name, color: "#000" } });
    const again = await call(`POST ${at}`, { json: { name, color: "#111" } });
    expect([again.status, again.json]).toEqual([409, { message: "Label already exists" }]);
    const above = await call(`POST ${at}`, { json: { name: "UX", color: "#111" } });
    expect(above.status).toBe(409);
    const otherCase = await call(`POST ${at}`, {
      json: { name: name.toUpperCase(), color: "#111" },
    });
    expect(otherCase.status).toBe(201);
  });

  it("are found by id and by name, encoded", async () => {
    const name = `${fresh()} / é 100%`;
    const { json } = await call(`POST ${at}`, { json: { name, color: "#000" } });
    for (const id of [json.id, encodeURIComponent(name)]) {
      const found = await call(`GET ${at}/${id}`);
      expect([found.status, found.json]).toEqual([200, json]);
    }
    for (const id of ["nope", "4711", encodeURIComponent(name.toUpperCase())]) {
      const { status, json } = await call(`GET ${at}/${id}`);
      expect([status, json]).toEqual([404, { message: "404 Label Not Found" }]);
    }
  });

  it("an id takes precedence over a name made of digits", async () => {
    const { json: first } = await call(`POST ${at}`, { json: { name: fresh(), color: "#000" } });
    const { json: named } = await call(`POST ${at}`, {
      json: { name: String(first.id), color: "#000" },
    });
    expect((await call(`GET ${at}/${first.id}`)).json.id).toBe(first.id);
    await call(`DELETE ${at}/${first.id}`);
    expect((await call(`GET ${at}/${first.id}`)).json.id).toBe(named.id);
  });

  it("change by id, by name in the path, and by name or label_id in the body", async () => {
    const name = fresh();
    const { json } = await call(`POST ${at}`, { json: { name, color: "#000", description: "d" } });
    const put = async (path: string, sent: object) => {
      const answer = await call(`PUT ${at}${path}`, { json: sent });
      expect(answer.status).toBe(200);
      return answer.json;
    };
    expect(await put(`/${json.id}`, { color: "#FFFFFF" })).toEqual({
      ...json,
      color: "#FFFFFF",
      text_color: "#333333",
    });
    const next = fresh();
    expect((await put(`/${encodeURIComponent(name)}`, { new_name: next })).name).toBe(next);
    expect((await put("", { name: next, description: "new" })).description).toBe("new");
    expect((await put("", { label_id: json.id, new_name: name })).name).toBe(name);
    for (const description of [null, ""]) {
      await put(`/${json.id}`, { description: "d" });
      expect((await put(`/${json.id}`, { description })).description).toBe(null);
    }
    if (kind === "project") {
      expect((await put(`/${json.id}`, { priority: 5 })).priority).toBe(5);
      expect((await put(`/${json.id}`, { priority: null })).priority).toBe(null);
    }
    expect((await put(`/${json.id}`, { new_name: name })).name).toBe(name);
  });

  it("refuse invalid changes, and change nothing", async () => {
    const [name, other] = [fresh(), fresh()];
    const { json } = await call(`POST ${at}`, { json: { name, color: "#000" } });
    await call(`POST ${at}`, { json: { name: other, color: "#000" } });
    const attributes = `new_name, color, description${kind === "project" ? ", priority" : ""}`;
    const nothing = `400 (Bad request) ${attributes} are missing, at least one parameter must be provided`;
    for (const [path, sent, status, message] of [
      [`/${json.id}`, {}, 400, nothing],
      ["", { name }, 400, nothing],
      ...(kind === "group" ? [["", { name, priority: 1 }, 400, nothing] as const] : []),
      ["", { new_name: "x" }, 400, '400 (Bad request) "name" not given'],
      [`/${json.id}`, { new_name: "" }, 400, { title: ["can't be blank"] }],
      [`/${json.id}`, { new_name: "a,b" }, 400, { title: ["is invalid"] }],
      [`/${json.id}`, { color: "#1234567" }, 400, { color: ["must be a valid color code"] }],
      [`/${json.id}`, { new_name: other }, 409, "Label already exists"],
      [`/${json.id}`, { new_name: "UX" }, 409, "Label already exists"],
      ["/nope", { color: "#000" }, 404, "404 Label Not Found"],
      ["", { name: "nope", color: "#000" }, 404, "404 Label Not Found"],
    ] as const) {
      const answer = await call(`PUT ${at}${path}`, { json: sent });
      expect([sent, answer.status, answer.json]).toEqual([sent, status, { message }]);
    }
    expect((await call(`GET ${at}/${json.id}`)).json).toEqual(json);
  });

  it("361: are deleted by id, by name in the path and by name in the query", async () => {
    const name = fresh();
    const make = async () => (await call(`POST ${at}`, { json: { name, color: "#000" } })).json.id;
    for (const path of [
      () => `/${encodeURIComponent(name)}`,
      () => `?name=${encodeURIComponent(name)}`,
      (id: number) => `/${id}`,
    ]) {
      const { status, text } = await call(`DELETE ${at}${path(await make())}`);
      expect([status, text]).toEqual([204, ""]);
    }
    for (const [path, status, message] of [
      ["?name=nope", 404, "404 Label Not Found"],
      ["/nope", 404, "404 Label Not Found"],
      ["", 400, '400 (Bad request) "name" not given'],
    ] as const) {
      const answer = await call(`DELETE ${at}${path}`);
      expect([answer.status, answer.json]).toEqual([status, { message }]);
    }
    const id = await make();
    const headers = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    expect((await call(`DELETE ${at}/${id}`, { headers })).status).toBe(412);
    expect((await call(`GET ${at}/${id}`)).status).toBe(200);
  });

  it("362: are subscribed to by each user separately, once, else 304", async () => {
    const name = fresh();
    const { json } = await call(`POST ${at}`, { json: { name, color: "#000" } });
    const by = async (action: string, id: string | number = json.id) =>
      call(`POST ${at}/${id}/${action}`);
    expect((await by("unsubscribe")).status).toBe(304);
    const subscribed = await by("subscribe");
    expect([subscribed.status, subscribed.json]).toEqual([201, { ...json, subscribed: true }]);
    expect((await by("subscribe", encodeURIComponent(name))).status).toBe(304);
    expect((await call(`GET ${at}/${json.id}`)).json.subscribed).toBe(true);
    expect((await call(`GET ${at}/${json.id}`, { as: "guest" })).json.subscribed).toBe(false);
    const list = await call(`GET ${at}?search=${encodeURIComponent(name)}`);
    expect(list.json[0].subscribed).toBe(true);
    const ended = await by("unsubscribe", encodeURIComponent(name));
    expect([ended.status, ended.json]).toEqual([201, json]);
    const unknown = await by("subscribe", "nope");
    expect([unknown.status, unknown.json]).toEqual([404, { message: "404 Label Not Found" }]);
  });
});

describe("lists", () => {
  let group: number;
  let sub: number;
  let project: number;
  beforeAll(async () => {
    const make = async (path: string, json: object) =>
      (await call(`POST ${path}`, { as: "owner", json })).json.id as number;
    group = await make("/groups", { name: "Lists", path: "lists" });
    sub = await make("/groups", { name: "Sub", path: "sub", parent_id: group });
    project = await make("/projects", { path: "p", namespace_id: sub });
    for (const [path, name] of [
      [`/groups/${group}`, "b of the group"],
      [`/groups/${group}`, "Z of the group"],
      [`/groups/${sub}`, "c of the subgroup"],
      [`/projects/${project}`, "a of the project"],
    ]) {
      await make(`${path}/labels`, { name, color: "#000", description: `About ${name}` });
    }
  });

  const ofGroup = ["Z of the group", "b of the group"];
  it.each([
    ["group", "", ofGroup],
    ["sub", "", ["Z of the group", "b of the group", "c of the subgroup"]],
    ["sub", "?include_ancestor_groups=false", ["c of the subgroup"]],
    ["project", "", ["Z of the group", "a of the project", "b of the group", "c of the subgroup"]],
    ["project", "?include_ancestor_groups=false", ["a of the project"]],
    ["project", "?search=OF+THE+PROJ", ["a of the project"]],
    ["project", "?search=about+c", ["c of the subgroup"]],
    ["project", "?search=%25", []],
  ] as const)(
    "of the %s%s are by name, including those of the groups above",
    async (where, query, expected) => {
      const at = {
        group: `/groups/${group}`,
        sub: `/groups/${sub}`,
        project: `/projects/${project}`,
      }[where];
      const { json, headers } = await call(`GET ${at}/labels${query}`, { as: "owner" });
      expect(namesOf(json)).toEqual(expected);
      expect(headers.get("x-total")).toBe(String(expected.length));
    },
  );

  it("of a project show which labels are its own", async () => {
    const { json } = await call(`GET /projects/${project}/labels`, { as: "owner" });
    expect(
      json.map((label: { is_project_label: boolean; priority: null }) => [
        label.is_project_label,
        label.priority,
      ]),
    ).toEqual([
      [false, null],
      [true, null],
      [false, null],
      [false, null],
    ]);
  });

  it("show inherited labels as readable and subscribable, but not editable", async () => {
    for (const at of [`/groups/${sub}`, `/projects/${project}`]) {
      const label = `${at}/labels/Z%20of%20the%20group`;
      expect((await call(`GET ${label}`, { as: "owner" })).status).toBe(200);
      expect((await call(`POST ${label}/subscribe`, { as: "owner" })).status).toBe(201);
      expect((await call(`POST ${label}/unsubscribe`, { as: "owner" })).status).toBe(201);
      for (const request of [`PUT ${label}?color=%23111`, `DELETE ${label}`]) {
        const { status, json } = await call(request, { as: "owner" });
        expect([status, json]).toEqual([404, { message: "404 Label Not Found" }]);
      }
    }
    const below = await call(`GET /groups/${group}/labels/c%20of%20the%20subgroup`, {
      as: "owner",
    });
    expect(below.status).toBe(404);
  });

  it("allow a name in a group that a descendant already uses, but not vice versa", async () => {
    const post = async (at: string, name: string) =>
      (await call(`POST ${at}/labels`, { as: "owner", json: { name, color: "#000" } })).status;
    expect(await post(`/groups/${group}`, "c of the subgroup")).toBe(201);
    expect(await post(`/projects/${project}`, "c of the subgroup")).toBe(409);
    const both = await call(`GET /groups/${sub}/labels?search=c+of`, { as: "owner" });
    expect(namesOf(both.json)).toEqual(["c of the subgroup", "c of the subgroup"]);
  });
});
