import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Seed } from "../../src/index.ts";
import {
  type Answer,
  baseSeed,
  engine,
  everyone,
  type Person,
  type TestApp,
  testApp,
} from "../helpers.ts";
import { entry, Objects, push } from "../packs.ts";
import { ask, send } from "./ask.ts";

// What GraphQL, and fields of REST, say that one may do, compared with what the routes answer to the same caller: for each
// role, for authors and assignees, and for whatever else abilities look at.

const SITE = "/projects/acme%2Fsite";

/** What is in each project of the matrix: written by somebody without a role, by a member, and assigned to a guest. */
const records = (outsider: string) => {
  const written = [
    { author: outsider },
    { author: "guest" },
    { author: "reporter", assignees: ["guest"] },
    { author: "maintainer" },
  ];
  return {
    issues: [
      ...written.map((by) => ({ title: "Broken", ...by })),
      ...written.map((by) => ({ title: "Secret", confidential: true, ...by })),
    ],
    merge_requests: [
      ...written,
      { author: "reporter", state: "closed" as const },
      { author: "owner", state: "merged" as const },
    ].map((by, at) => ({
      title: "Draft: work",
      source_branch: `work-${at}`,
      target_branch: "main",
      ...by,
    })),
    snippets: written.map(({ author }) => ({
      author,
      title: "s",
      file_name: "s",
      content: "s",
      visibility: "public" as const,
    })),
  };
};

/** Projects by what they are examples of: their path, and what becomes of them once they have their records. */
const PLACES: Record<string, readonly [path: string, becomes?: readonly [string, object?]]> = {
  "public project": ["acme/open"],
  "private project": ["secret/closed"],
  "archived project": ["acme/archived", ["POST /projects/acme%2Farchived/archive"]],
  "project marked for deletion": ["acme/ending", ["DELETE /projects/acme%2Fending"]],
  "project of a group marked for deletion": ["leaving/p", ["DELETE /groups/leaving"]],
  "project without features": [
    "acme/bare",
    [
      "PUT /projects/acme%2Fbare",
      {
        issues_enabled: false,
        merge_requests_enabled: false,
        snippets_enabled: false,
        wiki_enabled: false,
      },
    ],
  ],
};

const members = Object.fromEntries(
  ["guest", "reporter", "developer", "maintainer", "owner"].map((role) => [role, role]),
) as Record<string, "guest">;

const projectsIn = (group: string) =>
  Object.values(PLACES)
    .map(([path]) => path.split("/") as [string, string])
    .filter(([owner]) => owner === group)
    .map(([, path]) => ({
      path,
      visibility: group === "secret" ? ("private" as const) : ("public" as const),
      ...records(group === "secret" ? "guest" : "stranger"),
    }));

const seed: Seed = {
  ...baseSeed,
  groups: [
    ...(baseSeed.groups ?? []).map((group) => ({
      ...group,
      projects: [...(group.projects ?? []), ...projectsIn(group.path)],
    })),
    { path: "leaving", visibility: "public", members, projects: projectsIn("leaving") },
  ],
};

let app: TestApp;
/** The paths that the places have by now. */
const paths = new Map<string, string>();

beforeAll(async () => {
  app = await testApp({ seed });
  const objects = new Objects();
  const blob = objects.add("blob", "a\n");
  const tree = objects.add("tree", entry("100644", "a", blob));
  const main = objects.commit(tree, []);
  const work = objects.commit(objects.add("tree", entry("100644", "b", blob)), [main]);
  await push(app, "acme/site", objects.pack, {
    "refs/heads/main": main,
    "refs/heads/open": main,
    ...Object.fromEntries(
      ["a", "b", "c", "d"].map((name) => [`refs/heads/${name}`, work] as const),
    ),
  });
  const delays = {
    delayed_project_deletion: true,
    delayed_group_deletion: true,
    deletion_adjourned_period: 3,
  };
  expect((await call("admin", "PUT /application/settings", delays)).status).toBe(200);
  for (const [path, becomes] of Object.values(PLACES)) {
    const project = `/projects/${encodeURIComponent(path)}`;
    await push(app, path, objects.pack, {
      "refs/heads/main": main,
      "refs/heads/other": main,
      "refs/tags/v1": main,
      "refs/tags/held": main,
    });
    for (const tag_name of ["v1", "held"]) {
      const released = await call("owner", `POST ${project}/releases`, { tag_name });
      expect(released.status).toBe(201);
    }
    const held = { name: "held", create_access_level: 40 };
    expect((await call("owner", `POST ${project}/protected_tags`, held)).status).toBe(201);
    const lock = { discussion_locked: true };
    expect((await call("owner", `PUT ${project}/issues/1`, lock)).status).toBe(200);
    expect((await call("owner", `PUT ${project}/merge_requests/1`, lock)).status).toBe(200);
    const { json: found } = await call("owner", `GET ${project}`);
    if (becomes) expect((await call("owner", ...becomes)).status).toBeLessThan(300);
    // What is marked for deletion gets another path.
    const { json: left } = await call("owner", `GET /projects/${found.id}`);
    paths.set(path, left.path_with_namespace);
  }
});
afterAll(() => app.dispose());

