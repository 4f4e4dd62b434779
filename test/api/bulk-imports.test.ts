// Groups and projects that are imported from another server of GitLab's API, and what becomes of it if that misbehaves.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server as HttpServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSecrets } from "../../src/core/secrets.ts";
import { type Server, serve } from "../../src/node.ts";
import { runImport } from "../../src/resources/bulk-imports/run.ts";
import { CONTRIBUTIONS, OTHER_PARTS, USER_PARTS } from "../../src/resources/users/removal.ts";
import { createFixtures, fixtureSeed, pathOf, placesIn } from "../fixtures.ts";
import { isLong, isRepeated, SEED } from "../forms.ts";
import {
  baseSeed,
  clock,
  givePassword,
  PASSWORD,
  type Person,
  SECRET_KEY,
  type TestApp,
  testApp,
  tokenOf,
} from "../helpers.ts";
import { kill, programOf } from "../program.ts";
import { toys } from "../toy/index.ts";
import { Visitor } from "../visitor.ts";
import { resourceOf, routes } from "./routes.ts";

/** The server that is imported from. */
let source: TestApp;
let served: Server;
/** The one that imports. */
let app: TestApp;
/** How far its clock is ahead, in milliseconds: everybody may begin six imports a minute. */
let ahead = 0;

const OPTIONS = {
  webhooks: { deliver: false, allowLocalRequests: true },
  secretKey: SECRET_KEY,
  now: () => clock() + ahead,
};

async function target(options: object = {}): Promise<TestApp> {
  const { users = [] } = fixtureSeed(2);
  const made = await testApp({ ...OPTIONS, ...options, seed: { users } });
  const json = { bulk_import_enabled: true };
  await made.call("PUT /application/settings", { as: "admin", json });
  return made;
}

/** Sends a request to the other server that has to succeed. */
async function there(request: string, json?: object, as: Person = "admin") {
  const answer = await source.call(request, { as, ...(json && { json }) });
  if (answer.status >= 300) throw new Error(`${request}: ${answer.status} ${answer.text}`);
  return answer.json;
}

beforeAll(async () => {
  source = await testApp({ seed: fixtureSeed(2), extra: toys, secretKey: SECRET_KEY });
  await createFixtures(source, 2);
  const only = { issues_access_level: "private", snippets_access_level: "private" };
  await source.call("PUT /projects/acme%2Fsite", { as: "owner", json: only });
  const body = new FormData();
  body.append("file", new Blob(["What it says"]), "a file.txt");
  const upload = await source.call("POST /projects/acme%2Fsite/uploads", { as: "owner", body });
  const description = `See ${upload.json.markdown}`;
  await there("POST /projects/acme%2Fsite/issues", { title: "With a file", description }, "guest");
  await there("POST /projects/acme%2Fteam%2Fcore/issues", { title: "Below" });
  const masked = { key: "MASKED", value: "not-for-a-copy", masked: true };
  await there("POST /groups/acme%2Fg1/variables", masked);
  await writeCode();
  await planWeek();
  served = await serve(source, { port: 0, grace: 100 });
  app = await target();
});
afterAll(async () => {
  await served.close();
  await source.dispose();
  await app.dispose();
});

/** Makes a project with a merge request in which a change of a line is suggested. */
async function writeCode() {
  const { id: namespace_id } = await there("GET /groups/acme");
  const { id } = await there("POST /projects", { name: "code", namespace_id });
  const at = `/projects/${id}`;
  const write = (branch: string, action: string, content: string, more: object = {}) => {
    const actions = [{ action, file_path: "a.txt", content }];
    return there(`POST ${at}/repository/commits`, {
      branch,
      commit_message: branch,
      actions,
      ...more,
    });
  };
  await write("main", "create", "one\ntwo\nthree\n");
  await write("change", "update", "one\n2\nthree\n", { start_branch: "main" });
  const branches = { source_branch: "change", target_branch: "main" };
  const { iid } = await there(`POST ${at}/merge_requests`, { title: "Change it", ...branches });
  const { diff_refs } = await there(`GET ${at}/merge_requests/${iid}`);
  const position = {
    ...diff_refs,
    position_type: "text",
    new_path: "a.txt",
    old_path: "a.txt",
    new_line: 2,
  };
  const body = "Better:\n\n```suggestion\nzwei\n```\n";
  await there(`POST ${at}/merge_requests/${iid}/discussions`, { body, position }, "developer");
}

/** Puts an issue into an iteration, and into another one. */
async function planWeek() {
  for (const { id } of await there("GET /groups/acme/iterations?search=week")) {
    const input = `{ projectPath: "acme/site", iid: "1", iterationId: "gid://gitlab/Iteration/${id}" }`;
    const query = `mutation { issueSetIteration(input: ${input}) { errors } }`;
    expect((await there("POST /api/graphql", { query }, "owner")).data).toEqual({
      issueSetIteration: { errors: [] },
    });
  }
}

interface Asking {
  as?: Person;
  to?: TestApp;
  url?: string;
  token?: string;
}

/** Asks for an import, of a group if nothing else is said. */
function ask(entity: object, options: Asking = {}) {
  const { as = "admin", to = app, url = served.url, token = "token-of-admin" } = options;
  ahead += 61_000;
  const entities = [{ source_type: "group_entity", destination_namespace: "", ...entity }];
  const json = { configuration: { url, access_token: token }, entities };
  return to.call("POST /bulk_imports", { as, json });
}

