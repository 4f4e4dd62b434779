import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { openWorkshop, type Workshop } from "./_git.ts";

const SITE = "/projects/acme%2Fsite";

let app: TestApp;
let workshop: Workshop;
let files = 0;

const newIssue = async (project = SITE, json: object = {}) => {
  const made = await app.call(`POST ${project}/issues`, {
    as: "owner",
    json: { title: "Broken", ...json },
  });
  expect(made.status, made.text).toBe(201);
  return made.json.iid as number;
};
const issue = async (iid: number, project = SITE) =>
  (await app.call(`GET ${project}/issues/${iid}`, { as: "owner" })).json;
const stateOf = async (iid: number, project = SITE) => (await issue(iid, project)).state;

/** Commits a file to a branch, and returns the commit's name. */
const commit = async (
  commit_message: string,
  { as = "maintainer", branch = "main", project = SITE }: Commit = {},
) => {
  files += 1;
  const actions = [{ action: "create", file_path: `f${files}`, content: "" }];
  const json = { branch, commit_message, actions };
  const made = await app.call(`POST ${project}/repository/commits`, { as, json });
  expect(made.status, made.text).toBe(201);
  return made.json.id as string;
};
type Commit = { as?: Person; branch?: string; project?: string };

beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
  await commit("First");
  await app.call(`POST ${SITE}/repository/branches`, {
    as: "owner",
    json: { branch: "next", ref: "main" },
  });
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

describe("a commit to the default branch closes", () => {
  it.each([
    "Closes #%",
    "closes: #%",
    "Fix #%",
    "It is fixed; fixes #%.",
    "A title\n\nResolving issue #%",
    "Implemented acme/site#%",
    "Closes site#%",
    "Closes http://pm.test/acme/site/-/issues/%",
    "Closes http://pm.test/acme/site/issues/% soon",
    "Closes #999999 and http://pm.test/acme/site/-/issues/%#note_1",
  ])("the issue that its message says: %j", async (message) => {
    const iid = await newIssue();
    await commit(message.replace("%", String(iid)));
    expect(await stateOf(iid)).toBe("closed");
  });

  it.each([
    "See #%",
    "CLOSES #%",
    "Closes http://elsewhere.test/acme/site/-/issues/%",
    "Closes https://pm.test/acme/site/-/issues/%",
    "Closes http://pm.testing/acme/site/-/issues/%",
    "Closes http://pm.test/acme/site/-/issues/%0",
    "Closes /issues/%",
    "Closes `#%`",
  ])("nothing else: %j", async (message) => {
    const iid = await newIssue();
    await commit(message.replace("%", String(iid)));
    expect(await stateOf(iid)).toBe("opened");
  });

  it("as the committer, with an event, a state, and done todos", async () => {
    const iid = await newIssue();
    await app.call(`POST ${SITE}/issues/${iid}/todo`, { as: "maintainer" });
    const id = await commit(`Fixes #${iid}`);
    const closed = await issue(iid);
    expect([closed.closed_by.username, closed.closed_at]).toEqual([
      "maintainer",
      expect.any(String),
    ]);
    const states = await app.call(`GET ${SITE}/issues/${iid}/resource_state_events`, {
      as: "owner",
    });
    expect(states.json).toMatchObject([
      {
        state: "closed",
        source_commit: id,
        source_merge_request_id: null,
        user: { username: "maintainer" },
      },
    ]);
    const events = await app.call(`GET ${SITE}/events?target_type=issue&action=closed&per_page=1`, {
      as: "owner",
    });
    expect(events.json).toMatchObject([{ target_iid: iid, author_username: "maintainer" }]);
    const todos = await app.call(`GET /todos?type=Issue`, { as: "maintainer" });
    expect(todos.json).toEqual([]);
  });
});

it("a commit to another branch closes nothing until it is in the default branch", async () => {
  const iid = await newIssue();
  const id = await commit(`Closes #${iid}`, { branch: "next" });
  expect(await stateOf(iid)).toBe("opened");
  const pick = { as: "maintainer", json: { branch: "main" } } as const;
  await app.call(`POST ${SITE}/repository/commits/${id}/cherry_pick`, pick);
  expect(await stateOf(iid)).toBe("closed");
});

