import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { IssuableAttribute } from "../../src/resources/issuables/attributes.ts";
import type { Seed } from "../../src/seed/input.ts";
import { ask } from "../graphql/ask.ts";
import type { Answer, TestApp } from "../helpers.ts";
import type { Receiver } from "./_receiver.ts";

// Each attribute of the table is wherever attributes are, and so is one that only this file adds to it.

type Prefix = "issue" | "merge_request";
type Table = Record<string, IssuableAttribute>;
type Values = Record<string, unknown>;

const toy = { about: "a toy", isPlanned: true } as const;

/** What is added to the table, with the columns for it. */
const TOYS: Record<Prefix, Table> = {
  issue: {
    toy_flag: { ...toy, kind: "flag", sets: "Set a toy.", argument: "toyed" },
    toy_day: { ...toy, kind: "day", sets: "Set a toy." },
    toy_count: { ...toy, kind: "count", sets: "Set a toy.", tier: "premium" },
  },
  merge_request: {
    toy_flag: { ...toy, kind: "flag", shownAs: "shown_toy", isUntold: true },
    toy_day: { ...toy, kind: "day", sets: "Set a toy." },
    toy_count: { ...toy, kind: "count", sets: "Set a toy." },
  },
};
const columns = "toy_flag $int not null default 0; toy_day $text; toy_count $int";
const added = ["issues", "merge_requests"].flatMap((table) =>
  columns.split("; ").map((column) => `alter table ${table} add column ${column};`),
);
const MIGRATION = { id: "20261299-99-toy-attributes", sql: added.join("\n") };

const PATHS = { issue: "issues", merge_request: "merge_requests" } as const;
const SITE = "/projects/acme%2Fsite";
const HOOK = { push_events: false, issues_events: true, merge_requests_events: true };

/** A value of each kind, another one, and none. */
const SAMPLES = {
  type: ["incident", "test_case", "issue"],
  flag: [true, false, false],
  day: ["2026-12-24", "2026-12-31", null],
  count: [3, 5, null],
} as const;

