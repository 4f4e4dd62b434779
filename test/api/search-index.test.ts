import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { searchStart } from "../../src/core/lists/search-index.ts";
import { checkDatabase } from "../../src/database/index.ts";
import { ISSUE } from "../../src/resources/issuables/issue.ts";
import { all, type Condition } from "../../src/store/conditions.ts";
import { contains } from "../../src/store/patterns.ts";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let site: number;

/** Parts of titles and descriptions, and searches. */
const FRAGMENTS = [
  "ÉCOLE d'Été",
  "école",
  "ПРИВЕТ мир",
  "ΟΔΟΣ οδός",
  "Straße 100%",
  'a "quoted" \\ text_',
  "AND OR NOT",
  "日本語テキスト",
  "zq",
  "x",
  "ẞ İı ǅ ς",
  "👩‍💻 emoji",
  "Ⴀა ᏸꮯ Ꟁꟁ",
  "Kelvin K and ſ",
  "tab\tand\nline",
  "%_*?",
  "ǆabc",
];
/** Enough to go through several batches of an index. */
const ISSUES = 270;

beforeAll(async () => {
  app = await testApp();
  site = (await app.call("GET /projects/acme%2Fsite", { as: "admin" })).json.id;
  await insertIssues(ISSUES, (index) => [
    `Issue ${index} ${FRAGMENTS[index % FRAGMENTS.length]}`,
    index % 3 === 0 ? null : `${FRAGMENTS[(index * 7) % FRAGMENTS.length]} described ${index}`,
  ]);
  // So many that searches of the project use the index.
  await app.store.transaction(async (db) => {
    await db.run(
      `insert into issues (iid, project_id, title, relative_position, created_at, updated_at)
       with recursive n(x) as (select cast(1 as bigint) union all select x + 1 from n where x < 1000)
       select 50000 + x, ${site}, '§§§ ' || x, (50000 + x) * 1048576, x, x from n`,
    );
    await db.run(`update projects set issue_count = 51000 where id = ${site}`);
  });
});
afterAll(() => app.dispose());

async function insertIssues(
  count: number,
  textsOf: (index: number) => readonly [title: string, description: string | null],
  project = site,
): Promise<void> {
  const path = `POST /projects/${project}/issues`;
  // Bound parameters keep each text as it is, and one transaction for each makes it wait for the index alone.
  for (let index = 0; index < count; index += 1) {
    const [title, description] = textsOf(index);
    const { status } = await app.call(path, { as: "admin", json: { title, description } });
    if (status !== 201) throw new Error(`${title}: ${status}`);
  }
}

/** Numbers of the project's issues that contain a text, by comparing all of them. */
async function compared(text: string): Promise<number[]> {
  const { sql, values } = contains(["i.title", "i.description"], text);
  const rows = await app.store.rows(
    `select i.iid from issues i where i.project_id = ? and ${sql} order by i.iid`,
    [site, ...values],
  );
  return rows.map(([iid]) => iid as number);
}

/** Those that the list shows, of the project or of everything. */
async function listed(text: string, list = "/projects/acme%2Fsite/issues"): Promise<number[]> {
  const numbers: number[] = [];
  for (let page = "1"; page !== ""; ) {
    const query = new URLSearchParams({ search: text, scope: "all", per_page: "100", page });
    const { json, headers } = await app.call(`GET ${list}?${query}`, { as: "admin" });
    numbers.push(...json.map(({ iid }: { iid: number }) => iid));
    page = headers.get("x-next-page") ?? "";
    if (page === "") expect(headers.get("x-total")).toBe(String(numbers.length));
  }
  return numbers.sort((one, other) => one - other);
}

/** Parts of the fragments, in both cases. */
function searches(): string[] {
  const parts = FRAGMENTS.flatMap((fragment) => {
    const letters = [...fragment];
    return [1, 2, 3, 7].flatMap((length) =>
      [0, 5].map((start) => letters.slice(start, start + length).join("")),
    );
  });
  const cased = parts.flatMap((part) => [part.toUpperCase(), part.toLowerCase()]);
  return [...new Set(cased)].filter((part) => part !== "");
}

