import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder, run, runJson, type Serving, startServing } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
let server: Serving;
beforeAll(async () => {
  const data = ["--username", "ada", "--name", "Ada", "--email", "ada@example.com"];
  await runJson(["user", "create", ...data, "--password-stdin"], { ...at, input: "correct horse" });
  server = await startServing([], at);
});
afterAll(async () => {
  await server.stop();
  folder.remove();
});

const create = (name: string, ...more: string[]) => [
  ...["app", "create", "--user", "ada", "--name", name],
  ...["--redirect-uri", "https://a.test/cb", "--scopes", "api,read_user", ...more],
];

/** The served token endpoint's status for an application's credentials. */
async function ask(client_id: string, client_secret: string): Promise<number> {
  const response = await fetch(`${server.url}/oauth/token`, {
    method: "POST",
    headers: { connection: "close" },
    body: new URLSearchParams({
      grant_type: "password",
      username: "ada",
      password: "correct horse",
      client_id,
      client_secret,
    }),
  });
  await response.text();
  return response.status;
}

describe("app create", () => {
  it("prints one object whose credentials the served API accepts", async () => {
    const ran = await run(
      [...create("Dash", "--trusted"), "--redirect-uri", "http://127.0.0.1/cb", "--json"],
      at,
    );
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    const app = JSON.parse(ran.stdout);
    expect(app).toEqual({
      id: expect.any(Number),
      username: "ada",
      name: "Dash",
      client_id: expect.stringMatching(/^[0-9a-f]{64}$/),
      client_secret: expect.stringMatching(/^[0-9a-f]{64}$/),
      redirect_uris: ["https://a.test/cb", "http://127.0.0.1/cb"],
      scopes: ["api", "read_user"],
      confidential: true,
      trusted: true,
    });
    expect(await ask(app.client_id, app.client_secret)).toBe(200);
    expect(await ask(app.client_id, "wrong")).toBe(401);
  });

  it("shows people the secret once, and that a public one has none", async () => {
    const { code, stdout } = await run(create("Desk"), at);
    expect(code).toBe(0);
    const secret = /Client secret: ([0-9a-f]{64})\n/.exec(stdout)?.[1] as string;
    expect(stdout).toContain("not shown again");
    expect(JSON.stringify(await runJson(["app", "list"], at))).not.toContain(secret);
    const open = await run(create("Phone", "--public"), at);
    expect(open.stdout).toContain("has no secret");
    expect(open.stdout).not.toContain("Client secret");
  });

  it("reports missing and invalid options", async () => {
    expect(await run(["app", "create", "--user", "ada", "--scopes", "api"], at)).toEqual({
      code: 2,
      stdout: "",
      stderr: "error: --name and --redirect-uri are required\n",
    });
    for (const [more, text] of [
      [["--redirect-uri", "javascript:x"], "redirect_uri has a forbidden scheme"],
      [["--scopes", "magic"], "scopes can only contain available scopes"],
    ] as const) {
      const { code, stderr } = await run(create("x", ...more), at);
      expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
    }
    const { code, stderr } = await run(create("x", "--user", "nobody"), at);
    expect([code, stderr]).toEqual([1, expect.stringContaining("pm-cli user list")]);
  });
});

describe("app list, renew-secret and delete", () => {
  it("show, renew and delete applications", async () => {
    const { client_secret, ...app } = await runJson(create("Mine"), at);
    expect(await runJson(["app", "list", "--user", "ada"], at)).toContainEqual(app);
    const { stdout } = await run(["app", "list"], at);
    for (const text of ["Mine", "confidential", "https://a.test/cb"]) {
      expect(stdout).toContain(text);
    }

    const renewed = await runJson(["app", "renew-secret", String(app.id)], at);
    expect(await ask(app.client_id, client_secret)).toBe(401);
    expect(await ask(app.client_id, renewed.client_secret)).toBe(200);
    const shown = (await run(["app", "renew-secret", app.client_id], at)).stdout;
    expect(await ask(app.client_id, shown.split("\n", 1)[0] as string)).toBe(200);

    const { stdout: gone } = await run(["app", "delete", String(app.id)], at);
    expect(gone).toBe(`Application ${app.id} (Mine) is deleted.\n`);
    expect(await ask(app.client_id, renewed.client_secret)).toBe(401);
    expect(await run(["app", "delete", String(app.id)], at)).toEqual({
      code: 1,
      stdout: "",
      stderr: "error: there is no such application: `pm-cli app list` shows them all\n",
    });
  });

  it("renew no secret for a public application", async () => {
    const { id } = await runJson(create("Open", "--public"), at);
    const { code, stderr } = await run(["app", "renew-secret", String(id)], at);
    expect([code, stderr]).toEqual([2, expect.stringContaining("is public and has no secret")]);
  });
});