const call = async (as: Person, request: string, json: object = {}) =>
  app.call(request, { as, ...(request.startsWith("GET") ? {} : { json }) });

/** Whether a route lets a caller in: refusals of their role are 401, 403 or, for what they may not see, 404. */
const isLetIn = ({ status }: { status: number }) => ![401, 403, 404].includes(status);

async function created(path: string, json: object, as: Person): Promise<number> {
  const made = await call(as, `POST ${SITE}/${path}`, json);
  expect([made.status, made.text]).toEqual([201, made.text]);
  return made.json.iid;
}

/** What fields of a type tell, as requests below the record's address. */
type Attempts = Record<string, (as: Person) => readonly [request: string, json?: object]>;

const noting = () => ["POST /notes", { body: "So?" }] as const;
const awarding = (as: Person) =>
  ["POST /award_emoji", { name: as === "guest" ? "tada" : "+1" }] as const;
const updating = (as: Person) => ["PUT ", { description: `By ${as}` }] as const;
const estimating = () => ["POST /time_estimate", { duration: "1h" }] as const;

const TYPES = {
  IssuePermissions: {
    readIssue: () => ["GET "],
    updateIssue: updating,
    adminIssue: estimating,
    reopenIssue: () => ["PUT ", { state_event: "reopen" }],
    createNote: noting,
  },
  MergeRequestPermissions: {
    readMergeRequest: () => ["GET "],
    updateMergeRequest: updating,
    createNote: noting,
    // A draft can't be merged; whether the caller might is answered before that.
    canMerge: () => ["PUT /merge"],
    canApprove: () => ["POST /approve"],
  },
  SnippetPermissions: {
    readSnippet: () => ["GET "],
    updateSnippet: (as) => ["PUT ", { title: `By ${as}` }],
    adminSnippet: (as) => ["PUT ", { title: `By ${as}` }],
    createNote: noting,
    awardEmoji: awarding,
  },
  NotePermissions: {
    readNote: () => ["GET "],
    createNote: () => ["POST /..", { body: "So?" }],
    awardEmoji: awarding,
    adminNote: (as) => ["PUT ", { body: `By ${as}` }],
  },
  ProjectPermissions: {
    readProject: () => ["GET "],
    adminProject: () => ["PUT ?merge_method=merge"],
    createIssue: () => ["POST /issues", { title: "An issue" }],
    createLabel: (as) => ["POST /labels", { name: `by ${as}`, color: "#ff0000" }],
    createMergeRequestFrom: () => [
      "POST /merge_requests",
      { title: "m", source_branch: "none", target_branch: "none" },
    ],
    createSnippet: () => [
      "POST /snippets",
      { title: "s", file_name: "s", content: "s", visibility: "public" },
    ],
    createWiki: (as) => ["POST /wikis", { title: `by ${as}`, content: "c" }],
    pushCode: (as) => ["POST /repository/branches", { branch: `by-${as}`, ref: "none" }],
    readWiki: () => ["GET /wikis"],
  },
} satisfies Record<string, Attempts>;