describe.each([
  ["the table", undefined],
  ["a table with toys", TOYS],
] as const)("the attributes of %s", (_, toys) => {
  let table: Record<Prefix, Table>;
  let app: TestApp;
  let receiver: Receiver;
  /** Starts another application. */
  let start: (options?: { tier?: "free"; seed?: Seed }) => Promise<TestApp>;

  beforeAll(async () => {
    // All modules that are made of the table are loaded again after it has got the toys.
    if (toys) vi.resetModules();
    const { ATTRIBUTES } = await import("../../src/resources/issuables/attributes.ts");
    table = ATTRIBUTES;
    for (const prefix of Object.keys(toys ?? {}) as Prefix[]) {
      Object.assign(table[prefix], toys?.[prefix]);
    }
    const { testApp, baseSeed } = await import("../helpers.ts");
    const { API } = await import("../../src/resources/mount.ts");
    const resource = { name: "Toys", migrations: [MIGRATION], routes: [] };
    start = ({ seed = baseSeed, ...options } = {}) =>
      testApp({
        seed,
        background: true,
        webhooks: { allowLocalRequests: true, interval: 10 },
        ...(toys && { extra: [{ ...API, resources: [resource] }] }),
        ...options,
      });
    app = await start();
    const { startReceiver } = await import("./_receiver.ts");
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await app.dispose();
    await receiver.close();
    if (toys) vi.resetModules();
  });

  /** The attributes of a type, as far as something is so of them, with a value of each. */
  const valuesOf = (
    prefix: Prefix,
    sample = 0,
    name: (one: IssuableAttribute, own: string) => string | undefined = (_one, own) => own,
  ): Values => {
    const named = Object.entries(table[prefix]).flatMap(([own, one]) => {
      const as = name(one, own);
      return as === undefined ? [] : [[as, SAMPLES[one.kind][sample]] as const];
    });
    return Object.fromEntries(named);
  };
  const shownOf = (prefix: Prefix, sample = 0) =>
    valuesOf(prefix, sample, ({ shownAs }, own) => shownAs ?? own);

  const call = async (request: string, json?: object, as: "owner" | "guest" = "owner") => {
    const answer = await app.call(request, { as, ...(json && { json }) });
    expect([request, answer.status, answer.status < 300 || answer.text]).toEqual([
      request,
      answer.status,
      true,
    ]);
    return answer.json;
  };
  let made = 0;
  /** What a new record needs. */
  const needs = (prefix: Prefix) => {
    made += 1;
    const branches = { source_branch: `toy-${made}`, target_branch: "main" };
    return { title: `Toy ${made}`, ...(prefix === "merge_request" && branches) };
  };
  const create = (prefix: Prefix, values: Values) =>
    call(`POST ${SITE}/${PATHS[prefix]}`, { ...needs(prefix), ...values });

  describe.each(["issue", "merge_request"] as const)("of type %s", (prefix) => {
    const path = PATHS[prefix];

    it("are set by POST and PUT, and shown alone and in lists", async () => {
      const one = await create(prefix, valuesOf(prefix));
      expect(one).toMatchObject(shownOf(prefix));
      expect(await call(`GET ${SITE}/${path}/${one.iid}`)).toMatchObject(shownOf(prefix));
      const [listed] = await call(`GET ${SITE}/${path}?per_page=1`);
      expect(listed).toMatchObject({ id: one.id, ...shownOf(prefix) });
      for (const sample of [1, 2]) {
        const changed = await call(`PUT ${SITE}/${path}/${one.iid}`, valuesOf(prefix, sample));
        expect(changed).toMatchObject(shownOf(prefix, sample));
      }
      expect(await create(prefix, {})).toMatchObject(shownOf(prefix, 2));
    });

    it("are not set by those who may not plan, as far as they are planning", async () => {
      const one = await create(prefix, {});
      const [guest] = await call("GET /users?username=guest");
      await call(`PUT ${SITE}/${path}/${one.iid}`, { assignee_ids: [guest.id] });
      const changed = await call(`PUT ${SITE}/${path}/${one.iid}`, valuesOf(prefix), "guest");
      const theirs = valuesOf(prefix, 0, ({ isPlanned, shownAs }, own) =>
        isPlanned ? undefined : (shownAs ?? own),
      );
      expect(changed).toMatchObject({ ...shownOf(prefix, 2), ...theirs });
    });

    it("are set by mutations, together and each by its own, and shown by GraphQL", async () => {
      const camel = (name: string) => name.replace(/_(\w)/g, (_all, one) => one.toUpperCase());
      const member = camel(prefix);
      const { iid } = await create(prefix, {});
      const where = { projectPath: "acme/site", iid: String(iid) };
      const fields = (sample: number) =>
        valuesOf(prefix, sample, ({ shownAs = undefined, isApart }, own) =>
          isApart ? undefined : camel(shownAs ?? own),
        );
      const names = Object.keys(fields(0)).join(" ");
      const read = async () => {
        const query = `{ project(fullPath: "acme/site") { ${member}(iid: "${iid}") { ${names} } } }`;
        return (await ask(app, query)).project[member];
      };
      const mutate = (name: string, input: object) =>
        ask(
          app,
          `mutation($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { errors ${member} { ${names} } } }`,
          { input },
        ).then((data) => data[name]);
      const settable = Object.entries(table[prefix]).filter(([, { sets }]) => sets !== undefined);
      for (const [name, { kind, argument = camel(name), shownAs = name }] of settable) {
        for (const sample of SAMPLES[kind]) {
          const sent = kind === "day" && sample !== null ? `${sample}T00:00:00Z` : sample;
          const mutation = `${member}Set${argument[0]?.toUpperCase()}${argument.slice(1)}`;
          const answer = await mutate(mutation, { ...where, [argument]: sent });
          expect(answer).toMatchObject({ errors: [], [member]: { [camel(shownAs)]: sample } });
        }
      }
      await call(`PUT ${SITE}/${path}/${iid}`, valuesOf(prefix));
      expect(await read()).toEqual(fields(0));
      if (prefix !== "issue") return;
      const sent = (sample: number) =>
        valuesOf(prefix, sample, ({ argument, isApart }, own) =>
          isApart ? undefined : (argument ?? camel(own)),
        );
      const updated = await mutate("updateIssue", { ...where, ...sent(1) });
      expect(updated).toEqual({ errors: [], issue: fields(1) });
      const created = await mutate("createIssue", {
        projectPath: "acme/site",
        title: "Made",
        ...sent(0),
      });
      expect(created).toEqual({ errors: [], issue: fields(0) });
    });

    it("are shown to webhooks and listeners, which are told what has changed", async () => {
      const isTold = ({ isUntold }: IssuableAttribute, own: string) => (isUntold ? undefined : own);
      const isToldAsChanged = ({ isUntold }: IssuableAttribute, own: string) =>
        isUntold === true || own === "issue_type" ? undefined : own;
      const heard: Answer["json"][] = [];
      const { iid } = await create(prefix, valuesOf(prefix));
      const hook = await call(`POST ${SITE}/hooks`, { ...HOOK, url: receiver.url });
      const unsubscribe = await app.on(prefix, ({ payload }) => void heard.push(payload));
      await call(`PUT ${SITE}/${path}/${iid}`, { ...valuesOf(prefix, 1) });
      const { waitFor } = await import("../helpers.ts");
      await waitFor(async () => receiver.received.length > 0 && heard.length > 0);
      await call(`DELETE ${SITE}/hooks/${hook.id}`);
      await unsubscribe();
      const now = valuesOf(prefix, 1, isTold);
      const before = valuesOf(prefix, 0, isToldAsChanged);
      const changes = Object.entries(valuesOf(prefix, 1, isToldAsChanged)).map(
        ([name, current]) => [name, { previous: before[name], current }],
      );
      for (const payload of [receiver.received.splice(0)[0]?.json, heard[0]]) {
        expect(payload.object_attributes).toMatchObject(now);
        const { updated_at: _at, type: _type, ...told } = payload.changes;
        expect(told).toEqual(Object.fromEntries(changes));
      }
    });

    it("are in seeds", async () => {
      const entry = { ...needs(prefix), author: "ada", ...valuesOf(prefix) };
      const seeded = await start({
        seed: {
          users: [{ username: "ada", admin: true, tokens: [{ token: "token-of-owner" }] }],
          groups: [
            {
              path: "acme",
              projects: [{ path: "site", [path]: [entry, { ...entry, ...valuesOf(prefix, 1) }] }],
            },
          ],
        } as Seed,
      });
      const { json } = await seeded.call(`GET ${SITE}/${path}?sort=asc`, { as: "owner" });
      await seeded.dispose();
      expect(json).toMatchObject([shownOf(prefix), shownOf(prefix, 1)]);
    });

    it("are in archives", async () => {
      const one = await create(prefix, valuesOf(prefix));
      const { waitFor } = await import("../helpers.ts");
      await call(`POST ${SITE}/export`);
      await waitFor(async () => (await call(`GET ${SITE}/export`)).export_status === "finished");
      const url = `http://pm.test/api/v4${SITE}/export/download`;
      const headers = { "private-token": "token-of-owner" };
      const archive = await app.fetch(new Request(url, { headers }));
      const body = new FormData();
      body.append("path", `copy-${prefix}`);
      body.append("namespace", "acme");
      body.append("file", new Blob([await archive.arrayBuffer()]), "site.gz");
      const { json: copy } = await app.call("POST /projects/import", { as: "owner", body });
      const status = async () => (await call(`GET /projects/${copy.id}/import`)).import_status;
      await waitFor(async () => !["scheduled", "started"].includes(await status()));
      expect(await status()).toBe("finished");
      const read = await call(`GET /projects/${copy.id}/${path}/${one.iid}`);
      expect(read).toMatchObject(shownOf(prefix));
    });
  });

  it("go with an issue into another project", async () => {
    const { id } = await call("GET /projects/acme%2Fteam%2Fcore");
    const { iid } = await create("issue", valuesOf("issue"));
    const moved = await call(`POST ${SITE}/issues/${iid}/move`, { to_project_id: id });
    expect(moved).toMatchObject(shownOf("issue"));
  });

  it("are neither shown nor set in a tier that has not got them", async () => {
    const lacking = Object.entries(table.issue).filter(([, { tier }]) => tier !== undefined);
    expect(lacking.length).toBeGreaterThan(0);
    const free = await start({ tier: "free" });
    const json = { title: "Free", ...valuesOf("issue") };
    const { json: shown } = await free.call(`POST ${SITE}/issues`, { as: "owner", json });
    const [row] = await free.store.all<Values>("select * from issues", []);
    await free.dispose();
    for (const [name] of lacking) {
      expect(shown).not.toHaveProperty(name);
      expect(row).toHaveProperty(name, null);
    }
  });
});
