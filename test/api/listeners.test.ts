import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { App } from "../../src/app.ts";
import {
  APP_EVENTS,
  type AppEvent,
  type AppEventName,
} from "../../src/resources/hooks/app-events.ts";
import { createFixtures, fixtureSeed } from "../fixtures.ts";
import { type TestApp, testApp, waitFor } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { type Hooked, startHooked } from "./_hooks.ts";

const PROJECT = "/projects/acme%2Fsite";

let app: TestApp;
const errors: unknown[] = [];

beforeAll(async () => {
  app = await testApp({
    url: "https://pm.example.com",
    onError: (error) => errors.push(error),
  });
});
afterAll(() => app.dispose());

/** Collects what an application tells of one name. */
async function heard<Name extends AppEventName>(of: Pick<App, "on">, name: Name) {
  const events: AppEvent<Name>[] = [];
  const unsubscribe = await of.on(name, (event) => events.push(event as AppEvent<Name>));
  return {
    events,
    unsubscribe,
    /** The next so many. */
    next: async (count = 1) => {
      await waitFor(async () => events.length >= count);
      return events.splice(0, count);
    },
  };
}

const newIssue = async (title: string, project = PROJECT): Promise<number> => {
  const made = await app.call(`POST ${project}/issues`, { as: "maintainer", json: { title } });
  expect(made.status).toBe(201);
  return made.json.iid;
};

/** Whether nothing is left to be told. */
async function nothingLeft({ store }: TestApp): Promise<boolean> {
  const left =
    "select count(*) from outbox where worker >= 'listeners:' and worker < 'listeners:~'";
  return Number((await store.rows(left))[0]?.[0]) === 0;
}
const allTold = () => waitFor(() => nothingLeft(app));

