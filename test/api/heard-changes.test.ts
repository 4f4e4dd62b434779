import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import {
  buildSchema,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  getNamedType,
  getNullableType,
  isEnumType,
  isListType,
  isRequiredInputField,
} from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../src/core/resource.ts";
import { HOOK_TRIGGERS } from "../../src/hooks/events.ts";
import {
  attributesOf,
  type IssueType,
  typeName,
} from "../../src/resources/issuables/attributes.ts";
import { ISSUABLE_TYPES } from "../../src/resources/issuables/types.ts";
import { createFixtures, fixtureSeed, type Places, pathOf, placesIn } from "../fixtures.ts";
import { hasTurn, isLong } from "../forms.ts";
import { ask, post } from "../graphql/ask.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { routes } from "./routes.ts";

// Whatever changes an issue or a merge request, webhooks are told of it: generated from the routes.

const PROJECT = "/projects/acme%2Fsite";

let app: TestApp;
let places: Places;
/** The id of another project. */
let otherProject: number;

const HOOK = "https://hooks.example";

async function start(): Promise<void> {
  app = await testApp({ seed: fixtureSeed(1), background: false, extra: toys });
  await createFixtures(app, 1);
  places = await placesIn(app, "acme", "acme/site");
  otherProject = (await app.call("GET /projects/acme%2Fteam%2Fcore", { as: "admin" })).json.id;
  const hook = { url: HOOK, push_events: false };
  const events = Object.fromEntries(HOOK_TRIGGERS.map((event) => [`${event}_events`, true]));
  await app.call("POST /groups/acme/hooks", { as: "admin", json: { ...hook, ...events } });
  await app.call("POST /hooks", { as: "admin", json: hook });
}
beforeAll(start);
afterAll(() => app.dispose());

/** Starts anew if a request has taken away what others need: the hook, the project or the caller. */
async function repair(): Promise<void> {
  const hooks = await app.store.rows("select id from hooks where url = ? and failures = 0", [HOOK]);
  const { status } = await app.call(`GET ${PROJECT}`, { as: "admin" });
  const isAdmin = (await app.call("GET /application/settings", { as: "admin" })).status === 200;
  if (hooks.length === 2 && status === 200 && isAdmin) return;
  await app.dispose();
  await start();
}

/** The columns whose changes hooks are told, as in GitLab, by kind. */
const COLUMNS = {
  issue: ["severity"],
  merge_request: ["target_branch"],
  both: [
    ...["title", "description", "state", "milestone_id", "closed_at"],
    ...["time_estimate", "total_time_spent"],
  ],
};
/** The attributes about which GitLab's hooks are silent. */
const UNTOLD = ["squash", "remove_source_branch"];
const STATES = ["", "opened", "closed", "merged", "locked"];

type Shown = Record<string, unknown>;

/** What hooks tell of all issues and merge requests, by kind and id. */
async function toldNow(): Promise<Map<string, Shown>> {
  const told = new Map<string, Shown>();
  for (const { prefix, table, column } of ISSUABLE_TYPES) {
    for (const row of await app.store.all<Shown>(`select * from ${table} order by id`, [])) {
      const columns = [...COLUMNS.both, ...COLUMNS[prefix]].map((name) => [name, row[name]]);
      const { state, closed_at, ...others } = Object.fromEntries(columns);
      const attributes = attributesOf(prefix).flatMap(([name, { kind }]) => {
        if (UNTOLD.includes(name)) return [];
        if (kind === "type") return [["type", typeName(row[name] as IssueType)]];
        return [[name, kind === "flag" ? row[name] === 1 : row[name]]];
      });
      told.set(`${prefix} ${row["id"]}`, {
        ...others,
        ...Object.fromEntries(attributes),
        state_id: STATES.indexOf(state),
        closed_at: closed_at === null ? null : new Date(closed_at).toISOString(),
        // The head of a merge request is told apart from changes.
        ...(prefix === "merge_request" && { oldrev: row["sha"] }),
      });
    }
    for (const list of ["labels", "assignees", ...(prefix === "issue" ? [] : ["reviewers"])]) {
      const key = list === "labels" ? "label_id" : "user_id";
      const linked = await app.store.rows(
        `select ${column}, ${key} from ${prefix}_${list} order by 1, 2`,
      );
      for (const shown of told.values()) shown[list] ??= [];
      for (const [id, one] of linked) {
        const shown = told.get(`${prefix} ${id}`) as Shown;
        (shown[list] as unknown[]).push(one);
      }
    }
  }
  return told;
}

