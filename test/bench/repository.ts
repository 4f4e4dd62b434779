import { join } from "node:path";
import { type App, createApp } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import type { Value } from "../../src/store/port.ts";
import { entry, Objects, pushHeaders, pushOf } from "../packs.ts";
import type { Where } from "./events.ts";
import { HEADERS, type Operation } from "./operations.ts";
import { CALLER } from "./seed.ts";

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
];

/** The tables that the bare server reads instead: rows of what the application answers. */
const TABLES = [
  "bench_files",
  "bench_branches",
  "bench_commits",
  "bench_requests",
  "bench_changes",
] as const;

const times = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => make(index));

/**
 * Creates a database with a repository.
 *
 * @returns the file
 */
export async function withRepository({ folder, say }: Where): Promise<string> {
  say("pushing a repository…");
  const file = join(folder, "repository.db");
  const app = await createApp({ database: file, background: false });
  await app.admin.seed({
    users: [{ username: CALLER.username, tokens: [{ token: CALLER.token }] }],
    groups: [
      { path: "acme", members: { [CALLER.username]: "owner" }, projects: [{ path: "site" }] },
    ],
  });
  await pushHistory(app, "acme/site", 1000);
  const opening = await app.fetch(
    new Request(`http://pm.test/api/v4${MERGE_REQUEST.replace(/\/1$/, "")}`, {
      method: "POST",
      headers: { ...HEADERS, "content-type": "application/json" },
      body: JSON.stringify({ title: "Change", source_branch: "change", target_branch: "main" }),
    }),
  );
  if (!opening.ok) throw new Error(`the merge request: ${await opening.text()}`);
  const answers: Record<string, unknown>[][] = [];
  for (const { path } of REPOSITORY_OPERATIONS) {
    const request = new Request(`http://pm.test/api/v4${path}`, { headers: HEADERS });
    answers.push(itemsOf(await (await app.fetch(request)).json()));
  }
  await app.close();
  const store = await openStore(file);
  await store.transaction(async (db) => {
    for (const [at, items] of answers.entries()) {
      const rows = items.map((item) => ({
        ...item,
        ...(item["commit"] as object),
        ...named(item),
      }));
      const columns = Object.keys(rows[0] as object).filter((name) => name !== "commit");
      await db.run(`create table ${TABLES[at]} (${columns.map((name) => `"${name}"`).join(", ")})`);
      for (const row of rows) {
        const values = columns.map((name) => cellOf((row as Record<string, unknown>)[name]));
        const marks = columns.map(() => "?").join(", ");
        await db.run(`insert into ${TABLES[at]} values (${marks})`, values);
      }
    }
  });
  await store.close();
  return file;
}

/** What a table gets of an answer: the items of a list, the changed files of a merge request, or all of it. */
function itemsOf(answer: unknown): Record<string, unknown>[] {
  if (Array.isArray(answer)) return answer;
  const { changes = [answer] } = answer as { changes?: Record<string, unknown>[] };
  return changes as Record<string, unknown>[];
}

/** What a branch and its commit both have. */
const named = ({ commit, web_url }: Record<string, unknown>) =>
  commit === undefined
    ? {}
    : { branch_url: web_url, web_url: (commit as Record<string, unknown>)["web_url"] };

const cellOf = (value: unknown): Value =>
  typeof value === "boolean"
    ? Number(value)
    : typeof value === "object" && value !== null
      ? JSON.stringify(value)
      : (value as Value);

/** Pushes a history of commits, each of which changes one of 100 files, 20 branches, and one that changes 20 files. */
async function pushHistory(app: App, project: string, commits: number): Promise<void> {
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
