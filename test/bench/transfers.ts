// What files cost that come and go: over LFS and the registries beside a bare server of files, and clones by SSH beside HTTP.
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { type App, createApp } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import { document } from "../api/_npm.ts";
import type { Where } from "./events.ts";
import { HEADERS, type Operation } from "./operations.ts";
import { freePort, type Server, startServer } from "./processes.ts";
import { median } from "./report.ts";
import { CALLER } from "./seed.ts";
import { storeAnswers } from "./stored.ts";

const run = promisify(execFile);
const MEBIBYTE = 1024 * 1024;
const PROJECT = "/api/v4/projects/acme%2Fsite";
const PACKAGES = 200;
const basic = `Basic ${Buffer.from(`${CALLER.username}:${CALLER.token}`).toString("base64")}`;

/** What clients list of packages. */
export const PACKAGE_OPERATIONS: readonly Operation[] = [
  { name: "20 packages", method: "GET", path: "/projects/acme%2Fsite/packages", floor: 0.5 },
];

/** A file that is sent or fetched a number of times. */
interface Transfer {
  readonly name: string;
  readonly method: "GET" | "PUT";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What is fetched, or else made anew and sent: for each a path of its own. */
  readonly content: Buffer;
  readonly times: number;
}

/** The CPU time of a transfer beside the bare server's, in milliseconds. */
interface TransferFigure {
  readonly name: string;
  readonly ours: number;
  readonly bare: number;
  readonly ratio: number;
}

/** Seconds of CPU time for a clone by each, and how much more SSH takes. */
interface CloneFigure {
  readonly name: string;
  readonly http: number;
  readonly ssh: number;
  readonly ratio: number;
}

/** All that is measured here. */
export interface TransferFigures {
  readonly files: readonly TransferFigure[];
  readonly clones: readonly CloneFigure[];
}

async function seeded(database: string): Promise<App> {
  const app = await createApp({ database, background: false });
  await app.admin.seed({
    users: [{ username: CALLER.username, tokens: [{ token: CALLER.token, scopes: ["api"] }] }],
    groups: [
      { path: "acme", members: { [CALLER.username]: "owner" }, projects: [{ path: "site" }] },
    ],
  });
  return app;
}

/** Sends what a registry takes. */
async function put(app: App, path: string, body: Buffer | string, more = {}): Promise<Response> {
  const headers = { ...HEADERS, "content-type": "application/octet-stream", ...more };
  const asked = new Request(`http://pm.test${path}`, {
    method: path.includes("/blobs/uploads/") ? "POST" : "PUT",
    headers,
    body: typeof body === "string" ? body : new Uint8Array(body),
  });
  const answer = await app.fetch(asked);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer;
}

/** Creates a database with packages of a project, and what the bare server answers. @returns the file */
export async function withPackages({ folder, say }: Where): Promise<string> {
  say("publishing packages…");
  const file = join(folder, "packages.db");
  const app = await seeded(file);
  for (let count = 0; count < PACKAGES; count += 1) {
    await put(app, `${PROJECT}/packages/generic/tool-${count % 40}/1.0.${count}/tool.bin`, "bytes");
  }
  const answers = new Map<string, unknown>();
  for (const { path } of PACKAGE_OPERATIONS) {
    const asked = new Request(`http://pm.test/api/v4${path}`, { headers: HEADERS });
    answers.set(`/api/v4${path}`, await (await app.fetch(asked)).json());
  }
  await app.close();
  const store = await openStore(file);
  await store.transaction((db) => storeAnswers(db, answers));
  await store.close();
  return file;
}

