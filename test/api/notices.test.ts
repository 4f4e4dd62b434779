// Mails about what is no event of a feed: as requests, and what arrives at a mail server.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, expect, it } from "vitest";
import { clock, type Person, type TestApp, testApp, waitFor } from "../helpers.ts";
import { type CodeProject, lines, newCodeProject } from "./_merge-requests.ts";

interface Received {
  to: string;
  subject: string;
  text: string;
  reason: string;
  messageId: string;
  inReplyTo: string | undefined;
}

const DAY = 86_400_000;

/** How much later it is for the application: these tests are not to run past midnight. */
const LATER = DAY / 2 - (Date.now() % DAY);

let app: TestApp;
let server: SMTPServer;
let received: Received[] = [];
let project: CodeProject;
let branches = 0;

beforeAll(async () => {
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", async () => {
        const mail = await PostalMime.parse(Buffer.concat(chunks));
        const reason = mail.headers.find(({ key }) => key === "x-pm-reason")?.value ?? "";
        received.push({
          to: (session.envelope.rcptTo[0]?.address ?? "").replace("@example.com", ""),
          subject: mail.subject ?? "",
          text: mail.text ?? "",
          reason,
          messageId: mail.messageId ?? "",
          inReplyTo: mail.inReplyTo,
        });
        done();
      });
    },
  });
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const smtp = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  app = await testApp({
    background: true,
    now: () => clock() + LATER,
    url: "https://pm.example.com",
    mail: { smtp, from: "pm@example.com", interval: 10 },
  });
  project = await newCodeProject(app);
});
afterAll(async () => {
  await app.dispose();
  await new Promise<void>((resolve) => server.close(resolve));
});

/** The mails that all that is queued leads to. */
async function mails(): Promise<Received[]> {
  await waitFor(async () => (await app.admin.tasks.list()).length === 0);
  const sent = received;
  received = [];
  return sent.sort((one, other) => (one.to < other.to ? -1 : 1));
}

/** Who gets a mail, why, and the first line of it. */
const told = async () =>
  (await mails()).map(({ to, reason, text }) => [to, reason, text.split("\n")[0]]);

const idOf = async (username: Person): Promise<number> =>
  (await app.call(`GET /users?username=${username}`, { as: "admin" })).json[0].id;

async function settings(as: Person, json: object) {
  const path = `PUT ${project.path}/notification_settings`;
  const { status } = await app.call(path, { as, json });
  expect(status).toBe(200);
}

/** A merge request of the developer, whose mails are gone. */
async function opened(json: object = {}) {
  branches += 1;
  const source = `notice-${branches}`;
  const sha = await project.commit(source, { [`${source}.txt`]: "text\n" }, { from: "main" });
  const { id, iid } = await project.open(source, json);
  await mails();
  return { id, iid, source, sha, path: `/merge_requests/${iid}` };
}

async function send(method: string, path: string, json: object, as: Person) {
  const answer = await project.send(method, path, json, as);
  expect([answer.text, answer.status < 300]).toEqual([answer.text, true]);
}

const report = (ref: string, sha: string, state: string, as: Person = "developer") =>
  send("POST", `/statuses/${sha}`, { ref, state }, as);

it("an approval that is taken back is told to those who take part", async () => {
  const { iid, path } = await opened();
  await send("POST", `${path}/approve`, {}, "maintainer");
  await mails();
  await send("POST", `${path}/unapprove`, {}, "maintainer");
  const [mail, ...others] = await mails();
  expect(others).toEqual([]);
  expect(mail).toMatchObject({
    to: "developer",
    reason: "participating",
    subject: `Re: ${project.fullPath} | A change (!${iid})`,
    messageId: expect.stringMatching(/^<notice-\d+-user-\d+\.[\da-f-]{36}@pm\.example\.com>$/),
    inReplyTo: expect.stringMatching(/^<merge-request-\d+-user-/),
  });
  expect(mail?.text).toContain(
    `The maintainer took back their approval of merge request !${iid}: A change`,
  );
});

