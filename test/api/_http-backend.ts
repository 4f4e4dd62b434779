// Serves bare repositories with Git's own `git http-backend`.
import { spawn } from "node:child_process";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A server of Git's own. */
export interface Backend {
  readonly url: string;
  /** What is answered in the place of Git: a status and headers; `undefined` for nothing. */
  instead: (request: IncomingMessage) => [number, Record<string, string>] | undefined;
  /** Done before a request is answered. */
  before: (request: IncomingMessage) => Promise<unknown> | undefined;
  close(): Promise<void>;
}

/**
 * Starts a server of the repositories in a folder.
 *
 * @param credentials the only ones that it accepts, as in a URL
 */
export async function startBackend(root: string, credentials: string): Promise<Backend> {
  const accepted = `Basic ${Buffer.from(credentials).toString("base64")}`;
  const server = createServer(async (request, response) => {
    await backend.before(request);
    const isAccepted = request.headers.authorization === accepted;
    const instead = backend.instead(request) ?? (isAccepted ? undefined : [401, {}]);
    if (instead) {
      const [status, headers] = instead;
      response.writeHead(status, headers).end();
      return;
    }
    const { pathname, search } = new URL(String(request.url), "http://git.test");
    const env = {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_NOSYSTEM: "1",
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      REMOTE_USER: "mirror",
      REMOTE_ADDR: "127.0.0.1",
    };
    const child = spawn("git", ["http-backend"], { env });
    request.pipe(child.stdin);
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.on("close", () => {
      const answer = Buffer.concat(chunks);
      const end = answer.indexOf("\r\n\r\n");
      const lines = answer.toString("latin1", 0, end).split("\r\n");
      const headers = lines.map((line) => line.split(": ") as [string, string]);
      const { Status = "200", ...others } = Object.fromEntries(headers);
      response.writeHead(Number.parseInt(Status, 10), others).end(answer.subarray(end + 4));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const backend: Backend = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    instead: () => undefined,
    before: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return backend;
}

/** Where redirects of attackers lead to: this machine, its networks, and where clouds tell machines their secrets. */
const PRIVATE = [
  ["http://127.0.0.2:8080", "host"],
  ["http://localhost:8080", "host"],
  ["http://[::1]:8080", "host"],
  ["http://2130706434:8080", "host"],
  ["http://10.0.0.1", "host"],
  ["http://169.254.169.254", "host"],
  ["http://127.0.0.1:25", "service"],
] as const;

/** Redirects that lead to a private address after up to three others, which stay on the server; and what is said of each. */
export const PRIVATE_CHAINS = PRIVATE.flatMap(([to, what], at) =>
  [at % 4, (at + 2) % 4].map(
    (hops) => [to, hops, `the redirect leads to another ${what}`] as const,
  ),
);

/**
 * Has a server answer each request with a redirect.
 *
 * @param to where the last one leads to
 * @param hops how many lead to the server itself before
 * @returns how many requests have come
 */
export function redirectInChain(backend: Backend, to: string, hops: number): () => number {
  let asked = 0;
  backend.instead = () => {
    const origin = asked < hops ? backend.url : to;
    asked += 1;
    return [302, { location: `${origin}/hop${asked}/info/refs?service=git-upload-pack` }];
  };
  return () => asked;
}
