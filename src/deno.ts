/*! Contains @hattip/adapter-deno, (c) 2022 Fatih Aygün, under the MIT licence. */
import { lookup } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createServeHandler } from "@hattip/adapter-deno";
import type { App } from "./app.ts";
import { alone } from "./core/incoming.ts";
import { createHattipHandler, type RequestOptions } from "./fetch.ts";
import type { ServeOptions, Server } from "./node.ts";

export type { RequestOptions } from "./fetch.ts";
export type { ServeOptions, Server } from "./node.ts";

/** Of what `Deno.serve` tells a handler, what it needs. */
export interface DenoServeInfo {
  remoteAddr: { transport: "tcp" | "udp" | "unix" | "unixpacket"; hostname?: string };
}

/** What `Deno.serve` takes. */
export type DenoHandler = (request: Request, info: DenoServeInfo) => Promise<Response>;

/**
 * Makes a handler for `Deno.serve` of an application. Paths outside the API are answered with 404.
 *
 * @example
 * Deno.serve(createHandler(await createApp({ database: "pm.db" })));
 */
export function createHandler(app: Pick<App, "respond">, options?: RequestOptions): DenoHandler {
  return createServeHandler(createHattipHandler(app.respond, options)) as DenoHandler;
}

/** Of Deno, what is used of it. */
interface DenoGlobal {
  serve(
    options: { hostname: string; port: number; onListen: () => void },
    handler: DenoHandler,
  ): {
    readonly addr: { port: number };
    shutdown(): Promise<void>;
  };
}

/**
 * Serves an application over HTTP. Its `/` leads to the account page.
 *
 * @throws the system's error where the address can't be listened on (`EADDRINUSE`, `EACCES`, `ENOTFOUND`)
 */
export async function serve(
  app: Pick<App, "respond">,
  options: ServeOptions = {},
): Promise<Server> {
  const { host = "127.0.0.1", port = 3000, grace = 10_000 } = options;
  const { Deno } = globalThis as unknown as { Deno: DenoGlobal };
  // For an unknown host Deno's own error has no code that says so.
  const { address } = await lookup(host);
  const server = Deno.serve(
    // It would print where it listens.
    { hostname: address, port, onListen: () => undefined },
    createHandler(alone(app), options),
  );
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${server.addr.port}`,
    async close() {
      const enough = new AbortController();
      // Deno cuts nobody off once it shuts down: who stalls longer is left to the end of the process.
      await Promise.race([
        server.shutdown(),
        sleep(grace, undefined, { signal: enough.signal }).catch(() => undefined),
      ]);
      enough.abort();
    },
  };
}
