import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, type TestApp, testApp } from "../helpers.ts";

/** So many that a label is not rare: the rows with it are counted, or their number is stored. */
const MANY = 10_040;
const FEW = 30;
const SITE = "/projects/acme%2Fsite";
const CORE = "/projects/acme%2Fteam%2Fcore";
const TEAM = "/groups/acme%2Fteam";

let app: TestApp;
let site: number;
let core: number;

beforeAll(async () => {
  app = await testApp();
  const idOf = async (path: string) => (await app.call(`GET ${path}`, { as: "admin" })).json.id;
  site = await idOf(SITE);
  core = await idOf(CORE);
  const guest = (await app.call("GET /user", { as: "guest" })).json.id;
  const label = (await app.call("GET /groups/acme/labels/UX", { as: "admin" })).json.id;
  const numbers = (count: number) =>
    `with recursive n(x) as (select cast(1 as bigint) union all select x + 1 from n where x < ${count})`;
  await app.store.transaction(
    async (db) => {
      for (const [project, count] of [
        [site, MANY],
        [core, FEW],
      ] as const) {
        await db.run(
          `insert into issues (iid, project_id, title, state, confidential, author_id, created_at, updated_at)
           ${numbers(count)} select x, ${project}, 'Issue ' || x, case when x % 3 = 0 and x <= 30 then 'closed' else 'opened' end,
             case when x % 5 = 0 then 1 else 0 end, case when x % 10 = 0 then ${guest} end, x, x from n`,
        );
        await db.run(
          `insert into merge_requests (iid, project_id, source_project_id, title, state, source_branch, target_branch,
             created_at, updated_at)
           ${numbers(count)} select x, ${project}, ${project}, 'Request ' || x,
             case when x > 30 or x % 4 = 0 then 'opened' when x % 4 = 1 then 'closed' when x % 4 = 2 then 'merged' else 'locked' end,
             'branch-' || x, 'main', x, x from n`,
        );
      }
      for (const kind of ["issue", "merge_request"]) {
        const columns = kind === "issue" ? ", project_id, open_position" : "";
        const values = kind === "issue" ? ", project_id, null" : "";
        await db.run(
          `insert into ${kind}_labels (${kind}_id, label_id${columns}) select id, ${label}${values} from ${kind}s`,
        );
      }
    },
    { unlimited: true },
  );
  // PostgreSQL does so itself, but not at once; until then it may plan lists of groups to take seconds.
  if (app.store.dialect === "postgres") await app.store.transaction((db) => db.run("analyze"));
});
afterAll(() => app.dispose());

/** How many rows all pages of a list have, beside the total it tells; each page is one of an order's. */
async function totalsOf(list: string, as: (typeof everyone)[number]) {
  const { status, headers } = await app.call(`GET ${list}&per_page=1`, { as });
  if (status !== 200) return [status];
  const all = await app.call(`GET ${list}&per_page=100`, { as });
  return [status, headers.get("x-total"), String(all.json.length)];
}

const LISTS = [
  ...["", "&state=opened", "&state=closed"].map((state) => `/issues?labels=UX${state}`),
  ...["", "&state=opened", "&state=closed", "&state=merged", "&state=locked"].map(
    (state) => `/merge_requests?labels=UX${state}`,
  ),
  "/issues?labels=UX,UX",
  "/issues?labels=UX&confidential=true",
  "/issues?labels=UX&author_username=guest",
];

/** Gives the first issues of a project a label of its own with the same name. */
async function labelAgain(project: number, count: number) {
  await app.store.transaction(async (db) => {
    const [label] = await db.rows(
      "insert into labels (project_id, name, color, created_at, updated_at) values (?, 'UX', '#000000', 0, 0) returning id",
      [project],
    );
    await db.run(
      `insert into issue_labels (issue_id, label_id, project_id) select id, ?, project_id from issues
       where project_id = ? and iid <= ?`,
      [label?.[0] as number, project, count],
    );
  });
}

describe("the total of the rows of a project or group with a label that many have elsewhere", () => {
  const compare = async () => {
    const found: unknown[] = [];
    for (const as of everyone) {
      for (const list of LISTS) {
        const [status, total, shown] = await totalsOf(`${CORE}${list}`, as);
        expect([as, list, total]).toEqual([as, list, shown]);
        const ofGroup = await totalsOf(`${TEAM}${list}&scope=all`, as);
        expect([as, list, ofGroup[1]]).toEqual([as, list, ofGroup[2]]);
        found.push(status === 200 ? total : status, ofGroup[1] ?? ofGroup[0]);
      }
    }
    return found.join(" ");
  };

  it("is what each caller may see", async () => {
    const before = await compare();
    expect(before).toContain("30");
    // Guests see six confidential issues less, of which three are their own.
    const [, total] = await totalsOf(`${CORE}/issues?labels=UX`, "guest");
    expect(total).toBe("27");
  });

  it("is looked up where one is stored", async () => {
    app.statements.length = 0;
    await app.call(`GET ${CORE}/issues?labels=UX&per_page=1`, { as: "reporter" });
    expect(app.statements.filter((sql) => sql.includes("label_counts"))).toHaveLength(1);
    expect(app.statements.filter((sql) => sql.includes("count(*) as total"))).toHaveLength(0);
  });

  it("is that of all projects the caller may see", async () => {
    const list = "/merge_requests?labels=UX&state=closed&scope=all";
    expect((await totalsOf(list, "anonymous"))[1]).toBe("8");
    expect((await totalsOf(list, "stranger"))[1]).toBe("8");
    expect((await totalsOf(list, "reporter"))[1]).toBe("16");
    expect((await totalsOf(list, "admin"))[1]).toBe("16");
  });

  it("follows every change", async () => {
    const put = (number: number, json: object) =>
      app.call(`PUT ${CORE}/issues/${number}`, { as: "owner", json });
    const total = async (query: string) =>
      (await totalsOf(`${CORE}/issues?labels=UX${query}`, "admin"))[1];
    expect([await total(""), await total("&state=opened")]).toEqual(["30", "20"]);
    await put(1, { state_event: "close" });
    expect([await total(""), await total("&state=opened")]).toEqual(["30", "19"]);
    await put(2, { confidential: true });
    expect((await totalsOf(`${CORE}/issues?labels=UX`, "guest"))[1]).toBe("26");
    await put(4, { remove_labels: "UX" });
    expect([await total(""), await total("&state=opened")]).toEqual(["29", "18"]);
    await compare();
  });

  it("counts rows once that have two labels of the name", async () => {
    await labelAgain(core, 7);
    const [, total] = await totalsOf(`${CORE}/issues?labels=UX`, "admin");
    // The fourth has it again.
    expect(total).toBe("30");
    await compare();
  });
});

