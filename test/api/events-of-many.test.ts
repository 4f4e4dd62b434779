import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Seed } from "../../src/index.ts";
import { insertMany } from "../../src/resources/events/record.ts";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";

const SAME = "2026-11-01T12:00:00.000Z";
const times = <T>(length: number, make: (index: number) => T) =>
  Array.from({ length }, (_, index) => make(index));

const seedOf = (...groups: NonNullable<Seed["groups"]>): Seed => ({
  users: baseSeed.users ?? [],
  groups,
});

interface Event {
  id: number;
  created_at: string;
}

describe("the events of many projects, most of them at one instant", () => {
  const SIZE = 7;
  let app: TestApp;
  beforeAll(async () => {
    const push = (author: string, created_at: string) => ({ author, ref: "main", created_at });
    app = await testApp({
      seed: seedOf(
        {
          path: "many",
          members: { guest: "reporter", developer: "developer" },
          projects: times(50, (index) => ({
            path: `project-${index}`,
            issues: [{ title: "An issue", author: "developer", created_at: SAME }],
            pushes: [
              push("developer", SAME),
              push("reporter", index % 5 === 0 ? "2026-10-30T00:00:00Z" : SAME),
              push("developer", index % 7 === 0 ? "2026-11-03T00:00:00Z" : SAME),
            ],
          })),
        },
        // All newer and older events belong to a project the guest can't see.
        {
          path: "loud",
          members: { developer: "developer" },
          projects: [
            {
              path: "project",
              pushes: times(5000, (index) =>
                push(
                  "developer",
                  index % 2 === 0 ? "2026-10-01T00:00:00Z" : "2026-11-05T00:00:00Z",
                ),
              ),
            },
          ],
        },
      ),
    });
  });
  afterAll(() => app.dispose());

  const page = async (as: Person, path: string) => {
    const { status, json, text, headers } = await app.call(`GET ${path}`, { as });
    expect(status, text).toBe(200);
    const [total, next] = ["x-total", "x-next-page"].map((name) => headers.get(name));
    return { events: json as Event[], total, next };
  };

  const ALL = "/events?scope=all";
  const DEVELOPERS = "/users/developer/events?";
  it.each<[Person, string, number]>([
    ["guest", ALL, 200],
    ["guest", `${ALL}&action=pushed`, 150],
    ["guest", `${ALL}&target_type=issue`, 50],
    ["guest", `${ALL}&before=2026-11-02&after=2026-10-31`, 182],
    ["developer", `${ALL}&after=2026-10-31&before=2026-11-04`, 190],
    ["developer", `${ALL}&action=pushed&after=2026-10-31&before=2026-11-04`, 140],
    ["guest", DEVELOPERS, 150],
    ["guest", `${DEVELOPERS}action=pushed`, 100],
    ["guest", `${DEVELOPERS}after=2026-11-02`, 8],
    ["reporter", "/users/developer/events?before=2026-11-03", 0],
    ["developer", `${DEVELOPERS}after=2026-10-31&before=2026-11-04`, 150],
    ["admin", `${DEVELOPERS}after=2026-10-31&before=2026-11-04`, 150],
    ["guest", "/users/reporter/events?", 50],
  ])("%s receives those of %s, each once and in order", async (as, path, count) => {
    for (const sort of ["desc", "asc"]) {
      const seen: Event[] = [];
      for (let next: string | null | undefined = "1"; next; ) {
        const got = await page(as, `${path}&sort=${sort}&per_page=${SIZE}&page=${next}`);
        expect(got.total).toBe(String(count));
        seen.push(...got.events);
        next = got.next;
      }
      const inOrder = [...new Map(seen.map((event) => [event.id, event])).values()].sort(
        (a, b) => Date.parse(a.created_at) - Date.parse(b.created_at) || a.id - b.id,
      );
      if (sort === "desc") inOrder.reverse();
      expect(seen.map(({ id }) => id)).toEqual(inOrder.map(({ id }) => id));
      expect(seen).toHaveLength(count);
    }
  });

  it.each<[Person, string, number]>([
    ["guest", "?", 200],
    ["guest", "?target_type=issue&", 50],
    ["stranger", "?", 0],
    ["developer", "?after=2026-10-31&before=2026-11-04&", 190],
  ])("%s reads those of the group as a feed%s each once", async (as, query, count) => {
    const seen: string[] = [];
    const token = { "private-token": `token-of-${as}` };
    let next: string | undefined = `http://pm.test/many.atom${query}per_page=50`;
    while (next) {
      const { status, text } = await app.call(`GET ${next}`, { headers: token });
      if (as === "stranger") expect(status).toBe(404);
      seen.push(...[...text.matchAll(/<id>(tag:.*?)<\/id>/g)].map(([, id]) => id as string));
      next = /<link href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
    }
    expect(new Set(seen).size).toBe(count);
    expect(seen).toHaveLength(count);
  });

  it.each<Person>(["guest", "developer"])(
    "have no page past their end, however far: %s",
    async (as) => {
      const far = await page(as, `${ALL}&per_page=100&page=${Number.MAX_SAFE_INTEGER}`);
      expect(far).toMatchObject({ events: [], next: "" });
    },
  );
});

