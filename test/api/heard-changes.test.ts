import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../src/core/resource.ts";
import { ISSUABLE_TYPES } from "../../src/resources/issuables/types.ts";
import { createFixtures, fixtureSeed, type Places, pathOf, placesIn } from "../fixtures.ts";
import { ask } from "../graphql/ask.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { routes } from "./routes.ts";

// Whatever changes an issue or a merge request, webhooks are told of it: generated from the routes.

const PROJECT = "/projects/acme%2Fsite";

let app: TestApp;
let places: Places;
/** The id of another project. */
let otherProject: number;

beforeAll(async () => {
  app = await testApp({ seed: fixtureSeed(1), background: false, extra: toys });
  await createFixtures(app, 1);
  places = await placesIn(app, "acme", "acme/site");
  otherProject = (await app.call("GET /projects/acme%2Fteam%2Fcore", { as: "admin" })).json.id;
  const hook = { url: "https://hooks.example", push_events: false };
  const events = {
    issues_events: true,
    confidential_issues_events: true,
    merge_requests_events: true,
  };
  await app.call("POST /groups/acme/hooks", { as: "admin", json: { ...hook, ...events } });
});
afterAll(() => app.dispose());

/** Columns that hooks are told nothing of, as in GitLab. */
const LEFT_OUT = [
  // What follows from others.
  ...["updated_at", "closed_by_id", "merged_at", "merged_by_id", "due_told", "moved_to_id"],
  // The order on boards: a move changes those of others, too.
  "relative_position",
  // How it is going to be merged.
  ...["squash", "remove_source_branch", "should_remove_source_branch", "merge_params"],
  ...["auto_merge", "auto_merge_user_id", "merge_error"],
];

/** What hooks tell of all issues and merge requests, by kind and id. */
async function toldNow(): Promise<Map<string, string>> {
  const told = new Map<string, string>();
  for (const { prefix, table, column } of ISSUABLE_TYPES) {
    const rows = await app.store.all<{ id: number }>(`select * from ${table} order by id`, []);
    for (const row of rows) {
      const kept = Object.entries(row).filter(([name]) => !LEFT_OUT.includes(name));
      told.set(`${prefix} ${row.id}`, JSON.stringify(kept));
    }
    const lists = ["labels", "assignees", ...(prefix === "issue" ? [] : ["reviewers"])];
    for (const list of lists) {
      const key = list === "labels" ? "label_id" : "user_id";
      const linked = await app.store.rows(
        `select ${column}, ${key} from ${prefix}_${list} order by 1, 2`,
      );
      for (const [id, one] of linked) {
        const name = `${prefix} ${id}`;
        told.set(name, `${told.get(name)} ${list} ${one}`);
      }
    }
  }
  return told;
}

/** The issues and merge requests that something changes, and those that hooks are told of meanwhile. */
async function observe(change: () => Promise<unknown>) {
  const before = await toldNow();
  const [last] = await app.store.rows("select coalesce(max(id), 0) from hook_deliveries");
  await change();
  const after = await toldNow();
  const moments = await app.store.rows(
    "select kind, data from hook_deliveries where id > ? and kind in ('issue', 'merge_request')",
    [last?.[0] as number],
  );
  return {
    changed: [...after.keys()].filter((name) => before.get(name) !== after.get(name)),
    told: new Set(moments.map(([kind, data]) => `${kind} ${JSON.parse(data as string).id}`)),
  };
}

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
        const untold = changed.filter((name) => !told.has(name));
        expect([json, answer, untold]).toEqual([json, answer, []]);
        if (changed.length > 0) at = undefined;
      }
    },
  );

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
      expect([mutation, changed]).toEqual([mutation, [`issue ${id}`]]);
      expect([mutation, [...told]]).toEqual([mutation, [`issue ${id}`]]);
    }
    const [timelog] = await app.store.rows("select max(id) from timelogs");
    const input = `{ id: "${gid("Timelog", timelog?.[0] as number)}" }`;
    const { told } = await observe(() =>
      ask(app, `mutation { timelogDelete(input: ${input}) { errors } }`),
    );
    expect([...told]).toEqual([`issue ${id}`]);
  });
});
