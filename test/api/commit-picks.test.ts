// Git's own client, which must be installed, judges what cherry-picks and reverts make of branches.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { openWorkshop, type Workshop } from "./_git.ts";

const REPOSITORY = "/projects/secret%2Fvault/repository";

let app: TestApp;
let workshop: Workshop;
let fetched = 0;
/** The project's repository, as Git gets it. */
const fetch = async () => {
  fetched += 1;
  const name = `copy-${fetched}.git`;
  await workshop.git(
    "",
    "clone",
    "--quiet",
    "--mirror",
    workshop.url("secret/vault", "owner"),
    name,
  );
  await workshop.git(name, "fsck", "--full", "--strict");
  return (...args: string[]) => workshop.git(name, ...args);
};

const lines = (...changed: [at: number, text: string][]) => {
  const all = Array.from({ length: 12 }, (_, at) => `line ${at + 1}`);
  for (const [at, text] of changed) all[at - 1] = text;
  return `${all.join("\n")}\n`;
};

/** Commits on branches, each with what all its files have. */
const history = (commits: [branch: string, title: string, files: Record<string, string>][]) =>
  commits
    .map(([branch, title, files], at) => {
      const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
      const from = commits.slice(0, at).findLastIndex(([other]) => other === branch);
      const parent = from >= 0 ? from : branch === "main" ? -1 : 0;
      return [
        `commit refs/heads/${branch}\nmark :${at + 1}\n`,
        `author Ann <ann@example.com> ${at + 1} +0200\ncommitter C <c@example.com> ${at + 1} +0000\n`,
        data(`${title}\n\nMore.\n`),
        parent >= 0 ? `from :${parent + 1}\n` : "",
        "deleteall\n",
        ...Object.entries(files).map(([path, text]) => `M 100644 inline ${path}\n${data(text)}`),
        "\n",
      ].join("");
    })
    .join("");

beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
  await workshop.importInto(
    "source.git",
    history([
      ["main", "First", { a: lines(), b: "b\n" }],
      ["main", "Second", { a: lines([2, "two"]), b: "b\n" }],
      ["main", "Third", { a: lines([2, "two"], [11, "eleven"]), b: "b\n" }],
      ["side", "Side", { moved: lines([6, "six"]), b: "b\n", c: "c\n" }],
      ["clash", "Clash", { a: lines([11, "onze"]), b: "b\n" }],
    ]),
  );
  const url = workshop.url("secret/vault", "owner");
  await workshop.git("source.git", "push", "--quiet", url, "main");
  await workshop.git("source.git", "push", "--quiet", url, "side", "clash");
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

const change = (sha: string, action: string, json: object, as: Person = "developer") =>
  app.call(`POST ${REPOSITORY}/commits/${sha}/${action}`, { as, json });

it("a commit is picked onto a branch, also into a file that was renamed there", async () => {
  const id = await workshop.git("source.git", "rev-parse", "main");
  const tried = await change(id, "cherry_pick", { branch: "side", dry_run: true });
  expect([tried.status, tried.json]).toEqual([200, { dry_run: "success" }]);
  const { status, json } = await change(id, "cherry_pick", { branch: "side" });
  expect(status).toBe(201);
  const message = `Third\n\nMore.\n\n\n(cherry picked from commit ${id})\n\nCo-authored-by: Ann <ann@example.com>`;
  expect(json).toMatchObject({ title: "Third", message, author_name: json.committer_name });
  const git = await fetch();
  expect(await git("rev-parse", "side")).toBe(json.id);
  expect(await git("rev-parse", "side^")).toBe(await git("rev-parse", json.parent_ids[0]));
  expect(await git("rev-list", "--count", "side")).toBe("3");
  expect(`${await git("show", "side:moved")}\n`).toBe(lines([6, "six"], [11, "eleven"]));
  const events = await app.call("GET /projects/secret%2Fvault/events", { as: "developer" });
  expect(events.json[0]).toMatchObject({
    push_data: { ref: "side", commit_to: json.id, commit_title: "Third" },
  });
  const again = await change(id, "cherry_pick", { branch: "side" });
  expect([again.status, again.json]).toEqual([
    400,
    {
      message: expect.stringMatching(/^Commit cherry-pick failed: Can't perform this action auto/),
      error_code: "empty",
    },
  ]);
});

it("a commit is reverted", async () => {
  const id = await workshop.git("source.git", "rev-parse", "side");
  await app.call(`POST ${REPOSITORY}/branches?branch=undone&ref=${id}`, { as: "developer" });
  const { status, json } = await change(id, "revert", { branch: "undone" });
  expect(status).toBe(201);
  expect(json).toMatchObject({
    message: `Revert "Side"\n\nThis reverts commit ${id}`,
    parent_ids: [id],
  });
  const git = await fetch();
  expect(await git("rev-parse", "undone^{tree}")).toBe(await git("rev-parse", `${id}^^{tree}`));
  const again = await change(id, "revert", { branch: "undone" });
  expect([again.status, again.json.error_code]).toEqual([400, "empty"]);
  expect(again.json.message).toMatch(/^Commit revert failed: /);
});

it("the first commit can be picked, and its message be another one", async () => {
  const first = await workshop.git("source.git", "rev-parse", "main~2");
  const json = { branch: "clash", message: "Again" };
  expect((await change(first, "cherry_pick", json)).json.error_code).toBe("conflict");
  const picked = await change("main~1", "cherry_pick", json);
  expect([picked.status, picked.json.message]).toEqual([201, "Again"]);
});

it("changes that conflict are refused, and leave the branch as it is", async () => {
  const before = (await app.call(`GET ${REPOSITORY}/branches/clash`, { as: "owner" })).json;
  for (const dry_run of [true, false]) {
    const { status, json } = await change("main", "cherry_pick", { branch: "clash", dry_run });
    expect([status, json.error_code]).toEqual([400, "conflict"]);
  }
  expect((await app.call(`GET ${REPOSITORY}/branches/clash`, { as: "owner" })).json).toEqual(
    before,
  );
});

it.each(["cherry_pick", "revert"])(
  "%s needs a commit, a branch, and the right to push",
  async (action) => {
    const nowhere = await change("main", action, { branch: "foo" });
    expect([nowhere.status, nowhere.json]).toEqual([404, { message: "404 Branch Not Found" }]);
    const nothing = await change("unknown", action, { branch: "side" });
    expect([nothing.status, nothing.json]).toEqual([404, { message: "404 Commit Not Found" }]);
    expect((await change("main", action, {})).status).toBe(400);
    expect((await change("main", action, { branch: " " })).status).toBe(400);
    const refused = await change("side", action, { branch: "main" });
    expect([refused.status, refused.json.message]).toEqual([
      403,
      "403 Forbidden - You are not allowed to push into this branch",
    ]);
    expect((await change("main", action, { branch: "side" }, "reporter")).status).toBe(403);
  },
);
