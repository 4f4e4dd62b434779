// Git and OpenSSH, the real ones, sign in and fetch and push; both must be installed.
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import ssh2 from "ssh2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { App, LogEntry } from "../../src/index.ts";
import { isLong, repeats } from "../forms.ts";
import { type TestApp, waitFor } from "../helpers.ts";
import { randomHistory, shareWorkshop, type Workshop } from "./_git.ts";
import { lfs, objectOf } from "./_lfs.ts";
import { startAgent, tokenKey } from "./_ssh-agent.ts";

const run = promisify(execFile);
const isInstalled = spawnSync("ssh", ["-V"]).status === 0;
if (!isInstalled) console.warn("There is no ssh here: the tests of Git over SSH are skipped.");

let app: TestApp;
let workshop: Workshop;
let port = 0;
const logged: LogEntry[] = [];
/** Milliseconds that an impatient server gives its clients. */
const WAIT = 500;

/** Makes a pair of keys below the workshop's folder. @returns the public key */
async function newKey(name: string, type = "ed25519"): Promise<string> {
  const file = join(workshop.folder, name);
  await run("ssh-keygen", [
    "-q",
    "-t",
    type,
    ...(type === "rsa" ? ["-b", "2048"] : []),
    "-N",
    "",
    "-C",
    "",
    "-f",
    file,
  ]);
  return readFileSync(`${file}.pub`, "utf8").trim();
}

/** How ssh is called, with a person's key. */
const sshWith = (key: string, ...more: string[]) => [
  ...["-F", "none", "-p", String(port), "-i", join(workshop.folder, key)],
  ...["-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes"],
  ...["-o", `UserKnownHostsFile=${join(workshop.folder, "known_hosts")}`],
  ...["-o", "StrictHostKeyChecking=accept-new", "-o", "LogLevel=ERROR", ...more],
];

interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

const ended = (running: Promise<{ stdout: string; stderr: string }>): Promise<Ended> =>
  running.then(
    (done) => ({ ...done, status: 0 }),
    ({ code, stdout, stderr }) => ({ status: code, stdout, stderr }),
  );

/** Runs ssh with a key. */
const ssh = (key: string, args: string[], command: string[] = [], user = "git") =>
  ended(run("ssh", [...sshWith(key, ...args), `${user}@127.0.0.1`, ...command]));

/** Runs git over SSH with a key. */
const git = (key: string, where: string, ...args: string[]) =>
  ended(
    run("git", args, {
      cwd: join(workshop.folder, where),
      maxBuffer: 64 * 1024 * 1024,
      env: {
        ...process.env,
        HOME: workshop.folder,
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_AUTHOR_NAME: "A",
        GIT_AUTHOR_EMAIL: "a@example.com",
        GIT_COMMITTER_NAME: "A",
        GIT_COMMITTER_EMAIL: "a@example.com",
        LC_ALL: "C",
        GIT_SSH_COMMAND: ["ssh", ...sshWith(key)].map((word) => `'${word}'`).join(" "),
      },
    }),
  );

const url = (path: string) => `ssh://git@127.0.0.1:${port}/${path}`;

const frame = (text: string) => {
  const rule = "=".repeat(72);
  return ["", rule, "", `ERROR: ${text}`, "", rule, ""].map((line) => `remote: ${line}\n`).join("");
};

/** Adds a commit to a clone. */
async function commit(where: string, file: string, content: string) {
  await writeFile(join(workshop.folder, where, file), content);
  await workshop.git(where, "add", "--all");
  await workshop.git(where, "commit", "--quiet", "-m", `Change ${file}`);
}

let projectId = 0;
let clones = 0;

/** Clones the private project over SSH. @returns the folder */
async function clone(key: string, path = "owner/code.git"): Promise<string> {
  clones += 1;
  const where = `clone${clones}`;
  const { status, stderr } = await git(key, "", "clone", "--quiet", url(path), where);
  expect([status, stderr]).toEqual([0, ""]);
  return where;
}

