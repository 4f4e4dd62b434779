import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runs, tryRandomly } from "../forms.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";

const FORBIDDEN = { message: "403 Forbidden" };
const NO_PROJECT = { message: "404 Project Not Found" };
const NO_PAGE = { message: "404 Wiki Page Not Found" };

let app: TestApp;
/** Creates a project in the private group `secret`, whose members are named after their roles. */
let project: (options?: { visibility?: "public" | "internal"; wiki?: boolean }) => Promise<string>;

beforeAll(async () => {
  app = await testApp();
  let count = 0;
  project = async ({ visibility, wiki = true } = {}) => {
    count += 1;
    const { json } = await app.call(`GET /groups/${visibility ? "acme" : "secret"}`, {
      as: "admin",
    });
    const made = await app.call("POST /projects", {
      as: "admin",
      json: {
        name: `wiki${count}`,
        namespace_id: json.id,
        visibility: visibility ?? "private",
        wiki_enabled: wiki,
      },
    });
    expect(made.status).toBe(201);
    return String(made.json.id);
  };
});
afterAll(() => app.dispose());

const create = async (
  id: string,
  json: { title: string; content?: string; format?: string },
  as: Person = "developer",
) => app.call(`POST /projects/${id}/wikis`, { as, json: { content: "text", ...json } });

describe("listing", () => {
  it("returns [] for a wiki without pages, with pagination headers (055)", async () => {
    const answer = await app.call(`GET /projects/${await project()}/wikis`, { as: "developer" });
    expect([answer.status, answer.json]).toEqual([200, []]);
    expect(answer.headers.get("x-total")).toBe("0");
    expect(answer.headers.get("link")).toContain('rel="first"');
  });

  it("returns format, slug and title, ordered by title; content if asked for (056)", async () => {
    const id = await project();
    await create(id, { title: "page2.with.dot", content: "two" });
    await create(id, { title: "page1", content: "one" });
    const list = async (query = "") =>
      (await app.call(`GET /projects/${id}/wikis${query}`, { as: "guest" })).json;
    const without = [
      { format: "markdown", slug: "page1", title: "page1" },
      { format: "markdown", slug: "page2.with.dot", title: "page2.with.dot" },
    ];
    expect(await list()).toEqual(without);
    expect(await list("?with_content=0")).toEqual(without);
    const withContent = [
      { content: "one", ...without[0] },
      { content: "two", ...without[1] },
    ];
    expect(await list("?with_content=1")).toEqual(withContent);
    expect(await list("?with_content=true")).toEqual(withContent);
    const bad = await app.call(`GET /projects/${id}/wikis?with_content=maybe`, { as: "guest" });
    expect([bad.status, bad.json]).toEqual([400, { message: { with_content: ["is invalid"] } }]);
  });

  it("is paginated", async () => {
    const id = await project();
    for (const title of ["b", "a", "c"]) await create(id, { title });
    const answer = await app.call(`GET /projects/${id}/wikis?per_page=2&page=2`, { as: "guest" });
    expect(answer.json.map((page: { slug: string }) => page.slug)).toEqual(["c"]);
    expect(answer.headers.get("x-total")).toBe("3");
    expect(answer.headers.get("x-total-pages")).toBe("2");
    expect(answer.headers.get("x-prev-page")).toBe("1");
  });
});

