import { ApiError, methodNotAllowed, tooLarge } from "../core/errors.ts";
import type { Incoming, Reply, Respond } from "../core/http/incoming.ts";
import { decodePath } from "../core/http/parameters.ts";
import { isCrossSite } from "../core/http/session-cookie.ts";
import { closest, OptionError, readOptions } from "../core/options.ts";
import { SeedError } from "../core/seeding.ts";
import { orders } from "./orders/index.ts";
import { type Given, type Order, Whole } from "./orders/order.ts";
import type { World } from "./world.ts";
import type { Worlds } from "./worlds.ts";

/** Where orders are taken. */
const CONTROL = "/-/test";
/** Bytes of an order, at most: a seed may have files. */
const MOST_BYTES = 256 * 1024 * 1024;

/** A world's answers, and those to the orders below `/-/test/` of its address. */
export function controlled(world: World, worlds: Worlds): Respond {
  return async (incoming) => {
    const { path } = incoming;
    if (path !== CONTROL && !path.startsWith(`${CONTROL}/`)) return world.respond(incoming);
    try {
      return await obey(incoming, world, worlds);
    } catch (error) {
      return refusalOf(error);
    }
  };
}

async function obey(incoming: Incoming, world: World, worlds: Worlds): Promise<Reply> {
  // A page of another site that happens to be open in a browser on this machine.
  if (isCrossSite(incoming, undefined)) {
    throw new ApiError(403, { message: "Pages of other sites can't give orders" });
  }
  const path = incoming.path.slice(CONTROL.length + 1).replace(/\/$/, "");
  const { order, params } = find(incoming.method, path);
  const where = `${order.method} ${CONTROL}/${order.path}`;
  const query = Object.fromEntries(new URLSearchParams(incoming.query));
  const given: Given<unknown, unknown> = {
    world,
    worlds,
    params,
    query: read(where, order.query, query),
    body: read(where, order.body, await readBody(incoming)),
    incoming,
  };
  const result = await order.run(given);
  if (result instanceof Whole) return result.reply;
  return json(order.status ?? 200, result);
}

type AnyOrder = Order<unknown, unknown>;

/** Finds the order of a path. @throws ApiError 404 that names the nearest, 405 */
function find(method: string, path: string): { order: AnyOrder; params: Record<string, string> } {
  const matching = (orders as unknown as readonly AnyOrder[]).flatMap((order) => {
    const params = paramsOf(order.path, path);
    return params ? [{ order, params }] : [];
  });
  const found = matching.find(({ order }) => order.method === (method === "HEAD" ? "GET" : method));
  if (found) return found;
  if (matching.length > 0) {
    throw methodNotAllowed(matching.map(({ order }) => order.method).join(", "));
  }
  const paths = [...new Set(orders.map((order) => order.path))];
  const near = closest(path, paths);
  const meant = near === undefined ? "" : ` Did you mean ${near}?`;
  throw new ApiError(404, {
    message: `There is no ${CONTROL}/${path}.${meant} There are ${paths.join(", ")}`,
  });
}

/** The parameters of a path that fits a pattern. */
function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const parts = path.split("/");
  const expected = pattern.split("/");
  if (parts.length !== expected.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, part] of expected.entries()) {
    const actual = parts[at] as string;
    if (part.startsWith(":") && actual !== "") params[part.slice(1)] = decodePath(actual);
    else if (part !== actual) return undefined;
  }
  return params;
}

function read(where: string, schema: AnyOrder["body"], given: unknown): unknown {
  if (schema) return readOptions(where, schema, given ?? {});
  // Some clients send the body `null` for none.
  if (Object.keys(given ?? {}).length > 0) {
    throw new OptionError(where, "", "takes none of these: leave them out");
  }
  return undefined;
}

/** The body as JSON, or as YAML, of which JSON is a part. */
async function readBody(incoming: Incoming): Promise<unknown> {
  const body = incoming.body();
  if (!body) return undefined;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MOST_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    // Programs that send a file say nothing of its kind, or what is wrong.
    const type = incoming.header("content-type") ?? "";
    const isMeant = /yaml/.test(type) || !(/json/.test(type) || /^\s*[{[]/.test(text));
    if (!isMeant) throw new TypeError(`The body is not JSON: ${placed(cause, text)}`, { cause });
    return readYaml(text);
  }
}

async function readYaml(text: string): Promise<unknown> {
  const { parse } = await import("yaml");
  try {
    return parse(text);
  } catch (cause) {
    throw new TypeError(`The body is not YAML: ${(cause as Error).message}`, { cause });
  }
}

/** What is wrong with a text of JSON, and in which line. */
function placed(error: unknown, text: string): string {
  const { message } = error as Error;
  const [, position] = /at position (\d+)$/.exec(message) ?? [];
  if (position === undefined) return message;
  const before = text.slice(0, Number(position)).split("\n");
  return `${message} (line ${before.length} column ${(before.at(-1) as string).length + 1})`;
}

function refusalOf(error: unknown): Reply {
  if (error instanceof ApiError) return json(error.status, error.body, error.headers);
  const { message, stack } = error as Error;
  // What the options and seeds of the library are refused with.
  if (error instanceof TypeError || error instanceof SeedError) return json(400, { message });
  console.error(stack);
  return json(500, { message: `500 Internal Server Error: ${message}` });
}

function json(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  if (status === 204) return { status, headers, body: null };
  return {
    status,
    headers: { ...headers, "content-type": "application/json", "cache-control": "no-store" },
    body: JSON.stringify(value ?? null),
  };
}
