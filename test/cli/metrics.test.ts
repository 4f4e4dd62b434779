import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder, run, runJson, type Serving, startServing } from "./helpers.ts";

const folder = newFolder();
const db = join(folder.path, "pm.db");
beforeAll(() => runJson(["seed", "--db", db]));
afterAll(folder.remove);

const metricsUrl = (server: Serving): string =>
  server.log().find(({ message }) => message === "listening").metrics;

describe("serve --metrics-port", () => {
  it("serves metrics on a port of its own, without a token", async () => {
    const server = await startServing(["--db", db, "--metrics-port", "0"]);
    expect(metricsUrl(server)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
    await server.get("/version");
    const answer = await fetch(metricsUrl(server));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
    ]);
    const text = await answer.text();
    expect(text).toContain(
      'pm_api_http_requests_total{method="GET",route="/api/v4/version",status="401"} 1\n',
    );
    expect(text).toContain("# TYPE process_resident_memory_bytes gauge\n");
    const other = async (path: string, method: string) =>
      (await fetch(new URL(path, metricsUrl(server)), { method })).status;
    expect(await other("/", "GET")).toBe(404);
    expect(await other("/api/v4/version", "GET")).toBe(404);
    expect(await other("/metrics", "POST")).toBe(405);
    const taken = new URL(metricsUrl(server)).port;
    const second = await run(["serve", "--db", db, "--port", "0", "--metrics-port", taken]);
    expect([second.code, second.stderr]).toEqual([
      1,
      `error: port ${taken} on 127.0.0.1 is in use: stop what uses it, or choose another with --metrics-port (or PM_METRICS_PORT), 0 for a free one\n`,
    ]);
    expect(await server.stop()).toBe(0);
    await expect(fetch(metricsUrl(server))).rejects.toThrow();
  });

  it.skipIf(process.versions["deno"])("has the metrics of every worker", async () => {
    const server = await startServing(["--db", db, "--workers", "2", "--metrics-port", "0"]);
    for (let turn = 0; turn < 4; turn += 1) await server.get("/version");
    const text = await (await fetch(metricsUrl(server))).text();
    const [, ...started] = text.split(/^# TYPE process_start_time_seconds gauge$/m);
    const processes = [...(started[0] ?? "").matchAll(/\{process="(\d+)"\} [\d.]+$/gm)];
    expect(processes).toHaveLength(2);
    expect(text.match(/^# TYPE pm_api_http_requests_total counter$/gm)).toHaveLength(1);
    const counts = text.matchAll(
      /^pm_api_http_requests_total\{process="\d+",method="GET",route="\/api\/v4\/version",status="401"\} (\d+)$/gm,
    );
    const sum = [...counts].reduce((total, [, count]) => total + Number(count), 0);
    expect(sum).toBe(4);
    expect((await server.get("/version")).status).toBe(401);
    expect(await server.stop()).toBe(0);
    expect(server.stderr).toBe("");
  });
});
