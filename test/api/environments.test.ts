import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { slugOf, tierOf } from "../../src/resources/ci/environment-names.ts";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";

const ENVIRONMENTS = "/projects/acme%2Fsite/environments";
const DEPLOYMENTS = "/projects/acme%2Fsite/deployments";

let app: TestApp;
let sha = "";
let jobToken = "";
beforeAll(async () => {
  const [acme, ...groups] = baseSeed.groups ?? [];
  const site = {
    path: "site",
    name: "Site",
    visibility: "public" as const,
    pushes: [
      { author: "owner", ref: "main", commits: [{ message: "Begin", files: { a: "b" } }] },
      { author: "owner", ref: "v1", ref_type: "tag", action: "created", commits: [] },
    ],
  };
  app = await testApp({
    seed: {
      ...baseSeed,
      groups: [{ ...(acme as NonNullable<typeof acme>), projects: [site] }, ...groups],
    },
  });
  const { json } = await app.call("GET /projects/acme%2Fsite/repository/commits/main");
  sha = json.id;
  const made = await app.admin.tokens.createForJob({ project: "acme/site", user: "developer" });
  jobToken = made.token;
});
afterAll(() => app.dispose());

const send = async (request: string, json?: object, as: Person = "developer") => {
  const answer = await app.call(request, { as, ...(json && { json }) });
  return { status: answer.status, json: answer.json };
};

