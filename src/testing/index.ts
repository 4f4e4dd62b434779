import * as v from "valibot";
import type { ListenOptions, Server } from "../adapters.ts";
import type { Respond } from "../core/http/incoming.ts";
import {
  type OptionSchemas,
  optionsOf,
  readOptions,
  textOption,
  wholeOption,
} from "../core/options.ts";
import { controlled } from "./control.ts";
import { type World, type WorldOptions, worldOptions } from "./world.ts";
import { addressOf, type WorldAddress, Worlds } from "./worlds.ts";

/** The options of a test server; all are optional (docs/testing.md). */
export interface TestServerOptions extends WorldOptions {
  /** The address to listen on. Default `"127.0.0.1"`. */
  host?: string;
  /** The port to listen on. Default 0, a free one; worlds that are added have one of their own. */
  port?: number;
}

const OPTIONS = optionsOf({
  ...worldOptions,
  host: v.optional(textOption),
  port: v.optional(wholeOption(0, 65_535)),
} satisfies OptionSchemas<TestServerOptions>);

/** A running test server. All its parts stay valid after a reset. */
export interface TestServer extends Omit<World, "respond"> {
  /** Its address, such as `http://127.0.0.1:54321`. */
  readonly url: string;
  /** Its addresses and tokens, as `pm-cli test` prints them. */
  readonly address: WorldAddress;
  /** Closes all connections and discards the data. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves on this runtime: Bun (also in the binary of `pm-cli`), Deno or Node. */
async function listen(app: { respond: Respond }, where: ListenOptions): Promise<Server> {
  if (process.versions["bun"]) return (await import("../bun.ts")).serve(app, where);
  if (process.versions["deno"]) return (await import("../deno.ts")).serve(app, where);
  const { serve } = await import("../node.ts");
  return serve(app, { ...where, connectionsPerAddress: false });
}

/**
 * Starts a server in this process, in memory, on a free port of 127.0.0.1.
 *
 * @example
 * const server = await startTestServer({ now: "2026-01-01T00:00:00Z" });
 * await fetch(`${server.url}/api/v4/user`, { headers: { "private-token": server.token } });
 * await server.close();
 *
 * @throws SeedError if the seed can't be used
 * @throws OptionError if an option is wrong or misspelt
 * @throws TypeError if `now` is not an instant
 * @throws the system's error if the address can't be listened on (`EADDRINUSE`, `EACCES`, `ENOTFOUND`)
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  readOptions("startTestServer", OPTIONS, options);
  const { host = "127.0.0.1", port = 0, ...world } = options;
  // Only the first world has the port that was asked for.
  let own = port;
  const serve = (app: { respond: Respond }) => {
    const where = { host, port: own, grace: 0 };
    own = 0;
    return listen(app, where);
  };
  const worlds = new Worlds(serve, controlled, world);
  const first = await worlds.start();
  const close = () => worlds.close();
  return {
    ...first.world,
    url: first.url,
    address: addressOf(first),
    close,
    [Symbol.asyncDispose]: close,
  };
}
