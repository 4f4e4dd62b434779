import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMiddleware } from "../../src/node.ts";
import { testApp, waitFor } from "../helpers.ts";

describe("close()", () => {
  it("finishes running requests, refuses later ones, and reports no error", async () => {
    const errors: unknown[] = [];
    const app = await testApp({ onError: (error) => errors.push(error) });
    onTestFinished(() => app.dispose());
    const create = (title: string) =>
      app.call("POST /projects/acme%2Fsite/issues", { as: "owner", json: { title } });
    const running = Array.from({ length: 20 }, (_, at) => create(`Issue ${at}`));
    const closed = app.close();
    const refused = await create("Too late");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    for (const { status } of await Promise.all(running)) expect(status).toBe(201);
    await closed;
    // Closing again has no effect.
    await app.close();
    expect((await create("Much too late")).status).toBe(503);
    expect(errors).toEqual([]);
  });

  it("sends a started file to its end", async () => {
    const app = await testApp();
    onTestFinished(() => app.dispose());
    const bytes = Buffer.alloc(4 * 1024 * 1024, 7);
    const form = new FormData();
    form.set("file", new Blob([bytes]), "large.bin");
    const { json } = await app.call("POST /projects/acme%2Fsite/wikis/attachments", {
      as: "owner",
      body: form,
    });
    const host = createServer(createMiddleware(app));
    await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void host.close());
    const { port } = host.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/api/v4/projects/acme%2Fsite/wikis/${json.file_path}`;
    const headers = { "private-token": "token-of-owner", connection: "close" };
    const answer = await fetch(url, { headers });
    expect(answer.status).toBe(200);
    const closed = app.close();
    expect((await answer.arrayBuffer()).byteLength).toBe(bytes.length);
    await closed;
  });
});

describe("an application", () => {
  it("purges old events on its own, unless this is switched off", async () => {
    const swept: unknown[] = [];
    const resting = await testApp({ onSwept: (what) => swept.push(what) });
    onTestFinished(() => resting.dispose());
    await resting.call("POST /projects/acme%2Fsite/issues", {
      as: "owner",
      json: { title: "Old" },
    });
    await resting.store.transaction((db) => db.run("update events set created_at = 0"));
    const active = await resting.another({ background: true });
    await waitFor(async () => swept.length > 0);
    expect(swept).toEqual([
      {
        events: expect.any(Number),
        audit_events: 0,
        members: 0,
        before: expect.any(String),
        dry_run: false,
      },
    ]);
    expect((swept[0] as { events: number }).events).toBeGreaterThan(0);
    await active.close();
  });

  it("names jobs that failed in /-/readiness, until they succeed", async () => {
    let now = Date.parse("2026-11-22T12:00:00Z");
    const app = await testApp({ now: () => now });
    onTestFinished(() => app.dispose());
    const other = await app.another();
    onTestFinished(() => other.close());
    const job = { name: "tea", every: 3_600_000 };
    const ready = async () => (await app.call("GET /-/readiness")).json;
    const failing = app.admin.maintenance.runJob(job, async () => {
      expect(await other.admin.maintenance.runJob(job, async () => "second")).toBeUndefined();
      throw new Error("no water in /secret/path");
    });
    await expect(failing).rejects.toThrow("no water");
    expect(await ready()).toEqual({ status: "ok", failed_jobs: ["tea"] });
    expect(await other.admin.maintenance.runJob(job, async () => "too early")).toBeUndefined();
    now += 600_000;
    expect(await other.admin.maintenance.runJob(job, async () => "tea")).toBe("tea");
    expect(await ready()).toEqual({ status: "ok" });
    now += 3_599_999;
    expect(await app.admin.maintenance.runJob(job, async () => "too early")).toBeUndefined();
    now += 1;
    expect(await app.admin.maintenance.runJob(job, async () => "tea")).toBe("tea");
  });
});
