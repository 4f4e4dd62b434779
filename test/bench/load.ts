import { execFile, spawnSync } from "node:child_process";
import { request } from "node:http";
import { promisify } from "node:util";
import autocannon from "autocannon";
import { HEADERS, type Operation } from "./operations.ts";
import type { Server } from "./processes.ts";

const CONNECTIONS = 8;
/** Requests until V8 has compiled the code they run. */
export const WARM_UP = 2_000;

/** A server's performance under load. */
export interface Rate {
  perSecond: number;
  /** CPU time of the server per request, in microseconds. */
  cpu: number;
  /** The share of time the server had its core. */
  busy: number;
}

/** How many requests of an operation each server has got. */
const sent = new Map<string, number>();

/** The next request of an operation to the server at a URL. */
function requestTo(url: string, operation: Operation) {
  const key = `${url} ${operation.name}`;
  const before = sent.get(key) ?? 0;
  sent.set(key, before + 1);
  const one = { ...operation, ...operation.each?.(before) };
  const { method, base = "/api/v4", path, token, authorization, cookie, body } = one;
  return {
    method,
    path: base + path,
    headers: {
      ...HEADERS,
      ...(token !== undefined && { "private-token": token }),
      ...(authorization !== undefined && { authorization }),
      ...(cookie !== undefined && { cookie }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    body,
  };
}

/** Repeats an operation on a server for some seconds. */
export async function measure(
  server: Pick<Server, "url" | "cpu">,
  operation: Operation,
  seconds: number,
): Promise<Rate> {
  const before = await server.cpu();
  const { total, duration } = await load(server.url, operation, { duration: seconds });
  const used = (await server.cpu()) - before;
  return { perSecond: total / duration, cpu: used / total, busy: used / (duration * 1e6) };
}

/** Repeats an operation on the server at a URL, for some seconds or a number of times. */
export async function load(
  url: string,
  operation: Operation,
  until: { duration: number } | { amount: number },
): Promise<{ total: number; duration: number }> {
  const { method, path, headers, body } = requestTo(url, operation);
  const { requests, duration, errors, non2xx } = await autocannon({
    url: url + path,
    connections: CONNECTIONS,
    method,
    headers,
    ...(body !== undefined && { body }),
    ...(operation.each && {
      requests: [{ setupRequest: (common) => ({ ...common, ...requestTo(url, operation) }) }],
    }),
    ...until,
  });
  if (errors + non2xx > 0) {
    throw new Error(`${operation.name}: ${errors} errors and ${non2xx} refusals`);
  }
  return { total: requests.total, duration };
}

/** Whether `wrk` is installed: it takes a tenth of autocannon's time per request. */
export const hasWrk = spawnSync("wrk", ["-v"]).error === undefined;

/** {@link load} with `wrk`, for reads only. */
export async function loadByWrk(
  url: string,
  operation: Operation,
  { duration }: { duration: number },
): Promise<{ total: number; duration: number }> {
  const { path, headers } = requestTo(url, operation);
  const sent = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const args = ["-t", "1", "-c", String(CONNECTIONS), "-d", `${duration}s`, ...sent, url + path];
  const { stdout } = await promisify(execFile)("wrk", args);
  const [, total, took] = /(\d+) requests in ([\d.]+)s/.exec(stdout) ?? [];
  if (!took || /Non-2xx|Socket errors/.test(stdout))
    throw new Error(`${operation.name}: ${stdout}`);
  return { total: Number(total), duration: Number(took) };
}

/**
 * A server's answer to an operation.
 *
 * @throws Error if the server closes the connection before it answers
 */
export async function answerOf(server: Pick<Server, "url">, operation: Operation): Promise<string> {
  const { path, method, headers, body } = requestTo(server.url, operation);
  return new Promise((resolve, reject) => {
    request(server.url + path, { method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("error", reject);
      response.once("end", () => resolve(`${response.statusCode} ${text}`));
    })
      .once("error", reject)
      .end(body);
  });
}
