// Serves repositories with Git's own `git http-backend`, to compare with. Linux only, for the CPU time of its processes.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { ready } from "./control.mjs";

const [root = "."] = process.argv.slice(2);
/** Microseconds of a clock tick, in which Linux counts. */
const TICK = 10_000;

const server = createServer((request, response) => {
  const { pathname, search } = new URL(String(request.url), "http://git.test");
  const { headers, method } = request;
  const env = {
    PATH: process.env.PATH,
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: "1",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_PROTOCOL: String(headers["git-protocol"] ?? ""),
    PATH_INFO: pathname,
    QUERY_STRING: search.slice(1),
    REQUEST_METHOD: method,
    CONTENT_TYPE: headers["content-type"] ?? "",
    HTTP_CONTENT_ENCODING: String(headers["content-encoding"] ?? ""),
    REMOTE_USER: "bench",
    REMOTE_ADDR: "127.0.0.1",
    ...(headers["content-length"] && { CONTENT_LENGTH: headers["content-length"] }),
  };
  const child = spawn("git", ["http-backend"], { env });
  request.pipe(child.stdin);
  let head = Buffer.alloc(0);
  child.stdout.on("data", function read(chunk) {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    child.stdout.off("data", read);
    let status = 200;
    for (const line of head.toString("latin1", 0, end).split("\r\n")) {
      const colon = line.indexOf(":");
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
      if (name === "Status") status = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.writeHead(status);
    response.write(head.subarray(end + 4));
    child.stdout.pipe(response);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  ready(`http://127.0.0.1:${port}`, undefined, () => {
    // Also of the processes that have ended (proc_pid_stat(5)).
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? [];
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return ticks * TICK;
  });
});
