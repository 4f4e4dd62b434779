import { afterAll, beforeAll, expect, it } from "vitest";
import { newFolder, run, runJson, type Serving, startServing } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
let server: Serving;
beforeAll(async () => {
  const ada = ["--username", "ada", "--name", "Ada", "--email", "ada@example.com"];
  await runJson(["user", "create", ...ada], at);
  await runJson(["group", "create", "--path", "acme", "--name", "Acme", "--owner", "ada"], at);
  server = await startServing([], at);
});
afterAll(async () => {
  await server.stop();
  folder.remove();
});

const create = ["scim", "create", "--group", "acme", "--name", "Okta"];

it("issues a token that opens the served SCIM API of its group, until it is revoked", async () => {
  const created = await runJson(
    [...create, "--role", "developer", "--expires-at", "2999-12-31"],
    at,
  );
  expect(created).toEqual({
    id: expect.any(Number),
    group: "acme",
    name: "Okta",
    role: "developer",
    expires_at: "2999-12-31",
    last_used_at: null,
    revoked: false,
    active: true,
    path: "/api/scim/v2/groups/acme",
    scim_url: null,
    token: expect.stringMatching(/^pmst-[0-9a-f]{40}$/),
  });
  const { id, token, path } = created;
  const ask = () =>
    fetch(`${server.url}${path}/Users`, { headers: { authorization: `Bearer ${token}` } });
  expect((await ask()).status).toBe(200);
  const { token: _, ...shown } = created;
  const [listed] = await runJson(["scim", "list", "--group", "acme"], at);
  expect({ ...listed, last_used_at: null }).toEqual(shown);
  expect((await run(["scim", "list", "--group", "acme"], at)).stdout).toMatch(
    /Okta.*developer.*active/,
  );
  const revoked = await runJson(["scim", "revoke", String(id), "--group", "acme"], at);
  expect(revoked).toMatchObject({ id, revoked: true, active: false });
  expect((await ask()).status).toBe(401);
  const { stdout } = await run(["scim", "revoke", String(id), "--group", "acme"], at);
  expect(stdout).toBe(`SCIM token ${id} (Okta) of acme is revoked.\n`);
});

it("prints the secret once, with the address", async () => {
  const { stdout, code } = await run(create, at);
  expect(code).toBe(0);
  const [secret = ""] = stdout.split("\n");
  expect(secret).toMatch(/^pmst-/);
  expect(stdout).toContain("/api/scim/v2/groups/acme");
  expect((await run(["scim", "list", "--group", "acme"], at)).stdout).not.toContain(secret);
});

it("refuses unknown groups, tokens, roles and days", async () => {
  expect(await run(["scim", "list", "--group", "none"], at)).toMatchObject({ code: 1 });
  expect(await run(["scim", "revoke", "999999", "--group", "acme"], at)).toEqual({
    code: 1,
    stdout: "",
    stderr: "error: there is no such SCIM token: `pm-cli scim list` shows them all\n",
  });
  expect((await run([...create, "--role", "king"], at)).code).toBe(2);
  expect((await run([...create, "--expires-at", "2026-02-30"], at)).code).toBe(2);
  expect((await run(["scim", "create", "--name", "x"], at)).code).toBe(2);
  expect((await run(["scim", "list"], at)).code).toBe(2);
});