describe("a page", () => {
  it("is created, shown, changed, renamed and deleted (061, 064, 073, 074, 079)", async () => {
    const id = await project();
    const made = await app.call(`POST /projects/${id}/wikis`, {
      as: "developer",
      form: { title: "title", content: "content", format: "rdoc" },
    });
    const page = { content: "content", format: "rdoc", slug: "title", title: "title" };
    expect([made.status, made.json]).toEqual([201, page]);
    const shown = await app.call(`GET /projects/${id}/wikis/title`, { as: "guest" });
    expect([shown.status, shown.json]).toEqual([200, page]);

    const put = (path: string, json: object) =>
      app.call(`PUT /projects/${id}/wikis/${path}`, { as: "developer", json });
    const changed = await put("title", { content: "other" });
    expect([changed.status, changed.json]).toEqual([200, { ...page, content: "other" }]);
    const renamed = await put("title", { title: "new title", content: "new content" });
    expect([renamed.status, renamed.json]).toEqual([
      200,
      { content: "new content", format: "rdoc", slug: "new-title", title: "new title" },
    ]);
    expect((await put("title", { content: "x" })).json).toEqual(NO_PAGE);
    expect((await put("new-title", { content: "x", format: "asciidoc" })).json.format).toBe(
      "asciidoc",
    );

    const gone = await app.call(`DELETE /projects/${id}/wikis/new-title`, {
      as: "maintainer",
      headers: { "if-unmodified-since": "Mon, 01 Jan 1990 00:00:00 GMT" },
    });
    expect([gone.status, gone.text]).toEqual([204, ""]);
    const after = await app.call(`GET /projects/${id}/wikis/new-title`, { as: "guest" });
    expect([after.status, after.json]).toEqual([404, NO_PAGE]);
  });

  it("that doesn't exist is 404 (062, 077, 080)", async () => {
    const id = await project();
    for (const [method, json] of [["GET"], ["PUT", { title: "x" }], ["DELETE"]] as const) {
      const path = `${method} /projects/${id}/wikis/unknown`;
      const answer = await app.call(path, { as: "maintainer", ...(json ? { json } : {}) });
      expect([answer.status, answer.json]).toEqual([404, NO_PAGE]);
    }
  });

  it("requires title and content, and a known format (067, 068)", async () => {
    const id = await project();
    const post = async (json: object) => {
      const answer = await app.call(`POST /projects/${id}/wikis`, { as: "developer", json });
      expect(answer.status).toBe(400);
      return answer.json.message;
    };
    expect(await post({ content: "c" })).toBe('400 (Bad request) "title" not given');
    expect(await post({ title: "t" })).toBe('400 (Bad request) "content" not given');
    expect(await post({ title: " / ", content: "c" })).toEqual({ title: ["can't be blank"] });
    expect(await post({ title: "t", content: "" })).toEqual({ content: ["can't be blank"] });
    expect(await post({ title: "t", content: "c", format: "docx" })).toEqual({
      format: ["does not have a valid value"],
    });
  });

  it("requires content or title to change (076)", async () => {
    const id = await project();
    await create(id, { title: "a" });
    for (const json of [{}, { format: "rdoc" }]) {
      const answer = await app.call(`PUT /projects/${id}/wikis/a`, { as: "developer", json });
      expect(answer.status).toBe(400);
      expect(answer.json.message).toContain("content, title are missing");
    }
  });

  it("has a title unique in its folder (070)", async () => {
    const id = await project();
    await create(id, { title: "One page" });
    await create(id, { title: "dir/other" });
    for (const title of ["One page", "One-page", " One  page ", "/One page/"]) {
      const answer = await create(id, { title });
      expect([answer.status, answer.json]).toEqual([
        400,
        { message: { base: ["Duplicate page: A page with that title already exists"] } },
      ]);
    }
    const rename = (title: string) =>
      app.call(`PUT /projects/${id}/wikis/dir%2Fother`, { as: "developer", json: { title } });
    const refused = await rename("/One page");
    expect(refused.status).toBe(400);
    expect(refused.json.message.base[0]).toContain("already a page with the same title");
    expect((await create(id, { title: "one page" })).status).toBe(201);
    expect((await rename("other")).status).toBe(200);
  });

  it("can have 500 pages' worth of text", async () => {
    const id = await project();
    const content = "Ein Satz, der länger ist. 🙂 ".repeat(20_000);
    expect((await create(id, { title: "long", content })).status).toBe(201);
    const { json } = await app.call(`GET /projects/${id}/wikis/long`, { as: "guest" });
    expect(json.content).toBe(content);
  });
});