describe("app.on", () => {
  it("tells what happens to an issue, in order, by whom, and what has changed", async () => {
    const { next, unsubscribe } = await heard(app, "issue");
    const iid = await newIssue("Broken");
    const path = `PUT ${PROJECT}/issues/${iid}`;
    await app.call(path, { as: "developer", json: { title: "Mended", add_labels: "UX" } });
    await app.call(path, { as: "owner", json: { state_event: "close" } });
    const told = await next(3);
    expect(told.map(({ name, action, user }) => [name, action, user?.username])).toEqual([
      ["issue", "open", "maintainer"],
      ["issue", "update", "developer"],
      ["issue", "close", "owner"],
    ]);
    const [opened, updated] = told as [AppEvent<"issue">, AppEvent<"issue">];
    expect(opened.payload.object_attributes).toMatchObject({ iid, action: "open" });
    expect(opened.payload.project.path_with_namespace).toBe("acme/site");
    expect(opened.payload.object_attributes.url).toMatch(
      /^https:\/\/pm\.example\.com\/acme\/site\//,
    );
    expect(opened.at).toBeInstanceOf(Date);
    expect(opened.before).toBeNull();
    expect(updated.before).toMatchObject({ title: "Broken", labels: [] });
    expect(updated.after).toMatchObject({ title: "Mended", labels: [{ title: "UX" }] });
    await unsubscribe();
  });

  it("tells nothing of what is refused, or done after it was ended", async () => {
    const { events, next, unsubscribe } = await heard(app, "issue");
    const refused = await app.call(`POST ${PROJECT}/issues`, { as: "maintainer", json: {} });
    expect(refused.status).toBe(400);
    await newIssue("The only one");
    expect((await next())[0]?.payload.object_attributes.title).toBe("The only one");
    await unsubscribe();
    await newIssue("Unheard");
    await allTold();
    expect(events).toEqual([]);
    expect(await app.store.rows("select * from listeners")).toEqual([]);
  });

  it("keeps errors apart: others are told, the change stays, and nothing is told again", async () => {
    errors.length = 0;
    let calls = 0;
    const failing = await app.on("note", () => {
      calls += 1;
      throw new Error("a listener that fails");
    });
    const { events, unsubscribe } = await heard(app, "note");
    const iid = await newIssue("Discussed");
    const body = { body: "Words" };
    const path = `POST ${PROJECT}/issues/${iid}/notes`;
    expect((await app.call(path, { as: "guest", json: body })).status).toBe(201);
    expect((await app.call(path, { as: "guest", json: body })).status).toBe(201);
    await waitFor(async () => events.length === 2 && calls === 2);
    await allTold();
    expect(errors).toEqual([
      new Error("a listener that fails"),
      new Error("a listener that fails"),
    ]);
    expect(calls).toBe(2);
    await failing();
    await unsubscribe();
  });

  it("gives each listener an event of its own", async () => {
    const off = await app.on("issue", (event) => {
      Object.assign(event.payload.object_attributes, { title: "Changed by a listener" });
    });
    const { next, unsubscribe } = await heard(app, "issue");
    await newIssue("As it is");
    expect((await next())[0]?.payload.object_attributes.title).toBe("As it is");
    await Promise.all([off(), unsubscribe()]);
  });

  it("makes the next event of a project wait for a listener, but not those of others", async () => {
    const told: string[] = [];
    let go = () => {};
    const off = await app.on("issue", async ({ payload }) => {
      const { title } = payload.object_attributes;
      told.push(title);
      if (title === "Slow") await new Promise<void>((resolve) => (go = resolve));
    });
    await newIssue("Slow");
    await waitFor(async () => told.length === 1);
    await newIssue("Waits");
    await newIssue("Elsewhere", "/projects/acme%2Fteam%2Fcore");
    await waitFor(async () => told.length === 2);
    expect(told).toEqual(["Slow", "Elsewhere"]);
    go();
    await waitFor(async () => told.length === 3);
    expect(told).toEqual(["Slow", "Elsewhere", "Waits"]);
    await off();
  });

  it("tells one of the processes that listen, whichever does it", async () => {
    const second = await app.another();
    const here = await heard(app, "issue");
    const there = await heard(second, "issue");
    for (let number = 0; number < 10; number++) {
      const by = number % 2 === 0 ? app : second;
      const json = { title: `Number ${number}` };
      await by.call(`POST ${PROJECT}/issues`, { as: "maintainer", json });
    }
    await allTold();
    const titles = [...here.events, ...there.events].map(
      ({ payload }) => payload.object_attributes.title,
    );
    expect(titles.sort()).toEqual(Array.from({ length: 10 }, (_, number) => `Number ${number}`));
    await here.unsubscribe();
    // The other one is told of everything now.
    await newIssue("From here");
    await waitFor(async () =>
      there.events.some(({ payload }) => payload.object_attributes.title === "From here"),
    );
    await second.close();
    await newIssue("To nobody");
    await allTold();
    expect(await app.store.rows("select * from listeners")).toEqual([]);
  });

  it("can be ended by the listener itself, which is told once", async () => {
    const told: string[] = [];
    const off = await app.on("issue", async ({ payload }) => {
      told.push(payload.object_attributes.title);
      await off();
    });
    await newIssue("First");
    await waitFor(async () => told.length === 1);
    await waitFor(async () => (await app.store.rows("select * from listeners")).length === 0);
    await newIssue("Second");
    await allTold();
    expect(told).toEqual(["First"]);
  });

  it("tells nothing to those who come later of what others have left", async () => {
    let go = () => {};
    const off = await app.on("issue", () => new Promise<void>((resolve) => (go = resolve)));
    for (const title of ["Being told", "Left"]) await newIssue(title);
    await waitFor(
      async () =>
        (await app.store.rows("select * from outbox where owner is not null")).length === 1,
    );
    await off();
    const { next, unsubscribe } = await heard(app, "issue");
    await newIssue("New");
    go();
    expect((await next())[0]?.payload.object_attributes.title).toBe("New");
    await unsubscribe();
  });

  it("listens in the end if it was ended and begun again at once", async () => {
    let off = await app.on("issue", () => {});
    for (let round = 0; round < 5; round++) {
      const ended = off();
      off = await app.on("issue", () => {});
      await ended;
    }
    expect(await app.store.rows("select queue from listeners")).toEqual([["listeners:issue"]]);
    await off();
    expect(await app.store.rows("select queue from listeners")).toEqual([]);
  });

  it("refuses names that there are not, and what is no function", async () => {
    await expect(app.on("isue" as AppEventName, () => {})).rejects.toThrow(/^on: must be "issue"/);
    await expect(app.on("issue", undefined as never)).rejects.toThrow(
      "on: listener must be a function",
    );
    expect(() => app.events("isue" as AppEventName)).toThrow(/^events: must be "issue"/);
    expect(() => app.events()).toThrow("events: needs the name of an event");
  });
});

