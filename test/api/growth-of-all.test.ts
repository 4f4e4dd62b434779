import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import type { Route } from "../../src/core/resource.ts";
import { crowd } from "../crowd.ts";
import { createFixtures, fixtureSeed, type Places, pathOf, placesIn } from "../fixtures.ts";
import { hasTurn, isLong } from "../forms.ts";
import { call, engine, type Person, SECRET_KEY, type TestApp, testApp } from "../helpers.ts";
import { type CountingStore, canCountPages, countingStore } from "../pages.ts";
import { toys } from "../toy/index.ts";
import { routes } from "./routes.ts";

/** Rows of each kind. */
const FEW = 300;
const MANY = 6000;
const isPostgres = engine === "postgres";

/**
 * How many pages of the database a request may read among {@link MANY} rows, if it reads so many among a few. PostgreSQL
 * reads all projects that the caller sees as a member, once in a statement: some 1,200 pages, in two statements at most.
 */
const allowed = (pages: number) => 2 * pages + (isPostgres ? 2500 : 100);

/**
 * Statements that read up to 10,000 rows, however many there are: those that count them, with their ids if they are few,
 * those that sort the few rows that a filter finds, and those that add up the first 200 stored counts of a label.
 */
const BOUNDED =
  /^\s*(select (count\(\*\) as (total|found)(, .* as ids)?|(i|mr|p|n|u|l|m|pl)\.id) from|with named as .*, first_counts as )/;

/**
 * What still grows, with the reason: a path, and a parameter unless the whole route does. docs/performance.md has what
 * users should know of it.
 */
const GROWING: readonly [path: RegExp, query: RegExp, why: string][] = [
  [
    /^\/user_counts$|\/issues_statistics$|^\/application\/statistics$|^\/license$/,
    /(?:)/,
    "with what they count",
  ],
  [/^\/projects\/:id\/starrers$/, /search=/, "with the stars whose users are compared"],
  [
    /^\/groups\/:id\/(issues|merge_requests|releases)$/,
    /(?:)/,
    "with the projects of the group: the first rows of each are looked at",
  ],
  [
    /^\/groups\/:id\/(related_epic_links|(-\/)?epics(\/:epic_iid\/(issues|epics|links|related_epics))?)$/,
    /(?:)/,
    "with the epics and their links, which are sorted, or with what is below one",
  ],
  [
    /\/(issues|merge_requests)$/,
    /labels=none|milestone(_id)?=(none|None|Upcoming|Started)|iteration_id=none|iids|state=(merged|locked)/,
    "with the rows that are passed over, if the matching ones are rare or old",
  ],
  [
    /\/(issues|merge_requests)$/,
    /order_by=(title|priority|label_priority|milestone_due|popularity|due_date|weight|merged_at)/,
    "with the rows that match, which are sorted",
  ],
  [
    /\/events$/,
    /(?:)/,
    "with the projects that the caller sees, if what is wanted is rare among their events",
  ],
  [
    /\/search$/,
    /scope=notes/,
    "with the project's notes up to the newest 5,000, which are compared",
  ],
  [/\/members(\/all)?$/, /query=/, "with the members, whose names are compared"],
  [/\/billable_members$/, /(?:)/, "with all memberships of those that are listed"],
  [
    /^\/analytics\/group_activity\//,
    /(?:)/,
    "with the projects and groups below the group: the newest rows of each are counted",
  ],
  [/\/dora\/metrics$/, /(?:)/, "with the group's projects, and with what is counted"],
  [/\/members\/all$/, /(?:)/, "with the members: each is listed once, with their best membership"],
  [
    /^\/users$/,
    /blocked=|deactivated=|external=|created_|exclude_active=|admins=|without_projects=/,
    "with all users, who are looked through",
  ],
  [
    /\/milestones$/,
    /state=|updated_|include_|containing_date=/,
    "with those of the owner, and of groups above and what is below, which are looked through",
  ],
  [
    /\/iterations$/,
    /state=(upcoming|current|started|closed)|search=|updated_|include_descendants=/,
    "with those of the group, at most 25,000, and of those below, which are looked through",
  ],
  [/\/notes$/, /activity_filter=/, "with the notes of one record, which are looked through"],
  [/\/(groups|subgroups)$/, /visibility=|top_level_only=/, "with those that are passed over"],
  [
    /\/(projects|forks|subgroups)$/,
    /order_by=(id|path|name|updated_at|last_activity_at|star_count)/,
    "with those of the group or project, which are sorted",
  ],
  [
    /\/(projects|forks|starred_projects)$/,
    /order_by=\w+_size/,
    "with the projects that match, which are sorted by what they store, for administrators",
  ],
  [/^\/service_accounts$/, /order_by=username/, "with all service accounts, which are sorted"],
  [
    /^\/groups\/:id\/provisioned_users$/,
    /search=|active=|blocked=|created_/,
    "with the users that the group has provisioned, who are looked through",
  ],
  [/\/descendant_groups$/, /(?:)/, "with the groups below, which are sorted"],
  [/^\/groups\/:id\/packages$/, /(?:)/, "with those of the group's projects, which are sorted"],
  [
    /^\/groups\/:id\/registry\/repositories$/,
    /(?:)/,
    "with those of the group's projects, which are sorted",
  ],
  [/^\/groups$/, /order_by=/, "with all groups, which are sorted"],
  [
    /\/environments$/,
    /(?:)/,
    "with the forks of the project, which are counted, and with the environments, whose names are compared",
  ],
  [
    /^\/dependency_list_exports\/:export_id\/download$/,
    /(?:)/,
    "with the dependencies, all of which are in the answer",
  ],
  [/\/releases$/, /updated_/, "with the project's releases, which are passed over"],
  [
    /\/jobs\/artifacts\/:ref_name\*\//,
    /(?:)/,
    "with the pipelines of the branch or tag, until one has the job with artifacts",
  ],
  [
    /\/(projects|forks)$/,
    /archived=true|visibility=|membership=|min_access_level=|owned=|include_subgroups=true/,
    "with those that match, which are sorted, or with those that are passed over",
  ],
  [/^\/groups\/:id$/, /(?:)/, "with the projects of the group, which are sorted by name"],
  [/^\/namespaces$/, /(?:)/, "with the groups that the caller belongs to"],
  [/^\/todos$/, /author_id=|group_id=|type=/, "with the caller's own todos"],
  [/tokens$/, /(?:)/, "with the tokens of the user"],
  [/\/(badges|links)$/, /(?:)/, "with the badges of a project, or the links of an issue"],
  [
    /\/commits\/:sha\/merge_requests$/,
    /(?:)/,
    "with the project's merge requests of code: the commits of each are looked at",
  ],
  [/\/discussions\/:discussion_id$/, /(?:)/, "with the replies, all of which are in the answer"],
];