it("an issue that was reopened stays open when its commit is not new", async () => {
  const iid = await newIssue();
  await commit(`Closes #${iid}`);
  await app.call(`PUT ${SITE}/issues/${iid}`, { as: "owner", json: { state_event: "reopen" } });
  await commit("Another");
  expect(await stateOf(iid)).toBe("opened");
});

describe("issues of other projects", () => {
  const CORE = "/projects/acme%2Fteam%2Fcore";
  const VAULT = "/projects/secret%2Fvault";

  it("are closed where the committer may", async () => {
    const [ours, core] = [await newIssue(), await newIssue(CORE)];
    await commit(`Closes acme/team/core#${core} and #${ours}`);
    expect([await stateOf(core, CORE), await stateOf(ours)]).toEqual(["closed", "closed"]);
  });

  it("stay open where the committer may not, or where it is switched off", async () => {
    const writer = await app.call("GET /users?username=stranger", { as: "admin" });
    await app.call(`POST ${SITE}/members`, {
      as: "owner",
      json: { user_id: writer.json[0].id, access_level: 40 },
    });
    const [core, vault] = [await newIssue(CORE), await newIssue(VAULT)];
    const text = `Closes acme/team/core#${core}, secret/vault#${vault}`;
    await commit(text, { as: "stranger" });
    expect([await stateOf(core, CORE), await stateOf(vault, VAULT)]).toEqual(["opened", "opened"]);

    const setting = (autoclose_referenced_issues: boolean) =>
      app.call(`PUT ${CORE}`, { as: "owner", json: { autoclose_referenced_issues } });
    expect((await setting(false)).json.autoclose_referenced_issues).toBe(false);
    await commit(text);
    expect([await stateOf(core, CORE), await stateOf(vault, VAULT)]).toEqual(["opened", "closed"]);
    await setting(true);
    await commit(text);
    expect(await stateOf(core, CORE)).toBe("closed");
  });

  it("stay open if the project was forked from theirs", async () => {
    const iid = await newIssue();
    const fork = await app.call(`POST ${SITE}/fork`, {
      as: "maintainer",
      json: { path: "own-site" },
    });
    expect(fork.status, fork.text).toBe(201);
    const project = `/projects/${fork.json.id}`;
    await commit(`Closes acme/site#${iid}`, { project });
    expect(await stateOf(iid)).toBe("opened");
  });

  it("stay open if they are archived or have no issues", async () => {
    const iid = await newIssue(CORE);
    await app.call(`PUT ${CORE}`, { as: "owner", json: { issues_enabled: false } });
    await commit(`Closes acme/team/core#${iid}`);
    await app.call(`PUT ${CORE}`, { as: "owner", json: { issues_enabled: true } });
    await app.call(`POST ${CORE}/archive`, { as: "owner" });
    await commit(`Closes acme/team/core#${iid}`);
    expect(await stateOf(iid, CORE)).toBe("opened");
    await app.call(`POST ${CORE}/unarchive`, { as: "owner" });
  });
});

it("a push with Git closes what its commits say, those of merged branches too", async () => {
  const [one, two, three] = [await newIssue(), await newIssue(), await newIssue()];
  const { git, url } = workshop;
  await git("", "clone", "--quiet", url("acme/site", "maintainer"), "site");
  await git("site", "checkout", "--quiet", "-b", "topic");
  await git("site", "commit", "--quiet", "--allow-empty", "-m", `Fixes #${one}`);
  await git("site", "checkout", "--quiet", "main");
  await git("site", "commit", "--quiet", "--allow-empty", "-m", `Resolve #${two}`);
  await git("site", "merge", "--quiet", "--no-ff", "-m", `Merge\n\nCloses #${three}`, "topic");
  await git("site", "push", "--quiet", "origin", "topic");
  expect(await stateOf(one)).toBe("opened");
  await git("site", "push", "--quiet", "origin", "main");
  expect([await stateOf(one), await stateOf(two), await stateOf(three)]).toEqual([
    "closed",
    "closed",
    "closed",
  ]);
});

it("a refused push closes nothing", async () => {
  const iid = await newIssue();
  const { git, failure, url } = workshop;
  await git("", "clone", "--quiet", url("acme/site", "developer"), "refused");
  await git("refused", "commit", "--quiet", "--allow-empty", "-m", `Fixes #${iid}`);
  await failure("refused", "push", "--quiet", "origin", "main");
  expect(await stateOf(iid)).toBe("opened");
});
