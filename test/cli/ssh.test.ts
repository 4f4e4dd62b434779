// OpenSSH and Git, the real ones, with a server that was started with `--ssh-port`.
import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder, run, runJson, startServing } from "./helpers.ts";

const call = promisify(execFile);
const isInstalled = spawnSync("ssh", ["-V"]).status === 0;
if (!isInstalled) console.warn("There is no ssh here: the tests of --ssh-port are skipped.");

/** Workers of Bun, which is in the binary, can't share a port. */
const isBinary = process.env["TEST_PM_CLI"] !== undefined;

const folder = newFolder();
afterAll(folder.remove);

describe.runIf(isInstalled)("serve --ssh-port", () => {
  const at = { cwd: folder.path };
  const key = join(folder.path, "key");
  let token: string;
  beforeAll(async () => {
    ({
      tokens: [{ token }],
    } = await runJson(["seed", "--db", "seeded.db"], at));
    await call("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
  });

  it("serves Git, and says by which keys it is known", async () => {
    const server = await startServing(["--db", "seeded.db", "--ssh-port", "0"], at);
    const { ssh, ssh_host_keys: fingerprints } = server.log()[0];
    const { port } = new URL(ssh);
    const shown = await runJson(["secrets", "ssh-host-keys", "--db", "seeded.db"], at);
    expect(fingerprints).toBe(
      shown.map(({ fingerprint }: { fingerprint: string }) => fingerprint).join(" "),
    );
    const body = new URLSearchParams({ title: "k", key: readFileSync(`${key}.pub`, "utf8") });
    const headers = { "private-token": token };
    const api = `${server.url}/api/v4`;
    const added = await fetch(`${api}/user/keys`, { method: "POST", body, headers });
    expect(added.status).toBe(201);
    const options = [
      ...["-F", "none", "-i", key, "-o", "IdentityAgent=none", "-o", "LogLevel=ERROR"],
      ...["-o", `UserKnownHostsFile=${key}.hosts`, "-o", "StrictHostKeyChecking=accept-new"],
    ];
    const greeted = await call("ssh", [...options, "-p", port, "-T", "git@127.0.0.1"]);
    expect(greeted.stdout).toBe("Welcome to GitLab, @root!\n");
    const known = readFileSync(`${key}.hosts`, "utf8");
    expect(known).toContain(shown[0].key);
    const projects = await fetch(`${api}/projects?per_page=1`, { headers });
    const [project] = (await projects.json()) as { ssh_url_to_repo: string }[];
    expect(project?.ssh_url_to_repo).toContain(`ssh://git@127.0.0.1:${port}/`);
    const env = { ...process.env, GIT_SSH_COMMAND: ["ssh", ...options].join(" ") };
    await call("git", ["clone", "-q", project?.ssh_url_to_repo as string, "cloned"], {
      ...{ cwd: folder.path, env },
    });
    expect(await server.stop()).toBe(0);
    expect(server.log()).toContainEqual(
      expect.objectContaining({ protocol: "ssh", status: 200, user: "root" }),
    );
    const again = await startServing(["--db", "seeded.db", "--ssh-port", "0"], at);
    expect(again.log()[0].ssh_host_keys).toBe(fingerprints);
    expect(await again.stop()).toBe(0);
  });

  it.skipIf(isBinary)("shares a port among workers", async () => {
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
    const { port } = free.address() as { port: number };
    await new Promise((resolve) => free.close(resolve));
    const options = ["--db", "seeded.db", "--ssh-port", String(port), "--workers", "2"];
    const server = await startServing(options, at);
    const scanned = await call("ssh-keyscan", ["-p", String(port), "-t", "ed25519", "127.0.0.1"]);
    expect(scanned.stdout).toContain("ssh-ed25519");
    expect(await server.stop()).toBe(0);
  });

  it("says what is wrong with its options", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    const serve = ["serve", "--db", "seeded.db", "--port", "0"];
    const taken = await run([...serve, "--ssh-port", String(port)], at);
    other.close();
    expect([taken.code, taken.stderr]).toEqual([
      1,
      `error: port ${port} on 127.0.0.1 is in use: stop what uses it, or choose another with --ssh-port (or PM_SSH_PORT), 0 for a free one\n`,
    ]);
    const alone = await run([...serve, "--ssh-url", "ssh://x"], at);
    expect([alone.code, alone.stderr]).toEqual([
      2,
      expect.stringContaining("--ssh-url needs --ssh-port"),
    ]);
    const many = await run([...serve, "--ssh-port", "0", "--workers", "2"], at);
    expect(many.stderr).toContain(
      isBinary ? "--ssh-port with --workers needs Node" : "--ssh-port must be a certain port",
    );
  });
});