interface Differing {
  readonly previous: unknown;
  readonly current: unknown;
}
type Changes = Record<string, Differing>;

const differs = ({ previous, current }: Differing) =>
  JSON.stringify(previous) !== JSON.stringify(current);
const onlyDiffering = (changes: Changes): Changes =>
  Object.fromEntries(Object.entries(changes).filter(([, change]) => differs(change)));

/** The changes of issues and merge requests that something makes, and those that hooks are told; of a new one, that it is. */
async function observe(change: () => Promise<unknown>) {
  const before = await toldNow();
  const [last] = await app.store.rows("select coalesce(max(id), 0) from hook_deliveries");
  await change();
  const after = await toldNow();
  const moments = await app.store.rows(
    `select kind, data from hook_deliveries
     where id > ? and kind in ('issue', 'merge_request') order by id`,
    [last?.[0] as number],
  );
  const changed: Record<string, Changes | "new"> = {};
  for (const [name, now] of after) {
    const was = before.get(name);
    const changes = Object.keys(now).map((key) => [
      key,
      { previous: was?.[key], current: now[key] },
    ]);
    const differing = was ? onlyDiffering(Object.fromEntries(changes)) : "new";
    if (differing === "new" || Object.keys(differing).length > 0) changed[name] = differing;
  }
  const told: Record<string, Changes | "new"> = {};
  for (const [kind, data] of moments) {
    const { id, action, changes, oldrev } = JSON.parse(data as string);
    const name = `${kind} ${id}`;
    if (action === "open" || told[name] === "new") {
      told[name] = "new";
      continue;
    }
    const known: Changes = told[name] ?? {};
    told[name] = known;
    const all = {
      ...changes,
      ...(oldrev !== undefined && { oldrev: headOf(name, oldrev, after) }),
    };
    for (const [key, { previous, current }] of Object.entries<Differing>(all)) {
      known[key] = { previous: known[key] ? known[key].previous : previous, current };
    }
  }
  for (const [name, changes] of Object.entries(told)) {
    if (changes !== "new") told[name] = onlyDiffering(changes);
  }
  const isAnything = ([, changes]: [string, Changes | "new"]) =>
    changes === "new" || Object.keys(changes).length > 0;
  return {
    changed,
    told: Object.fromEntries(Object.entries(told).filter(isAnything)),
    /** Also of what has changed nothing that is told, such as an approval. */
    names: Object.keys(told),
  };
}

const headOf = (name: string, previous: unknown, after: Map<string, Shown>) => ({
  previous,
  current: after.get(name)?.["oldrev"],
});

const created = async (path: string, json: object): Promise<number> => {
  const {
    status,
    json: made,
    text,
  } = await app.call(`POST ${PROJECT}/${path}`, {
    as: "owner",
    json,
  });
  expect([status, text]).toEqual([201, text]);
  return made.iid;
};

let branches = 0;
/** A new record for the routes of issues or of merge requests: what one request has changed is not in the way of others. */
async function newPlaces(kind: string): Promise<Places> {
  // Time, so that it can be taken back.
  const planned = { labels: "Testing", description: "/estimate 2h\n/spend 1h" };
  let params: Places["params"];
  if (kind === "issues") {
    const issue_iid = await created("issues", { title: "An issue", ...planned });
    params = { ...places.params, issue_iid, noteable_id: issue_iid };
  } else {
    branches += 1;
    const source_branch = `heard-${branches}`;
    await created("repository/branches", { branch: source_branch, ref: "feature" });
    const named = { title: "Draft: a request", source_branch, target_branch: "main", ...planned };
    const iid = await created("merge_requests", named);
    params = { ...places.params, merge_request_iid: iid, "merge_requests noteable_id": iid };
  }
  return { ...places, params };
}

