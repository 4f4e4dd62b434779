import type { Database, Store } from "../src/store/port.ts";
import type { Places } from "./fixtures.ts";
import type { TestApp } from "./helpers.ts";

/** Epoch milliseconds of the oldest row; each further one is a second newer. */
const START = Date.UTC(2020, 0, 1);
/** All texts have the first word; `n7n` is in one of each kind. */
const TEXT = "'Common n' || x || 'n'";

/** What the rows of {@link crowd} refer to. */
interface Ids {
  group: number;
  subgroup: number;
  project: number;
  other: number;
  secret: number;
  admin: number;
  developer: number;
  label: number;
  milestone: number;
  iteration: number;
  issue: number;
  merge_request: number;
}

/** Adds one table's rows. @returns what to add to `x` for the id of a row */
type Add = (table: string, columns: Record<string, string | number>) => Promise<number>;

/**
 * Adds rows of every kind to what `fixtureSeed` and `createFixtures` made: as many to the group and project of the
 * fixtures, to their first issue, merge request, note and snippet, and to the administrator and the developer; and as
 * many elsewhere.
 */
export async function crowd(
  app: Pick<TestApp, "store" | "call">,
  { params }: Places,
  rows: number,
): Promise<void> {
  const { store } = app;
  const ids = await idsOf(app);
  await store.transaction(
    async (db) => {
      const add: Add = (table, columns) => addRows(db, table, columns, rows);
      const { users, projects } = await addPeopleAndPlaces(db, add, ids, rows);
      const parts = await addWork(db, add, ids, { users, projects }, rows);
      await addTalk(add, ids, params, { users, ...parts });
      await addBelongings(db, add, ids, params, { users, projects });
      await addDelivery(add, ids, { users, projects });
    },
    { unlimited: true },
  );
  await tidy(store);
}

async function idsOf({ call }: Pick<TestApp, "call">): Promise<Ids> {
  const find = async (path: string) => {
    const { json } = await call(`GET ${path}`, { as: "admin" });
    return (Array.isArray(json) ? json[0] : json).id as number;
  };
  const project = "/projects/acme%2Fsite";
  return {
    group: await find("/groups/acme"),
    subgroup: await find("/groups/acme%2Fteam"),
    project: await find(project),
    other: await find("/projects/acme%2Fteam%2Fcore"),
    secret: await find("/groups/secret"),
    admin: await find("/users?username=admin"),
    developer: await find("/users?username=developer"),
    label: await find("/groups/acme/labels?search=UX"),
    milestone: await find("/groups/acme/milestones?search=v1"),
    iteration: await find("/groups/acme/iterations"),
    issue: await find(`${project}/issues/1`),
    merge_request: await find(`${project}/merge_requests/1`),
  };
}

const at = `${START} + x * 1000`;
const times = { created_at: at, updated_at: `${START} + x * 7919 % 100000000` };

async function addRows(
  db: Database,
  table: string,
  columns: Record<string, string | number>,
  rows: number,
): Promise<number> {
  const names = Object.keys(columns).join(", ");
  const values = Object.values(columns).join(", ");
  await db.run(
    `insert into ${table} (${names})
     with recursive n(x) as (select cast(1 as bigint) union all select x + 1 from n where x < ${rows}) select ${values} from n`,
  );
  if (!HAS_ID.has(table)) return 0;
  const [last] = await db.rows(`select max(id) from ${table}`);
  return (last as [number])[0] - rows;
}

/** The tables whose ids others refer to. */
const HAS_ID = new Set([
  ...["users", "namespaces", "projects", "labels", "milestones", "issues", "merge_requests"],
  ...["iterations", "scim_users", "boards", "pipelines", "environments"],
]);