describe("slugs", () => {
  it.each([
    ["new title", "new-title", "new title"],
    ["title/subtitle", "title/subtitle", "title/subtitle"],
    ["  foo  /   bar \t baz / page_name ", "foo/bar-baz/page_name", "foo/bar baz/page_name"],
    ["/rooted", "rooted", "rooted"],
    ["a//b/", "a/b", "a/b"],
    ["CamelCase.md", "CamelCase.md", "CamelCase.md"],
    ["Über uns/Größe 🙂", "Über-uns/Größe-🙂", "Über uns/Größe 🙂"],
    ["already-hyphened", "already-hyphened", "already hyphened"],
    ["two--hyphens/- and -", "two--hyphens/--and--", "two hyphens/ and "],
    ["v1.2.3", "v1.2.3", "v1.2.3"],
    ["100% sure? #1 & <b>", "100%-sure?-#1-&-<b>", "100% sure? #1 & <b>"],
    ["attachments", "attachments", "attachments"],
    ["attachments/more", "attachments/more", "attachments/more"],
    ["uploads/about", "uploads/about", "uploads/about"],
    ["__proto__", "__proto__", "__proto__"],
  ])("%j is %j, shown as %j", async (title, slug, shown) => {
    const id = await project();
    const made = await create(id, { title });
    expect(made.json).toMatchObject({ slug, title: shown });
    const encoded = encodeURIComponent(slug);
    for (const path of [encoded, encoded.replaceAll("%2F", "/"), `${encoded}/`]) {
      const found = await app.call(`GET /projects/${id}/wikis/${path}`, { as: "guest" });
      expect([path, found.status, found.json]).toEqual([path, 200, made.json]);
    }
    const changed = await app.call(`PUT /projects/${id}/wikis/${encoded}`, {
      as: "developer",
      json: { title: shown, content: "changed" },
    });
    expect([changed.status, changed.json.title]).toEqual([200, shown]);
    const now = encodeURIComponent(changed.json.slug).replaceAll("%2F", "/");
    const gone = await app.call(`DELETE /projects/${id}/wikis/${now}`, { as: "maintainer" });
    expect(gone.status).toBe(204);
  });

  it.each([
    ".",
    "..",
    "a/../b",
    "./a",
    "a/...",
    "",
    "/",
    "uploads/0123456789abcdef0123456789abcdef/x",
  ])("%j is refused", async (title) => {
    const answer = await create(await project(), { title });
    expect(answer.status).toBe(400);
    expect(Object.keys(answer.json.message)).toEqual(["title"]);
  });

  it("keep the page's directory if a title has none; a leading / moves to the root", async () => {
    const id = await project();
    await create(id, { title: "guides/start" });
    const rename = async (slug: string, title: string) => {
      const path = `PUT /projects/${id}/wikis/${encodeURIComponent(slug)}`;
      return (await app.call(path, { as: "developer", json: { title } })).json.slug;
    };
    expect(await rename("guides/start", "first steps")).toBe("guides/first-steps");
    expect(await rename("guides/first-steps", "guides/start")).toBe("guides/start");
    expect(await rename("guides/start", "/start")).toBe("start");
    expect(await rename("start", "deep/er/start")).toBe("deep/er/start");
    expect(await rename("deep/er/start", "end")).toBe("deep/er/end");
  });

  it("are 400 if malformed", async () => {
    const id = await project();
    for (const path of ["%zz", "a%00b", "%ff"]) {
      const answer = await app.call(`GET /projects/${id}/wikis/${path}`, { as: "guest" });
      expect([path, answer.status]).toEqual([path, 400]);
    }
  });

  it("of any accepted title find the page again", async () => {
    const id = await project();
    const piece = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 12 }),
      fc.string({ unit: "binary", maxLength: 6 }),
      fc.constantFrom("/", " ", ".", "..", "-", "%2F", "?", "#", "\\", "+", "a", "uploads"),
    );
    const titles = fc.array(piece, { minLength: 1, maxLength: 6 }).map((all) => all.join(""));
    await tryRandomly(
      fc.asyncProperty(titles, async (title) => {
        const made = await create(id, { title });
        if (made.status === 400) return;
        expect(made.status).toBe(201);
        const encoded = encodeURIComponent(made.json.slug);
        for (const path of [encoded, encoded.replaceAll("%2F", "/")]) {
          const found = await app.call(`GET /projects/${id}/wikis/${path}`, { as: "guest" });
          expect([found.status, found.json]).toEqual([200, made.json]);
        }
        if (made.json.title.trim() !== "") {
          const same = await app.call(`PUT /projects/${id}/wikis/${encoded}`, {
            as: "developer",
            json: { title: made.json.title },
          });
          expect([same.status, same.json]).toEqual([200, made.json]);
        }
        const gone = await app.call(`DELETE /projects/${id}/wikis/${encoded}`, { as: "owner" });
        expect(gone.status).toBe(204);
      }),
      { numRuns: runs(30, 300) },
    );
  });
});

