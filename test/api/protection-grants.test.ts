// Rules about branches and tags whose rights are lists of levels, users, groups and deploy keys: how they are asked for, what
// is refused, and what they let whom do.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runs, tryRandomly } from "../forms.ts";
import { everyone, type Person, sshKeyOf, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { newCommit, pushHeaders, pushOf, pushTo } from "../packs.ts";
import { type CodeProject, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
/** The ids of people and groups. */
const ids: Record<string, number> = {};
beforeAll(async () => {
  app = await testApp();
  project = await newCodeProject(app);
  for (const user of (await app.call("GET /users?per_page=100", { as: "admin" })).json) {
    ids[user.username] = user.id;
  }
  for (const group of (await app.call("GET /groups", { as: "admin" })).json) {
    ids[group.path] = group.id;
  }
});
afterAll(() => app.dispose());

type Entry = Record<string, unknown>;
const as = (person: Person) => person;
const entriesOf = (levels: Entry[]) =>
  levels.map(({ id: _, access_level_description, ...others }) => [
    access_level_description,
    ...Object.entries(others).flatMap(([name, value]) =>
      value === null || (name === "access_level" && others["access_level"] === 40) ? [] : [value],
    ),
  ]);

const post = (json: object, by: Person = "maintainer") =>
  project.send("POST", "/protected_branches", json, by);
const patch = (name: string, json: object, by: Person = "maintainer") =>
  project.send("PATCH", `/protected_branches/${name}`, json, by);
const remove = (name: string, by: Person = "maintainer") =>
  project.send("DELETE", `/protected_branches/${name}`, {}, by);

/** A deploy key of a project. */
let keys = 500;
async function addKey(path: string, can_push: boolean): Promise<number> {
  keys += 1;
  const json = { title: `key ${keys}`, key: sshKeyOf(keys), can_push };
  const made = await app.call(`POST ${path}/deploy_keys`, { as: "owner", json });
  expect(made.status).toBe(201);
  return made.json.id;
}

describe("a rule", () => {
  it("has several grants of each right, each with an id of its own", async () => {
    const key = await addKey(project.path, true);
    const made = await post({
      name: "all",
      push_access_level: 0,
      allowed_to_push: [
        { access_level: 60 },
        { user_id: ids["developer"] },
        { group_id: ids["secret"] },
        { deploy_key_id: key },
      ],
      allowed_to_merge: [{ access_level: 30 }, { access_level: 40, user_id: null }],
      allowed_to_unprotect: [{ user_id: ids["maintainer"] }, { access_level: 60 }],
    });
    expect(made.status, made.text).toBe(201);
    const nobody = { deploy_key_id: null, user_id: null, group_id: null };
    const id = expect.any(Number);
    expect(made.json.push_access_levels).toEqual([
      { id, access_level: 0, access_level_description: "No one", ...nobody },
      { id, access_level: 60, access_level_description: "Instance admins", ...nobody },
      // As GitLab shows users, groups and keys: with the level of maintainers, which means nothing.
      {
        ...{ id, access_level: 40, access_level_description: "The developer" },
        ...{ ...nobody, user_id: ids["developer"] },
      },
      {
        ...{ id, access_level: 40, access_level_description: "Secret" },
        ...{ ...nobody, group_id: ids["secret"] },
      },
      {
        ...{ id, access_level: 40, access_level_description: `key ${keys}` },
        ...{ ...nobody, deploy_key_id: key },
      },
    ]);
    expect(entriesOf(made.json.merge_access_levels)).toEqual([
      ["Developers + Maintainers", 30],
      ["Maintainers"],
    ]);
    expect(entriesOf(made.json.unprotect_access_levels)).toEqual([
      ["The maintainer", ids["maintainer"]],
      ["Instance admins", 60],
    ]);
    const all = ["push", "merge", "unprotect"].flatMap((action) =>
      made.json[`${action}_access_levels`].map((entry: Entry) => entry["id"]),
    );
    expect(new Set(all).size).toBe(9);
    expect((await project.get("/protected_branches/all")).json).toEqual(made.json);
    const { json: listed } = await project.get("/protected_branches");
    expect(listed).toContainEqual(made.json);
    expect((await remove("all")).status).toBe(204);
  });

  it("adds, changes and removes grants, whose ids stay", async () => {
    const { json: made } = await post({ name: "x", allowed_to_push: [{ access_level: 30 }] });
    const [{ id }] = made.push_access_levels;
    const pushers = async (json: object) => {
      const answer = await patch("x", json);
      return [answer.status, answer.json.push_access_levels ?? answer.json.message];
    };
    const of = async (json: object) => {
      const [status, levels] = await pushers(json);
      expect(status, JSON.stringify(levels)).toBe(200);
      return levels as Entry[];
    };
    const more = await of({
      allowed_to_push: [{ user_id: ids["developer"] }, { access_level: 0 }],
    });
    expect(more.map((entry) => entry["access_level_description"])).toEqual([
      "Developers + Maintainers",
      "The developer",
      "No one",
    ]);
    expect(more[0]?.["id"]).toBe(id);
    const [, user, none] = more.map((entry) => entry["id"]);
    // What answers show can be sent back.
    expect(await of({ allowed_to_push: more })).toEqual(more);
    const changed = await of({
      allowed_to_push: [
        { id, user_id: ids["owner"] },
        { id: user, access_level: 60 },
        { id: none, _destroy: true },
      ],
    });
    expect(changed.map((entry) => [entry["id"], entry["access_level_description"]])).toEqual([
      [id, "The owner"],
      [user, "Instance admins"],
    ]);
    expect(await of({ allowed_to_push: [] })).toEqual(changed);
    expect(await of({ allow_force_push: true })).toEqual(changed);
    // The others are as they were.
    const { json: now } = await project.get("/protected_branches/x");
    expect(now).toMatchObject({
      merge_access_levels: made.merge_access_levels,
      unprotect_access_levels: made.unprotect_access_levels,
      allow_force_push: true,
    });
    // A level by itself replaces whatever there was.
    expect(entriesOf(await of({ push_access_level: 0 }))).toEqual([["No one", 0]]);
    const [only] = (await project.get("/protected_branches/x")).json.push_access_levels;
    // The same level again, in the place of the one that is removed.
    const again = [{ access_level: 0 }, { id: only.id, _destroy: true }];
    expect(entriesOf(await of({ allowed_to_push: again }))).toEqual([["No one", 0]]);
    const [last] = (await project.get("/protected_branches/x")).json.push_access_levels;
    expect(await of({ allowed_to_push: [{ id: last.id, _destroy: true }] })).toEqual([]);
    await remove("x");
  });

  it("is asked for in forms, too", async () => {
    const body = new URLSearchParams([
      ["name", "form"],
      ["allowed_to_push[][user_id]", String(ids["developer"])],
      ["allowed_to_push[][access_level]", "40"],
      ["allowed_to_push[][access_level]", "30"],
      ["allowed_to_merge[][access_level]", "0"],
    ]);
    const { status, json } = await app.call(`POST ${project.path}/protected_branches`, {
      as: "maintainer",
      body,
    });
    expect([status, json.message]).toEqual([201, undefined]);
    // The first two are of one entry.
    expect(entriesOf(json.push_access_levels)).toEqual([
      ["The developer", ids["developer"]],
      ["Developers + Maintainers", 30],
    ]);
    expect(entriesOf(json.merge_access_levels)).toEqual([["No one", 0]]);
    const query = `allowed_to_push[][id]=${json.push_access_levels[0].id}&allowed_to_push[][_destroy]=true`;
    const changed = await app.call(`PATCH ${project.path}/protected_branches/form?${query}`, {
      as: "maintainer",
    });
    expect(entriesOf(changed.json.push_access_levels)).toEqual([["Developers + Maintainers", 30]]);
    // As GitLab reads lists of objects: from JSON text, and one object as a list of it.
    const text = new URLSearchParams({
      allowed_to_push: JSON.stringify([{ access_level: 60 }, { user_id: ids["owner"] }]),
      allowed_to_merge: JSON.stringify({ access_level: 60 }),
    });
    const { json: more } = await app.call(`PATCH ${project.path}/protected_branches/form`, {
      as: "maintainer",
      body: text,
    });
    expect(more.push_access_levels).toHaveLength(3);
    expect(entriesOf(more.merge_access_levels)).toEqual([
      ["No one", 0],
      ["Instance admins", 60],
    ]);
    const one = await patch("form", { allowed_to_merge: { access_level: 30 } });
    expect(one.json.merge_access_levels).toHaveLength(3);
    await remove("form");
  });

  it("is for maintainers where the request says nothing", async () => {
    const { json } = await post({
      name: "default",
      allowed_to_push: [],
      allowed_to_merge: [{ user_id: ids["developer"] }],
    });
    expect(entriesOf(json.push_access_levels)).toEqual([["Maintainers"]]);
    expect(entriesOf(json.unprotect_access_levels)).toEqual([["Maintainers"]]);
    expect(json.merge_access_levels).toHaveLength(1);
    await remove("default");
  });

  it("can have what was asked for twice once", async () => {
    const twice = [{ access_level: 40 }, { user_id: ids["owner"] }, { user_id: ids["owner"] }];
    const { json } = await post({ name: "twice", push_access_level: 40, allowed_to_push: twice });
    expect(entriesOf(json.push_access_levels)).toEqual([
      ["Maintainers"],
      ["The owner", ids["owner"]],
    ]);
    const taken = await patch("twice", {
      allowed_to_push: [{ access_level: 40 }, { user_id: ids["owner"] }],
    });
    expect([taken.status, taken.json.message]).toEqual([
      422,
      ["Push access levels access level has already been taken"],
    ]);
    await remove("twice");
  });

  it("has a bounded number of grants", async () => {
    const many = Array.from({ length: 101 }, () => ({ access_level: 40 }));
    const refused = await post({ name: "many", allowed_to_push: many });
    expect([refused.status, refused.json.message]).toEqual([
      400,
      { allowed_to_push: ["has too many entries (maximum is 100)"] },
    ]);
  });
});

describe("what can't be kept", () => {
  let id = 0;
  let key = 0;
  let reading = 0;
  beforeAll(async () => {
    const { json } = await post({ name: "y" });
    id = json.push_access_levels[0].id;
    key = await addKey(project.path, true);
    reading = await addKey(project.path, false);
  });
  const push = (entry: object) => ({ allowed_to_push: [entry] });
  const wrong = (list: string, text: string) => [400, { [list]: [text] }] as const;
  const NEEDED = "needs an access level, a user, a group or a deploy key in each new entry";
  const ONE = "can have only one of access level, user, group and deploy key in each entry";

  it.each<[() => object, readonly [number, unknown]]>([
    [() => push({}), wrong("allowed_to_push", NEEDED)],
    [() => push({ _destroy: true, access_level: 30 }), wrong("allowed_to_push", NEEDED)],
    [
      () => push({ id: id + 1000, _destroy: true }),
      wrong("allowed_to_push", `has no entry with the id`),
    ],
    [() => push({ access_level: 0, user_id: ids["owner"] }), wrong("allowed_to_push", ONE)],
    [() => push({ user_id: ids["owner"], group_id: ids["secret"] }), wrong("allowed_to_push", ONE)],
    [() => push({ access_level: 10 }), wrong("allowed_to_push", "is invalid")],
    [() => push({ user_id: "owner" }), wrong("allowed_to_push", "is invalid")],
    [() => ({ allowed_to_push: "30" }), wrong("allowed_to_push", "is invalid")],
    [
      () => ({ allowed_to_merge: [{ deploy_key_id: key }] }),
      wrong("allowed_to_merge", "can't have deploy keys"),
    ],
    [
      () => ({ allowed_to_unprotect: [{ deploy_key_id: key }] }),
      wrong("allowed_to_unprotect", "can't have deploy keys"),
    ],
    [
      () => ({ allowed_to_unprotect: [{ access_level: 0 }] }),
      wrong("allowed_to_unprotect", "is invalid"),
    ],
    [
      () => ({ unprotect_access_level: 0 }),
      wrong("unprotect_access_level", "does not have a valid value"),
    ],
    [
      () => push({ user_id: ids["stranger"] }),
      [422, ["Push access levels user is not a member of the project"]],
    ],
    [
      () => push({ user_id: 1_000_000 }),
      [422, ["Push access levels user is not a member of the project"]],
    ],
    [
      () => push({ group_id: ids["acme"] }),
      [422, ["Push access levels group does not have access to the project"]],
    ],
    [
      () => push({ group_id: 1_000_000 }),
      [422, ["Push access levels group does not have access to the project"]],
    ],
    [
      () => push({ deploy_key_id: reading }),
      [422, ["Push access levels deploy key is not enabled for this project"]],
    ],
    [
      () => push({ deploy_key_id: 1_000_000 }),
      [422, ["Push access levels deploy key is not enabled for this project"]],
    ],
    [
      () => ({
        ...push({ user_id: ids["stranger"] }),
        allowed_to_merge: [{ group_id: ids["acme"] }],
      }),
      [
        422,
        [
          "Push access levels user is not a member of the project",
          "Merge access levels group does not have access to the project",
        ],
      ],
    ],
  ])("is refused (%#)", async (make, [status, message]) => {
    const { json: before } = await project.get("/protected_branches/y");
    for (const refused of [await patch("y", make()), await post({ name: "z", ...make() })]) {
      expect([refused.status, refused.json.message]).toEqual([
        status,
        JSON.stringify(message).includes("has no entry")
          ? { allowed_to_push: [`has no entry with the id ${id + 1000}`] }
          : message,
      ]);
    }
    expect((await project.get("/protected_branches/y")).json).toEqual(before);
    expect((await project.get("/protected_branches/z")).status).toBe(404);
  });

  it("is refused where a tier does not have it", async () => {
    const free = await app.another({ tier: "free" });
    try {
      const rule = async (json: object) => {
        const path = `POST ${project.path}/protected_branches`;
        const answer = await free.call(path, { as: "maintainer", json: { name: "free", ...json } });
        return [answer.status, answer.json.message];
      };
      expect(await rule(push({ user_id: ids["developer"] }))).toEqual([
        422,
        ["Push access levels user must be blank"],
      ]);
      expect(await rule({ allowed_to_merge: [{ group_id: ids["secret"] }] })).toEqual([
        422,
        ["Merge access levels group must be blank"],
      ]);
      expect(await rule({ code_owner_approval_required: true })).toEqual([
        400,
        { code_owner_approval_required: ["needs the tier ultimate"] },
      ]);
      expect(
        (await rule({ ...push({ deploy_key_id: key }), code_owner_approval_required: false }))[0],
      ).toBe(201);
      await remove("free");
    } finally {
      await free.close();
    }
  });
});

/** Whom rules let push and merge, besides what they ask for. */
const RULES: [title: string, rule: () => object, push: Person[], merge: Person[]][] = [
  ["nobody", () => ({ push_access_level: 0, merge_access_level: 0 }), [], []],
  [
    "a developer",
    () => ({ allowed_to_push: [{ user_id: ids["developer"] }], merge_access_level: 0 }),
    ["developer"],
    ["developer"],
  ],
  [
    "nobody and a developer, who is somebody",
    () => ({
      push_access_level: 0,
      allowed_to_merge: [{ access_level: 0 }, { user_id: ids["developer"] }],
    }),
    [],
    ["developer"],
  ],
  [
    "maintainers and a developer",
    () => ({
      allowed_to_push: [{ access_level: 40 }, { user_id: ids["developer"] }],
      allowed_to_merge: [{ access_level: 0 }],
    }),
    ["developer", "maintainer", "owner", "admin"],
    ["developer", "maintainer", "owner", "admin"],
  ],
  [
    "administrators and an owner",
    () => ({
      push_access_level: 60,
      allowed_to_merge: [{ access_level: 60 }, { user_id: ids["owner"] }],
    }),
    ["admin"],
    ["owner", "admin"],
  ],
  [
    "a reporter, who can't push",
    () => ({
      allowed_to_push: [{ user_id: ids["reporter"] }],
      allowed_to_merge: [{ user_id: ids["guest"] }],
    }),
    [],
    [],
  ],
  [
    "the members of a group who can push",
    () => ({ allowed_to_push: [{ group_id: ids["secret"] }], merge_access_level: 0 }),
    ["developer", "maintainer", "owner"],
    ["developer", "maintainer", "owner"],
  ],
  [
    "the most permissive of several levels",
    () => ({
      allowed_to_push: [{ access_level: 0 }, { access_level: 60 }, { access_level: 40 }],
      allowed_to_merge: [{ access_level: 40 }, { access_level: 30 }],
    }),
    ["maintainer", "owner", "admin"],
    ["developer", "maintainer", "owner", "admin"],
  ],
];

describe.each(RULES)("for %s", (_, rule, pushers, mergers) => {
  let branch = "";
  let offers = 0;
  beforeAll(async () => {
    branch = `kept-${RULES.findIndex((one) => one[1] === rule)}`;
    await project.commit(branch, { "b.txt": "text\n" }, { from: "main" });
    const made = await post({ name: branch, ...rule() }, "admin");
    expect(made.status, made.text).toBe(201);
  });
  const open = async () => {
    offers += 1;
    const source = `${branch}-offer-${offers}`;
    await project.commit(source, { [`${source}.txt`]: "text\n" }, { from: "main" });
    return project.open(source, { target_branch: branch });
  };

  it.each(everyone)("%s pushes, writes files and merges, or may not", async (person) => {
    const mayPush = pushers.includes(person);
    const { json: shown } = await app.call(`GET ${project.path}/repository/branches/${branch}`, {
      as: person,
    });
    expect(shown.can_push ?? false).toBe(mayPush);
    const written = await project.send(
      "POST",
      `/repository/files/${branch}-${person}.txt`,
      { branch, content: "x", commit_message: "Write" },
      person,
    );
    expect(written.status === 201).toBe(mayPush);
    if (person !== "anonymous") {
      const head = (await project.get(`/repository/branches/${branch}`, "admin")).json.commit.id;
      const made = newCommit(`${branch} ${person}`, head);
      const change = { name: `refs/heads/${branch}`, from: head, to: made.oid };
      const { text } = await pushTo(
        app,
        project.fullPath,
        pushOf([change], made.pack),
        pushHeaders(tokenOf(person)),
      );
      expect(text.includes(`ok refs/heads/${branch}`)).toBe(mayPush);
    }

    const mayMerge = mergers.includes(person);
    const request = await open();
    const { json: seen } = await project.get(`/merge_requests/${request.iid}`, person);
    expect(seen.user?.can_merge ?? false).toBe(mayMerge);
    const query = `{ project(fullPath: "${project.fullPath}") {
      mergeRequest(iid: "${request.iid}") { userPermissions { canMerge } } } }`;
    const { json: graph } = await app.call("POST http://pm.test/api/graphql", {
      as: person,
      json: { query },
    });
    expect(graph.data.project?.mergeRequest?.userPermissions.canMerge ?? false).toBe(mayMerge);
    const merged = await project.send("PUT", `/merge_requests/${request.iid}/merge`, {}, person);
    expect([person, merged.status === 200]).toEqual([person, mayMerge]);
    if (!mayMerge) await project.send("DELETE", `/merge_requests/${request.iid}`, {}, "owner");
  });
});

describe("random rules", () => {
  /** Whom a grant may be for, by name. */
  const SUBJECTS: Record<string, () => Entry> = {
    nobody: () => ({ access_level: 0 }),
    developers: () => ({ access_level: 30 }),
    maintainers: () => ({ access_level: 40 }),
    admins: () => ({ access_level: 60 }),
    group: () => ({ group_id: ids["secret"] }),
    ...Object.fromEntries(
      (["guest", "reporter", "developer", "maintainer", "owner"] as const).map((person) => [
        `@${person}`,
        () => ({ user_id: ids[person] }),
      ]),
    ),
  };
  const LEVELS: Partial<Record<Person, number>> = {
    ...{ guest: 10, reporter: 20, developer: 30, maintainer: 40, owner: 50, admin: 100 },
  };
  /** Whether one of some grants is for a person who can push. */
  const isHeld = (subjects: readonly string[], person: Person) => {
    const level = LEVELS[person] ?? 0;
    const least = { developers: 30, maintainers: 40, admins: 60 };
    return (
      level >= 30 &&
      subjects.some(
        (subject) =>
          subject === `@${person}` ||
          (subject === "group" && person !== "admin") ||
          level >= (least[subject as "admins"] ?? 1000),
      )
    );
  };
  const some = fc.uniqueArray(fc.constantFrom(...Object.keys(SUBJECTS)), { maxLength: 4 });
  const rule = fc.record({ push: some, merge: some });

  it("let those push and merge whom one of their grants is for", async () => {
    await project.commit("any/thing", { "b.txt": "text\n" }, { from: "main" });
    await project.commit("any-offer", { "offer.txt": "text\n" }, { from: "main" });
    const { iid } = await project.open("any-offer", { target_branch: "any/thing" });
    const names = ["any/thing", "any/*"];
    await tryRandomly(
      fc.asyncProperty(fc.tuple(rule, fc.option(rule)), async (rules) => {
        const made = rules.flatMap((one, at) =>
          one ? [{ ...one, name: names[at] as string }] : [],
        );
        // Of the example before.
        for (const name of names) await remove(encodeURIComponent(name), "owner");
        for (const { name, push, merge } of made) {
          const entries = (subjects: string[]) => subjects.map((subject) => SUBJECTS[subject]?.());
          await post({
            name,
            allowed_to_push: entries(push),
            allowed_to_merge: entries(merge),
          });
        }
        // What is left out is for maintainers.
        const holders = (right: "push" | "merge") =>
          made.flatMap((one) => (one[right].length > 0 ? one[right] : ["maintainers"]));
        for (const person of everyone) {
          const branch = "/repository/branches/any%2Fthing";
          const { json: shown } = await project.get(branch, person);
          const { json: request } = await project.get(`/merge_requests/${iid}`, person);
          expect([person, shown.can_push ?? false, request.user?.can_merge ?? false]).toEqual([
            person,
            isHeld(holders("push"), person),
            isHeld([...holders("push"), ...holders("merge")], person),
          ]);
        }
      }),
      { numRuns: runs(15, 200) },
    );
  });
});

describe("developers_can_push and developers_can_merge", () => {
  it("say whether a level lets them, and replace all grants", async () => {
    await project.commit("flags", { "b.txt": "text\n" }, { from: "main" });
    const flags = async () => {
      const { json } = await project.get("/repository/branches/flags");
      return [json.developers_can_push, json.developers_can_merge];
    };
    await post({
      name: "flags",
      allowed_to_push: [{ access_level: 40 }, { user_id: ids["developer"] }],
      allowed_to_merge: [{ access_level: 0 }, { access_level: 30 }],
    });
    expect(await flags()).toEqual([false, true]);
    const json = { developers_can_push: true };
    await project.send("PUT", "/repository/branches/flags/protect", json, "maintainer");
    expect(await flags()).toEqual([true, true]);
    const { json: rule } = await project.get("/protected_branches/flags");
    expect(entriesOf(rule.push_access_levels)).toEqual([["Developers + Maintainers", 30]]);
    expect(rule.merge_access_levels).toHaveLength(2);
  });
});

describe("groups", () => {
  it("let their members do it, own and inherited, and nobody else", async () => {
    const { json: acme } = await app.call("GET /groups/acme%2Fteam", { as: "owner" });
    const json = { name: "Grouped", namespace_id: acme.id, initialize_with_readme: true };
    const { json: made } = await app.call("POST /projects", { as: "owner", json });
    const path = `/projects/${made.id}`;
    await app.call(`POST ${path}/members`, {
      as: "owner",
      json: { user_id: ids["stranger"], access_level: 40 },
    });
    const rule = { name: "grouped", push_access_level: 0, merge_access_level: 0 };
    await app.call(`POST ${path}/protected_branches`, {
      as: "owner",
      json: { ...rule, allowed_to_push: [{ group_id: acme.id }] },
    });
    await app.call(`POST ${path}/repository/branches`, {
      as: "owner",
      json: { branch: "grouped", ref: "main" },
    });
    const mayPush = async (person: Person) =>
      (await app.call(`GET ${path}/repository/branches/grouped`, { as: person })).json.can_push;
    expect(await mayPush("developer")).toBe(true);
    expect(await mayPush("stranger")).toBe(false);
    // Once the project has left the group, the grant is worth nothing.
    const moved = await app.call(`PUT ${path}/transfer`, {
      as: "admin",
      json: { namespace: ids["secret"] },
    });
    expect(moved.status, moved.text).toBe(200);
    expect(await mayPush("developer")).toBe(false);
    await app.call(`DELETE ${path}`, { as: "admin" });
  });
});

describe("tags", () => {
  it("are created by whom the rule lets", async () => {
    const key = await addKey(project.path, true);
    const made = await project.send(
      "POST",
      "/protected_tags",
      {
        name: "v*",
        allowed_to_create: [
          { user_id: ids["developer"] },
          { access_level: 60 },
          { deploy_key_id: key },
        ],
      },
      "maintainer",
    );
    expect(made.status, made.text).toBe(201);
    expect(entriesOf(made.json.create_access_levels)).toEqual([
      ["The developer", ids["developer"]],
      ["Instance admins", 60],
      [`key ${keys}`, key],
    ]);
    expect((await project.get("/protected_tags/v*", "maintainer")).json).toEqual(made.json);
    expect((await project.get("/protected_tags", "maintainer")).json).toEqual([made.json]);
    for (const person of everyone) {
      const json = { tag_name: `v-${person}`, ref: "main" };
      const tag = await project.send("POST", "/repository/tags", json, person);
      const isTheirs = person === "developer" || person === "admin";
      expect([person, tag.status === 201]).toEqual([person, isTheirs]);
      if (person === "anonymous") continue;
      const { oid, pack } = newCommit(person);
      const change = { name: `refs/tags/v-pushed-by-${person}`, to: oid };
      const headers = pushHeaders(tokenOf(person));
      const { text } = await pushTo(app, project.fullPath, pushOf([change], pack), headers);
      expect([person, text.includes("ok refs/tags")]).toEqual([person, isTheirs]);
    }
    const refused = async (entry: object) => {
      const json = { name: "w", allowed_to_create: [entry] };
      const answer = await project.send("POST", "/protected_tags", json, "maintainer");
      return [answer.status, answer.json.message];
    };
    expect(await refused({ user_id: ids["stranger"] })).toEqual([
      422,
      ["Create access levels user is not a member of the project"],
    ]);
    expect((await refused({}))[0]).toBe(400);
  });

  it("are listed the oldest rule first", async () => {
    await project.send("POST", "/protected_tags", { name: "a" }, "maintainer");
    const { json } = await project.get("/protected_tags", "maintainer");
    expect(json.map(({ name }: { name: string }) => name)).toEqual(["v*", "a"]);
  });
});

describe("unprotecting", () => {
  it("is for whom the rule lets: they change and remove it", async () => {
    await project.commit("held", { "b.txt": "text\n" }, { from: "main" });
    const rule = { name: "held", allowed_to_unprotect: [{ user_id: ids["owner"] }] };
    // Nobody makes a rule that they could not remove.
    const loophole = await post(rule);
    expect([loophole.status, loophole.json.message]).toEqual([403, "403 Forbidden"]);
    expect((await project.get("/protected_branches/held")).status).toBe(404);
    expect((await post(rule, "owner")).status).toBe(201);
    for (const person of [as("developer"), as("maintainer")]) {
      expect((await patch("held", { push_access_level: 30 }, person)).status).toBe(403);
      expect((await patch("held", { allow_force_push: true }, person)).status).toBe(403);
      expect((await remove("held", person)).status).toBe(403);
      for (const way of ["protect", "unprotect"]) {
        const path = `/repository/branches/held/${way}`;
        expect((await project.send("PUT", path, {}, person)).status).toBe(403);
      }
    }
    const { json: kept } = await project.get("/protected_branches/held");
    expect(kept).toMatchObject({
      allow_force_push: false,
      push_access_levels: [{ access_level: 40 }],
    });
    expect((await patch("held", { push_access_level: 30 }, "owner")).status).toBe(200);
    const [{ id }] = kept.unprotect_access_levels;
    const open = { allowed_to_unprotect: [{ id, _destroy: true }] };
    const opened = await patch("held", open, "owner");
    expect(opened.json.unprotect_access_levels).toEqual([]);
    // Then the role is enough.
    expect((await remove("held")).status).toBe(204);
  });

  it("can be for administrators", async () => {
    expect((await post({ name: "high", unprotect_access_level: 60 }, "owner")).status).toBe(403);
    expect((await post({ name: "high", unprotect_access_level: 60 }, "admin")).status).toBe(201);
    expect((await remove("high", "owner")).status).toBe(403);
    expect((await remove("high", "admin")).status).toBe(204);
  });
});

describe("whom a grant is for", () => {
  let path = "";
  beforeAll(async () => {
    const json = { name: "Left", namespace_id: ids["acme"], initialize_with_readme: true };
    const { json: made } = await app.call("POST /projects", { as: "owner", json });
    path = `/projects/${made.id}`;
  });
  const protect = async (json: object) => {
    await app.call(`DELETE ${path}/protected_branches/main`, { as: "owner" });
    const made = await app.call(`POST ${path}/protected_branches`, {
      as: "owner",
      json: { name: "main", push_access_level: 0, ...json },
    });
    expect(made.status, made.text).toBe(201);
  };
  const pushers = async () => {
    const { json } = await app.call(`GET ${path}/protected_branches/main`, { as: "owner" });
    return entriesOf(json.push_access_levels);
  };
  const join = (user_id: number | undefined, access_level = 30, to = path, more = {}) =>
    app.call(`POST ${to}/members`, { as: "owner", json: { user_id, access_level, ...more } });
  const mayPush = async () =>
    (await app.call(`GET ${path}/repository/branches/main`, { as: "stranger" })).json.can_push ??
    false;

  it("goes when they leave, unless they are still in its group", async () => {
    const user_id = ids["stranger"];
    await join(user_id);
    await protect({ allowed_to_push: [{ user_id }] });
    expect(await mayPush()).toBe(true);
    await join(user_id, 30, "/groups/acme");
    const leave = (from: string) => app.call(`DELETE ${from}/members/${user_id}`, { as: "owner" });
    expect((await leave(path)).status).toBe(204);
    expect([await mayPush(), await pushers()]).toEqual([
      true,
      [
        ["No one", 0],
        ["The stranger", user_id],
      ],
    ]);
    expect((await leave("/groups/acme")).status).toBe(204);
    expect([await mayPush(), await pushers()]).toEqual([false, [["No one", 0]]]);
    // Coming back is not enough.
    await join(user_id);
    expect(await mayPush()).toBe(false);
    await leave(path);
  });

  it("goes with a membership that expires, and counts no more from that day on", async () => {
    const user_id = ids["stranger"];
    await join(user_id, 30, path, { expires_at: "2099-01-01" });
    await protect({ allowed_to_push: [{ user_id }] });
    expect(await mayPush()).toBe(true);
    await app.store.transaction((db) =>
      db.run("update members set expires_at = '2020-01-01' where expires_at = '2099-01-01'"),
    );
    expect(await mayPush()).toBe(false);
    await app.admin.maintenance.removeExpiredMembers();
    expect(await pushers()).toEqual([["No one", 0]]);
  });

  it("goes with a user, a group or a key that is deleted, and with a key that is taken away", async () => {
    const { json: user } = await app.call("POST /users", {
      as: "admin",
      json: {
        username: "gone",
        name: "Gone",
        email: "gone@example.com",
        password: "correct horse x",
      },
    });
    await join(user.id);
    const [one, other] = [await addKey(path, true), await addKey(path, true)];
    const { json: own } = await app.call("POST /groups", {
      as: "owner",
      json: { name: "Above", path: "above" },
    });
    await app.call(`PUT ${path}/transfer`, { as: "admin", json: { namespace: own.id } });
    await protect({
      allowed_to_push: [
        { user_id: user.id },
        { group_id: own.id },
        { deploy_key_id: one },
        { deploy_key_id: other },
      ],
    });
    expect(await pushers()).toHaveLength(5);
    await app.call(`DELETE ${path}/deploy_keys/${one}`, { as: "owner" });
    expect(await pushers()).toHaveLength(4);
    expect(
      (await app.call(`DELETE /users/${user.id}?hard_delete=true`, { as: "admin" })).status,
    ).toBe(204);
    expect(await pushers()).toHaveLength(3);
    await app.call(`PUT ${path}/transfer`, { as: "admin", json: { namespace: ids["acme"] } });
    expect((await app.call(`DELETE /groups/${own.id}`, { as: "admin" })).status).toBe(202);
    expect(await pushers()).toEqual([
      ["No one", 0],
      [`key ${keys}`, other],
    ]);
  });
});

describe("GraphQL", () => {
  it("shows the grants of rules", async () => {
    const key = await addKey(project.path, true);
    await post({
      name: "graph",
      allowed_to_push: [
        { access_level: 30 },
        { user_id: ids["developer"] },
        { deploy_key_id: key },
      ],
      allowed_to_merge: [{ group_id: ids["secret"] }],
    });
    const query = `{ project(fullPath: "${project.fullPath}") { branchRules { nodes { name branchProtection {
      pushAccessLevels { count nodes { accessLevel accessLevelDescription user { username } group { fullPath } } }
      deployKeys: pushAccessLevels { nodes { deployKey { id title } } }
      mergeAccessLevels { nodes { accessLevel accessLevelDescription user { username } group { fullPath } } }
      unprotectAccessLevels { nodes { accessLevel } } } } } } }`;
    const { json } = await app.call("POST http://pm.test/api/graphql", {
      as: "maintainer",
      json: { query },
    });
    const rules: { name: string; branchProtection: unknown }[] =
      json.data.project.branchRules.nodes;
    expect(rules.find(({ name }) => name === "graph")?.branchProtection).toEqual({
      pushAccessLevels: {
        count: 3,
        nodes: [
          {
            accessLevel: 30,
            accessLevelDescription: "Developers + Maintainers",
            user: null,
            group: null,
          },
          {
            accessLevel: 40,
            accessLevelDescription: "The developer",
            user: { username: "developer" },
            group: null,
          },
          { accessLevel: 40, accessLevelDescription: `key ${keys}`, user: null, group: null },
        ],
      },
      mergeAccessLevels: {
        nodes: [
          {
            accessLevel: 40,
            accessLevelDescription: "Secret",
            user: null,
            group: { fullPath: "secret" },
          },
        ],
      },
      unprotectAccessLevels: { nodes: [{ accessLevel: 40 }] },
      deployKeys: {
        nodes: [
          { deployKey: null },
          { deployKey: null },
          { deployKey: { id: `gid://gitlab/DeployKey/${key}`, title: `key ${keys}` } },
        ],
      },
    });
  });
});

it("a page of rules takes as many statements as one rule", async () => {
  const count = async (query: string) => {
    app.statements.length = 0;
    const { json } = await project.get(`/protected_branches?${query}`);
    return [json.length, app.statements.filter((sql) => /protection_grants/.test(sql)).length];
  };
  const [few, one] = await count("per_page=1");
  const [many, all] = await count("per_page=100");
  expect([few, (many ?? 0) > 5, one, all]).toEqual([1, true, 1, 1]);
});
