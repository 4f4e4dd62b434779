import { readOptions } from "../core/options.ts";
import { serve } from "../node.ts";
import { type World, type WorldOptions, worldOptions } from "./world.ts";
import { type ServeWorld, Worlds } from "./worlds.ts";

/** The options of a test server; all are optional (docs/testing.md). */
export type TestServerOptions = WorldOptions;

/** A running test server. All its parts stay valid after a reset. */
export interface TestServer extends Omit<World, "respond"> {
  /** Its address, such as `http://127.0.0.1:54321`. */
  readonly url: string;
  /** Closes all connections and discards the data. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves a world on a free port of 127.0.0.1. */
const serveLocally: ServeWorld = (app) =>
  serve(app, { port: 0, grace: 0, connectionsPerAddress: false });

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
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  readOptions("startTestServer", worldOptions, options);
  const worlds = new Worlds({ serve: serveLocally, options });
  const { world, url } = await worlds.start();
  const close = () => worlds.close();
  return { ...world, url, close, [Symbol.asyncDispose]: close };
}