async function addPeopleAndPlaces(db: Database, add: Add, ids: Ids, rows: number) {
  const users = await add("users", {
    username: "'common' || x",
    name: TEXT,
    email: "'common' || x || '@example.com'",
    ...times,
  });
  const namespaces = await add("namespaces", {
    kind: "'group'",
    name: TEXT,
    path: "'common' || x",
    full_name: "'Common n' || x || 'n'",
    full_path: `case when x % 2 = 0 then 'acme/common' else 'common' end || x`,
    visibility: "case when x % 4 = 1 then 0 else 20 end",
    parent_id: `case when x % 2 = 0 then ${ids.group} end`,
    ...times,
  });
  await add("namespace_ancestors", {
    namespace_id: `${namespaces} + x`,
    ancestor_id: `${namespaces} + x`,
    depth: 0,
  });
  await db.run(
    `insert into namespace_ancestors (namespace_id, ancestor_id, depth)
     select id, parent_id, 1 from namespaces where id > ? and parent_id is not null`,
    [namespaces],
  );
  // Half of them in the group, a quarter private in one that the developer belongs to, a quarter in groups of their own.
  const projects = await add("projects", {
    namespace_id: `case when x % 2 = 0 then ${ids.group} when x % 4 = 1 then ${ids.secret} else ${namespaces} + x end`,
    creator_id: `${users} + x`,
    name: TEXT,
    path: "'project' || x",
    full_path: `case when x % 2 = 0 then 'acme/project' when x % 4 = 1 then 'secret/project' else 'common' || x || '/project' end || x`,
    description: TEXT,
    visibility: "case when x % 4 = 1 then 0 else 20 end",
    issue_count: rows,
    merge_request_count: rows,
    forked_from_project_id: `case when x % 2 = 0 then ${ids.project} end`,
    last_activity_at: at,
    ...times,
  });
  for (const [column, id] of [
    ["namespace_id", ids.group],
    ["project_id", ids.project],
  ] as const) {
    await add("members", { [column]: id, user_id: `${users} + x`, access_level: 10, ...times });
  }
  await add("project_stars", { project_id: ids.project, user_id: `${users} + x` });
  await db.run("update projects set star_count = star_count + ? where id = ?", [rows, ids.project]);
  return { users, projects };
}

async function addWork(
  db: Database,
  add: Add,
  ids: Ids,
  { users, projects }: { users: number; projects: number },
  rows: number,
) {
  const named = { name: TEXT, color: "'#ff0000'", ...times };
  await add("labels", { ...named, namespace_id: ids.group });
  const labels = await add("labels", { ...named, project_id: ids.project });
  const titled = { title: TEXT, iid: "1000 + x", ...times };
  await add("milestones", { ...titled, namespace_id: ids.group });
  const milestones = await add("milestones", { ...titled, project_id: ids.project });
  const iterations = await add("iterations", {
    ...titled,
    namespace_id: ids.group,
    cadence_id: `(select cadence_id from iterations where id = ${ids.iteration})`,
    start_date: "'2030-01-01'",
    due_date: "'2030-01-31'",
  });
  const shared = {
    iid: "1000 + x",
    title: TEXT,
    description: `'everywhere ' || case when x % 2 = 0 then 'half ' else '' end || case when x % 2000 = 7 then 'École zq' else '' end`,
    state: "case when x % 3 = 0 then 'closed' else 'opened' end",
    closed_at: `case when x % 3 = 0 then ${at} end`,
    ...times,
  };
  const here = {
    ...shared,
    project_id: ids.project,
    author_id: ids.developer,
    milestone_id: `case when x % 50 = 0 then ${milestones} + x else ${ids.milestone} end`,
  };
  const elsewhere = {
    ...shared,
    project_id: `${projects} + x`,
    author_id: `${users} + x`,
    milestone_id: "cast(null as integer)",
  };
  const confidential = "case when x % 50 = 1 then 1 else 0 end";
  const position = { relative_position: "x * 1048576", confidential };
  const iteration_id = `case when x % 50 = 0 then ${iterations} + x else ${ids.iteration} end`;
  const issues = await add("issues", { ...here, ...position, iteration_id });
  const otherIssues = await add("issues", { ...elsewhere, ...position });
  const branches = {
    source_branch: "'branch' || x",
    target_branch: "case when x % 50 = 0 then 'target' || x else 'main' end",
  };
  const requests = await add("merge_requests", {
    ...here,
    ...branches,
    source_project_id: ids.project,
  });
  const otherRequests = await add("merge_requests", {
    ...elsewhere,
    ...branches,
    source_project_id: `${projects} + x`,
  });
  for (const [kind, first, other] of [
    ["issue", issues, otherIssues],
    ["merge_request", requests, otherRequests],
  ] as const) {
    const copies = `, project_id, open_position`;
    const position = `, t.project_id, case when t.state = 'opened' then t.relative_position end`;
    const isIssue = kind === "issue";
    await db.run(
      `insert into ${kind}_labels (${kind}_id, label_id${isIssue ? copies : ""})
       select t.id, l.id${isIssue ? position : ""} from ${kind}s t
       join labels l on l.id = ${ids.label} or l.id = t.id - ${first} + ${labels} and t.id <= ${other}
       where t.id > ${first}`,
    );
    await db.run(
      `insert into ${kind}_assignees (${kind}_id, user_id)
       select t.id, case when t.id <= ${other} then ${ids.developer} else ${users} + t.id - ${other} end
       from ${kind}s t where t.id > ${first} and t.id % 2 = 0`,
    );
  }
  for (const id of [ids.project, ids.other]) {
    await db.run(`update projects set issue_count = ?, merge_request_count = ? where id = ?`, [
      rows + 1000,
      rows + 1000,
      id,
    ]);
  }
  return { issues, requests, labels, milestones, iterations };
}

