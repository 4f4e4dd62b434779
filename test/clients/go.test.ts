import { execFile, spawnSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestServer } from "../../src/testing.ts";
import { LOCAL } from "../api/_certificates.ts";
import { newFolder } from "../folder.ts";
import { startWithTool, TOKEN } from "./_tool.ts";

// Go's own client, which sends passwords over TLS only, and gets the names of modules from the server's host.

const run = promisify(execFile);
const HOST = "pm.test";
/** What Go has compiled of its own library; none without Go. */
const GOCACHE = spawnSync("go", ["env", "GOCACHE"], { encoding: "utf8" }).stdout?.trim();
const hasGo = Boolean(GOCACHE);
if (!hasGo) console.warn("not tested, since there is no Go");

let server: TestServer;
let proxy: Server;
let folder: string;
let project: string;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  const tool = await startWithTool();
  server = tool.server;
  folder = newFolder();
  project = `/api/v4/projects/${tool.id}`;
  const { hostname: host, port } = new URL(server.url);
  proxy = createServer({ cert: LOCAL.certificate, key: LOCAL.key }, (incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const own = { ...headers, host: HOST };
    incoming.pipe(
      request({ host, port, method, path, headers: own }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      }),
    );
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  await writeFile(join(folder, "certificate.pem"), LOCAL.certificate);
  await writeFile(join(folder, ".netrc"), `machine ${address} login ann password ${TOKEN}\n`);
  environment = {
    ...process.env,
    ...{ HOME: folder, GOPATH: join(folder, "go"), GOFLAGS: "-modcacherw", GOWORK: "off", GOCACHE },
    ...{
      GOPROXY: `https://${address}${project}/packages/go`,
      GONOSUMDB: "*",
      GOTOOLCHAIN: "local",
    },
    ...{ SSL_CERT_FILE: join(folder, "certificate.pem"), NETRC: join(folder, ".netrc") },
  };
});
afterAll(async () => {
  proxy.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function post(path: string, json: object) {
  const headers = { "private-token": TOKEN, "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(json) };
  const answer = await fetch(`${server.url}${project}/repository/${path}`, init);
  expect(answer.status).toBe(201);
}
const commit = (files: Record<string, string>, action = "create") =>
  post("commits", {
    ...{ branch: "main", commit_message: "x" },
    actions: Object.entries(files).map(([file_path, content]) => ({ action, file_path, content })),
  });
const tag = (tag_name: string) => post("tags", { tag_name, ref: "main" });
const go = (...args: string[]) =>
  run("go", args, { cwd: folder, env: environment }).then(
    ({ stdout, stderr }) => stdout + stderr,
    ({ stdout, stderr }) => String(stdout) + String(stderr),
  );

it.runIf(hasGo)("Go lists, downloads and builds modules of a private project", async () => {
  const name = `${HOST}/acme/tool`;
  await commit({
    "go.mod": `module ${name}\n\ngo 1.20\n`,
    "tool.go": 'package tool\n\nconst Name = "first"\n',
    "Inner/go.mod": `module ${name}/Inner\n\ngo 1.20\n`,
    "Inner/inner.go": 'package Inner\n\nconst Name = "inner"\n',
  });
  await tag("v1.0.0");
  await tag("Inner/v0.2.0");
  await tag("not-a-version");
  await commit({ "tool.go": 'package tool\n\nconst Name = "second"\n' }, "update");
  await tag("v1.1.0");
  await commit({ "go.mod": `module ${name}/v2\n\ngo 1.20\n` }, "update");
  await tag("v2.0.0");
  await writeFile(join(folder, "go.mod"), "module example.com/app\n\ngo 1.20\n");
  const imports = [`a "${name}"`, `b "${name}/v2"`, `c "${name}/Inner"`].join("\n");
  await writeFile(
    join(folder, "main.go"),
    `package main\n\nimport (\n${imports}\n)\n\nfunc main() { println(a.Name, b.Name, c.Name) }\n`,
  );
  expect(await go("list", "-m", "-versions", name)).toBe(`${name} v1.0.0 v1.1.0\n`);
  const got = await go("get", `${name}@v1.0.0`, `${name}/v2@latest`, `${name}/Inner@v0.2.0`);
  expect(got).toContain(`added ${name}/v2 v2.0.0`);
  expect(await go("run", ".")).toBe("first second inner\n");
  expect(await readFile(join(folder, "go.sum"), "utf8")).toContain(`${name}/Inner v0.2.0 h1:`);
  expect(await go("mod", "verify")).toBe("all modules verified\n");
  expect(await go("get", `${name}@v1.9.0`)).toContain("404 Not Found");
});