/** Publishes a file by each way. @returns how it is fetched again */
async function published(app: App, tokenOfRegistry: string): Promise<Transfer[]> {
  const small = randomBytes(64 * 1024);
  const large = randomBytes(16 * MEBIBYTE);
  const sha256 = createHash("sha256").update(large).digest("hex");
  const npm = JSON.stringify(document("tool", "1.0.0", {}, small));
  await put(app, `${PROJECT}/packages/npm/tool`, npm, { "content-type": "application/json" });
  await put(app, `${PROJECT}/packages/generic/tool/1.0.0/tool.bin`, large);
  await put(app, `/acme/site.git/gitlab-lfs/objects/${sha256}/${large.length}`, large, {
    authorization: basic,
  });
  const bearer = { authorization: `Bearer ${tokenOfRegistry}` };
  await put(app, `/v2/acme/site/blobs/uploads/?digest=sha256:${sha256}`, large, bearer);
  const get = { method: "GET", headers: HEADERS, content: large, times: 10 } as const;
  return [
    {
      ...get,
      name: "an npm tarball of 64 KB",
      path: `${PROJECT}/packages/npm/tool/-/tool-1.0.0.tgz`,
      ...{ content: small, times: 500 },
    },
    {
      ...get,
      name: "a generic package of 16 MB",
      path: `${PROJECT}/packages/generic/tool/1.0.0/tool.bin`,
    },
    {
      ...get,
      name: "a container blob of 16 MB",
      path: `/v2/acme/site/blobs/sha256:${sha256}`,
      headers: { host: HEADERS.host, ...bearer },
    },
    {
      ...get,
      name: "an LFS object of 16 MB",
      path: `/acme/site.git/gitlab-lfs/objects/${sha256}`,
      headers: { host: HEADERS.host, authorization: basic },
    },
    {
      name: "an LFS object of 16 MB, uploaded",
      method: "PUT",
      path: "/acme/site.git/gitlab-lfs/objects",
      headers: { host: HEADERS.host, authorization: basic },
      content: large,
      times: 3,
    },
  ];
}

async function signedIn(app: App): Promise<string> {
  const query = "service=container_registry&scope=repository:acme/site:pull,push";
  const asked = new Request(`http://pm.test/jwt/auth?${query}`, {
    headers: { authorization: basic },
  });
  const { token } = (await (await app.fetch(asked)).json()) as { token: string };
  return token;
}

/** Sends a file or fetches it, and looks at nothing but its length. */
async function once(url: string, { method, path, headers, content }: Transfer): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const sent = request(url + path, { method, headers }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.once("error", reject).once("end", () => {
        const isWhole = method === "PUT" || bytes === content.length;
        if (response.statusCode === 200 && isWhole) resolve();
        else reject(new Error(`${path}: ${response.statusCode}, ${bytes} bytes`));
      });
    }).once("error", reject);
    if (method === "GET") sent.end();
    else void pipeline(partsOf(content), sent).catch(reject);
  });
}

/** As a file is read. */
function* partsOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += 64 * 1024) yield content.subarray(at, at + 64 * 1024);
}

/** A transfer of content that no server has yet. */
function anew(transfer: Transfer): Transfer {
  if (transfer.method === "GET") return transfer;
  const content = Buffer.concat([transfer.content.subarray(16), randomBytes(16)]);
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { ...transfer, content, path: `${transfer.path}/${sha256}/${content.length}` };
}

async function spent(server: Server, work: () => Promise<unknown>): Promise<number> {
  const before = await server.cpu();
  await work();
  return ((await server.cpu()) - before) / 1000;
}

