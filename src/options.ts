import * as v from "valibot";
import { isAge } from "./admin/retention.ts";
import type { Swept } from "./background.ts";
import type { LogEntry } from "./core/http/access-log.ts";
import type { Authenticate } from "./core/http/authenticator.ts";
import type { HostRequest } from "./core/http/incoming.ts";
import {
  flagOption,
  functionOption,
  NOT_TEXT,
  OptionError,
  type OptionSchemas,
  optionsOf,
  readOptions,
  textOption,
  wholeOption,
  wholeOrFalseOption,
  wordOption,
} from "./core/options.ts";
import type { PageLimits } from "./core/pagination.ts";
import type { SignInLimits } from "./core/rate-limits.ts";
import { TIERS, type Tier } from "./core/resource.ts";
import type { MailOptions } from "./notifications/mailer.ts";
import type { IncludeOptions } from "./outgoing/includes.ts";
import { type SignInOptions, signInOption } from "./providers/options.ts";
import type { PostgresOptions } from "./store/drivers/postgres/open.ts";
import { problemOfName } from "./store/open.ts";
import type { SiteOptions } from "./web/index.ts";

/** The options of an application; all are optional (docs/configuration.md). */
export interface AppOptions extends SiteOptions {
  /** A SQLite file, created if missing, a `postgres://` URL, or `":memory:"` (default). */
  database?: string;
  /** SQLite only: `"full"` also survives power loss, at the cost of one fsync per write. Default `"normal"`. */
  durability?: "normal" | "full";
  /** PostgreSQL only: connections and timeouts. */
  postgres?: PostgresOptions;
  /**
   * The public address of the API's mount, such as `https://pm.example.com/prefix`; links begin with it. Default: the
   * address of each request.
   */
  url?: string;
  /**
   * The key that encrypts the secrets of two-factor sign-in: 32 bytes in Base64 or hexadecimal. Older keys may follow,
   * separated by commas. Default: `secretKeyFile`.
   */
  secretKey?: string;
  /**
   * A file of such keys, one per line; on SQLite it is created with the first secret. Default: the SQLite file's name
   * plus `.key`; none for PostgreSQL.
   */
  secretKeyFile?: string;
  /** The GitLab tier whose features are enabled: `"free"`, `"premium"` or `"ultimate"` (default). */
  tier?: Tier;
  /**
   * The version of GitLab that clients are told, such as `"18.5.0"` (default): many choose by it what they send
   * (docs/compatibility.md).
   */
  gitlabVersion?: string;
  /**
   * Where the sites are served that CI jobs publish: the URL of a domain of their own, such as `https://pages.example.com`,
   * below which each group and site has a host; or `"path"`: below the server's own address, where browsers treat them as
   * strangers (docs/sites.md). Default `false`: nowhere, as by a GitLab without Pages.
   */
  sites?: string | false;
  /** Whether impersonation tokens are accepted. Default true. */
  impersonation?: boolean;
  /** Optional flows of the OAuth2 provider; both are enabled by default. */
  oauth?: {
    /** The implicit grant, which issues tokens to pages in a browser. */
    implicit?: boolean;
    /** The password grant, for applications that users trust with their password. */
    password?: boolean;
  };
  /**
   * The embedding app's own sign-in, which replaces ours. It gets the app's request (with `createMiddleware`, Express's
   * or Node's `req`; with `fetch` or `handler`, the Fetch API's `Request`) and returns the user name or id here of the
   * signed-in user, or `undefined` for none. It is called for requests without a token (docs/pages.md).
   */
  authenticate?(request: HostRequest): ReturnType<Authenticate>;
  /**
   * How long events and the audit log are kept: a number and `d`, `w`, `m` or `y`; `false` keeps them forever. Older
   * ones are removed once a day (`background`), and by `admin.maintenance.purgeEvents()`. Default `"2y"`.
   */
  eventRetention?: string | false;
  /**
   * Whether the application cleans up its database by itself: once a day, one of the processes that share it removes
   * events past their retention and expired memberships. With `false`, call `admin.maintenance.sweepDaily()`. Default true.
   */
  background?: boolean;
  /** Called with what the daily sweep removed. */
  onSwept?: (swept: Swept) => void;
  /** The clock, in epoch milliseconds. Default `Date.now`. */
  now?: () => number;
  /** Serves Git over SSH, too (docs/git.md). Default: it is served over HTTP alone. */
  ssh?: SshOptions;
  /** Other providers of identities, by which people sign in (docs/sign-in.md). Default: passwords of this server alone. */
  signIn?: SignInOptions;
  /** Sends notifications by mail. Requires `url`, with which their links begin. Default: none are sent. */
  mail?: MailOptions;
  /** Which files CI/CD configurations may include that are in no project (docs/ci.md). */
  includes?: IncludeOptions;
  /** How webhooks are called (docs/webhooks.md). */
  webhooks?: WebhookOptions;
  limits?: Partial<PageLimits & SignInLimits> & {
    /** Maximum size of a request body, in bytes. Default 1 MiB. */
    bodyBytes?: number;
    /** Maximum size of an uploaded file, in bytes. Default 10 MiB. */
    attachmentBytes?: number;
    /** Unknown tokens accepted from one address within ten minutes; `false` for no limit. Default 100. */
    unknownTokens?: number | false;
    /** Requests of one address that may wait while others of it run; more get 503. `false` for no limit. Default 1000. */
    waitingRequests?: number | false;
    /** Requests per minute of one user, and of one address without a token. Default: no limit. */
    requestsPerMinute?: { user?: number; address?: number };
  };
  /** Called with each request and its answer, without secrets. */
  log?: (entry: LogEntry) => void;
  /**
   * Called with every failure that is answered with 500. During an outage of the database, whose requests are answered
   * with 503, it is called only at the first failure and at the end. Default: `console.error`.
   */
  onError?: (error: unknown) => void;
}