describe("the total of more than 10,000 rows with a label", () => {
  it.each(["admin", "reporter", "guest", "anonymous"] as const)(
    "of a group is left out, and not counted: %s",
    async (as) => {
      app.statements.length = 0;
      const list = "/groups/acme/merge_requests?labels=UX&scope=all";
      expect([as, ...(await totalsOf(list, as)).slice(0, 2)]).toEqual([as, 200, null]);
      expect(app.statements.filter((sql) => sql.includes("count(*) as total"))).toEqual([]);
    },
  );

  it.each(["admin", "reporter", "guest", "anonymous"] as const)("is left out: %s", async (as) => {
    const [status, total] = await totalsOf(`${SITE}/merge_requests?labels=UX`, as);
    expect([status, total]).toEqual([200, null]);
  });

  it("is told where the caller sees no more than that", async () => {
    expect((await totalsOf(`${SITE}/issues?labels=UX`, "admin"))[1]).toBeNull();
    // A fifth is confidential, and half of that the guest's own.
    expect((await totalsOf(`${SITE}/issues?labels=UX`, "guest"))[1]).toBe(String(MANY * 0.9));
    expect((await totalsOf(`${SITE}/issues?labels=UX`, "anonymous"))[1]).toBe(String(MANY * 0.8));
    expect((await totalsOf(`${SITE}/issues?labels=UX&state=closed`, "admin"))[1]).toBe("10");
  });

  it("counts rows once that have two labels of the name", async () => {
    await labelAgain(site, 2500);
    expect((await totalsOf(`${SITE}/issues?labels=UX`, "anonymous"))[1]).toBe(String(MANY * 0.8));
    expect((await totalsOf("/issues?labels=UX&scope=all", "anonymous"))[1]).toBe(
      String(MANY * 0.8),
    );
  });
});

describe("the total of the rows of all projects with a label", () => {
  const LIST = "/issues?labels=UX&scope=all&state=closed";

  it("is looked up on SQLite, if few projects have them", async () => {
    app.statements.length = 0;
    const list = "/merge_requests?labels=UX&scope=all";
    expect((await totalsOf(`${list}&state=closed`, "anonymous"))[1]).toBe("8");
    expect((await totalsOf(list, "anonymous"))[1]).toBeNull();
    const isCounted = app.statements.some((sql) => sql.includes("count(*) as total"));
    expect(isCounted).toBe(app.store.dialect !== "sqlite");
  });

  it("is counted if so many projects have them that not all of their counts are read", async () => {
    const before = await Promise.all(everyone.map((as) => totalsOf(LIST, as)));
    const [label] = await app.store.rows("select min(id) from labels where name = 'UX'");
    await app.store.transaction(async (db) => {
      await db.run(
        `insert into projects (namespace_id, name, path, full_path, visibility, issue_count, created_at, updated_at, last_activity_at)
         with recursive n(x) as (select cast(1 as bigint) union all select x + 1 from n where x < 210)
         select (select min(id) from namespaces where kind = 'group'), 'Other ' || x, 'other-' || x, 'acme/other-' || x,
           case when x > 200 then 20 else 0 end, 1, 0, 0, 0 from n`,
      );
      const others = "project_id in (select id from projects where path like 'other-%')";
      await db.run(
        `insert into issues (iid, project_id, title, state, created_at, updated_at)
         select 1, id, 'Other', 'closed', ${2 * MANY}, 0 from projects where path like 'other-%'`,
      );
      await db.run(
        `insert into issue_labels (issue_id, label_id, project_id) select id, ?, project_id from issues where ${others}`,
        [label?.[0] as number],
      );
    });
    for (const [at, as] of everyone.entries()) {
      const seen = Number(before[at]?.[1]);
      const [, total] = await totalsOf(LIST, as);
      expect([as, Number(total) - seen]).toEqual([as, as === "admin" || isMember(as) ? 210 : 10]);
    }
  });
});

/** Whether they are a member of the group with the other projects. */
function isMember(as: (typeof everyone)[number]): boolean {
  return !["anonymous", "stranger"].includes(as);
}