async function expectRight(texts: readonly string[]): Promise<void> {
  for (const text of texts)
    expect([text, await listed(text)]).toEqual([text, await compared(text)]);
  const problems = (await checkDatabase(app.database)).flatMap((check) => check.problems);
  expect(problems).toEqual([]);
}

describe("a search by index", () => {
  it("finds what comparing every row finds", async () => {
    await expectRight(searches());
  });

  it("finds texts as they are now, after changes and deletions", async () => {
    for (let iid = 1; iid <= ISSUES; iid += 3) {
      const path = `/projects/acme%2Fsite/issues/${iid}`;
      if (iid % 2 === 0) await app.call(`DELETE ${path}`, { as: "admin" });
      else {
        const json = { title: `Changed ${iid} Ōsaka`, description: iid % 5 === 0 ? "qv" : "" };
        await app.call(`PUT ${path}`, { as: "admin", json });
      }
    }
    await expectRight(["ōsaka", "ŌSAKA", "qv", "Changed 1", "Issue 1", "zq", "école", "described"]);
  });

  it("leaves nothing of a deleted project", async () => {
    const json = { name: "Gone", namespace_id: (await app.call("GET /groups/acme")).json.id };
    const { id } = (await app.call("POST /projects", { as: "admin", json })).json;
    await insertIssues(150, (index) => [`Vanishing ${index}`, null], id);
    expect(await listed("vanishing", "/issues")).toHaveLength(150);
    await app.call(`DELETE /projects/${id}`, { as: "admin" });
    expect(await listed("vanishing", "/issues")).toEqual([]);
    await insertIssues(150, (index) => [`Following ${index}`, null]);
    await expectRight(["following", "vanishing"]);
  });

  it("finds titles of merge requests", async () => {
    const create = (title: string) =>
      app.call("POST /projects/acme%2Fsite/merge_requests", {
        as: "admin",
        json: { title, source_branch: title.replaceAll(" ", "-"), target_branch: "main" },
      });
    for (let index = 0; index < 140; index += 1) await create(`Request ${index} done`);
    const query = "search=REQUEST%2013&per_page=100";
    const { json } = await app.call(`GET /projects/acme%2Fsite/merge_requests?${query}`);
    expect(json.map(({ iid }: { iid: number }) => iid).sort()).toEqual(
      [14, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140].sort(),
    );
  });

  it("reads common words in the order of the list", async () => {
    await app.store.transaction((db) =>
      db.run(
        `insert into issues (iid, project_id, title, state, created_at, updated_at)
         with recursive n(x) as (select 1 union all select x + 1 from n where x < 22000)
         select 10000 + x, ${site}, case when x <= 11000 then 'Ubiquitous' else 'Widespread' end || ' word ' || x,
           case when x % 4 = 0 then 'closed' else 'opened' end, x, 100000 - x from n`,
      ),
    );
    const first = async (query: string, list = "/projects/acme%2Fsite/issues") => {
      const { json, headers } = await app.call(`GET ${list}?per_page=2&scope=all&${query}`, {
        as: "admin",
      });
      return [json.map(({ iid }: { iid: number }) => iid), headers.get("x-total")];
    };
    for (const list of ["/issues", "/projects/acme%2Fsite/issues", "/groups/acme/issues"]) {
      expect(await first("search=ubiquitous", list)).toEqual([[21000, 20999], null]);
      expect(await first("search=UBIQUITOUS&sort=asc", list)).toEqual([[10001, 10002], null]);
      expect(await first("search=ubiquitous&page=3000", list)).toEqual([[15002, 15001], null]);
      expect(await first("search=widespread&order_by=updated_at", list)).toEqual([
        [21001, 21002],
        null,
      ]);
      const closed = "search=ubiquitous&state=closed";
      expect(await first(closed, list)).toEqual([[21000, 20996], "2750"]);
      expect(await first(`${closed}&page=1375`, list)).toEqual([[10008, 10004], "2750"]);
      expect(await first("search=word%207&confidential=false", list)).toEqual([
        [17999, 17998],
        "1111",
      ]);
      expect(await first("search=word%207&page=556", list)).toEqual([[10007], "1111"]);
      expect(await first("search=word%207&page=557", list)).toEqual([[], "1111"]);
      expect(await first("search=word&confidential=true", list)).toEqual([[], "0"]);
    }
  });
});

