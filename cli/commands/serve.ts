import { existsSync, statSync } from "node:fs";
import type { Command } from "commander";
import type { App, Swept } from "../../src/index.ts";
import type { RequestOptions, Server } from "../../src/node.ts";
import { backUpRegularly } from "../backups.ts";
import { collectEarlier } from "../collection.ts";
import { defaultKeyFile, isFile, openApp } from "../database.ts";
import { Failure, UsageError } from "../errors.ts";
import { command, hintAt } from "../hints.ts";
import { loadServer, refusal } from "../listen.ts";
import { log, report, say, warn } from "../log.ts";
import type { MetricsServer } from "../metrics.ts";
import { nextSignal, signal } from "../signals.ts";
import { addServeOptions, appOptionsOf, type ServeOptions } from "./serve-options.ts";

/** Adds `serve`. */
export function addServeCommand(program: Command): void {
  const serve = program
    .command("serve")
    .description("serve the API; creates the database if it is missing, and brings it up to date");
  addServeOptions(serve);
  serve
    .addHelpText(
      "after",
      `
With --smtp, --mail-from and --url, notifications are sent by mail.
Events and audit log entries older than --event-retention, and expired memberships, are removed once a day.
Requests are logged to standard output and failures to standard error, one JSON object per line. The line with
"message":"listening" has the address ("url") and the file with the key of the secrets ("secret_key"), and with --ssh-port
the fingerprints of the host keys ("ssh_host_keys").
On SIGTERM or SIGINT, running requests are answered before it exits; a second signal ends it at once.
Workers that die are restarted.

Examples:
  $ pm-cli serve
  $ pm-cli serve --db /var/lib/pm.db --host 0.0.0.0 --port 8080 --workers 4
  $ pm-cli serve --url https://pm.example.com --trust-proxy
  $ pm-cli serve --url https://pm.example.com --smtp smtp://mail:25 --mail-from pm@example.com
  $ pm-cli serve --metrics-port 9464
  $ pm-cli serve --host 0.0.0.0 --ssh-port 2222
  $ pm-cli serve --backup-dir /backup --backup-every 6h --backup-keep 28
  $ pm-cli serve --config /etc/pm-api.json
  $ PM_DB=postgres://pm:secret@db.internal/pm PM_PORT=8080 pm-cli serve`,
    )
    .action(serveUntilSignal);
}

async function serveUntilSignal(options: ServeOptions): Promise<void> {
  if (options.workers === 1) return serveAlone(options);
  if (options.db === ":memory:") {
    throw new UsageError("--workers needs a database that processes can share, not :memory:");
  }
  if (process.versions["deno"]) {
    throw new UsageError(
      "--workers needs Node or Bun: elsewhere start several servers on different ports, behind a proxy",
    );
  }
  if (options.sshPort !== undefined && process.versions["bun"]) {
    throw new UsageError("--ssh-port with --workers needs Node: workers of Bun can't share it");
  }
  if (options.sshPort === 0) {
    throw new UsageError("--ssh-port must be a certain port with --workers, which share it");
  }
  const { isWorker, metricsOfWorkers, serveSupervised, superviseWorkers } = await import(
    "../workers.ts"
  );
  if (isWorker) return serveAlone(options, serveSupervised);
  const { workers, host, port } = options;
  const metrics = await startMetrics(metricsOfWorkers, options);
  const onListening = (where: object) => sayListening({ ...where, ...shown(metrics) }, options);
  try {
    await superviseWorkers(workers, host, port, onListening).catch((error) => {
      throw refusal(error, host, port);
    });
  } finally {
    metrics?.close();
  }
}

/** Starts the server of metrics, if there is a port for it. @throws Failure if the port can't be used */
async function startMetrics(
  read: () => Promise<string>,
  { metricsHost, metricsPort }: ServeOptions,
): Promise<MetricsServer | undefined> {
  if (metricsPort === undefined) return undefined;
  const { serveMetrics } = await import("../metrics.ts");
  return serveMetrics(read, metricsHost, metricsPort).catch((error) => {
    throw refusal(error, metricsHost, metricsPort, "metrics-");
  });
}

/** The address of the metrics, for the log. */
const shown = (metrics: MetricsServer | undefined) => metrics && { metrics: metrics.url };

