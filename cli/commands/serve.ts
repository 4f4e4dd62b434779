import { type Command, InvalidArgumentError, Option } from "commander";
import type { App, AppOptions, MailChange } from "../../src/index.ts";
import type { RequestOptions, Server } from "../../src/node.ts";
import { type DatabaseOptions, databaseOption, openApp } from "../database.ts";
import { Failure, UsageError } from "../errors.ts";
import { command, hintAt } from "../hints.ts";
import { loadServer } from "../listen.ts";
import { log, report, say } from "../log.ts";
import { nextSignal, signal } from "../signals.ts";
import { mailFromOption, smtpOption } from "./mail.ts";

type Tier = NonNullable<AppOptions["tier"]>;
const TIERS = Object.keys({
  free: true,
  premium: true,
  ultimate: true,
} satisfies Record<Tier, true>);

interface ServeOptions extends DatabaseOptions {
  host: string;
  port: number;
  workers: number;
  url?: string;
  tier: Tier;
  trustProxy?: boolean;
  smtp?: string;
  mailFrom?: string;
  maxConnections?: number;
  connectTimeout?: number;
  statementTimeout?: number;
  impersonation: "on" | "off";
  implicitGrant: "on" | "off";
  passwordGrant: "on" | "off";
  requestsPerMinute?: number;
}

/** How often this process asks whether somebody has to remove what is too old, which is done once a day. */
const SWEEP_MILLISECONDS = 600_000;
/** An hour: a database that needs longer is not serving anybody. */
const LONGEST_TIMEOUT = 3_600_000;

/** Adds `serve`. */
export function addServeCommand(program: Command): void {
  program
    .command("serve")
    .description("serve the API; the database is made where there is none, and brought up to date")
    .addOption(databaseOption())
    .addOption(
      new Option("--host <host>", "address to listen on").env("PM_HOST").default("127.0.0.1"),
    )
    .addOption(
      new Option("--port <port>", "port to listen on, 0 for a free one")
        .env("PM_PORT")
        .default(3000)
        .argParser(readNumber(0, 65_535)),
    )
    .addOption(
      new Option("--workers <number>", "processes to serve with, such as one for each core")
        .env("PM_WORKERS")
        .default(1)
        .argParser(readNumber(1, 256)),
    )
    .addOption(
      new Option("--url <url>", "address clients reach it by (default: what each request says)")
        .env("PM_URL")
        .argParser(readUrl),
    )
    .addOption(
      new Option("--tier <tier>", "what may be used")
        .env("PM_TIER")
        .choices(TIERS)
        .default("ultimate"),
    )
    .addOption(
      new Option(
        "--trust-proxy",
        "believe X-Forwarded-For, -Proto and -Host: only behind a proxy that sets them",
      ).env("PM_TRUST_PROXY"),
    )
    .addOption(smtpOption())
    .addOption(
      new Option("--impersonation <on|off>", "whether impersonation tokens are accepted")
        .env("PM_IMPERSONATION")
        .choices(["on", "off"])
        .default("on"),
    )
    .addOption(
      new Option("--implicit-grant <on|off>", "whether OAuth2's implicit flow can be used")
        .env("PM_IMPLICIT_GRANT")
        .choices(["on", "off"])
        .default("on"),
    )
    .addOption(
      new Option("--password-grant <on|off>", "whether OAuth2's password flow can be used")
        .env("PM_PASSWORD_GRANT")
        .choices(["on", "off"])
        .default("on"),
    )
    .addOption(
      new Option(
        "--requests-per-minute <number>",
        "answer a user, or an address without a token, so often and then 429 (default: any number)",
      )
        .env("PM_REQUESTS_PER_MINUTE")
        .argParser(readNumber(1, 999_999_999)),
    )
    .addOption(mailFromOption())
    .addOption(
      new Option(
        "--max-connections <number>",
        "PostgreSQL: connections of this process (default: 10)",
      )
        .env("PM_MAX_CONNECTIONS")
        .argParser(readNumber(2, 1000)),
    )
    .addOption(
      new Option(
        "--connect-timeout <ms>",
        "PostgreSQL: how long a connection is waited for (default: 10000)",
      )
        .env("PM_CONNECT_TIMEOUT")
        .argParser(readNumber(1, LONGEST_TIMEOUT)),
    )
    .addOption(
      new Option(
        "--statement-timeout <ms>",
        "PostgreSQL: how long a statement may take (default: 30000)",
      )
        .env("PM_STATEMENT_TIMEOUT")
        .argParser(readNumber(1, LONGEST_TIMEOUT)),
    )
    .addHelpText(
      "after",
      `
With --smtp, --mail-from and --url, notifications are sent by mail.
Events and entries of the audit log older than two years, and memberships that have run out, are removed once a day.
Requests are logged on standard output and failures on standard error, one JSON object a line.
SIGTERM or SIGINT answers what was asked before and ends; a second one ends at once.
A worker that dies is started again.

Examples:
  $ pm-cli serve
  $ pm-cli serve --db /var/lib/pm.db --host 0.0.0.0 --port 8080 --workers 4
  $ pm-cli serve --url https://pm.example.com --trust-proxy
  $ pm-cli serve --url https://pm.example.com --smtp smtp://mail:25 --mail-from pm@example.com
  $ PM_DB=postgres://pm:secret@db.internal/pm PM_PORT=8080 pm-cli serve`,
    )
    .action(serveUntilSignal);
}