/** Transfers files to and from this application and a bare server, and clones a repository by HTTP and by SSH. */
export async function measureTransfers(
  source: string,
  scripts: { readonly app: string; readonly bare: string },
  { folder, rounds, say }: Where & { readonly rounds: number },
): Promise<TransferFigures> {
  const database = join(folder, "transfers.db");
  const files = join(folder, "static");
  mkdirSync(files);
  const app = await seeded(database);
  const transfers = await published(app, await signedIn(app));
  const key = join(folder, "key");
  await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
  const added = await app.fetch(
    new Request("http://pm.test/api/v4/user/keys", {
      method: "POST",
      headers: HEADERS,
      body: new URLSearchParams({ title: "bench", key: readFileSync(`${key}.pub`, "utf8") }),
    }),
  );
  if (!added.ok) throw new Error(await added.text());
  await app.close();
  const [port, sshPort] = [await freePort(), await freePort()].map(String) as [string, string];
  const ours = await startServer([scripts.app, database, port, sshPort]);
  const bare = await startServer([scripts.bare, files]);
  const figures: TransferFigure[] = [];
  for (const transfer of transfers) {
    if (transfer.method === "GET") {
      writeFileSync(join(files, transfer.path.replaceAll("/", "_")), transfer.content);
    }
    const measured: { ours: number; bare: number }[] = [];
    // One round more, only to warm up.
    for (let round = 0; round <= rounds; round += 1) {
      say(`${transfer.name}: round ${round} of ${rounds}`);
      const of = async (server: Server) => {
        const each = Array.from({ length: transfer.times }, () => anew(transfer));
        const used = await spent(server, async () => {
          for (const one of each) await once(server.url, one);
        });
        return used / transfer.times;
      };
      measured.push({ ours: await of(ours), bare: await of(bare) });
    }
    measured.shift();
    figures.push({
      name: transfer.name,
      ours: median(measured.map((one) => one.ours)),
      bare: median(measured.map((one) => one.bare)),
      ratio: median(measured.map((one) => one.bare / one.ours)),
    });
  }
  const clones = await measureClones(source, ours, { folder, rounds, say, sshPort, key });
  await Promise.all([ours.stop(), bare.stop()]);
  return { files: figures, clones };
}

/** The ciphers that clients choose: OpenSSH its first until version 9.9, then AES; and those of older libraries. */
const CIPHERS = ["", "aes128-gcm@openssh.com", "aes128-ctr"];

async function measureClones(
  source: string,
  server: Server,
  {
    folder,
    rounds,
    say,
    sshPort,
    key,
  }: Where & { readonly rounds: number; readonly sshPort: string; readonly key: string },
): Promise<CloneFigure[]> {
  const git = (env: Record<string, string>, ...args: string[]) =>
    run("git", args, { cwd: source, env: { ...process.env, GIT_TERMINAL_PROMPT: "0", ...env } });
  const http = `${server.url.replace("//", `//any:${CALLER.token}@`)}/acme/site.git`;
  await git({}, "push", "--quiet", http, "HEAD:refs/heads/main");
  const options = [
    ...["-F", "none", "-i", key, "-o", "IdentityAgent=none", "-o", "LogLevel=ERROR"],
    ...["-o", `UserKnownHostsFile=${key}.hosts`, "-o", "StrictHostKeyChecking=accept-new"],
  ];
  let count = 0;
  const clone = (url: string, env = {}) => {
    count += 1;
    const into = join(folder, `transfers${count}.git`);
    return spent(server, () => git(env, "clone", "--quiet", "--bare", url, into));
  };
  const figures: CloneFigure[] = [];
  for (const cipher of CIPHERS) {
    const env = {
      GIT_SSH_COMMAND: ["ssh", ...options, ...(cipher ? ["-c", cipher] : [])].join(" "),
    };
    const measured: { http: number; ssh: number }[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const name = cipher || "the client's usual cipher";
      say(`clone by SSH, ${name}: round ${round} of ${rounds}`);
      try {
        measured.push({
          http: await clone(http),
          ssh: await clone(`ssh://git@127.0.0.1:${sshPort}/acme/site.git`, env),
        });
      } catch (error) {
        // The server does not have it.
        if (!/no matching cipher/.test(String(error))) throw error;
        break;
      }
    }
    measured.shift();
    if (measured.length === 0) continue;
    figures.push({
      name: cipher || "usual cipher",
      http: median(measured.map((one) => one.http)),
      ssh: median(measured.map((one) => one.ssh)),
      ratio: median(measured.map((one) => one.ssh / one.http)),
    });
  }
  return figures;
}
