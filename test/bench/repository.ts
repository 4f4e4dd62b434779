import { join } from "node:path";
import { type App, createApp } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import { entry, Objects, pushHeaders, pushOf } from "../packs.ts";
import type { Where } from "./events.ts";
import { HEADERS, type Operation } from "./operations.ts";
import { CALLER } from "./seed.ts";
import { storeAnswers } from "./stored.ts";

const REPOSITORY = "/projects/acme%2Fsite/repository";

const MERGE_REQUEST = "/projects/acme%2Fsite/merge_requests/1";

/** What clients read of a repository with 1,000 commits, 100 files in a folder, 20 branches and a merge request. */
export const REPOSITORY_OPERATIONS: readonly Operation[] = [
  {
    name: "100 files of a repository",
    method: "GET",
    path: `${REPOSITORY}/tree?per_page=100`,
    floor: 0.4,
  },
  {
    name: "a file of a repository",
    method: "GET",
    path: `${REPOSITORY}/files/file-007.ts?ref=main`,
    floor: 0.4,
  },
  {
    name: "20 branches of a repository",
    method: "GET",
    path: `${REPOSITORY}/branches`,
    floor: 0.4,
  },
  {
    name: "20 commits of a repository",
    method: "GET",
    path: `${REPOSITORY}/commits`,
    floor: 0.4,
  },
  { name: "one merge request", method: "GET", path: MERGE_REQUEST, floor: 0.5 },
  {
    name: "20 changed files of a merge request",
    method: "GET",
    path: `${MERGE_REQUEST}/changes`,
    floor: 0.4,
  },
  {
    name: "the approvals of a merge request",
    method: "GET",
    path: `${MERGE_REQUEST}/approvals`,
    floor: 0.5,
  },
  {
    name: "20 discussions of a merge request",
    method: "GET",
    path: `${MERGE_REQUEST}/discussions`,
    floor: 0.5,
  },
];

const times = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => make(index));

/**
 * Creates a database with a repository.
 *
 * @returns the file
 */
export async function withRepository({ folder, say }: Where, commits = 1000): Promise<string> {
  say("pushing a repository…");
  const file = join(folder, "repository.db");
  const app = await withHistory(file, commits);
  const post = async (path: string, body: object) => {
    const headers = { ...HEADERS, "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await app.fetch(new Request(`http://pm.test/api/v4${path}`, init));
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  };
  const branches = { source_branch: "change", target_branch: "main" };
  await post(MERGE_REQUEST.replace(/\/1$/, ""), { title: "Change", ...branches });
  for (let count = 0; count < 20; count += 1) {
    await post(`${MERGE_REQUEST}/discussions`, {
      body: `A thread of a sentence, number ${count}.`,
    });
  }
  const answers = new Map<string, unknown>();
  for (const { path } of REPOSITORY_OPERATIONS) {
    // The bare server makes this one as it makes issues.
    if (path === MERGE_REQUEST) continue;
    const request = new Request(`http://pm.test/api/v4${path}`, { headers: HEADERS });
    answers.set(`/api/v4${path}`, await (await app.fetch(request)).json());
  }
  await app.close();
  const store = await openStore(file);
  await store.transaction((db) => storeAnswers(db, answers));
  await store.close();
  return file;
}

/** Creates a database with the project `acme/site`, into which a history of commits is pushed. */
export async function withHistory(database: string, commits: number): Promise<App> {
  const app = await createApp({ database, background: false });
  await app.admin.seed({
    users: [{ username: CALLER.username, tokens: [{ token: CALLER.token }] }],
    groups: [
      { path: "acme", members: { [CALLER.username]: "owner" }, projects: [{ path: "site" }] },
    ],
  });
  await pushHistory(app, "acme/site", commits);
  return app;
}

/** Pushes a history of commits, each of which changes one of 100 files, 20 branches, and one that changes 20 files. */
export async function pushHistory(app: App, project: string, commits: number): Promise<void> {
  const objects = new Objects();
  const files = times(100, (at) => objects.add("blob", `The content of file ${at}\n`));
  let tip: Buffer | undefined;
  for (let count = 0; count < commits; count += 1) {
    files[1 + (count % 99)] = objects.add("blob", `The content of commit ${count}\n`);
    const entries = files.map((blob, at) =>
      entry("100644", `file-${String(at).padStart(3, "0")}.ts`, blob),
    );
    const tree = objects.add("tree", Buffer.concat(entries));
    const message = `Change ${count}\n\nWhat was changed, and why it had to be:\nin two lines.\n`;
    tip = objects.commit(tree, tip ? [tip] : [], { message, time: 1_600_000_000 + 60 * count });
  }
  const names = ["main", ...times(19, (at) => `branch-${String(at).padStart(2, "0")}`)];
  const changed = files.map((blob, at) => {
    const content = at < 20 ? objects.add("blob", `The new content of file ${at}\n`) : blob;
    return entry("100644", `file-${String(at).padStart(3, "0")}.ts`, content);
  });
  const tree = objects.add("tree", Buffer.concat(changed));
  const change = objects.commit(tree, tip ? [tip] : [], { message: "Change 20 files\n" });
  const changes = [
    ...names.map((name) => ({ name: `refs/heads/${name}`, to: tip?.toString("hex") })),
    { name: "refs/heads/change", to: change.toString("hex") },
  ];
  const response = await app.fetch(
    new Request(`http://pm.test/${project}.git/git-receive-pack`, {
      method: "POST",
      headers: pushHeaders(CALLER.token),
      body: new Uint8Array(pushOf(changes, objects.pack)),
    }),
  );
  const answer = await response.text();
  if (!answer.includes("unpack ok")) throw new Error(`the push: ${answer}`);
}
