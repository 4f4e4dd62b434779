import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Seed } from "../../src/index.ts";
import { type Answer, baseSeed, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

const DAY = 86_400_000;
/** A day of the clock of these tests, as a number of days from their first one. */
const day = (days: number) => new Date(START + days * DAY).toISOString().slice(0, 10);
const START = Date.parse("2026-03-04T12:00:00Z");
let now = START;
const clock = () => {
  now += 1;
  return now;
};

const seed: Seed = {
  users: baseSeed.users ?? [],
  groups: [
    {
      path: "acme",
      visibility: "public",
      members: { owner: "owner", reporter: "reporter", guest: "guest" },
      subgroups: [{ path: "tools", visibility: "public" }],
      projects: [
        {
          path: "site",
          visibility: "public",
          issues: ["One", "Two", "Three"].map((title) => ({ title, author: "owner" })),
        },
      ],
    },
  ],
};

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: clock, seed });
});
afterAll(() => app.dispose());

type Variables = Readonly<Record<string, unknown>>;

/** The payload of a mutation; its input is an object type of the same name. */
async function change(
  name: string,
  input: Variables,
  fields: string,
  as: "owner" | "guest" | "reporter" | "stranger" = "owner",
): Promise<Answer["json"]> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { ${fields} errors } }`;
  const { data, errors } = await send(app, as, query, { input });
  return data?.[name] ?? errors?.map(({ message }) => message);
}

const CADENCE =
  "iterationCadence { id title description startDate durationInWeeks iterationsInAdvance automatic active rollOver }";
const ITERATION =
  "iteration { id iid sequence title description descriptionHtml state startDate dueDate webPath iterationCadence { id } }";

const cadence = async (input: Variables): Promise<string> =>
  (
    await change(
      "iterationCadenceCreate",
      { groupPath: "acme", automatic: false, active: true, ...input },
      CADENCE,
    )
  ).iterationCadence.id;

const iterationsOf = async (id: string): Promise<Answer["json"][]> =>
  (
    await ask(
      app,
      `query ($id: IterationsCadenceID!) { group(fullPath: "acme") { iterations(iterationCadenceIds: [$id]) { nodes {
        id title state sequence startDate dueDate } } } }`,
      { id },
    )
  ).group.iterations.nodes;

describe("cadences", () => {
  it("are created, changed, listed and deleted", async () => {
    const { iterationCadence: made, errors } = await change(
      "iterationCadenceCreate",
      {
        groupPath: "acme",
        title: "Team A",
        description: "Ours",
        automatic: false,
        active: true,
        durationInWeeks: 2,
        iterationsInAdvance: 2,
        rollOver: true,
      },
      CADENCE,
    );
    expect(errors).toEqual([]);
    // Without automation, its settings are not kept.
    expect(made).toEqual({
      id: expect.stringMatching(/^gid:\/\/gitlab\/Iterations::Cadence\/\d+$/),
      title: "Team A",
      description: "Ours",
      startDate: null,
      durationInWeeks: null,
      iterationsInAdvance: null,
      automatic: false,
      active: true,
      rollOver: false,
    });
    const { id } = made;
    const changed = await change(
      "iterationCadenceUpdate",
      { id, title: "Team B", active: false },
      CADENCE,
    );
    expect(changed.iterationCadence).toEqual({ ...made, title: "Team B", active: false });
    const found = async (args: string, group = "acme") => {
      const path = `{ group(fullPath: "${group}") { iterationCadences(${args}) { nodes { title } } } }`;
      const { group: shown } = await ask(app, path);
      return shown.iterationCadences.nodes.map(({ title }: { title: string }) => title);
    };
    expect(await found(`id: "${id}"`)).toEqual(["Team B"]);
    expect(await found('title: "eam"')).toEqual(["Team B"]);
    expect(await found("active: true")).toEqual([]);
    expect(await found("active: false, automatic: false")).toEqual(["Team B"]);
    expect(await found("durationInWeeks: 2")).toEqual([]);
    expect(await found("includeAncestorGroups: true", "acme/tools")).toEqual(["Team B"]);
    expect(await found('title: "Team"', "acme/tools")).toEqual([]);
    const ended = await change("iterationCadenceDestroy", { id }, "group { fullPath }");
    expect(ended).toEqual({ group: { fullPath: "acme" }, errors: [] });
    expect(await found('title: "Team"')).toEqual([]);
    expect(await change("iterationCadenceDestroy", { id }, "group { id }")).toEqual([
      NOT_AVAILABLE,
    ]);
  });

  it.each([
    [{ title: " " }, ["Title can't be blank"]],
    [
      { title: "X", automatic: true },
      [
        "Start date can't be blank",
        "Duration in weeks can't be blank",
        "Iterations in advance can't be blank",
      ],
    ],
    [
      {
        title: "X",
        automatic: true,
        startDate: day(0),
        durationInWeeks: 5,
        iterationsInAdvance: 11,
      },
      [
        "Duration in weeks is not included in the list",
        "Iterations in advance is not included in the list",
      ],
    ],
    [
      { title: "X", description: "x".repeat(5001) },
      ["Description is too long (maximum is 5000 characters)"],
    ],
    [
      {
        title: "X",
        automatic: true,
        startDate: day(-7),
        durationInWeeks: 1,
        iterationsInAdvance: 1,
      },
      [
        `The automation start date would retroactively create a past iteration. ${day(-6)} is the earliest possible start date.`,
      ],
    ],
  ])("refuses %j", async (input, errors) => {
    const sent = { groupPath: "acme", automatic: false, active: true, ...input };
    expect(await change("iterationCadenceCreate", sent, CADENCE)).toEqual({
      iterationCadence: null,
      errors,
    });
  });

  it("are changed by reporters", async () => {
    const input = { groupPath: "acme", title: "X", automatic: false, active: true };
    for (const as of ["guest", "stranger"] as const) {
      expect(await change("iterationCadenceCreate", input, CADENCE, as)).toEqual([NOT_AVAILABLE]);
    }
    const made = await change("iterationCadenceCreate", input, CADENCE, "reporter");
    expect(made.errors).toEqual([]);
    const { id } = made.iterationCadence;
    expect(await change("iterationCadenceUpdate", { id, title: "Y" }, CADENCE, "guest")).toEqual([
      NOT_AVAILABLE,
    ]);
    await change("iterationCadenceDestroy", { id }, "group { id }", "reporter");
  });
});

describe("iterations", () => {
  it("are created, changed and deleted in a cadence without automation", async () => {
    const id = await cadence({ title: "By hand" });
    const create = (input: Variables) =>
      change(
        "iterationCreate",
        { groupPath: "acme", iterationsCadenceId: id, ...input },
        ITERATION,
      );
    const later = { title: "Later", startDate: day(14), dueDate: day(20) };
    const { iteration: second } = await create({ ...later, description: "One\n\nTwo" });
    expect(second).toMatchObject({
      id: expect.stringMatching(/^gid:\/\/gitlab\/Iteration\/\d+$/),
      sequence: 1,
      title: "Later",
      description: "One\n\nTwo",
      descriptionHtml: "<p>One</p>\n<p>Two</p>",
      state: "upcoming",
      startDate: day(14),
      dueDate: day(20),
      iterationCadence: { id },
    });
    expect(second.webPath).toBe(`/groups/acme/-/iterations/${second.iid}`);
    const { iteration: first } = await create({ startDate: day(-1), dueDate: day(0) });
    expect(first).toMatchObject({ title: null, state: "current", sequence: 1 });
    const none = { iteration: null };
    expect(await create({ startDate: day(20), dueDate: day(30) })).toEqual({
      ...none,
      errors: [
        "Dates cannot overlap with other existing Iterations within this iterations cadence",
      ],
    });
    expect(await create({ title: "Later", startDate: day(40), dueDate: day(40) })).toEqual({
      ...none,
      errors: [
        "Due date must be greater than start date",
        "Title already being used for another iteration within this cadence.",
      ],
    });
    expect((await create({ title: "Later" })).errors).toEqual([
      "Start date can't be blank",
      "Due date can't be blank",
    ]);
    expect((await create({ startDate: "soon", dueDate: day(1) })).errors).toHaveLength(1);
    expect((await create({ startDate: day(1), dueDate: "2999-01-01" })).errors).toContain(
      "Due date cannot be more than 500 years in the future",
    );
    const edit = (input: Variables) =>
      change("updateIteration", { groupPath: "acme", ...input }, ITERATION);
    const number = second.id.split("/").at(-1);
    expect((await edit({ id: number, title: "Soon", dueDate: day(21) })).iteration).toMatchObject({
      title: "Soon",
      sequence: 2,
      startDate: day(14),
      dueDate: day(21),
    });
    expect((await edit({ id: second.id, title: " ", description: "Why" })).iteration).toMatchObject(
      { title: null, description: "Why" },
    );
    expect((await edit({ id: second.id, startDate: day(0) })).errors).toHaveLength(1);
    expect(await edit({ id: second.id })).toEqual(["The list of iteration attributes is empty"]);
    expect(
      await change(
        "updateIteration",
        { groupPath: "acme/tools", id: number, title: "X" },
        ITERATION,
      ),
    ).toEqual([NOT_AVAILABLE]);
    expect((await change("iterationDelete", { id: first.id }, "group { id }")).errors).toEqual([
      "upcoming/current iterations can't be deleted unless they are the last one in the cadence",
    ]);
    expect(await change("iterationDelete", { id: first.id }, "group { id }", "guest")).toEqual([
      NOT_AVAILABLE,
    ]);
    expect(await change("iterationDelete", { id: second.id }, "group { fullPath }")).toEqual({
      group: { fullPath: "acme" },
      errors: [],
    });
    expect(await iterationsOf(id)).toHaveLength(1);
    const { iteration } = await ask(app, `{ iteration(id: "${second.id}") { id } }`);
    expect(iteration).toBeNull();
    await change("iterationCadenceDestroy", { id }, "group { id }");
  });

  it("get the first cadence without automation, which is made if there is none", async () => {
    const input = { groupPath: "acme/tools", startDate: day(1), dueDate: day(3) };
    const { iteration, errors } = await change(
      "createIteration",
      input,
      "iteration { id iterationCadence { id title automatic } }",
    );
    expect(errors).toEqual([]);
    expect(iteration.iterationCadence).toMatchObject({
      title: expect.stringMatching(/ Iterations$/),
      automatic: false,
    });
    const again = await change(
      "createIteration",
      { ...input, startDate: day(4), dueDate: day(6) },
      "iteration { iterationCadence { id } }",
    );
    expect(again.iteration.iterationCadence.id).toBe(iteration.iterationCadence.id);
    for (const [paths, message] of [
      [{}, "Exactly one of group_path or project_path arguments is required"],
      [{ projectPath: "acme/site" }, NOT_AVAILABLE],
    ] as const) {
      const sent = { startDate: day(1), dueDate: day(3), ...paths };
      expect(await change("iterationCreate", sent, "iteration { id }")).toEqual([message]);
    }
    const { id } = iteration.iterationCadence;
    await change("iterationCadenceDestroy", { id }, "group { id }");
  });
});

describe("automation", () => {
  it("makes iterations ahead, and issues go on to the next one", async () => {
    const id = await cadence({
      title: "By itself",
      automatic: true,
      rollOver: true,
      startDate: day(0),
      durationInWeeks: 1,
      iterationsInAdvance: 2,
    });
    const spans = async () =>
      (await iterationsOf(id)).map(({ startDate, dueDate, state, sequence }) => [
        startDate,
        dueDate,
        state,
        sequence,
      ]);
    expect(await spans()).toEqual([
      [day(0), day(6), "current", 1],
      [day(7), day(13), "upcoming", 2],
      [day(14), day(20), "upcoming", 3],
    ]);
    const [first, second] = await iterationsOf(id);
    expect(
      (
        await change(
          "iterationCreate",
          { groupPath: "acme", iterationsCadenceId: id, startDate: day(30), dueDate: day(33) },
          ITERATION,
        )
      ).errors,
    ).toEqual(["Iterations cannot be manually added to cadences that use automatic scheduling"]);
    expect(
      await change("updateIteration", { groupPath: "acme", id: first?.id, title: "X" }, ITERATION),
    ).toEqual([
      "Manual iteration updates are deprecated, only `description` updates will be allowed in the future",
    ]);
    const about = { groupPath: "acme", id: first?.id, description: "Goal" };
    expect((await change("updateIteration", about, ITERATION)).iteration.description).toBe("Goal");
    expect((await change("iterationDelete", { id: first?.id }, "group { id }")).errors).toEqual([
      "Deleting iterations from automatic iteration cadences is not allowed.",
    ]);

    for (const iid of ["1", "2"]) {
      const set = { projectPath: "acme/site", iid, iterationId: first?.id };
      expect((await change("issueSetIteration", set, "issue { iteration { id } }")).issue).toEqual({
        iteration: { id: first?.id },
      });
    }
    await app.call("PUT /projects/acme%2Fsite/issues/2", {
      as: "owner",
      json: { state_event: "close" },
    });
    now += 8 * DAY;
    await app.admin.maintenance.sweepDaily();
    expect(await spans()).toEqual([
      [day(0), day(6), "closed", 1],
      [day(7), day(13), "current", 2],
      [day(14), day(20), "upcoming", 3],
      [day(21), day(27), "upcoming", 4],
    ]);
    const { project } = await ask(
      app,
      `{ project(fullPath: "acme/site") { one: issue(iid: "1") { iteration { id } } two: issue(iid: "2") { iteration { id } } } }`,
    );
    expect(project).toEqual({
      one: { iteration: { id: second?.id } },
      two: { iteration: { id: first?.id } },
    });
    const events = await app.call("GET /projects/acme%2Fsite/issues/1/resource_iteration_events", {
      as: "owner",
    });
    expect(
      events.json.map((event: Answer["json"]) => [
        event.action,
        event.user?.username,
        event.iteration.start_date,
      ]),
    ).toEqual([
      ["add", "owner", day(0)],
      ["remove", undefined, day(0)],
      ["add", undefined, day(7)],
    ]);

    // Those to come follow from other settings.
    const longer = await change(
      "iterationCadenceUpdate",
      { id, durationInWeeks: 2, startDate: day(14) },
      CADENCE,
    );
    expect(longer.errors).toEqual([]);
    expect((await spans()).slice(1)).toEqual([
      [day(7), day(13), "current", 2],
      [day(14), day(27), "upcoming", 3],
      [day(28), day(41), "upcoming", 4],
    ]);
    expect(
      (await change("iterationCadenceUpdate", { id, startDate: day(13) }, CADENCE)).errors,
    ).toEqual([
      "The automation start date must come after the active iteration Mar 11, 2026 - Mar 17, 2026.",
    ]);
    // Whoever sees the database again after weeks finds all that were missed.
    now += 40 * DAY;
    await app.admin.maintenance.sweepDaily();
    expect((await spans()).map(([, , state]) => state)).toEqual([
      "closed",
      "closed",
      "closed",
      "closed",
      "current",
      "upcoming",
      "upcoming",
    ]);
    const manual = await change("iterationCadenceUpdate", { id, automatic: false }, CADENCE);
    expect(manual.iterationCadence).toMatchObject({ durationInWeeks: null, rollOver: false });
    await change("iterationCadenceDestroy", { id }, "group { id }");
    const after = await app.call("GET /projects/acme%2Fsite/issues/1", { as: "owner" });
    expect(after.json.iteration).toBeNull();
  });
});

describe("limits", () => {
  const dated = (from: number, to: number) => ({ startDate: day(from), dueDate: day(to) });

  it("refuses more cadences and iterations than lists should sort", async () => {
    const id = await cadence({ title: "Full" });
    const number = Number(id.split("/").at(-1));
    await app.store.transaction(async (db) => {
      const [row] = await db.rows("select namespace_id from iteration_cadences where id = ?", [
        number,
      ]);
      const group = row?.[0] as number;
      for (let at = 0; at < 500; at += 1) {
        await db.run(
          `insert into iterations (iid, namespace_id, cadence_id, start_date, due_date, created_at, updated_at)
           values (?, ?, ?, ?, ?, 1, 1)`,
          [1000 + at, group, number, day(-2 * at - 2), day(-2 * at - 1)],
        );
      }
      for (let at = 1; at < 50; at += 1) {
        await db.run(
          `insert into iteration_cadences (namespace_id, title, automatic, active, created_at, updated_at)
           values (?, 'More', 0, 1, 1, 1)`,
          [group],
        );
      }
    });
    const input = { groupPath: "acme", iterationsCadenceId: id, ...dated(1, 2) };
    expect((await change("iterationCreate", input, ITERATION)).errors).toEqual([
      "Cadence has too many iterations (maximum is 500)",
    ]);
    const more = { groupPath: "acme", title: "More", automatic: false, active: true };
    expect((await change("iterationCadenceCreate", more, CADENCE)).errors).toEqual([
      "Group has too many iteration cadences (maximum is 50)",
    ]);
    const ended = await change("iterationCadenceDestroy", { id }, "group { id }");
    expect(ended.errors).toEqual([]);
    await app.store.transaction((db) =>
      db.run("delete from iteration_cadences where title = 'More'"),
    );
  });

  it("keeps open issues where they are if a cadence does not roll over, or is not active", async () => {
    const automation = { automatic: true, startDate: new Date(now).toISOString().slice(0, 10) };
    for (const cause of [{ rollOver: false }, { rollOver: true, active: false }]) {
      const sizes = { durationInWeeks: 1, iterationsInAdvance: 1 };
      const id = await cadence({ title: "Stays", ...automation, ...sizes, rollOver: true });
      const [first] = await iterationsOf(id);
      const set = { projectPath: "acme/site", iid: "3", iterationId: first?.id };
      await change("issueSetIteration", set, "issue { id }");
      await change("iterationCadenceUpdate", { id, ...cause }, CADENCE);
      now += 8 * DAY;
      await app.admin.maintenance.sweepDaily();
      const { json } = await app.call("GET /projects/acme%2Fsite/issues/3", { as: "owner" });
      expect([json.iteration.start_date, json.iteration.state]).toEqual([first?.startDate, 3]);
      expect(await iterationsOf(id)).toHaveLength("active" in cause ? 2 : 3);
      await change("iterationCadenceDestroy", { id }, "group { id }");
      automation.startDate = new Date(now).toISOString().slice(0, 10);
    }
  });
});