it("who is asked for a review is told at the level mention, others that reviewers changed", async () => {
  const { iid, path } = await opened();
  const what = `merge request !${iid}: A change`;
  await settings("reporter", { level: "mention" });
  await settings("owner", { level: "disabled" });
  const [reporter, owner, guest] = [
    await idOf("reporter"),
    await idOf("owner"),
    await idOf("guest"),
  ];
  // The guest may not see the merge request.
  await send("PUT", path, { reviewer_ids: [reporter, owner, guest] }, "maintainer");
  expect(await told()).toEqual([
    ["developer", "participating", `The maintainer changed the reviewers of ${what}`],
    ["reporter", "reviewer", `The maintainer asked you to review ${what}`],
  ]);
  // The same reviewers are no news.
  await send("PUT", path, { reviewer_ids: [reporter, owner] }, "maintainer");
  expect(await told()).toEqual([]);
  await send("PUT", path, { reviewer_ids: [] }, "developer");
  expect(await told()).toEqual([
    ["reporter", "reviewer", `The developer changed the reviewers of ${what}`],
  ]);
  await settings("reporter", { level: "global" });
  await settings("owner", { level: "global" });
});

it.each(["issues", "merge_requests"])(
  "who is assigned to %s, or no longer, is told",
  async (kind) => {
    branches += 1;
    const [reporter, maintainer] = [await idOf("reporter"), await idOf("maintainer")];
    const between =
      kind === "issues"
        ? { confidential: true }
        : { source_branch: `assigned-${branches}`, target_branch: "main" };
    if (kind !== "issues") {
      await project.commit(`assigned-${branches}`, { "a.md": "a\n" }, { from: "main" });
    }
    const sent = { title: "Work", assignee_ids: [reporter], ...between };
    const made = await project.send("POST", `/${kind}`, sent, "developer");
    const what = kind === "issues" ? `issue #${made.json.iid}` : `merge request !${made.json.iid}`;
    // New assignees of what is new are told that it is.
    expect(await told()).toEqual([
      ["reporter", "participating", `The developer opened ${what}: Work`],
    ]);
    const flag = kind === "issues" ? "reassign_issue" : "reassign_merge_request";
    await settings("maintainer", { level: "mention" });
    await settings("owner", { level: "custom", [flag]: true });
    await settings("guest", { level: "watch" });
    const change = { assignee_ids: [maintainer] };
    await send("PUT", `/${kind}/${made.json.iid}`, change, "developer");
    const line = `The developer changed the assignees of ${what}: Work`;
    // The guest sees neither confidential issues nor merge requests.
    expect(await told()).toEqual([
      ["maintainer", "assignee", line],
      ["owner", "custom", line],
      ["reporter", "assignee", line],
    ]);
    await send("PUT", `/${kind}/${made.json.iid}`, change, "developer");
    expect(await told()).toEqual([]);
    await settings("owner", { level: "custom", [flag]: false });
    await send("PUT", `/${kind}/${made.json.iid}`, { assignee_ids: [] }, "maintainer");
    const back = `The maintainer changed the assignees of ${what}: Work`;
    expect(await told()).toEqual([["developer", "participating", back]]);
    for (const as of ["maintainer", "owner", "guest"] as const)
      await settings(as, { level: "global" });
  },
);

it("a reviewer who is asked again is told, and nobody else", async () => {
  const { id, iid, path } = await opened({ reviewer_ids: [await idOf("reporter")] });
  const reviewer = `gid://gitlab/User/${await idOf("reporter")}`;
  const query = `mutation { mergeRequestReviewerRereview(input: { projectPath: "${project.fullPath}",
    iid: "${iid}", userId: "${reviewer}" }) { errors } }`;
  expect(id).toBeGreaterThan(0);
  const answer = await app.call("POST /api/graphql", { as: "maintainer", json: { query } });
  expect(answer.json).toEqual({ data: { mergeRequestReviewerRereview: { errors: [] } } });
  expect(await told()).toEqual([
    ["reporter", "reviewer", `The maintainer asked you to review merge request !${iid}: A change`],
  ]);
  // Who asks themselves is not told.
  await send("PUT", path, { reviewer_ids: [await idOf("maintainer")] }, "maintainer");
  expect((await told()).map(([to]) => to)).toEqual(["developer", "reporter"]);
});

it("the mail about a new merge request is the only one to its reviewers", async () => {
  branches += 1;
  await project.commit(`new-${branches}`, { "new.txt": "text\n" }, { from: "main" });
  const { iid } = await project.open(`new-${branches}`, { reviewer_ids: [await idOf("reporter")] });
  expect(await told()).toEqual([
    ["reporter", "participating", `The developer opened merge request !${iid}: A change`],
  ]);
});

