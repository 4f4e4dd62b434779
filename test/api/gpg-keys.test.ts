import { execFile, execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { verifySshSignature } from "../../src/signatures/ssh.ts";
import { isLong } from "../forms.ts";
import type { Person, TestApp } from "../helpers.ts";
import { armored, gpgKeyOf, pgpKey } from "../pgp.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";
import { startAgent, tokenKey } from "./_ssh-agent.ts";

const run = promisify(execFile);

// Cases R40 to R43 of what GitLab answers.

let app: TestApp;
let workshop: Workshop;
const ids: Record<string, number> = {};

shareWorkshop(async (opened) => {
  ({ app, workshop } = opened);
  for (const { username, id } of (await app.call("GET /users?per_page=100", { as: "admin" }))
    .json) {
    ids[username] = id;
  }
});

const ask = async (request: string, as: Person = "developer", json?: object) => {
  const { status, json: answer } = await app.call(request, { as, ...(json && { json }) });
  return [status, answer];
};
const add = (key: string, as: Person = "developer") => ask("POST /user/gpg_keys", as, { key });

const SHAPE =
  "is invalid. A valid public GPG key begins with '-----BEGIN PGP PUBLIC KEY BLOCK-----' and ends with '-----END PGP PUBLIC KEY BLOCK-----'";

describe("GPG keys", () => {
  it("are added, shown to everybody, and removed", async () => {
    const text = gpgKeyOf(1);
    const [status, made] = await add(text);
    const shown = {
      id: expect.any(Number),
      key: text.trim(),
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    };
    expect([status, made]).toEqual([201, shown]);
    const of = `/users/${ids["developer"]}/gpg_keys`;
    expect(await ask(`GET ${of}`, "anonymous")).toEqual([200, [made]]);
    expect(await ask(`GET ${of}/${made.id}`, "anonymous")).toEqual([200, made]);
    expect(await ask("GET /user/gpg_keys")).toEqual([200, [made]]);
    expect(await ask(`GET /user/gpg_keys/${made.id}`)).toEqual([200, made]);
    expect(await add(text, "reporter")).toEqual([
      400,
      { message: { key: ["has already been taken"] } },
    ]);
    const other = text.replace("\n\n", "\nComment: the same\n\n");
    expect(await add(other)).toEqual([
      400,
      {
        message: {
          fingerprint: ["has already been taken"],
          primary_keyid: ["has already been taken"],
        },
      },
    ]);
    expect(await ask(`DELETE /user/gpg_keys/${made.id}`, "reporter")).toEqual([
      404,
      { message: "404 GPG Key Not Found" },
    ]);
    expect((await ask(`DELETE /user/gpg_keys/${made.id}`))[0]).toBe(204);
    expect(await ask(`DELETE /user/gpg_keys/${made.id}`)).toEqual([
      404,
      { message: "404 GPG Key Not Found" },
    ]);
    expect(await ask("GET /user/gpg_keys")).toEqual([200, []]);
    const audited = await app.admin.auditEvents.list({ user: "developer", limit: 2 });
    expect(audited.map(({ action }) => action)).toEqual(["GPG key removed", "GPG key added"]);
  });

  it("of others are changed by administrators", async () => {
    const of = `/users/${ids["guest"]}/gpg_keys`;
    const [status, { id }] = await ask(`POST ${of}`, "admin", { key: gpgKeyOf(2) });
    expect(status).toBe(201);
    expect((await ask(`POST ${of}`, "guest", { key: gpgKeyOf(3) }))[0]).toBe(403);
    expect((await ask(`DELETE ${of}/${id}`, "guest"))[0]).toBe(403);
    expect(await ask(`POST ${of}/${id}/revoke`, "admin")).toEqual([
      202,
      { message: "202 Accepted" },
    ]);
    expect(await ask(`DELETE ${of}/${id}`, "admin")).toEqual([
      404,
      { message: "404 GPG Key Not Found" },
    ]);
    expect(await ask("GET /users/424242/gpg_keys", "admin")).toEqual([
      404,
      { message: "404 User Not Found" },
    ]);
  });

  it("are texts that can be read by everybody at an address of their own", async () => {
    const [, { id }] = await add(gpgKeyOf(4));
    const response = await app.fetch(new Request("http://pm.test/developer.gpg"));
    expect([response.status, await response.text()]).toEqual([200, gpgKeyOf(4)]);
    await ask(`DELETE /user/gpg_keys/${id}`);
  });

  it("are a hundred at most", async () => {
    await app.store.transaction(async (db) => {
      for (let at = 0; at < 100; at += 1) {
        await db.run(
          `insert into gpg_keys (user_id, key, fingerprint, primary_keyid, user_ids, created_at, updated_at)
           values (?, 'k', ?, 'k', '[]', 0, 0)`,
          [ids["maintainer"] as number, `F${at}`],
        );
      }
    });
    expect(await add(gpgKeyOf(1100), "maintainer")).toEqual([
      400,
      { message: { key: ["is one too many: a user has at most 100"] } },
    ]);
    const [, keys] = await ask("GET /user/gpg_keys?per_page=100", "maintainer");
    await ask(`DELETE /user/gpg_keys/${keys[0].id}`, "maintainer");
    expect((await add(gpgKeyOf(1100), "maintainer"))[0]).toBe(201);
  });

  it("are refused if they are none", async () => {
    const good = gpgKeyOf(5);
    // An RSA key of 2048 bits with 70,000 bytes after it: no fingerprint is of so many.
    const longKey = Buffer.alloc(6 + 70_000, 1);
    longKey.set([0xc6, 0xff, 0, 1, 0x11, 0x70, 4, 0, 0, 0, 0, 1, 8, 0], 0);
    longKey.set([0, 17], 14 + 256);
    const blank = {
      message: { fingerprint: ["can't be blank"], primary_keyid: ["can't be blank"] },
    };
    for (const [key, answer] of [
      ["nonsense", { message: { key: [SHAPE] } }],
      [good + good, { message: { key: [SHAPE] } }],
      [good.replaceAll("PUBLIC", "PRIVATE"), { message: { key: [SHAPE] } }],
      // Nobody has signed that it is theirs.
      [armored("PGP PUBLIC KEY BLOCK", [Buffer.from("c6ff0000000104", "hex")]), blank],
      [armored("PGP PUBLIC KEY BLOCK", [Buffer.alloc(300, 0xc6)]), blank],
      [armored("PGP PUBLIC KEY BLOCK", [longKey]), blank],
      [good.replace(/.{9}(?=\n.*\n-----END)/, "AAAAAAAAA"), blank],
    ] as const) {
      expect(await add(key)).toEqual([400, answer]);
    }
    const [status, json] = await add("");
    expect([status, Object.keys(json.message)]).toEqual([400, ["key"]]);
    expect((await add(`${good}${"x".repeat(100_001)}`))[0]).toBe(400);
  });
});

/** The signature of a commit that is pushed as it is. */
const PROJECT = "owner/signed";
let made = 0;
const signatureOf = async (sha: string) => {
  const path = encodeURIComponent(PROJECT);
  return ask(`GET /projects/${path}/repository/commits/${sha}/signature`, "owner");
};

/** What GraphQL tells of the signature of a branch's commit. */
async function graphSignature(ref: string) {
  const query = `{ project(fullPath: "${PROJECT}") { repository { tree(ref: "${ref}") { lastCommit { signature {
    __typename commitSha verificationStatus project { fullPath }
    ... on GpgSignature { gpgKeyPrimaryKeyid gpgKeyUserName gpgKeyUserEmail user { username } }
    ... on SshSignature { keyFingerprintSha256 key { id title } user { username } }
  } } } } } }`;
  const { json } = await app.call("POST /api/graphql", { as: "owner", json: { query } });
  return json.data?.project.repository.tree.lastCommit.signature ?? json;
}

describe("signatures of commits and tags", () => {
  beforeAll(async () => {
    await app.call("POST /projects", {
      as: "owner",
      json: { name: "signed", visibility: "public" },
    });
    await workshop.git("", "init", "--quiet", "--initial-branch=main", "work");
    for (const [name, email] of [
      ["developer", "a@example.com"],
      ["reporter", "reporter@example.com"],
    ] as const) {
      await ask(`PUT /users/${ids[name]}`, "admin", { email });
    }
  });

  /** Pushes a commit that a function has signed, and returns what is told of it. */
  async function pushed(sign: (content: Buffer) => string, email = "a@example.com") {
    made += 1;
    const work = join(workshop.folder, "work");
    const tree = await workshop.git("work", "write-tree");
    const who = `A <${email}> 1767225700 +0000`;
    const head = `tree ${tree}\nauthor ${who}\ncommitter ${who}\n`;
    // A byte that is no UTF-8.
    const message = Buffer.from(`\nSigned ${made} \xe9\n`, "latin1");
    const signature = sign(Buffer.concat([Buffer.from(head), message]));
    const header = `gpgsig ${signature.trim().replaceAll("\n", "\n ")}\n`;
    writeFileSync(join(work, "commit"), Buffer.concat([Buffer.from(head + header), message]));
    const sha = await workshop.git("work", "hash-object", "-t", "commit", "-w", "commit");
    await workshop.git(
      "work",
      "push",
      "--quiet",
      workshop.url(PROJECT, "owner"),
      `${sha}:refs/heads/c${made}`,
    );
    return { sha, told: async () => (await signatureOf(sha))[1] };
  }

  it("are by somebody, or by somebody else", async () => {
    const key = pgpKey("Ada (work) <a@example.com>", "ada");
    const { told } = await pushed(key.sign);
    const unknown = {
      signature_type: "PGP",
      verification_status: "unknown_key",
      gpg_key_id: null,
      gpg_key_primary_keyid: key.keyId,
      gpg_key_user_name: null,
      gpg_key_user_email: null,
      gpg_key_subkey_id: null,
      commit_source: "gitaly",
    };
    expect(await told()).toEqual(unknown);
    const [, { id }] = await add(key.text());
    const known = {
      ...unknown,
      verification_status: "verified",
      gpg_key_id: id,
      gpg_key_user_name: "Ada",
      gpg_key_user_email: "a@example.com",
    };
    expect(await told()).toEqual(known);
    const other = await pushed(key.sign, "reporter@example.com");
    expect(await other.told()).toEqual({ ...known, verification_status: "other_user" });
    const forged = await pushed(() => key.sign(Buffer.from("something else")));
    expect(await forged.told()).toEqual({ ...known, verification_status: "unverified" });
    // What is signed until a key is removed stays verified; what is signed later does not, nor what a revoked one has signed.
    await ask(`DELETE /user/gpg_keys/${id}`);
    expect(await told()).toMatchObject({ verification_status: "verified" });
    const later = await pushed((content) => key.sign(content, 4_000_000_000));
    expect(await later.told()).toEqual(unknown);
    const [, again] = await add(key.text());
    expect(await later.told()).toMatchObject({ verification_status: "verified" });
    await ask(`POST /user/gpg_keys/${again.id}/revoke`);
    expect(await told()).toEqual(unknown);
  });

  it.each([
    ["unverified_key", "Eve <eve@example.com>", {}],
    ["same_user_different_email", "Ada <second@example.com>", {}],
    ["revoked_key", "Ada <a@example.com>", { isRevoked: true }],
    ["unverified", "Ada <a@example.com>", { lifetime: 60 }],
    ["verified", "Ada <A@Example.com>", { lifetime: 86_400 }],
  ] as const)("are %s by %s", async (verification_status, name, options) => {
    if (name.includes("second")) {
      const of = `POST /users/${ids["developer"]}/emails`;
      await ask(of, "admin", { email: "second@example.com", skip_confirmation: true });
    }
    const key = pgpKey(name, verification_status);
    const [status, { id }] = await add(key.text(options));
    expect(status).toBe(201);
    const { told } = await pushed((content) => key.sign(content, 1_767_225_700));
    expect(await told()).toMatchObject({ verification_status, gpg_key_id: id });
    await ask(`POST /user/gpg_keys/${id}/revoke`);
  });

  it("are unverified if they can't be read", async () => {
    const key = pgpKey("Ada <a@example.com>", "ada");
    for (const [signature, verification_status] of [
      ["-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----", "unverified"],
      [armored("PGP SIGNATURE", [Buffer.from([0xc2, 0x05, 4, 0, 22, 8, 0])]), "unverified"],
      [`${key.sign(Buffer.from(""))}${"x".repeat(40_000)}`, "unverified"],
      ["-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----", "unverified"],
      ["-----BEGIN SIGNED MESSAGE-----\nMII=\n-----END SIGNED MESSAGE-----", "unverified"],
    ] as const) {
      const { told } = await pushed(() => signature);
      expect(await told()).toMatchObject({ verification_status });
    }
    const twice = (content: Buffer) => {
      const packet = Buffer.from(key.sign(content).split("\n").slice(2, -2).join(""), "base64");
      return armored("PGP SIGNATURE", [packet, packet]);
    };
    expect(await (await pushed(twice)).told()).toMatchObject({
      verification_status: "multiple_signatures",
    });
  });

  const hasGpg = spawnSync("gpg", ["--version"]).status === 0;
  if (!hasGpg) console.warn("gpg is not installed: signatures made by it are not tested");

  const algorithms = ["ed25519", "rsa3072", "nistp256", "nistp384", "nistp521"];
  it.skipIf(!hasGpg).each(isLong ? algorithms : ["ed25519"])(
    "of gpg are verified, by %s, also of subkeys and tags",
    async (algorithm) => {
      const home = join(workshop.folder, ".gnupg");
      mkdirSync(home, { recursive: true, mode: 0o700 });
      const gpg = (...args: string[]) =>
        execFileSync("gpg", ["--homedir", home, "--batch", "--passphrase", "", ...args], {
          encoding: "utf8",
          stdio: ["ignore", "pipe", "ignore"],
        });
      const listed = (pattern: RegExp) => gpg("--list-keys", "--with-colons", uid).match(pattern);
      const uid = `Ada ${algorithm} <a@example.com>`;
      gpg("--quick-generate-key", uid, algorithm, "sign", "never");
      const fingerprint = String(listed(/^fpr:+([0-9A-F]+):/m)?.[1]);
      const sign = (...args: string[]) =>
        workshop.git("work", "-c", `user.signingkey=${signer}`, ...args);
      const sent = async (what: string) => {
        await workshop.git("work", "push", "--quiet", workshop.url(PROJECT, "owner"), what);
      };
      let signer = `${fingerprint}!`;
      await sign("commit", "--quiet", "--allow-empty", "-S", "-m", `By ${algorithm} ü`);
      const first = await workshop.git("work", "rev-parse", "HEAD");
      gpg("--quick-add-key", fingerprint, algorithm.replace(/^nist.*/, "$&/ecdsa"), "sign", "1y");
      signer = `${[...gpg("--list-keys", "--with-colons", uid).matchAll(/^sub:.*?:([0-9A-F]{16}):/gm)].at(-1)?.[1]}!`;
      await sign("commit", "--quiet", "--allow-empty", "-S", "-m", "By a subkey");
      const second = await workshop.git("work", "rev-parse", "HEAD");
      await sign("tag", "-s", `t-${algorithm}`, "-m", "A tag");
      await sent(`HEAD:refs/heads/${algorithm}`);
      await sent(`refs/tags/t-${algorithm}`);
      const [status, { id }] = await add(gpg("--armor", "--export", fingerprint));
      expect(status).toBe(201);
      const verified = {
        verification_status: "verified",
        gpg_key_id: id,
        gpg_key_primary_keyid: fingerprint.slice(-16),
        gpg_key_user_name: `Ada ${algorithm}`,
        gpg_key_user_email: "a@example.com",
        gpg_key_subkey_id: null as unknown,
      };
      expect((await signatureOf(first))[1]).toMatchObject(verified);
      verified.gpg_key_subkey_id = expect.any(Number);
      expect((await signatureOf(second))[1]).toMatchObject(verified);
      const tag = `GET /projects/owner%2Fsigned/repository/tags/t-${algorithm}/signature`;
      expect((await ask(tag, "owner"))[1]).toMatchObject(verified);
      expect(await graphSignature(algorithm)).toEqual({
        __typename: "GpgSignature",
        commitSha: second,
        verificationStatus: "VERIFIED",
        project: { fullPath: PROJECT },
        gpgKeyPrimaryKeyid: fingerprint.slice(-16),
        gpgKeyUserName: `Ada ${algorithm}`,
        gpgKeyUserEmail: "a@example.com",
        user: { username: "developer" },
      });
    },
    60_000,
  );

  const kinds = [
    ["ed25519", []],
    ["rsa", ["-b", "3072"]],
    ["ecdsa", ["-b", "256"]],
    ["ecdsa", ["-b", "384"]],
    ["ecdsa", ["-b", "521"]],
  ] as const;
  it.each(isLong ? kinds : kinds.slice(0, 2))(
    "of ssh-keygen are verified, by %s %j",
    async (type, options) => {
      const name = `ssh-${type}${options.join("")}`;
      const file = join(workshop.folder, name);
      execFileSync("ssh-keygen", ["-q", "-t", type, ...options, "-N", "", "-C", "x", "-f", file]);
      const git = (...args: string[]) =>
        workshop.git("work", "-c", "gpg.format=ssh", "-c", `user.signingkey=${file}`, ...args);
      await git("commit", "--quiet", "--allow-empty", "-S", "-m", `By ${name}`);
      await git("tag", "-s", name, "-m", "A tag");
      const sha = await workshop.git("work", "rev-parse", "HEAD");
      for (const what of [`HEAD:refs/heads/${name}`, `refs/tags/${name}`]) {
        await workshop.git("work", "push", "--quiet", workshop.url(PROJECT, "owner"), what);
      }
      const told = async () => (await signatureOf(sha))[1];
      const unknown = { signature_type: "SSH", verification_status: "unknown_key", key: null };
      expect(await told()).toEqual({ ...unknown, commit_source: "gitaly" });
      const key = execFileSync("cat", [`${file}.pub`], { encoding: "utf8" });
      const json = { title: name, key, usage_type: "auth" };
      const [, auth] = await ask("POST /user/keys", "developer", json);
      expect(await told()).toMatchObject(unknown);
      await ask(`DELETE /user/keys/${auth.id}`);
      const usage = { ...json, usage_type: "signing" };
      const [, other] = await ask("POST /user/keys", "reporter", usage);
      expect(await told()).toMatchObject({ verification_status: "other_user" });
      await ask(`DELETE /user/keys/${other.id}`, "reporter");
      const [, { id }] = await ask("POST /user/keys", "developer", usage);
      const verified = {
        signature_type: "SSH",
        verification_status: "verified",
        key: {
          id,
          title: name,
          created_at: expect.any(String),
          expires_at: null,
          key: key.trim().split(" ").slice(0, 2).join(" "),
          usage_type: "signing",
        },
      };
      expect(await told()).toEqual({ ...verified, commit_source: "gitaly" });
      const tag = `GET /projects/owner%2Fsigned/repository/tags/${name}/signature`;
      expect((await ask(tag, "owner"))[1]).toEqual(verified);
      expect(await graphSignature(name)).toEqual({
        __typename: "SshSignature",
        commitSha: sha,
        verificationStatus: "VERIFIED",
        project: { fullPath: PROJECT },
        keyFingerprintSha256: expect.stringMatching(/^SHA256:/),
        key: { id: `gid://gitlab/Key/${id}`, title: name },
        user: { username: "developer" },
      });
    },
  );

  it.each(["ed25519", "ecdsa"] as const)(
    "of keys of %s on security tokens are verified, if these were touched",
    async (kind) => {
      const text = join(workshop.folder, "text");
      writeFileSync(text, "signed");
      for (const [flags, isValid] of [
        [1, true],
        [0, false],
      ] as const) {
        const key = tokenKey(kind, flags);
        const name = join(workshop.folder, `${kind}-${flags}`);
        writeFileSync(`${name}.pub`, `${key.line}\n`);
        const stop = await startAgent(`${name}.sock`, [key]);
        const env = { ...process.env, SSH_AUTH_SOCK: `${name}.sock` };
        await run("ssh-keygen", ["-Y", "sign", "-n", "git", "-f", `${name}.pub`, text], { env });
        stop();
        const signature = readFileSync(`${text}.sig`, "utf8");
        rmSync(`${text}.sig`);
        expect(verifySshSignature(signature, Buffer.from("signed"))?.isValid).toBe(isValid);
        expect(verifySshSignature(signature, Buffer.from("other"))?.isValid).toBe(false);
      }
    },
  );
});