async function addTalk(
  add: Add,
  ids: Ids,
  params: Places["params"],
  crowded: Record<"users" | "issues" | "requests" | "labels" | "milestones" | "iterations", number>,
): Promise<void> {
  const { users, issues, requests, labels, milestones, iterations } = crowded;
  const snippet = params["projects snippet_id"] as number;
  const user_id = `${users} + x`;
  const places = [
    ["issue_id", ids.issue, params["note_id"]],
    ["merge_request_id", ids.merge_request, params["merge_requests note_id"]],
    ["snippet_id", snippet, params["snippets note_id"]],
  ] as const;
  for (const [column, id, note] of places) {
    await add("notes", {
      project_id: ids.project,
      [column]: id,
      author_id: ids.developer,
      body: TEXT,
      ...times,
    });
    await add("award_emoji", { name: "'rocket'", user_id, [column]: id, ...times });
    await add("award_emoji", {
      name: "'rocket'",
      user_id,
      note_id: note as number,
      ...times,
    });
  }
  for (const [column, id, all] of [
    ["issue_id", ids.issue, issues],
    ["merge_request_id", ids.merge_request, requests],
  ] as const) {
    const event = { [column]: id, user_id, created_at: at };
    await add("resource_label_events", {
      ...event,
      label_id: `${labels} + x`,
      action: "'add'",
    });
    await add("resource_milestone_events", {
      ...event,
      milestone_id: `${milestones} + x`,
      action: "'add'",
      state: "'opened'",
    });
    await add("resource_state_events", { ...event, state: "'closed'" });
    await add("timelogs", {
      project_id: ids.project,
      [column]: id,
      user_id,
      time_spent: 60,
      spent_at: at,
      created_at: at,
    });
    const todo = { project_id: ids.project, author_id: user_id, action: "'assigned'", ...times };
    for (const owner of [ids.admin, ids.developer]) {
      await add("todos", { ...todo, [column]: `${all} + x`, user_id: owner });
    }
    const subscriptions = `${column.replace("_id", "")}_subscriptions`;
    await add(subscriptions, { [column]: id, user_id, subscribed: 1 });
  }
  const event = { issue_id: ids.issue, user_id, created_at: at };
  const iterated = { iteration_id: `${iterations} + x`, action: "'add'" };
  await add("resource_iteration_events", { ...event, ...iterated });
  await add("resource_weight_events", { ...event, weight: "x" });
  await add("label_subscriptions", { label_id: ids.label, user_id });
  await add("issue_links", {
    source_id: ids.issue,
    target_id: `${issues} + x`,
    link_type: "'relates_to'",
    ...times,
  });
  await add("merge_request_issues", {
    issue_id: ids.issue,
    merge_request_id: `${requests} + x`,
    closes: 1,
  });
}

