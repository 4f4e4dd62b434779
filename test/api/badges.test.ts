import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, type Person, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { newCommit, pushHeaders, pushOf, pushTo } from "../packs.ts";

const LINK = "http://example.com/ci?ref=%{default_branch}&x=%{unknown_thing}";
const IMAGE = "https://%{project_path}.example.com/b.svg";

let app: TestApp;
beforeAll(async () => {
  const [acme, ...groups] = baseSeed.groups ?? [];
  app = await testApp({
    seed: {
      ...baseSeed,
      groups: [
        {
          ...(acme as NonNullable<typeof acme>),
          projects: [
            { path: "site", name: "Site", visibility: "public", default_branch: "trunk" },
            { path: "later", name: "Later", visibility: "public", default_branch: "main" },
          ],
        },
        ...groups,
        {
          path: "empty",
          visibility: "public",
          members: { owner: "owner", developer: "developer", maintainer: "maintainer" },
        },
      ],
    },
  });
});
afterAll(() => app.dispose());

async function newBadge(group = "acme", extra: Record<string, string> = {}) {
  const { status, json } = await app.call(`POST /groups/${group}/badges`, {
    as: "owner",
    json: { link_url: LINK, image_url: IMAGE, ...extra },
  });
  expect(status).toBe(201);
  return json;
}