describe("access", () => {
  const everybody: Person[] = [
    "anonymous",
    "stranger",
    "guest",
    "reporter",
    "developer",
    "maintainer",
    "owner",
    "admin",
  ];
  const asked = {
    list: ["GET", ""],
    show: ["GET", "/page"],
    create: ["POST", ""],
    change: ["PUT", "/page"],
    delete: ["DELETE", "/page"],
  } as const;
  const statuses = async (id: string, act: keyof typeof asked) => {
    const answers: number[] = [];
    for (const as of everybody) {
      await create(id, { title: "page" }, "admin");
      const [method, path] = asked[act];
      const json = { title: `by ${as}`, content: "c" };
      const sent = act === "create" ? { json } : act === "change" ? { json: { content: as } } : {};
      answers.push(
        (await app.call(`${method} /projects/${id}/wikis${path}`, { as, ...sent })).status,
      );
    }
    return answers;
  };

  it("to a private project (058, 071)", async () => {
    const id = await project();
    expect(await statuses(id, "list")).toEqual([404, 404, 200, 200, 200, 200, 200, 200]);
    expect(await statuses(id, "show")).toEqual([404, 404, 200, 200, 200, 200, 200, 200]);
    expect(await statuses(id, "create")).toEqual([404, 404, 403, 403, 201, 201, 201, 201]);
    expect(await statuses(id, "change")).toEqual([404, 404, 403, 403, 200, 200, 200, 200]);
    expect(await statuses(id, "delete")).toEqual([404, 404, 403, 403, 403, 204, 204, 204]);
    const { json } = await app.call(`GET /projects/${id}/wikis`);
    expect(json).toEqual(NO_PROJECT);
  });

  it("to a public project", async () => {
    const id = await project({ visibility: "public" });
    expect(await statuses(id, "list")).toEqual([200, 200, 200, 200, 200, 200, 200, 200]);
    expect(await statuses(id, "show")).toEqual([200, 200, 200, 200, 200, 200, 200, 200]);
    expect(await statuses(id, "create")).toEqual([401, 403, 403, 403, 201, 201, 201, 201]);
    expect(await statuses(id, "change")).toEqual([401, 403, 403, 403, 200, 200, 200, 200]);
    expect(await statuses(id, "delete")).toEqual([401, 403, 403, 403, 403, 204, 204, 204]);
  });

  it("to an internal project", async () => {
    const id = await project({ visibility: "internal" });
    expect(await statuses(id, "list")).toEqual([404, 200, 200, 200, 200, 200, 200, 200]);
  });

  it("to a disabled wiki: nobody (059)", async () => {
    const id = await project({ wiki: false });
    const call = (request: string, as: Person, json?: object) =>
      app.call(request.replace("W", `/projects/${id}/wikis`), { as, ...(json ? { json } : {}) });
    const page = { title: "t", content: "c" };
    for (const as of ["guest", "developer", "owner"] as const) {
      for (const answer of [
        await call("GET W", as),
        await call("GET W/x", as),
        await call("POST W", as, page),
        await call("PUT W/x", as, page),
        await call("DELETE W/x", as),
      ]) {
        expect([answer.status, answer.json]).toEqual([403, FORBIDDEN]);
      }
    }
    expect((await call("GET W", "stranger")).json).toEqual(NO_PROJECT);
    expect((await call("GET W", "anonymous")).json).toEqual(NO_PROJECT);
  });

  it("is limited by the token's scopes", async () => {
    const { token } = await app.admin.tokens.create({
      user: "developer",
      name: "reader",
      scopes: ["read_api"],
    });
    const id = await project();
    const headers = { "private-token": token };
    expect((await app.call(`GET /projects/${id}/wikis`, { headers })).status).toBe(200);
    const json = { title: "t", content: "c" };
    expect((await app.call(`POST /projects/${id}/wikis`, { headers, json })).status).toBe(403);
  });
});