const isGrowing = (path: string, query: string) =>
  GROWING.find(([of, when]) => of.test(path) && when.test(query));

/** Values of attributes that have no list of values: common and rare ones. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  action: [],
  batch_number: [],
  config_file: [],
  config_file_ref: [],
  trailer: [],
  date: [],
  job: ["check"],
  job_token: [],
  pipeline_id: ["1"],
  regex: ["^feature-1"],
  relation: ["labels", "nosuch"],
  stage: ["external"],
  tag_list: ["docker"],
  token: [],
  fingerprint: ["SHA256:none"],
  after: ["2020-01-01", "2030-01-01"],
  assignee_id: ["any", "none", "DEVELOPER", "OWNER"],
  assignee_username: ["developer", "owner"],
  author: ["owner"],
  author_id: ["DEVELOPER", "OWNER"],
  author_username: ["developer", "owner"],
  reviewer_id: ["any", "none", "DEVELOPER", "OWNER"],
  approved_by_ids: ["any", "none", "DEVELOPER", "DEVELOPER,OWNER"],
  approved_by_usernames: ["developer", "developer,owner"],
  reviewer_username: ["developer", "owner"],
  before: ["2015-01-01", "2030-01-01"],
  branch: ["master"],
  content_ref: ["main"],
  created_after: ["2020-01-01", "2030-01-01"],
  created_before: ["2015-01-01", "2030-01-01"],
  deployed_after: ["2020-01-01", "2030-01-01"],
  deployed_before: ["2015-01-01", "2030-01-01"],
  dry_run_ref: ["main"],
  email: ["developer@example.com", "nobody@example.com"],
  size: ["32"],
  start_date: [],
  end_date: [],
  entity_id: [],
  epic_id: ["1", "none"],
  health_status: ["any"],
  iteration_id: ["1", "none", "any", "current"],
  iteration_title: ["Common n50n", "week 0", "nosuch"],
  environment: ["review/0", "nosuch"],
  expires_after: ["2020-01-01"],
  expires_before: ["2020-01-01"],
  extern_uid: [],
  // Objects, of which one attribute tells records with equal keys apart.
  filter: [],
  custom_attributes: [],
  // They need another order and status.
  finished_after: [],
  finished_before: [],
  from: ["main"],
  from_project_id: [],
  marked_for_deletion_on: ["2020-01-01"],
  fullname: [],
  group_path: ["acme"],
  group_id: ["1"],
  id_after: ["1", "1000000"],
  id_before: ["1", "1000000"],
  iids: ["1", "1000000"],
  // An object: see growth.test.ts.
  not: [],
  image_url: [],
  in: ["title", "description"],
  labels: ["UX", "Common n7n", "UX,Common n7n", "none", "any", "nosuch"],
  last_activity_after: ["2020-01-01", "2030-01-01"],
  last_activity_before: ["2015-01-01", "2030-01-01"],
  skip: ["10"],
  skip_users: ["1"],
  take: ["5"],
  user_ids: ["1"],
  last_used_after: ["2020-01-01"],
  last_used_before: ["2020-01-01"],
  link_url: [],
  merge_user_id: ["DEVELOPER", "OWNER"],
  merge_user_username: ["developer", "owner"],
  app_name: ["production"],
  ID: ["none"],
  instance_id: ["none"],
  milestone: ["v1", "Common n50n", "none", "any", "nosuch"],
  my_reaction_emoji: ["any", "none", "rocket"],
  name: ["Common n7n", "nosuch"],
  package_name: ["common", "nosuch"],
  package_type: ["composer", "generic", "helm", "maven", "npm", "nuget", "pypi"],
  package_version: ["1.0", "nosuch"],
  page_token: ["10"],
  parent_id: ["1"],
  path: ["src"],
  public_email: ["nosuch@example.com"],
  search_title: ["common", "nosuch", "e"],
  containing_date: ["2020-01-01", "2030-01-01"],
  project: [],
  project_id: ["1"],
  provider: [],
  q: ["common", "nosuch"],
  query: ["common", "common7", "nosuch", "e"],
  range: [],
  ref: ["main"],
  ref_name: ["main"],
  refs: ["main"],
  scope: ["all"],
  search: ["common", "n7n", "nosuch", "e", "zq"],
  sha: ["main"],
  since: ["2020-01-01"],
  skip_groups: ["1"],
  source_branch: ["branch7", "nosuch"],
  source_project_id: ["1", "1000000"],
  target_branch: ["main", "target50", "nosuch"],
  title: ["Common n7n", "nosuch"],
  to: ["main"],
  topic: ["common", "nosuch"],
  topic_id: ["1"],
  until: ["2020-01-01"],
  updated_after: ["2020-01-01", "2030-01-01"],
  updated_before: ["2015-01-01", "2030-01-01"],
  user_id: ["DEVELOPER"],
  username: ["developer", "nosuch"],
  version: ["0123456789", "1.0.0"],
  weight: ["3", "none", "any"],
};

/**
 * The queries of a route: none, each value of each attribute, the second page, and the next one by key. PostgreSQL takes
 * minutes for all, since each statement is explained: there it is asked without filters.
 */
