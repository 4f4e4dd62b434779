import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database, Value } from "../../src/store/port.ts";
import { givePassword, PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";

const at = Date.parse("2026-11-21T12:00:00Z");
const DAY = 86_400_000;
const MANY = 2500;
/** The owner of the lists; other users' records lie among theirs and are never shown. */
const OWNER = 2;
const OTHER = 3;
const SETTINGS = "/-/user_settings";

const names = (word: string, count = MANY) =>
  Array.from({ length: count }, (_, index) => `${word}-${String(index).padStart(5, "0")}`);

/** Inserts rows, many with one statement. */
async function insertAll(db: Database, into: string, rows: readonly Value[][]): Promise<void> {
  for (let start = 0; start < rows.length; start += 500) {
    const some = rows.slice(start, start + 500);
    const marks = some.map((row) => `(${row.map(() => "?").join(", ")})`).join(", ");
    await db.run(`insert into ${into} values ${marks}`, some.flat());
  }
}

let app: TestApp;
let owner: Visitor;
beforeAll(async () => {
  app = await testApp({ now: () => at });
  await givePassword(app, "owner");
  await app.store.transaction(async (db) => {
    const token = (name: string, user: number, revoked: number, index: number) => [
      ...[user, `${name}${index}`, `digest ${user} ${revoked} ${name}`, "api", 0, revoked, at, at],
    ];
    await db.run("delete from tokens where user_id = ?", [OWNER]);
    const columns =
      "tokens (user_id, name, digest, scopes, impersonation, revoked, created_at, updated_at)";
    await insertAll(
      db,
      columns,
      names("token").flatMap((name) => [
        token(`${name}-x`, OWNER, 1, 0),
        token(`${name}-`, OWNER, 0, 1),
        token(`${name}-x`, OTHER, 0, 2),
      ]),
    );
    const application = (uid: string, name: string, user: number) => [
      ...[user, uid, name, "https://a.test/", "api", 1, 0, at, at],
    ];
    await insertAll(
      db,
      "oauth_applications (user_id, uid, name, redirect_uris, scopes, confidential, trusted, created_at, updated_at)",
      names("app").flatMap((name) => [
        application(name, name, OWNER),
        application(`${name}-x`, `other-${name}`, OTHER),
      ]),
    );
    const grant = (application: number, scopes: string, endsAt: number, since = at) => [
      ...[application, OWNER, scopes, 1, since, endsAt],
    ];
    await insertAll(
      db,
      "oauth_grants (application_id, user_id, scopes, code_used, created_at, ends_at)",
      names("app").flatMap((_, index) => [
        grant(2 * index + 2, "api", at + DAY, at - 2 * DAY),
        grant(2 * index + 2, "read_user api", at + DAY),
        grant(2 * index + 1, "api", at),
      ]),
    );
    await insertAll(
      db,
      "sessions (user_id, digest, ip, user_agent, created_at, last_seen_at, expires_at)",
      names("agent").flatMap((name) => [
        [OWNER, name, "192.0.2.1", name, at, at, at + DAY],
        [OTHER, `${name}-x`, "192.0.2.1", "other", at, at, at + DAY],
      ]),
    );
  });
  owner = new Visitor(app);
  await owner.signIn("owner", PASSWORD);
});
afterAll(() => app.dispose());

const lists = [
  {
    what: "tokens",
    path: `${SETTINGS}/personal_access_tokens`,
    all: names("token")
      .map((name) => `${name}-1`)
      .reverse(),
  },
  {
    what: "one's own applications",
    path: `${SETTINGS}/applications`,
    section: 1,
    all: names("app"),
  },
  {
    what: "applications that were let in",
    path: `${SETTINGS}/applications`,
    parameter: "authorized_page",
    section: 0,
    all: names("other-app"),
  },
  {
    what: "sessions",
    path: `${SETTINGS}/active_sessions`,
    all: ["Unknown browser", ...names("agent").reverse()],
  },
].map((one) => ({ parameter: "page", section: undefined, ...one }));

describe.each(lists)("$what", ({ path, parameter, section, all }) => {
  const look = async (address: string) => {
    const { status, page } = await owner.get(address);
    expect(status).toBe(200);
    const part = section === undefined ? page : (page.split("<section>")[section + 1] as string);
    const titles = [...part.matchAll(/<h3>(?:<a [^>]*>)?([^<]*)/g)].map(([, title]) => title);
    const to = (rel: string) =>
      new RegExp(`href="([^"]*)" rel="${rel}"`).exec(part)?.[1]?.replaceAll("&amp;", "&");
    return { page, titles, next: to("next"), previous: to("prev"), first: to("first") };
  };

  it("show twenty per page, with few statements and kilobytes", async () => {
    app.statements.length = 0;
    const { page, titles, next, previous } = await look(path);
    expect(titles).toEqual(all.slice(0, 20));
    expect([next, previous]).toEqual([`${path}?${parameter}=2#${parameter}`, undefined]);
    expect(app.statements.length).toBeLessThan(8);
    expect(page.length).toBeLessThan(50_000);
  });

  it("can be paged from first to last, and back", async () => {
    let seen: (string | undefined)[] = [];
    let address: string | undefined = `${path}?per_page=100`;
    let last = "";
    while (address !== undefined) {
      const { titles, next } = await look(address);
      seen = [...seen, ...titles];
      last = address;
      address = next;
    }
    expect(seen).toEqual(all);
    const { previous } = await look(last);
    const { titles } = await look(previous as string);
    const pages = Math.ceil(all.length / 100);
    expect(titles).toEqual(all.slice((pages - 2) * 100, (pages - 1) * 100));
  });

  it("say so beyond their end, and link to their first page", async () => {
    const { page, titles, next, previous, first } = await look(`${path}?${parameter}=9999`);
    expect(titles).toEqual([]);
    expect(page).toContain("There is nothing on page 9999.");
    expect([next, previous, first]).toEqual([undefined, undefined, `${path}#${parameter}`]);
  });

  it.each(["x", "1.5", "9".repeat(20)])("have no page %s", async (number) => {
    expect((await owner.get(`${path}?${parameter}=${number}`)).status).toBe(400);
  });
});

describe("two lists on one page", () => {
  it("are paged independently", async () => {
    const { page } = await owner.get(`${SETTINGS}/applications?authorized_page=3&page=2`);
    const links = [...page.matchAll(/href="([^"]*)" rel="(?:prev|next)"/g)].map(([, link]) => link);
    expect(links).toEqual(
      [
        "page=2&authorized_page=2#authorized_page",
        "page=2&authorized_page=4#authorized_page",
        "authorized_page=3#page",
        "authorized_page=3&page=3#page",
      ].map((query) => `${SETTINGS}/applications?${query.replaceAll("&", "&amp;")}`),
    );
  });
});

describe("an action on a page", () => {
  it.each([
    { path: `${SETTINGS}/personal_access_tokens?page=3&per_page=5`, action: "revoke" },
    { path: `${SETTINGS}/active_sessions?page=7`, action: "revoke" },
    { path: `${SETTINGS}/applications?authorized_page=4`, action: "revoke_access" },
  ])("$path leads back to it", async ({ path, action }) => {
    const { page } = await owner.get(path);
    const form = new RegExp(`action="([^"]*/${action}[^"]*)"`).exec(page)?.[1] as string;
    const done = await owner.post(form.replaceAll("&amp;", "&"));
    expect([done.status, done.headers.get("location")]).toEqual([303, path]);
    expect((await owner.get(path)).page).not.toContain(`action="${form}"`);
  });
});
