/*! Contains @hattip/adapter-bun, (c) 2022 Fatih Aygün, under the MIT licence. */
import { lookup } from "node:dns/promises";
import adapter from "@hattip/adapter-bun";
import { checkHandler, checkServe, type ListenOptions, type Server } from "./adapters.ts";
import type { App } from "./app.ts";
import { createHattipHandler, type RequestOptions } from "./core/http/fetch.ts";
import { alone } from "./core/http/incoming.ts";

export type { ListenOptions as ServeOptions, Server } from "./adapters.ts";
export type { RequestOptions } from "./core/http/fetch.ts";

/** The part of Bun's server that a handler needs. */
export interface BunServer {
  requestIP(request: Request): { address: string } | null;
}

/** A handler for `Bun.serve`, as its `fetch` or one of its `routes`. */
export type BunHandler = (request: Request, server: BunServer) => Promise<Response>;

/**
 * Creates a handler for `Bun.serve` from an application. Paths outside the API are answered with 404.
 *
 * By default Bun drops a request after 10 seconds without a byte, and refuses bodies over 128 MiB. If answers may take
 * longer or attachments be larger, raise `idleTimeout` and `maxRequestBodySize`, as {@link serve} does.
 *
 * @example
 * Bun.serve({ fetch: createHandler(await createApp({ database: "pm.db" })) });
 *
 * @throws OptionError if `app` is not an application (such as a promise of one), or an option is wrong
 */
export function createHandler(app: Pick<App, "respond">, options?: RequestOptions): BunHandler {
  checkHandler(app, options);
  return adapted(app, options).fetch as unknown as BunHandler;
}

const adapted = (app: Pick<App, "respond">, options?: RequestOptions) =>
  adapter(createHattipHandler(app.respond, options));

/** The part of Bun's global that is used here. */
interface BunGlobal {
  serve(options: object): {
    readonly port: number;
    readonly pendingRequests: number;
    stop(closeActiveConnections?: boolean): Promise<void>;
  };
}

/** How long a connection may be idle, in seconds. */
const IDLE = 120;
/** How often a closing server checks whether all requests are answered, in milliseconds. */
const SWEEP = 20;

/**
 * Serves an application over HTTP. Its `/` redirects to the account page.
 *
 * @throws OptionError if `app` is not an application, or an option is wrong
 * @throws the system's error if the address can't be listened on (`EADDRINUSE`, `EACCES`, `ENOTFOUND`)
 */
export async function serve(
  app: Pick<App, "respond">,
  options: ListenOptions = {},
): Promise<Server> {
  checkServe(app, options);
  const { host = "127.0.0.1", port = 3000, grace = 10_000 } = options;
  const { Bun } = globalThis as unknown as { Bun: BunGlobal };
  // Bun's own error for an unknown host has no code.
  const { address } = await lookup(host);
  const server = Bun.serve({
    ...adapted(alone(app), options),
    hostname: address,
    port,
    idleTimeout: IDLE,
    // The application has limits of its own.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
  });
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${server.port}`,
    async close() {
      void server.stop();
      const end = performance.now() + grace;
      while (server.pendingRequests > 0 && performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, SWEEP));
      }
      await server.stop(true);
    },
  };
}