it("a failed pipeline is told to who started it, and one that mends it, not every success", async () => {
  const { sha, source } = await opened();
  const commit = sha.slice(0, 8);
  await report(source, sha, "failed");
  const [mail, ...others] = await mails();
  expect(others).toEqual([]);
  expect(mail).toMatchObject({
    to: "developer",
    reason: "own-pipeline",
    subject: `${project.fullPath} | Failed pipeline for ${source} | ${commit}`,
    messageId: expect.stringMatching(/^<notice-\d+-user-/),
  });
  const { json: pipelines } = await project.get(`/pipelines?sha=${sha}`);
  expect(mail?.text).toContain(`Pipeline #${pipelines[0].id} of ${source} (${commit}) has failed.`);
  expect(mail?.text).toContain("Jobs that failed:\n- default");
  expect(mail?.text).toContain(
    `https://pm.example.com/${project.fullPath}/-/pipelines/${pipelines[0].id}`,
  );

  const second = await project.commit(source, { "b.txt": "b\n" }, { as: "developer" });
  await mails();
  await report(source, second, "success");
  expect((await mails()).map(({ to, subject }) => [to, subject])).toEqual([
    ["developer", `${project.fullPath} | Fixed pipeline for ${source} | ${second.slice(0, 8)}`],
  ]);
  const third = await project.commit(source, { "c.txt": "c\n" }, { as: "developer" });
  await mails();
  await report(source, third, "success");
  expect(await mails()).toEqual([]);
});

it.each([
  ["watch", {}, ["own-pipeline", undefined]],
  ["mention", {}, [undefined, undefined]],
  ["disabled", {}, [undefined, undefined]],
  ["custom", {}, [undefined, undefined]],
  ["custom", { failed_pipeline: true, success_pipeline: false }, ["custom", undefined]],
  ["custom", { failed_pipeline: false, success_pipeline: true }, [undefined, "custom"]],
])(
  "at the level %s %j, failed and successful pipelines are told: %j",
  async (level, flags, why) => {
    const { json: reset } = await project.get("/notification_settings");
    await settings("developer", {
      level,
      failed_pipeline: false,
      success_pipeline: false,
      ...flags,
    });
    const reasons: (string | undefined)[] = [];
    for (const state of ["failed", "success"]) {
      const { sha, source } = await opened();
      await report(source, sha, state);
      reasons.push((await mails())[0]?.reason);
    }
    expect(reasons).toEqual(why);
    await settings("developer", { level: reset.level });
  },
);

it("who may no longer see pipelines is told nothing of theirs", async () => {
  const { sha, source } = await opened();
  await report(source, sha, "running");
  const path = `/members/${await idOf("developer")}`;
  await app.call(`DELETE /groups/secret${path}`, { as: "owner" });
  await report(source, sha, "failed", "maintainer");
  expect(await mails()).toEqual([]);
  await app.call("POST /groups/secret/members", {
    as: "owner",
    json: { user_id: await idOf("developer"), access_level: 30 },
  });
});

it("a configuration with mistakes is told as a failed pipeline", async () => {
  const broken = { ".gitlab-ci.yml": "job: [\n" };
  await project.commit("mistakes", broken, { from: "main", as: "developer" });
  const mailsOf = async () => (await mails()).map(({ to, subject }) => [to, subject]);
  await waitFor(async () => (await project.get("/pipelines?ref=mistakes")).json.length === 1);
  expect(await mailsOf()).toEqual([
    ["developer", expect.stringContaining("| Failed pipeline for mistakes |")],
  ]);
});

/** A merge request of the developer that waits for a pipeline, by the maintainer's wish. */
async function waiting() {
  const made = await opened();
  await report(made.source, made.sha, "running");
  const path = `${made.path}/merge`;
  await send("PUT", path, { merge_when_pipeline_succeeds: true }, "maintainer");
  await mails();
  return made;
}

const ENDED = "Automatic merging has ended for";

it("a push that ends automatic merging is told to who waits, except who pushed", async () => {
  const { iid, source } = await waiting();
  await project.commit(source, { "d.txt": "d\n" }, { as: "developer" });
  const aborted = (await told()).filter(([, , line]) => line?.startsWith(ENDED));
  expect(aborted).toEqual([
    ["maintainer", "participating", `${ENDED} merge request !${iid}: A change`],
  ]);
});

