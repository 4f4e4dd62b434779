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
      files: [{ path: "a.rb", raw_url: `${made.web_url}/raw/main/a.rb` }],
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

  const made = async (files: object[]) => {
    const answer = await app.call(`POST ${at}`, { as: "owner", json: { title: "A", files } });
    expect(answer.status).toBe(201);
    return answer.json;
  };
  const filesOf = async ({ id }: { id: number }) => {
    const { json } = await app.call(`GET ${at}/${id}`, { as: "owner" });
    const found: [string, string][] = [];
    for (const { path, raw_url } of json.files) {
      const file = `GET ${at}/${id}/files/main/${encodeURIComponent(path)}/raw`;
      const { text } = await app.call(file, { as: "owner" });
      expect((await app.call(`GET ${raw_url}`, { as: "owner" })).text).toBe(text);
      found.push([path, text]);
    }
    const [first = []] = found;
    const raw = await app.call(`GET ${at}/${id}/raw`, { as: "owner" });
    expect([json.file_name, raw.text]).toEqual(first);
    return found;
  };
  const actionsOn = (id: number, ...files: object[]) =>
    app.call(`PUT ${at}/${id}`, { as: "owner", json: { files } });

  it("have several files, in the order of their paths", async () => {
    const snippet = await made([
      { file_path: "lib/b c.py", content: "import os" },
      { file_path: "a.txt", content: "ü", action: "create" },
    ]);
    expect(snippet.file_name).toBe("a.txt");
    expect(snippet.files).toEqual([
      { path: "a.txt", raw_url: `${snippet.web_url}/raw/main/a.txt` },
      { path: "lib/b c.py", raw_url: `${snippet.web_url}/raw/main/lib/b%20c.py` },
    ]);
    expect(await filesOf(snippet)).toEqual([
      ["a.txt", "ü"],
      ["lib/b c.py", "import os"],
    ]);
    const { json } = await app.call(`GET ${at}`, { as: "owner" });
    expect(json.find(({ id }: { id: number }) => id === snippet.id)).toEqual(snippet);
    for (const [file, message] of [
      ["files/main/b/raw", "404 File Not Found"],
      ["files/topic/a.txt/raw", "404 Reference Not Found"],
    ]) {
      const answer = await app.call(`GET ${at}/${snippet.id}/${file}`, { as: "owner" });
      expect([answer.status, answer.json.message]).toEqual([404, message]);
    }
    const raw = await app.call(`GET ${at}/${snippet.id}/files/HEAD/a.txt/raw`, { as: "owner" });
    expect([raw.headers.get("content-type"), raw.text]).toEqual(["text/plain; charset=utf-8", "ü"]);
  });

  it("change their files by actions", async () => {
    const { id, updated_at } = await made([
      { file_path: "b", content: "1" },
      { file_path: "c", content: "2" },
    ]);
    const { status, json } = await actionsOn(
      id,
      { action: "move", previous_path: "c", file_path: "a" },
      { action: "update", file_path: "b", content: "3" },
      { action: "create", content: "4" },
      { action: "create", file_path: "", content: "5" },
      { action: "delete", file_path: "snippetfile1.txt" },
      { action: "move", previous_path: "snippetfile2.txt", file_path: "z/y", content: "6" },
    );
    expect(status).toBe(200);
    expect(json.updated_at > updated_at).toBe(true);
    expect(await filesOf({ id })).toEqual([
      ["a", "2"],
      ["b", "3"],
      ["z/y", "6"],
    ]);
    const fewer = await actionsOn(
      id,
      ...["a", "b"].map((file_path) => ({ action: "delete", file_path })),
    );
    expect(fewer.json.file_name).toBe("z/y");
    // Of one file it is enough to say its new name or content.
    const json2 = { file_name: "one", content: "7" };
    expect((await app.call(`PUT ${at}/${id}`, { as: "owner", json: json2 })).status).toBe(200);
    expect(await filesOf({ id })).toEqual([["one", "7"]]);
  });

  it("refuse a change of their files that can't be made, as a whole", async () => {
    const { id } = await made([
      { file_path: "a", content: "1" },
      { file_path: "b/c", content: "2" },
    ]);
    const failed = (reason: string) => ({
      error: `Repository Error updating the snippet - ${reason}`,
    });
    const [invalid, unknown, taken] = [
      { error: "Snippet actions have invalid data" },
      failed("A file with this name doesn't exist"),
      failed("A file with this name already exists"),
    ];
    const first = { action: "update", file_path: "a", content: "not kept" };
    const many = Array.from({ length: 9 }, (_, index) => ({
      action: "create",
      file_path: `n${index}`,
      content: "x",
    }));
    for (const [actions, status, message] of [
      [[{ action: "update", file_path: "x", content: "x" }], 400, unknown],
      [[{ action: "delete", file_path: "x" }], 400, unknown],
      [[{ action: "move", previous_path: "x", file_path: "y" }], 400, unknown],
      [[{ action: "create", file_path: "a", content: "x" }], 400, taken],
      [[{ action: "move", previous_path: "a", file_path: "b/c" }], 400, taken],
      [
        [{ action: "create", file_path: "b", content: "x" }],
        400,
        failed("A directory with this name already exists"),
      ],
      [
        ["a", "b/c"].map((file_path) => ({ action: "delete", file_path })),
        400,
        failed("The repository must contain at least 1 file."),
      ],
      [many, 400, failed("The repository can contain at most 10 file(s).")],
      [[{ action: "update", file_path: "a" }], 422, invalid],
      [[{ action: "update", file_path: "a", previous_path: "b/c", content: "x" }], 422, invalid],
      [[{ action: "update", content: "x" }], 422, invalid],
      [[{ action: "move", file_path: "x" }], 422, invalid],
      [[{ action: "move", file_path: "a", previous_path: "a" }], 422, invalid],
      [[{ action: "delete" }], 422, invalid],
      [[{ action: "create", file_path: "x" }], 422, invalid],
      [[{ file_path: "a" }], 400, '400 (Bad request) "files[1][action]" not given'],
      [[{ action: "copy", file_path: "a" }], 400, { action: ["does not have a valid value"] }],
      [["a"], 400, { files: ["is invalid"] }],
      [
        [{ action: "create", file_path: "../a", content: "x" }],
        400,
        { error: "Path cannot include directory traversal" },
      ],
      [[{ action: "create", file_path: "a", content: "" }], 400, { content: ["can't be blank"] }],
    ] as [object[], number, unknown][]) {
      const answer = await actionsOn(id, first, ...actions);
      expect([answer.status, answer.json]).toEqual([status, { message }]);
    }
    const error = "To update Snippets with multiple files, you must use the `files` parameter";
    for (const json of [{ content: "x" }, { file_name: "x" }]) {
      const answer = await app.call(`PUT ${at}/${id}`, { as: "owner", json });
      expect([answer.status, answer.json]).toEqual([400, { message: { error } }]);
    }
    expect((await app.call(`PUT ${at}/${id}`, { as: "owner", json: { title: "B" } })).status).toBe(
      200,
    );
    expect(await filesOf({ id })).toEqual([
      ["a", "1"],
      ["b/c", "2"],
    ]);
  });

  it.each([
    [{ files: [] }, '400 (Bad request) "file_name" not given'],
    [{ files: [{ content: "x" }] }, '400 (Bad request) "files[0][file_path]" not given'],
    [{ files: [{ file_path: "a" }] }, '400 (Bad request) "files[0][content]" not given'],
    [{ files: ["a"] }, { files: ["is invalid"] }],
    [
      { files: ["a", "a"].map((file_path) => ({ file_path, content: "x" })) },
      { error: "Repository Error creating the snippet - A file with this name already exists" },
    ],
    [
      {
        files: Array.from({ length: 11 }, (_, index) => ({ file_path: `${index}`, content: "x" })),
      },
      {
        error:
          "Repository Error creating the snippet - The repository can contain at most 10 file(s).",
      },
    ],
    [{ files: [{ file_path: "a//b", content: "x" }] }, { error: "invalid path: 'a//b'" }],
    [{ file_name: "a/../b", content: "x" }, { error: "Path cannot include directory traversal" }],
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

  it("refuse other actions than creating when they are created", async () => {
    const files = [{ file_path: "a", content: "x", action: "move" }];
    const { status, json } = await app.call(`POST ${at}`, {
      as: "owner",
      json: { title: "A", files },
    });
    expect([status, json]).toEqual([
      422,
      { message: { error: "Snippet actions have invalid data" } },
    ]);
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
  const one = `GET ${at}/${id}`;
  for (const path of [one, `${one}/raw`, `${one}/files/main/a.rb/raw`]) {
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

it("are listed by when they were created, on the day of both ends, too", async () => {
  const at = (day: string) => `2019-03-${day}T10:00:00.000Z`;
  const days = ["01", "02", "03"];
  const made: number[] = [];
  for (const day of days) {
    const { id } = await newSnippet("guest", "/snippets", { visibility: "public" });
    made.push(id);
    await app.store.transaction((db) =>
      db.run("update snippets set created_at = ? where id = ?", [Date.parse(at(day)), id]),
    );
  }
  for (const path of ["/snippets", "/snippets/public", "/snippets/all"]) {
    const listed = async (query: string) => {
      const { json } = await app.call(`GET ${path}?${query}&per_page=100`, { as: "guest" });
      return json.map(({ id }: { id: number }) => made.indexOf(id)).filter((n: number) => n >= 0);
    };
    expect(await listed("")).toEqual([2, 1, 0]);
    expect(await listed(`created_after=${at("02")}`)).toEqual([2, 1]);
    expect(await listed(`created_before=${at("02")}`)).toEqual([1, 0]);
    expect(await listed("created_after=2019-03-02&created_before=2019-03-03")).toEqual([1]);
    expect(await listed("created_after=2100-01-01")).toEqual([]);
    const { status: refused, json } = await app.call(`GET ${path}?created_after=soon`, {
      as: "guest",
    });
    expect([refused, json]).toEqual([400, { message: { created_after: ["is invalid"] } }]);
  }
});