describe("environments", () => {
  it("are added with a slug and a tier of their name", async () => {
    const { status, json } = await send(`POST ${ENVIRONMENTS}`, { name: "mepmep" });
    expect([status, json]).toEqual([
      201,
      {
        id: expect.any(Number),
        name: "mepmep",
        slug: "mepmep",
        external_url: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        tier: "other",
        state: "available",
        auto_stop_at: null,
        description: null,
        auto_stop_setting: "always",
        cluster_agent: null,
        kubernetes_namespace: null,
        flux_resource_path: null,
        last_deployment: null,
      },
    ]);
    expect(await send(`POST ${ENVIRONMENTS}`, { name: "mepmep" })).toEqual({
      status: 400,
      json: { message: ["Name has already been taken"] },
    });
    expect(await send(`POST ${ENVIRONMENTS}`, { name: "x", slug: "y" })).toEqual({
      status: 400,
      json: { error: "slug is automatically generated and cannot be changed" },
    });
    const review = await send(`POST ${ENVIRONMENTS}`, { name: "review/fix-1" });
    expect(review.json).toMatchObject({ slug: "review-fix-1-mma7oi", tier: "development" });
  });

  it("need a name without strange characters, and addresses that are safe to open", async () => {
    for (const name of ["", " ", "/a", "a/", "a;b", "a".repeat(256), "a\n"]) {
      const { status, json } = await send(`POST ${ENVIRONMENTS}`, { name });
      expect([name, status]).toEqual([name, 400]);
      expect(JSON.stringify(json.message)).toMatch(/name/i);
    }
    for (const external_url of ["javascript:1", " JavaScript:1", "java\tscript:1"]) {
      expect((await send(`POST ${ENVIRONMENTS}`, { name: "js", external_url })).json).toEqual({
        message: ["External url javascript scheme is not allowed"],
      });
    }
    const ftp = { name: "ftp", external_url: "ftp://a.example" };
    expect((await send(`POST ${ENVIRONMENTS}`, ftp)).json).toMatchObject(ftp);
  });

  it("are changed, but not their name and slug", async () => {
    const { json } = await send(`POST ${ENVIRONMENTS}`, { name: "staging" });
    const one = `${ENVIRONMENTS}/${json.id}`;
    const changes = { external_url: "https://a.example", tier: "testing", description: "Try it" };
    const changed = await send(`PUT ${one}`, { ...changes, name: "other" });
    expect([changed.status, changed.json]).toMatchObject([200, { ...changes, name: "staging" }]);
    expect((await send(`PUT ${one}`, { slug: "a" })).status).toBe(400);
    expect((await send(`PUT ${one}`, { tier: "space" })).status).toBe(400);
    expect((await send(`PUT ${one}`, { external_url: "javascript:1" })).json).toEqual({
      message: { external_url: ["javascript scheme is not allowed"] },
    });
    expect((await send(`PUT ${one}`, {}, "reporter")).status).toBe(403);
    expect((await send(`PUT ${ENVIRONMENTS}/4711`, {})).json).toEqual({
      message: "404 Not found",
    });
  });

  it("are listed by name, part of the name, and state, with their project", async () => {
    const listed = await send(`GET ${ENVIRONMENTS}?name=staging`, undefined, "reporter");
    expect(listed.json).toHaveLength(1);
    expect(listed.json[0]).toMatchObject({
      name: "staging",
      project: { path_with_namespace: "acme/site", name_with_namespace: "Acme / Site" },
    });
    expect(listed.json[0]).not.toHaveProperty("last_deployment");
    expect(listed.json[0].project).not.toHaveProperty("_links");
    const found = await send(`GET ${ENVIRONMENTS}?search=EVIEW`);
    expect(found.json.map(({ name }: { name: string }) => name)).toEqual(["review/fix-1"]);
    expect((await send(`GET ${ENVIRONMENTS}?search=ab`)).status).toBe(400);
    expect(await send(`GET ${ENVIRONMENTS}?search=abc&name=abc`)).toEqual({
      status: 400,
      json: { error: "name, search cannot be used together" },
    });
    expect((await send(`GET ${ENVIRONMENTS}?states=stopped`)).json).toEqual([]);
    expect((await send(`GET ${ENVIRONMENTS}?states=nope`)).json).toEqual({
      message: { states: ["does not have a valid value"] },
    });
    expect((await send(`GET ${ENVIRONMENTS}`, undefined, "guest")).status).toBe(403);
  });

  it("are removed once they are stopped", async () => {
    const { json } = await send(`POST ${ENVIRONMENTS}`, { name: "short-lived" });
    const one = `${ENVIRONMENTS}/${json.id}`;
    expect((await send(`DELETE ${one}`)).status).toBe(403);
    const stopped = await send(`POST ${one}/stop`);
    expect([stopped.status, stopped.json.state]).toEqual([200, "stopped"]);
    expect((await send(`GET ${ENVIRONMENTS}?states=stopped`)).json).toHaveLength(1);
    expect((await send(`DELETE ${one}`)).status).toBe(204);
    expect((await send(`GET ${one}`)).status).toBe(404);
  });

  it("are stopped if they are stale", async () => {
    const now = Date.now();
    const day = 86_400_000;
    const ago = (days: number) => ({ before: new Date(now - days * day).toISOString() });
    expect((await send(`POST ${ENVIRONMENTS}/stop_stale`, ago(8))).status).toBe(403);
    for (const days of [1, 4000]) {
      const refused = await send(`POST ${ENVIRONMENTS}/stop_stale`, ago(days), "maintainer");
      expect([refused.status, refused.json.message]).toEqual([
        400,
        "400 Bad request - Invalid Date",
      ]);
    }
    const { json } = await send(`POST ${ENVIRONMENTS}`, { name: "stale" });
    await app.store.transaction((db) =>
      db.run("update environments set updated_at = ? where id = ?", [now - 9 * day, json.id]),
    );
    const asked = await send(`POST ${ENVIRONMENTS}/stop_stale`, ago(8), "maintainer");
    expect([asked.status, asked.json]).toEqual([
      200,
      { message: "Successfully requested stop for all stale environments" },
    ]);
    const states = (await send(`GET ${ENVIRONMENTS}?states=stopped`)).json;
    expect(states.map(({ name }: { name: string }) => name)).toEqual(["stale"]);
  });

  it("of reviews are removed together once they are stopped, if it is not just a trial", async () => {
    const ids: number[] = [];
    for (const name of ["review/one", "review/two", "preview/three"]) {
      const { json } = await send(`POST ${ENVIRONMENTS}`, { name });
      ids.push(json.id);
      await send(`POST ${ENVIRONMENTS}/${json.id}/stop`);
    }
    const old = Date.now() - 40 * 86_400_000;
    await app.store.transaction((db) =>
      db.run("update environments set created_at = ? where id in (?, ?, ?)", [
        old,
        ...(ids as [number, number, number]),
      ]),
    );
    const path = `${ENVIRONMENTS}/review_apps`;
    expect((await send(`DELETE ${path}`)).status).toBe(403);
    const trial = await send(`DELETE ${path}`, undefined, "maintainer");
    expect([trial.status, trial.json.scheduled_entries.length]).toEqual([200, 2]);
    expect(trial.json.unprocessable_entries).toEqual([]);
    const limited = await send(`DELETE ${path}?dry_run=false&limit=1`, undefined, "maintainer");
    expect(limited.json.scheduled_entries.map(({ name }: { name: string }) => name)).toEqual([
      "review/one",
    ]);
    expect((await send(`GET ${ENVIRONMENTS}?search=review/o`)).json).toEqual([]);
    expect((await send(`GET ${ENVIRONMENTS}?name=review/two`)).json).toHaveLength(1);
  });

  it("have slugs as GitLab makes them", () => {
    expect(slugOf("1-foo")).toMatch(/^env-1-foo-[a-z0-9]{6}$/);
    expect(slugOf("foo--bar")).toMatch(/^foo-bar-[a-z0-9]{6}$/);
    expect(slugOf("staging-12345678901234567")).toMatch(/^staging-123456789-[a-z0-9]{6}$/);
    expect(slugOf("production")).toBe("production");
    expect(slugOf("review/fix-1")).toBe("review-fix-1-mma7oi");
    expect(slugOf("a-")).toBe("a");
  });

  it("have the tier that their name speaks of", () => {
    const tiers = { trunk: "development", "QA 1": "testing", accept: "testing", stg: "staging" };
    for (const [name, tier] of Object.entries({
      ...tiers,
      "pre-prod": "staging",
      PRD: "production",
    })) {
      expect([name, tierOf(name)]).toEqual([name, tier]);
    }
    expect(tierOf("x")).toBe("other");
  });
});

