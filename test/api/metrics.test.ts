import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../src/index.ts";
import { engine, newDatabase, type TestApp, testApp } from "../helpers.ts";

let now = Date.parse("2026-11-22T12:00:00Z");
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => now });
});
afterAll(() => app.dispose());

const scrape = async () => (await app.call("GET /-/metrics", { as: "admin" })).text;

/** The value of a metric with its labels, as written; `undefined` if it is missing. */
function valueIn(text: string, metric: string): number | undefined {
  const line = text.split("\n").find((one) => one.startsWith(`${metric} `));
  return line === undefined ? undefined : Number(line.slice(metric.length + 1));
}

describe("GET /-/metrics", () => {
  it("is for administrators whose token may read the API", async () => {
    const { status, headers, text } = await app.call("GET /-/metrics", { as: "admin" });
    expect([status, headers.get("content-type"), headers.get("cache-control")]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
      "no-store",
    ]);
    expect(text).toMatch(/^# HELP pm_api_build_info .*\n# TYPE pm_api_build_info gauge\n/);
    const anonymous = await app.call("GET /-/metrics");
    expect([anonymous.status, anonymous.json]).toEqual([401, { message: "401 Unauthorized" }]);
    const owner = await app.call("GET /-/metrics", { as: "owner" });
    expect([owner.status, owner.json]).toEqual([403, { message: "403 Forbidden" }]);
    const statusWith = async (scope: "read_api" | "read_user") => {
      const { token } = await app.admin.tokens.create({
        user: "admin",
        name: "m",
        scopes: [scope],
      });
      return (await app.call("GET /-/metrics", { headers: { "private-token": token } })).status;
    };
    expect([await statusWith("read_api"), await statusWith("read_user")]).toEqual([200, 403]);
  });

  it("has valid lines only, with each metric in one place", async () => {
    const text = await scrape();
    expect(text.endsWith("\n")).toBe(true);
    const lines = text.slice(0, -1).split("\n");
    const label = String.raw`[a-z_]+="(?:[^"\\]|\\["\\n])*"`;
    const sample = new RegExp(String.raw`^[a-z_]+(?:\{${label}(?:,${label})*\})? [\d.e+-]+$`);
    const header = /^# (?:HELP [a-z_]+ .+|TYPE [a-z_]+ (?:counter|gauge|histogram))$/;
    expect(lines.filter((line) => !sample.test(line) && !header.test(line))).toEqual([]);
    const named = lines
      .filter((line) => line.startsWith("# TYPE "))
      .map((line) => line.split(" ")[2]);
    expect(new Set(named).size).toBe(named.length);
  });

  it("and readiness tell tasks whose process has ended, and nothing while there are none", async () => {
    const metric = 'pm_api_outbox_stuck_tasks{worker="hooks"}';
    const ready = async () => (await app.call("GET /-/readiness")).json;
    expect(await ready()).not.toHaveProperty("stuck_tasks");
    const columns = "worker, payload, due_at, owner, process, leased_at, created_at";
    const task = ["hooks", "{}", now, "worker", 4711, now, now];
    await app.store.transaction((db) =>
      db.run(`insert into outbox (${columns}) values (?, ?, ?, ?, ?, ?, ?)`, task),
    );
    expect(await ready()).toEqual({ status: "ok", stuck_tasks: { hooks: 1 } });
    expect(valueIn(await scrape(), metric)).toBe(1);
    await app.store.transaction((db) => db.run("delete from outbox"));
    expect(await ready()).toEqual({ status: "ok" });
  });

  // Bun's requests turn methods that it doesn't know into GET.
  const carriesAnyMethod = new Request("http://pm.test", { method: "BREW" }).method === "BREW";

  it("counts requests by pattern, so that clients can't create labels", async () => {
    const one =
      'pm_api_http_requests_total{method="GET",route="/api/v4/projects/:id",status="200"}';
    const before = valueIn(await scrape(), one) ?? 0;
    await app.call("GET /projects/acme%2Fsite", { as: "owner" });
    await app.call("GET /projects/acme%2Fteam%2Fcore", { as: "owner" });
    for (let n = 0; n < 5; n += 1) {
      await app.call(`GET /no-route-${n}`);
      await app.call(`GET /projects/nothing-${n}`);
      if (carriesAnyMethod) await app.call(`BREW${n} /projects/acme%2Fsite`);
    }
    await app.call("DELETE /version");
    const text = await scrape();
    expect(valueIn(text, one)).toBe(before + 2);
    const total = (labels: string) => valueIn(text, `pm_api_http_requests_total{${labels}}`);
    expect(total('method="GET",route="",status="404"')).toBe(5);
    expect(total('method="GET",route="/api/v4/projects/:id",status="404"')).toBe(5);
    if (carriesAnyMethod) {
      expect(total('method="other",route="/api/v4/projects/:id",status="405"')).toBe(5);
    }
    expect(total('method="DELETE",route="/api/v4/version",status="405"')).toBe(1);
    expect(text).not.toMatch(/nothing-|no-route-|BREW|acme/);
    const duration =
      'pm_api_http_request_duration_seconds_bucket{method="GET",route="/api/v4/projects/:id"';
    expect(valueIn(text, `${duration},le="+Inf"}`)).toBe(before + 7);
    expect(valueIn(text, "pm_api_http_requests_in_flight")).toBe(1);
  });

  it("measures the database", async () => {
    const of = (text: string, kind: string) =>
      valueIn(text, `pm_api_database_duration_seconds_count{kind="${kind}"}`) as number;
    const waits = (text: string) => valueIn(text, "pm_api_database_wait_seconds_count") as number;
    const before = await scrape();
    const json = { name: "Measured", color: "#112233" };
    const { status } = await app.call("POST /groups/acme/labels", { as: "owner", json });
    expect(status).toBe(201);
    const after = await scrape();
    for (const kind of ["read", "write", "transaction"]) {
      expect([kind, of(after, kind) > of(before, kind)]).toEqual([kind, true]);
    }
    expect(waits(after)).toBeGreaterThan(waits(before));
    const idle = valueIn(after, 'pm_api_database_connections{state="idle"}');
    if (engine === "postgres") expect(idle).toBeGreaterThanOrEqual(0);
    else expect(idle).toBeUndefined();
  });

  it("shows the queues of workers, and jobs that failed", async () => {
    const { database, drop } = await newDatabase();
    const options = { database, url: "https://pm.example.com", now: () => now };
    const mail = { smtp: "smtp://127.0.0.1:1", from: "pm@example.com" };
    await (await createApp({ ...options, mail })).close();
    const queuing = await createApp({ ...options, background: false });
    await queuing.admin.seed({
      users: [{ username: "ada" }],
      groups: [{ path: "acme", members: { ada: "owner" }, projects: [{ path: "site" }] }],
    });
    await queuing.admin.activity.recordPush({
      project: "acme/site",
      user: "ada",
      ref: "refs/heads/main",
      from: "a".repeat(40),
      to: "b".repeat(40),
      commitCount: 1,
      commitTitle: "One",
    });
    now += 90_000;
    const job = { name: "tea", every: 1000 };
    await queuing.admin.maintenance
      .runJob(job, () => Promise.reject(new Error("no")))
      .catch(() => undefined);
    const text = await queuing.admin.metrics();
    const tasks = (state: string) =>
      valueIn(text, `pm_api_outbox_tasks{worker="mail",state="${state}"}`);
    expect([tasks("waiting"), tasks("running"), tasks("failed")]).toEqual([1, 0, 0]);
    expect(valueIn(text, 'pm_api_outbox_oldest_age_seconds{worker="mail"}')).toBe(90);
    expect(valueIn(text, 'pm_api_outbox_worker_failing{worker="mail"}')).toBe(0);
    expect(valueIn(text, 'pm_api_periodic_job_failed{job="tea"}')).toBe(1);
    expect((await queuing.admin.tasks.list())[0]).toMatchObject({
      worker: "mail",
      state: "waiting",
    });
    await expect(queuing.admin.tasks.list({ limit: 0 })).rejects.toThrow("must be at least 1");
    await expect(queuing.admin.tasks.retry({ id: 987_654 })).rejects.toThrow("404 Task Not Found");
    expect(await queuing.admin.tasks.retry({ worker: "mail" })).toEqual({ tasks: 1 });
    await queuing.close();
    await drop();
  });

  it("has what docs/metrics.md lists", async () => {
    const text = await scrape();
    const helps = [...text.matchAll(/^# HELP (\S+) (.+)\n# TYPE \S+ (\w+)$/gm)];
    const documented = readFileSync(new URL("../../docs/metrics.md", import.meta.url), "utf8");
    const rows = [...documented.matchAll(/^\| `(\w+)` \| (\w+) \|(.*?)\| (.+) \|$/gm)];
    expect(rows.map(([, name, type, , help]) => [name, type, help])).toEqual(
      helps.map(([, name, help, type]) => [name, type, help]),
    );
    for (const [, name, , labels] of rows) {
      const known = [...(labels ?? "").matchAll(/`(\w+)`/g)].map(([, label]) => label);
      const line = text.split("\n").find((one) => new RegExp(`^${name}(_count)?[ {]`).test(one));
      const used = [...(line ?? "").matchAll(/(\w+)="/g)].map(([, label]) => label);
      if (line !== undefined) expect([name, known]).toEqual([name, used]);
    }
  });
});
