import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  isAbstractType,
  isEnumType,
  isListType,
  isObjectType,
  isRequiredArgument,
} from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildSchema } from "../../src/graphql/schema.ts";
import { modules } from "../../src/resources/graphql.ts";
import { idOf } from "../../src/resources/notes/discussions.ts";
import type { Seed } from "../../src/seed/input.ts";
import { createFixtures, fixtureSeed } from "../fixtures.ts";
import { hasTurn, isLong } from "../forms.ts";
import { everyone, type Person, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { post } from "./ask.ts";

// Every path of three fields from the root, of which one in six has its turn, shows each caller exactly the rows that REST shows them: of what an
// administrator gets by that path, the rows that they can reach without a row in between that is hidden from them.
// Types and fields are found in the schema. A new type of rows needs its REST route in ROUTES, a row that some callers
// may not see in `world`, and values for the arguments that its fields require in `argumentsOf`.

const OWNER =
  "case when project_id is null then '/groups/' || namespace_id else '/projects/' || project_id end";

/** The REST route of a row `i` of issues: that of a group's epic begins with the group. */
const ISSUE_ROUTE = `case when i.issue_type = 'epic'
  then '/groups/' || (select p.namespace_id from projects p where p.id = i.project_id) || '/epics/' || i.iid
  else '/projects/' || i.project_id || '/issues/' || i.iid end`;

const issueRoute = (id: string) => `(select ${ISSUE_ROUTE} from issues i where i.id = ${id})`;

/** The REST route of what something is on, which has this alias. */
const noteable = (alias: string) => `case
  when ${alias}.issue_id is not null
    then ${issueRoute(`${alias}.issue_id`)}
  when ${alias}.merge_request_id is not null
    then (select '/projects/' || project_id || '/merge_requests/' || iid from merge_requests where id = ${alias}.merge_request_id)
  else (select '/projects/' || project_id || '/snippets/' || id from snippets where id = ${alias}.snippet_id) end`;

/** The boards of hidden projects, which have the epics of groups. */
const EPIC_BOARDS = "from boards b join projects p on p.id = b.project_id and p.visibility = -2";

/** The REST route of each job: that of its pipeline with an ending or, if somebody reported it, of the commit's statuses. */
const jobRoutes = (ending: string) => `select cj.id, '/projects/' || cj.project_id || case cj.kind
    when 'external' then '/repository/commits/' || pl.sha || '/statuses' else '/pipelines/' || pl.id || '${ending}' end
  from ci_jobs cj join pipelines pl on pl.id = cj.pipeline_id`;

const artifactRoutes = (ending: string) =>
  `select a.id, '/projects/' || cj.project_id || '/pipelines/' || cj.pipeline_id || '${ending}'
   from job_artifacts a join ci_jobs cj on cj.id = a.job_id`;

/**
 * SQL that gives the id of each row of a type with the REST route that shows it, or with several that do so together;
 * `:id` stands for the id.
 */
const ROUTES: Readonly<Record<string, string>> = {
  // Only lists show events and todos.
  ActivityEvent: "select id, '' from events",
  AwardEmoji: `select ae.name, coalesce(
      (select ${noteable("nt")} || '/notes/' || nt.id from notes nt where nt.id = ae.note_id), ${noteable("ae")})
    || '/award_emoji/' || ae.id from award_emoji ae`,
  Badge: `select id, ${OWNER} || '/badges/' || id from badges`,
  Board: `select id, ${OWNER} || '/boards/' || id from boards`,
  // REST hides open and closed lists: they are seen with their board.
  BoardList: `select bl.id, ${OWNER} || '/boards/' || board_id ||
      case list_type when 'label' then '/lists/' || bl.id else '' end
    from board_lists bl join boards b on b.id = bl.board_id`,
  Epic: `select id, ${ISSUE_ROUTE} from issues i where i.issue_type = 'epic'`,
  BoardEpic: `select id, ${ISSUE_ROUTE} from issues i where i.issue_type = 'epic'`,
  EpicIssue: `select id, ${ISSUE_ROUTE} from issues i where i.issue_type <> 'epic'`,
  EpicBoard: `select b.id, '/groups/' || p.namespace_id || '/epic_boards/' || b.id ${EPIC_BOARDS}`,
  EpicList: `select bl.id, '/groups/' || p.namespace_id || '/epic_boards/' || b.id ||
      case list_type when 'label' then '/lists/' || bl.id else '' end
    ${EPIC_BOARDS} join board_lists bl on bl.board_id = b.id`,
  // GitLab's REST has no rules but those that protect.
  BranchRule: `select id, '/projects/' || project_id || '/protected_branches/' || replace(name, '/', '%2F')
    from protected_branches`,
  CiJob: jobRoutes("/jobs"),
  CiJobArtifact: artifactRoutes("/jobs"),
  CiRunner: "select id, '/runners/' || id from runners",
  CiRunnerManager: "select id, '/runners/' || runner_id || '/managers' from runner_managers",
  // A stage is known by its first job, and shown with its pipeline.
  CiStage: `select min(id), '/projects/' || project_id || '/pipelines/' || pipeline_id from ci_jobs
    group by project_id, pipeline_id, stage_index`,
  CurrentUser: "select id, '/users/' || id from users",
  // Only lists show dependencies, and their ids are GraphQL's.
  Dependency: "select id, '/projects/' || project_id || '/dependencies' from dependencies",
  Discussion: `select coalesce(thread_id, id), ${noteable("nt")} || '/discussions/:id' from notes nt where reply = 0`,
  Email: "select id, '' from user_emails",
  Group: "select id, '/groups/' || id from namespaces where kind = 'group'",
  GroupMember:
    "select id, '/groups/' || namespace_id || '/members/' || user_id from members where project_id is null",
  // Owners of the group have them as a file; who is asked sees one alone.
  ImportSourceUser: `select id, '/groups/' || namespace_id || '/placeholder_reassignments' from import_source_users`,
  Issue: "select id, '/projects/' || project_id || '/issues/' || iid from issues",
  // Whoever sees a group sees its iterations.
  Iteration: "select id, '/groups/' || namespace_id from iterations",
  IterationCadence: "select id, '/groups/' || namespace_id from iteration_cadences",
  Label: `select id, ${OWNER} || '/labels/' || id from labels`,
  // REST shows those of epics only in lists.
  LinkedWorkItemType: `select x.id, case when i.issue_type = 'epic'
      then ${issueRoute("x.source_id")} || ' ' || ${issueRoute("x.target_id")}
      else ${ISSUE_ROUTE} || '/links/' || x.id end
    from issue_links x join issues i on i.id = x.source_id`,
  MemberRole: "select id, '/member_roles' from member_roles where namespace_id is null",
  MergeRequest:
    "select id, '/projects/' || project_id || '/merge_requests/' || iid from merge_requests",
  MergeRequestReviewer: "select id, '/users/' || id from users",
  Milestone: `select id, ${OWNER} || '/milestones/' || id from milestones`,
  Namespace: `select full_path, case kind when 'group' then '/groups/' || id else '/users/' || owner_id end from namespaces
    union all select full_path, '/projects/' || id from projects`,
  Note: `select id, ${noteable("nt")} || '/notes/' || id from notes nt`,
  PersonalAccessToken: "select id, '/personal_access_tokens/' || id from tokens",
  Pipeline: "select id, '/projects/' || project_id || '/pipelines/' || id from pipelines",
  Project: "select id, '/projects/' || id from projects",
  // The list shows more than what each release has of its own: only that needs the code.
  Release: "select id, '/projects/' || project_id || '/releases' from releases",
  ReleaseAssetLink: `select rk.id, '/projects/' || project_id || '/releases'
    from release_links rk join releases r on r.id = rk.release_id`,
  ProjectMember:
    "select id, '/projects/' || project_id || '/members/' || user_id from members where project_id is not null",
  // REST has none in GitLab: who may see merge requests sees them.
  ProjectTargetBranchRule:
    "select id, '/projects/' || project_id || '/merge_requests' from target_branch_rules",
  Snippet:
    "select id, case when project_id is null then '' else '/projects/' || project_id end || '/snippets/' || id from snippets",
  // REST shows the time that was logged only as a sum, with what it was logged on.
  TerraformState:
    "select id, '/projects/' || project_id || '/terraform/state/' || name from terraform_states",
  TerraformStateVersion: `select tv.id, '/projects/' || ts.project_id || '/terraform/state/' || ts.name || '/versions/' || tv.serial
    from terraform_state_versions tv join terraform_states ts on ts.id = tv.state_id`,
  Timelog: `select id, ${noteable("tl")} from (select *, cast(null as bigint) as snippet_id from timelogs) tl`,
  Todo: "select id, '' from todos",
  UserCore: "select id, '/users/' || id from users",
  WikiPage: "select id, '/projects/' || project_id || '/wikis/' || slug from wiki_pages",
  WorkItemClosingMergeRequest: `select mr.id, '/projects/' || mr.project_id || '/merge_requests/' || mr.iid from merge_requests mr`,
  WorkItem: `select id, ${ISSUE_ROUTE} from issues i`,
};

/** REST lists with the rows of types that no other route shows, or SQL that gives these. */
const LISTS: Readonly<Record<string, string | readonly string[]>> = {
  ActivityEvent: `select '/projects/' || id || '/events' from projects
    union all select '/users/' || id || '/events' from users`,
  Email: "select '/users/' || id || '/emails' from users union all select '/user/emails'",
  Todo: ["/todos?state=pending", "/todos?state=done"],
};

/** How GraphQL names a row in its id. */
const NAMED: Readonly<Record<string, (id: unknown) => string>> = {
  Discussion: (number) => idOf(Number(number)),
};

/** The field that identifies a row, where it is not `id`. */
const IDENTITIES: Readonly<Record<string, string>> = {
  AwardEmoji: "name",
  LinkedWorkItemType: "linkId",
  // Groups and projects may have the same number.
  Namespace: "fullPath",
};

/** The type of rows, and the class in global ids, by the name of a scalar that has neither's. */
const CLASSES: Readonly<Record<string, readonly [string, string]>> = {
  CiRunner: ["CiRunner", "Ci::Runner"],
  List: ["BoardList", "List"],
  BoardsEpicBoard: ["EpicBoard", "Boards::EpicBoard"],
  BoardsEpicList: ["EpicList", "Boards::EpicList"],
};

/** Types of values that are hidden like rows. */
const HIDDEN_VALUES = ["Namespace"];

const OPEN_PLACE =
  "case when project_id is null then '/groups/' || namespace_id else '/projects/' || project_id || '/merge_requests' end";

/** The same for anonymous callers: as in GitLab, they see these where they see the issues, though REST has them sign in. */
const ANONYMOUS_ROUTES: Readonly<Record<string, string>> = {
  Board: `select id, ${OPEN_PLACE} from boards`,
  BoardList: `select bl.id, ${OPEN_PLACE} from board_lists bl join boards b on b.id = bl.board_id`,
  CiJob: jobRoutes(""),
  CiJobArtifact: artifactRoutes(""),
  EpicBoard: `select b.id, '/groups/' || p.namespace_id ${EPIC_BOARDS}`,
  EpicList: `select bl.id, '/groups/' || p.namespace_id ${EPIC_BOARDS} join board_lists bl on bl.board_id = b.id`,
  Label: `select id, ${OPEN_PLACE} from labels`,
  LinkedWorkItemType: `select x.id, ${issueRoute("x.source_id")} || ' ' || ${issueRoute("x.target_id")} from issue_links x`,
  Milestone: `select id, ${OPEN_PLACE} from milestones`,
};

/** Types of which everybody may see every row. */
const OPEN = ["UserCore", "CurrentUser", "MergeRequestReviewer"];

/** Types whose objects are the row that gives them, under another name. */
const isPart = (type: string) =>
  ["SnippetBlob", "Repository", "ReleaseAssets", "ReleaseLinks"].includes(type) ||
  /^WorkItem(?:Features|TimeTracking|Widget)/.test(type);

/** Fields that show each caller something else, so that they are only checked for rows that are hidden. */
const OF_CALLER: readonly string[] = [
  "Query.currentUser",
  // Anonymous callers can't list users, and nobody but administrators sees the groups of others.
  "Query.user",
  "Query.users",
  "User.groups",
  // It is the first one that they may see.
  "Group.epic",
  // Nobody sees the todos of others, not even administrators.
  "Issue.currentUserTodos",
  "Epic.currentUserTodos",
  "MergeRequest.currentUserTodos",
  "Query.todo",
  "User.todos",
  // Lists for administrators, for those who manage what is listed, for maintainers, for owners: runners.test.ts compares them with
  // REST.
  "Query.runners",
  "User.runners",
  "CiRunner.jobs",
  "Project.runners",
  "Group.runners",
];

/** Fields that show anonymous callers nothing of what they see in other places. */
const OF_USERS: readonly string[] = ["User.activityEvents"];

const inProject = (author = "owner") => ({
  labels: [{ name: "here" }],
  milestones: [{ title: "here" }],
  badges: [{ link_url: "https://a.test", image_url: "https://a.test/b.svg" }],
  issues: [
    {
      title: "plain",
      author,
      labels: ["here"],
      milestone: "here",
      assignees: ["developer"],
      notes: [{ author, body: "here", award_emoji: { tada: [author] } }],
      timelogs: [{ user: author, time_spent: "1h" }],
      todos: ["developer", "guest"],
      award_emoji: { eyes: [author] },
    },
    {
      title: "confidential",
      author,
      confidential: true,
      notes: [{ author, body: "here" }],
      timelogs: [{ user: author, time_spent: "1h" }],
      todos: ["stranger"],
      award_emoji: { eyes: [author] },
    },
    { title: "a guest's", author: "guest", confidential: true },
    { title: "a stranger's", author, confidential: true, assignees: ["stranger"] },
  ],
  merge_requests: [
    {
      title: "change",
      description: "Closes #1",
      author,
      source_branch: "a",
      labels: ["here"],
      assignees: ["stranger"],
    },
  ],
  issue_links: [
    { source: 1, target: 2, link_type: "blocks" as const },
    { source: 4, target: 1, link_type: "relates_to" as const },
  ],
  boards: [{ name: "here", lists: ["here"] }],
  wiki: [{ title: "here", content: "here" }],
  pipelines: [{ user: author, ref: "main", sha: "1".repeat(40), jobs: [{ name: "here" }] }],
  dependencies: [
    { name: "a", version: "1", package_manager: "npm" as const, dependency_file_path: "a.json" },
  ],
  starred_by: ["owner", "stranger"],
});

/** Everything, in places of every visibility. */
function world(): Seed {
  const base = fixtureSeed(1);
  const [acme, ...others] = base.groups as NonNullable<Seed["groups"]>;
  const days = { start_date: "2026-01-01", due_date: "2026-01-31" };
  const here = {
    labels: [{ name: "group" }],
    milestones: [{ title: "group" }],
    epic_boards: [{ name: "group", lists: ["group"] }],
    iteration_cadences: [{ title: "group", iterations: [{ title: "group", ...days }] }],
  };
  return {
    ...base,
    groups: [
      {
        ...acme,
        path: "acme",
        projects: [
          ...(acme?.projects ?? []),
          { path: "hub", visibility: "internal", ...inProject() },
          {
            path: "cellar",
            visibility: "private",
            members: { stranger: "guest", reporter: "developer" },
            ...inProject(),
          },
          { path: "quiet", visibility: "public", ...inProject() },
        ],
        subgroups: [
          { path: "team", ...here, projects: [{ path: "core", ...inProject() }] },
          { path: "rooms", visibility: "internal", ...here, members: { guest: "maintainer" } },
        ],
      },
      ...others.map((group) => ({
        ...group,
        ...here,
        labels: [{ name: "Hidden" }],
        epic_boards: [{ name: "Hidden", lists: ["Hidden"] }],
        projects: [
          { path: "vault", ...inProject(), members: { stranger: "developer" as const } },
          { path: "safe", ...inProject() },
        ],
      })),
    ],
    projects: [
      { path: "own", namespace: "developer", visibility: "private", ...inProject("developer") },
    ],
  };
}

const built = buildSchema(modules);
const isRow = (type: GraphQLNamedType) =>
  isObjectType(type) &&
  (built.types.get(type.name)?.rows !== undefined || HIDDEN_VALUES.includes(type.name)) &&
  !isPart(type.name);

/** The objects that a type stands for. */
const objectsOf = (type: GraphQLNamedType) => {
  const objects = isAbstractType(type) ? built.graphql.getPossibleTypes(type) : [type];
  return objects.filter(isObjectType);
};

/** A field that leads to rows, perhaps by way of objects that are none. */
interface Step {
  /** Its type and name. */
  readonly name: string;
  /** Name in the answer, field and arguments. */
  readonly head: string;
  readonly isConnection: boolean;
  readonly target: GraphQLNamedType;
}

let app: TestApp;
/** The ids of the rows of each type. */
const ids = new Map<string, string[]>();
/** What REST shows each caller, as `Issue/1`. */
const shown = new Map<Person, Set<string>>();

beforeAll(async () => {
  app = await testApp({ seed: world(), extra: toys });
  await createFixtures(app, 1);
  const off = { issues_access_level: "private", merge_requests_enabled: false };
  const { status } = await app.call("PUT /projects/acme%2Fquiet", { as: "owner", json: off });
  expect(status).toBe(200);
  for (const [kind, path] of [
    ["group", "acme/team"],
    ["group", "secret"],
    ["project", "secret/vault"],
    ["project", "acme/cellar"],
  ]) {
    const { json } = await app.call(`GET /${kind}s/${encodeURIComponent(String(path))}`, {
      as: "admin",
    });
    const place = { runner_type: `${kind}_type`, [`${kind}_id`]: json.id };
    const made = await app.call("POST /user/runners", { as: "admin", json: place });
    expect(made.status).toBe(201);
    await app.call("POST /jobs/request", { json: { token: made.json.token, system_id: "s_1" } });
  }
  // Each has a name of its own, by which it is found in answers.
  await app.store.transaction((db) =>
    db.run("update award_emoji set name = 'emoji_' || cast(id as text)"),
  );
  // The stranger's membership of the vault has expired.
  await app.store.transaction((db) =>
    db.run(
      `update members set expires_at = '2020-01-01' where user_id = (select id from users where username = 'stranger')
       and project_id = (select id from projects where full_path = 'secret/vault')`,
    ),
  );
  // What seeds have only with code.
  await app.store.transaction(async (db) => {
    await db.run(
      `insert into releases (project_id, tag, author_id, created_at, updated_at, released_at)
       select id, 'v' || id, creator_id, 1, 1, 1 from projects`,
    );
    await db.run(
      `insert into release_links (release_id, name, url, link_type, updated_at)
       select id, 'here', 'https://a.test', 'other', 1 from releases`,
    );
    await db.run(
      `insert into protected_branches (project_id, name, is_wildcard, created_at, updated_at)
       select id, 'here', 0, 1, 1 from projects`,
    );
  });
  for (const as of everyone) {
    const seen = new Set<string>();
    const routes = { ...ROUTES, ...(as === "anonymous" && ANONYMOUS_ROUTES) };
    for (const [type, sql] of Object.entries(routes)) {
      const found = (await app.store.reader().rows(sql)).map(([id, route]) => ({
        id: (NAMED[type] ?? String)(id),
        route: String(route),
      }));
      ids.set(
        type,
        found.map(({ id }) => id),
      );
      for (const { id, route } of found) {
        if (route === "") continue;
        const statuses: number[] = [];
        for (const one of route.replace(":id", id).split(" ")) {
          statuses.push((await app.call(`GET ${one}`, { as })).status);
        }
        const refused = statuses.filter((status) => status !== 200);
        if (refused.length === 0) seen.add(`${type}/${id}`);
        for (const status of refused) expect([401, 403, 404]).toContain(status);
      }
    }
    for (const [type, lists] of Object.entries(LISTS)) {
      const found = typeof lists === "string" ? await app.store.reader().rows(lists) : lists;
      for (const route of found.flat()) {
        for (const id of await listedBy(String(route), as)) seen.add(`${type}/${id}`);
      }
    }
    shown.set(as, seen);
  }
});
afterAll(() => app.dispose());

/** The ids of all rows of a REST list. */
async function listedBy(route: string, as: Person): Promise<number[]> {
  const url = `GET ${route}${route.includes("?") ? "&" : "?"}per_page=100`;
  const { status, json, headers } = await app.call(url, { as });
  if (status !== 200) {
    expect([401, 403, 404]).toContain(status);
    return [];
  }
  expect(headers.get("x-next-page") ?? "").toBe("");
  return json.map(({ id }: { id: number }) => id);
}

/** The arguments with which a field is called: each gives one step. */
async function argumentsOf(
  type: string,
  field: GraphQLField<unknown, unknown>,
): Promise<readonly string[]> {
  const texts = async (name: string, sql: string) =>
    (await app.store.reader().rows(sql)).map(([value]) => `${name}: ${JSON.stringify(value)}`);
  switch (`${type}.${field.name}`) {
    case "Query.issues":
      return ["includeArchived: true, state: all, first: 64"];
    case "Query.user":
      return texts("username", "select username from users");
    case "Query.timelogs":
      return (ids.get("Project") ?? []).map((id) => `projectId: "gid://gitlab/Project/${id}"`);
    case "Query.awardable":
      return ["Issue", "MergeRequest", "Snippet", "Note"].flatMap((name) =>
        (ids.get(name) ?? []).map((id) => `id: "gid://gitlab/${name}/${id}"`),
      );
    case "Project.terraformState":
      return texts("name", "select name from terraform_states");
    case "Query.namespace":
      // One of each kind and visibility: all of them take as long as everything else.
      return texts(
        "fullPath",
        "select full_path from namespaces where parent_id is null union select full_path from projects where path in ('hub', 'cellar', 'vault')",
      );
    // There are none of these.
    case "Query.vulnerability":
      return ['id: "gid://gitlab/Vulnerability/1"'];
    case "Query.containerRepository":
      return ['id: "gid://gitlab/ContainerRepository/1"'];
    case "Group.runners":
      return ["membership: ALL_AVAILABLE"];
    case "Namespace.workItem":
      return ["1", "2"].map((iid) => `iid: "${iid}"`);
    case "Query.wikiPage":
      return (ids.get("Project") ?? []).map(
        (id) => `slug: "here", projectId: "gid://gitlab/Project/${id}"`,
      );
    case "Project.release":
      return texts("tagName", "select distinct tag from releases");
    case "Project.issue":
      return ["1", "2", "3", "4"].map((iid) => `iid: "${iid}"`);
  }
  const [required, ...others] = field.args.filter(isRequiredArgument);
  if (!required) return [field.args.map(widest).filter(Boolean).join(", ")];
  const of = String(getNullableType(required.type));
  const named = of.replace(/ID$/, "");
  const [rows = named, className = named] = CLASSES[named] ?? [];
  const known = ids.get(rows);
  if (others.length === 0 && known) {
    return known.map((id) => `${required.name}: "gid://gitlab/${className}/${id}"`);
  }
  if (others.length === 0 && required.name === "fullPath") {
    return texts(
      "fullPath",
      "select full_path from namespaces union select full_path from projects",
    );
  }
  if (others.length === 0 && required.name === "slug") return ['slug: "here"'];
  if (others.length === 0 && required.name === "iid") return ['iid: "1"', 'iid: "2"'];
  if (others.length === 0 && required.name === "title") {
    return ["here", "Hidden", "Development"].map((title) => `title: "${title}"`);
  }
  throw new Error(
    `${type}.${field.name} requires ${required.name}: add values to argumentsOf in test/graphql/visibility.test.ts`,
  );
}

/** The value of an optional argument that lists most. */
function widest({ name, type }: GraphQLArgument): string {
  if (name === "first") return "first: 64";
  if (/^include[A-Z]/.test(name) && String(type) === "Boolean") return `${name}: true`;
  const of = getNamedType(type);
  if (name === "relations" && isListType(getNullableType(type)) && isEnumType(of)) {
    return `${name}: [${of.getValues().map((value) => value.name)}]`;
  }
  return "";
}

const steps = new Map<string, Promise<readonly Step[]>>();

/** The fields of a type that lead to rows. */
function stepsOf(type: GraphQLNamedType): Promise<readonly Step[]> {
  const known = steps.get(type.name);
  if (known) return known;
  const found = findSteps(type);
  steps.set(type.name, found);
  return found;
}

/** Types whose fields are declared once for them and for others: widgets of work items, and issues. */
const TWICE = [
  "WorkItemFeatures",
  ...["Assignees", "AwardEmoji", "CurrentUserTodos", "Labels", "Milestone", "Participants"].map(
    (name) => `WorkItemWidget${name}`,
  ),
];
const isTried = (type: GraphQLNamedType) => leadsToRows(type) && !TWICE.includes(type.name);

async function findSteps(type: GraphQLNamedType): Promise<readonly Step[]> {
  if (!isObjectType(type)) return [];
  const found: Step[] = [];
  for (const field of Object.values(type.getFields())) {
    const given = getNamedType(field.type);
    const isConnection = given.name.endsWith("Connection");
    const target = isConnection
      ? (built.graphql.getType(given.name.slice(0, -"Connection".length)) as GraphQLNamedType)
      : given;
    if (!isTried(target)) continue;
    const of = type.name.replace(/^(UserCore|CurrentUser)$/, "User");
    for (const [index, sent] of (await argumentsOf(of, field)).entries()) {
      const args = sent ? `(${sent})` : "";
      const name = `${of}.${field.name}`;
      // One step for each kind of part: a document with all of them would be too large.
      const parts = objectsOf(target).every(({ name }) => isPart(name))
        ? objectsOf(target)
        : [target];
      for (const [at, part] of parts.filter(isTried).entries()) {
        const head = `${field.name}_${index}_${at}: ${field.name}${args}`;
        found.push({ name, head, isConnection, target: part });
      }
    }
  }
  return found;
}

/** Whether a type is one of rows, or has fields that lead to some. */
function leadsToRows(type: GraphQLNamedType, depth = 0): boolean {
  return objectsOf(type).some(
    (object) =>
      isRow(object) ||
      (depth < 2 &&
        Object.values(object.getFields()).some(({ type: of }) =>
          leadsToRows(getNamedType(of), depth + 1),
        )),
  );
}

/** Selects what identifies a row. */
const identityOf = ({ name }: GraphQLNamedType) => `id_${name}: ${IDENTITIES[name] ?? "id"}`;

/** What is selected in the objects that a field gives: which they are, and the next fields. */
async function selectionOf(
  { target, isConnection }: Step,
  next: (type: GraphQLNamedType) => readonly Step[],
): Promise<string> {
  const parts = ["__typename"];
  for (const object of objectsOf(target)) {
    const within: string[] = isRow(object) ? [identityOf(object)] : [];
    const following = isRow(object) ? next(object) : await stepsOf(object);
    for (const step of following) {
      within.push(`${step.head} ${await selectionOf(step, () => [])}`);
    }
    if (within.length > 0) parts.push(`... on ${object.name} { ${within.join(" ")} }`);
  }
  const selected = `{ ${parts.join(" ")} }`;
  return isConnection ? `{ count nodes ${selected} }` : selected;
}

/** The rows from the root to one row of an answer, and the path of fields to it. */
interface Chain {
  readonly path: readonly string[];
  readonly rows: readonly string[];
}

/** The chains of all rows of an answer. */
function chainsIn(value: unknown, chain: Chain, found: Chain[]): void {
  if (value === null || typeof value !== "object") return;
  if (Array.isArray(value)) {
    for (const one of value) chainsIn(one, chain, found);
    return;
  }
  const { __typename: type, count, nodes, ...others } = value as Record<string, unknown>;
  if (Array.isArray(nodes)) {
    expect([chain.path, count]).toEqual([chain.path, nodes.length]);
    chainsIn(nodes, chain, found);
    return;
  }
  const id = others[`id_${type}`];
  const here =
    typeof id === "string"
      ? { ...chain, rows: [...chain.rows, `${type}/${id.replace(/^gid:.*\//, "")}`] }
      : chain;
  if (here !== chain) found.push(here);
  for (const [name, below] of Object.entries(others)) {
    chainsIn(below, { ...here, path: [...here.path, name] }, found);
  }
}

/** The path of the first two fields, as routes are named. */
const pathOf = (...steps: readonly Step[]) => ({
  method: "QUERY",
  path: steps
    .map(({ name }) => `/${name.split(".")[1]}`.replace(/[A-Z]/g, "_$&").toLowerCase())
    .join(""),
});

/** The documents that together select all paths of two fields that begin with a step, and those of three that have their turn. */
async function documentsFrom(root: Step): Promise<{ query: string; fields: Set<string> }[]> {
  const documents: { query: string; fields: Set<string> }[] = [];
  const add = async (steps: readonly Step[], selection: string) => {
    documents.push({
      query: `{ ${root.head} ${selection} }`,
      fields: new Set(steps.map(({ name }) => name)),
    });
  };
  await add([root], await selectionOf(root, () => []));
  if (!root.isConnection && root.name !== "Query.currentUser") return documents;
  for (const object of objectsOf(root.target)) {
    for (const second of await stepsOf(object)) {
      if (!hasTurn(pathOf(root, second))) continue;
      const thirds = new Map<GraphQLNamedType, readonly Step[]>();
      for (const of of objectsOf(second.target)) thirds.set(of, await stepsOf(of));
      const most = Math.max(...[...thirds.values()].map(({ length }) => length));
      for (let at = 0; at === 0 || at < most; at += 5) {
        const part = (type: GraphQLNamedType) => thirds.get(type)?.slice(at, at + 5) ?? [];
        const below = await selectionOf(second, part);
        const row = `{ __typename ... on ${object.name} {
          ${identityOf(object)} ${second.head} ${below} } }`;
        const selection = root.isConnection ? `{ count nodes ${row} }` : row;
        await add([root, second, ...[...thirds.keys()].flatMap(part)], selection);
      }
    }
  }
  return documents;
}

const textOf = ({ path, rows: through }: Chain) => `${path.join(".")}: ${through.join(" > ")}`;

describe("GraphQL", () => {
  it("has a REST route named for each type of rows", () => {
    const unnamed = Object.values(built.graphql.getTypeMap())
      .filter((type) => isRow(type) && !(type.name in ROUTES))
      .map(({ name }) => `${name}: name its REST route in ROUTES of this test`);
    expect(unnamed).toEqual([]);
  });

  it("shows by every path what REST shows", async () => {
    /** Types of which a row was reached that is hidden from somebody. */
    const hidden = new Set<string>();
    let count = 0;
    const roots = await stepsOf(built.graphql.getType("Query") as GraphQLNamedType);
    for (const root of roots) {
      for (const { query, fields } of await documentsFrom(root)) {
        const isOfCaller = OF_CALLER.some((field) => fields.has(field));
        const chainsOf = async (as: Person) => {
          const { json, text } = await post(app, query, { as });
          if (!isOfCaller) expect([query, json?.errors, text]).toEqual([query, undefined, text]);
          const found: Chain[] = [];
          chainsIn(json.data, { path: [], rows: [] }, found);
          count += 1;
          return found;
        };
        const all = await chainsOf("admin");
        for (const as of everyone) {
          const visible = shown.get(as) as Set<string>;
          const isShown = ({ rows: through }: Chain) => through.every((row) => visible.has(row));
          const seen = as === "admin" ? all : await chainsOf(as);
          const leaked = seen.filter((chain) => !isShown(chain)).map(textOf);
          expect({ as, query, leaked }).toEqual({ as, query, leaked: [] });
          for (const { rows: through } of all) {
            const last = through.at(-1) as string;
            if (!visible.has(last)) hidden.add(last.split("/")[0] as string);
          }
          const isOfUsers = OF_USERS.some((field) => fields.has(field));
          if (isOfCaller || (isOfUsers && as === "anonymous")) continue;
          const expected = all.filter(isShown).map(textOf).sort();
          const given = seen.map(textOf).sort();
          expect({ as, query, given }).toEqual({ as, query, given: expected });
        }
      }
    }
    expect(count).toBeGreaterThan(isLong ? 10_000 : 1000);
    // A type of which nobody misses a row would not be tested: add such a row to `world`.
    if (!isLong) return;
    expect([...hidden].sort()).toEqual(
      Object.keys(ROUTES)
        .filter((type) => !OPEN.includes(type) && built.graphql.getType(type))
        .sort(),
    );
  });
});