/** Values that change something, by attribute; those of others are taken by their type. */
const VALUES: Record<string, () => readonly unknown[]> = {
  duration: () => ["1h"],
  to_project_id: () => [otherProject],
  namespace: () => ["secret"],
  assignee_id: () => [3],
  assignee_ids: () => [[3]],
  reviewer_ids: () => [[3]],
  milestone_id: () => [places.params["milestone_id"]],
  labels: () => ["UX", ""],
  add_labels: () => ["UX"],
  remove_labels: () => ["Testing"],
  body: () => [
    ...["/close", "/title Other", "/label ~UX", "/estimate 1h", "/spend 1h", "/assign @developer"],
    ...["/milestone %v1", "/due tomorrow", "/lock", "/confidential", "/weight 3", "/ready"],
    ...["/duplicate #1", "/move acme/team/core", "/target_branch feature", "/merge"],
  ],
  description: () => ["Other", "/close", "/unlabel ~Testing"],
  target_branch: () => ["feature-1"],
};
const BY_TYPE: Record<string, readonly unknown[]> = {
  integer: [1, 2],
  boolean: [true, false],
  string: ["Some words"],
  date: ["2027-01-02"],
};

/** Requests to a route: one for each value of each attribute, with those that are required. */
function requestsTo(route: Route): Record<string, unknown>[] {
  const own = Object.entries(route.input ?? {}).filter(
    ([name]) => !route.path.includes(`:${name}`),
  );
  // Commands are performed alike wherever notes are written.
  const isText = (name: string) => name === "body" && !/noteable_id\/notes$/.test(route.path);
  const valuesOf = (name: string, schema: (typeof own)[number][1]) =>
    (isText(name) ? ["Some words"] : undefined) ??
    schema.notes.values ??
    VALUES[name]?.() ??
    BY_TYPE[schema.notes.type] ?? ["words"];
  const required = Object.fromEntries(
    own
      .filter(([, { notes }]) => !notes.optional)
      .map(([name, schema]) => [name, valuesOf(name, schema)[0]]),
  );
  const single = own.flatMap(([name, schema]) =>
    valuesOf(name, schema).map((value) => ({ ...required, [name]: value })),
  );
  return single.length === 0 ? [required] : single;
}

const writing = routes.filter(
  ({ method, path, isReading, upload }) =>
    method !== "GET" &&
    !isReading &&
    !upload &&
    /^\/projects\/:id\/(issues|merge_requests)(\/|$)/.test(path),
);

