// `npm start`: installs and builds what is missing, seeds a demo database if there is none, and serves it. It requires
// only Node. PM_HOST and PM_PORT set the address to listen on, PM_DEMO_DB the database.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { installMissing } from "./install.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const cli = `${root}dist/pm-cli.js`;
const host = process.env.PM_HOST || "127.0.0.1";
const port = Number(process.env.PM_PORT || 3000);
const database = process.env.PM_DEMO_DB || `${root}demo.db`;
const TOKEN_DAYS = 30;
/** How long a busy connection may delay the exit. */
const PATIENCE_MILLISECONDS = 2000;

if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  fail(`PM_PORT is '${process.env.PM_PORT}', but it must be a number from 0 to 65535.`);
}
installMissing();
buildMissing();
try {
  await start();
} catch (error) {
  fail(explain(error));
}

async function start() {
  const [{ createApp }, { serve }] = await Promise.all([
    import("../dist/index.js"),
    import("../dist/node.js"),
  ]);
  const app = await createApp({
    database,
    log: ({ method, path, status, duration }) =>
      console.log(`${method} ${path} ${status} ${duration} ms`),
  });
  const users = await app.admin.users.list();
  if (users.length === 0) seed();
  else if (!users.some(({ username }) => username === "root")) {
    fail(`${database} has no user root: remove it, and npm start creates a new one.`);
  }
  const server = await serve(app, { host, port });
  const { token } = await app.admin.tokens.create({
    user: "root",
    name: "demo",
    scopes: ["api", "sudo"],
    expires_at: new Date(Date.now() + TOKEN_DAYS * 86_400_000).toISOString().slice(0, 10),
  });
  const password = randomBytes(9).toString("base64url");
  await app.admin.users.setPassword("root", password);
  const [project] = await app.admin.projects.list();
  // Before anybody reads that it serves, and stops it.
  const stopped = end();
  console.log(`
Serving ${database} on ${server.url} (Ctrl-C ends it)
Sign in at ${server.url}/users/sign_in as root, the administrator, with the password ${password}
Token of root, for ${TOKEN_DAYS} days: ${token}

Try:
  curl --header "PRIVATE-TOKEN: ${token}" ${server.url}/api/v4/groups/acme/boards
${project ? `  git clone ${withToken(server.url, token)}/${project.full_path}.git\n` : ""}`);

  await stopped;
  setTimeout(() => process.exit(0), PATIENCE_MILLISECONDS).unref();
  await server.close();
  await app.close();
  process.exit(0);
}

/** An address that Git's client can use: the token is the password. */
function withToken(address, token) {
  return address.replace("://", `://root:${token}@`);
}

/** Waits for the first signal. It is enough, since npm forwards a Ctrl-C that the terminal has already sent. */
function end() {
  const parent = process.ppid;
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, resolve);
    // npm exits on a SIGTERM, but the shell between it and this process doesn't forward it.
    if (process.env.npm_lifecycle_event === "start") {
      setInterval(() => process.ppid !== parent && resolve(), 250).unref();
    }
  });
}

function buildMissing() {
  const sources = ["src", "cli", "package.json", "tsup.config.ts"];
  if (existsSync(cli) && sources.every((name) => newest(root + name) <= statSync(cli).mtimeMs)) {
    return;
  }
  console.log("Building…");
  run(`${root}node_modules/tsup/dist/cli-default.js`, ["--silent"]);
}

/** When a file, or anything in a folder, was last changed; a removal counts as a change of the folder. */
function newest(path) {
  const status = statSync(path);
  if (!status.isDirectory()) return status.mtimeMs;
  return Math.max(
    status.mtimeMs,
    ...readdirSync(path, { withFileTypes: true }).map(({ name }) => newest(`${path}/${name}`)),
  );
}

function seed() {
  console.log("Seeding the demo database…");
  run(cli, ["seed", "--db", database, "--json"]);
}

/** Runs a script with this Node; only its standard error is shown. */
function run(script, args) {
  const { status } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) fail(`${script} failed.`);
}

function explain(error) {
  switch (error.code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is in use. Choose another: PM_PORT=${port + 1} npm start`;
    case "EACCES":
      return `No permission to listen on port ${port}. Choose one above 1023: PM_PORT=3000 npm start`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${host} is not an address of this machine. Choose another: PM_HOST=127.0.0.1 npm start`;
  }
  return error.name === "StoreError" ? error.message : error.stack;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
