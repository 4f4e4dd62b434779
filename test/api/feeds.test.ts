// Feeds and calendars, which programs read at the addresses of pages.
import { createHmac } from "node:crypto";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import ICAL from "ical.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Seed } from "../../src/seed/input.ts";
import { type Answer, baseSeed, type CallOptions, type TestApp, testApp } from "../helpers.ts";
import { expectLinear } from "../relative-time.ts";

/** The feed token of a person, as seeded. */
const feedTokenOf = (person: string) => `glft-of-the-${person}-0000000000`;
const AT = "2026-11-01T00:00:00Z";

const commits = [
  { message: "Begin\n\nThe first <words>.", files: { "README.md": "# Site\n" } },
  { message: "Write a guide", files: { "docs/guide.md": "one\n" } },
];
const pushes = [
  { author: "developer", ref: "main", action: "created" as const, created_at: AT, commits },
  { author: "owner", ref: "docs/v2", action: "created" as const, created_at: AT },
  {
    ...{ author: "owner", ref: "v1.0", ref_type: "tag" as const, message: "One & only" },
    ...{ action: "created" as const, created_at: AT, start_branch: "main" },
  },
];
const pushed = (projects: NonNullable<Seed["groups"]>[number]["projects"]) =>
  projects?.map((project) => ({ ...project, pushes }));
const seed: Seed = {
  ...baseSeed,
  users: baseSeed.users?.map((user) => ({
    ...user,
    ...(user.username !== "stranger" && { feed_token: feedTokenOf(user.username) }),
  })),
  groups: baseSeed.groups?.map((group) => ({
    ...group,
    subgroups: group.subgroups?.map((one) => ({ ...one, projects: pushed(one.projects) })),
    projects: pushed(group.projects),
  })),
};
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ seed });
  for (const project of ["acme%2Fsite", "acme%2Fteam%2Fcore", "secret%2Fvault"]) {
    const make = (what: string, json: object) =>
      app.call(`POST /projects/${project}/${what}`, { as: "owner", json });
    const title = `Größe <b> & "Zeit"; a, b\\c${"\u0001"}`;
    await make("issues", { title, labels: "UX,Testing & more", due_date: "2026-12-24" });
    await make("issues", { title: "Closed", description: "]]> Text", state_event: "close" });
    await make("issues/1/notes", { body: "Said\nso" });
    const assignee_ids = [(await app.call("GET /user", { as: "reporter" })).json.id];
    await make("issues", { title: "x".repeat(100), assignee_ids, due_date: "2026-12-25" });
    await app.call(`PUT /projects/${project}/issues/2`, {
      as: "owner",
      json: { state_event: "close" },
    });
    await make("merge_requests", {
      title: "Use v2",
      source_branch: "docs/v2",
      target_branch: "main",
    });
    await make("releases", { tag_name: "v1.0", name: "First", description: "All *new*" });
  }
});
afterAll(() => app.dispose());

const visit = (path: string, options: CallOptions = {}): Promise<Answer> =>
  app.call(`GET http://pm.test${path}`, options);
const withToken = (path: string, token: string) =>
  visit(`${path}${path.includes("?") ? "&" : "?"}feed_token=${token}`);

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  parseTagValue: false,
  isArray: (name) => ["entry", "category", "link", "assignee"].includes(name),
});

