// What each caller may push, change by change: by role, visibility, credentials, and what is protected.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROLES } from "../../src/core/access/roles.ts";
import type { Scope } from "../../src/core/scopes.ts";
import { insertWithToken } from "../../src/oauth/grants.ts";
import {
  everyone,
  givePassword,
  PASSWORD,
  type Person,
  type TestApp,
  testApp,
  tokenOf,
} from "../helpers.ts";
import { MULTIPLEXED, newCommit, pushHeaders, pushOf, pushTo } from "../packs.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

type Caller = Exclude<Person, "anonymous">;
const signedIn = everyone.filter((person) => person !== "anonymous");
const levelOf = (person: Person) => ({ admin: 100, ...ROLES })[person as "owner"] ?? 0;

/** The references of a project's repository, as an administrator sees them. */
async function refsOf(project: string): Promise<Record<string, string>> {
  const { text } = await app.call(
    `GET http://pm.test/${project}.git/info/refs?service=git-receive-pack`,
    { headers: pushHeaders(tokenOf("admin")) },
  );
  const lines = text.matchAll(/([0-9a-f]{40}) (refs\/[^\0\n]+)/g);
  return Object.fromEntries([...lines].map(([, oid, name]) => [name, oid]));
}

/** Pushes to a project. */
const push = (project: string, body: Buffer, headers: Record<string, string>) =>
  pushTo(app, project, body, headers);

let commits = 0;
/** A push of a new commit to a reference, after the one it is for now unless it is forced. */
async function change(
  project: string,
  name: string,
  kind: "create" | "update" | "force" | "delete",
) {
  const from = kind === "create" ? undefined : (await refsOf(project))[name];
  if (kind === "delete") return pushOf([{ name, from }], undefined, MULTIPLEXED);
  commits += 1;
  const made = newCommit(`${commits}`, kind === "update" ? from : undefined);
  return pushOf([{ name, from, to: made.oid }], made.pack, MULTIPLEXED);
}

/** Makes sure that a reference is there or not, whatever protects it. */
async function prepare(project: string, name: string, isThere: boolean): Promise<void> {
  const refs = await refsOf(project);
  if ((refs[name] !== undefined) === isThere) return;
  const headers = pushHeaders(tokenOf("admin"));
  const path = `/projects/${encodeURIComponent(project)}/${name.startsWith("refs/tags") ? "protected_tags" : "protected_branches"}`;
  const { json: rules } = await app.call(`GET ${path}?per_page=100`, { as: "admin" });
  for (const rule of rules) {
    await app.call(`DELETE ${path}/${encodeURIComponent(rule.name)}`, { as: "admin" });
  }
  const sent = await change(project, name, isThere ? "create" : "delete");
  expect((await push(project, sent, headers)).text).toContain(`ok ${name}`);
  for (const rule of rules) {
    const json = {
      name: rule.name,
      allow_force_push: rule.allow_force_push,
      push_access_level: rule.push_access_levels?.[0].access_level,
      merge_access_level: rule.merge_access_levels?.[0].access_level,
      create_access_level: rule.create_access_levels?.[0].access_level,
    };
    expect((await app.call(`POST ${path}`, { as: "admin", json })).status).toBe(201);
  }
}

const protect = (project: string, kind: "branches" | "tags", json: object) =>
  app.call(`POST /projects/${encodeURIComponent(project)}/protected_${kind}`, {
    as: "admin",
    json,
  });

/** Fills a repository with branches and tags of every kind. */
async function fill(project: string): Promise<void> {
  const { oid, pack } = newCommit(project);
  const names = ["heads/main", "heads/free", "heads/loose/a", "heads/open/a", "heads/closed/a"];
  const tags = ["tags/t", "tags/v1"];
  const changes = [...names, ...tags].map((name) => ({ name: `refs/${name}`, to: oid }));
  const { text } = await push(project, pushOf(changes, pack), pushHeaders(tokenOf("admin")));
  expect(text.match(/ok refs/g)).toHaveLength(changes.length);
  await protect(project, "branches", { name: "loose/*", allow_force_push: true });
  await protect(project, "branches", { name: "open/*", push_access_level: 30 });
  await protect(project, "branches", { name: "closed/*", push_access_level: 0 });
  await protect(project, "branches", {
    name: "hidden/*",
    push_access_level: 0,
    merge_access_level: 0,
  });
  await protect(project, "tags", { name: "v*" });
}

