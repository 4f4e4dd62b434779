// Runs Git's own client, which must be installed.
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect } from "vitest";
import type { Repository } from "../../src/git/repository.ts";
import { type Server, serve } from "../../src/node.ts";
import { findRecord, openRecord } from "../../src/resources/repositories/open.ts";
import { newFolder } from "../folder.ts";
import { type Person, type TestApp, testApp, tokenOf } from "../helpers.ts";

const run = promisify(execFile);

/** Settings of neither the machine nor the user. */
const ENVIRONMENT = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.com",
  LC_ALL: "C",
};

/** A folder for repositories, and an application that serves Git there. */
export interface Workshop {
  readonly folder: string;
  /** Runs `git` in a folder below, and returns its output, or throws with what it said. */
  git(where: string, ...args: string[]): Promise<string>;
  /** Runs `git`, which must fail, and returns what it said. */
  failure(where: string, ...args: string[]): Promise<string>;
  /** The address of a project's repository, with a person's token. */
  url(project: string, person?: Exclude<Person, "anonymous">): string;
  /** Imports a history into a new bare repository. */
  importInto(where: string, history: string): Promise<void>;
  /** Imports a history, and pushes all of it to a new project of that name. Returns the project's repository. */
  pushed(name: string, history: string): Promise<Repository>;
  /** Pushes all of a repository to a new project of that name. Returns the project's repository. */
  pushedFrom(where: string, name: string): Promise<Repository>;
  close(): Promise<void>;
}

/** Serves an application for Git's client. */
export async function openWorkshop(app: TestApp): Promise<Workshop> {
  const folder = newFolder();
  const server: Server = await serve(app, { port: 0, grace: 100 });
  const start = (where: string, args: string[]) =>
    run("git", args, {
      cwd: join(folder, where),
      env: { ...process.env, ...ENVIRONMENT, HOME: folder },
      maxBuffer: 64 * 1024 * 1024,
    });
  const git = async (where: string, ...args: string[]) => {
    const { stdout } = await start(where, args).catch((error) => {
      throw new Error(`git ${args.join(" ")}: ${error.stderr}`);
    });
    return stdout.trim();
  };
  const url: Workshop["url"] = (project, person) => {
    const address = `${server.url}/${project}.git`;
    return person ? address.replace("//", `//any:${tokenOf(person)}@`) : address;
  };
  const importInto: Workshop["importInto"] = async (where, history) => {
    await git("", "init", "--quiet", "--bare", "--initial-branch=main", where);
    const importing = run("git", ["fast-import", "--quiet", "--force"], {
      cwd: join(folder, where),
    });
    importing.child.stdin?.end(history);
    await importing;
  };
  const pushedFrom: Workshop["pushedFrom"] = async (where, name) => {
    const { json } = await app.call("POST /projects", { as: "owner", json: { name } });
    await git(where, "push", "--quiet", "--mirror", url(`owner/${name}`, "owner"));
    const { row } = await findRecord(app.store, json.id);
    return openRecord(app.store, row);
  };
  return {
    folder,
    git,
    failure: (where, ...args) =>
      start(where, args).then(
        () => {
          throw new Error(`git ${args.join(" ")} did not fail`);
        },
        (error) => String(error.stderr),
      ),
    url,
    importInto,
    pushed: async (name, history) => {
      await importInto(name, history);
      return pushedFrom(name, name);
    },
    pushedFrom,
    close: async () => {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What the tests of a file share. */
interface Opened {
  readonly app: TestApp;
  readonly workshop: Workshop;
  readonly git: Workshop["git"];
}

/**
 * Opens an application and a workshop before the tests of a file, and closes them afterwards. No errors may have been
 * reported then.
 *
 * @param take gets them, and may prepare them further
 */
export function shareWorkshop(
  take: (opened: Opened) => void | Promise<void>,
  options: Parameters<typeof testApp>[0] = {},
): void {
  const failures: unknown[] = [];
  let opened: Opened | undefined;
  beforeAll(async () => {
    const app = await testApp({ onError: (error) => failures.push(error), ...options });
    const workshop = await openWorkshop(app);
    opened = { app, workshop, git: workshop.git };
    await take(opened);
  });
  afterAll(async () => {
    await opened?.workshop.close();
    await opened?.app.dispose();
    expect(failures).toEqual([]);
  });
}

/** Numbers that look random, and are the same for each seed. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const PATHS = ["a", "b", "d/a", "d/b", "d/e/a", "d/e/f", "g/a", "g/h/i/j"];

/** Content of a file: versions differ in some lines. */
const contentOf = (version: number) =>
  `line ${version}\n`.repeat(3) +
  Array.from({ length: 20 }, (_, at) => `text ${(version % 7) + at}\n`).join("");

/**
 * A random history for `git fast-import`, with merges of several branches, reverts and tags: branches `main`, `b1` to
 * `b5`, tags `t…`.
 */
export function randomHistory(seed: number, commits: number): string {
  const random = randomOf(seed);
  const trees = new Map<number, Map<string, number>>();
  const lines: string[] = [];
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}`;
  for (let mark = 1; mark <= commits; mark += 1) {
    const recent = (count: number) => Math.max(1, mark - 1 - random(count));
    const parents = new Set(mark > 1 && random(100) > 0 ? [recent(8)] : []);
    while (parents.size > 0 && parents.size < 4 && random(5) === 0) parents.add(recent(40));
    const [first] = parents;
    let tree = new Map(first === undefined ? [] : trees.get(first));
    if (mark > 2 && random(7) === 0) tree = new Map(trees.get(1 + random(mark - 1)));
    else {
      for (let change = random(3); change >= 0; change -= 1) {
        const path = PATHS[random(PATHS.length)] as string;
        if (random(7) === 0) tree.delete(path);
        else tree.set(path, 1 + random(60));
      }
    }
    trees.set(mark, tree);
    const branch = random(3) === 0 ? `b${1 + random(5)}` : "main";
    const time = 1_600_000_000 + mark * 1000 + random(6000) - 3000;
    lines.push(`commit refs/heads/${branch}`, `mark :${mark}`);
    lines.push(`committer A <a@example.com> ${time} +0000`, data(`Commit ${mark}\n`));
    for (const [at, parent] of [...parents].entries()) {
      lines.push(`${at === 0 ? "from" : "merge"} :${parent}`);
    }
    if (parents.size === 0) lines.push("from 0000000000000000000000000000000000000000");
    lines.push("deleteall");
    for (const [path, version] of tree) {
      lines.push(`M 100644 inline ${path}`, data(contentOf(version)));
    }
    lines.push("");
    if (random(20) === 0) {
      lines.push(`tag t${mark}`, `from :${mark}`, `tagger A <a@example.com> ${time} +0000`);
      lines.push(data("A tag\n"));
    }
  }
  return `${lines.join("\n")}\n`;
}