/** The feed that an answer is, which must be a valid one (RFC 4287 §4). */
function feedIn({ status, headers, text }: Answer) {
  expect([status, text]).toEqual([200, expect.stringContaining("<feed")]);
  expect(headers.get("content-type")).toBe("application/atom+xml; charset=utf-8");
  expect(XMLValidator.validate(text)).toBe(true);
  const { feed } = parser.parse(text);
  const entries = feed.entry ?? [];
  const links = (of: { link: { "@rel"?: string; "@href": string }[] }, rel: string) =>
    of.link.filter((link) => (link["@rel"] ?? "alternate") === rel).map((link) => link["@href"]);
  for (const one of [feed, ...entries]) {
    expect(one).toMatchObject({
      id: expect.stringMatching(/^(http|tag):/),
      title: expect.any(String),
    });
    expect(one.updated).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
    expect(links(one, "alternate")).toHaveLength(1);
  }
  const ids = entries.map(({ id }: { id: string }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(feed.author.name).not.toBe("");
  expect(links(feed, "self")).toHaveLength(1);
  const [self, next] = ["self", "next"].map((rel) => links(feed, rel)[0]);
  return { feed, entries, self, next, titles: entries.map((one: { title: string }) => one.title) };
}

/** The events that a calendar has. */
function calendarIn({ status, headers, text }: Answer) {
  expect([status, text]).toEqual([200, expect.stringContaining("BEGIN:VCALENDAR")]);
  expect(headers.get("content-type")).toBe("text/calendar; charset=utf-8");
  expect(text.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  for (const line of text.split("\r\n")) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
  const calendar = new ICAL.Component(ICAL.parse(text));
  expect(calendar.getFirstPropertyValue("version")).toBe("2.0");
  return calendar.getAllSubcomponents("vevent").map((event) => {
    const of = (name: string) => event.getFirstPropertyValue(name)?.toString();
    return { uid: of("uid"), day: of("dtstart"), summary: of("summary"), url: of("url") };
  });
}

const LONG = `${"x".repeat(77)}...`;
const TITLE = `Größe <b> & "Zeit"; a, b\\c`;

describe("feeds of issues and merge requests", () => {
  it("have the open ones of a project, with what is known of each", async () => {
    const { feed, entries, self } = feedIn(await visit("/acme/site/-/issues.atom"));
    expect(feed.title).toBe("acme/site issues");
    expect(feed.id).toBe("http://pm.test/acme/site/-/issues");
    expect(self).toBe("http://pm.test/acme/site/-/issues.atom");
    expect(entries.map((one: { title: string }) => one.title)).toEqual([LONG, TITLE]);
    expect(entries[1]).toMatchObject({
      id: "http://pm.test/acme/site/-/issues/1",
      link: [{ "@href": "http://pm.test/acme/site/-/issues/1" }],
      author: { name: "The owner", uri: "http://pm.test/owner" },
      category: [{ "@term": "Testing & more" }, { "@term": "UX" }],
      state: expect.objectContaining({ "#text": "opened" }),
      due_date: expect.objectContaining({ "#text": "2026-12-24" }),
    });
    expect(entries[0].assignees.assignee).toEqual([{ name: "The reporter" }]);
    expect(feed.updated).toBe(
      entries
        .map((one: { updated: string }) => one.updated)
        .sort()
        .at(-1),
    );
  });

  it("take the filters of the API, and refuse what it refuses", async () => {
    const titled = async (query: string) =>
      feedIn(await visit(`/acme/site/-/issues.atom?${query}`)).titles;
    expect(await titled("state=closed")).toEqual(["Closed"]);
    expect(await titled("state=all&sort=asc&per_page=1")).toEqual([TITLE]);
    expect(await titled("labels=UX")).toEqual([TITLE]);
    expect(await titled("search=Closed")).toEqual([]);
    for (const query of ["state=ajar", "per_page=x", "labels[a]=b", "created_after=x"]) {
      const { status, headers } = await visit(`/acme/site/-/issues.atom?${query}`);
      expect([query, status, headers.get("content-type")]).toEqual([
        query,
        400,
        "text/plain; charset=utf-8",
      ]);
    }
  });

  it("lead to the next page, and repeat no credentials", async () => {
    const first = await withToken(
      "/acme/site/-/issues.atom?per_page=1&state=all",
      feedTokenOf("guest"),
    );
    const { self, next } = feedIn(first);
    expect(first.text).not.toContain("glft");
    expect(self).toBe("http://pm.test/acme/site/-/issues.atom?per_page=1&state=all");
    expect(next).toBe("http://pm.test/acme/site/-/issues.atom?per_page=1&state=all&page=2");
    const { titles } = feedIn(await visit((next as string).replace("http://pm.test", "")));
    expect(titles).toEqual(["Closed"]);
  });

  it("say when nothing has changed", async () => {
    const { headers } = await visit("/acme/site/-/issues.atom");
    const sent = { "if-none-match": headers.get("etag") as string };
    expect((await visit("/acme/site/-/issues.atom", { headers: sent })).status).toBe(304);
    expect(headers.get("cache-control")).toBe("max-age=0, private, must-revalidate");
    const empty = feedIn(await visit("/acme/site/-/issues.atom?search=nothing-has-this"));
    expect(empty.feed.updated).toBe("1970-01-01T00:00:00Z");
  });

  it("are there for groups, for merge requests and for what callers have to do", async () => {
    const group = "/groups/acme/-/issues.atom";
    expect(feedIn(await visit(group)).titles).toHaveLength(2);
    expect(feedIn(await withToken(group, feedTokenOf("guest"))).titles).toHaveLength(4);
    const below = feedIn(await withToken("/groups/acme/team/-/issues.atom", feedTokenOf("guest")));
    expect(below.feed.title).toBe("acme/team issues");
    const requests = feedIn(await visit("/acme/site/-/merge_requests.atom"));
    expect(requests.entries).toMatchObject([
      { title: "Use v2", id: "http://pm.test/acme/site/-/merge_requests/1" },
    ]);
    const own = async (person: string, query = "") =>
      feedIn(await withToken(`/dashboard/issues.atom${query}`, feedTokenOf(person))).titles;
    expect(await own("reporter")).toEqual([LONG, LONG, LONG]);
    expect(await own("owner")).toEqual([]);
    expect(await own("owner", "?assignee_username=reporter")).toHaveLength(3);
    expect(await own("owner", "?scope=created_by_me&state=closed")).toHaveLength(3);
  });
});

describe("feeds of repositories", () => {
  it("have the commits of a branch, and of a file", async () => {
    const { feed, entries } = feedIn(await visit("/acme/site/-/commits/main.atom"));
    expect(feed.title).toBe("acme/site:main commits");
    expect(entries).toMatchObject([
      { title: "Write a guide", author: { name: "The developer" } },
      { title: "Begin", summary: "The first <words>." },
    ]);
    expect(entries[0].id).toMatch(/^http:\/\/pm\.test\/acme\/site\/-\/commit\/[0-9a-f]{40}$/);
    for (const place of ["main/docs/guide.md", "docs/v2/docs/guide.md", "v1.0/docs"]) {
      const found = feedIn(await visit(`/acme/site/-/commits/${place}.atom`));
      expect([place, found.titles]).toEqual([place, ["Write a guide"]]);
    }
    const { titles } = feedIn(await visit("/acme/site/-/commits/main.atom?per_page=1&page=2"));
    expect(titles).toEqual(["Begin"]);
    expect((await visit("/acme/site/-/commits/none.atom", { as: "guest" })).status).toBe(404);
  });

  it("have tags and releases", async () => {
    const tags = feedIn(await visit("/acme/site/-/tags.atom"));
    expect(tags.entries).toMatchObject([
      {
        title: "v1.0",
        id: "http://pm.test/acme/site/-/tags/v1.0",
        summary: "One & only",
        content: "All *new*",
      },
    ]);
    const releases = feedIn(await visit("/acme/site/-/releases.atom"));
    expect(releases.feed.title).toBe("acme/site releases");
    expect(releases.entries).toMatchObject([
      { title: "First", content: "All *new*", author: { name: "The owner" } },
    ]);
  });

  it("are for those who may read the code", async () => {
    for (const path of ["commits/main", "tags"]) {
      const address = `/secret/vault/-/${path}.atom`;
      expect((await withToken(address, feedTokenOf("reporter"))).status).toBe(200);
      expect((await withToken(address, feedTokenOf("guest"))).status).toBe(403);
    }
  });
});

describe("feeds of activity", () => {
  it("have what happens in a project, a group and one's projects", async () => {
    const { feed, entries, titles } = feedIn(await visit("/acme/site.atom"));
    expect(feed.title).toBe("acme/site activity");
    expect(titles).toEqual(
      expect.arrayContaining([
        'The owner opened merge request !1 "Use v2" at acme/site',
        expect.stringMatching(/^The owner commented on issue #1 /),
        "The developer pushed new branch main at acme/site",
        'The owner closed issue #2 "Closed" at acme/site',
      ]),
    );
    const note = entries.find(({ summary }: { summary?: string }) => summary?.startsWith("Said"));
    expect(note.link[0]["@href"]).toMatch(/^http:\/\/pm\.test\/acme\/site\/-\/issues\/1#note_\d+$/);
    expect(note.id).toMatch(/^tag:pm\.test,\d{4}-\d\d-\d\d:\d+$/);
    const only = feedIn(await visit("/acme/site.atom?action=pushed&sort=asc"));
    expect(only.entries[0].link[0]["@href"]).toBe("http://pm.test/acme/site/-/commits/main");
    expect(only.titles).toHaveLength(3);
    const count = only.titles.length;
    for (const [path, projects] of [
      ["/acme.atom", 2],
      ["/groups/acme.atom", 2],
      ["/groups/acme/team.atom", 1],
      ["/acme/team.atom", 1],
      ["/dashboard/projects.atom", 3],
    ] as const) {
      const found = feedIn(await withToken(`${path}?action=pushed`, feedTokenOf("reporter")));
      expect([path, found.titles.length]).toEqual([path, projects * count]);
    }
    expect(feedIn(await visit("/acme.atom?action=pushed")).titles).toHaveLength(count);
  });

  it("have what a user does, as far as it can be seen", async () => {
    const { feed, titles } = feedIn(await visit("/owner.atom"));
    expect(feed.title).toBe("The owner activity");
    expect(titles).toContain("The owner pushed new tag v1.0 at acme/site");
    expect(titles.filter((title: string) => /at (secret|acme\/team)/.test(title))).toEqual([]);
    const all = feedIn(await withToken("/owner.atom?per_page=100", feedTokenOf("reporter")));
    expect(all.titles.some((title: string) => title.endsWith(" at secret/vault"))).toBe(true);
    const { json } = await app.call("GET /users?username=guest", { as: "admin" });
    await app.call(`PUT /users/${json[0].id}`, { as: "admin", json: { private_profile: true } });
    expect(feedIn(await visit("/guest.atom")).titles).toEqual([]);
  });
});

describe("calendars", () => {
  it("have the days on which issues are due", async () => {
    const due = calendarIn(await visit("/acme/site/-/issues.ics"));
    expect(due).toEqual([
      {
        uid: expect.stringMatching(/^issue-\d+@pm\.test$/),
        day: "2026-12-25",
        summary: `${"x".repeat(100)} (in acme/site)`,
        url: "http://pm.test/acme/site/-/issues/3",
      },
      {
        uid: expect.any(String),
        day: "2026-12-24",
        summary: `${TITLE} (in acme/site)`,
        url: "http://pm.test/acme/site/-/issues/1",
      },
    ]);
    const token = feedTokenOf("reporter");
    expect(calendarIn(await withToken("/groups/acme/-/issues.ics", token))).toHaveLength(4);
    expect(calendarIn(await withToken("/dashboard/issues.ics", token))).toHaveLength(3);
    expect(calendarIn(await withToken("/dashboard/issues.ics?state=closed", token))).toEqual([]);
    expect(calendarIn(await visit("/acme/site/-/issues.ics?due_date=0"))).toEqual([]);
  });
});

describe("feed tokens", () => {
  const PRIVATE = "/secret/vault/-/issues.atom";

  it("open feeds, and nothing else", async () => {
    const token = feedTokenOf("reporter");
    expect(feedIn(await withToken(PRIVATE, token)).titles).toHaveLength(2);
    expect(feedIn(await visit(`${PRIVATE}?rss_token=${token}`)).titles).toHaveLength(2);
    for (const path of ["/api/v4/user", "/api/v4/projects/secret%2Fvault/issues"]) {
      expect((await withToken(path, token)).status).toBe(path.endsWith("user") ? 401 : 404);
      expect((await visit(`${path}?private_token=${token}`)).status).toBe(401);
    }
    expect((await withToken("/secret/vault/-/raw/main/README.md", token)).status).toBe(302);
    expect((await visit(PRIVATE, { headers: { "private-token": token } })).status).toBe(401);
  });

  it("can be good for one path only", async () => {
    const { json } = await app.call("GET /user", { as: "reporter" });
    const of = (path: string, key = feedTokenOf("reporter")) =>
      `glft-${createHmac("sha256", key).update(path).digest("hex")}-${json.id}`;
    expect(feedIn(await withToken(PRIVATE, of(PRIVATE))).titles).toHaveLength(2);
    const others = [of("/acme/site/-/issues.atom"), of(PRIVATE, feedTokenOf("owner"))];
    for (const token of [...others, `${of(PRIVATE)}0`, `glft-${"0".repeat(64)}-999`]) {
      expect((await withToken(PRIVATE, token)).status).toBe(401);
    }
  });

  it("are stored as a digest and encrypted", async () => {
    const stored = JSON.stringify(await app.store.all("select * from feed_tokens"));
    expect(stored).not.toContain("glft");
    expect(JSON.parse(stored)).toHaveLength(7);
  });

  it("are refused if they are unknown, and of blocked users", async () => {
    const unknown = await withToken("/acme/site.atom", "glft-unknown");
    expect([unknown.status, unknown.text]).toEqual([401, "401 Unauthorized\n"]);
    expect(unknown.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    expect((await withToken("/acme/site.atom", feedTokenOf("blocked"))).status).toBe(401);
  });

  it("are asked for, whether or not there is something", async () => {
    for (const path of [
      ...[
        PRIVATE,
        "/none/nowhere/-/issues.atom",
        "/secret.atom",
        "/nobody.atom",
        "/secret/vault.atom",
      ],
      ...["/dashboard/issues.atom", "/dashboard/projects.atom", "/dashboard/issues.ics"],
      ...["/groups/secret/-/issues.ics", "/secret/vault/-/commits/main.atom"],
    ]) {
      const { status, text, headers } = await visit(path, {
        headers: { accept: "text/html, */*" },
      });
      expect([path, status, text]).toEqual([path, 401, "401 Unauthorized\n"]);
      expect(headers.get("www-authenticate")).toBe("Bearer");
    }
    const stranger = await visit(PRIVATE, { headers: { "private-token": "token-of-stranger" } });
    expect(stranger.status).toBe(404);
    const member = await visit(PRIVATE, { headers: { "private-token": "token-of-guest" } });
    expect(member.status).toBe(200);
  });
});

it("takes as many statements for many entries as for few", async () => {
  const took = async (path: string) => {
    app.statements.length = 0;
    await withToken(path, feedTokenOf("owner"));
    return app.statements.length;
  };
  for (const path of ["/acme.atom", "/owner.atom", "/acme/site/-/issues.atom"]) {
    const few = await took(`${path}?per_page=1`);
    expect(await took(`${path}?per_page=100`)).toBeLessThanOrEqual(few + 1);
  }
});

it("takes linear time for any address and any text", async () => {
  for (const [before, repeated, after] of [
    ["/", "a/", "b.atom"],
    ["/", "a/-/", "issues.atom"],
    ["/a/b/-/commits/", "a/", ".atom"],
    ["/a/b/-/commits/", ".atom/", ".ics"],
    ["/groups/", "a/-/issues", ".atom"],
    ["/", ".atom", "/"],
  ] as const) {
    await expectLinear((size) => visit(before + repeated.repeat(size) + after), 400);
  }
});