const { developer, maintainer } = ROLES;
const NOBODY = 1000;
const PUSHING = "You are not allowed to push code to protected branches on this project.";
const FORCING = "You are not allowed to force push code to a protected branch on this project.";
const ONLY_MAINTAINERS =
  "You are not allowed to delete protected branches from this project. Only a project maintainer or owner can delete a protected branch.";
const ON_WEB = "You can only delete protected branches using the web interface.";
const NO_TAG_DELETION =
  "You are not allowed to delete protected tags from this project. Only a project maintainer or owner can delete a protected tag.";

/** A change, the level from which it is allowed, and what developers and, if they are refused, maintainers are told. */
const CHANGES: [
  kind: "create" | "update" | "force" | "delete",
  name: string,
  level: number,
  ...texts: string[],
][] = [
  ["create", "heads/new", developer],
  ["update", "heads/free", developer],
  ["force", "heads/free", developer],
  ["delete", "heads/free", developer],
  ["update", "heads/main", maintainer, PUSHING],
  ["force", "heads/main", NOBODY, FORCING],
  ["delete", "heads/main", NOBODY, "The default branch of a project cannot be deleted."],
  ["update", "heads/open/a", developer],
  ["force", "heads/open/a", NOBODY, FORCING],
  ["create", "heads/open/b", developer],
  ["delete", "heads/open/a", NOBODY, ONLY_MAINTAINERS, ON_WEB],
  ["update", "heads/loose/a", maintainer, PUSHING],
  ["force", "heads/loose/a", maintainer, PUSHING],
  ["update", "heads/closed/a", NOBODY, PUSHING],
  [
    "create",
    "heads/closed/b",
    NOBODY,
    "You are not allowed to create protected branches on this project.",
    "You can only create protected branches using the web interface and API.",
  ],
  [
    "create",
    "heads/hidden/a",
    NOBODY,
    "You are not allowed to create protected branches on this project.",
  ],
  ["create", "tags/u", developer],
  ["update", "tags/t", developer],
  ["delete", "tags/t", developer],
  ["create", "tags/v2", maintainer, "You are not allowed to create this tag as it is protected."],
  ["update", "tags/v1", NOBODY, "Protected tags cannot be updated."],
  [
    "delete",
    "tags/v1",
    NOBODY,
    NO_TAG_DELETION,
    "You can only delete protected tags using the web interface.",
  ],
  ["create", "tags/main", NOBODY, "You cannot use default branch name to create a tag"],
  [
    "create",
    `heads/${"a".repeat(40)}`,
    NOBODY,
    "You cannot create a branch with a SHA-1 or SHA-256 branch name.",
  ],
  [
    "create",
    `tags/${"a".repeat(40)}`,
    NOBODY,
    "You cannot create a tag with a SHA-1 or SHA-256 tag name.",
  ],
];

