/*! Contains @hattip/adapter-deno, (c) 2022 Fatih Aygün, under the MIT licence. */
import { lookup } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createServeHandler } from "@hattip/adapter-deno";
import { checkHandler, checkServe, type ListenOptions, type Server } from "./adapters.ts";
import type { App } from "./app.ts";
import { createHattipHandler, type RequestOptions } from "./core/http/fetch.ts";
import { alone } from "./core/http/incoming.ts";

export type { ListenOptions as ServeOptions, Server } from "./adapters.ts";
export type { RequestOptions } from "./core/http/fetch.ts";

/** The part of `Deno.serve`'s request info that a handler needs. */
export interface DenoServeInfo {
  remoteAddr: { transport: "tcp" | "udp" | "unix" | "unixpacket"; hostname?: string };
}

/** The part that {@link serve} needs. */
interface DenoRequestInfo extends DenoServeInfo {
  /** Resolves when the answer is sent, and rejects if it can't be. */
  completed: Promise<void>;
}

/** A handler for `Deno.serve`. */
export type DenoHandler = (request: Request, info: DenoServeInfo) => Promise<Response>;

/**
 * Creates a handler for `Deno.serve` from an application. Paths outside the API are answered with 404.
 *
 * @example
 * Deno.serve(createHandler(await createApp({ database: "pm.db" })));
 *
 * @throws OptionError if `app` is not an application (such as a promise of one), or an option is wrong
 */
export function createHandler(app: Pick<App, "respond">, options?: RequestOptions): DenoHandler {
  checkHandler(app, options);
  return handlerOf(app, options);
}

function handlerOf(app: Pick<App, "respond">, options?: RequestOptions): DenoHandler {
  return createServeHandler(createHattipHandler(app.respond, options)) as DenoHandler;
}

/** The part of Deno's global that is used here. */
interface DenoGlobal {
  serve(
    options: { hostname: string; port: number; signal: AbortSignal; onListen: () => void },
    handler: (request: Request, info: DenoRequestInfo) => Response | Promise<Response>,
  ): {
    readonly addr: { port: number };
    readonly finished: Promise<void>;
    shutdown(): Promise<void>;
  };
}

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
  const { Deno } = globalThis as unknown as { Deno: DenoGlobal };
  // Deno's own error for an unknown host has no code.
  const { address } = await lookup(host);
  const handler = handlerOf(alone(app), options);
  const running = new Set<Promise<void>>();
  const cut = new AbortController();
  let closing = false;
  const server = Deno.serve(
    // By default Deno prints where it listens.
    { hostname: address, port, signal: cut.signal, onListen: () => undefined },
    (request, info) => {
      if (closing) return notAnyMore();
      const sent: Promise<void> = info.completed
        .catch(() => undefined)
        .finally(() => running.delete(sent));
      running.add(sent);
      return handler(request, info);
    },
  );
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${server.addr.port}`,
    async close() {
      closing = true;
      const enough = new AbortController();
      const late = sleep(grace, "late", { signal: enough.signal }).catch(() => undefined);
      // Deno's shutdown breaks off request bodies that are still being read, and can't be told to cut stalled clients.
      if ((await Promise.race([Promise.all(running), late])) === "late") {
        cut.abort();
        await server.finished;
      } else await Promise.race([server.shutdown(), late]);
      enough.abort();
    },
  };
}

function notAnyMore(): Response {
  const headers = { connection: "close", "retry-after": "1" };
  return Response.json({ message: "503 Service Unavailable" }, { status: 503, headers });
}