/** Fields that no request of the kind tells, and why; other tests of this file compare some of them. */
const OTHERS: Record<string, string> = {
  "MergeRequestPermissions.adminMergeRequest": "what developers may do has a part in each change",
  "NotePermissions.resolveNote": "below, by notes and by discussions",
  "NotePermissions.repositionNote": "adminNote",
  "ProjectPermissions.adminIssue": "IssuePermissions.adminIssue",
  "ProjectPermissions.createMergeRequestIn": "below: it needs a fork",
  "GroupPermissions.readGroup": "below",
  "GroupPermissions.createProjects": "below",
  "GroupPermissions.adminGroup": "below",
  "GroupPermissions.adminIssue": "reporters order issues on boards of groups",
  "RunnerPermissions.readRunner": "runners.test.ts",
  "RunnerPermissions.updateRunner": "runners.test.ts",
  "RunnerPermissions.deleteRunner": "runners.test.ts",
  "RunnerPermissions.assignRunner": "runners.test.ts",
  "UserPermissions.createSnippet": "everybody for themselves",
};

/** Types that have the same values as another, or the same for everybody. */
const SAME = ["WorkItemPermissions", "WikiPagePermissions"];

it("each field of each type of permissions is compared, or named", async () => {
  const { __schema } = await ask(app, "{ __schema { types { name fields { name } } } }");
  const declared = (__schema.types as { name: string; fields: { name: string }[] }[])
    .filter(({ name }) => name.endsWith("Permissions") && !SAME.includes(name))
    .flatMap(({ name, fields }) => fields.map((field) => `${name}.${field.name}`));
  const compared = Object.entries(TYPES).flatMap(([type, attempts]) =>
    Object.keys(attempts).map((field) => `${type}.${field}`),
  );
  expect([...compared, ...Object.keys(OTHERS)].sort()).toEqual(declared.sort());
});

it("what one may do with work items has GitLab's names, and no others", async () => {
  const { __type } = await ask(app, `{ __type(name: "WorkItemPermissions") { fields { name } } }`);
  expect(__type.fields.map(({ name }: { name: string }) => name).sort()).toEqual([
    ...["adminParentLink", "adminWorkItem", "adminWorkItemLink", "blockedWorkItems"],
    ...["cloneWorkItem", "createNote", "deleteWorkItem", "markNoteAsInternal", "moveWorkItem"],
    ...["readWorkItem", "reportSpam", "setWorkItemMetadata", "summarizeComments"],
    "updateWorkItem",
  ]);
});

/** What the routes answer to a caller, by the fields that tell it. */
async function answersTo(as: Person, path: string, attempts: Attempts) {
  const answers: Record<string, boolean> = {};
  for (const [field, attempt] of Object.entries(attempts)) {
    const [request, json] = attempt(as);
    const [method, rest = ""] = request.split(" ");
    const at = rest === "/.." ? path.replace(/\/\d+$/, "") : path + rest;
    const answer = await call(as, `${method} ${at}`, json);
    answers[field] = isLetIn(answer);
    if (field === "canApprove" && answers[field]) await call(as, `POST ${path}/unapprove`);
  }
  return answers;
}

/** Compares a record's permissions; what GraphQL does not show must be refused by the route, too. */
async function expectSame(
  as: Person,
  path: string,
  type: keyof typeof TYPES,
  node: string,
  read: (data: Answer["json"]) => { userPermissions: Record<string, boolean> } | undefined,
) {
  const attempts = TYPES[type];
  const query = node.replace("$", `userPermissions { ${Object.keys(attempts).join(" ")} }`);
  const { data, errors } = await send(app, as, query);
  expect([query, errors]).toEqual([query, undefined]);
  const shown = read(data);
  const got = await call(as, `GET ${path}`);
  expect([as, path, isLetIn(got)]).toEqual([as, path, shown != null]);
  if (!shown) return undefined;
  const { userPermissions } = shown;
  expect([as, path, userPermissions]).toEqual([as, path, await answersTo(as, path, attempts)]);
  return { userPermissions, json: got.json };
}

/** Rights are decided by the same code on both engines: two of the places are enough on PostgreSQL. */
const onEngine = Object.entries(PLACES).slice(0, engine === "sqlite" ? undefined : 2);