function queriesOf(route: Route): string[] {
  const inPath = new Set([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name));
  // What is refused whatever it asks for reads nothing.
  const attributes = Object.entries(route.input ?? {}).filter(
    ([name, { notes }]) => !inPath.has(name) && notes.without !== "support",
  );
  const base = new Map<string, string>();
  for (const [name, schema] of attributes) {
    const { optional, values = [] } = schema.notes;
    if (!optional) base.set(name, String(values[0] ?? "https://a.test"));
    if (name === "scope" && optional && values.includes("all")) base.set(name, "all");
  }
  const with_ = (...added: [string, string][]) =>
    new URLSearchParams([...new Map([...base, ...added])]).toString();
  if (isPostgres) return [with_()];
  const filtered = attributes.flatMap(([name, schema]) => {
    const { type, values = VALUES[name] } = schema.notes;
    const given = type === "boolean" ? ["true", "false"] : values;
    if (!given) throw new Error(`VALUES in this file has nothing for ${name} of ${route.path}`);
    return given.map((value) => with_([type.startsWith("array") ? `${name}[]` : name, value]));
  });
  const keyed = attributes.some(([name]) => name === "pagination");
  return [
    with_(),
    ...filtered,
    ...(route.isList ? [with_(["page", "2"])] : []),
    ...(keyed ? [with_(["pagination", "keyset"], ["order_by", "id"])] : []),
  ];
}