describe("hooks are told of what is changed by", () => {
  it.each(writing.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s",
    async (_, route) => {
      const kind = route.path.split("/")[3] as string;
      let at: Places | undefined;
      for (const json of requestsTo(route)) {
        at ??= await newPlaces(kind);
        const path = pathOf(route, at);
        let answer = "";
        const { changed, told } = await observe(async () => {
          const { status, text } = await app.call(`${route.method} ${path}`, { as: "admin", json });
          answer = `${status} ${text}`;
        });
        expect([json, answer, told]).toEqual([json, answer, changed]);
        if (Object.keys(changed).length > 0) at = undefined;
      }
    },
  );

  it("a commit that makes a merge request a draft", async () => {
    const source_branch = "heard-draft";
    await created("repository/branches", { branch: source_branch, ref: "feature" });
    const iid = await created("merge_requests", {
      title: "A request",
      source_branch,
      target_branch: "main",
    });
    const content = { file_path: "draft", action: "create", content: "text" };
    const commit = { branch: source_branch, commit_message: "fixup! all", actions: [content] };
    const { changed, told } = await observe(() => created("repository/commits", commit));
    const { id, title } = (await app.call(`GET ${PROJECT}/merge_requests/${iid}`, { as: "owner" }))
      .json;
    expect(title).toBe("Draft: A request");
    expect(changed[`merge_request ${id}`]).toMatchObject({
      title: { previous: "A request", current: title },
    });
    expect(told).toEqual(changed);
  });

  it("GraphQL's changes that the REST API does not have", async () => {
    const { params } = await newPlaces("issues");
    const iid = String(params["issue_iid"]);
    const { id } = (await app.call(`GET ${PROJECT}/issues/${iid}`, { as: "owner" })).json;
    const [board] = (await app.call("GET /groups/acme/boards", { as: "owner" })).json;
    const at = `projectPath: "acme/site", iid: "${iid}"`;
    const lists = (await app.call(`GET /groups/acme/boards/${board.id}/lists`, { as: "owner" }))
      .json;
    const listId = (name: string) =>
      lists.find(({ label }: { label: { name: string } }) => label.name === name).id;
    const gid = (name: string, of: number) => `gid://gitlab/${name}/${of}`;
    const issuableId = `issuableId: "${gid("Issue", id)}"`;
    const mutations = [
      `issueMoveList(input: { boardId: "${gid("Board", board.id)}", ${at},
        fromListId: ${listId("Testing")}, toListId: ${listId("Development")} }) { errors }`,
      `timelogCreate(input: { ${issuableId}, timeSpent: "1h", summary: "Work" }) {
        errors timelog { id } }`,
      `updateIssue(input: { ${at}, timeEstimate: "3h" }) { errors }`,
      `issueSetLocked(input: { ${at}, locked: true }) { errors }`,
    ];
    for (const mutation of mutations) {
      const { changed, told } = await observe(() => ask(app, `mutation { ${mutation} }`));
      expect([mutation, Object.keys(changed)]).toEqual([mutation, [`issue ${id}`]]);
      expect([mutation, told]).toEqual([mutation, changed]);
    }
    const [timelog] = await app.store.rows("select max(id) from timelogs");
    const input = `{ id: "${gid("Timelog", timelog?.[0] as number)}" }`;
    const { changed, told } = await observe(() =>
      ask(app, `mutation { timelogDelete(input: ${input}) { errors } }`),
    );
    expect(Object.keys(changed)).toEqual([`issue ${id}`]);
    expect(told).toEqual(changed);
  });
});

/** What else hooks are told of, by the kind of moment: rows, what tells them apart, and what of them is told. */
const RECORDS: Record<string, string> = {
  note: "id, body from notes where system = 0",
  milestone: "id, state from milestones where project_id is not null",
  release: "id, name, description, released_at from releases",
  emoji: "id, name from award_emoji",
  member: "user_id, access_level, expires_at from members",
  project: "id, name, path, visibility, archived, namespace_id from projects where visibility >= 0",
  subgroup: "id, path from namespaces where kind = 'group' and visibility >= 0",
  user: "id, username from users where state <> 'removed' and username <> 'ghost'",
  key: "id, key from ssh_keys",
  pipeline: "id, status from pipelines",
  build: "id, status from ci_jobs where kind = 'build'",
  deployment: "id, status from deployments",
};

async function recordsNow(): Promise<Map<string, string>> {
  const now = new Map<string, string>();
  for (const [kind, from] of Object.entries(RECORDS)) {
    for (const row of await app.store.rows(`select ${from} order by 1, 2`)) {
      const name = `${kind} ${row[0]}`;
      now.set(name, `${now.get(name) ?? ""}${JSON.stringify(row.slice(1))}`);
    }
  }
  return now;
}