describe("totals", () => {
  const COUNTED = 2000;
  const MANY = 450;
  let app: TestApp;
  beforeAll(async () => {
    const issue = (author: string) => ({
      title: "An issue",
      author,
      created_at: SAME,
      notes: [{ author: "reporter", body: "So?", created_at: SAME }],
    });
    app = await testApp({
      now: () => Date.parse(SAME),
      limits: { countedTotal: COUNTED },
      seed: seedOf({
        path: "many",
        visibility: "public",
        members: { maintainer: "owner", reporter: "reporter" },
        projects: times(MANY, (index) => ({
          path: `project-${index}`,
          visibility: index < 420 ? ("public" as const) : ("private" as const),
          issues: index === 0 ? [issue("reporter"), issue("developer")] : [],
          merge_requests: index === 0 ? [{ ...issue("developer"), source_branch: "feature" }] : [],
          pushes: [
            { author: "developer", ref: "main", created_at: "2020-01-01" },
            { author: "developer", ref: "main", created_at: SAME },
            { author: "reporter", ref: "main", created_at: SAME },
          ],
        })),
      }),
    });
  });
  afterAll(() => app.dispose());

  const totalOf = async (as: Person, path: string) =>
    (await app.call(`GET ${path}${path.includes("?") ? "&" : "?"}per_page=1`, { as })).headers.get(
      "x-total",
    );

  /** The totals of each list, from counters by project and author; each is checked against a row count. */
  const totals = async () => {
    const lists: [Person, string][] = [
      ["maintainer", "/events?scope=all"],
      ["developer", "/events"],
      ["stranger", "/users/developer/events"],
      ["reporter", "/users/developer/events"],
      ["reporter", "/projects/many%2Fproject-0/events"],
    ];
    const told: (string | null)[] = [];
    for (const [as, path] of lists) {
      const counted = await totalOf(as, `${path}${path.includes("?") ? "&" : "?"}after=2000-01-01`);
      expect([path, await totalOf(as, path)]).toEqual([path, counted]);
      told.push(counted);
    }
    return told;
  };

  it("are exact, whatever removes events", async () => {
    const path = "/projects/many%2Fproject-0";
    const removed = async (request: string, as: Person = "admin") =>
      expect((await app.call(`DELETE ${request}`, { as })).status).toBeLessThan(300);
    expect(await totals()).toEqual(["1356", "902", "842", "902", "9"]);
    const { json: notes } = await app.call(`GET ${path}/issues/1/notes`, { as: "reporter" });
    await removed(`${path}/issues/1/notes/${notes[0].id}`);
    expect(await totals()).toEqual(["1355", "902", "842", "902", "8"]);
    await removed(`${path}/issues/2`);
    expect(await totals()).toEqual(["1353", "901", "841", "901", "6"]);
    await removed(`${path}/merge_requests/1`);
    expect(await totals()).toEqual(["1351", "900", "840", "900", "4"]);
    expect(await app.admin.maintenance.purgeEvents()).toMatchObject({ events: MANY });
    expect(await totals()).toEqual(["901", "450", "420", "450", "3"]);
    await removed("/projects/many%2Fproject-1");
    expect(await totals()).toEqual(["899", "449", "419", "449", "3"]);
    const { json: users } = await app.call("GET /users?username=reporter", { as: "admin" });
    await removed(`/users/${users[0].id}`);
    expect(await totalOf("maintainer", "/events?scope=all")).toBe("449");
    expect(await totalOf("maintainer", `${path}/events`)).toBe("1");
    expect(await totalOf("maintainer", `${path}/events?after=2000-01-01`)).toBe("1");
  });

  it("are omitted beyond the counting limit", async () => {
    const { json: project } = await app.call("GET /projects/many%2Fproject-2");
    const { json: user } = await app.call("GET /user", { as: "developer" });
    const push = {
      project_id: project.id as number,
      author_id: user.id as number,
      ref: "main",
      ref_type: "branch",
      push_action: "pushed",
      commit_count: 1,
      commit_from: null,
      commit_to: "a".repeat(40),
      commit_title: null,
      at: Date.parse(SAME),
    } as const;
    const more = (count: number) =>
      app.store.transaction((db) => insertMany(db, Array(count).fill(push)));
    await more(COUNTED - 449);
    expect(await totalOf("maintainer", "/events?scope=all")).toBe(String(COUNTED));
    expect(await totalOf("developer", "/events")).toBe(String(COUNTED));
    await more(1);
    expect(await totalOf("maintainer", "/events?scope=all")).toBeNull();
    expect(await totalOf("developer", "/events")).toBeNull();
    const own = await totalOf("developer", "/projects/many%2Fproject-2/events");
    expect(own).toBe(String(COUNTED - 447));
  });
});
