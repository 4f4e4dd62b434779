// Merge requests are merged while others push, to one branch and to others. On PostgreSQL, two processes serve them.
// For more of both: MERGES=2000 PUSHERS=10 npx vitest run --project postgres test/store/merge-race.test.ts
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { verifyRepositories } from "../../src/git/verify.ts";
import { engine, testApp, tokenOf } from "../helpers.ts";
import { newCommit, pushHeaders, pushOf } from "../packs.ts";
import { programOf } from "../program.ts";

const MERGES = Number(process.env["MERGES"] ?? 20);
const PUSHERS = Number(process.env["PUSHERS"] ?? 4);
/** Merges that are asked for at the same time. */
const MERGERS = 4;
/** Each pusher makes one commit for so many merges. */
const PACE = 5;

const headers = { authorization: `Bearer ${tokenOf("owner")}`, "content-type": "application/json" };

it(
  "no commit is lost when merge requests are merged while others push",
  async () => {
    const app = await testApp();
    const group = await app.call("GET /groups/acme", { as: "owner" });
    const made = await app.call("POST /projects", {
      as: "owner",
      json: { name: "Race", namespace_id: group.json.id, initialize_with_readme: true },
    });
    const project = `/projects/${made.json.id}`;
    for (let number = 0; number < MERGES; number += 1) {
      const actions = [{ action: "create", file_path: `merged/${number}.txt`, content: "x\n" }];
      const branch = `b${number}`;
      const json = { branch, start_branch: "main", commit_message: `Change ${number}`, actions };
      await app.call(`POST ${project}/repository/commits`, { as: "owner", json });
      const request = { title: "Change", source_branch: branch, target_branch: "main" };
      const opened = await app.call(`POST ${project}/merge_requests`, {
        as: "owner",
        json: request,
      });
      expect(opened.status, opened.text).toBe(201);
    }

    const program = await programOf(new URL("_git-process.ts", import.meta.url));
    const servers: { child: ChildProcess; url: string }[] = [];
    for (let count = engine === "postgres" ? 2 : 1; count > 0; count -= 1) {
      const child = spawn(process.execPath, [program.file, app.database], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      const [line] = await once(child.stdout as NodeJS.ReadableStream, "data");
      servers.push({ child, url: String(line).trim() });
    }
    let calls = 0;
    /** Asks one server after the other. */
    const send = async (method: string, path: string, json: object) => {
      calls += 1;
      const { url } = servers[calls % servers.length] as { url: string };
      const body = JSON.stringify(json);
      const answer = await fetch(`${url}/api/v4${project}${path}`, { method, headers, body });
      return { status: answer.status, text: await answer.text() };
    };

    let next = 0;
    let merged = 0;
    const began = performance.now();
    const mergers = Array.from({ length: MERGERS }, async () => {
      while (next < MERGES) {
        next += 1;
        const json = { should_remove_source_branch: true };
        const { status, text } = await send("PUT", `/merge_requests/${next}/merge`, json);
        expect(status, text).toBe(200);
        merged += 1;
      }
    });
    /** Those of the target branch use the API, the others Git, each with a branch of its own. */
    const committed: string[] = [];
    const pushed = new Map<string, string>();
    const pushers = Array.from({ length: PUSHERS }, async (_, pusher) => {
      for (let count = 0; count * PACE < MERGES; count += 1) {
        while (merged < count * PACE) await new Promise((resolve) => setTimeout(resolve, 5));
        if (pusher % 2 === 0) {
          const file_path = `pushed/${pusher}-${count}.txt`;
          const actions = [{ action: "create", file_path, content: "y\n" }];
          const json = { branch: "main", commit_message: "Push", actions };
          const { status, text } = await send("POST", "/repository/commits", json);
          expect(status, text).toBe(201);
          committed.push(file_path);
        } else {
          const name = `refs/heads/own-${pusher}`;
          const from = pushed.get(name);
          const commit = newCommit(`${pusher} ${count}`, from);
          const { url } = servers[count % servers.length] as { url: string };
          const answer = await fetch(
            `${url}/${made.json.path_with_namespace}.git/git-receive-pack`,
            {
              method: "POST",
              headers: pushHeaders(tokenOf("owner")),
              body: new Uint8Array(pushOf([{ name, from, to: commit.oid }], commit.pack)),
            },
          );
          expect(await answer.text()).toContain(`ok ${name}`);
          pushed.set(name, commit.oid);
        }
      }
    });
    await Promise.all([...mergers, ...pushers]);
    const took = performance.now() - began;
    for (const { child } of servers) {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    await program.remove();
    if (process.env["MERGES"] !== undefined) {
      console.log(`${MERGES} merges while ${PUSHERS} clients pushed: ${Math.round(took)} ms`);
    }

    const states = await app.store.rows(
      "select state, count(*) from merge_requests where project_id = ? group by state",
      [made.json.id],
    );
    expect(states.map(([state, count]) => [state, Number(count)])).toEqual([["merged", MERGES]]);
    const count = await app.call(`GET ${project}/repository/commits/main/sequence`, {
      as: "owner",
    });
    expect(count.json.count).toBe(1 + 2 * MERGES + committed.length);
    const filesIn = async (path: string) => {
      const names: string[] = [];
      for (let page = 1, length = 100; length === 100; page += 1) {
        const query = `path=${path}&per_page=100&page=${page}`;
        const { json } = await app.call(`GET ${project}/repository/tree?${query}`, { as: "owner" });
        length = json.length;
        names.push(...json.map((one: { path: string }) => one.path));
      }
      return names.sort();
    };
    expect(await filesIn("pushed")).toEqual(committed.sort());
    expect(await filesIn("merged")).toHaveLength(MERGES);
    const refs = await app.store.rows(
      "select name, oid from git_refs where name like 'refs/heads/%' and name <> 'refs/heads/main'",
    );
    expect(new Map(refs as [string, string][])).toEqual(pushed);
    expect(await verifyRepositories(app.store, 10)).toEqual([]);
    await app.dispose();
  },
  Math.max(600_000, 1500 * MERGES),
);