/** A record's texts for the {@link FRAGMENTS}: short and unique. */
const textOf = (index: number) => `${FRAGMENTS[index % FRAGMENTS.length]} no. ${index}`;

describe("searches of other lists by index", () => {
  /** So many that searches within an owner use the index. */
  const MANY = 1040;
  let acme: number;

  beforeAll(async () => {
    acme = (await app.call("GET /groups/acme", { as: "admin" })).json.id;
    await app.store.transaction(
      async (db) => {
        for (let index = 0; index < MANY; index += 1) {
          const [text, other] = [textOf(index), textOf(index * 7 + 3)];
          const at = "0, 0";
          await db.run(
            `insert into projects (namespace_id, name, path, full_path, description, created_at, updated_at, last_activity_at)
             values (?, ?, ?, ?, ?, ?, 0, 0)`,
            [acme, text, `p${index}`, `acme/p${index}`, index % 3 === 0 ? null : other, index],
          );
          await db.run(
            `insert into namespaces (kind, name, path, full_name, full_path, visibility, created_at, updated_at)
             values ('group', ?, ?, ?, ?, 20, ${at})`,
            [text, `g${index}`, text, `g${index}`],
          );
          await db.run(
            `insert into users (username, name, email, public_email, created_at, updated_at)
             values (?, ?, ?, ?, ${at})`,
            [
              `u${index}`,
              text,
              `u${index}@hidden.test`,
              index % 5 === 0 ? `Open${index}@shown.test` : null,
            ],
          );
          const [column, owner] = index % 2 === 0 ? ["project_id", site] : ["namespace_id", acme];
          for (const [table, named, added] of [
            ["labels", "name", "color"],
            ["milestones", "title", "iid"],
          ]) {
            await db.run(
              `insert into ${table} (${column}, ${named}, description, ${added}, created_at, updated_at)
               values (?, ?, ?, ?, ${at})`,
              [
                owner,
                text,
                index % 3 === 0 ? null : other,
                added === "iid" ? 100 + index : "#ff0000",
              ],
            );
          }
        }
        // As many of others.
        const others =
          "with recursive n(x) as (select 1 union all select x + 1 from n where x < 1100)";
        await db.run(
          `insert into labels (project_id, name, color, created_at, updated_at)
           ${others} select ${site} , '§§§ other ' || x, '', 0, 0 from n`,
        );
        await db.run(
          `insert into milestones (project_id, title, iid, created_at, updated_at)
           ${others} select ${site}, '§§§ other ' || x, 10000 + x, 0, 0 from n`,
        );
      },
      { unlimited: true },
    );
  });

  /** The ids that a list shows, on all of its pages. */
  async function shown(list: string, text: string): Promise<number[]> {
    const ids: number[] = [];
    for (let page = "1"; page !== ""; ) {
      const query = new URLSearchParams({
        search: text,
        all_available: "true",
        per_page: "100",
        page,
      });
      const { json, headers } = await app.call(`GET ${list}?${query}`, { as: "admin" });
      ids.push(...json.map(({ id }: { id: number }) => id));
      page = headers.get("x-next-page") ?? "";
      if (page === "") expect(headers.get("x-total")).toBe(String(ids.length));
    }
    return ids.sort((one, other) => one - other);
  }

  const owned = () => `(project_id = ${site} or namespace_id = ${acme})`;
  const LISTS = [
    ["/projects", "project_search", "projects", ["name", "path", "description"], () => "1 = 1"],
    ["/groups", "namespace_search", "namespaces", ["name", "path"], () => "kind = 'group'"],
    ["/users", "user_search", "users", ["name", "username"], () => "1 = 1"],
    ["/projects/acme%2Fsite/labels", "label_search", "labels", ["name", "description"], owned],
    [
      "/projects/acme%2Fsite/milestones",
      "milestone_search",
      "milestones",
      ["title", "description"],
      () => `project_id = ${site}`,
    ],
  ] as const;

  it.each(LISTS)(
    "%s finds what comparing every row finds",
    async (list, index, table, columns, where) => {
      app.statements.length = 0;
      const some = searches().filter((_, place) => place % 3 === 0);
      for (const text of [
        ...some,
        "zq",
        "école",
        "no. 7",
        "NO. 1039",
        "§ other 10",
        "p77",
        "u10",
      ]) {
        const { sql, values } = contains(columns, text);
        const rows = await app.store.rows(
          `select id from ${table} where ${where()} and ${sql} order by id`,
          values,
        );
        expect([text, await shown(list, text)]).toEqual([text, rows.map(([id]) => id)]);
      }
      const used = app.store.dialect === "sqlite" ? index : "search_fold";
      expect(app.statements.some((sql) => sql.includes(used))).toBe(true);
      const problems = (await checkDatabase(app.database)).flatMap((check) => check.problems);
      expect(problems.filter((problem) => problem.includes("index"))).toEqual([]);
    },
  );

  it("users are found by their whole e-mail addresses", async () => {
    const names = async (search: string, as: "admin" | "owner" | "developer") => {
      const { json } = await app.call(`GET /users?search=${encodeURIComponent(search)}`, { as });
      return json.map(({ username }: { username: string }) => username);
    };
    expect(await names("U77@hidden.test", "admin")).toEqual(["u77"]);
    expect(await names("u77@hidden.test", "owner")).toEqual([]);
    expect(await names("open75@SHOWN.test", "owner")).toEqual(["u75"]);
    expect(await names("open75", "owner")).toEqual([]);
    expect(await names("developer@example.com", "developer")).toEqual(["developer"]);
  });

  it("names are found as they are now", async () => {
    const path = "/projects/acme%2Fp5";
    await app.call(`PUT ${path}`, { as: "admin", json: { name: "Renamed Ōsaka" } });
    expect(await shown("/projects", "ŌSAKA")).toHaveLength(1);
    await app.call(`DELETE ${path}`, { as: "admin" });
    expect(await shown("/projects", "ŌSAKA")).toEqual([]);
  });
});