describe("app.events", () => {
  it("gives events of several names until the loop is left", async () => {
    const events = app.events("issue", "note");
    // Nothing in between is lost.
    const iid = await newIssue("Iterated");
    await app.call(`POST ${PROJECT}/issues/${iid}/notes`, { as: "guest", json: { body: "Words" } });
    const names: string[] = [];
    for await (const event of events) {
      names.push(event.name === "note" ? event.payload.object_attributes.note : event.action);
      if (names.length === 2) break;
    }
    expect(names.sort()).toEqual(["Words", "open"]);
    expect(await app.store.rows("select * from listeners")).toEqual([]);
  });

  it("ends with the application; what was not taken is told to the next one that listens", async () => {
    const second = await app.another();
    const events = second.events("milestone");
    const first = events.next();
    // Its requests wait until it is registered; those of other processes don't.
    await second.call("GET /version", { as: "guest" });
    const json = { title: "Soon" };
    const add = (title: string) =>
      app.call(`POST ${PROJECT}/milestones`, { as: "maintainer", json: { ...json, title } });
    await add("Taken");
    expect((await first).value.payload.object_attributes.title).toBe("Taken");
    await add("Left");
    const waiting =
      "select count(*) from outbox where worker = 'listeners:milestone' and owner is not null";
    await waitFor(async () => Number((await app.store.rows(waiting))[0]?.[0]) === 1);
    await second.close();
    expect(await events.return?.()).toEqual({ done: true, value: undefined });
    const { next, unsubscribe } = await heard(app, "milestone");
    expect((await next())[0]?.payload.object_attributes.title).toBe("Left");
    await unsubscribe();
  });

  it("lets whoever asks know that the application has ended", async () => {
    const second = await app.another();
    const events = second.events("milestone");
    const asked = events.next();
    await second.close();
    expect(await asked).toEqual({ done: true, value: undefined });
    await expect(second.on("milestone", () => {})).rejects.toThrow("the application has ended");
  });
});

describe("what nobody listens for", () => {
  it("is not queued", async () => {
    const { unsubscribe } = await heard(app, "milestone");
    await newIssue("Unheard");
    expect(
      await app.store.rows("select worker from outbox where worker = 'listeners:issue'"),
    ).toEqual([]);
    await unsubscribe();
  });

  it("is removed after a day, if a process has ended before it was told", async () => {
    await app.store.transaction((db) =>
      db.run(
        `insert into outbox (worker, payload, order_key, due_at, created_at)
         values ('listeners:issue', '{}', 0, 0, ?), ('listeners:issue', '{}', 0, 0, ?)`,
        [Date.now() - 2 * 86_400_000, Date.now()],
      ),
    );
    await app.admin.maintenance.sweepDaily();
    const left = "select count(*) from outbox where worker = 'listeners:issue'";
    expect(Number((await app.store.rows(left))[0]?.[0])).toBe(1);
    await app.store.transaction((db) => db.run("delete from outbox"));
  });
});

describe("payloads", () => {
  let hooked: Hooked;
  beforeAll(async () => {
    hooked = await startHooked();
  });
  afterAll(() => hooked.dispose());

  it("are those of webhooks", async () => {
    await hooked.listen(PROJECT, "issues", "note");
    const issues = await heard(hooked.app, "issue");
    const notes = await heard(hooked.app, "note");
    // One after the other: a payload has the issue as it is when it is made.
    const { iid } = await hooked.call(`POST ${PROJECT}/issues`, { title: "Told" });
    const told = [...(await issues.next())];
    const sent = [...(await hooked.next())];
    await hooked.call(`POST ${PROJECT}/issues/${iid}/notes`, { body: "Words" });
    told.push(...((await notes.next()) as unknown as typeof told));
    sent.push(...(await hooked.next()));
    expect(told.map(({ payload }) => payload)).toEqual(sent.map(({ event, ...body }) => body));
  });
});

