import { request } from "node:http";
import autocannon from "autocannon";
import { HEADERS, type Operation } from "./operations.ts";
import type { Server } from "./processes.ts";

const CONNECTIONS = 8;

/** How a server did under load. */
export interface Rate {
  perSecond: number;
  /** CPU time of the server for each request, in microseconds. */
  cpu: number;
  /** The share of the time in which the server had its core. */
  busy: number;
}

function requestOf(operation: Operation) {
  const { method, path, token, body } = operation;
  return {
    method,
    path: `/api/v4${path}`,
    headers: {
      ...HEADERS,
      ...(token !== undefined && { "private-token": token }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    body,
  };
}

/** Asks a server the same for some seconds. */
export async function measure(
  server: Server,
  operation: Operation,
  seconds: number,
): Promise<Rate> {
  const before = await server.cpu();
  const { total, duration } = await load(server.url, operation, { duration: seconds });
  const used = (await server.cpu()) - before;
  return { perSecond: total / duration, cpu: used / total, busy: used / (duration * 1e6) };
}

/** Asks the server at a URL the same, for some seconds or some times. */
export async function load(
  url: string,
  operation: Operation,
  until: { duration: number } | { amount: number },
): Promise<{ total: number; duration: number }> {
  const { method, path, headers, body } = requestOf(operation);
  const { requests, duration, errors, non2xx } = await autocannon({
    url: url + path,
    connections: CONNECTIONS,
    method,
    headers,
    ...(body === undefined ? {} : { body, idReplacement: true }),
    ...until,
  });
  if (errors + non2xx > 0) {
    throw new Error(`${operation.name}: ${errors} errors and ${non2xx} refusals`);
  }
  return { total: requests.total, duration };
}

/**
 * What a server answers to an operation.
 *
 * @throws Error where it ends the connection before its answer
 */
export async function answerOf(server: Server, operation: Operation): Promise<string> {
  const { path, method, headers, body } = requestOf(operation);
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
      .end(body?.replace("[<id>]", "compared"));
  });
}
