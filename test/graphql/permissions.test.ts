import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, type TestApp, testApp } from "../helpers.ts";
import { entry, Objects, push } from "../packs.ts";
import { send } from "./ask.ts";

// What GraphQL says that one may do, compared with what the routes answer to the same caller.

const SITE = "/projects/acme%2Fsite";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
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
});
afterAll(() => app.dispose());

const call = async (as: (typeof everyone)[number], request: string, json: object = {}) =>
  app.call(request, { as, ...(request.startsWith("GET") ? {} : { json }) });

/** Whether a route lets a caller in: refusals of their role are 401, 403 or, for what they may not see, 404. */
const isLetIn = ({ status }: { status: number }) => ![401, 403, 404].includes(status);

async function created(path: string, json: object, as: (typeof everyone)[number]): Promise<number> {
  const made = await call(as, `POST ${SITE}/${path}`, json);
  expect([made.status, made.text]).toEqual([201, made.text]);
  return made.json.iid;
}

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

describe("issues: userPermissions are what routes answer about", () => {
  it.each([
    ["an open one", {}],
    ["one whose discussion is locked", { discussion_locked: true }],
  ])("%s", async (_, json) => {
    const iid = await created("issues", { title: "Broken", ...json }, "reporter");
    const path = `${SITE}/issues/${iid}`;
    for (const as of everyone) {
      const query = `{ project(fullPath: "acme/site") { issue(iid: "${iid}") {
        userPermissions { updateIssue createNote } } } }`;
      const { data } = await send(app, as, query);
      const updating = await call(as, `PUT ${path}`, { description: `By ${as}` });
      const noting = await call(as, `POST ${path}/notes`, { body: "So?" });
      expect([as, data.project.issue.userPermissions]).toEqual([
        as,
        { updateIssue: isLetIn(updating), createNote: isLetIn(noting) },
      ]);
    }
  });
});

it("projects: userPermissions are what routes answer", async () => {
  for (const as of everyone) {
    const query = `{ project(fullPath: "acme/site") { userPermissions {
      createIssue createLabel createSnippet createWiki pushCode adminProject createMergeRequestFrom } } }`;
    const { data } = await send(app, as, query);
    const attempts = {
      createIssue: ["POST /issues", { title: "An issue" }],
      createLabel: ["POST /labels", { name: `by ${as}`, color: "#ff0000" }],
      createSnippet: [
        "POST /snippets",
        { title: "s", file_name: "s", content: "s", visibility: "public" },
      ],
      createWiki: ["POST /wikis", { title: `by ${as}`, content: "c" }],
      pushCode: ["POST /repository/branches", { branch: `by-${as}`, ref: "main" }],
      adminProject: ["PUT ?merge_method=merge", {}],
      createMergeRequestFrom: [
        "POST /merge_requests",
        { title: "m", source_branch: "none", target_branch: "main" },
      ],
    } as const;
    const answered: Record<string, boolean> = {};
    for (const [name, [request, json]] of Object.entries(attempts)) {
      const [method, path = ""] = request.split(" ");
      answered[name] = isLetIn(await call(as, `${method} ${SITE}${path}`, json));
    }
    expect([as, data.project.userPermissions]).toEqual([as, answered]);
  }
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
      }
    },
  );
});

describe("snippets: userPermissions are what routes answer", () => {
  it.each([
    ["of a project, by a reporter", "reporter", `${SITE}/snippets`],
    ["of a project, by a maintainer", "maintainer", `${SITE}/snippets`],
    ["of a user", "guest", "/snippets"],
  ] as const)("%s", async (_, author, path) => {
    const json = { title: "s", file_name: "s", content: "s", visibility: "public" };
    const { json: snippet } = await call(author, `POST ${path}`, json);
    const own = `${path}/${snippet.id}`;
    for (const as of everyone) {
      const query = `{ snippets(ids: ["gid://gitlab/${path === "/snippets" ? "PersonalSnippet" : "ProjectSnippet"}/${snippet.id}"]) {
        nodes { userPermissions { readSnippet updateSnippet adminSnippet createNote awardEmoji } } } }`;
      const { data } = await send(app, as, query);
      const updating = await call(as, `PUT ${own}`, { title: `By ${as}` });
      const noting = await call(as, `POST ${own}/notes`, { body: "So?" });
      const awarding = await call(as, `POST ${own}/award_emoji`, { name: "tada" });
      const reading = await call(as, `GET ${own}`);
      const [shown] = data.snippets.nodes;
      expect([as, shown !== undefined]).toEqual([as, isLetIn(reading)]);
      if (!shown) continue;
      expect([as, shown.userPermissions]).toEqual([
        as,
        {
          readSnippet: true,
          updateSnippet: isLetIn(updating),
          adminSnippet: isLetIn(updating),
          createNote: isLetIn(noting),
          awardEmoji: isLetIn(awarding),
        },
      ]);
    }
  });
});

describe("notes: userPermissions are what routes answer", () => {
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
    const note = `${path}/notes/${notes[0].id}`;
    const field = kind === "issues" ? "issue" : "mergeRequest";
    for (const as of everyone) {
      if (as === "anonymous") continue;
      const names = "readNote createNote awardEmoji adminNote resolveNote";
      const query = `{ project(fullPath: "acme/site") { ${field}(iid: "${iid}") {
        notes { nodes { id system userPermissions { ${names} } } } } } }`;
      const { data } = await send(app, as, query);
      const shown = data.project[field].notes.nodes.find(({ id }: { id: string }) =>
        id.endsWith(`/${notes[0].id}`),
      );
      const creating = await call(as, `POST ${path}/notes`, { body: "So?" });
      const awarding = await call(as, `POST ${note}/award_emoji`, { name: "tada" });
      const changing = await call(as, `PUT ${note}`, { body: `By ${as}` });
      const resolved = `PUT ${path}/discussions/${thread}/notes/${notes[0].id}`;
      const resolving = await call(as, resolved, { resolved: true });
      expect([as, shown.userPermissions]).toEqual([
        as,
        {
          readNote: true,
          createNote: isLetIn(creating),
          awardEmoji: isLetIn(awarding),
          adminNote: isLetIn(changing),
          ...(kind === "issues"
            ? { resolveNote: shown.userPermissions.resolveNote }
            : { resolveNote: isLetIn(resolving) }),
        },
      ]);
    }
  });
});