/** What the types of payloads promise, by name. */
const PROMISED: Record<AppEventName, readonly string[]> = {
  issue: ["object_attributes.iid", "object_attributes.state", "project.web_url"],
  merge_request: ["object_attributes.source_branch", "object_attributes.target_branch"],
  note: ["object_attributes.note", "object_attributes.noteable_type", "object_attributes.url"],
  push: ["ref", "before", "after", "commits", "total_commits_count", "project.git_http_url"],
  tag_push: ["ref", "before", "after", "commits", "total_commits_count", "project_id"],
  repository_update: ["event_name", "project_id", "refs"],
  pipeline: ["object_attributes.iid", "object_attributes.sha", "object_attributes.status"],
  job: ["build_id", "build_name", "build_stage", "build_status", "pipeline_id", "project_id"],
  release: ["id", "name", "tag", "project.id"],
  deployment: ["deployment_id", "status", "environment", "project.id"],
  feature_flag: ["object_attributes.name", "object_attributes.active"],
  milestone: ["object_attributes.id", "object_attributes.iid", "object_attributes.state"],
  emoji: ["object_attributes.id", "object_attributes.name", "project.id"],
  wiki_page: ["object_attributes.slug", "object_attributes.title", "project.id"],
  access_token: ["object_attributes.id", "object_attributes.name"],
  member: ["event_name", "user_id", "user_username"],
  group: ["event_name", "group_id", "full_path"],
  project: ["event_name", "project_id", "path_with_namespace"],
  user: ["event_name", "user_id", "username"],
  key: ["event_name", "id", "username"],
};

it("tells of every name, with what the types promise", { timeout: 60_000 }, async () => {
  const all = await testApp({ seed: fixtureSeed(1), extra: toys });
  const told = new Map<AppEventName, AppEvent[]>();
  for (const name of Object.keys(APP_EVENTS) as AppEventName[]) {
    told.set(name, []);
    await all.on(name, (event) => told.get(name)?.push(event));
  }
  await createFixtures(all, 1);
  const soon = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
  const token = { name: "soon", scopes: ["api"], access_level: 30, expires_at: soon };
  await all.call(`POST ${PROJECT}/access_tokens`, { as: "owner", json: token });
  await all.admin.maintenance.sweepDaily();
  const by = { as: "maintainer" } as const;
  await all.call(`POST ${PROJECT}/milestones`, { ...by, json: { title: "Soon" } });
  await all.call(`POST ${PROJECT}/issues/1/award_emoji`, { ...by, json: { name: "tada" } });
  await all.call(`POST ${PROJECT}/wikis`, { ...by, json: { title: "Page", content: "Words" } });
  const [{ id: sha }] = (await all.call(`GET ${PROJECT}/repository/commits`, by)).json;
  const json = { environment: "staging", sha, ref: "main", tag: false, status: "running" };
  await all.call(`POST ${PROJECT}/deployments`, { ...by, json });
  const flag = { name: "told", version: "new_version_flag" };
  await all.call(`POST ${PROJECT}/feature_flags`, { ...by, json: flag });
  await all.call(`PUT ${PROJECT}/feature_flags/told`, { ...by, json: { active: false } });
  await waitFor(() => nothingLeft(all));
  const valueAt = (payload: object, path: string) =>
    path.split(".").reduce<unknown>((at, part) => (at as Record<string, unknown>)?.[part], payload);
  for (const [name, [event]] of told) {
    const { payload, action } = (event ?? { payload: {} }) as AppEvent;
    const missing = PROMISED[name].filter((path) => valueAt(payload, path) === undefined);
    expect([name, typeof action, missing]).toEqual([name, "string", []]);
  }
  await all.dispose();
});