/** What a request does that hooks are not told, as in GitLab: docs/webhooks.md says so. */
const SILENT: readonly [request: RegExp, kinds: RegExp][] = [
  // Notes, pipelines and deployments are gone without a word, and with them what they have.
  [
    /^DELETE .*\/(notes|pipelines|deployments)\/\d+ |^destroyNote /,
    /^(note|emoji|pipeline|build|deployment) /,
  ],
  // What is deleted with something is not told by itself.
  [/^DELETE .*\/(issues|merge_requests|snippets)\/\d+ |^destroySnippet /, /^(note|emoji) /],
  [/^DELETE \/(projects|groups|users)\/[^/]+ /, /./],
  // A copy has the notes of the issue that was moved.
  [/^POST .*\/move\b|^issueMove /, /^note /],
  // Hooks are told nothing of epics.
  [
    /^(POST|PUT|DELETE) \/groups\/[^/]+\/(-\/)?epics\b|^(create|update)Epic |^epic/,
    /^(issue|note|emoji) /,
  ],
  // A label is taken from what had it.
  [/^DELETE .*\/labels/, /^(issue|merge_request) /],
  // Labels and milestones of groups are replaced by equal ones.
  [/\/(transfer|promote) |^POST \/groups\/[^/]+\/projects\//, /^(issue|merge_request|milestone) /],
  // Keys of machines are nobody's.
  [/\/deploy_keys\//, /^key /],
];

describe("hooks are told of what", () => {
  /** Those that take away what others need come last. */
  const rank = ({ method, path }: Route) =>
    Number(method === "DELETE") + Number(/^\/(projects|groups|users)\/:\w+$/.test(path));
  const all = routes
    .filter(({ method, isReading, upload, body }) => {
      const isPlain = !upload && (body === undefined || body === "parsed");
      return method !== "GET" && !isReading && isPlain;
    })
    .filter((route) => hasTurn(route))
    .sort((one, other) => rank(one) - rank(other));

  /** What a request changes, and what of that hooks are not told. @param asked the request, for {@link SILENT} */
  async function compare(asked: string, send: () => Promise<unknown>) {
    const before = await recordsNow();
    const [last] = await app.store.rows("select coalesce(max(id), 0) from hook_deliveries");
    const { changed, told } = await observe(send);
    const after = await recordsNow();
    const moments = await app.store.rows("select kind, data from hook_deliveries where id > ?", [
      last?.[0] as number,
    ]);
    const named = new Set(
      moments.map(([kind, data]) => `${kind} ${JSON.parse(data as string).id}`),
    );
    const isSilent = (name: string) =>
      SILENT.some(([requests, kinds]) => requests.test(asked) && kinds.test(name));
    const differing = [...new Set([...before.keys(), ...after.keys()])].filter(
      (name) => before.get(name) !== after.get(name),
    );
    const untold = [
      ...differing.filter((name) => !named.has(name)),
      ...Object.keys(changed).filter((name) => !isDeepStrictEqual(told[name], changed[name])),
    ];
    const kinds = [...differing, ...Object.keys(changed)].map((name) => name.split(" ")[0]);
    return { untold: untold.filter((name) => !isSilent(name)), kinds };
  }

  it("any writing route changes", async () => {
    const untold: unknown[] = [];
    const changing = new Set<string | undefined>();
    for (const route of all) {
      for (const json of requestsTo(route)) {
        await repair();
        const request = `${route.method} ${pathOf(route, places)}`;
        const asked = `${request} ${JSON.stringify(json)}`;
        const found = await compare(asked, () => app.call(request, { as: "admin", json }));
        for (const kind of found.kinds) changing.add(kind);
        if (found.untold.length > 0) untold.push([asked, found.untold]);
      }
    }
    expect(untold).toEqual([]);
    const kinds = [...Object.keys(RECORDS), "issue", "merge_request"];
    if (isLong) expect([...changing].sort()).toEqual(kinds.sort());
  });

  it("any mutation of GraphQL changes", async () => {
    // The owner may be gone.
    await app.dispose();
    await start();
    const text = readFileSync(new URL("../../docs/schema.graphql", import.meta.url), "utf8");
    const mutations = Object.values(buildSchema(text).getMutationType()?.getFields() ?? {});
    const untold: unknown[] = [];
    const changing = new Set<string | undefined>();
    for (const { name, args } of mutations) {
      if (!hasTurn({ method: "POST", path: `/graphql/${name}` })) continue;
      const fields = Object.values(
        (getNamedType(args[0]?.type) as GraphQLInputObjectType).getFields(),
      );
      await repair();
      const { params } = await newPlaces(/mergeRequest/i.test(name) ? "merge_requests" : "issues");
      const values = await valuesFor(params);
      const given = (field: GraphQLInputField) =>
        values(field).map((value) => ({ [field.name]: value }));
      const required = Object.assign(
        {},
        ...fields.filter(isRequiredInputField).map((one) => given(one)[0]),
      );
      const isPlace = /^(project|group)Path$/;
      const single = fields.flatMap(given).map((one) => ({ ...required, ...one }));
      const inProject = fields.some(
        (one) => one.name === "projectPath" && !isRequiredInputField(one),
      );
      for (const input of single) {
        const placed = Object.keys(input).some((one) => isPlace.test(one));
        const sent = inProject && !placed ? { ...input, projectPath: "acme/site" } : input;
        await repair();
        const query = `mutation($input: ${getNamedType(args[0]?.type)}!) { ${name}(input: $input) { errors } }`;
        const asked = `${name} ${JSON.stringify(sent)}`;
        const found = await compare(asked, () =>
          post(app, query, { as: "admin", body: { variables: { input: sent } } }),
        );
        for (const kind of found.kinds) changing.add(kind);
        if (found.untold.length > 0) untold.push([asked, found.untold]);
      }
    }
    expect(untold).toEqual([]);
    const kinds = ["emoji", "issue", "member", "merge_request", "note", "subgroup"];
    if (isLong) expect([...changing].sort()).toEqual(kinds);
  });
});

/** Values of arguments of mutations, by their name or type: about this issue or merge request, where they can be. */
async function valuesFor(params: Places["params"]) {
  const isRequest = params["merge_request_iid"] !== places.params["merge_request_iid"];
  const table = isRequest ? "merge_requests" : "issues";
  const iid = (isRequest ? params["merge_request_iid"] : params["issue_iid"]) as number;
  const idIn = async (from: string, ...more: (string | number)[]) =>
    ((await app.store.rows(`select max(id) from ${from}`, more))[0]?.[0] ?? 0) as number;
  const gid = (name: string, id: number) => `gid://gitlab/${name}/${id}`;
  const className = isRequest ? "MergeRequest" : "Issue";
  const own = gid(className, await idIn(`${table} where iid = ? and project_id = 1`, iid));
  const [lists, board] = [
    await idIn("board_lists"),
    await idIn("boards where namespace_id is not null"),
  ];
  const label = gid("Label", await idIn("labels where name = 'UX'"));
  const milestone = gid("Milestone", await idIn("milestones where namespace_id is not null"));
  const byName: Record<string, readonly unknown[]> = {
    ...{ projectPath: ["acme/site"], groupPath: ["acme"], fullPath: ["acme"], iid: [String(iid)] },
    ...{ targetProjectPath: ["acme/team/core"], name: ["thumbsup"], timeSpent: ["1h"] },
    ...{
      timeEstimate: ["3h"],
      assigneeUsernames: [["developer"]],
      reviewerUsernames: [["developer"]],
    },
    ...{ labelIds: [[label]], addLabelIds: [[label]], removeLabelIds: [[label]], labels: [["UX"]] },
    ...{ milestoneId: [milestone, null], targetBranch: ["feature-1"], sourceBranch: ["feature"] },
    ...{ fromListId: [lists - 1], toListId: [lists], accessLevel: ["DEVELOPER"] },
    ...{ groupId: [gid("Group", await idIn("namespaces where full_path = 'acme'"))] },
    userIds: [[gid("User", await idIn("users where username = 'developer'"))]],
    blobActions: [],
    path: ["renamed"],
    position: [],
  };
  const byType: Record<string, readonly unknown[]> = {
    ...{ String: ["Some words"], Int: [3], Boolean: [true, false], ISO8601Date: ["2027-01-02"] },
    ...{ Time: ["2027-01-02T00:00:00Z"], NoteableID: [own], AwardableID: [own], IssuableID: [own] },
    ...{ TodoableID: [own], NoteID: [gid("Note", await idIn("notes where system = 0"))] },
    ...{
      BoardID: [gid("Board", board)],
      ListID: [gid("List", lists)],
      ProjectID: [gid("Project", 1)],
    },
    TimelogID: [gid("Timelog", await idIn("timelogs"))],
    SnippetID: [gid("ProjectSnippet", await idIn("snippets where project_id is not null"))],
    UserID: [gid("User", await idIn("users where username = 'developer'"))],
  };
  return ({ name, type }: GraphQLInputField): readonly unknown[] => {
    const of = getNamedType(type);
    const values = isEnumType(of) ? of.getValues().map((value) => value.name) : byType[of.name];
    return byName[name] ?? (isListType(getNullableType(type)) ? [] : values) ?? [];
  };
}
