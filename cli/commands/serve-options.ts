import { type Command, InvalidArgumentError, Option } from "commander";
import type { AppOptions, MailChange, PageName } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption } from "../database.ts";
import { UsageError } from "../errors.ts";
import { say } from "../log.ts";
import { orOff, readAge, readDuration, readNumber } from "../readers.ts";
import { readSignIn } from "../sign-in.ts";
import { mailFromOption, smtpOption } from "./mail.ts";

/** A tier of GitLab. */
export type Tier = NonNullable<AppOptions["tier"]>;
/** The tiers of GitLab. */
export const TIERS = Object.keys({
  free: true,
  premium: true,
  ultimate: true,
} satisfies Record<Tier, true>);

const PAGES = Object.keys({
  sign_in: true,
  profile: true,
  personal_access_tokens: true,
  applications: true,
  active_sessions: true,
  password: true,
  two_factor: true,
  projects: true,
} satisfies Record<PageName, true>);

/** An hour; longer timeouts make no sense for a server. */
const LONGEST_TIMEOUT = 3_600_000;
const MANY = 999_999_999;

type OnOff = "on" | "off";

/** The options of `serve`. */
export interface ServeOptions extends DatabaseOptions {
  host: string;
  port: number;
  workers: number;
  metricsHost: string;
  metricsPort?: number;
  sshPort?: number;
  sshHost?: string;
  sshUrl?: string;
  url?: string;
  tier: Tier;
  gitlabVersion?: string;
  sites?: string | false;
  remoteIncludes: OnOff;
  ciTemplates?: string;
  trustProxy: boolean | number;
  pages?: false | PageName[];
  durability: "normal" | "full";
  eventRetention?: string | false;
  secretKeyFile?: string;
  smtp?: string;
  mailFrom?: string;
  impersonation: OnOff;
  implicitGrant: OnOff;
  passwordGrant: OnOff;
  signIn?: string;
  localWebhooks: OnOff;
  requestsPerMinute?: number;
  signInsPerAccount?: number | false;
  signInsPerAddress?: number | false;
  unknownTokens?: number | false;
  perPage?: number;
  maxPerPage?: number;
  countedTotal?: number;
  bodyBytes?: number;
  attachmentBytes?: number;
  maxConnections?: number;
  connectTimeout?: number;
  statementTimeout?: number;
  backupDir?: string;
  backupEvery: number;
  backupKeep: number;
}