/** Imports, and returns the import and its groups and projects. */
async function imported(entity: object, options: Asking = {}) {
  const { as = "admin", to = app } = options;
  const asked = await ask(entity, options);
  expect([asked.status, asked.json.status]).toEqual([201, "created"]);
  await to.admin.maintenance.updateMirrors();
  const path = `/bulk_imports/${asked.json.id}`;
  const { json } = await to.call(`GET ${path}`, { as });
  const { json: entities } = await to.call(`GET ${path}/entities`, { as });
  return { ...json, entities };
}

/** Resources that are not taken, or are about a server (docs/moving-in.md). */
const LEFT_OUT = [
  ...["Access requests", "Audit events", "Commit statuses", "Container registry"],
  ...["Custom attributes", "Dependencies", "Deploy keys", "Deploy tokens", "Deployments"],
  ...["Draft notes", "Epic boards", "Events", "Exports and imports"],
  ...["External status checks", "Feature flags", "Freeze periods", "Group access tokens"],
  ...["Group and project access tokens", "Integrations", "Invitations"],
  ...["Job token scope", "Jobs", "Member roles", "Merge request dependencies"],
  ...["Merge trains", "Metric images", "Notification settings", "Packages", "Pipeline triggers"],
  ...["Pipelines", "Protected environments", "Protection rules", "Pull mirrors", "Push mirrors"],
  ...["Push rules", "Resource groups", "Runners", "SCIM tokens and identities"],
  ...["Secure files", "Security settings", "Service accounts", "Sharing", "Sites"],
  ...[
    "Terraform states",
    "Todos",
    "Topics",
    "Transfers",
    "Composer packages",
    "Helm charts",
    "Approval settings of groups",
  ],
];

/** Of resources that are taken, what is not. */
const NOT_TAKEN = [
  // Comments on commits, which no list names; rules of single merge requests, and those of groups.
  /\/repository\/commits\/:sha\/(comments|discussions)/,
  /\/merge_requests\/:merge_request_iid\/approval_(rules|state)/,
  /^\/groups\/:id\/(protected_branches|approval_rules)/,
  // Files that no text refers to, and wiki's attachments of the time before wikis were repositories.
  /\/uploads(\/:upload_id)?$/,
  // Who is there: bots stay, and whoever imports owns the group. Members of groups elsewhere.
  /\/(users|billable_members|starrers|forks|storage|statistics)$/,
  /\/(projects|projects\/shared)$/,
  /\/pipelines$/,
];

/** What is shown of what is not taken, such as rules of groups, or of a place: where something is in a list is seen there. */
const OF_ELSEWHERE =
  /(^|_)(id|url|links|pipeline)$|^(relative_position|suggested_approvers|approvers|has_approval_rules|project|projects|last_deployment|permissions|owner|status|shared_.*|forks_count|star_count|import_.*|runners_token|alert_status|active|custom_headers|url_variables|merge_when_pipeline_succeeds|detailed_merge_status|latest_build_.*|shared_with_groups|deploy_key_id|group_id|updated_at|created_at_of_key|next_run_at)$/;

/** What the same record is on both servers. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((entry) => !isLeft(entry)).map((entry) => comparable(entry));
  }
  if (typeof value === "string") {
    return value
      .replaceAll(/http:\/\/[^/\s")]+/g, "URL")
      .replaceAll(/\b(projects?|groups|snippets|avatar)\/\d+/g, "$1/N");
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => !OF_ELSEWHERE.test(key));
  return Object.fromEntries(entries.map(([key, inner]) => [key, comparable(inner)]));
}

/** Bots and people of other systems, rights of groups and deploy keys, and rules of groups. */
const isLeft = (entry: Record<string, unknown> | null) =>
  /_bot_|^scim/.test(String(entry?.["username"])) ||
  entry?.["deploy_key_id"] != null ||
  (entry?.["group_id"] != null && "access_level_description" in entry) ||
  entry?.["inherited"] === true;

/** Who imports a group owns it. */
async function withoutImporter(to: TestApp) {
  const { id } = (await to.call("GET /user", { as: "admin" })).json;
  await to.call(`DELETE /groups/acme/members/${id}`, { as: "admin" });
}

/** The routes whose answers differ between the other server and one that has imported from it. */
async function differences(to: TestApp, group: string, project: string) {
  const [from, here] = [await placesIn(source, group, project), await placesIn(to, group, project)];
  const different: unknown[] = [];
  for (const route of routes) {
    const isTaken =
      route.method === "GET" &&
      route.source !== undefined &&
      !LEFT_OUT.includes(resourceOf(route).name) &&
      !NOT_TAKEN.some((path) => path.test(route.path));
    if (!isTaken) continue;
    const answers = await Promise.all([
      source.call(`GET ${pathOf(route, from)}`, { as: "admin" }),
      to.call(`GET ${pathOf(route, here)}`, { as: "admin" }),
    ]);
    const [first, second] = answers.map(({ status, json }) =>
      JSON.stringify([status, comparable(json)]),
    );
    // A rule of a group.
    const isInherited = answers[0]?.json?.inherited === true;
    if (first !== second && !isInherited) different.push([route.path, first, second]);
  }
  return different;
}

