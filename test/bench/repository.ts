import { join } from "node:path";
import { type App, createApp } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import type { Value } from "../../src/store/port.ts";
import { entry, Objects, pushHeaders, pushOf } from "../packs.ts";
import type { Where } from "./events.ts";
import { HEADERS, type Operation } from "./operations.ts";
import { CALLER } from "./seed.ts";

const REPOSITORY = "/projects/acme%2Fsite/repository";

/** What clients read of a repository with 1,000 commits, 100 files in a folder and 20 branches. */
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
];

/** The tables that the bare server reads instead: rows of what the application answers. */
const TABLES = ["bench_files", "bench_branches", "bench_commits"] as const;

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
  const answers: Record<string, unknown>[][] = [];
  for (const { path } of REPOSITORY_OPERATIONS) {
    const request = new Request(`http://pm.test/api/v4${path}`, { headers: HEADERS });
    answers.push((await (await app.fetch(request)).json()) as Record<string, unknown>[]);
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

/** What a branch and its commit both have. */
const named = ({ commit, web_url }: Record<string, unknown>) =>
  commit === undefined
    ? {}
    : { branch_url: web_url, web_url: (commit as Record<string, unknown>)["web_url"] };

const cellOf = (value: unknown): Value =>
  typeof value === "boolean"
    ? Number(value)
    : typeof value === "object"
      ? JSON.stringify(value)
      : (value as Value);

/** Pushes a history of commits, each of which changes one of 100 files, and 20 branches. */
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
  const changes = names.map((name) => ({ name: `refs/heads/${name}`, to: tip?.toString("hex") }));
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