async function addBelongings(
  db: Database,
  add: Add,
  ids: Ids,
  params: Places["params"],
  { users, projects }: { users: number; projects: number },
): Promise<void> {
  const user_id = `${users} + x`;
  const event = {
    action: "case when x % 2 = 0 then 'closed' else 'created' end",
    target_type: "'Issue'",
    target_id: ids.issue,
    target_iid: 1,
    target_title: TEXT,
    created_at: at,
  };
  await add("events", { ...event, project_id: ids.project, author_id: ids.developer });
  await add("events", { ...event, project_id: ids.project, author_id: user_id });
  await add("events", {
    ...event,
    project_id: `${projects} + x`,
    author_id: params["user_id"] as number,
  });
  await db.run("delete from event_counts");
  await db.run(
    `insert into event_counts (project_id, author_id, events)
     select project_id, author_id, count(*) from events group by project_id, author_id`,
  );
  const snippet = {
    title: TEXT,
    file_name: "'a.txt'",
    content: TEXT,
    visibility: "case when x % 2 = 0 then 20 else 0 end",
    ...times,
  };
  await add("snippets", { ...snippet, project_id: ids.project, author_id: user_id });
  for (const author_id of [ids.admin, ids.developer])
    await add("snippets", { ...snippet, author_id });
  const page = { slug: "'common-' || x", title: TEXT, format: "'markdown'", content: TEXT };
  await add("wiki_pages", { ...page, project_id: ids.project, ...times });
  const digest = (kind: string) => `'${kind}' || x`;
  const token = { name: TEXT, scopes: `'["api"]'`, ...times };
  for (const owner of [ids.developer, params["user_id"] as number]) {
    for (const impersonation of [0, 1]) {
      await add("tokens", {
        ...token,
        user_id: owner,
        impersonation,
        digest: digest(`token ${owner} ${impersonation} `),
      });
    }
  }
  for (const [column, id] of [
    ["namespace_id", ids.group],
    ["project_id", ids.project],
  ] as const) {
    await add("badges", {
      [column]: id,
      name: TEXT,
      link_url: "'https://a.test'",
      image_url: "'https://a.test/b.svg'",
      ...times,
    });
    await add("boards", { [column]: id, name: TEXT, ...times });
    await add("notification_settings", {
      [column]: id,
      user_id,
      scope: `'${column.replace("_id", "")}'`,
      level: "'watch'",
      ...times,
    });
  }
  await add("dependencies", {
    project_id: ids.project,
    name: TEXT,
    version: "'1.0.0'",
    package_manager: "case when x % 2 = 0 then 'npm' else 'pip' end",
    dependency_file_path: "'package-lock.json'",
  });
  await add("audit_events", {
    created_at: at,
    action: "case when x % 2 = 0 then 'member added' else 'signed in' end",
    author_id: user_id,
    author_name: "'common' || x",
    user_id,
    target: TEXT,
    ip: "'127.0.0.1'",
    place_kind: "case when x % 3 = 0 then 'project' when x % 3 = 1 then 'group' end",
    place_id: `case when x % 3 = 0 then ${ids.project} when x % 3 = 1 then ${ids.group} end`,
  });
  await add("scim_tokens", {
    namespace_id: ids.group,
    name: TEXT,
    digest: digest("scim"),
    access_level: 10,
    ...times,
  });
  await add("scim_users", {
    uid: "'uid' || x",
    namespace_id: ids.group,
    user_id,
    provisioned: 1,
    external_id: "'external' || x",
    user_name: "'common' || x",
    active: 1,
    ...times,
  });
  await add("oauth_applications", {
    user_id,
    uid: digest("application"),
    name: TEXT,
    redirect_uris: `'["https://a.test/"]'`,
    scopes: `'["api"]'`,
    confidential: 1,
    trusted: 0,
    ...times,
  });
}