interface World {
  app: TestApp;
  store: CountingStore;
  counted: Pick<TestApp, "fetch" | "handler" | "close">;
  places: Places;
  ids: Readonly<Record<"DEVELOPER" | "OWNER", number>>;
}

async function worldOf(rows: number): Promise<World> {
  const app = await testApp({ seed: fixtureSeed(1), extra: toys });
  await createFixtures(app, 1);
  const places = await placesIn(app, "acme", "acme/site");
  const idOf = async (name: string) =>
    (await app.call(`GET /users?username=${name}`, { as: "admin" })).json[0].id as number;
  const ids = { DEVELOPER: await idOf("developer"), OWNER: await idOf("owner") };
  await crowd(app, places, rows);
  const store = await countingStore(app.database);
  const counted = await createAppOn(
    store,
    { secretKey: SECRET_KEY, background: false, sites: "path" },
    toys,
  );
  return { app, store, counted, places, ids };
}

interface Cost {
  status: number;
  pages: number;
  /** The statement that read most. */
  worst: string;
}

async function costOf(world: World, route: Route, query: string, as: Person): Promise<Cost> {
  const { app, store, counted, places, ids } = world;
  // Somebody else's commit, after which nothing is cached.
  await app.store.transaction((db) => db.run("update users set bio = 'x' where id = 1"));
  const named = query.replace(/DEVELOPER|OWNER/, (name) => String(ids[name as keyof typeof ids]));
  let status = 0;
  const visits = await store.visitsOf(async () => {
    ({ status } = await call(counted, `GET ${pathOf(route, places)}?${named}`, { as }));
  });
  const own = visits.filter(({ sql }) => !BOUNDED.test(sql)).sort((a, b) => b.pages - a.pages);
  const pages = own.reduce((sum, visit) => sum + visit.pages, 0);
  return { status, pages, worst: `${own[0]?.pages} pages by ${own[0]?.sql.replace(/\s+/g, " ")}` };
}

describe.runIf(canCountPages)("among many rows as among few, a request reads as many pages", () => {
  const reading = routes.filter((route) => route.method === "GET" && hasTurn(route));
  const grown = new Set<unknown>();
  let few: World;
  let many: World;
  beforeAll(async () => {
    few = await worldOf(FEW);
    many = await worldOf(MANY);
  });
  afterAll(async () => {
    for (const { app, counted } of [few, many]) {
      await counted.close();
      await app.dispose();
    }
  });

  it.each(reading.map((route) => [route.path, route] as const))(
    "GET %s",
    async (path, route) => {
      const first = queriesOf(route)[0];
      for (const query of queriesOf(route)) {
        for (const as of ["admin", "developer", "anonymous"] as const) {
          if (route.access === "admin" && as !== "admin") continue;
          if (as === "anonymous" && (route.access !== "anyone" || query !== first)) continue;
          const before = await costOf(few, route, query, as);
          const after = await costOf(many, route, query, as);
          expect([query, as, after.status]).toEqual([query, as, before.status]);
          if (after.pages <= allowed(before.pages)) continue;
          const known = isGrowing(path, query);
          if (known) grown.add(known);
          else expect.soft(`${as} ${query}: ${before.pages}, then ${after.worst}`).toBe("");
        }
      }
    },
    120_000,
  );

  it.skipIf(isPostgres || !isLong)("what is known to grow still does", () => {
    expect(GROWING.filter((known) => !grown.has(known)).map(([, , why]) => why)).toEqual([]);
  });
});