/** Options for Git over SSH. */
export interface SshOptions {
  /** The port to listen on; 0 for a free one. */
  port: number;
  /** The address to listen on. Default `"127.0.0.1"`. */
  host?: string;
  /**
   * Where clients find it, such as `ssh://git.example.com`, if that is elsewhere: behind a proxy, or in a container. Default:
   * the host of `url`, and the port it listens on.
   */
  url?: string;
  /** Within how many milliseconds clients must sign in, and then begin a command. Default 60000. */
  signInTimeout?: number;
  /** The module `ssh2`, in a program that is bundled into one file. Default: it is loaded from `node_modules`. */
  module?: object;
}

/** Options for webhooks. */
export interface WebhookOptions {
  /** Whether webhooks and mirrors may be on this machine and in its networks, which others can't reach. Default false. */
  allowLocalRequests?: boolean;
  /** Whether this process calls webhooks and pushes to mirrors. Default: as `background`. */
  deliver?: boolean;
  /** How often the outbox is checked for calls, in milliseconds. Default 1000. */
  interval?: number;
}

const count = v.optional(wholeOption(0));
const atLeastOne = v.optional(wholeOption(1));
const countOrFalse = v.optional(wholeOrFalseOption(0));

const isUrl = (given: unknown, protocol: RegExp) =>
  typeof given === "string" && URL.canParse(given) && protocol.test(new URL(given).protocol);