/** What is built, released and deployed, and what belongs to that. */
async function addDelivery(
  add: Add,
  ids: Ids,
  { users, projects }: { users: number; projects: number },
): Promise<void> {
  const user_id = `${users} + x`;
  const sha = "'0123456789012345678901234567890123456789'";
  const run = {
    user_id,
    ref: "'main'",
    status: "case when x % 2 = 0 then 'success' else 'failed' end",
  };
  const state = {
    slug: "'common-' || x",
    tier: "'development'",
    state: "case when x % 2 = 0 then 'stopped' else 'available' end",
    auto_stop_setting: "'always'",
  };
  for (const [project_id, iid] of [
    [ids.project, "1000 + x"],
    [`${projects} + x`, "1000"],
  ] as const) {
    const mine = { project_id, ...times };
    await add("releases", {
      ...mine,
      tag: "'v' || x",
      name: TEXT,
      author_id: user_id,
      released_at: at,
    });
    const environments = await add("environments", { ...mine, ...state, name: "'common' || x" });
    await add("deployments", {
      ...{ ...mine, ...run, iid, sha, tag: 0, finished_at: at },
      environment_id: `${environments} + x`,
    });
    const pipelines = await add("pipelines", {
      ...{ ...mine, ...run, iid, sha, before_sha: sha },
      source: "case when x % 2 = 0 then 'push' else 'web' end",
    });
    await add("ci_jobs", {
      ...{ ...mine, ...run, pipeline_id: `${pipelines} + x`, kind: "'build'" },
      ...{ name: TEXT, stage: "'test'", stage_index: 0 },
    });
    await add("packages", {
      ...{ ...mine, package_type: "'generic'", name: "'common' || x", version: "'1.0'" },
      ...{ status: "'default'", creator_id: user_id },
    });
    await add("feature_flags", {
      ...{ ...mine, name: "'common' || x", active: "x % 2", strategies: "'[]'", next_id: 1 },
    });
  }
  const own = { project_id: ids.project, ...times };
  await add("hooks", {
    ...own,
    url: "'https://a.test/' || x",
    events: 1,
    base: "'https://a.test'",
  });
  await add("protected_tags", { ...own, name: "'common' || x", is_wildcard: 0 });
  await add("container_repositories", { ...own, name: "'common' || x" });
  await add("draft_notes", {
    ...{ ...own, merge_request_id: ids.merge_request, author_id: ids.developer, body: TEXT },
  });
  for (const [column, id] of [
    ["namespace_id", ids.group],
    ["project_id", ids.project],
  ] as const) {
    const of = { [column]: id, ...times };
    await add("deploy_tokens", {
      ...{ ...of, name: TEXT, digest: `'deploy ${column} ' || x`, scopes: `'["read_repository"]'` },
    });
    await add("access_requests", { [column]: id, user_id, created_at: at });
    await add("member_invitations", {
      ...{ ...of, email: "'invited' || x || '@example.com'", access_level: 30 },
    });
  }
  await add("topics", { name: "'common' || x", title: TEXT, ...times });
}

/** PostgreSQL needs statistics, and its index-only scans a map of what all can see. */
async function tidy(store: Store): Promise<void> {
  if (store.dialect === "postgres") await store.rows("vacuum analyze");
}