/** How many rows tables have that imports write to. */
async function counts({ store }: TestApp) {
  const tables = [
    ...["namespaces", "projects", "labels", "milestones", "boards", "board_lists", "badges"],
    ...["members", "issues", "merge_requests", "notes", "award_emoji", "issue_links", "releases"],
    ...["release_links", "snippets", "hooks", "ci_variables", "pipeline_schedules", "approvals"],
    ...["environments", "project_uploads", "protected_branches", "bulk_import_records"],
    // Those of merges are made when somebody looks.
    "git_refs where name not like '%/merge'",
    ...["resource_label_events", "resource_state_events", "wiki_pages", "approval_rules"],
  ];
  const counted: Record<string, unknown> = {};
  for (const table of tables) {
    const [row] = await store.rows(`select count(*) from ${table}`);
    counted[table] = Number(row?.[0]);
  }
  return counted;
}

describe("a group that was imported", () => {
  let first: Record<string, unknown> = {};
  beforeAll(async () => {
    const { status, entities } = await imported({ source_full_path: "acme" });
    expect(status).toBe("finished");
    const shown = entities.map((one: Record<string, unknown>) => [
      one["entity_type"],
      one["destination_full_path"],
      one["status"],
    ]);
    expect(shown).toContainEqual(["group", "acme/team", "finished"]);
    expect(shown).toContainEqual(["project", "acme/team/core", "finished"]);
    await withoutImporter(app);
    first = await counts(app);
  });

  it.each([
    ["acme", "acme/site"],
    ["acme/team", "acme/team/core"],
    ["acme/g0", "acme/code"],
  ])("has what the first one has, wherever one looks: %s, %s", async (group, project) => {
    expect(await differences(app, group, project)).toEqual([]);
  });

  it("has its packages, but for those of Composer and Helm", async () => {
    const kinds = async (from: TestApp) => {
      const path = "GET /projects/acme%2Fsite/packages?include_versionless=true";
      const { json } = await from.call(path, { as: "admin" });
      const files = json.map(async (one: Record<string, unknown>) => {
        const at = `GET /projects/acme%2Fsite/packages/${one["id"]}/package_files`;
        const told = (await from.call(at, { as: "admin" })).json;
        const shown = told.map(({ id, package_id, ...file }: Record<string, unknown>) => file);
        const { name, version, package_type, created_at, status } = one;
        return { name, version, package_type, created_at, status, files: shown };
      });
      return (await Promise.all(files)).filter(
        ({ package_type: type }) => type !== "composer" && type !== "helm",
      );
    };
    const [first, second] = [await kinds(source), await kinds(app)];
    expect(second).toEqual(first);
    const types = new Set(first.map((one) => one.package_type));
    expect([...types].sort()).toEqual(["generic", "maven", "npm", "nuget", "pypi"]);
    const { text } = await app.call("GET /projects/acme%2Fsite/packages/generic/tool0/1.0/f0", {
      as: "admin",
    });
    expect(text).toBe("a package");
    const entities = (await app.call("GET /bulk_imports/entities?per_page=100", { as: "admin" }))
      .json;
    const failures = entities.flatMap((one: { failures: object[] }) => one.failures);
    expect(failures).toContainEqual(
      expect.objectContaining({ exception_message: "packages of the kind helm are not taken" }),
    );
  });

  it("has the cadences of its iterations", async () => {
    const query = `{ group(fullPath: "acme") {
      iterationCadences { nodes { title startDate durationInWeeks automatic active } }
      iterations { nodes { iid title startDate dueDate iterationCadence { title } } } } }`;
    const of = async ({ call }: TestApp) =>
      (await call("POST /api/graphql", { as: "admin", json: { query } })).json.data;
    const [first, second] = [await of(source), await of(app)];
    expect(second).toEqual(first);
    expect(second.group.iterationCadences.nodes[0].title).toBe("Weeks");
    const { json } = await app.call(
      "GET /projects/acme%2Fsite/issues/1/resource_iteration_events",
      {
        as: "admin",
      },
    );
    expect(json.length).toBeGreaterThan(1);
  });

  it("keeps authors, files and who is in it", async () => {
    const issues = await app.call("GET /projects/acme%2Fsite/issues?search=With+a+file", {
      as: "admin",
    });
    expect(issues.json[0].author.username).toBe("guest");
    const [, path] = /\((.*?)\)/.exec(issues.json[0].description) ?? [];
    const file = await app.call(`GET /projects/acme%2Fsite${path}`, { as: "admin" });
    expect([file.status, file.text]).toEqual([200, "What it says"]);
    const { json } = await app.call("GET /groups/acme/members", { as: "admin" });
    const names = json.map(({ username }: { username: string }) => username);
    expect(names).toEqual(expect.arrayContaining(["owner", "developer", "guest"]));
  });

  it("forgets the token, and says what was not taken", async () => {
    const tokens = await app.store.rows("select token from bulk_imports");
    expect(tokens).toEqual([[null]]);
    const all = (await app.call("GET /bulk_imports/entities?sort=asc", { as: "admin" })).json;
    const one = all.find(
      ({ source_full_path: path }: { source_full_path: string }) => path === "acme/g1",
    );
    const at = `/bulk_imports/${one.bulk_import_id}/entities/${one.id}`;
    const { json } = await app.call(`GET ${at}/failures`, { as: "admin" });
    expect(json).toEqual(one.failures);
    expect(json).toContainEqual({
      relation: "variables",
      exception_message: "its value is masked: set it here",
      exception_class: "ImportError",
      correlation_id_value: null,
      source_url: null,
      source_title: "MASKED",
    });
    expect((await app.call(`GET ${at}`, { as: "owner" })).status).toBe(404);
  });

  it("takes as many statements to list many groups and projects as one", async () => {
    const statements = async (path: string) => {
      app.statements.length = 0;
      const { json } = await app.call(`GET ${path}`, { as: "admin" });
      return [json.length, app.statements.length];
    };
    const [, one] = await statements("/bulk_imports/entities?per_page=1");
    const [length, all] = await statements("/bulk_imports/entities?per_page=7");
    expect(length).toBeGreaterThan(4);
    expect(all).toBe(one);
  });

  it("is not doubled if it is imported again, and takes what is new", async () => {
    expect((await imported({ source_full_path: "acme" })).status).toBe("finished");
    expect(await counts(app)).toEqual(first);
    await there("POST /projects/acme%2Fteam%2Fcore/issues", { title: "Since then" });
    expect((await imported({ source_full_path: "acme" })).status).toBe("finished");
    expect(await counts(app)).toMatchObject({ issues: (first["issues"] as number) + 1 });
    const { json } = await app.call("GET /projects/acme%2Fteam%2Fcore/issues", { as: "admin" });
    expect(json.map(({ title }: { title: string }) => title)).toEqual(["Since then", "Below"]);
  });

  it("is as whole if the import was interrupted at any point", async () => {
    const other = await target();
    try {
      const { json } = await ask({ source_full_path: "acme" }, { to: other });
      const secrets = createSecrets({ secretKey: SECRET_KEY }, "", false);
      const onError = (error: unknown) => expect(error).toBeUndefined();
      const settings = {
        store: other.store,
        now: clock,
        secrets,
        outgoing: { allowLocal: true },
        onError,
      };
      let random = SEED >>> 0;
      let interruptions = 0;
      for (let status = "created"; status !== "finished"; ) {
        random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
        const interrupting = new AbortController();
        let left = 1 + (random % 12);
        const onProgress = () => {
          left -= 1;
          if (left === 0 && interruptions < 10) interrupting.abort(new Error("interrupted"));
        };
        await runImport({ ...settings, onProgress }, json.id, interrupting.signal).catch(
          (error) => {
            expect(error.message).toMatch(/interrupted|aborted/);
            interruptions += 1;
          },
        );
        status = (await other.call(`GET /bulk_imports/${json.id}`, { as: "admin" })).json.status;
      }
      expect(interruptions).toBe(10);
      await withoutImporter(other);
      expect(await differences(other, "acme", "acme/site")).toEqual([]);
      const all = await counts(other);
      expect(all).toEqual({
        ...first,
        issues: (first["issues"] as number) + 1,
        bulk_import_records: (first["bulk_import_records"] as number) + 1,
      });
    } finally {
      await other.dispose();
    }
  });
});