/** The address that links begin with. */
const publicUrl = v.pipe(
  v.custom<string>(
    (given) => isUrl(given, /^https?:$/),
    "must be a complete URL, such as https://pm.example.com or https://example.com/pm",
  ),
  v.check((given) => !/[?#]/.test(given), "must be without a query or fragment"),
);

/** Whether a URL has a host, and nothing below it. */
const isOrigin = (given: string) => /^https?:\/\/[\w.-]+(?::\d+)?\/?$/i.test(given);
/** Whether a URL is that of an SSH server, of which all sign in as `git`. */
const isSshUrl = (given: string) =>
  /^ssh:\/\/(git@)?([\w.-]+|\[[\d.a-f:]+\])(:\d{1,5})?\/?$/i.test(given) && URL.canParse(given);

/** The schemas of the limits in {@link AppOptions}. */
export const limitOptions = {
  perPage: atLeastOne,
  maxPerPage: atLeastOne,
  countedTotal: count,
  signInsPerAccount: countOrFalse,
  signInsPerAddress: countOrFalse,
  unknownTokens: countOrFalse,
  waitingRequests: countOrFalse,
  bodyBytes: count,
  attachmentBytes: count,
  requestsPerMinute: v.optional(optionsOf({ user: atLeastOne, address: atLeastOne })),
} satisfies OptionSchemas<NonNullable<AppOptions["limits"]>>;

const mail = {
  smtp: v.custom<string>(
    (given) => isUrl(given, /^smtps?:$/),
    "must be an SMTP server as a URL, such as smtp://user:password@mail.example.com:587",
  ),
  from: textOption,
  interval: atLeastOne,
  onChange: v.optional(functionOption),
} satisfies OptionSchemas<MailOptions>;

/** The schemas of {@link AppOptions}. */
export const appOptions = {
  database: v.optional(
    v.pipe(
      v.string(NOT_TEXT),
      v.rawCheck(({ dataset, addIssue }) => {
        const problem = dataset.typed ? problemOfName(dataset.value) : undefined;
        if (problem !== undefined) addIssue({ message: problem });
      }),
    ),
  ),
  durability: v.optional(wordOption(["normal", "full"])),
  postgres: v.optional(
    optionsOf({
      maxConnections: v.optional(wholeOption(1)),
      connectTimeout: atLeastOne,
      statementTimeout: atLeastOne,
    } satisfies OptionSchemas<NonNullable<AppOptions["postgres"]>>),
  ),
  url: v.optional(publicUrl),
  tier: v.optional(wordOption(TIERS)),
  gitlabVersion: v.optional(
    v.custom<string>(
      (given) => typeof given === "string" && /^\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(given),
      'must be three numbers, such as "18.5.0": the tier says whether "-ee" follows',
    ),
  ),
  sites: v.optional(
    v.custom<string | false>(
      (given) =>
        given === false ||
        given === "path" ||
        (isUrl(given, /^https?:$/) && isOrigin(given as string)),
      'must be "path", false, or the URL of a domain without a path, such as https://pages.example.com',
    ),
  ),
  impersonation: flagOption,
  oauth: v.optional(optionsOf({ implicit: flagOption, password: flagOption })),
  authenticate: v.optional(functionOption),
  eventRetention: v.optional(
    v.custom<string | false>(
      (given) => given === false || isAge(given),
      'must be a number and d, w, m or y, such as "2y", or false',
    ),
  ),
  now: v.optional(functionOption),
  background: flagOption,
  onSwept: v.optional(functionOption),
  secretKey: v.optional(textOption),
  secretKeyFile: v.optional(textOption),
  ssh: v.optional(
    optionsOf({
      port: v.pipe(
        wholeOption(0),
        v.check((given) => given <= 65_535, "must be a port, at most 65535"),
      ),
      host: v.optional(textOption),
      url: v.optional(
        v.custom<string>(
          (given) => typeof given === "string" && isSshUrl(given),
          "must be a URL without a path, such as ssh://git.example.com:2222",
        ),
      ),
      signInTimeout: atLeastOne,
      module: v.optional(
        v.custom<object>((given) => typeof given === "object", "must be a module"),
      ),
    } satisfies OptionSchemas<SshOptions>),
  ),
  signIn: v.optional(signInOption),
  mail: v.optional(optionsOf(mail)),
  webhooks: v.optional(
    optionsOf({
      allowLocalRequests: flagOption,
      deliver: flagOption,
      interval: atLeastOne,
    } satisfies OptionSchemas<WebhookOptions>),
  ),
  includes: v.optional(
    optionsOf({
      remote: flagOption,
      templates: v.optional(
        v.union(
          [v.string(), v.record(v.string(), v.string())],
          "must be a folder, a URL that ends with /, or texts by name",
        ),
      ),
    } satisfies OptionSchemas<IncludeOptions>),
  ),
  limits: v.optional(optionsOf(limitOptions)),
  log: v.optional(functionOption),
  onError: v.optional(functionOption),
  // The valid names depend on who handles sign-in; `siteOf` checks them.
  pages: v.optional(v.any()),
  signInUrl: v.optional(textOption),
} satisfies OptionSchemas<AppOptions>;

const APP = optionsOf(appOptions);

/** Whether the host of the server is that of sites, or one below it. */
function isWithin(url: string, sites: string): boolean {
  if (sites === "path") return false;
  const [own, theirs] = [url, sites].map((one) => new URL(one).hostname) as [string, string];
  return own === theirs || own.endsWith(`.${theirs}`);
}

/**
 * Checks the options of `createApp`.
 *
 * @throws OptionError naming the one that is wrong
 */
export function checkAppOptions(options: AppOptions): void {
  readOptions("createApp", APP, options);
  if (options.mail && options.url === undefined) {
    throw new OptionError("createApp", "url", "is missing: links in mails begin with it");
  }
  if (options.sites && options.url && isWithin(options.url, options.sites)) {
    const reason = "must be another domain than that of url, which it would share its cookies with";
    throw new OptionError("createApp", "sites", reason);
  }
}
