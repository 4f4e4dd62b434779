import * as v from "valibot";
import { isAge } from "./admin/retention.ts";
import type { App, AppOptions } from "./app.ts";
import type { RequestOptions } from "./core/http/fetch.ts";
import { functionOption, OptionError, optionsOf, readOptions } from "./core/options.ts";
import { TIERS } from "./core/resource.ts";
import type { MiddlewareOptions, ServeOptions } from "./node.ts";
import type { MailOptions } from "./notifications/mailer.ts";
import { problemOfName } from "./store/open.ts";
import type { Fault, RateLimit, TestServerOptions } from "./testing/index.ts";

/** A schema for every option of `T`; a missing one is a compiler error. */
type SchemasOf<T> = Record<keyof T, v.GenericSchema>;

const TEXT = "must be a text";
const flag = v.optional(v.boolean("must be true or false"));
const text = v.pipe(v.string(TEXT), v.nonEmpty("can't be empty"));
const oneOf = <const W extends readonly string[]>(words: W) =>
  v.picklist(words, `must be ${words.map((word) => `"${word}"`).join(" or ")}`);
const whole = (least: number, most = Number.MAX_SAFE_INTEGER) => {
  const range =
    most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  const problem = `must be a whole number ${range}`;
  return v.pipe(
    v.number(problem),
    v.integer(problem),
    v.minValue(least, problem),
    v.maxValue(most, problem),
  );
};
const count = v.optional(whole(0));
const atLeastOne = v.optional(whole(1));
const countOrFalse = v.optional(
  v.union([v.literal(false), whole(0)], "must be a whole number of at least 0, or false"),
);

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

const limits = {
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
} satisfies SchemasOf<NonNullable<AppOptions["limits"]>>;

const mail = {
  smtp: v.custom<string>(
    (given) => isUrl(given, /^smtps?:$/),
    "must be an SMTP server as a URL, such as smtp://user:password@mail.example.com:587",
  ),
  from: text,
  interval: atLeastOne,
  onChange: v.optional(functionOption),
} satisfies SchemasOf<MailOptions>;

const app = {
  database: v.optional(
    v.pipe(
      v.string(TEXT),
      v.rawCheck(({ dataset, addIssue }) => {
        const problem = dataset.typed ? problemOfName(dataset.value) : undefined;
        if (problem !== undefined) addIssue({ message: problem });
      }),
    ),
  ),
  durability: v.optional(oneOf(["normal", "full"])),
  postgres: v.optional(
    optionsOf({
      maxConnections: v.optional(whole(1)),
      connectTimeout: atLeastOne,
      statementTimeout: atLeastOne,
    } satisfies SchemasOf<NonNullable<AppOptions["postgres"]>>),
  ),
  url: v.optional(publicUrl),
  tier: v.optional(oneOf(TIERS)),
  impersonation: flag,
  oauth: v.optional(optionsOf({ implicit: flag, password: flag })),
  authenticate: v.optional(functionOption),
  eventRetention: v.optional(
    v.custom<string | false>(
      (given) => given === false || isAge(given),
      'must be a number and d, w, m or y, such as "2y", or false',
    ),
  ),
  now: v.optional(functionOption),
  background: flag,
  onSwept: v.optional(functionOption),
  secretKey: v.optional(text),
  secretKeyFile: v.optional(text),
  mail: v.optional(optionsOf(mail)),
  limits: v.optional(optionsOf(limits)),
  log: v.optional(functionOption),
  onError: v.optional(functionOption),
  // The valid names depend on who handles sign-in; `siteOf` checks them.
  pages: v.optional(v.any()),
  signInUrl: v.optional(text),
} satisfies SchemasOf<AppOptions>;

const APP = optionsOf(app);

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
}