describe.each(["public", "internal", "private"] as const)("in a %s project", (visibility) => {
  const project = `secret/${visibility}`;
  beforeAll(async () => {
    const { json: group } = await app.call("GET /groups/secret", { as: "admin" });
    if (visibility !== "private") {
      await app.call(`PUT /groups/${group.id}`, { as: "admin", json: { visibility: "public" } });
    }
    const json = { name: visibility, visibility, namespace_id: group.id };
    expect((await app.call("POST /projects", { as: "admin", json })).status).toBe(201);
    await fill(project);
  });

  it.each(CHANGES)("%s refs/%s needs level %d", async (kind, short, least, ...texts) => {
    const name = `refs/${short}`;
    for (const person of signedIn) {
      await prepare(project, name, kind !== "create");
      const before = await refsOf(project);
      const sent = await change(project, name, kind);
      const { status, text } = await push(project, sent, pushHeaders(tokenOf(person)));
      const level = levelOf(person);
      const seen = [person, status, text];
      if (level < developer) {
        const isSeen = visibility !== "private" || level > 0;
        expect(seen.slice(0, 2)).toEqual([person, isSeen ? 403 : 404]);
      } else if (level >= least) {
        expect(text, person).toContain(`ok ${name}`);
        continue;
      } else {
        const said = level >= maintainer ? (texts[1] ?? texts[0]) : texts[0];
        expect(text, person).toContain(`GitLab: ${said}`);
        expect(text, person).toContain(`ng ${name} pre-receive hook declined`);
      }
      expect(await refsOf(project)).toEqual(before);
    }
    const anonymous = await push(project, await change(project, name, kind), {
      "content-type": "application/x-git-receive-pack-request",
    });
    expect(anonymous.status).toBe(401);
  });
});

describe("credentials", () => {
  const project = "acme/site";
  const people = ["maintainer", "developer", "reporter"] as const;
  const SCOPES: readonly Scope[] = [
    ...(["api", "read_api", "read_user", "read_repository", "write_repository"] as const),
  ];
  beforeAll(async () => {
    await fill(project);
    await givePassword(app, ...people);
  });

  /** What a push to a free and to a protected branch is answered: a status, or what became of it. */
  async function outcomes(headers: Record<string, string>) {
    const found: unknown[] = [];
    for (const name of ["refs/heads/free", "refs/heads/main"]) {
      const { status, text } = await push(project, await change(project, name, "update"), headers);
      found.push(status !== 200 ? status : /ok refs/.test(text) ? "ok" : "declined");
    }
    return found;
  }
  const allowed = {
    maintainer: ["ok", "ok"],
    developer: ["ok", "declined"],
    reporter: [403, 403],
  };

  it.each(SCOPES)("a token with the scope %s", async (scope) => {
    const mayPush = ["api", "write_repository"].includes(scope);
    for (const user of people) {
      const { token } = await app.admin.tokens.create({ user, name: scope, scopes: [scope] });
      const expected = mayPush ? allowed[user] : [403, 403];
      expect(await outcomes(pushHeaders(token)), user).toEqual(expected);
      const { id } = await app.admin.users.get(user);
      const grant = { applicationId: null, userId: id, scopes: scope };
      const issued = await app.store.transaction((db) => insertWithToken(db, grant, Date.now()));
      expect(await outcomes(pushHeaders(issued.accessToken, "oauth2")), user).toEqual(expected);
    }
  });

  it("a password, a job token, or none that is valid", async () => {
    for (const user of people) {
      expect(await outcomes(pushHeaders(PASSWORD, user)), user).toEqual(allowed[user]);
      const job = await app.admin.tokens.createForJob({ user, project });
      expect(await outcomes(pushHeaders(job.token, "gitlab-ci-token"))).toEqual([403, 403]);
    }
    expect(await outcomes(pushHeaders("wrong", "maintainer"))).toEqual([401, 401]);
    expect(await outcomes(pushHeaders(tokenOf("blocked")))).toEqual([401, 401]);
  });

  it.each(SCOPES)("a token with the scope %s fetches", async (scope) => {
    const { token } = await app.admin.tokens.create({
      user: "reporter",
      name: "f",
      scopes: [scope],
    });
    const { authorization } = pushHeaders(token);
    const { status } = await app.call(
      `GET http://pm.test/${project}.git/info/refs?service=git-upload-pack`,
      { headers: { authorization } },
    );
    expect(status).toBe(scope === "read_user" ? 403 : 200);
    const read = await app.call("GET /projects/acme%2Fsite/issues", {
      headers: { "private-token": token },
    });
    expect(read.status).toBe(["api", "read_api"].includes(scope) ? 200 : 403);
  });
});