it("an index folds every letter that it looks up", async () => {
  const letters: string[] = [];
  for (let code = 0x80; code < 0x20000; code += 1) {
    const letter = String.fromCodePoint(code);
    if (letter.toLowerCase() !== letter) letters.push(letter);
  }
  expect(letters.length).toBeGreaterThan(1000);
  // So few that an index looks all of their trigrams up.
  const together = 8;
  const titles: string[] = [];
  for (let start = 0; start < letters.length; start += together) {
    const upper = letters.slice(start, start + together).join("");
    titles.push(upper, upper.toLowerCase());
  }
  await app.store.transaction(async (db) => {
    for (const [index, title] of titles.entries()) {
      await db.run(
        "insert into issues (iid, project_id, title, created_at, updated_at) values (?, ?, ?, 0, 0)",
        [100_000 + index, site, title],
      );
    }
  });
  const found = (prefix: Condition | undefined, { sql, values }: Condition, numbers: number[]) =>
    app.store.rows(
      `select i.iid from ${prefix?.sql ?? ""} issues i
       where ${sql} and i.project_id = ? and i.iid in (?, ?) order by i.iid`,
      [...(prefix?.values ?? []), ...values, site, ...numbers],
    );
  for (const [index, text] of titles.entries()) {
    const first = 100_000 + index - (index % 2);
    const match = contains(["i.title", "i.description"], text);
    const { prefix, condition } = await searchStart(app.store, ISSUE.search, "i", text);
    const narrowed = await found(prefix, all([condition, match]), [first, first + 1]);
    expect([text, narrowed]).toEqual([text, await found(undefined, match, [first, first + 1])]);
  }
});