describe("the routes", () => {
  it("answer 405 and OPTIONS with their methods", async () => {
    const id = await project();
    const attachments = await app.call(`OPTIONS /projects/${id}/wikis/attachments`);
    expect(attachments.headers.get("allow")).toBe("DELETE, GET, HEAD, OPTIONS, POST, PUT");
    const page = await app.call(`POST /projects/${id}/wikis/page`, { as: "developer" });
    expect([page.status, page.headers.get("allow")]).toEqual([
      405,
      "DELETE, GET, HEAD, OPTIONS, PUT",
    ]);
  });

  it("answer 304 if the client already has the page", async () => {
    const id = await project();
    await create(id, { title: "page" });
    const first = await app.call(`GET /projects/${id}/wikis/page`, { as: "guest" });
    const headers = { "if-none-match": first.headers.get("etag") as string };
    const again = await app.call(`GET /projects/${id}/wikis/page`, { as: "guest", headers });
    expect([again.status, again.text]).toEqual([304, ""]);
  });
});

describe("a seed", () => {
  it("can have wiki pages", async () => {
    const own = await testApp({
      seed: {
        groups: [
          {
            path: "g",
            visibility: "public",
            projects: [
              {
                path: "p",
                visibility: "public",
                wiki: [
                  { title: "home", content: "Hello" },
                  { title: "dir/a page", content: "= A", format: "asciidoc" },
                ],
              },
            ],
          },
        ],
      },
    });
    const { json } = await own.call("GET /projects/g%2Fp/wikis?with_content=1");
    expect(json).toEqual([
      { content: "= A", format: "asciidoc", slug: "dir/a-page", title: "dir/a page" },
      { content: "Hello", format: "markdown", slug: "home", title: "home" },
    ]);
    await own.dispose();
  });
});

describe("a page in other forms", () => {
  it("is shown as HTML, with the references that the caller may see", async () => {
    const id = await project({ visibility: "public" });
    const secret = await app.call(`POST /projects/${id}/issues`, {
      as: "owner",
      json: { title: "Secret", confidential: true },
    });
    await create(id, { title: "Home", content: `# Hello\n\n**Now** <b> #${secret.json.iid}` });
    const html = async (as?: Person) =>
      (await app.call(`GET /projects/${id}/wikis/Home?render_html=true`, as ? { as } : {})).json
        .content;
    expect(await html("owner")).toContain("<strong>Now</strong> <b> <a href=");
    const anonymous = await html();
    expect(anonymous).toContain(`<strong>Now</strong> <b> #${secret.json.iid}`);
    expect(anonymous).toContain("Hello");
    const plain = await app.call(`GET /projects/${id}/wikis/Home`);
    expect(plain.json.content).toContain("# Hello");
    await create(id, { title: "Other", content: "= A <b>", format: "rdoc" });
    const other = await app.call(`GET /projects/${id}/wikis/Other?render_html=true`);
    expect(other.json).toEqual({
      content: "<pre>= A &lt;b&gt;</pre>",
      format: "rdoc",
      slug: "Other",
      title: "Other",
    });
  });

  it("is shown as of a commit of the wiki", async () => {
    const id = await project();
    const tip = async () => {
      const rows = await app.store.reader().rows(
        `select r.oid from git_refs r join git_repositories g on g.id = r.repository_id
         where g.project_id = ? and g.kind = 'wiki'`,
        [Number(id)],
      );
      return String(rows[0]?.[0]);
    };
    await create(id, { title: "Home", content: "one" });
    const first = await tip();
    await app.call(`PUT /projects/${id}/wikis/Home`, { as: "developer", json: { content: "two" } });
    const second = await tip();
    const at = async (version: string, slug = "Home") => {
      const path = `GET /projects/${id}/wikis/${slug}?version=${version}`;
      const { status, json } = await app.call(path, { as: "reporter" });
      return status === 200 ? json.content : [status, json];
    };
    expect(await at(first)).toBe("one");
    expect(await at(second)).toBe("two");
    expect(await at(first.slice(0, 10))).toBe("one");
    expect(await at("")).toBe("two");
    await create(id, { title: "Later", content: "three" });
    expect(await at(first, "Later")).toEqual([404, NO_PAGE]);
    for (const unknown of ["0".repeat(40), "HEAD", "master", "../x"]) {
      expect(await at(unknown)).toEqual([404, NO_PAGE]);
    }
    const html = await app.call(
      `GET /projects/${id}/wikis/Home?version=${first}&render_html=true`,
      {
        as: "reporter",
      },
    );
    expect(html.json.content).toContain("one</p>");
  });
});