describe("group badges", () => {
  it("are added by owners, and rendered with the values of the group's first project", async () => {
    expect(await newBadge()).toEqual({
      id: expect.any(Number),
      name: null,
      link_url: LINK,
      image_url: IMAGE,
      rendered_link_url: "http://example.com/ci?ref=trunk&x=%{unknown_thing}",
      rendered_image_url: "https://acme/site.example.com/b.svg",
      kind: "group",
    });
  });

  it("have all placeholders of GitLab that have a value here", async () => {
    const { json: group } = await app.call("POST /groups", {
      as: "owner",
      json: { name: "B", path: "badged" },
    });
    const { json: project } = await app.call("POST /projects", {
      as: "owner",
      json: {
        name: "The Site",
        path: "the-site",
        namespace_id: group.id,
        initialize_with_readme: true,
      },
    });
    const { json: commits } = await app.call(`GET /projects/${project.id}/repository/commits`, {
      as: "owner",
    });
    const names = [
      ...["project_path", "project_title", "project_name", "project_id", "project_namespace"],
      ...[
        "group_name",
        "gitlab_server",
        "gitlab_pages_domain",
        "default_branch",
        "commit_sha",
        "latest_tag",
      ],
    ];
    const link = `https://ci.example/${names.map((name) => `%{${name}}`).join("|")}`;
    const expected = `https://ci.example/badged/the-site|The Site|the-site|${project.id}|badged/the-site|badged|pm.test|pm.test|main|${commits[0].id}|%{latest_tag}`;
    const preview = new URLSearchParams({ link_url: link, image_url: IMAGE });
    for (const at of ["groups/badged", `projects/${project.id}`]) {
      const { json } = await app.call(`GET /${at}/badges/render?${preview}`, { as: "owner" });
      expect(json.rendered_link_url).toBe(expected);
    }
    const badge = await newBadge("badged", { link_url: link });
    expect(badge.rendered_link_url).toBe(expected);
  });

  it("fills in the tag that was made last", async () => {
    const made = await app.call("POST /projects", { as: "owner", json: { name: "Tagged" } });
    // Its commit is some years old.
    const { oid, pack } = newCommit("old");
    const body = pushOf([{ name: "refs/heads/main", to: oid }], pack);
    await pushTo(app, "owner/tagged", body, pushHeaders(tokenOf("owner")));
    const at = `/projects/${made.json.id}`;
    const link_url = "https://ci.example/%{latest_tag}.svg";
    const { json: badge } = await app.call(`POST ${at}/badges`, {
      as: "owner",
      json: { link_url, image_url: IMAGE },
    });
    const shown = async () =>
      (await app.call(`GET ${at}/badges/${badge.id}`, { as: "owner" })).json.rendered_link_url;
    expect(await shown()).toBe(link_url);
    const tag = async (tag_name: string, more = {}) => {
      const json = { tag_name, ref: "main", ...more };
      const answer = await app.call(`POST ${at}/repository/tags`, { as: "owner", json });
      expect(answer.status, answer.text).toBe(201);
    };
    await tag("v2.0");
    expect(await shown()).toBe("https://ci.example/v2.0.svg");
    await tag("v1.9", { message: "Later" });
    expect(await shown()).toBe("https://ci.example/v1.9.svg");
    const fork = await app.call(`POST ${at}/fork`, { as: "admin" });
    const forked = `/projects/${fork.json.id}/badges/render?${new URLSearchParams({ link_url, image_url: IMAGE })}`;
    expect((await app.call(`GET ${forked}`, { as: "admin" })).json.rendered_link_url).toBe(
      "https://ci.example/v1.9.svg",
    );
    await app.call(`DELETE ${at}/repository/tags/v1.9`, { as: "owner" });
    expect(await shown()).toBe("https://ci.example/v2.0.svg");
  });

  it("fills in tags that were pushed to older versions, after the next sweep", async () => {
    const made = await app.call("POST /projects", {
      as: "owner",
      json: { name: "Old tags", initialize_with_readme: true },
    });
    const at = `/projects/${made.json.id}`;
    const json = { tag_name: "old", ref: "main" };
    expect((await app.call(`POST ${at}/repository/tags`, { as: "owner", json })).status).toBe(201);
    await app.store.transaction(async (db) => {
      await db.run("update git_refs set tagged_at = null");
      await db.run("update git_repositories set is_noted = 0");
    });
    const preview = new URLSearchParams({
      link_url: "https://ci.example/%{latest_tag}",
      image_url: IMAGE,
    });
    const shown = async () =>
      (await app.call(`GET ${at}/badges/render?${preview}`, { as: "owner" })).json
        .rendered_link_url;
    expect(await shown()).toBe("https://ci.example/%{latest_tag}");
    await app.admin.maintenance.sweepDaily();
    expect(await shown()).toBe("https://ci.example/old");
  });

  it("keep their placeholders in a group without projects", async () => {
    const badge = await newBadge("empty");
    expect([badge.rendered_link_url, badge.rendered_image_url]).toEqual([LINK, IMAGE]);
  });

  it("don't use values of a project the caller can't see", async () => {
    const { json: project } = await app.call("POST /groups", {
      as: "owner",
      json: { name: "Half", path: "half", visibility: "public" },
    });
    await app.call("POST /projects", {
      as: "owner",
      json: { name: "hidden", namespace_id: project.id },
    });
    const badge = await newBadge("half");
    expect(badge.rendered_image_url).toBe("https://half/hidden.example.com/b.svg");
    const { json } = await app.call(`GET /groups/half/badges/${badge.id}`, { as: "stranger" });
    expect(json.rendered_image_url).toBe(IMAGE);
  });

  it("are listed oldest first, with pagination headers, to anyone who sees the group", async () => {
    const first = await newBadge("empty", { name: "Coverage" });
    const second = await newBadge("empty", { name: "Pipeline" });
    const { status, json, headers } = await app.call("GET /groups/empty/badges");
    expect(status).toBe(200);
    expect(json.map((badge: { id: number }) => badge.id).slice(-2)).toEqual([first.id, second.id]);
    expect(headers.get("x-total")).toBe(String(json.length));
    expect((await app.call("GET /groups/secret/badges", { as: "stranger" })).json).toEqual({
      message: "404 Group Not Found",
    });
  });

  it("are found by name, case-sensitively", async () => {
    await newBadge("empty", { name: "Deploys" });
    expect((await app.call("GET /groups/empty/badges?name=Deploys")).json).toHaveLength(1);
    expect((await app.call("GET /groups/empty/badges?name=deploys")).json).toEqual([]);
  });

  it("answer 404 and 400 to invalid ids", async () => {
    const unknown = await app.call("GET /groups/acme/badges/123456", { as: "owner" });
    expect([unknown.status, unknown.json]).toEqual([404, { message: "404 Not found" }]);
    const malformed = await app.call("GET /groups/acme/badges/abc", { as: "owner" });
    expect([malformed.status, malformed.json]).toEqual([
      400,
      { message: { badge_id: ["is invalid"] } },
    ]);
  });

  it.each(["link_url", "image_url"])("need both URLs: without %s", async (missing) => {
    const json = { link_url: LINK, image_url: IMAGE, [missing]: undefined };
    const { status, json: body } = await app.call("POST /groups/acme/badges", {
      as: "owner",
      json,
    });
    expect([status, body]).toEqual([400, { message: `400 (Bad request) "${missing}" not given` }]);
  });

  it.each([
    ["whatever", "is blocked: Only allowed schemes are http, https"],
    ["javascript:alert(1)", "is blocked: Only allowed schemes are http, https"],
    ["%{project_path}", "is blocked: Only allowed schemes are http, https"],
    ["", "must be a valid URL"],
    ["http://", "must be a valid URL"],
  ])("accept only http and https: %s", async (url, problem) => {
    const { status, json } = await app.call("POST /groups/acme/badges", {
      as: "owner",
      json: { link_url: url, image_url: url },
    });
    expect([status, json]).toEqual([
      400,
      { message: { link_url: [problem], image_url: [problem] } },
    ]);
  });

  it("change only the attributes sent", async () => {
    const badge = await newBadge();
    const path = `/groups/acme/badges/${badge.id}`;
    const changed = await app.call(`PUT ${path}`, {
      as: "owner",
      json: { link_url: "http://new.example.com" },
    });
    expect(changed.status).toBe(200);
    expect(changed.json).toEqual({
      ...badge,
      link_url: "http://new.example.com",
      rendered_link_url: "http://new.example.com",
    });
    expect((await app.call(`PUT ${path}`, { as: "owner" })).json).toEqual(changed.json);
    const refused = await app.call(`PUT ${path}`, { as: "owner", json: { image_url: "ftp://x" } });
    expect(refused.status).toBe(400);
  });

  it("are removed, unless they changed since", async () => {
    const { id } = await newBadge();
    const path = `/groups/acme/badges/${id}`;
    const since = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    const early = await app.call(`DELETE ${path}`, { as: "owner", headers: since });
    expect([early.status, early.json]).toEqual([412, { message: "412 Precondition Failed" }]);
    const garbage = { "if-unmodified-since": "garbage" };
    const removed = await app.call(`DELETE ${path}`, { as: "owner", headers: garbage });
    expect([removed.status, removed.text]).toEqual([204, ""]);
    expect((await app.call(`DELETE ${path}`, { as: "owner" })).status).toBe(404);
  });

  it.each<[Person, number]>([
    ["anonymous", 401],
    ["stranger", 403],
    ["guest", 403],
    ["reporter", 403],
    ["developer", 403],
    ["maintainer", 403],
    ["owner", 201],
    ["admin", 201],
  ])("are for owners to change: %s gets %i", async (as, expected) => {
    const json = { link_url: LINK, image_url: IMAGE };
    expect((await app.call("POST /groups/acme/badges", { as, json })).status).toBe(expected);
    const { id } = await newBadge();
    const denied = expected === 201 ? 200 : expected;
    expect((await app.call(`PUT /groups/acme/badges/${id}`, { as, json })).status).toBe(denied);
    const query = "link_url=http://a.example&image_url=http://b.example";
    expect((await app.call(`GET /groups/acme/badges/render?${query}`, { as })).status).toBe(denied);
    const gone = expected === 201 ? 204 : expected;
    expect((await app.call(`DELETE /groups/acme/badges/${id}`, { as })).status).toBe(gone);
  });
});

