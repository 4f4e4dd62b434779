import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engine, type TestApp, testApp } from "../helpers.ts";
import { plansOfQueries } from "./_plans.ts";

let app: TestApp;

/** More rows than a list sorts. */
const MANY = 12_000;

beforeAll(async () => {
  app = await testApp();
  const { id: site } = (await app.call("GET /projects/acme%2Fsite", { as: "admin" })).json;
  const { id: author } = (await app.call("GET /users?username=guest", { as: "admin" })).json[0];
  const numbers = `with recursive n(x) as (select 1 union all select x + 1 from n where x < ${MANY})`;
  await app.store.transaction(async (db) => {
    const shared = "iid, project_id, author_id, title, milestone_id, created_at, updated_at";
    const values = `x, ${site}, ${author}, 'Common word ' || x, (select min(id) from milestones), x, ${MANY} - x`;
    await db.run(`insert into issues (${shared}) ${numbers} select ${values} from n`);
    await db.run(
      `insert into merge_requests (${shared}, source_project_id, source_branch, target_branch)
       ${numbers} select ${values}, ${site}, 'branch-' || x, 'main' from n`,
    );
    for (const kind of ["issue", "merge_request"]) {
      await db.run(
        `insert into ${kind}_labels (${kind}_id, label_id)
         select t.id, l.id from ${kind}s t join labels l on l.name = 'UX'`,
      );
      await db.run(
        `insert into ${kind}_assignees (${kind}_id, user_id) select id, ${author} from ${kind}s`,
      );
    }
  });
});
afterAll(() => app.dispose());

const FILTERS = [
  "",
  "state=opened",
  "labels=none",
  "labels=any",
  "labels=UX",
  "milestone=none",
  "milestone=any",
  "milestone=v1",
  "non_archived=true",
  "assignee_id=any",
  "assignee_id=none",
  "assignee_username[]=guest",
  "author_username=guest",
  "my_reaction_emoji=none",
  "search=common",
  "search=e",
  "created_after=1970-01-01T00:00:00Z",
  "updated_after=1970-01-01T00:00:00Z",
  "not[author_username]=owner",
  "not[author_id]=1000000",
  "not[assignee_username][]=owner",
  "not[assignee_id]=1000000",
  "not[labels]=Testing",
  "not[milestone]=nosuch",
  "not[my_reaction_emoji]=rocket",
  "not[iids][]=1",
  "order_by=updated_at",
  "sort=asc",
];
const RARE = [
  "labels=Testing",
  "milestone=nosuch",
  "assignee_username[]=owner",
  "author_username=owner",
  "my_reaction_emoji=any",
  "search=nosuch",
  "search=word%20777",
  "created_before=1970-01-01T00:00:00Z",
  "updated_before=1970-01-01T00:00:00Z",
];
const OWN: Record<string, { common: string[]; rare: string[] }> = {
  issues: {
    common: [
      "confidential=false",
      "confidential=true",
      "not[weight]=3",
      "due_date=0",
      "weight=none",
    ],
    rare: ["confidential=true", "weight=3", "due_date=overdue"],
  },
  merge_requests: {
    common: ["target_branch=main", "wip=no", "not[reviewer_username]=owner", "not[reviewer_id]=1"],
    rare: ["source_branch=nosuch", "wip=yes", "approved=yes"],
  },
};
const SIGNED_IN = ["admin", "guest", "stranger"] as const;
const CALLERS = [...SIGNED_IN, "anonymous"] as const;

/** What SQLite does for each statement of a list, by statement. */
async function plansOf(path: string, as: (typeof CALLERS)[number]) {
  app.statements.length = 0;
  const { status } = await app.call(`GET ${path}`, { as });
  expect([path, as, status]).toEqual([path, as, 200]);
  return plansOfQueries(app);
}

describe.runIf(engine === "sqlite").each(["issues", "merge_requests"])("%s", (kind) => {
  const table = kind === "issues" ? "i" : "mr";
  const places = ["", "/projects/acme%2Fsite"];
  const lists = (filters: readonly string[]) =>
    places.flatMap((place) => filters.map((filter) => `${place}/${kind}?scope=all&${filter}`));

  it.each(lists([...FILTERS, ...(OWN[kind]?.common ?? [])]))(
    "%s is read in its order",
    async (path) => {
      for (const as of CALLERS) {
        const plans = await plansOf(path, as);
        const page = plans.find(({ sql }) => /order by .* limit 21$/s.test(sql.trim()));
        // Few rows are sorted.
        if (!page) continue;
        const sorted = page.steps.filter((step) => step.includes("TEMP B-TREE FOR ORDER BY"));
        expect([path, as, page.steps, sorted]).toEqual([path, as, page.steps, []]);
      }
    },
  );

  it.each(lists([...RARE, ...(OWN[kind]?.rare ?? [])]))("%s scans no table", async (path) => {
    for (const as of SIGNED_IN) {
      for (const { sql, steps } of await plansOf(path, as)) {
        const scans = steps.filter((step) => new RegExp(`^SCAN (${table}|${kind})$`).test(step));
        expect([path, as, sql, scans]).toEqual([path, as, sql, []]);
      }
    }
  });
});