/** Adds the options of `serve`; each is also a variable and a key of the settings file (docs/configuration.md). */
export function addServeOptions(command: Command): void {
  const add = (group: string, flags: string, about: string, set = (option: Option) => option) => {
    const option = new Option(flags, about).helpGroup(group);
    const variable = `PM_${option.name().replaceAll("-", "_").toUpperCase()}`;
    command.addOption(set(option.env(variable)));
  };
  const number =
    (minimum: number, maximum = MANY) =>
    (option: Option) =>
      option.argParser(readNumber(minimum, maximum));
  const numberOrOff = (option: Option) => option.argParser(orOff(readNumber(1, MANY)));
  const onOff = (option: Option) => option.choices(["on", "off"]).default("on");

  const serving = "Serving:";
  command.addOption(databaseOption().helpGroup(serving));
  add(serving, "--host <host>", "address to listen on", (one) => one.default("127.0.0.1"));
  add(serving, "--port <port>", "port to listen on, 0 for a free one", (one) =>
    number(0, 65_535)(one).default(3000),
  );
  add(serving, "--workers <number>", "processes to serve with, such as one for each core", (one) =>
    number(1, 256)(one).default(1),
  );
  add(
    serving,
    "--metrics-port <port>",
    "port that serves metrics to Prometheus, without a token (default: none)",
    number(0, 65_535),
  );
  add(serving, "--metrics-host <host>", "address of that port", (one) => one.default("127.0.0.1"));
  add(
    serving,
    "--ssh-port <port>",
    "port that serves Git over SSH, 0 for a free one (default: none)",
    number(0, 65_535),
  );
  add(serving, "--ssh-host <host>", "address of that port (default: that of --host)");
  add(
    serving,
    "--ssh-url <url>",
    "where clients find it, such as ssh://git.example.com (default: the host of --url, and that port)",
  );
  add(
    serving,
    "--url <url>",
    "public address of the server (default: each request's address)",
    (one) => one.argParser(readUrl),
  );
  add(
    serving,
    "--trust-proxy [proxies]",
    "how many proxies in front set X-Forwarded-For, -Proto and -Host (without a number: 1)",
    (one) => one.argParser(readProxies).default(0),
  );
  add(serving, "--tier <tier>", "GitLab tier whose features are enabled", (one) =>
    one.choices(TIERS).default("ultimate"),
  );
  add(
    serving,
    "--gitlab-version <version>",
    "version of GitLab that clients are told (default: 18.5.0)",
    (one) => one.argParser(readGitlabVersion),
  );
  add(
    serving,
    "--sites <url>",
    "domain below which the sites of projects have their hosts, or path, or off (default: off)",
    (one) => one.argParser(orOff(String)),
  );
  add(
    serving,
    "--remote-includes <on|off>",
    "whether CI/CD configurations may include files of other servers",
    (one) => one.choices(["on", "off"]).default("off"),
  );
  add(
    serving,
    "--ci-templates <folder>",
    "folder, or URL that ends with /, of the files that include:template names (default: the server's own)",
  );
  add(serving, "--pages <names>", "enabled pages, comma-separated, or off (default: all)", (one) =>
    one.argParser(orOff(readPages)),
  );

  const data = "Data:";
  add(data, "--durability <kind>", "SQLite: full also survives power loss", (one) =>
    one.choices(["normal", "full"]).default("normal"),
  );
  add(
    data,
    "--event-retention <age>",
    "how long events and the audit log are kept: a number and d, w, m or y, or off (default: 2y)",
    (one) => one.argParser(orOff(readAge)),
  );
  add(
    data,
    "--secret-key-file <file>",
    "the key that secrets are encrypted with (default: the database's name and .key)",
  );
  add(data, "--backup-dir <folder>", "SQLite: write regular backups to this folder");
  add(data, "--backup-every <duration>", "interval of backups: a number and m, h, d or w", (one) =>
    one.argParser(readDuration).default(86_400, "1d"),
  );
  add(data, "--backup-keep <number>", "how many backups to keep", (one) =>
    number(1, 100_000)(one).default(7),
  );

  const mail = "Mail:";
  command.addOption(smtpOption().helpGroup(mail));
  command.addOption(mailFromOption().helpGroup(mail));

  const access = "Access:";
  add(access, "--impersonation <on|off>", "whether impersonation tokens are accepted", onOff);
  add(access, "--implicit-grant <on|off>", "whether OAuth2's implicit flow can be used", onOff);
  add(access, "--password-grant <on|off>", "whether OAuth2's password flow can be used", onOff);
  add(
    access,
    "--sign-in <file>",
    "JSON file with the other providers by which people sign in, or its JSON (default: none)",
  );
  add(
    access,
    "--local-webhooks <on|off>",
    "whether webhooks may be on this machine and in its networks",
    (one) => one.choices(["on", "off"]).default("off"),
  );

  const limits = "Limits:";
  add(
    limits,
    "--requests-per-minute <number>",
    "limit for each user, and each address without a token (default: none)",
    number(1),
  );
  add(
    limits,
    "--sign-ins-per-account <number>",
    "wrong passwords for one account in ten minutes, or off (default: 10)",
    numberOrOff,
  );
  add(
    limits,
    "--sign-ins-per-address <number>",
    "wrong passwords from one address in ten minutes, or off (default: 100)",
    numberOrOff,
  );
  add(
    limits,
    "--unknown-tokens <number>",
    "unknown tokens from one address in ten minutes, or off (default: 100)",
    numberOrOff,
  );
  add(limits, "--per-page <number>", "items on a page (default: 20)", number(1, 10_000));
  add(
    limits,
    "--max-per-page <number>",
    "most items a client can ask for (default: 100)",
    number(1, 10_000),
  );
  add(
    limits,
    "--counted-total <number>",
    "larger collections leave out their totals (default: 10000)",
    number(1),
  );
  add(limits, "--body-bytes <number>", "the largest request body (default: 1048576)", number(1));
  add(
    limits,
    "--attachment-bytes <number>",
    "the largest uploaded file (default: 10485760)",
    number(1),
  );

  const postgres = "PostgreSQL:";
  add(
    postgres,
    "--max-connections <number>",
    "connections of this process (default: 10)",
    number(2, 1000),
  );
  add(
    postgres,
    "--connect-timeout <ms>",
    "how long to wait for a connection (default: 10000)",
    number(1, LONGEST_TIMEOUT),
  );
  add(
    postgres,
    "--statement-timeout <ms>",
    "how long a statement may take (default: 30000)",
    number(1, LONGEST_TIMEOUT),
  );
}