it("whoever unsubscribed is not told", async () => {
  const { path, source } = await waiting();
  await send("POST", `${path}/unsubscribe`, {}, "maintainer");
  await project.commit(source, { "e.txt": "e\n" }, { as: "developer" });
  expect((await told()).filter(([, , line]) => line?.startsWith(ENDED))).toEqual([]);
});

it("missing rights end automatic merging, which author and merger are told", async () => {
  const { iid, sha, source } = await waiting();
  const member = `/groups/secret/members/${await idOf("maintainer")}`;
  await app.call(`PUT ${member}`, { as: "owner", json: { access_level: 20 } });
  await report(source, sha, "success");
  const ended = `${ENDED} merge request !${iid}: A change`;
  expect(await told()).toEqual([
    ["developer", "participating", ended],
    ["maintainer", "participating", ended],
  ]);
  await app.call(`PUT ${member}`, { as: "owner", json: { access_level: 40 } });
});

it("conflicts of a merge request that waits are told to author and merger, with a todo", async () => {
  const source = "conflict";
  const sha = await project.commit(
    source,
    { "a.txt": lines(20, { 3: "theirs" }) },
    { from: "main" },
  );
  const { id, iid } = await project.open(source);
  await report(source, sha, "running");
  const merge = { merge_when_pipeline_succeeds: true };
  await send("PUT", `/merge_requests/${iid}/merge`, merge, "maintainer");
  await mails();
  await project.commit("main", { "a.txt": lines(20, { 3: "ours" }) }, { as: "owner" });
  const line = `There are now conflicts in merge request !${iid}: A change`;
  expect((await told()).filter(([, , text]) => text === line)).toEqual([
    ["developer", "participating", line],
    ["maintainer", "participating", line],
  ]);
  for (const as of ["developer", "maintainer"] as const) {
    const { json } = await app.call("GET /todos?action=unmergeable", { as });
    expect(json.map(({ target }: { target: { id: number } }) => target.id)).toContain(id);
  }
  // Who pushes has acted upon it.
  await project.commit(source, { "f.txt": "f\n" }, { as: "developer" });
  const pending = async (as: Person) =>
    (await app.call("GET /todos?action=unmergeable", { as })).json.length;
  expect([await pending("developer"), await pending("maintainer")]).toEqual([0, 1]);
});

it("a due date is told a day before, once, to those who take part and who chose it", async () => {
  const day = (days: number) =>
    new Date(Date.now() + LATER + days * DAY).toISOString().slice(0, 10);
  const open = async (title: string, due_date: string | null, json: object = {}) => {
    const answer = await project.send("POST", "/issues", { title, due_date, ...json });
    expect(answer.status).toBe(201);
    return answer.json.iid as number;
  };
  const sweep = async () => {
    await app.store.transaction((db) => db.run("delete from jobs where name = 'sweep'"));
    expect(await app.admin.maintenance.sweepDaily()).toBeDefined();
  };
  await settings("owner", { level: "watch" });
  await settings("maintainer", { level: "custom", issue_due: true });
  const iid = await open("Near", day(1), { assignee_ids: [await idOf("reporter")] });
  await open("Far", day(2));
  await open("Late", day(-1));
  await open("Whenever", null);
  const closed = await open("Done", day(1));
  await send("PUT", `/issues/${closed}`, { state_event: "close" }, "developer");
  const secret = await open("Hidden", day(1), { confidential: true });
  await mails();

  await sweep();
  const line = `Due soon: issue #${iid}: Near`;
  const hidden = `Due soon: issue #${secret}: Hidden`;
  expect((await told()).sort()).toEqual([
    ["developer", "participating", line],
    ["developer", "participating", hidden],
    ["maintainer", "custom", line],
    ["maintainer", "custom", hidden],
    ["reporter", "participating", line],
  ]);
  await sweep();
  expect(await told()).toEqual([]);
  // Another date is told again, and so is one that nobody told the day before.
  await send("PUT", `/issues/${iid}`, { due_date: day(0) }, "owner");
  await sweep();
  expect((await told()).map(([to, , text]) => [to, text])).toEqual([
    ["developer", line],
    ["maintainer", line],
    ["reporter", line],
  ]);
  await settings("owner", { level: "global" });
  await settings("maintainer", { level: "global", issue_due: false });
});