/** Where Git is served over SSH, for the log, with what clients ask whoever connects for the first time. */
function sshOf({ ssh }: App, { sshHost, host }: ServeOptions): object | undefined {
  const name = sshHost ?? host;
  const shownHost = name.includes(":") ? `[${name}]` : name;
  return (
    ssh && { ssh: `ssh://git@${shownHost}:${ssh.port}`, ssh_host_keys: ssh.fingerprints.join(" ") }
  );
}

/** @param serveSupervised in a worker, serves until the supervisor stops it */
async function serveAlone(
  options: ServeOptions,
  serveSupervised?: (app: App, options: RequestOptions) => Promise<void>,
): Promise<void> {
  const { host, port, db, backupDir, trustProxy } = options;
  const appOptions = appOptionsOf(options);
  // Imported here, so that it is in the single-file binary.
  if (appOptions.ssh) appOptions.ssh.module = await import("ssh2");
  if (backupDir !== undefined && !isFile(db)) {
    throw new UsageError(
      "--backup-dir is for SQLite files: for PostgreSQL use pg_dump, for example",
    );
  }
  const { serve } = await loadServer();
  collectEarlier();
  const app = await openApp({
    ...appOptions,
    ...{ background: true, onSwept, log, onError: report },
  }).catch((error) => {
    const { ssh } = appOptions;
    const isOfSsh = ssh && (error as NodeJS.ErrnoException).syscall !== undefined;
    throw isOfSsh ? refusal(error, ssh.host ?? host, ssh.port, "ssh-") : error;
  });
  const startBackups = () =>
    backupDir === undefined
      ? async () => undefined
      : backUpRegularly(app, { ...options, backupDir });
  if (serveSupervised) {
    const endBackups = startBackups();
    await serveSupervised(app, { trustProxy });
    await endBackups();
    return app.close();
  }
  const server = await listen(() => serve(app, { host, port, trustProxy }), app, options);
  const metrics = await startMetrics(() => app.admin.metrics(), options);
  const endBackups = startBackups();
  const first = signal();
  sayListening({ url: server.url, ...shown(metrics), ...sshOf(app, options) }, options);
  await sayWhatIsNext(app, db);
  say("stopping", { signal: await first });
  metrics?.close();
  await Promise.race([drain(server, app, endBackups), secondSignal()]);
}

/** Logs how to create the first user, if the database has none. */
async function sayWhatIsNext({ admin }: App, database: string): Promise<void> {
  if (database === ":memory:" || (await admin.users.exist())) return;
  hintAt(database);
  say("there are no users yet", { next: command("user create --admin") });
}

/** Logs what the daily sweep removed. */
function onSwept({ members, events, audit_events, before }: Swept): void {
  if (members > 0) say("memberships expired", { members });
  if (events + audit_events > 0) say("purged", { events, audit_events, before });
}

/** Logs the address and the file with the secrets' key, and warns about files that others can read. */
function sayListening(more: object, { db, secretKeyFile }: ServeOptions): void {
  const file = secretKeyFile ?? defaultKeyFile(db);
  const key = process.env["PM_SECRET_KEY"] ? "PM_SECRET_KEY" : file;
  say("listening", { ...more, ...(key && { secret_key: key }) });
  if (db === ":memory:") {
    warn(
      "the database is in memory: it is empty now, and everything is lost when the server stops",
    );
  }
  if (process.platform === "win32") return;
  for (const one of [...(isFile(db) ? [db] : []), ...(file ? [file] : [])]) {
    const mode = existsSync(one) ? statSync(one).mode & 0o777 : 0;
    if ((mode & 0o077) === 0) continue;
    warn(`others can read ${one} (${mode.toString(8)}): chmod 600 ${one}`);
  }
}

async function listen(
  start: () => Promise<Server>,
  app: App,
  { host, port }: ServeOptions,
): Promise<Server> {
  try {
    return await start();
  } catch (error) {
    await app.close();
    throw refusal(error as NodeJS.ErrnoException, host, port);
  }
}

async function drain(server: Server, app: App, endBackups: () => Promise<void>): Promise<void> {
  await Promise.all([server.close(), endBackups()]);
  await app.close();
}

async function secondSignal(): Promise<never> {
  throw new Failure(`${await nextSignal()} again: ended before everything was answered`);
}