describe("deployments", () => {
  const least = () => ({
    environment: "production",
    sha,
    ref: "main",
    tag: false,
    status: "success",
  });

  it("are recorded with a commit and a branch or tag that exist, and add their environment", async () => {
    const { status, json } = await send(`POST ${DEPLOYMENTS}`, least());
    expect([status, json]).toMatchObject([
      201,
      {
        iid: 1,
        ref: "main",
        sha,
        status: "success",
        deployable: null,
        user: { username: "developer" },
        environment: { name: "production", slug: "production" },
      },
    ]);
    const environment = await send(`GET ${ENVIRONMENTS}/${json.environment.id}`);
    expect(json).toMatchObject(environment.json.last_deployment);
    const tagged = { ...least(), sha: sha.slice(0, 10), ref: "v1", tag: true, status: "failed" };
    const second = await send(`POST ${DEPLOYMENTS}`, tagged);
    expect(second.json).toMatchObject({ iid: 2, sha, ref: "v1", status: "failed" });
    const after = await send(`GET ${ENVIRONMENTS}/${json.environment.id}`);
    expect(after.json.last_deployment.id).toBe(json.id);

    const message = async (change: object) =>
      (await send(`POST ${DEPLOYMENTS}`, { ...least(), ...change })).json.message;
    expect(await message({ sha: "dead" })).toEqual({ sha: ["The commit does not exist"] });
    for (const change of [{ ref: "nope" }, { ref: "v1" }, { tag: true }]) {
      expect(await message(change)).toEqual({ ref: ["The branch or tag does not exist"] });
    }
    expect(await message({ environment: "" })).toHaveProperty("environment");
    expect(await message({ status: "created" })).toEqual({
      status: ["does not have a valid value"],
    });
    expect((await send(`POST ${DEPLOYMENTS}`, least(), "reporter")).status).toBe(403);
  });

  it("are changed from one status to another, if that is possible", async () => {
    const { json } = await send(`POST ${DEPLOYMENTS}`, { ...least(), status: "running" });
    const one = `${DEPLOYMENTS}/${json.id}`;
    expect((await send(`DELETE ${one}`, undefined, "maintainer")).json).toEqual({
      message: "Cannot destroy running deployment",
    });
    await send(`POST ${ENVIRONMENTS}/${json.environment.id}/stop`);
    const done = await send(`PUT ${one}`, { status: "success" });
    expect([done.status, done.json.status]).toEqual([200, "success"]);
    const environment = await send(`GET ${ENVIRONMENTS}/${json.environment.id}`);
    expect(environment.json.state).toBe("available");
    expect(await send(`PUT ${one}`, { status: "running" })).toEqual({
      status: 400,
      json: { message: { status: ['cannot transition via "run"'] } },
    });
    expect((await send(`PUT ${one}`, { status: "success" })).json.message).toEqual({
      status: ['cannot transition via "succeed"'],
    });
    expect((await send(`PUT ${DEPLOYMENTS}/4711`, { status: "failed" })).status).toBe(404);
  });

  it("are removed by maintainers, unless their environment has them now", async () => {
    const { json } = await send(`GET ${DEPLOYMENTS}?order_by=iid&sort=desc`);
    const [current, failed] = json;
    expect((await send(`DELETE ${DEPLOYMENTS}/${failed.id}`)).status).toBe(403);
    expect((await send(`DELETE ${DEPLOYMENTS}/${failed.id}`, undefined, "maintainer")).status).toBe(
      204,
    );
    const refused = await send(`DELETE ${DEPLOYMENTS}/${current.id}`, undefined, "maintainer");
    expect([refused.status, refused.json.message]).toEqual([
      400,
      "Deployment currently deployed to environment",
    ]);
  });

  it("are listed by environment, status and time, in several orders", async () => {
    await send(`POST ${DEPLOYMENTS}`, { ...least(), environment: "staging", status: "canceled" });
    const iids = async (query: string) => {
      const { status, json } = await send(`GET ${DEPLOYMENTS}?${query}`, undefined, "reporter");
      return status === 200 ? json.map(({ iid }: { iid: number }) => iid) : json.message;
    };
    expect(await iids("")).toEqual([1, 3, 4]);
    for (const order of ["id", "iid", "created_at"]) {
      expect(await iids(`order_by=${order}&sort=desc`)).toEqual([4, 3, 1]);
    }
    expect(await iids("order_by=ref")).toEqual([1, 3, 4]);
    expect(await iids("environment=staging")).toEqual([4]);
    expect(await iids("environment=nowhere")).toEqual([]);
    expect(await iids("status=success")).toEqual([1, 3]);
    expect(await iids("order_by=updated_at&updated_after=2020-01-01")).toEqual([1, 3, 4]);
    expect(await iids("order_by=updated_at&updated_before=2020-01-01")).toEqual([]);
    const finished = "order_by=finished_at&status=success&finished_after=2020-01-01&sort=desc";
    expect(await iids(finished)).toEqual([3, 1]);
    expect(await iids("updated_after=2020-01-01")).toBe(
      "400 Bad request - `updated_at` filter requires `updated_at` sort",
    );
    expect(await iids("finished_after=2020-01-01")).toBe(
      "400 Bad request - `finished_at` filter requires `finished_at` sort.",
    );
    expect(await iids("finished_after=2020-01-01&order_by=finished_at")).toBe(
      "400 Bad request - `finished_at` filter must be combined with `success` status filter.",
    );
  });

  it("and environments are open to jobs of their project", async () => {
    const headers = { "job-token": jobToken };
    const made = await app.call(`POST ${DEPLOYMENTS}`, { headers, json: least() });
    expect([made.status, made.json.user.username]).toEqual([201, "developer"]);
    expect((await app.call(`GET ${ENVIRONMENTS}`, { headers })).status).toBe(200);
    const elsewhere = "/projects/acme%2Fteam%2Fcore/environments";
    expect((await app.call(`GET ${elsewhere}`, { headers })).status).not.toBe(200);
    expect((await app.call(`GET ${ENVIRONMENTS}`)).status).toBe(401);
  });

  it("of deleted users have no name any more, and go with their project", async () => {
    await app.admin.users.create({ username: "leaver", name: "Leaver", email: "l@example.com" });
    await app.admin.members.add({ group: "acme", user: "leaver", role: "developer" });
    const { token } = await app.admin.tokens.create({ user: "leaver", name: "t", scopes: ["api"] });
    const made = await app.call(`POST ${DEPLOYMENTS}`, {
      headers: { "private-token": token },
      json: least(),
    });
    await app.admin.users.delete("leaver");
    const { json } = await send(`GET ${DEPLOYMENTS}/${made.json.id}`);
    expect(json.user.name).toBe("Ghost User");
  });
});