describe("GET /groups/:id/badges/render", () => {
  it("returns exactly the four URLs", async () => {
    const query = "link_url=http://www.example.com&image_url=http://www.example1.com";
    const { json } = await app.call(`GET /groups/acme/badges/render?${query}`, { as: "owner" });
    expect(json).toEqual({
      link_url: "http://www.example.com",
      image_url: "http://www.example1.com",
      rendered_link_url: "http://www.example.com",
      rendered_image_url: "http://www.example1.com",
    });
  });

  it("fills in URL-encoded placeholders", async () => {
    const query =
      "link_url=http://x.example/%25%7Bproject_path%7D&image_url=http://x.example/%25%7Bdefault_branch%7D";
    const { json } = await app.call(`GET /groups/acme/badges/render?${query}`, { as: "owner" });
    expect(json.rendered_link_url).toBe("http://x.example/acme/site");
    expect(json.rendered_image_url).toBe("http://x.example/trunk");
  });

  it("names missing parameters", async () => {
    const { status, json } = await app.call("GET /groups/acme/badges/render?link_url=http://a", {
      as: "owner",
    });
    expect([status, json]).toEqual([400, { message: '400 (Bad request) "image_url" not given' }]);
  });
});

describe("project badges", () => {
  it("are listed with those of the groups above, rendered with the project's own values", async () => {
    const own = await app.call("POST /projects/acme%2Flater/badges", {
      as: "maintainer",
      json: { link_url: LINK, image_url: IMAGE },
    });
    expect([own.status, own.json.kind]).toEqual([201, "project"]);
    expect(own.json.rendered_image_url).toBe("https://acme/later.example.com/b.svg");
    const group = await newBadge();
    const { json } = await app.call("GET /projects/acme%2Flater/badges?per_page=100");
    const shown = json.find(({ id }: { id: number }) => id === group.id);
    expect(shown.kind).toBe("group");
    expect(shown.rendered_image_url).toBe("https://acme/later.example.com/b.svg");
  });

  it("refuse to delete a group's badge", async () => {
    const group = await newBadge();
    const { status, json } = await app.call(`DELETE /projects/acme%2Flater/badges/${group.id}`, {
      as: "maintainer",
    });
    expect([status, json]).toEqual([
      403,
      { error: "To delete a Group badge please use the Group endpoint" },
    ]);
    expect((await app.call(`GET /groups/acme/badges/${group.id}`)).status).toBe(200);
  });
});
