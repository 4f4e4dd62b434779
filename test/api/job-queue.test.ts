// Many runners ask two processes for jobs, of which one is killed again and again. JOB_QUEUE_PIPELINES=40 has 2,000 jobs.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { doDue } from "../../src/resources/ci/timed.ts";
import { SECRET_KEY, testApp } from "../helpers.ts";
import { programOf } from "../program.ts";
import { ciProject } from "./_pipelines.ts";

const PIPELINES = Number(process.env["JOB_QUEUE_PIPELINES"] ?? 2);
const JOBS = 50;
const RUNNERS = PIPELINES > 2 ? 20 : 6;
const KILLS = PIPELINES > 2 ? 5 : 1;
const HOUR = 3_600_000;

interface Server {
  url: string;
  child: ChildProcess;
}

it("loses no job and gives none out twice when a process is killed", {
  timeout: 1_800_000,
}, async () => {
  const app = await testApp();
  const program = await programOf(new URL("_queue-server.ts", import.meta.url));
  const start = async (): Promise<Server> => {
    const child = spawn(process.execPath, [program.file, app.database, SECRET_KEY], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [url] = await once(child.stdout as NodeJS.ReadableStream, "data");
    return { url: String(url), child };
  };
  const kill = async ({ child }: Server) => {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  const project = await ciProject(
    app,
    "queue",
    `
check:
  script: [make]
  parallel: ${JOBS}
  retry: 2
`,
  );
  const { json: runner } = await app.call("POST /user/runners", {
    as: "owner",
    json: { runner_type: "project_type", project_id: project.id },
  });
  for (let made = 0; made < PIPELINES; made += 1) {
    await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  }

  const servers = [await start(), await start()];
  const given: number[] = [];
  /** Sends a request to one of the servers, and to the other one if that is killed. */
  const send = async (at: number, path: string, method: string, json: object) => {
    for (let tries = at; ; tries += 1) {
      const { url } = servers[tries % servers.length] as Server;
      try {
        const response = await fetch(`${url}/api/v4${path}`, {
          method,
          headers: { "content-type": "application/json" },
          body: JSON.stringify(json),
        });
        const text = await response.text();
        if (response.status < 500) return { status: response.status, text };
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  };
  /** Does jobs until there are no more. */
  const work = async (at: number) => {
    for (;;) {
      const request = { token: runner.token, system_id: `s_${at}` };
      const { status, text } = await send(at, "/jobs/request", "POST", request);
      if (status === 204) return;
      expect(status).toBe(201);
      const { id, token } = JSON.parse(text);
      given.push(id);
      const done = await send(at, `/jobs/${id}`, "PUT", { token, state: "success" });
      // 403: it had been done, but the answer was lost.
      expect([200, 403]).toContain(done.status);
    }
  };
  const everybody = () => Promise.all(Array.from({ length: RUNNERS }, (_, at) => work(at)));

  const working = everybody();
  for (let killed = 1; killed <= KILLS; killed += 1) {
    const until = Math.floor((killed * PIPELINES * JOBS) / (KILLS + 2));
    while (given.length < until) await new Promise((resolve) => setTimeout(resolve, 5));
    const [victim] = servers as [Server, Server];
    await kill(victim);
    servers[0] = await start();
  }
  await working;
  // Of jobs whose runner never got the answer nothing is heard: they are tried again.
  const left = async () =>
    (await app.store.rows("select 1 from ci_jobs where status in ('pending', 'running')")).length;
  for (let later = 1; (await left()) > 0 && later < 5; later += 1) {
    await doDue(app.store, Date.now() + 3 * HOUR);
    await everybody();
  }

  expect(new Set(given).size).toBe(given.length);
  const ended = await app.store.rows(
    "select status, count(*) from ci_jobs where retried = 0 group by status",
  );
  expect(ended).toEqual([["success", PIPELINES * JOBS]]);
  const pipelines = await app.store.rows("select distinct status from pipelines");
  expect(pipelines).toEqual([["success"]]);
  expect(await app.store.rows("select 1 from job_tokens")).toEqual([]);
  for (const server of servers) await kill(server);
  await program.remove();
  await app.dispose();
});
