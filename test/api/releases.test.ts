import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, everyone, type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let project: string;
let sha: string;

beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

let projects = 0;
beforeEach(async () => {
  projects += 1;
  project = await newProject(`p${projects}`, "private");
});

/** A project of the group `secret` with one commit on `main` and the tag `v0`. */
async function newProject(name: string, visibility: string): Promise<string> {
  const group = await app.call("GET /groups/secret", { as: "owner" });
  const json = { name, namespace_id: group.json.id, visibility };
  const made = await app.call("POST /projects", { as: "owner", json });
  const path = `/projects/${made.json.id}`;
  const actions = [{ action: "create", file_path: "a.txt", content: "a" }];
  const commit = { branch: "main", commit_message: "First", actions };
  const first = await app.call(`POST ${path}/repository/commits`, { as: "owner", json: commit });
  sha = first.json.id;
  const tag = { tag_name: "v0", ref: "main" };
  await app.call(`POST ${path}/repository/tags`, { as: "owner", json: tag });
  return path;
}

const call = (request: string, as: Person, json?: object, headers: Record<string, string> = {}) => {
  const [method, path] = request.split(" ") as [string, string];
  return app.call(`${method} ${project}${path}`, { as, headers, ...(json && { json }) });
};
const release = (json: object, as: Person = "developer") => call("POST /releases", as, json);
const messageOf = ({ status, json }: Answer) => [status, json?.message ?? json?.error];