describe.each(onEngine.map(([name, [path]]) => [name, path] as const))("in a %s", (_, path) => {
  let fullPath = "";
  let project = "";
  beforeAll(() => {
    fullPath = paths.get(path) as string;
    project = `/projects/${encodeURIComponent(fullPath)}`;
  });
  const inProject = (text: string) => `{ project(fullPath: "${fullPath}") { ${text} } }`;

  it("what one may do with issues is what routes answer", async () => {
    for (let iid = 1; iid <= 8; iid += 1) {
      for (const as of everyone) {
        const node = inProject(`issue(iid: "${iid}") { $ }`);
        await expectSame(
          as,
          `${project}/issues/${iid}`,
          "IssuePermissions",
          node,
          (data) => data.project?.issue,
        );
      }
    }
  });

  it("what one may do with merge requests is what routes answer, and what REST's fields say", async () => {
    for (let iid = 1; iid <= 6; iid += 1) {
      for (const as of everyone) {
        const node = inProject(`mergeRequest(iid: "${iid}") { $ }`);
        const path = `${project}/merge_requests/${iid}`;
        const read: Parameters<typeof expectSame>[4] = (data) => data.project?.mergeRequest;
        const same = await expectSame(as, path, "MergeRequestPermissions", node, read);
        if (!same) continue;
        const { canMerge, canApprove } = same.userPermissions;
        const approvals = await call(as, `GET ${path}/approvals`);
        expect([as, iid, same.json.user.can_merge, approvals.json.user_can_approve]).toEqual([
          as,
          iid,
          canMerge,
          canApprove,
        ]);
      }
    }
  });

  it("what one may do with snippets is what routes answer", async () => {
    const found = await call("admin", "GET /snippets/all?per_page=100");
    const { json: shown } = await call("admin", `GET ${project}`);
    const own = (found.json as { id: number; project_id: number }[]).filter(
      ({ project_id }) => project_id === shown.id,
    );
    for (const { id } of own) {
      for (const as of everyone) {
        const node = `{ snippets(ids: ["gid://gitlab/ProjectSnippet/${id}"]) { nodes { $ } } }`;
        await expectSame(
          as,
          `${project}/snippets/${id}`,
          "SnippetPermissions",
          node,
          (data) => data.snippets.nodes[0],
        );
      }
    }
  });

  it("what one may do in the project is what routes answer", async () => {
    for (const as of everyone) {
      await expectSame(as, project, "ProjectPermissions", inProject("$"), (data) => data.project);
    }
  });

  it("who may open merge requests into it from a fork is told by REST and GraphQL", async () => {
    for (const as of everyone) {
      const { data } = await send(
        app,
        as,
        inProject("id userPermissions { createMergeRequestIn }"),
      );
      if (!data.project) continue;
      const json = {
        title: "m",
        source_branch: "none",
        target_branch: "none",
        target_project_id: Number(data.project.id.split("/").at(-1)),
      };
      // Anybody's project will do: that it is no fork is answered to those who might.
      const name = `of-${fullPath.replace("/", "-")}`;
      const own = await call(as, "POST /projects", { name, path: name });
      const opening =
        own.json?.id && (await call(as, `POST /projects/${own.json.id}/merge_requests`, json));
      const may = opening !== undefined && opening.status === 422;
      const told = data.project.userPermissions.createMergeRequestIn;
      expect([as, told]).toEqual([as, may]);
      const shown = await call(as, `GET ${project}`);
      if (as !== "anonymous") {
        expect([as, shown.json.can_create_merge_request_in]).toEqual([as, may]);
      }
    }
  });

  it("branches tell who may push to them", async () => {
    for (const as of everyone) {
      for (const branch of ["main", "other"]) {
        const shown = await call(as, `GET ${project}/repository/branches/${branch}`);
        if (shown.status !== 200) continue;
        const json = { branch, content: as, commit_message: "Change", file_path: "a" };
        const pushing = await call(as, `PUT ${project}/repository/files/none`, json);
        expect([as, branch, shown.json.can_push]).toEqual([as, branch, pushing.status === 400]);
      }
    }
  });

  it("releases have the address of a form for those who may change them", async () => {
    for (const as of everyone) {
      for (const tag of ["v1", "held"]) {
        const shown = await call(as, `GET ${project}/releases/${tag}`);
        if (shown.status !== 200) continue;
        const changing = await call(as, `PUT ${project}/releases/${tag}`, { name: `By ${as}` });
        const isTold = shown.json._links.edit_url !== undefined;
        expect([as, tag, isTold]).toEqual([as, tag, isLetIn(changing)]);
      }
    }
  });
});

