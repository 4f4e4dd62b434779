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