it("a project can be imported alone, by whoever can create projects, who writes all of it", async () => {
  const entity = {
    source_type: "project_entity",
    source_full_path: "acme/site",
    destination_namespace: "developer",
  };
  const { status, entities } = await imported(entity, { as: "developer", token: "token-of-owner" });
  expect([status, entities[0].status]).toEqual(["finished", "finished"]);
  const { json } = await app.call("GET /projects/developer%2Fsite/issues", { as: "developer" });
  const authors = new Set(
    json.map(({ author }: { author: { username: string } }) => author.username),
  );
  expect([...authors]).toEqual(["developer"]);
  const labels = (await app.call("GET /projects/developer%2Fsite/labels", { as: "developer" }))
    .json;
  expect(labels.map(({ name }: { name: string }) => name)).toContain("Development");
  expect(entities[0].failures).toContainEqual(
    expect.objectContaining({ exception_message: "only administrators say who has which role" }),
  );
});

describe("who is nobody here", () => {
  let other: TestApp;
  const graphql = (query: string, as: Person) =>
    other.call("POST /api/graphql", { as, json: { query } });
  const MINE = "{ currentUser { importSourceUsers { nodes { id status sourceUsername } } } }";
  const pending = async (as: Person = "owner") =>
    other.call("GET /groups/acme/placeholder_reassignments", { as });
  const idOf = async (username: string): Promise<string> => {
    const [row] = await other.store.rows(
      "select id from import_source_users where source_username = ?",
      [username],
    );
    return `gid://gitlab/Import::SourceUser/${row?.[0]}`;
  };
  const upload = (text: string, as: Person = "owner", name = "who.csv") => {
    const body = new FormData();
    body.append("file", new Blob([text]), name);
    return other.call("POST /groups/acme/placeholder_reassignments", { as, body });
  };
  /** Does what a worker does, on another day. */
  const sweep = () => {
    ahead += 86_400_000;
    return other.admin.maintenance.sweepDaily();
  };
  const guestsIssue = async () => {
    const path = "/projects/acme%2Fsite/issues?search=With+a+file";
    return (await other.call(`GET ${path}`, { as: "admin" })).json[0].author;
  };
  /** How many rows of each table name a user. */
  const rowsOf = async (userId: number) => {
    const counted: Record<string, number> = {};
    for (const [table, column] of [...CONTRIBUTIONS, ...USER_PARTS, ...OTHER_PARTS]) {
      const [row] = await other.store.rows(`select count(*) from ${table} where ${column} = ?`, [
        userId,
      ]);
      if (Number(row?.[0]) > 0) counted[`${table}.${column}`] = Number(row?.[0]);
    }
    return counted;
  };

  beforeAll(async () => {
    const here = ["admin", "owner", "stranger", "reporter"];
    const users = (baseSeed.users ?? []).filter(({ username }) => here.includes(username));
    other = await testApp({ ...OPTIONS, seed: { users } });
    await givePassword(other, "stranger", "reporter");
    const json = { bulk_import_enabled: true };
    await other.call("PUT /application/settings", { as: "admin", json });
    const { status } = await imported({ source_full_path: "acme" }, { to: other });
    expect(status).toBe("finished");
  });
  afterAll(() => other.dispose());

  it("has a placeholder, named as in GitLab, that is no account", async () => {
    const author = await guestsIssue();
    expect(author).toMatchObject({
      ...{ name: "Placeholder The guest", state: "active" },
      username: expect.stringMatching(/^guest_placeholder_user_\d+$/),
    });
    const { json } = await graphql(
      `{ user(username: "${author.username}") { type human } }`,
      "owner",
    );
    expect(json.data.user).toEqual({ type: "PLACEHOLDER", human: false });
    const members = await other.call("GET /groups/acme/members/all", { as: "owner" });
    expect(members.json.map(({ username }: { username: string }) => username)).not.toContain(
      author.username,
    );
    const added = { user_id: author.id, access_level: 30 };
    const refusals = [
      await other.call("POST /groups/acme/members", { as: "owner", json: added }),
      await other.call(`DELETE /users/${author.id}`, { as: "admin" }),
      await other.call("GET /user", { as: "admin", headers: { sudo: author.username } }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([404, 403, 404]);
    const humans = await other.call("GET /users?humans=true&per_page=100", { as: "admin" });
    expect(humans.text).not.toContain("_placeholder_user_");
  });

  it("can be listed by owners, for whom it is said who they are", async () => {
    const { headers, text } = await pending();
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    const [head, ...lines] = text.trim().split("\n");
    expect(head).toBe(
      "Source host,Import type,Source user identifier,Source user name,Source username,GitLab username,GitLab public email",
    );
    expect(lines.find((line) => line.includes(",guest,"))).toMatch(
      /^http:\/\/[^,]+,gitlab_migration,\d+,The guest,guest,,$/,
    );
    const statuses = [];
    for (const as of ["anonymous", "stranger", "reporter", "admin"] as const) {
      statuses.push((await pending(as)).status, (await upload(text, as)).status);
    }
    expect(statuses).toEqual([401, 401, 403, 403, 403, 403, 200, 201]);
  });

  it.each([
    ["no CSV file", "Source host", "who.txt", /\.csv file extension/],
    ["another file", "a,b\n1,2\n", "who.csv", /not correctly formatted/],
    ["a quote without an end", '"a', "who.csv", /a quote in it has no end/],
    ["a long cell", "a".repeat(10_001), "who.csv", /a cell in it is too long/],
    ["a long cell in quotes", `"${'""'.repeat(10_001)}"`, "who.csv", /a cell in it is too long/],
    ["many blank lines", "\n".repeat(50_002), "who.csv", /it has too many rows/],
    ["too many columns", ",".repeat(30), "who.csv", /too many columns/],
  ])("%s says nothing of anybody", async (_, text, name, problem) => {
    const { status, json } = await upload(text, "owner", name);
    expect([status, json.message]).toEqual([422, expect.stringMatching(problem)]);
  });

  it("becomes a user who agrees, with all that they did, and what they were a member of", async () => {
    const { id: from } = await guestsIssue();
    const before = await rowsOf(from);
    const { text } = await pending();
    const line = (whom: string) => new RegExp(`(,${whom}),,`);
    const twice = text
      .replace(line("guest"), "$1,stranger,")
      .replace(line("developer"), "$1,stranger,");
    expect((await upload(twice)).json.message).toContain("duplicate email addresses or usernames");
    const said = text
      .replace(line("guest"), "$1,stranger,")
      .replace(line("developer"), "$1,nobody,");
    expect((await upload(said)).json).toEqual({
      message: "The file is being processed and you will receive an email when completed.",
    });
    const asked = (await graphql(MINE, "stranger")).json.data.currentUser.importSourceUsers.nodes;
    expect(asked).toEqual([
      { id: await idOf("guest"), status: "AWAITING_APPROVAL", sourceUsername: "guest" },
    ]);
    expect((await guestsIssue()).id).toBe(from);

    const path = `/import/source_users/${asked[0].id.split("/").at(-1)}`;
    const [stranger, reporter] = [new Visitor(other), new Visitor(other)];
    await stranger.signIn("stranger", PASSWORD);
    await reporter.signIn("reporter", PASSWORD);
    expect((await reporter.get(path)).status).toBe(404);
    expect((await reporter.post(path, { accept: "true" })).status).toBe(404);
    expect((await stranger.get(path)).page).toContain("Approve reassignment");
    const answered = await stranger.post(path, { accept: "true" });
    expect([answered.status, answered.page]).toEqual([
      200,
      expect.stringContaining("Reassignment approved"),
    ]);
    const { id: to } = (await other.call("GET /user", { as: "stranger" })).json;
    const had = await rowsOf(to);
    await sweep();
    expect((await guestsIssue()).username).toBe("stranger");
    const after = await rowsOf(to);
    for (const [part, count] of Object.entries(before)) {
      if (part.startsWith("namespaces")) continue;
      expect([part, after[part]]).toEqual([part, count + (had[part] ?? 0)]);
    }
    const member = await other.call(`GET /groups/acme/members/${to}`, { as: "owner" });
    expect(member.json.access_level).toBe(10);
    expect((await other.call(`GET /users/${from}`, { as: "admin" })).status).toBe(404);
    const { json } = await graphql(MINE, "stranger");
    expect(json.data.currentUser.importSourceUsers.nodes[0].status).toBe("COMPLETED");
  });

  it("is who they have become in what is imported later", async () => {
    const [title, project] = ["After that", "/projects/acme%2Fteam%2Fcore"];
    const [{ id }] = await there("GET /users?username=guest");
    await there(`POST ${project}/members`, { user_id: id, access_level: 30 });
    await there(`POST ${project}/issues`, { title }, "guest");
    expect((await imported({ source_full_path: "acme" }, { to: other })).status).toBe("finished");
    const { json } = await other.call(`GET ${project}/issues?search=After`, { as: "admin" });
    expect([json[0].title, json[0].author.username]).toEqual([title, "stranger"]);
    await there(`DELETE ${project}/issues/${json[0].iid}`);
    await there(`DELETE ${project}/members/${id}`);
  });

  it("may be kept, taken back, refused, or decided by administrators alone", async () => {
    const id = await idOf("developer");
    const mutate = async (name: string, as: Person, more = "") => {
      const query = `mutation { importSourceUser${name}(input: { id: "${id}"${more} }) { errors importSourceUser { status } } }`;
      const { json } = await graphql(query, as);
      const answer = json.data?.[`importSourceUser${name}`];
      return answer ? (answer.errors[0] ?? answer.importSourceUser.status) : json.errors[0].message;
    };
    const userOf = async (as: Person) =>
      `, assigneeUserId: "gid://gitlab/User/${(await other.call("GET /user", { as })).json.id}"`;
    const [reporter, stranger, admin] = [
      await userOf("reporter"),
      await userOf("stranger"),
      await userOf("admin"),
    ];
    const INVALID = "Import source user has an invalid status for this operation";
    expect(await mutate("Reassign", "reporter", reporter)).toMatch(/does ?n.t exist|permission/);
    expect(await mutate("Reassign", "owner", admin)).toContain("regular or auditor access only");
    expect(await mutate("Reassign", "owner", stranger)).toContain("already assigned to another");
    expect(await mutate("KeepAsPlaceholder", "owner")).toBe("KEEP_AS_PLACEHOLDER");
    expect(await mutate("Reassign", "owner", reporter)).toBe(INVALID);
    expect(await mutate("UndoKeepAsPlaceholder", "owner")).toBe("PENDING_REASSIGNMENT");
    expect(await mutate("Reassign", "owner", reporter)).toBe("AWAITING_APPROVAL");
    expect(await mutate("ResendNotification", "owner")).toBe("AWAITING_APPROVAL");
    expect(await mutate("CancelReassignment", "owner")).toBe("PENDING_REASSIGNMENT");
    expect(await mutate("RetryFailedReassignment", "owner")).toBe(INVALID);
    const json = { allow_bypass_placeholder_confirmation: true };
    await other.call("PUT /application/settings", { as: "admin", json });
    expect(await mutate("Reassign", "owner", reporter)).toBe("AWAITING_APPROVAL");
    const visitor = new Visitor(other);
    await visitor.signIn("reporter", PASSWORD);
    const path = `/import/source_users/${id.split("/").at(-1)}`;
    await visitor.get(path);
    expect((await visitor.post(path, { accept: "false" })).page).toContain("rejected");
    expect(await mutate("Reassign", "admin", reporter)).toBe("REASSIGNMENT_IN_PROGRESS");
    await sweep();
    const threads = "/projects/acme%2Fcode/merge_requests/1/discussions";
    const [thread] = (await other.call(`GET ${threads}`, { as: "owner" })).json;
    expect(thread.notes[0].author.username).toBe("reporter");
    // Who is a member already stays what they are.
    const { id: userId } = (await other.call("GET /user", { as: "reporter" })).json;
    const member = await other.call(`GET /groups/acme/members/${userId}`, { as: "owner" });
    expect(member.json.access_level).toBe(20);
    const all = `mutation { importSourceUserKeepAllAsPlaceholder(input: { namespaceId: "gid://gitlab/Group/${
      (await other.call("GET /groups/acme", { as: "owner" })).json.id
    }" }) { updatedImportSourceUserCount } }`;
    const kept = (await graphql(all, "owner")).json.data.importSourceUserKeepAllAsPlaceholder;
    expect(kept.updatedImportSourceUserCount).toBeGreaterThan(0);
    expect((await pending()).text.trim().split("\n")).toHaveLength(1);
  });

  it("goes with the group", async () => {
    await other.call("DELETE /groups/acme", { as: "admin" });
    await sweep();
    const left = "select id from users where state = 'placeholder'";
    expect(await other.store.rows(left)).toEqual([]);
  });
});

describe("who may import", () => {
  const group = {
    source_full_path: "acme/team",
    destination_slug: "moved",
    destination_namespace: "acme",
  };
  const project = {
    source_type: "project_entity",
    source_full_path: "acme/team/core",
    destination_slug: "moved",
    destination_namespace: "acme",
  };
  it.each<[Person, number, number]>([
    ["anonymous", 401, 401],
    ["stranger", 422, 422],
    ["guest", 422, 422],
    ["reporter", 422, 422],
    ["developer", 422, 422],
    ["maintainer", 422, 201],
    ["owner", 201, 201],
    ["admin", 201, 201],
  ])("%s: a group %i, a project %i", async (as, ofGroup, ofProject) => {
    const statuses = [];
    for (const entity of [group, project]) {
      const { status, json } = await ask(entity, { as });
      statuses.push(status);
      if (status === 201) {
        const canceled = await app.call(`POST /bulk_imports/${json.id}/cancel`, { as });
        expect([canceled.status, canceled.json.status]).toEqual([200, "canceled"]);
        expect((await app.call(`POST /bulk_imports/${json.id}/cancel`, { as })).status).toBe(422);
      }
    }
    expect(statuses).toEqual([ofGroup, ofProject]);
  });

  it("nobody, if the setting is off, or more often than six times a minute", async () => {
    const statuses = [];
    for (let count = 0; count < 7; count += 1) {
      const { status } = await ask({ ...group, destination_slug: "often" });
      ahead -= 61_000;
      statuses.push(status);
    }
    expect(statuses).toEqual([201, 201, 201, 201, 201, 201, 429]);
    ahead += 61_000;
    const switched = (bulk_import_enabled: boolean) =>
      app.call("PUT /application/settings", { as: "admin", json: { bulk_import_enabled } });
    await switched(false);
    expect((await ask(group)).status).toBe(404);
    expect((await app.call("GET /bulk_imports", { as: "admin" })).status).toBe(404);
    await switched(true);
  });
});

describe("a server that misbehaves", () => {
  let bad: HttpServer;
  let url = "";
  let answer: RequestListener = () => undefined;
  beforeAll(async () => {
    bad = createServer((request, response) => {
      if (request.url === "/api/v4/user") response.end('{"id":1,"username":"x"}');
      else answer(request, response);
    });
    await new Promise<void>((resolve) => bad.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(bad.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    bad.closeAllConnections();
    bad.close();
  });
  const GROUP = { id: 7, name: "Bad", path: "bad", full_path: "bad", visibility: "private" };
  const bring = async (destination_slug: string) => {
    const { entities } = await imported({ source_full_path: "bad", destination_slug }, { url });
    return entities[0];
  };
  const failuresOf = ({ failures }: { failures: Record<string, string>[] }, of: string) =>
    failures.filter(({ relation }) => relation === of).map((one) => one["exception_message"]);
  /** Answers with the group, `[]`, or what one list has. */
  const withList =
    (list: string, give: RequestListener): RequestListener =>
    (request, response) => {
      const path = request.url ?? "";
      if (path.includes(`/${list}`)) give(request, response);
      else response.end(/groups\/bad(\?|$)/.test(path) ? JSON.stringify(GROUP) : "[]");
    };

  it("is refused if it is none of GitLab's, or not reachable", async () => {
    const entity = { source_full_path: "acme" };
    const NO_ACCESS = "Unable to access the source instance with the URL and access token provided";
    const nobody = createServer().listen(0, "127.0.0.1");
    await once(nobody, "listening");
    const closed = `http://127.0.0.1:${(nobody.address() as AddressInfo).port}`;
    nobody.close();
    const wrong = await ask(entity, { token: "wrong" });
    expect([wrong.status, wrong.json]).toEqual([422, { message: NO_ACCESS }]);
    expect((await ask(entity, { url: closed })).json).toEqual({ message: NO_ACCESS });
    expect((await ask(entity, { url: "ftp://127.0.0.1/" })).status).toBe(400);
    const careful = await target({ webhooks: { deliver: false } });
    const local = await ask(entity, { to: careful, url });
    expect([local.status, local.json.message]).toEqual([
      422,
      expect.stringContaining("not allowed"),
    ]);
    await careful.dispose();
  });

  it("is waited for if it asks for that, and asked again if it is at fault", async () => {
    let count = 0;
    answer = withList("labels", (_, response) => {
      count += 1;
      if (count === 1) response.writeHead(429, { "retry-after": "0" }).end();
      else if (count === 2) response.writeHead(502).end();
      else response.end(JSON.stringify([{ id: 1, name: "late", color: "#00ff00" }]));
    });
    expect((await bring("late")).status).toBe("finished");
    const { json } = await app.call("GET /groups/late/labels", { as: "admin" });
    expect([count, json[0].name]).toEqual([3, "late"]);
  });

  it.each<[string, RequestListener, RegExp]>([
    [
      "fails",
      (_, response) => response.writeHead(500).end(),
      /answers groups\/bad\/labels with 500/,
    ],
    ["sends garbage", (_, response) => response.end("<html>"), /is no JSON/],
    ["sends something else", (_, response) => response.end('{"a":1}'), /no list of objects/],
    [
      "repeats itself",
      (_, response) =>
        response.end(JSON.stringify(Array.from({ length: 100 }, (_, id) => ({ id, name: "x" })))),
      /repeats itself/,
    ],
    [
      "leads elsewhere",
      (_, response) => response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
      /redirects are not followed/,
    ],
    [
      "is cut off",
      (_, response) => {
        response.writeHead(200, { "content-length": "99" });
        response.write("[");
        setImmediate(() => response.destroy());
      },
      /cut off/,
    ],
    [
      "has no end",
      (_, response) => {
        const more = () => {
          while (response.write(" ".repeat(1 << 20)));
        };
        response.on("drain", more);
        more();
      },
      /too large/,
    ],
  ])("that %s: the rest is taken", async (what, give, reason) => {
    answer = withList("labels", give);
    const entity = await bring(`it-${what.replaceAll(" ", "-")}`);
    expect(entity.status).toBe("finished");
    expect(failuresOf(entity, "labels").at(-1)).toMatch(reason);
  });

  it("says what of its records can't be stored, and takes the others", async () => {
    const labels = [
      { id: 1, name: "good", color: "#00ff00" },
      { id: 2, name: "bad", color: "green" },
      { id: 3, name: 5, color: "#00ff00" },
      { id: 4, name: "\0", color: "#00ff00" },
      { id: "5", name: "odd", color: "#00ff00" },
    ];
    answer = withList("labels", (_, response) => response.end(JSON.stringify(labels)));
    const entity = await bring("mixed");
    expect(failuresOf(entity, "labels")).toHaveLength(4);
    const { json } = await app.call("GET /groups/mixed/labels", { as: "admin" });
    expect(json.map(({ name }: { name: string }) => name)).toEqual(["good"]);
  });

  it("is asked for less at once if its answers are too large", async () => {
    const asked: string[] = [];
    answer = withList("labels", ({ url: path }, response) => {
      const { searchParams } = new URL(path ?? "", url);
      const [size, page] = ["per_page", "page"].map((name) => Number(searchParams.get(name)));
      asked.push(`${size}/${page}`);
      if (size === 100) response.end(`[${" ".repeat(17 << 20)}]`);
      else {
        const names = Array.from({ length: 12 }, (_, at) => ({
          id: at + 1,
          name: `l${at}`,
          color: "#00ff00",
        }));
        const from = ((page as number) - 1) * (size as number);
        response.end(JSON.stringify(names.slice(from, from + (size as number))));
      }
    });
    const entity = await bring("large");
    expect([entity.failures, entity.stats.labels.imported]).toEqual([[], 12]);
    expect(asked).toEqual(["100/1", "10/1", "10/2"]);
  });

  it("does not lead to groups that were not asked for", async () => {
    const other = { id: 9, path: "other", full_path: "elsewhere/other" };
    answer = withList("subgroups", (_, response) => response.end(JSON.stringify([other])));
    const { entities } = await imported(
      { source_full_path: "bad", destination_slug: "led" },
      { url },
    );
    expect(entities).toHaveLength(1);
  });
});

const MANY = 100_000;
const MOST_KILOBYTES = 150 * 1024;
/** The heap of a small machine: what V8 keeps beyond what is alive grows with the memory that there is. */
const SMALL_HEAP = "--max-old-space-size=128";

/** A server with one project of {@link MANY} issues, and one without any. */
async function startLarge(): Promise<{ readonly url: string; close(): void }> {
  const author = { id: 1, username: "owner" };
  const issueOf = (iid: number) => ({
    ...{
      id: iid,
      iid,
      project_id: 2,
      title: `Issue ${iid}`,
      description: "What it says. ".repeat(30),
    },
    ...{ state: "opened", author, labels: [], created_at: "2026-01-01T00:00:00Z" },
  });
  const projectOf = (path: string) => ({
    ...{ id: path === "big" ? 2 : 3, path, name: path, visibility: "private", empty_repo: true },
    wiki_enabled: false,
  });
  const answerTo = ({ pathname, searchParams }: URL): object => {
    const [, path = "", list] = /^\/api\/v4\/projects\/a%2F(\w+)(\/.*)?$/.exec(pathname) ?? [];
    if (path === "") return pathname === "/api/v4/user" ? author : [];
    if (list === undefined) return projectOf(path);
    if (list !== "/issues" || path !== "big") return [];
    const first = (Number(searchParams.get("page")) - 1) * 100;
    return Array.from({ length: Math.max(0, Math.min(100, MANY - first)) }, (_, at) =>
      issueOf(first + at + 1),
    );
  };
  const server = createServer(({ url: path = "" }, response) => {
    response.end(JSON.stringify(answerTo(new URL(path, "http://large"))));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, close: () => void server.close() };
}

it.runIf(isLong && !isRepeated)(
  "100,000 issues take at most 150 MB more of memory than none",
  async () => {
    const large = await startLarge();
    const other = await target();
    const program = await programOf(new URL("../store/_git-process.ts", import.meta.url));
    const args = [SMALL_HEAP, program.file, other.database, "0"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const printed: string[] = [];
    child.stdout.on("data", (text) => void printed.push(String(text).trim()));
    await once(child.stdout, "data");
    const address = `${printed[0]}/api/v4/bulk_imports`;
    const headers = { "private-token": tokenOf("admin"), "content-type": "application/json" };
    const most = async (name: string) => {
      const entity = {
        ...{ source_type: "project_entity", source_full_path: `a/${name}` },
        ...{ destination_slug: name, destination_namespace: "owner" },
      };
      const configuration = { url: large.url, access_token: "token" };
      const body = JSON.stringify({ configuration, entities: [entity] });
      const { id } = await (await fetch(address, { method: "POST", headers, body })).json();
      for (let status = ""; status !== "finished"; ) {
        await once(child.stdout, "data");
        ({ status } = await (await fetch(`${address}/${id}`, { headers })).json());
        expect(["created", "started", "finished"]).toContain(status);
      }
      await once(child.stdout, "data");
      return Number(printed.at(-1)?.split("\n").at(-1));
    };
    const [before, after] = [await most("none"), await most("big")];
    const [counted] = await other.store.rows(
      "select count(*) from issues where title like 'Issue %'",
    );
    expect(Number(counted?.[0])).toBe(MANY);
    expect(after - before).toBeLessThan(MOST_KILOBYTES);
    await kill(child);
    await program.remove();
    await other.dispose();
    large.close();
  },
  3_600_000,
);
