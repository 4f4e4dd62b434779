import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const given = { title: "A snippet", file_name: "a.rb", content: "puts 1\n" };
const site = "/projects/acme%2Fsite/snippets";
const vault = "/projects/secret%2Fvault/snippets";

async function newSnippet(as: Person, at = "/snippets", extra: object = {}) {
  const { status, json } = await app.call(`POST ${at}`, { as, json: { ...given, ...extra } });
  expect(status).toBe(201);
  return json;
}

const status = async (request: string, as: Person, json?: object) =>
  (await app.call(request, { as, ...(json && { json }) })).status;

describe.each([
  ["personal snippets", "/snippets", null],
  ["a project's snippets", site, expect.any(Number)],
])("%s", (_, at, project_id) => {
  it("are created with all of GitLab's fields", async () => {
    const made = await newSnippet("reporter", at, { description: "Prints", visibility: "public" });
    expect(made).toEqual({
      id: expect.any(Number),
      title: "A snippet",
      file_name: "a.rb",
      files: [{ path: "a.rb", raw_url: made.raw_url }],
      description: "Prints",
      visibility: "public",
      author: expect.objectContaining({ username: "reporter" }),
      updated_at: expect.stringMatching(/Z$/),
      created_at: expect.stringMatching(/Z$/),
      project_id,
      web_url: `http://pm.test/${project_id === null ? "" : "acme/site/"}-/snippets/${made.id}`,
      raw_url: `http://pm.test/${project_id === null ? "" : "acme/site/"}-/snippets/${made.id}/raw`,
    });
    expect((await app.call(`GET ${at}/${made.id}`, { as: "reporter" })).json).toEqual(made);
  });

  it.each(["title", "file_name", "content"])("need a %s", async (name) => {
    const { status, json } = await app.call(`POST ${at}`, {
      as: "owner",
      json: { ...given, [name]: undefined },
    });
    expect([status, json]).toEqual([400, { message: `400 (Bad request) "${name}" not given` }]);
  });

  it("take their one file as a list, too", async () => {
    const json = { title: "A", files: [{ file_path: "b.py", content: "import os" }] };
    const made = await app.call(`POST ${at}`, { as: "owner", json });
    expect([made.status, made.json.file_name]).toEqual([201, "b.py"]);
    const put = (file: object) =>
      app.call(`PUT ${at}/${made.json.id}`, { as: "owner", json: { files: [file] } });
    const changed = await put({ action: "update", file_path: "b.py", content: "import sys" });
    expect([changed.status, changed.json.file_name]).toEqual([200, "b.py"]);
    const moved = await put({ action: "move", previous_path: "b.py", file_path: "c.py" });
    expect(moved.json.files).toEqual([{ path: "c.py", raw_url: made.json.raw_url }]);
    const raw = await app.call(`GET ${at}/${made.json.id}/raw`, { as: "owner" });
    expect(raw.text).toBe("import sys");
    for (const [file, message] of [
      [{ action: "update", file_path: "b.py", content: "x" }, { files: ["has no b.py"] }],
      [{ action: "move", file_path: "d.py", content: "" }, { content: ["can't be blank"] }],
      [{ action: "copy", file_path: "c.py" }, { action: ["does not have a valid value"] }],
      ...["create", "delete"].map((action) => [
        { action, file_path: "c.py", content: "x" },
        { files: ["can only be updated or moved: a snippet has one file"] },
      ]),
    ] as const) {
      const { status, json } = await put(file as object);
      expect([status, json]).toEqual([400, { message }]);
    }
  });

  it.each([
    [{ files: [] }, '400 (Bad request) "file_name" not given'],
    [{ files: [{ content: "x" }] }, '400 (Bad request) "file_name" not given'],
    [{ files: [{ file_path: "a" }] }, '400 (Bad request) "content" not given'],
    [{ files: ["a"] }, { files: ["is invalid"] }],
    [
      { files: [{ file_path: "a", content: "x", action: "move" }] },
      { files: ["can only be created"] },
    ],
    [
      {
        files: [
          { file_path: "a", content: "x" },
          { file_path: "b", content: "x" },
        ],
      },
      { files: ["must be one: a snippet has one file"] },
    ],
    [
      { file_name: "a", files: [{ file_path: "a", content: "x" }] },
      "400 Bad request - file_name, files are mutually exclusive",
    ],
    [
      { content: "a", files: [{ file_path: "a", content: "x" }] },
      "400 Bad request - content, files are mutually exclusive",
    ],
  ])("refuse %j", async (file, message) => {
    const answer = await app.call(`POST ${at}`, { as: "owner", json: { title: "A", ...file } });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it("are never empty", async () => {
    const { id } = await newSnippet("owner", at, {});
    for (const content of ["", " \n"]) {
      const blank = [400, { message: { content: ["can't be blank"] } }];
      for (const request of [`POST ${at}`, `PUT ${at}/${id}`]) {
        const answer = await app.call(request, { as: "owner", json: { ...given, content } });
        expect([answer.status, answer.json]).toEqual(blank);
      }
    }
    const { text } = await app.call(`GET ${at}/${id}/raw`, { as: "owner" });
    expect(text).toBe(given.content);
  });

  it("395: return their content as a plain text file", async () => {
    const { id } = await newSnippet("owner", at, { content: "<b>ü</b>" });
    const { headers, text } = await app.call(`GET ${at}/${id}/raw`, { as: "owner" });
    expect(text).toBe("<b>ü</b>");
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(headers.get("content-disposition")).toBe("attachment");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("are changed by their authors", async () => {
    const { id } = await newSnippet("developer", at);
    const answer = await app.call(`PUT ${at}/${id}`, {
      as: "developer",
      json: { title: "B", content: "2", visibility: "private" },
    });
    expect([answer.status, answer.json.title, answer.json.visibility]).toEqual([
      200,
      "B",
      "private",
    ]);
    expect(await status(`PUT ${at}/${id}`, "developer", {})).toBe(400);
    expect(await status(`PUT ${at}/${id}`, "developer", { visibility: "secret" })).toBe(400);
  });

  it("are deleted, unless changed since", async () => {
    const { id } = await newSnippet("developer", at);
    const past = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    const late = await app.call(`DELETE ${at}/${id}`, { as: "developer", headers: past });
    expect(late.status).toBe(412);
    expect(await status(`DELETE ${at}/${id}`, "developer")).toBe(204);
    expect(await status(`DELETE ${at}/${id}`, "developer")).toBe(404);
  });
});

it.each([
  ["private", "/snippets", [401, 404, 404, 404, 404, 404, 200, 200]],
  ["internal", "/snippets", [401, 200, 200, 200, 200, 200, 200, 200]],
  ["public", "/snippets", [401, 200, 200, 200, 200, 200, 200, 200]],
  ["private", site, [404, 404, 200, 200, 200, 200, 200, 200]],
  ["internal", site, [404, 200, 200, 200, 200, 200, 200, 200]],
  ["public", site, [200, 200, 200, 200, 200, 200, 200, 200]],
  ["public", vault, [404, 404, 200, 200, 200, 200, 200, 200]],
])("a %s one in %s is visible only to its audience", async (visibility, at, expected) => {
  const { id } = await newSnippet("owner", at, { visibility });
  for (const path of [`GET ${at}/${id}`, `GET ${at}/${id}/raw`]) {
    const got = await Promise.all(everyone.map((as) => status(path, as)));
    expect(got).toEqual(expected);
  }
});

it.each([
  ["POST", site, { ...given }, [401, 403, 403, 201, 201, 201, 201, 201]],
  ["PUT", site, { title: "B" }, [401, 403, 403, 403, 403, 200, 200, 200]],
  // 394: other users get 404, as if it did not exist.
  ["PUT", "/snippets", { title: "B" }, [401, 404, 404, 404, 404, 404, 200, 200]],
  ["DELETE", site, undefined, [401, 403, 403, 403, 403, 204, 204, 204]],
  ["DELETE", "/snippets", undefined, [401, 404, 404, 404, 404, 404, 204, 204]],
])("%s in %s is allowed by role", async (method, at, json, expected) => {
  const got: number[] = [];
  for (const as of everyone) {
    const { id } = await newSnippet("owner", at, { visibility: "public" });
    got.push(await status(`${method} ${at}${method === "POST" ? "" : `/${id}`}`, as, json));
  }
  expect(got).toEqual(expected);
});

it("lists one's own, everybody's public ones, and a project's", async () => {
  const mine = await newSnippet("guest", "/snippets", { visibility: "private" });
  const open = await newSnippet("maintainer", "/snippets", { visibility: "public" });
  const hidden = await newSnippet("owner", site, { visibility: "private" });
  const idsOf = async (path: string, as: Person) => {
    const { json, headers } = await app.call(`GET ${path}`, { as });
    expect(headers.get("x-total")).not.toBeNull();
    return (json as { id: number }[]).map(({ id }) => id);
  };
  expect(await idsOf("/snippets", "guest")).toEqual([mine.id]);
  const everybodys = await idsOf("/snippets/public", "guest");
  expect([everybodys.includes(open.id), everybodys.includes(mine.id)]).toEqual([true, false]);
  const ofSite = await Promise.all([idsOf(site, "guest"), idsOf(site, "stranger")]);
  expect(ofSite.map((ids) => ids.includes(hidden.id))).toEqual([true, false]);
});

it("are hidden from everybody while the project has them switched off", async () => {
  const { id } = await newSnippet("owner", site, { visibility: "public" });
  await app.call("PUT /projects/acme%2Fsite", { as: "owner", json: { snippets_enabled: false } });
  for (const as of ["anonymous", "owner", "admin"] as const) {
    expect([await status(`GET ${site}`, as), await status(`GET ${site}/${id}`, as)]).toEqual([
      403, 403,
    ]);
  }
  await app.call("PUT /projects/acme%2Fsite", { as: "owner", json: { snippets_enabled: true } });
  expect(await status(`GET ${site}/${id}`, "anonymous")).toBe(200);
});