async function serveUntilSignal(options: ServeOptions, command: Command): Promise<void> {
  if (options.workers === 1) return serveAlone(options, command);
  if (options.db === ":memory:") {
    throw new UsageError("--workers needs a database that processes can share, not :memory:");
  }
  if (process.versions["deno"]) {
    throw new UsageError(
      "--workers is for pm-cli on Node or Bun: elsewhere start several on ports of their own, behind a proxy",
    );
  }
  const { isWorker, serveSupervised, superviseWorkers } = await import("../workers.ts");
  if (isWorker) return serveAlone(options, command, serveSupervised);
  const { workers, host, port } = options;
  return superviseWorkers(workers, host, port).catch((error) => {
    throw refusal(error, host, port);
  });
}

/** @param serveSupervised how a process that is one of several serves, until it is to end */
async function serveAlone(
  options: ServeOptions,
  command: Command,
  serveSupervised?: (app: App, options: RequestOptions) => Promise<void>,
): Promise<void> {
  const { db, host, port, url, tier, maxConnections, connectTimeout, statementTimeout } = options;
  const { impersonation, implicitGrant, passwordGrant, requestsPerMinute: most } = options;
  const trustProxy = readTrustProxy(command);
  const mail = readMail(options);
  const { serve } = await loadServer();
  const app = await openApp({
    database: db,
    tier,
    impersonation: impersonation === "on",
    oauth: { implicit: implicitGrant === "on", password: passwordGrant === "on" },
    ...(most === undefined ? {} : { limits: { requestsPerMinute: { user: most, address: most } } }),
    ...(url === undefined ? {} : { url }),
    ...(mail === undefined ? {} : { mail }),
    postgres: {
      ...(maxConnections === undefined ? {} : { maxConnections }),
      ...(connectTimeout === undefined ? {} : { connectTimeout }),
      ...(statementTimeout === undefined ? {} : { statementTimeout }),
    },
    log,
    onError: report,
  });
  if (serveSupervised) {
    const stopSweeping = sweepDaily(app);
    await serveSupervised(app, { trustProxy });
    stopSweeping();
    return app.close();
  }
  const server = await listen(() => serve(app, { host, port, trustProxy }), app, options);
  const stopSweeping = sweepDaily(app);
  const first = signal();
  say("listening", { url: server.url });
  await sayWhatIsNext(app, db);
  say("stopping", { signal: await first });
  stopSweeping();
  await Promise.race([drain(server, app), secondSignal()]);
}

/** Nobody can sign in to an empty database. */
async function sayWhatIsNext({ admin }: App, database: string): Promise<void> {
  if (database === ":memory:" || (await admin.hasUsers())) return;
  hintAt(database);
  say("there are no users yet", { next: command("user create --admin") });
}

/** Removes what is too old once a day, of all processes on the database one; gives what ends that. */
function sweepDaily(app: App): () => void {
  const sweep = async () => {
    const swept = await app.admin.sweepDaily();
    if (!swept) return;
    const { members, events, auditEvents, before } = swept;
    if (members > 0) say("memberships expired", { members });
    if (events + auditEvents > 0) say("purged", { events, auditEvents, before });
  };
  const sweepReporting = () => sweep().catch(report);
  const timer = setInterval(sweepReporting, SWEEP_MILLISECONDS);
  void sweepReporting();
  return () => clearInterval(timer);
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

function refusal(error: NodeJS.ErrnoException, host: string, port: number): Error {
  switch (error.code) {
    case "EADDRINUSE":
      return new Failure(
        `port ${port} on ${host} is in use: stop what uses it, or choose another with --port (or PM_PORT), 0 for a free one`,
      );
    case "EACCES":
      return new Failure(
        `may not listen on port ${port}: choose one above 1023 with --port (or PM_PORT)`,
      );
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new Failure(
        `${host} is no address of this machine: choose another with --host (or PM_HOST), such as 127.0.0.1 or 0.0.0.0`,
      );
    default:
      return error;
  }
}

async function drain(server: Server, app: App): Promise<void> {
  await server.close();
  await app.close();
}

async function secondSignal(): Promise<never> {
  throw new Failure(`${await nextSignal()} again: ended before everything was answered`);
}

function readNumber(least: number, most: number) {
  return (text: string): number => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
  };
}

function readUrl(text: string): string {
  const { protocol, search, hash } = URL.canParse(text)
    ? new URL(text)
    : { protocol: "", search: "", hash: "" };
  if (!/^https?:$/.test(protocol) || search !== "" || hash !== "") {
    throw new InvalidArgumentError(
      "It must be like https://pm.example.com or https://example.com/pm.",
    );
  }
  return text;
}

function readMail({ smtp, mailFrom, url }: ServeOptions): AppOptions["mail"] {
  if (smtp === undefined) return undefined;
  if (mailFrom === undefined) throw new UsageError("--smtp needs --mail-from");
  if (url === undefined) throw new UsageError("--smtp needs --url: links in mails begin with it");
  const onChange = ({ failing, error }: MailChange) =>
    failing ? say("mail fails", { error }) : say("mail works again", {});
  return { smtp, from: mailFrom, onChange };
}

/** For commander a flag is set by its variable whatever the value, also by `PM_TRUST_PROXY=false`. */
function readTrustProxy(command: Command): boolean {
  const given = command.getOptionValueSource("trustProxy");
  if (given !== "env") return given === "cli";
  const value = process.env["PM_TRUST_PROXY"] as string;
  if (/^(1|true|yes|on)$/i.test(value)) return true;
  if (/^(0|false|no|off)$/i.test(value)) return false;
  throw new UsageError(`PM_TRUST_PROXY is '${value}', it must be true or false`);
}
