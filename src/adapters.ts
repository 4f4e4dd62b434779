// What the adapters for Node, Bun and Deno share.
import * as v from "valibot";
import type { App } from "./app.ts";
import type { RequestOptions } from "./core/http/fetch.ts";
import {
  durationOption,
  OptionError,
  type OptionSchemas,
  optionsOf,
  readOptions,
  textOption,
  wholeOption,
} from "./core/options.ts";

/** Where to listen, and how requests are read. */
export interface ListenOptions extends RequestOptions {
  /** Default `"127.0.0.1"`. */
  host?: string;
  /** Default 3000; 0 picks a free one. */
  port?: number;
  /** How long `close()` waits for running requests before it cuts their connections, in ms. Default 10,000. */
  grace?: number;
}

/** A listening server. */
export interface Server {
  /** Where it listens: `http://127.0.0.1:3000`. */
  readonly url: string;
  /** Stops accepting connections, and resolves when the running requests are answered or `grace` has passed. */
  close(): Promise<void>;
}

/** The schemas of {@link RequestOptions}. */
export const requestOptions = {
  trustProxy: v.optional(
    v.union([v.boolean(), wholeOption(0)], "must be true, false or the number of proxies"),
  ),
} satisfies OptionSchemas<RequestOptions>;

/** The schemas of {@link ListenOptions}. */
export const serveOptions = {
  ...requestOptions,
  host: v.optional(textOption),
  port: v.optional(wholeOption(0, 65_535)),
  grace: v.optional(durationOption),
} satisfies OptionSchemas<ListenOptions>;

const REQUEST = optionsOf(requestOptions);
const SERVE = optionsOf(serveOptions);

/**
 * Checks the arguments of an adapter's function.
 *
 * @param where the function that was called
 * @param schema of its options
 * @throws OptionError if there is no application, or an option is wrong
 */
export function checkAdapter(
  where: string,
  schema: v.GenericSchema,
  given: Pick<App, "respond"> | PromiseLike<unknown>,
  options: object = {},
): void {
  if (typeof given === "object" && given !== null && "then" in given) {
    throw new OptionError(where, "app", "is a promise: pass the result of `await createApp()`");
  }
  if (typeof given?.respond !== "function") {
    throw new OptionError(where, "app", "must be the result of `await createApp()`");
  }
  readOptions(where, schema, options);
}

/** {@link checkAdapter} for `createHandler` on Bun and Deno. */
export function checkHandler(given: Pick<App, "respond">, options?: RequestOptions): void {
  checkAdapter("createHandler", REQUEST, given, options);
}

/** {@link checkAdapter} for `serve` on Bun and Deno. */
export function checkServe(given: Pick<App, "respond">, options?: ListenOptions): void {
  checkAdapter("serve", SERVE, given, options);
}