/** Changes of a merge request, by what it is an example of. */
const REQUESTS: Record<string, (iid: number) => Promise<unknown>> = {
  "a draft into a protected branch": async () => {},
  "one that is approved": (iid) => call("owner", `POST ${SITE}/merge_requests/${iid}/approve`),
  "one that is closed": (iid) =>
    call("owner", `PUT ${SITE}/merge_requests/${iid}`, { state_event: "close" }),
  "a draft into another branch": (iid) =>
    call("owner", `PUT ${SITE}/merge_requests/${iid}`, { target_branch: "open" }),
};

describe("merge requests: userPermissions are what routes answer about", () => {
  it.each(Object.entries(REQUESTS).map(([name, prepare], at) => [name, prepare, at] as const))(
    "%s",
    async (_, prepare, at) => {
      const source_branch = "abcd".charAt(at);
      const json = { title: "Draft: work", source_branch, target_branch: "main" };
      const iid = await created("merge_requests", json, "developer");
      await prepare(iid);
      const path = `${SITE}/merge_requests/${iid}`;
      for (const as of everyone) {
        const query = `{ project(fullPath: "acme/site") { mergeRequest(iid: "${iid}") {
          userPermissions { updateMergeRequest createNote canMerge canApprove } } } }`;
        const { data } = await send(app, as, query);
        const approvals = await call(as, `GET ${path}/approvals`);
        const shown = await call(as, `GET ${path}`);
        // A draft can't be merged; whether the caller might is answered before that.
        const merging = await call(as, `PUT ${path}/merge`);
        const approving = await call(as, `POST ${path}/approve`);
        if (isLetIn(approving)) await call(as, `POST ${path}/unapprove`);
        const updating = await call(as, `PUT ${path}`, { description: `By ${as}` });
        const noting = await call(as, `POST ${path}/notes`, { body: "So?" });
        expect([as, data.project.mergeRequest.userPermissions]).toEqual([
          as,
          {
            canMerge: isLetIn(merging),
            canApprove: isLetIn(approving),
            updateMergeRequest: isLetIn(updating),
            createNote: isLetIn(noting),
          },
        ]);
        const { canMerge, canApprove } = data.project.mergeRequest.userPermissions;
        expect([as, shown.json.user.can_merge]).toEqual([as, canMerge]);
        if (approvals.status === 200) {
          expect([as, approvals.json.user_can_approve]).toEqual([as, canApprove]);
        }
      }
    },
  );
});

describe("groups: userPermissions are what routes answer", () => {
  it.each(["maintainer", "developer", "owner", "noone", "administrator"])(
    "if projects are created by %s",
    async (project_creation_level) => {
      const changed = await call("owner", "PUT /groups/acme", { project_creation_level });
      expect(changed.status).toBe(200);
      const { json: group } = await call("owner", "GET /groups/acme");
      for (const as of everyone) {
        const query = `{ group(fullPath: "acme") { userPermissions { readGroup createProjects adminGroup } } }`;
        const { data } = await send(app, as, query);
        const project = { name: `${project_creation_level}-${as}`, namespace_id: group.id };
        // Whoever may not create projects there gets 400 or 403.
        const creating = await call(as, "POST /projects", project);
        const changing = await call(as, "PUT /groups/acme", { description: `By ${as}` });
        expect([as, data.group?.userPermissions]).toEqual([
          as,
          {
            readGroup: true,
            createProjects: creating.status === 201,
            adminGroup: isLetIn(changing),
          },
        ]);
        const name = `moving-${project_creation_level}`;
        const { json: own } = await call(as, "POST /projects", { name, path: name });
        if (own.id === undefined) continue;
        const offered = await call(as, `GET /projects/${own.id}/transfer_locations?search=acme`);
        const paths = offered.json.map(({ full_path }: { full_path: string }) => full_path);
        const moving = await call(as, `PUT /projects/${own.id}/transfer`, { namespace: "acme" });
        const back = { namespace: as };
        if (moving.status === 200) await call("admin", `PUT /projects/${own.id}/transfer`, back);
        expect([as, paths.includes("acme")]).toEqual([as, moving.status === 200]);
      }
    },
  );
});