/** The options for `createApp`. @throws UsageError if options contradict each other */
export function appOptionsOf(options: ServeOptions): AppOptions & { database: string } {
  const { requestsPerMinute: limit, pages, eventRetention } = options;
  const { perPage, maxPerPage } = options;
  if (perPage !== undefined && perPage > (maxPerPage ?? 100)) {
    throw new UsageError(`--per-page can't be above --max-per-page (${maxPerPage ?? 100})`);
  }
  const { maxConnections, connectTimeout, statementTimeout } = options;
  const { countedTotal, bodyBytes, attachmentBytes } = options;
  const { signInsPerAccount, signInsPerAddress, unknownTokens } = options;
  return given({
    database: options.db,
    durability: options.durability,
    tier: options.tier,
    gitlabVersion: options.gitlabVersion,
    sites: options.sites,
    includes: given({ remote: options.remoteIncludes === "on", templates: options.ciTemplates }),
    impersonation: options.impersonation === "on",
    oauth: { implicit: options.implicitGrant === "on", password: options.passwordGrant === "on" },
    limits: given({
      requestsPerMinute: limit === undefined ? undefined : { user: limit, address: limit },
      signInsPerAccount,
      signInsPerAddress,
      unknownTokens,
      perPage,
      maxPerPage,
      countedTotal,
      bodyBytes,
      attachmentBytes,
    }),
    postgres: given({ maxConnections, connectTimeout, statementTimeout }),
    pages,
    eventRetention,
    secretKeyFile: options.secretKeyFile,
    url: options.url,
    ssh: readSsh(options),
    signIn: options.signIn === undefined ? undefined : readSignIn(options.signIn),
    mail: readMail(options),
    webhooks: { allowLocalRequests: options.localWebhooks === "on" },
  });
}

/** An object's properties that are not `undefined`. */
function given<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** The number of proxies; the variable and the settings file also have it as a switch. */
function readProxies(text: string): number {
  if (/^(true|yes|on)$/i.test(text)) return 1;
  if (/^(false|no|off)$/i.test(text)) return 0;
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be true, false or the number of proxies.");
}

function readPages(text: string): PageName[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !PAGES.includes(name));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`'${wrong}' is not a page, choose from ${PAGES.join(", ")}.`);
  }
  return names as PageName[];
}

export function readGitlabVersion(text: string): string {
  if (/^\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(text)) return text;
  throw new InvalidArgumentError(
    "It must be three numbers, such as 18.5.0: the tier says whether -ee follows.",
  );
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

function readSsh({ sshPort: port, sshHost, sshUrl, host }: ServeOptions): AppOptions["ssh"] {
  if (port !== undefined) return { port, host: sshHost ?? host, ...(sshUrl && { url: sshUrl }) };
  if (sshHost ?? sshUrl) {
    throw new UsageError(`${sshHost ? "--ssh-host" : "--ssh-url"} needs --ssh-port`);
  }
  return undefined;
}

function readMail({ smtp, mailFrom, url }: ServeOptions): AppOptions["mail"] {
  if (smtp === undefined) return undefined;
  if (mailFrom === undefined) throw new UsageError("--smtp needs --mail-from");
  if (url === undefined) throw new UsageError("--smtp needs --url: links in mails begin with it");
  const onChange = ({ failing, error }: MailChange) =>
    failing ? say("mail fails", { error }) : say("mail works again", {});
  return { smtp, from: mailFrom, onChange };
}