const request = { trustProxy: flag } satisfies SchemasOf<RequestOptions>;
const REQUEST = optionsOf(request);
const server = {
  ...request,
  host: v.optional(text),
  port: v.optional(whole(0, 65_535)),
  grace: v.optional(v.pipe(v.number("must be a number"), v.minValue(0, "must be at least 0"))),
};
const SERVE = optionsOf(server);
const middleware = {
  ...request,
  stallTimeout: atLeastOne,
} satisfies SchemasOf<MiddlewareOptions>;
const MIDDLEWARE = optionsOf(middleware);
const NODE_SERVE = optionsOf({
  ...server,
  ...middleware,
  connectionsPerAddress: v.optional(
    v.union([v.literal(false), whole(1)], "must be a whole number of at least 1, or false"),
  ),
} satisfies SchemasOf<ServeOptions>);

/**
 * Checks the arguments of a function that creates a fetch handler.
 *
 * @param where the function that was called
 * @throws OptionError if there is no application, or an option is wrong
 */
export function checkHandler(
  where: string,
  given: Pick<App, "respond">,
  options: RequestOptions = {},
): void {
  requireApp(where, given);
  readOptions(where, REQUEST, options);
}

/** {@link checkHandler} for `serve` on Bun and Deno. @throws OptionError as it does */
export function checkServe(where: string, given: Pick<App, "respond">, options: object = {}): void {
  requireApp(where, given);
  readOptions(where, SERVE, options);
}

/** {@link checkHandler} for middleware on Node. @throws OptionError as it does */
export function checkMiddleware(
  where: string,
  given: Pick<App, "respond">,
  options: MiddlewareOptions = {},
): void {
  requireApp(where, given);
  readOptions(where, MIDDLEWARE, options);
}

/** {@link checkHandler} for servers on Node. @throws OptionError as it does */
export function checkNodeServe(
  where: string,
  given: Pick<App, "respond">,
  options: ServeOptions = {},
): void {
  requireApp(where, given);
  readOptions(where, NODE_SERVE, options);
}

function requireApp(where: string, given: Pick<App, "respond"> | PromiseLike<unknown>): void {
  if (typeof given === "object" && given !== null && "then" in given) {
    throw new OptionError(where, "app", "is a promise: pass the result of `await createApp()`");
  }
  if (typeof given?.respond !== "function") {
    throw new OptionError(where, "app", "must be the result of `await createApp()`");
  }
}

const milliseconds = v.pipe(v.number("must be a number"), v.minValue(0, "must be at least 0"));
const FAULT = optionsOf({
  method: v.optional(text),
  path: v.optional(v.union([v.string(), v.instance(RegExp)], "must be a text or a RegExp")),
  after: count,
  times: v.optional(
    v.union([whole(0), v.literal(Number.POSITIVE_INFINITY)], "must be a whole number or Infinity"),
  ),
  // 1xx are interim responses, which don't end the request (RFC 9110 §15.2).
  status: v.optional(whole(200, 599)),
  body: v.optional(v.any()),
  headers: v.optional(v.record(v.string(), v.string(TEXT), "must be an object of texts")),
  delay: v.optional(milliseconds),
  disconnect: flag,
} satisfies SchemasOf<Fault>);
const TEST_SERVER = optionsOf({
  seed: v.optional(v.any()),
  now: v.optional(v.any()),
  tier: app.tier,
  limits: app.limits,
  rateLimit: v.optional(
    optionsOf({
      requests: whole(0),
      retryAfter: v.optional(milliseconds),
    } satisfies SchemasOf<RateLimit>),
  ),
  faults: v.optional(v.array(FAULT, "must be a list of faults")),
} satisfies SchemasOf<TestServerOptions>);

/** Checks the options of `startTestServer`. @throws OptionError naming the one that is wrong */
export function checkTestServerOptions(options: TestServerOptions): void {
  readOptions("startTestServer", TEST_SERVER, options);
}

/** Checks a fault. @throws OptionError naming what is wrong with it */
export function checkFault(fault: Fault): void {
  readOptions("faults.add", FAULT, fault);
}
