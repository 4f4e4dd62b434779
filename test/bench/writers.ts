// `npm run bench:writers`: how many issues twelve clients create on PostgreSQL relative to one, all in one project and
// each in its own. `--postgres URL` uses another server than the tests'. It never fails for being slow, but does for an
// answer other than 201.
import { Agent, request } from "node:http";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import pg from "pg";
import { createApp } from "../../src/index.ts";
import { startPostgres } from "../postgres-server.ts";
import { startServer } from "./processes.ts";
import { median } from "./report.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    postgres: { type: "string" },
  },
});
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const CLIENTS = 12;
const TOKEN = "token-of-the-writers";
const DATABASE = "pm_bench_writers";
const script = fileURLToPath(new URL("servers/app.mjs", import.meta.url));
const agent = new Agent({ keepAlive: true });

// As in production: acknowledged writes are on disk.
const own =
  options.postgres === undefined ? await startPostgres({ fsync: "on" }) : { url: options.postgres };
try {
  const admin = new pg.Client({ connectionString: `${own.url}/postgres` });
  await admin.connect();
  await admin.query(`drop database if exists ${DATABASE} with (force)`);
  await admin.query(`create database ${DATABASE} template template0`);
  const [{ server_version: version }] = (await admin.query("show server_version")).rows;
  const app = await createApp({ database: `${own.url}/${DATABASE}`, background: false });
  await app.admin.seed({
    users: [{ username: "writer", tokens: [{ token: TOKEN, scopes: ["api"] }] }],
    groups: [
      {
        path: "acme",
        members: { writer: "owner" },
        projects: Array.from({ length: CLIENTS }, (_, at) => ({ path: `project-${at}` })),
      },
    ],
  });
  await app.close();
  const server = await startServer([script, `${own.url}/${DATABASE}`]);
  const one = () => measure(server.url, 1, () => "project-0");
  const inOne = () => measure(server.url, CLIENTS, () => "project-0");
  const inEach = () => measure(server.url, CLIENTS, (client) => `project-${client}`);
  await inEach();
  const measured: Record<"one" | "inOne" | "inEach", Rate>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({ one: await one(), inOne: await inOne(), inEach: await inEach() });
  }
  await server.stop();
  await admin.query(`drop database ${DATABASE} with (force)`);
  await admin.end();

  const table = new Table({
    head: [`PostgreSQL ${version}`, "issues/s", "to one writer", "from – to", "p99 ms"],
    style: { head: [], border: [], compact: true },
  });
  for (const [name, title] of [
    ["one", "one writer"],
    ["inOne", `${CLIENTS} writers in one project`],
    ["inEach", `${CLIENTS} writers in a project each`],
  ] as const) {
    const ratios = measured.map((round) => round[name].perSecond / round.one.perSecond);
    table.push([
      title,
      median(measured.map((round) => round[name].perSecond)).toFixed(0),
      median(ratios).toFixed(2),
      `${Math.min(...ratios).toFixed(2)} – ${Math.max(...ratios).toFixed(2)}`,
      median(measured.map((round) => round[name].p99)).toFixed(0),
    ]);
  }
  console.log(`Medians of ${rounds} rounds of ${seconds} s, ratios within a round.\n${table}`);
} finally {
  agent.destroy();
  if ("remove" in own) await own.remove();
}

interface Rate {
  perSecond: number;
  /** 99th percentile in milliseconds. */
  p99: number;
}

/** Creates issues for some seconds. */
async function measure(
  url: string,
  clients: number,
  projectOf: (client: number) => string,
): Promise<Rate> {
  const times: number[] = [];
  const started = performance.now();
  const end = started + seconds * 1000;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (performance.now() < end) {
        const asked = performance.now();
        await create(url, projectOf(client));
        times.push(performance.now() - asked);
      }
    }),
  );
  const took = performance.now() - started;
  times.sort((a, b) => a - b);
  return {
    perSecond: (1000 * times.length) / took,
    p99: times[Math.floor(times.length * 0.99)] ?? Number.NaN,
  };
}

function create(url: string, project: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}/api/v4/projects/acme%2F${project}/issues`,
      {
        agent,
        method: "POST",
        headers: { "private-token": TOKEN, "content-type": "application/json" },
      },
      (response) => {
        response.resume().once("end", () => {
          if (response.statusCode === 201) resolve();
          else reject(new Error(`an issue was answered with ${response.statusCode}`));
        });
      },
    );
    sent.once("error", reject);
    sent.end(JSON.stringify({ title: "Written by the bench" }));
  });
}
