import type { ServerResponse } from "node:http";
import * as v from "valibot";
import { checkAdapter, requestOptions } from "../adapters.ts";
import type { App } from "../app.ts";
import type { RequestOptions } from "../core/http/fetch.ts";
import { type OptionSchemas, optionsOf, wholeOption } from "../core/options.ts";
import { type HostRequest, incomingOf, waiting } from "./incoming.ts";
import { send } from "./send.ts";

/** How requests are read and answered. */
export interface MiddlewareOptions extends RequestOptions {
  /**
   * After how many milliseconds a connection is closed if its client sends nothing of an expected body, or reads
   * nothing of its answer. Default 30,000.
   */
  stallTimeout?: number;
}

/** Default of `stallTimeout`, in milliseconds. */
export const STALL_TIMEOUT = 30_000;

/** The schemas of {@link MiddlewareOptions}. */
export const middlewareOptions = {
  ...requestOptions,
  stallTimeout: v.optional(wholeOption(1)),
} satisfies OptionSchemas<MiddlewareOptions>;
const MIDDLEWARE = optionsOf(middlewareOptions);

/** A middleware for Express, Connect, Fastify (with `@fastify/middie`) and, without `next`, plain `node:http`. */
export type Middleware = (
  req: HostRequest,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * Creates a middleware from an application. It can be mounted under any prefix. Paths outside the API go to `next()`,
 * or are answered with 404 if there is none. Browsers that request the mount itself are redirected to the account
 * page. Body parsers may run before it.
 *
 * @example
 * express().use("/pm", createMiddleware(await createApp({ database: "pm.db" })));
 *
 * @throws OptionError if `app` is not an application (such as a promise of one), or an option is wrong
 */
export function createMiddleware(
  app: Pick<App, "respond">,
  options: MiddlewareOptions = {},
): Middleware {
  checkAdapter("createMiddleware", MIDDLEWARE, app, options);
  return middlewareOf(app, options);
}

/** A middleware whose options are checked. @param ownsRoot whether its `/` redirects to the account page */
export function middlewareOf(
  app: Pick<App, "respond">,
  { trustProxy = false, stallTimeout = STALL_TIMEOUT }: MiddlewareOptions,
  ownsRoot = false,
): Middleware {
  return async (req, res, next) => {
    const cutStalled = () => closeWhenStalled(req, res, stallTimeout);
    const beforeBody = () => {
      cutStalled();
      if (waiting.delete(req)) res.writeContinue();
    };
    try {
      const isLast = next === undefined;
      const reply = await app.respond(
        incomingOf(req, res, { trustProxy, ownsRoot, isLast }, beforeBody),
      );
      if (reply) {
        send(reply, req, res, cutStalled);
        return;
      }
    } catch (error) {
      if (next) return next(error);
      res.destroy(error instanceof Error ? error : undefined);
      return;
    }
    if (next) next();
    else send({ status: 404, headers: {}, body: null }, req, res, cutStalled);
  };
}

const watched = new WeakSet<ServerResponse>();

/** Closes the connection after a time without traffic, unless it is the server's turn to send. */
function closeWhenStalled(req: HostRequest, res: ServerResponse, milliseconds: number): void {
  res.setTimeout(milliseconds);
  if (watched.has(res)) return;
  watched.add(res);
  res.on("timeout", () => {
    if (res.writableLength > 0 || !req.complete) res.destroy();
  });
}