describe("creating", () => {
  it("creates the tag, too (C084)", async () => {
    const made = await release({ tag_name: "v1", ref: "main", name: "R", description: "d" });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      tag_name: "v1",
      name: "R",
      description: "d",
      upcoming_release: false,
      author: { username: "developer" },
      commit: { id: sha, title: "First" },
      commit_path: `/secret/p${projects}/-/commit/${sha}`,
      tag_path: `/secret/p${projects}/-/tags/v1`,
      assets: { count: 3, links: [] },
      evidences: [],
    });
    expect(made.json).not.toHaveProperty("milestones");
    expect(made.json._links.self).toBe(`http://pm.test/secret/p${projects}/-/releases/v1`);
    expect(made.json.released_at).toBe(made.json.created_at);
    const tag = await call("GET /repository/tags/v1", "reporter");
    expect(tag.json).toMatchObject({
      target: sha,
      release: { tag_name: "v1", description: "d" },
    });
    const tags = await call("GET /repository/tags", "reporter");
    expect(tags.json.find(({ name }: { name: string }) => name === "v0").release).toBeNull();
  });

  it("collects what a release is as evidence, for maintainers", async () => {
    await release({ tag_name: "v1", ref: "main", name: "R" });
    expect((await call("POST /releases/v1/evidence", "developer")).status).toBe(403);
    expect((await call("POST /releases/v9/evidence", "maintainer")).status).toBe(404);
    const { status, json } = await call("POST /releases/v1/evidence", "maintainer");
    const base = `http://pm.test/secret/p${projects}/-/releases/v1/evidences`;
    expect([status, json.evidences]).toEqual([
      201,
      [
        {
          sha: expect.stringMatching(/^[0-9a-f]{64}$/),
          filepath: expect.stringMatching(new RegExp(`^${base}/\\d+\\.json$`)),
          collected_at: expect.any(String),
        },
      ],
    ]);
    const [{ filepath, sha: known }] = json.evidences;
    const file = await app.call(`GET ${filepath}`, { as: "reporter" });
    expect([file.status, createHash("sha256").update(file.text).digest("hex")]).toEqual([
      200,
      known,
    ]);
    expect(file.json.release).toMatchObject({ tag_name: "v1", name: "R", milestones: [] });
    expect(file.text).not.toContain("developer");
    expect((await app.call(`GET ${filepath}`, { as: "stranger" })).status).toBe(404);
    await call("PUT /releases/v1", "developer", { name: "S" });
    expect((await app.call(`GET ${filepath}`, { as: "reporter" })).text).toBe(file.text);
    const shown = await call("GET /releases/v1", "reporter");
    expect(shown.json.evidences).toEqual(json.evidences);
    await call("POST /releases/v1/evidence", "maintainer");
    const { json: listed } = await call("GET /releases", "reporter");
    expect(listed[0].evidences).toHaveLength(2);
    for (let at = 2; at < 100; at += 1) await call("POST /releases/v1/evidence", "maintainer");
    expect(messageOf(await call("POST /releases/v1/evidence", "maintainer"))).toEqual([
      400,
      { base: ["A release has at most 100 evidences"] },
    ]);
  });

  it("makes an annotated tag if there is a message", async () => {
    await release({ tag_name: "v1", ref: "main", tag_message: "Hello" });
    const { json } = await call("GET /repository/tags/v1", "reporter");
    expect(json.message).toBe("Hello");
    const { json: made } = await call("GET /releases/v1", "reporter");
    expect([made.name, made.description, made.commit.id]).toEqual(["v1", null, sha]);
  });

  it("stores nothing of a tag if it is refused", async () => {
    const packs = () => app.store.rows("select count(*) from git_packs");
    const before = await packs();
    const sent = { tag_name: "v1", ref: "main", tag_message: "Hello", milestones: ["None"] };
    expect((await release(sent)).status).toBe(400);
    expect(await packs()).toEqual(before);
  });

  it("refuses a second release of a tag (C085)", async () => {
    expect((await release({ tag_name: "v0" })).status).toBe(201);
    const again = await release({ tag_name: "v0", ref: "main" });
    expect(messageOf(again)).toEqual([409, "Release already exists"]);
  });

  it("needs a ref for a new tag (C086)", async () => {
    expect(messageOf(await release({ tag_name: "v9" }))).toEqual([422, "Ref is not specified"]);
    const unknown = await release({ tag_name: "v9", ref: "nope" });
    expect(messageOf(unknown)).toEqual([400, "Target nope is invalid"]);
    expect((await call("GET /repository/tags/v9", "reporter")).status).toBe(404);
    expect((await release({ ref: "main" })).status).toBe(400);
  });

  it("takes milestones by title", async () => {
    for (const title of ["v1", "v2"]) await call("POST /milestones", "owner", { title });
    const unknown = await release({ tag_name: "v1", ref: "main", milestones: ["v1", "xyz"] });
    expect(messageOf(unknown)).toEqual([400, "Milestone(s) not found: xyz"]);
    expect((await call("GET /repository/tags/v1", "reporter")).status).toBe(404);
    const issue = { title: "x", milestone_id: 0 };
    const made = await release({ tag_name: "v1", ref: "main", milestones: ["v1", "v2"] });
    expect(made.json.milestones.map(({ title }: { title: string }) => title)).toEqual(["v1", "v2"]);
    issue.milestone_id = made.json.milestones[0].id;
    const opened = await call("POST /issues", "owner", issue);
    await call("POST /issues", "owner", issue);
    await call(`PUT /issues/${opened.json.iid}`, "owner", { state_event: "close" });
    const { json } = await call("GET /releases/v1", "reporter");
    expect(json.milestones[0].issue_stats).toEqual({ total: 2, closed: 1 });
    await call(`DELETE /milestones/${json.milestones[0].id}`, "owner");
    const after = await call("GET /releases/v1", "reporter");
    expect(after.json.milestones).toHaveLength(1);
    const cleared = await call("PUT /releases/v1", "developer", { milestones: [] });
    expect([cleared.status, cleared.json.milestones]).toEqual([200, undefined]);
  });

  it("takes links, also from a form", async () => {
    const links = [
      { name: "b", url: "https://a.test/b", link_type: "package", direct_asset_path: "/bin/b" },
    ];
    const made = await release({ tag_name: "v0", assets: { links } });
    expect(made.json.assets.count).toBe(4);
    expect(made.json.assets.links).toEqual([
      {
        id: expect.any(Number),
        name: "b",
        url: "https://a.test/b",
        direct_asset_url: `http://pm.test/api/v4${project}/releases/v0/downloads/bin/b`,
        link_type: "package",
      },
    ]);
    const form = "tag_name=v1&ref=main&assets[links][][name]=a&assets[links][][url]=https://a.test";
    const sent = await app.call(`POST ${project}/releases`, { as: "developer", form });
    expect(sent.json.assets.links[0].name).toBe("a");
    for (const [links, status] of [
      [[{ name: "a" }], 400],
      [[{ name: "a", url: "javascript:alert(1)" }], 400],
      ["x", 400],
      [[1], 400],
      [[{ name: "a", url: "https://a.test", link_type: "x" }], 400],
    ] as const) {
      expect((await release({ tag_name: "v2", ref: "main", assets: { links } })).status).toBe(
        status,
      );
    }
    expect((await call("GET /repository/tags/v2", "reporter")).status).toBe(404);
  });

  it("keeps protected tags for those who may create them", async () => {
    await call("POST /protected_tags", "owner", { name: "v*", create_access_level: 40 });
    const refused = [403, "You are not allowed to create this tag as it is protected."];
    expect(messageOf(await release({ tag_name: "v1", ref: "main" }))).toEqual(refused);
    expect(messageOf(await release({ tag_name: "v0" }))).toEqual(refused);
    expect((await release({ tag_name: "v0" }, "maintainer")).status).toBe(201);
    expect(messageOf(await call("DELETE /releases/v0", "developer"))).toEqual(refused);
  });
});