describe("rules", () => {
  const project = "secret/vault";
  const as = (person: Caller) => pushHeaders(tokenOf(person));
  const said = async (person: Caller, name: string) =>
    (await push(project, await change(project, name, "create"), as(person))).text;

  it("let only maintainers begin a repository, and protect its first branch", async () => {
    const refused = await said("developer", "refs/heads/first");
    expect(refused).toContain(
      "GitLab: A default branch (e.g. main) does not yet exist for secret/vault",
    );
    expect(refused).toContain("ng refs/heads/first pre-receive hook declined");
    expect(await said("maintainer", "refs/heads/first")).toContain("ok refs/heads/first");
    const path = "/projects/secret%2Fvault/protected_branches";
    const { json } = await app.call(`GET ${path}`, { as: "reporter" });
    expect(json).toMatchObject([
      {
        name: "first",
        push_access_levels: [{ access_level: 40 }],
        merge_access_levels: [{ access_level: 40 }],
        allow_force_push: false,
      },
    ]);
    expect(
      (await push(project, await change(project, "refs/heads/first", "update"), as("developer")))
        .text,
    ).toContain(PUSHING);
    await app.call(`DELETE ${path}/first`, { as: "maintainer" });
    expect(
      (await push(project, await change(project, "refs/heads/first", "update"), as("developer")))
        .text,
    ).toContain("ok refs/heads/first");
  });

  it("add up: the most permissive one counts", async () => {
    await protect(project, "branches", { name: "a*", push_access_level: 0 });
    await protect(project, "branches", { name: "*c", push_access_level: 30 });
    expect(await said("developer", "refs/heads/abc")).toContain("ok refs");
    expect(await said("developer", "refs/heads/abd")).toContain("ng refs");
  });

  it.each([
    ["x*y", "x/y", true],
    ["x*y", "xy", true],
    ["x*y", "xyz", false],
    ["x*x", "x", false],
    ["x.z", "xyz", false],
    ["a*b*c*d", "a-b-bc-c-d", true],
    ["a*b*c*d", "a-c-b-d", false],
    ["*-stable", "1-stable", true],
    ["X", "x", false],
    ["**", "anything", true],
  ])("of %s fit %s: %s", async (pattern, branch, fits) => {
    commits += 1;
    const folder = `rule${commits}`;
    const none = { push_access_level: 0, merge_access_level: 0 };
    await protect(project, "branches", { name: `${folder}/${pattern}`, ...none });
    expect(await said("developer", `refs/heads/${folder}/${branch}`)).toContain(
      fits ? "You are not allowed to create protected branches" : "ok refs",
    );
  });

  it("decide of a push as a whole", async () => {
    await protect(project, "branches", { name: "v/*", push_access_level: 0 });
    const made = newCommit("both");
    const changes = ["one", "v/anything"].map((name) => ({
      name: `refs/heads/${name}`,
      to: made.oid,
    }));
    const { text } = await push(project, pushOf(changes, made.pack, MULTIPLEXED), as("developer"));
    expect(text.match(/ng refs\S+ pre-receive hook declined/g)).toHaveLength(2);
    expect(Object.keys(await refsOf(project))).not.toContain("refs/heads/one");
  });

  it("are those at the end of a push, as is the pusher's role", async () => {
    const made = newCommit("late");
    const body = pushOf([{ name: "refs/heads/late", to: made.oid }], made.pack, MULTIPLEXED);
    const half = body.length >> 1;
    let finish = () => {};
    const waiting = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const stream = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new Uint8Array(body.subarray(0, half)));
        await waiting;
        controller.enqueue(new Uint8Array(body.subarray(half)));
        controller.close();
      },
    });
    const answer = app.fetch(
      new Request(`http://pm.test/${project}.git/git-receive-pack`, {
        method: "POST",
        headers: as("developer"),
        body: stream,
        duplex: "half",
      } as RequestInit),
    );
    await protect(project, "branches", {
      name: "late",
      push_access_level: 0,
      merge_access_level: 0,
    });
    finish();
    expect(await (await answer).text()).toContain("ng refs/heads/late pre-receive hook declined");
  });
});