describe("what is allowed below a group", () => {
  it("is nothing new once it is marked for deletion", async () => {
    const leaving = paths.get("leaving/p")?.split("/")[0];
    const { json: group } = await call("owner", `GET /groups/${leaving}`);
    for (const as of everyone) {
      const query = `{ group(fullPath: "${leaving}") { userPermissions { createProjects } } }`;
      const { data } = await send(app, as, query);
      const project = { name: `late-${as}`, namespace_id: group.id };
      const creating = await call(as, "POST /projects", project);
      expect([as, data.group.userPermissions.createProjects]).toEqual([
        as,
        creating.status === 201,
      ]);
    }
  });

  it.each(["owner", "maintainer"])(
    "is for moving groups there, too, if subgroups are created by %s",
    async (subgroup_creation_level) => {
      await call("owner", "PUT /groups/acme", { subgroup_creation_level });
      const { json: acme } = await call("owner", "GET /groups/acme");
      for (const as of ["reporter", "maintainer", "owner"] as const) {
        const path = `moved-${as}-${subgroup_creation_level}`;
        const { json: own } = await call(as, "POST /groups", { name: path, path });
        const offered = await call(as, `GET /groups/${own.id}/transfer_locations?search=acme`);
        const paths = offered.json.map(({ full_path }: { full_path: string }) => full_path);
        const transfer = await call(as, `POST /groups/${own.id}/transfer`, { group_id: acme.id });
        const sub = { name: `sub-${path}`, path: `sub-${path}`, parent_id: acme.id };
        const creating = await call(as, "POST /groups", sub);
        const isMoved = transfer.status === 201;
        expect([as, isLetIn(creating), paths.includes("acme")]).toEqual([as, isMoved, isMoved]);
      }
    },
  );
});

describe("what one may do with a personal snippet is what routes answer", () => {
  it.each(everyone)("%s", async (as) => {
    const json = { title: "s", file_name: "s", content: "s", visibility: "public" };
    const { json: snippet } = await call("guest", "POST /snippets", json);
    const query = `{ snippets(ids: ["gid://gitlab/PersonalSnippet/${snippet.id}"]) {
      nodes { userPermissions { updateSnippet adminSnippet createNote awardEmoji } } } }`;
    const { data } = await send(app, as, query);
    const reading = await call(as, `GET /snippets/${snippet.id}`);
    const updating = isLetIn(await call(as, `PUT /snippets/${snippet.id}`, { title: `By ${as}` }));
    const [shown] = data.snippets.nodes;
    expect([as, shown !== undefined]).toEqual([as, isLetIn(reading)]);
    if (!shown) return;
    // Nobody writes notes on them.
    const none = { createNote: false, awardEmoji: false };
    expect(shown.userPermissions).toEqual({
      updateSnippet: updating,
      adminSnippet: updating,
      ...none,
    });
  });
});

describe("what one may do with notes is what routes answer", () => {
  it.each([
    ["of an issue", "issues", {}],
    ["of a locked issue", "issues", { discussion_locked: true }],
    ["of a merge request", "merge_requests", { source_branch: "a", target_branch: "open" }],
  ])("%s", async (_, kind, json) => {
    const by = kind === "issues" ? "reporter" : "developer";
    const iid = await created(kind, { title: "Discussed", ...json }, by);
    const path = `${SITE}/${kind}/${iid}`;
    const made = await call("reporter", `POST ${path}/discussions`, { body: "Why?" });
    const { id: thread, notes } = made.json;
    const field = kind === "issues" ? "issue" : "mergeRequest";
    for (const as of everyone) {
      // As in REST, only users read notes.
      if (as === "anonymous") continue;
      const note = `gid://gitlab/${kind === "issues" ? "Note" : "DiscussionNote"}/${notes[0].id}`;
      const node = `{ project(fullPath: "acme/site") { ${field}(iid: "${iid}") {
        notes { nodes { id $ } } } } }`;
      await expectSame(as, `${path}/notes/${notes[0].id}`, "NotePermissions", node, (data) =>
        data.project[field].notes.nodes.find(({ id }: { id: string }) =>
          id.endsWith(`/${notes[0].id}`),
        ),
      );
      const query = `{ note(id: "${note}") { userPermissions { resolveNote }
        discussion { userPermissions { resolveNote } } } }`;
      const { data } = await send(app, as, query);
      const resolved = `${path}/discussions/${thread}`;
      const one = await call(as, `PUT ${resolved}/notes/${notes[0].id}`, { resolved: true });
      const all = await call(as, `PUT ${resolved}`, { resolved: true });
      expect([as, data.note.userPermissions, data.note.discussion.userPermissions]).toEqual([
        as,
        { resolveNote: isLetIn(one) },
        { resolveNote: isLetIn(all) },
      ]);
    }
  });
});