describe("reading", () => {
  it("lists the latest first, and tells upcoming ones", async () => {
    await release({ tag_name: "v0", released_at: "2020-01-01T00:00:00Z" });
    await release({ tag_name: "v1", ref: "main", released_at: "2990-01-01T00:00:00Z" });
    await release({ tag_name: "v/2", ref: "main", released_at: "2021-01-01T00:00:00Z" });
    const { json, headers } = await call("GET /releases", "reporter");
    expect(json.map((one: { tag_name: string }) => one.tag_name)).toEqual(["v1", "v/2", "v0"]);
    expect(json[0].upcoming_release).toBe(true);
    expect(headers.get("x-total")).toBe("3");
    const order = await call("GET /releases?order_by=created_at&sort=asc", "reporter");
    expect(order.json.map((one: { tag_name: string }) => one.tag_name)).toEqual([
      "v0",
      "v1",
      "v/2",
    ]);
    expect((await call("GET /releases?order_by=name", "reporter")).status).toBe(400);
    expect((await call("GET /releases/v%2F2", "reporter")).json.tag_name).toBe("v/2");
    const latest = await call("GET /releases/permalink/latest", "reporter");
    const address = `http://pm.test/api/v4${project}/releases/v%2F2`;
    expect([latest.status, latest.headers.get("location")]).toEqual([302, address]);
    const below = await call("GET /releases/permalink/latest/downloads/a", "reporter");
    expect(below.headers.get("location")).toBe(`${address}/downloads/a`);
    const query = "include_html_description=true&x=a%26b&private_token=token-of-reporter";
    const asked = await call(`GET /releases/permalink/latest?${query}`, "reporter");
    const repeated = "include_html_description=true&x=a%26b";
    expect(asked.headers.get("location")).toBe(`${address}?${repeated}`);
    for (const { format, url } of (await call("GET /releases/v%2F2", "reporter")).json.assets
      .sources) {
      const source = await app.call(`GET ${new URL(url).pathname.slice("/api/v4".length)}`, {
        as: "reporter",
      });
      expect([format, source.status]).toEqual([format, 200]);
    }
  });

  it("shows descriptions as HTML to those who ask", async () => {
    await call("POST /issues", "reporter", { title: "One" });
    await release({ tag_name: "v1", ref: "main", description: "**New** #1 <b>" });
    const [listed] = (await call("GET /releases?include_html_description=true", "reporter")).json;
    const issue = `<a href="http://pm.test/secret/p${projects}/-/issues/1" title="One" class="gfm gfm-issue">#1</a>`;
    expect(listed.description_html.replace(/ data-[\w-]+="[^"]*"/g, "")).toBe(
      `<p><strong>New</strong> ${issue} <b></b></p>\n`,
    );
    const one = await call("GET /releases/v1?include_html_description=true", "reporter");
    expect(one.json.description_html).toBe(listed.description_html);
    expect((await call("GET /releases/v1", "reporter")).json).not.toHaveProperty(
      "description_html",
    );
  });

  it("lists those of a group's projects to those who may read the code", async () => {
    const named = `grouped ${projects}`;
    await release({ tag_name: "v1", ref: "main", name: named, released_at: "2020-01-01" });
    await release({ tag_name: "v2", ref: "main", name: named, released_at: "2021-01-01" });
    const listed = async (as: Person, query = "") => {
      const found = await app.call(`GET /groups/secret/releases?per_page=100${query}`, { as });
      expect(found.status).toBe(200);
      return found.json.filter(({ name }: { name: string }) => name === named);
    };
    const tags = (found: { tag_name: string }[]) => found.map(({ tag_name }) => tag_name);
    const found = await listed("reporter");
    expect(tags(found)).toEqual(["v2", "v1"]);
    expect(found[0]).toMatchObject({ tag_path: expect.any(String), assets: { count: 3 } });
    expect(found[0].commit).toBeNull();
    expect(tags(await listed("reporter", "&sort=asc"))).toEqual(["v1", "v2"]);
    expect(await listed("guest")).toEqual([]);
    const simple = await listed("reporter", "&simple=true");
    const { name, tag_name, description, created_at, released_at, upcoming_release } = found[0];
    expect(simple[0]).toEqual({
      ...{ name, tag_name, description, created_at, released_at, upcoming_release },
    });
    expect(await listed("guest", "&simple=true")).toEqual([]);
    const first = await app.call("GET /groups/secret/releases?per_page=1", { as: "reporter" });
    expect([first.json.length, first.headers.get("x-next-page")]).toEqual([1, "2"]);
    const outside = await app.call("GET /groups/secret/releases", { as: "stranger" });
    expect(outside.status).toBe(404);
  });

  it("finds nothing where there is nothing", async () => {
    expect((await call("GET /releases", "reporter")).json).toEqual([]);
    expect(messageOf(await call("GET /releases/v0", "reporter"))).toEqual([404, "404 Not Found"]);
    for (const path of ["/permalink/latest", "/v0/downloads/a", "/v0/assets/links"]) {
      expect(messageOf(await call(`GET /releases${path}`, "reporter"))).toEqual([
        404,
        "404 Not found",
      ]);
    }
    expect(messageOf(await call("GET /releases/v0", "guest"))).toEqual([403, "403 Forbidden"]);
  });

  it("shows code only to those who may read it", async () => {
    await release({ tag_name: "v0" });
    const { json } = await call("GET /releases", "guest");
    expect(Object.keys(json[0])).toEqual([
      "tag_name",
      "description",
      "name",
      "created_at",
      "released_at",
      "upcoming_release",
      "author",
      "assets",
      "_links",
    ]);
    expect(json[0].assets).toEqual({ count: 0, links: [] });
    expect(json[0]._links).not.toHaveProperty("edit_url");
    const statuses = async (request: string) => {
      const answers = everyone.map((as) => call(request, as));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect(await statuses("GET /releases")).toEqual([404, 404, 200, 200, 200, 200, 200, 200]);
    expect(await statuses("GET /releases/v0")).toEqual([404, 404, 403, 200, 200, 200, 200, 200]);
    const group = await app.call("GET /groups/secret", { as: "owner" });
    await app.call(`PUT /groups/${group.json.id}`, { as: "owner", json: { visibility: "public" } });
    await call("PUT ", "owner", { visibility: "public" });
    expect(await statuses("GET /releases/v0")).toEqual(Array(8).fill(200));
    const open = await call("GET /releases", "anonymous");
    expect(open.json[0].commit.id).toBe(sha);
  });
});

describe("changing", () => {
  it("changes what is given", async () => {
    await release({ tag_name: "v0", name: "Old", description: "d" });
    const changed = await call("PUT /releases/v0", "developer", { name: "New" });
    expect(changed.status).toBe(200);
    expect(changed.json).toMatchObject({ name: "New", description: "d", tag_name: "v0" });
    const nothing = await call("PUT /releases/v0", "developer", {});
    expect(messageOf(nothing)).toEqual([400, "params is empty"]);
    expect(messageOf(await call("PUT /releases/nope", "developer", { name: "x" }))).toEqual([
      403,
      "403 Forbidden",
    ]);
    expect((await call("PUT /releases/v0", "reporter", { name: "x" })).status).toBe(403);
  });

  it("deletes it, and leaves the tag (C087)", async () => {
    await release({ tag_name: "v0" });
    const gone = await call("DELETE /releases/v0", "developer");
    expect([gone.status, gone.json.tag_name, gone.json.commit.id]).toEqual([200, "v0", sha]);
    expect((await call("GET /releases/v0", "reporter")).status).toBe(404);
    expect((await call("GET /repository/tags/v0", "reporter")).json.release).toBeNull();
    expect((await call("DELETE /releases/v0", "developer")).status).toBe(403);
  });

  it("goes with its tag", async () => {
    await release({ tag_name: "v0" });
    expect((await call("DELETE /repository/tags/v0", "developer")).status).toBe(204);
    expect((await call("GET /releases/v0", "reporter")).status).toBe(404);
  });

  it("is over in archived projects", async () => {
    await release({ tag_name: "v0" });
    await call("POST /archive", "owner");
    expect((await release({ tag_name: "v1", ref: "main" }, "owner")).status).toBe(403);
    expect((await call("PUT /releases/v0", "owner", { name: "x" })).status).toBe(403);
    expect((await call("GET /releases/v0", "reporter")).status).toBe(200);
  });
});

describe("links", () => {
  const link = { name: "a", url: "https://a.test/a" };

  beforeEach(async () => {
    await release({ tag_name: "v0" });
  });

  it("are added once (C088)", async () => {
    const added = await call("POST /releases/v0/assets/links", "developer", link);
    expect([added.status, added.json]).toEqual([
      201,
      { id: expect.any(Number), ...link, direct_asset_url: link.url, link_type: "other" },
    ]);
    const again = await call("POST /releases/v0/assets/links", "developer", link);
    expect(messageOf(again)).toEqual([
      400,
      ["Url has already been taken", "Name has already been taken"],
    ]);
    const { json } = await call("GET /releases/v0", "reporter");
    expect(json.assets).toMatchObject({ count: 4, links: [added.json] });
  });

  it("are changed, listed and removed", async () => {
    const { json } = await call("POST /releases/v0/assets/links", "developer", {
      ...link,
      filepath: "/bin/tool",
    });
    const path = `/releases/v0/assets/links/${json.id}`;
    const moved = await call("GET /releases/v0/downloads/bin/tool", "reporter");
    expect([moved.status, moved.headers.get("location")]).toEqual([302, link.url]);
    expect((await call(`PUT ${path}`, "developer", {})).status).toBe(400);
    const changed = await call(`PUT ${path}`, "developer", { link_type: "image", name: "b" });
    expect(changed.json).toMatchObject({ name: "b", url: link.url, link_type: "image" });
    const other = await call("POST /releases/v0/assets/links", "developer", {
      name: "c",
      url: "ftp://a.test/c",
    });
    const listed = await call("GET /releases/v0/assets/links", "reporter");
    expect(listed.json).toEqual([other.json, changed.json]);
    const taken = await call(`PUT ${path}`, "developer", { name: "c" });
    expect(messageOf(taken)).toEqual([400, ["Name has already been taken"]]);
    const gone = await call(`DELETE ${path}`, "developer");
    expect([gone.status, gone.json]).toEqual([200, changed.json]);
    expect((await call(`GET ${path}`, "reporter")).status).toBe(404);
    expect((await call(`DELETE ${path}`, "developer")).status).toBe(404);
    expect((await call(`DELETE ${path}`, "reporter")).status).toBe(403);
  });

  it.each(["bin", "/a//b", "/a/", "/a b", "/"])("have no path such as %s", async (filepath) => {
    const sent = { ...link, filepath };
    const refused = await call("POST /releases/v0/assets/links", "developer", sent);
    expect(messageOf(refused)).toEqual([400, ["Filepath is in an invalid format"]]);
  });
});

it("job tokens of the project release", async () => {
  const id = Number(project.slice("/projects/".length));
  const { token } = await app.admin.tokens.createForJob({
    project: id,
    user: "developer",
  } as never);
  const headers = { "job-token": token };
  const json = { tag_name: "v1", ref: "main" };
  expect((await call("POST /releases", "anonymous", json, headers)).status).toBe(201);
  expect((await call("GET /releases", "anonymous", undefined, headers)).json).toHaveLength(1);
});