describe.runIf(isInstalled)("Git over SSH", () => {
  shareWorkshop(
    async (opened) => {
      ({ app, workshop } = opened);
      port = app.ssh?.port as number;
      const people = ["owner", "maintainer", "developer", "guest", "stranger", "blocked"] as const;
      for (const person of people) {
        const key = await newKey(person);
        const { id } = (await app.call(`GET /users?username=${person}`, { as: "admin" })).json[0];
        const json = { title: person, key };
        const added = await app.call(`POST /users/${id}/keys`, { as: "admin", json });
        expect(added.status).toBe(201);
      }
      const { json } = await app.call("POST /projects", { as: "owner", json: { name: "code" } });
      projectId = json.id;
      for (const [level, person] of [
        [10, "guest"],
        [30, "developer"],
        [40, "maintainer"],
      ] as const) {
        const [user] = (await app.call(`GET /users?username=${person}`, { as: "admin" })).json;
        const member = { user_id: user.id, access_level: level };
        await app.call(`POST /projects/${projectId}/members`, { as: "owner", json: member });
      }
      await workshop.importInto("source.git", randomHistory(7, repeats(60, 150)));
      const pushed = await git(
        "owner",
        "source.git",
        "push",
        "--quiet",
        "--mirror",
        url("owner/code.git"),
      );
      expect([pushed.status, pushed.stderr]).toEqual([0, ""]);
    },
    { ssh: { port: 0 }, log: (entry) => logged.push(entry) },
  );

  it("greets users", async () => {
    const greeting = { status: 0, stdout: "Welcome to GitLab, @developer!\n", stderr: "" };
    expect(await ssh("developer", ["-T"])).toEqual(greeting);
    expect(await ssh("developer", ["-o", "SetEnv=FOO=1"])).toMatchObject(greeting);
    const terminal = await ssh("developer", ["-tt"]);
    expect(terminal).toMatchObject({ status: 255, stdout: "" });
    expect(terminal.stderr).toContain("PTY allocation request failed");
    expect(logged.findLast(({ method }) => method === "SSH")).toMatchObject({
      ...{ protocol: "ssh", status: 200, user: "developer", ip: "127.0.0.1" },
    });
    await waitFor(async () => {
      const { json } = await app.call("GET /user/keys", { as: "developer" });
      return json[0].last_used_at !== null;
    });
  });

  it("takes keys of RSA and ECDSA", async () => {
    for (const type of ["rsa", "ecdsa"]) {
      const key = await newKey(type, type);
      const json = { title: type, key };
      await app.call("POST /user/keys", { as: "developer", json });
      expect(await ssh(type, ["-T"])).toMatchObject({ status: 0 });
    }
  });

  it("takes keys on security tokens, if these were touched", async () => {
    const keys = {
      ed25519: tokenKey("ed25519"),
      ecdsa: tokenKey("ecdsa"),
      untouched: tokenKey("ed25519", 0),
      // Says that it is one, and signs with another.
      stolen: { ...tokenKey("ed25519"), signatureOf: tokenKey("ed25519").signatureOf },
    };
    for (const [name, key] of Object.entries(keys)) {
      const json = { title: name, key: key.line };
      const added = await app.call("POST /user/keys", { as: "developer", json });
      expect([name, added.status]).toEqual([name, 201]);
      const socket = join(workshop.folder, `${name}.sock`);
      const stop = await startAgent(socket, [key]);
      const options = ["-T", "-F", "none", "-p", String(port), "-o", "BatchMode=yes"];
      const known = ["-o", `UserKnownHostsFile=${join(workshop.folder, "known_hosts")}`];
      const agent = ["-o", `IdentityAgent=${socket}`, "-o", "IdentityFile=none", ...known];
      const signedIn = await ended(run("ssh", [...options, ...agent, "git@127.0.0.1"]));
      stop();
      const isGood = name === "ed25519" || name === "ecdsa";
      expect([name, signedIn.status, signedIn.stdout]).toEqual(
        isGood ? [name, 0, "Welcome to GitLab, @developer!\n"] : [name, 255, ""],
      );
    }
  });

  it("knows no other keys, no other user, and no keys that are only for signatures", async () => {
    await newKey("unknown");
    const key = await newKey("signing");
    const json = { title: "signing", key, usage_type: "signing" };
    await app.call("POST /user/keys", { as: "developer", json });
    const denied = { status: 255, stdout: "" };
    const text = "git@127.0.0.1: Permission denied (publickey).\r\n";
    expect(await ssh("unknown", ["-T"])).toEqual({ ...denied, stderr: text });
    expect(logged.at(-1)).toMatchObject({ method: "SSH", status: 401 });
    expect(await ssh("signing", ["-T"])).toEqual({ ...denied, stderr: text });
    expect(await ssh("developer", ["-T"], [], "developer")).toMatchObject(denied);
  });

  it("refuses who can't sign in any more", async () => {
    const key = await newKey("expired");
    const expires_at = new Date(Date.now() - 86_400_000).toISOString();
    await app.call("POST /user/keys", { as: "developer", json: { title: "old", key, expires_at } });
    const upload = ["git-upload-pack", "'owner/code.git'"];
    expect(await ssh("expired", [], upload)).toEqual({
      ...{ status: 1, stdout: "", stderr: frame("Your SSH key has expired.") },
    });
    const text = frame("Your account has been blocked.");
    expect(await ssh("blocked", [], upload)).toEqual({ status: 1, stdout: "", stderr: text });
    expect(await ssh("blocked", ["-T"])).toEqual({ status: 1, stdout: "", stderr: text });
  });

  it("refuses other commands", async () => {
    expect(await ssh("developer", [], ["ls", "-l"])).toEqual({
      ...{ status: 128, stdout: "", stderr: frame("Unknown command: ls -l") },
    });
    expect(await ssh("developer", [], ["git-upload-pack 'a"])).toMatchObject({
      status: 128,
      stderr: frame("Failed to parse command: Invalid SSH command: git-upload-pack 'a"),
    });
    expect(await ssh("developer", [], ["git-upload-pack"])).toMatchObject({ status: 128 });
    expect(await ssh("developer", ["-s"], ["sftp"])).toMatchObject({ status: 255 });
    const forward = ["-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:localhost:1"];
    expect(await ssh("developer", forward)).toMatchObject({ status: 255 });
    expect(await ssh("developer", ["-W", "localhost:1"])).toMatchObject({ status: 255 });
  });

  it("makes personal access tokens", async () => {
    const make = (...words: string[]) => ssh("developer", [], ["personal_access_token", ...words]);
    const made = await make("ci", "read_repository,read_user", "7");
    expect([made.status, made.stderr]).toEqual([0, ""]);
    const [, token = "", scopes, expires] =
      /^Token: {3}(\S+)\nScopes: {2}(\S+)\nExpires: (\S+)\n$/.exec(made.stdout) ?? [];
    const inDays = (days: number) =>
      new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    expect([scopes, expires]).toEqual(["read_repository,read_user", inDays(8)]);
    const headers = { "private-token": token };
    const self = await app.call("GET /personal_access_tokens/self", { headers });
    expect(self.json).toMatchObject({ name: "ci", scopes: ["read_repository", "read_user"] });
    expect(self.json).toMatchObject({ expires_at: inDays(8) });
    expect((await make("more", "api")).stdout).toContain(`Expires: ${inDays(30)}\n`);
    const { json: audited } = await app.call("GET /audit_events", { as: "admin" });
    expect(audited[1].details).toMatchObject({
      custom_message: "token made",
      target_details: "ci",
    });

    const usage = "Usage: personal_access_token <name> <scope1[,scope2,...]> [ttl_days]";
    for (const [words, text] of [
      [[], usage],
      [["ci"], usage],
      [["ci", "api", "1", "2"], usage],
      [["ci", "api", "x"], "Invalid value for days_ttl: 'x'"],
      [["ci", "api", "-1"], "Invalid value for days_ttl: '-1'"],
      [["ci", "api", "365"], `Expiration date must be before ${inDays(365)}`],
      [["''", "api"], "No token name specified"],
      [["ci", "''"], "No token scopes specified"],
    ] as const) {
      expect(await make(...words)).toEqual({ status: 1, stdout: "", stderr: frame(text) });
    }
    // Only administrators act as others.
    for (const scope of ["nothing", "sudo"]) {
      const { status, stderr } = await make("ci", `api,${scope}`);
      expect([scope, status]).toEqual([scope, 1]);
      expect(stderr).toContain(`Invalid scope: '${scope}'. Valid scopes are: ["api", `);
      expect(stderr).not.toContain('"sudo"');
    }
    const blocked = await ssh("blocked", [], ["personal_access_token", "ci", "api"]);
    expect([blocked.status, blocked.stdout]).toEqual([1, ""]);
  });

  it("makes new recovery codes, if they are wanted", async () => {
    const ask = (answer: string, key = "maintainer") =>
      new Promise<string>((resolve) => {
        const child = execFile(
          "ssh",
          [...sshWith(key), "git@127.0.0.1", "2fa_recovery_codes"],
          (error, stdout, stderr) => resolve(`${error?.code ?? 0} ${stdout}${stderr}`),
        );
        child.stdin?.end(answer);
      });
    const question = `Are you sure you want to generate new two-factor recovery codes?
Any existing recovery codes you saved will be invalidated. (yes/no)
`;
    const kept =
      "New recovery codes have *not* been generated. Existing codes will remain valid.\n";
    for (const answer of ["no\n", "y\n", "", "x".repeat(5000)]) {
      expect(await ask(answer)).toBe(`0 ${question}\n${kept}`);
    }
    expect(await ask("yes\n")).toBe(
      `0 ${question}\nAn error occurred while trying to generate new recovery codes.
Two-factor authentication is not enabled for this user\n`,
    );
    const [{ id }] = (await app.call("GET /users?username=maintainer", { as: "admin" })).json;
    await app.store.transaction(async (db) => {
      const values = "values (?, 'sealed', 1, 0)";
      await db.run(`insert into two_factor (user_id, secret, enabled_at, last_step) ${values}`, [
        id,
      ]);
    });
    const codesIn = async () => {
      const told = await ask("yes\n");
      expect(told).toContain("\nYour two-factor authentication recovery codes are:\n\n");
      return told.match(/^(\w{4}-){3}\w{4}$/gm);
    };
    const [first, second] = [await codesIn(), await codesIn()];
    expect([first?.length, second?.length]).toEqual([10, 10]);
    expect(first).not.toEqual(second);
    const count = "select count(*) from recovery_codes where user_id = ?";
    expect(await app.store.reader().rows(count, [id])).toEqual([[10]]);
  });

  it("tells git-lfs where objects are, with a token for what the key may do", async () => {
    const ask = (person: Parameters<typeof ssh>[0], operation: string, path = "owner/code.git") =>
      ssh(person, [], ["git-lfs-authenticate", path, operation]);
    for (const [operation, status] of [
      ["download", 403],
      ["upload", 200],
    ] as const) {
      const { stdout, stderr, ...ended } = await ask("developer", operation);
      expect([ended.status, stderr]).toEqual([0, ""]);
      const told = JSON.parse(stdout);
      expect(told).toEqual({
        href: expect.stringMatching(/\/owner\/code\.git\/info\/lfs$/),
        header: { Authorization: expect.stringMatching(/^Basic /) },
        expires_in: 7200,
      });
      const oid = "a".repeat(64);
      // The token of a download uploads nothing.
      const answer = await app.call(`POST http://pm.test/owner/code.git/info/lfs/objects/batch`, {
        json: { operation: "upload", objects: [{ oid, size: 1 }] },
        headers: { authorization: told.header.Authorization },
      });
      expect([operation, answer.status]).toEqual([operation, status]);
    }
    for (const [person, operation, path] of [
      ["developer", "download", "owner/absent"],
      ["developer", "other", "owner/code"],
      ["guest", "upload", "owner/code"],
      ["expired", "download", "owner/code"],
    ] as const) {
      const refused = await ask(person, operation, path);
      expect([person, refused.status, refused.stdout]).toEqual([person, 1, ""]);
      expect(refused.stderr).toContain("ERROR: ");
    }
  });

  it.each(isLong ? [0, 1, 2] : [0, 2])(
    "clones and fetches the same as over HTTP, with version %d",
    async (version) => {
      const as = ["-c", `protocol.version=${version}`];
      const where = `mirror${version}`;
      const cloned = await git(
        "developer",
        "",
        ...as,
        "clone",
        "--quiet",
        "--mirror",
        url("owner/code.git"),
        where,
      );
      expect([cloned.status, cloned.stderr]).toEqual([0, ""]);
      const refs = (folder: string) => workshop.git(folder, "for-each-ref");
      expect(await refs(where)).toBe(await refs("source.git"));
      await workshop.git(where, "fsck", "--full", "--strict");
      const shallow = `shallow${version}`;
      await git(
        "developer",
        "",
        ...as,
        "clone",
        "--quiet",
        "--depth",
        "1",
        url("owner/code"),
        shallow,
      );
      expect(await workshop.git(shallow, "rev-list", "--count", "HEAD")).toBe("1");
      const deeper = await git("developer", shallow, ...as, "fetch", "--quiet", "--unshallow");
      expect([deeper.status, deeper.stderr]).toEqual([0, ""]);
      await workshop.git(shallow, "fsck", "--full", "--strict");
    },
  );

  it.each(isLong ? [0, 2] : [0])(
    "negotiates in rounds what both sides have, with version %d",
    async (version) => {
      const name = `rounds${version}`;
      const { json } = await app.call("POST /projects", { as: "owner", json: { name } });
      expect(json.name).toBe(name);
      await git("owner", "", "clone", "--quiet", url(`owner/${name}`), `${name}-a`);
      await commit(`${name}-a`, "base", "0");
      await git("owner", `${name}-a`, "push", "--quiet", "origin", "HEAD:refs/heads/main");
      await git("owner", "", "clone", "--quiet", url(`owner/${name}`), `${name}-b`);
      const many = (seed: string) =>
        Array.from({ length: repeats(150, 300) }, (_, at) => {
          const message = `${seed} ${at}\n`;
          return [
            `commit refs/heads/${seed}`,
            `committer A <a@example.com> ${1_700_000_000 + at} +0000`,
            `data ${message.length}\n${message}`,
            ...(at === 0 ? ["from refs/heads/main"] : []),
            `M 100644 inline ${seed}`,
            `data ${message.length}\n${message}`,
          ].join("\n");
        }).join("\n");
      for (const side of ["a", "b"]) {
        const importing = run("git", ["fast-import", "--quiet"], {
          cwd: join(workshop.folder, `${name}-${side}`),
        });
        importing.child.stdin?.end(`${many(side)}\n`);
        await importing;
      }
      await workshop.git(`${name}-b`, "branch", "--quiet", "-f", "left", "b");
      expect(await git("owner", `${name}-a`, "push", "--quiet", "origin", "a")).toMatchObject({
        status: 0,
      });
      const as = ["-c", `protocol.version=${version}`];
      const fetched = await git("owner", `${name}-b`, ...as, "fetch", "--quiet", "origin");
      expect([fetched.status, fetched.stderr]).toEqual([0, ""]);
      await workshop.git(`${name}-b`, "fsck", "--full", "--strict");
      expect(await workshop.git(`${name}-b`, "rev-parse", "origin/a")).toBe(
        await workshop.git(`${name}-a`, "rev-parse", "a"),
      );
    },
  );

  it("pushes, and is refused by the rules of branches and the rights of people", async () => {
    const where = await clone("developer");
    await commit(where, "new", "1");
    const ok = await git("developer", where, "push", "origin", "HEAD:refs/heads/feature");
    expect([ok.status, ok.stderr]).toEqual([0, expect.stringContaining("[new branch]")]);
    const no = await git("developer", where, "push", "origin", "HEAD:refs/heads/main");
    expect(no.status).toBe(1);
    expect(no.stderr).toContain(
      "remote: GitLab: You are not allowed to push code to protected branches on this project.",
    );
    expect(no.stderr).toContain("(pre-receive hook declined)");
    expect(await git("developer", where, "push", "origin", ":feature")).toMatchObject({
      status: 0,
    });
    const fetching = await git("guest", "", "clone", url("owner/code.git"), "no");
    expect(fetching.status).toBe(128);
    expect(fetching.stderr).toContain(
      "remote: ERROR: You are not allowed to download code from this project.",
    );
    const strangers = await git("stranger", "", "ls-remote", url("owner/code.git"));
    const missing = await git("stranger", "", "ls-remote", url("owner/nothing.git"));
    expect(missing.stderr).toBe(strangers.stderr);
    expect(missing.stderr).toContain(
      "The project you were looking for could not be found or you don't have permission to view it.",
    );
  });

  it("takes options of pushes, and tells of merge requests", async () => {
    const where = await clone("developer");
    await commit(where, "options", "1");
    const pushed = await git(
      ...(["developer", where, "push", "-o", "merge_request.create"] as const),
      ...["-o", "merge_request.title=By option", "origin", "HEAD:refs/heads/options"],
    );
    expect(pushed.status).toBe(0);
    expect(pushed.stderr).toContain("View merge request for options:");
    const { json } = await app.call(`GET /projects/${projectId}/merge_requests`, {
      as: "developer",
    });
    expect(json[0]).toMatchObject({ title: "By option", author: { username: "developer" } });
  });

  it("creates projects, and tells of it with addresses of SSH", async () => {
    const pushed = await git("owner", "source.git", "push", url("owner/pushed.git"), "main");
    expect(pushed.status).toBe(0);
    expect(pushed.stderr).toContain("The private project owner/pushed was successfully created.");
    expect(pushed.stderr).toContain(
      `git remote add origin ssh://git@127.0.0.1:${port}/owner/pushed.git`,
    );
  });

  it("follows projects that have moved", async () => {
    const { json } = await app.call("POST /projects", { as: "owner", json: { name: "before" } });
    await git("owner", "source.git", "push", "--quiet", url("owner/before.git"), "main");
    await app.call(`PUT /projects/${json.id}`, { as: "owner", json: { path: "after" } });
    const found = await git("owner", "", "clone", url("owner/before.git"), "moved");
    expect(found.status).toBe(0);
    const lines = [
      "remote: Project 'owner/before' was moved to 'owner/after'.",
      `remote:   git remote set-url origin ssh://git@127.0.0.1:${port}/owner/after.git`,
    ];
    for (const line of lines) expect(found.stderr).toContain(line);
    await commit("moved", "again", "1");
    const pushed = await git("owner", "moved", "push", "origin", "HEAD:refs/heads/other");
    expect(pushed.status).toBe(0);
    for (const line of lines) expect(pushed.stderr).toContain(line);
  });

  it("has wikis", async () => {
    await git("owner", "", "init", "--quiet", "wiki");
    await commit("wiki", "home.md", "Welcome");
    const pushed = await git(
      "owner",
      "wiki",
      "push",
      url("owner/code.wiki.git"),
      "HEAD:refs/heads/main",
    );
    expect([pushed.status, pushed.stderr]).toEqual([0, expect.stringContaining("new branch")]);
    const { json } = await app.call(`GET /projects/${projectId}/wikis`, { as: "owner" });
    expect(json).toMatchObject([{ slug: "home" }]);
    await clone("owner", "owner/code.wiki.git");
  });

  it("archives branches and tags, but no commits by their id", async () => {
    const archive = (...args: string[]) =>
      git("developer", "", "archive", `--remote=${url("owner/code.git")}`, ...args);
    const listed = async (...args: string[]) => {
      const { status, stderr } = await archive("-o", "archive.tar", ...args);
      expect([status, stderr]).toEqual([0, ""]);
      const { stdout } = await run("tar", ["tf", join(workshop.folder, "archive.tar")]);
      return stdout
        .split("\n")
        .filter((line) => line !== "" && !line.endsWith("/"))
        .sort();
    };
    const tracked = async (...args: string[]) =>
      (await workshop.git("source.git", "ls-tree", "-r", "--name-only", ...args))
        .split("\n")
        .sort();
    expect(await listed("main")).toEqual(await tracked("main"));
    const prefixed = (await tracked("main")).map((name) => `x/${name}`);
    expect(await listed("--prefix=x/", "HEAD")).toEqual(prefixed);
    const [first = ""] = await tracked("main");
    expect(await listed("main", first)).toEqual([first]);
    const sha = await workshop.git("source.git", "rev-parse", "main");
    const refused = await archive(sha);
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining("no such ref")]);
    expect(await archive("--format=zip", "-o", "archive.zip", "main")).toMatchObject({ status: 0 });
    expect(await archive("main", "not/there")).toMatchObject({ status: 1 });
    const guest = await git("guest", "", "archive", `--remote=${url("owner/code.git")}`, "main");
    expect(guest.stderr).toContain("You are not allowed to download code from this project.");
  });

  describe("deploy keys", () => {
    let keyId = 0;
    beforeAll(async () => {
      for (const [title, can_push] of [
        ["reading", false],
        ["writing", true],
      ] as const) {
        const key = await newKey(title);
        const json = { title, key, can_push };
        const added = await app.call(`POST /projects/${projectId}/deploy_keys`, {
          as: "maintainer",
          json,
        });
        expect(added.status).toBe(201);
        keyId = added.json.id;
      }
    });

    it("greet their creator", async () => {
      expect((await ssh("reading", ["-T"])).stdout).toBe("Welcome to GitLab, @maintainer!\n");
    });

    it("make nothing for anybody", async () => {
      for (const [command, text] of [
        [["personal_access_token", "ci", "api"], "create personal access tokens"],
        [["2fa_recovery_codes"], "retrieve recovery codes"],
      ] as const) {
        expect(await ssh("reading", [], [...command])).toEqual({
          ...{ status: 1, stdout: "", stderr: frame(`Deploy keys cannot be used to ${text}`) },
        });
      }
    });

    it("fetch from their projects and public ones, and from no others", async () => {
      await clone("reading");
      expect(await git("reading", "", "ls-remote", url("acme/site.git"))).toMatchObject({
        status: 0,
      });
      await app.call("POST /projects", { as: "maintainer", json: { name: "mine" } });
      const theirs = await git("reading", "", "ls-remote", url("maintainer/mine.git"));
      expect(theirs.stderr).toContain("The project you were looking for could not be found");
    });

    it("push only where they may write, for their creator", async () => {
      const where = await clone("reading");
      await commit(where, "deployed", "1");
      const no = await git("reading", where, "push", "origin", "HEAD:refs/heads/deployed");
      expect([no.status, no.stderr]).toEqual([
        128,
        expect.stringContaining("This deploy key does not have write access to this project."),
      ]);
      const yes = await git("writing", where, "push", "origin", "HEAD:refs/heads/deployed");
      expect([yes.status, yes.stderr]).toEqual([0, expect.stringContaining("new branch")]);
      const { json } = await app.call(`GET /projects/${projectId}/events?action=pushed`, {
        as: "owner",
      });
      expect(json[0]).toMatchObject({
        author_username: "maintainer",
        push_data: { ref: "deployed" },
      });
      const created = await git("writing", where, "push", url("maintainer/new.git"), "HEAD");
      expect(created.stderr).toContain("The project you were looking for could not be found");
    });

    it("transfer objects of Git LFS as they may fetch and push, as long as they may", async () => {
      const ask = (key: string, operation: string) =>
        ssh(key, [], ["git-lfs-authenticate", "owner/code.git", operation]);
      const refused = await ask("reading", "upload");
      expect([refused.status, refused.stdout]).toEqual([1, ""]);
      const told = JSON.parse((await ask("writing", "upload")).stdout);
      const object = objectOf("deployed");
      const path = `gitlab-lfs/objects/${object.oid}`;
      const request = (method: string, below: string, headers: object) =>
        lfs(
          app,
          "anonymous",
          `${method} ${below}`,
          undefined,
          {
            ...(method === "PUT" && { body: "deployed" }),
            headers: { "content-type": "application/octet-stream", ...headers },
          },
          "owner/code",
        );
      const { status } = await request("PUT", `${path}/${object.size}`, told.header);
      expect(status).toBe(200);
      const reading = JSON.parse((await ask("reading", "download")).stdout);
      const [, token = ""] = reading.header.Authorization.split(" ");
      expect(Buffer.from(token, "base64").toString()).toMatch(/^lfs\+deploy-key-\d+:/);
      expect((await request("GET", path, reading.header)).text).toBe("deployed");
      expect((await request("PUT", `${path}/${object.size}`, reading.header)).status).toBe(403);
      const wrong = await app.call(`GET http://localhost/acme/site.git/${path}`, {
        headers: reading.header,
      });
      expect(wrong.status).toBe(401);
      const change = { as: "maintainer", json: { can_push: false } } as const;
      const key = `/projects/${projectId}/deploy_keys/${keyId}`;
      expect((await app.call(`PUT ${key}`, change)).status).toBe(200);
      expect((await request("PUT", `${path}/${object.size}`, told.header)).status).toBe(401);
      await app.call(`PUT ${key}`, { ...change, json: { can_push: true } });
    });

    it("push to protected branches with the rights of their creator, or if a rule names them", async () => {
      const where = await clone("writing");
      await commit(where, "protected", "1");
      expect(await git("writing", where, "push", "origin", "HEAD:refs/heads/main")).toMatchObject({
        status: 0,
      });
      const rule = (json: object) =>
        app.call(`POST /projects/${projectId}/protected_branches`, { as: "owner", json });
      for (const name of ["locked", "named"]) {
        await git("writing", where, "push", "--quiet", "origin", `HEAD~1:refs/heads/${name}`);
      }
      const nobody = { name: "locked", allowed_to_push: [{ access_level: 0 }] };
      expect((await rule(nobody)).status).toBe(201);
      const named = { name: "named", allowed_to_push: [{ deploy_key_id: keyId }] };
      expect((await rule(named)).status).toBe(201);
      const no = await git("writing", where, "push", "origin", "HEAD:refs/heads/locked");
      expect(no.stderr).toContain("You are not allowed to push code to protected branches");
      expect(await git("writing", where, "push", "origin", "HEAD:refs/heads/named")).toMatchObject({
        status: 0,
      });
    });
  });

  it("tells its address", async () => {
    const { json } = await app.call(`GET /projects/${projectId}`, { as: "owner" });
    expect(json.ssh_url_to_repo).toBe(`ssh://git@pm.test:${port}/owner/code.git`);
    const query = '{ project(fullPath: "owner/code") { sshUrlToRepo } }';
    const answer = await app.call("POST /api/graphql", { as: "owner", json: { query } });
    expect(answer.json.data.project.sshUrlToRepo).toBe(json.ssh_url_to_repo);
  });

  it("has the same host keys in every process, encrypted", async () => {
    const other = await app.another({ ssh: { port: 0 } });
    expect(other.ssh?.fingerprints).toEqual(app.ssh?.fingerprints);
    await other.close();
    const rows = await app.store.rows("select private_key from ssh_host_keys");
    expect(rows).toHaveLength(2);
    for (const [key] of rows) expect(key).toMatch(/^\$1\$/);
    const { stdout } = await run("ssh-keyscan", ["-p", String(port), "127.0.0.1"]);
    await writeFile(join(workshop.folder, "scanned"), stdout);
    const shown = await run("ssh-keygen", ["-l", "-f", join(workshop.folder, "scanned")]);
    for (const fingerprint of app.ssh?.fingerprints ?? [])
      expect(shown.stdout).toContain(fingerprint);
  });

  it("looks a key up with one statement", async () => {
    app.statements.length = 0;
    await ssh("developer", ["-T"]);
    const about = app.statements.filter((sql) => sql.includes("ssh_keys"));
    // For the question, the signature and the command.
    expect(about).toHaveLength(3);
    expect(app.statements).toHaveLength(3);
  });

  it("serves many clients at once", async () => {
    const all = Array.from({ length: repeats(15, 50) }, () =>
      git("developer", "", "ls-remote", url("owner/code.git")),
    );
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(statuses).toEqual(statuses.map(() => 0));
  });

  describe("hostile clients", () => {
    let impatient: App;
    beforeAll(async () => {
      impatient = await app.another({ ssh: { port: 0, signInTimeout: WAIT } });
    });
    afterAll(() => impatient.close());

    const opened = async (at = port) => {
      const socket = connect(at, "127.0.0.1");
      socket.on("error", () => undefined);
      await once(socket, "connect");
      return socket;
    };
    const closed = (socket: Socket) => {
      socket.resume();
      return socket.closed ? undefined : once(socket, "close");
    };

    it("that send nothing are cut off", async () => {
      const started = performance.now();
      const socket = await opened(impatient.ssh?.port);
      await closed(socket);
      expect(performance.now() - started).toBeGreaterThan(WAIT / 2);
      const named = await opened(impatient.ssh?.port);
      named.write("SSH-2.0-nothing-more\r\n");
      await closed(named);
    });

    it("that sign in and do nothing are cut off", async () => {
      const client = new ssh2.Client();
      const privateKey = readFileSync(join(workshop.folder, "developer"));
      const at = { host: "127.0.0.1", port: impatient.ssh?.port as number };
      client.on("error", () => undefined);
      client.connect({ ...at, username: "git", privateKey });
      await once(client, "close");
    });

    it("that send garbage are cut off", async () => {
      for (const garbage of [
        Buffer.alloc(1_000_000, "x"),
        Buffer.from("GET / HTTP/1.1\r\n\r\n"),
        Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), Buffer.alloc(100_000, 0xff)]),
        Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), Buffer.alloc(100_000, 0)]),
      ]) {
        const socket = await opened();
        socket.write(garbage);
        await closed(socket);
      }
      expect(await ssh("developer", ["-T"])).toMatchObject({ status: 0 });
    });

    it("that wait in crowds before they sign in are turned away", async () => {
      const crowd = await Promise.all(Array.from({ length: 150 }, () => opened()));
      let gone = 0;
      for (const socket of crowd) socket.resume().once("close", () => (gone += 1));
      await waitFor(async () => gone >= 50);
      for (const socket of crowd) socket.destroy();
      await waitFor(async () => (await ssh("developer", ["-T"])).status === 0);
    });

    it("that open a thousand sessions get ten", async () => {
      const client = new ssh2.Client();
      const privateKey = readFileSync(join(workshop.folder, "developer"));
      client.connect({ host: "127.0.0.1", port, username: "git", privateKey });
      await once(client, "ready");
      // They wait for what the client wants.
      const results = await Promise.all(
        Array.from(
          { length: 1000 },
          () =>
            new Promise<boolean>((resolve) => {
              client.exec("git-upload-pack owner/code.git", (error) => resolve(!error));
            }),
        ),
      );
      expect(results.filter(Boolean)).toHaveLength(10);
      expect(await ssh("developer", ["-T"])).toMatchObject({ status: 0 });
      client.end();
      await once(client, "close");
    });

    it("that leave in the middle of a push leave nothing", async () => {
      const client = new ssh2.Client();
      const privateKey = readFileSync(join(workshop.folder, "developer"));
      client.connect({ host: "127.0.0.1", port, username: "git", privateKey });
      await once(client, "ready");
      const channel = await new Promise<ssh2.ClientChannel>((resolve, reject) => {
        client.exec("git-receive-pack owner/code.git", (error, made) =>
          error ? reject(error) : resolve(made),
        );
      });
      const told = once(channel, "data");
      await told;
      const line = `${"0".repeat(40)} ${"1".repeat(40)} refs/heads/half\0 report-status\n`;
      const length = (line.length + 4).toString(16).padStart(4, "0");
      channel.write(`${length}${line}0000PACK\0\0\0\u0002\0\0\0\u0005half`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      client.destroy();
      await once(client, "close");
      const where = await clone("developer");
      for (const name of ["one", "two", "three"]) {
        await commit(where, name, "1");
        expect(
          await git("developer", where, "push", "origin", `HEAD:refs/heads/${name}`),
        ).toMatchObject({ status: 0 });
      }
      const { json } = await app.call(
        `GET /projects/${projectId}/repository/branches?search=half`,
        { as: "owner" },
      );
      expect(json).toEqual([]);
    });
  });

  it("forgets keys that are removed, also on a connection that is open", async () => {
    const key = await newKey("removed");
    const { json } = await app.call("POST /user/keys", {
      as: "developer",
      json: { title: "x", key },
    });
    const client = new ssh2.Client();
    const privateKey = readFileSync(join(workshop.folder, "removed"));
    client.connect({ host: "127.0.0.1", port, username: "git", privateKey });
    await once(client, "ready");
    await app.call(`DELETE /user/keys/${json.id}`, { as: "developer" });
    const said = await new Promise<string>((resolve) => {
      client.exec("git-upload-pack owner/code.git", (_, channel) => {
        let text = "";
        channel.stderr.on("data", (chunk) => {
          text += chunk;
        });
        channel.on("close", () => resolve(text));
        channel.resume();
      });
    });
    expect(said).toContain("This SSH key has been removed.");
    client.end();
    expect(await ssh("removed", ["-T"])).toMatchObject({ status: 255 });
  });
});
