import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import express, { type Express } from "express";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Respond } from "../../src/core/http/incoming.ts";
import { createMiddleware, type Middleware, serve } from "../../src/node.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { raw, send } from "./_tests.ts";

let app: TestApp;
const failures = vi.fn();
beforeAll(async () => {
  app = await testApp({ onError: failures });
});
afterAll(() => app.dispose());

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  expect(failures).not.toHaveBeenCalled();
});

/** Listens with a host application until the end of the test. */
async function listen(
  host: Express | ((req: IncomingMessage, res: ServerResponse) => void),
): Promise<string> {
  const server = createServer(host).listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Reads a socket to its end. */
async function read(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) text += chunk;
  return text;
}

const closed = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

/** Plausible hosts that do not form a valid URL. */
const NO_URL = ["a:99999", "[::::]", "999.999.999.999", "xn--"];

const TOKEN = { "private-token": "token-of-owner" };
const ADMIN = { "private-token": "token-of-admin" };

async function linksOf(url: string, headers: Record<string, string> = {}): Promise<string[]> {
  const response = await send(url, { headers: { ...TOKEN, ...headers } });
  const [{ web_url }] = JSON.parse(response.body);
  return [String(response.headers["link"]).split(">")[0]?.slice(1) as string, web_url];
}

/** Mounts like Connect 3: the prefix is cut off `url`, and `originalUrl` keeps it. */
function connectStyle(prefix: string, middleware: Middleware) {
  return (req: IncomingMessage & { originalUrl?: string }, res: ServerResponse) => {
    req.originalUrl ??= req.url as string;
    req.url = (req.url as string).replace(prefix, "") || "/";
    middleware(req, res, () => {
      res.statusCode = 404;
      res.end(`nothing at ${req.url}`);
    });
  };
}

describe("mounted", () => {
  it.each(["/pm", "/a/b/c", "/with%20space", "/:anything"])(
    "at %s in Express, its links begin there",
    async (prefix) => {
      const url = await listen(express().use(prefix, createMiddleware(app)));
      const base = `${url}${prefix.replace(":", "")}`;
      expect(await linksOf(`${base}/api/v4/groups?per_page=1&all_available=true`)).toEqual([
        `${base}/api/v4/groups?all_available=true&page=2&per_page=1`,
        `${base}/groups/acme`,
      ]);
    },
  );

  it("in nested routers of Express, its links begin there", async () => {
    const inner = express.Router().use("/inner", createMiddleware(app));
    const base = `${await listen(express().use("/outer", inner))}/outer/inner`;
    expect((await linksOf(`${base}/api/v4/groups`))[1]).toBe(`${base}/groups/acme`);
  });

  it("at the root of Express, links have no prefix", async () => {
    const url = await listen(express().use(createMiddleware(app)));
    expect((await linksOf(`${url}/api/v4/groups`))[1]).toBe(`${url}/groups/acme`);
  });

  it("in the style of Connect, its links begin there", async () => {
    const url = await listen(connectStyle("/pm", createMiddleware(app)));
    expect((await linksOf(`${url}/pm/api/v4/groups`))[1]).toBe(`${url}/pm/groups/acme`);
    expect(await (await fetch(`${url}/pm/elsewhere`)).text()).toBe("nothing at /elsewhere");
  });

  it("passes on only requests outside the API", async () => {
    const host = express()
      .use("/pm", createMiddleware(app))
      .use((req, res) => {
        res.send(`host: ${req.method} ${req.originalUrl}`);
      });
    const url = await listen(host);
    const ask = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(url + path, { ...init, headers: TOKEN });
      return response.headers.get("content-type")?.startsWith("text/html")
        ? await response.text()
        : response.status;
    };
    for (const path of [
      "/",
      "/pm",
      "/pm/",
      "/pm/about?x=/api/v4/user",
      "/pm/api",
      "/api/v4/user",
    ]) {
      expect(await ask(path)).toBe(`host: GET ${path}`);
    }
    for (const path of ["/pm/api/v5/user", "/pm/-/nowhere", "/pm/api/"]) {
      expect(await ask(path)).toBe(`host: GET ${path}`);
      expect(await ask(path, { method: "POST", body: "{}" })).toBe(`host: POST ${path}`);
    }
    expect(await ask("/pm/api/v4/nowhere")).toBe(404);
    expect(await ask("/pm/api/v4/version")).toBe(200);
    expect(await ask("/pm/api/v4/version", { method: "POST" })).toBe(405);
    expect(await ask("/pm/api/v4/groups/nowhere")).toBe(404);
    expect(await ask("/pm/api/v3/user")).toBe(410);
    expect(await ask("/pm/-/health")).toBe(200);
  });

  it("redirects browsers from the mount itself to the pages", async () => {
    const url = await listen(express().use("/pm", createMiddleware(app)));
    for (const path of ["/pm", "/pm/", "/pm?x=1", "/pm/?x=1"]) {
      const init = { headers: { accept: "text/html" }, redirect: "manual" } as const;
      const { status, headers } = await fetch(url + path, init);
      expect([path, status, headers.get("location")]).toEqual([path, 303, "/pm/explore/projects"]);
    }
  });

  it("answers browsers with a page if there is no host to pass on to", async () => {
    const server = await serve(app, { port: 0 });
    ends.push(() => server.close());
    for (const url of [server.url, await listen(createMiddleware(app))]) {
      const missing = await fetch(`${url}/-/missing`, { headers: { accept: "text/html" } });
      expect([missing.status, await missing.text()]).toEqual([
        404,
        expect.stringContaining("<h1>Not found</h1>"),
      ]);
      const json = await fetch(`${url}/-/missing`);
      expect([json.status, await json.json()]).toEqual([404, { error: "404 Not Found" }]);
    }
  });

  it("passes errors on to the host", async () => {
    const broken = { respond: () => Promise.reject(new Error("broken")) };
    const host = express()
      .use(createMiddleware(broken))
      .use((error: Error, _req: express.Request, res: express.Response, _next: unknown) => {
        res.status(500).send(error.message);
      });
    const response = await fetch(`${await listen(host)}/api/v4/version`);
    expect([response.status, await response.text()]).toEqual([500, "broken"]);
  });

  it("closes the connection if the host fails to end an answer, and sends others", async () => {
    const middleware = createMiddleware(app);
    const url = await listen((req: IncomingMessage, res: ServerResponse) => {
      if (req.headers["x-broken"]) {
        res.end = () => {
          throw new Error("the host can't");
        };
      }
      middleware(req, res);
    });
    const ask = (headers: Record<string, string>) =>
      fetch(`${url}/api/v4/version`, { headers: { ...TOKEN, ...headers } });
    const [broken, whole] = await Promise.allSettled([ask({ "x-broken": "yes" }), ask({})]);
    expect(broken.status).toBe("rejected");
    expect(whole).toMatchObject({ status: "fulfilled", value: { status: 200 } });
  });

  it("does nothing if the host has answered meanwhile", async () => {
    const slow = { respond: () => new Promise<undefined>((resolve) => setTimeout(resolve, 30)) };
    const url = await listen((req: IncomingMessage, res: ServerResponse) => {
      createMiddleware(slow)(req, res);
      res.end("too slow");
    });
    expect(await (await fetch(url)).text()).toBe("too slow");
    await new Promise((resolve) => setTimeout(resolve, 40));
  });
});

describe("behind a body parser", () => {
  const json = JSON.stringify({ name: "token", scopes: ["api", "read_user"], ignored: { a: [1] } });
  const form = "name=token&scopes[]=api&scopes[]=read_user";
  const types = { json: "application/json", form: "application/x-www-form-urlencoded" };

  it.each([
    ["express.json", express.json(), types.json, json],
    ["express.urlencoded", express.urlencoded(), types.form, form],
    ["express.urlencoded extended", express.urlencoded({ extended: true }), types.form, form],
    ["express.text of JSON", express.text({ type: "*/*" }), types.json, json],
    ["express.text of a form", express.text({ type: "*/*" }), types.form, form],
    ["express.raw of JSON", express.raw({ type: "*/*" }), types.json, json],
    ["express.raw of a form", express.raw({ type: "*/*" }), types.form, form],
    ["express.raw of another type", express.raw(), types.json, json],
    ["one for another type", express.json(), types.form, form],
  ])("%s reads the same", async (_, parser, type, body) => {
    const host = express().use(parser).use("/pm", createMiddleware(app));
    const users = `${await listen(host)}/pm/api/v4/users`;
    const init = { method: "POST", headers: { ...ADMIN, "content-type": type }, body };
    const response = await fetch(`${users}/2/impersonation_tokens`, init);
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ name: "token", scopes: ["api", "read_user"] });
  });

  it("works behind a host's JSON and form parsers, which skip multipart", async () => {
    const host = express()
      .use(express.json(), express.urlencoded(), express.text(), express.raw())
      .use("/pm", createMiddleware(app));
    const labels = `${await listen(host)}/pm/api/v4/groups/acme/labels`;
    const multipart = new FormData();
    multipart.set("name", "multipart");
    multipart.set("color", "#123456");
    const made = await fetch(labels, { method: "POST", headers: TOKEN, body: multipart });
    expect(made.status).toBe(201);
    const change = { method: "PUT", headers: TOKEN };
    const changed = await fetch(`${labels}/multipart?color=%23654321`, change);
    expect((await changed.json()).color).toBe("#654321");
    const gone = await fetch(`${labels}/multipart`, { method: "DELETE", headers: TOKEN });
    expect(gone.status).toBe(204);
  });

  it("keeps the attributes of an array's elements together", async () => {
    const seen = vi.fn();
    const url = await listen(
      express()
        .use(express.urlencoded())
        .use(
          createMiddleware({
            respond: async (incoming) => {
              for await (const bytes of incoming.body() ?? []) seen(Buffer.from(bytes).toString());
              return undefined;
            },
          }),
        ),
    );
    const body = "v[][key]=A&v[][value]=1&v[][key]=B&v[][value]=2%263&n=%2B";
    const headers = { "content-type": types.form };
    await fetch(url, { method: "POST", headers, body });
    expect(decodeURIComponent(seen.mock.calls[0]?.[0])).toBe(
      "v[][key]=A&v[][value]=1&n=+&v[][key]=B&v[][value]=2&3",
    );
  });

  it.each([
    ["an array", "[1]"],
    ["a number", "1"],
    ["a text", '"name"'],
    ["null", "null"],
  ])("refuses %s", async (_, body) => {
    const host = express()
      .use(express.json({ strict: false }))
      .use(createMiddleware(app));
    const headers = { ...TOKEN, "content-type": types.json };
    const init = { method: "POST", headers, body };
    const response = await fetch(`${await listen(host)}/api/v4/groups`, init);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: "message body does not match declared format",
    });
  });

  it("does not hang if the body was read and discarded", async () => {
    const url = await listen(async (req: IncomingMessage, res: ServerResponse) => {
      for await (const _ of req);
      createMiddleware(app)(req, res);
    });
    const headers = { ...TOKEN, "content-type": types.json };
    const response = await fetch(`${url}/api/v4/groups`, { method: "POST", headers, body: json });
    expect(response.status).toBe(400);
  });

  it("prefers the raw bytes that some hosts store", async () => {
    const url = await listen(async (req: IncomingMessage, res: ServerResponse) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      const rawBody = Buffer.concat(chunks);
      createMiddleware(app)(Object.assign(req, { rawBody, body: { name: "parsed" } }), res);
    });
    const headers = { ...ADMIN, "content-type": types.json };
    const init = { method: "POST", headers, body: json };
    const response = await fetch(`${url}/api/v4/users/2/impersonation_tokens`, init);
    expect((await response.json()).name).toBe("token");
  });
});

describe("behind a proxy", () => {
  const forwarded = {
    "x-forwarded-host": "pm.example.com, inner.example.com",
    "x-forwarded-proto": "https",
    "x-forwarded-for": "203.0.113.9, 10.0.0.1",
  };
  const addresses: string[] = [];
  let logging: TestApp;
  beforeAll(async () => {
    logging = await testApp({ log: ({ ip }) => addresses.push(ip) });
  });
  afterAll(() => logging.dispose());
  beforeEach(() => {
    addresses.length = 0;
  });

  it("ignores its headers by default", async () => {
    const url = await listen(createMiddleware(logging));
    expect((await linksOf(`${url}/api/v4/groups`, forwarded))[1]).toBe(`${url}/groups/acme`);
    expect(addresses).toEqual(["127.0.0.1"]);
  });

  it.each([
    ["node:http", (middleware: Middleware) => listen(middleware)],
    ["Express", (middleware: Middleware) => listen(express().use(middleware))],
  ])("uses them if told to, on %s", async (_, start) => {
    const url = await start(createMiddleware(logging, { trustProxy: 2 }));
    const base = "https://pm.example.com/groups/acme";
    expect((await linksOf(`${url}/api/v4/groups`, forwarded))[1]).toBe(base);
    expect((await linksOf(`${url}/api/v4/groups`))[1]).toBe(`${url}/groups/acme`);
    expect(addresses).toEqual(["203.0.113.9", "127.0.0.1"]);
  });

  it.each([
    [true, "198.51.100.7", "203.0.113.9, 198.51.100.7"],
    [1, "198.51.100.7", "198.51.100.7"],
    [2, "198.51.100.7", "198.51.100.7, 203.0.113.9"],
    [2, "198.51.100.7", "10.1.1.1, 198.51.100.7,203.0.113.9"],
    [3, "198.51.100.7", "198.51.100.7, 203.0.113.9"],
    [1, "127.0.0.1", " , "],
    [0, "127.0.0.1", "203.0.113.9"],
  ])("believes as many as there are: %j", async (trustProxy, client, header) => {
    const url = await listen(createMiddleware(logging, { trustProxy }));
    await linksOf(`${url}/api/v4/groups`, { "x-forwarded-for": header });
    expect(addresses).toEqual([client]);
  });

  it("uses Express's protocol and address", async () => {
    const host = express().set("trust proxy", true).use(createMiddleware(logging));
    const url = await listen(host);
    const [, link] = await linksOf(`${url}/api/v4/groups`, forwarded);
    expect(link).toBe(`${url.replace("http:", "https:")}/groups/acme`);
    expect(addresses).toEqual(["203.0.113.9"]);
  });

  it("refuses forwarded values that can't form its URL", async () => {
    const url = await listen(createMiddleware(logging, { trustProxy: true }));
    for (const headers of [
      ...["a b", ...NO_URL].map((host) => ({ "x-forwarded-host": host })),
      { "x-forwarded-proto": "javascript" },
    ]) {
      for (const path of ["/api/v4/groups", "/users/sign_in"]) {
        const response = await send(url + path, { headers: { ...TOKEN, ...headers } });
        expect([response.status, response.body]).toEqual([
          400,
          '{"error":"malformed Host header"}',
        ]);
      }
    }
  });
});

describe("on the wire", () => {
  let url: string;
  beforeEach(async () => {
    const server = await serve(app, { port: 0, grace: 500 });
    ends.push(server.close);
    url = server.url;
  });

  /** Sends raw lines and returns the complete answer. */
  async function exchange(...lines: string[]): Promise<string> {
    return read(await raw(url, `${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`));
  }

  it("HEAD has the length of the body it does not send", async () => {
    const path = "GET /api/v4/groups/acme HTTP/1.1";
    const lines = ["Host: pm.test", "Private-Token: token-of-owner"];
    const whole = await exchange(path, ...lines);
    const head = await exchange(path.replace("GET", "HEAD"), ...lines);
    const body = whole.slice(whole.indexOf("\r\n\r\n") + 4);
    expect(body.length).toBeGreaterThan(100);
    expect(head.toLowerCase()).toContain(`content-length: ${Buffer.byteLength(body)}\r\n`);
    expect(head.endsWith("\r\n\r\n")).toBe(true);
    const without = (text: string) =>
      text
        .slice(0, text.indexOf("\r\n\r\n"))
        .replace(/(x-request-id|x-gitlab-meta|x-runtime|Date): .*/g, "");
    expect(without(head)).toBe(without(whole));
  });

  it.each(["a b", "a/b", "user@a", "a?b", "<script>", "a:99999999", "[::1", "", ...NO_URL])(
    "the host %j is malformed, to the API and to pages",
    async (host) => {
      for (const path of ["/api/v4/projects", "/users/sign_in"]) {
        const answer = await exchange(`GET ${path} HTTP/1.1`, `Host: ${host}`);
        expect(answer).toMatch(/^HTTP\/1\.1 400 /);
        expect(answer).not.toContain("web_url");
      }
    },
  );

  it.each(["pm.test", "pm.test:8080", "[::1]:80", "xn--mnchen-3ya", "a_b"])(
    "links begin with the host %s",
    async (host) => {
      const answer = await exchange("GET /api/v4/projects HTTP/1.1", `Host: ${host}`);
      expect(answer).toContain(`"web_url":"http://${host}/acme/site"`);
    },
  );

  it("a request of HTTP/1.0 needs no host", async () => {
    const answer = await exchange("GET /api/v4/projects HTTP/1.0");
    expect(answer).toContain('"web_url":"http://localhost/acme/site"');
  });

  it("a target in absolute form provides the host", async () => {
    const target = "http://proxy.test:81/api/v4/projects?per_page=1";
    const answer = await exchange(`GET ${target} HTTP/1.1`, "Host: pm.test");
    expect(answer).toContain('"web_url":"http://proxy.test:81/acme/site"');
    expect(answer).toContain("<http://proxy.test:81/api/v4/projects?page=1&per_page=1>");
  });

  it.each(["http://pm.test", "http://pm.test?x", "/"])("the target %s is /", async (target) => {
    const answer = await exchange(`GET ${target} HTTP/1.1`, "Host: pm.test");
    expect(answer).toMatch(/^HTTP\/1\.1 303 /);
    expect(answer).toMatch(/^location: \/explore\/projects\r$/im);
  });

  it.each([
    "http:///api/v4/projects",
    "http://u:p@pm.test/api/v4/projects",
    "pm.test:443",
    "//pm.test/api/v4/projects",
  ])("the target %s is invalid", async (target) => {
    const answer = await exchange(`GET ${target} HTTP/1.1`, "Host: pm.test");
    expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
  });

  it("a target in absolute form is mounted like others", async () => {
    const mounted = await listen(express().use("/pm", createMiddleware(app)));
    const target = `GET ${mounted}/pm/api/v4/projects HTTP/1.1`;
    const answer = await read(
      await raw(mounted, `${target}\r\nHost: pm.test\r\nConnection: close\r\n\r\n`),
    );
    expect(answer).toContain(`"web_url":"${mounted}/pm/acme/site"`);
  });

  it("requests may be pipelined", async () => {
    const one = "GET /-/health HTTP/1.1\r\nHost: pm.test\r\n\r\n";
    const socket = await raw(url, one);
    socket.write(one.repeat(3) + one.replace("Host", "Connection: close\r\nHost"));
    expect((await read(socket)).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(5);
  });

  it("interrupted uploads are no errors and leave nothing behind", async () => {
    const open = () =>
      process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
    const before = open();
    const lines = ["Host: pm.test", "Private-Token: token-of-owner", "Content-Length: 1000"];
    for (const type of ["application/json", "multipart/form-data; boundary=x"]) {
      const start = ["POST /api/v4/groups HTTP/1.1", ...lines, `Content-Type: ${type}`, "", "{"];
      const sockets = await Promise.all(
        Array.from({ length: 50 }, () => raw(url, start.join("\r\n"))),
      );
      expect((await fetch(`${url}/-/health`)).status).toBe(200);
      for (const [at, socket] of sockets.entries()) {
        if (at % 2 === 0) socket.destroy();
        else socket.resetAndDestroy();
      }
    }
    await expect.poll(open).toBeLessThanOrEqual(before + 4);
  });

  it("a refused body is drained only for a moment", async () => {
    const socket = await raw(
      url,
      [
        "POST /api/v4/groups HTTP/1.1",
        "Host: pm.test",
        "Private-Token: token-of-owner",
        "Content-Type: application/json",
        "Content-Length: 900000000",
        "",
        "",
      ].join("\r\n"),
    );
    let parts = 0;
    const endless = new Promise((resolve) => {
      const trickle = setInterval(() => {
        socket.write(Buffer.alloc(1000));
        parts += 1;
        if (parts === 1000) resolve("read on and on");
      }, 10);
      ends.push(() => clearInterval(trickle));
    });
    const cut = closed(socket);
    const [first] = await once(socket, "data");
    expect(String(first)).toMatch(/^HTTP\/1\.1 413 /);
    expect(await Promise.race([cut.then(() => "cut"), endless])).toBe("cut");
  });
});

describe.each([
  [
    "serve",
    async (respond: Respond) => {
      const server = await serve({ respond }, { port: 0, stallTimeout: 400 });
      ends.push(server.close);
      return server.url;
    },
  ],
  [
    "Express",
    (respond: Respond) =>
      listen(express().use(createMiddleware({ respond }, { stallTimeout: 400 }))),
  ],
])("a client of %s", (_, start) => {
  const large = "x".repeat(30_000_000);
  const answering: Respond = async (incoming) =>
    incoming.path === "/large" ? { status: 200, headers: {}, body: large } : app.respond(incoming);
  const post = [
    "POST /api/v4/groups/acme/labels HTTP/1.1",
    "Host: pm.test",
    "Private-Token: token-of-owner",
    "Content-Type: application/json",
  ];

  it("is cut if it reads nothing, but not if it reads slowly", async () => {
    const url = await start(answering);
    const get = "GET /large HTTP/1.1\r\nHost: pm.test\r\nConnection: close\r\n\r\n";
    const [idle, slow] = [await raw(url, get), await raw(url, get)];
    idle.pause().on("error", () => undefined);
    const over = [closed(idle), closed(slow)];
    let length = 0;
    slow.on("data", (chunk) => {
      length += chunk.length;
    });
    for (let at = 0; at < 15; at += 1) {
      slow.pause();
      await sleep(60);
      slow.resume();
      await sleep(5);
    }
    idle.resume();
    await Promise.all(over);
    expect(length).toBeGreaterThan(large.length);
    expect(idle.bytesRead).toBeLessThan(large.length);
  });

  it("is cut if it sends nothing more, but not if it sends slowly", async () => {
    const url = await start(answering);
    const body = JSON.stringify({ name: `slow ${url}`, color: "#123456" });
    const head = [...post, `Content-Length: ${body.length}`, "Connection: close", "", ""];
    const idle = await raw(url, `${head.join("\r\n")}{`);
    const slow = await raw(url, head.join("\r\n"));
    const answer = read(slow);
    const cut = closed(idle);
    for (const character of body) {
      slow.write(character);
      await sleep(25);
    }
    await cut;
    expect(await answer).toMatch(/^HTTP\/1\.1 201 /);
  });

  it("is not cut while it waits for us", async () => {
    const url = await start(async (incoming) => {
      for await (const _ of incoming.body() ?? []);
      await sleep(500);
      return { status: 200, headers: {}, body: "done" };
    });
    const response = await fetch(url, { method: "POST", body: "x" });
    expect(await response.text()).toBe("done");
  });
});

describe("a body that takes longer than a request may", () => {
  it("is read as long as it gets on", async () => {
    const respond: Respond = async (incoming) => {
      let length = 0;
      for await (const chunk of incoming.body() ?? []) length += chunk.length;
      return { status: 200, headers: {}, body: String(length) };
    };
    const server = await serve({ respond }, { port: 0, stallTimeout: 300 });
    ends.push(server.close);
    const part = Buffer.alloc(400_000, "x");
    // For longer than ten stall timeouts.
    const parts = 60;
    const post = (length: number) =>
      `POST / HTTP/1.1\r\nHost: pm.test\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`;
    const trickling = await raw(server.url, post(part.length));
    const cut = closed(trickling.on("error", () => undefined).resume());
    const trickle = setInterval(() => trickling.write("x"), 20);
    const moving = await raw(server.url, post(parts * part.length));
    const answer = read(moving);
    for (let sent = 0; sent < parts; sent += 1) {
      moving.write(part);
      await sleep(60);
    }
    expect(await answer).toMatch(new RegExp(`\r\n${parts * part.length}$`));
    await cut;
    clearInterval(trickle);
  });
});

describe("connections from one address", () => {
  it("are closed above a limit, and idle new ones soon", async () => {
    const server = await serve(app, { port: 0, connectionsPerAddress: 3 });
    ends.push(server.close);
    const silent = await Promise.all([1, 2, 3].map(() => raw(server.url, "")));
    await closed((await raw(server.url, "")).resume());
    silent[0]?.destroy();
    await expect
      .poll(() =>
        fetch(`${server.url}/-/health`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
    await Promise.all(silent.slice(1).map((socket) => closed(socket.resume())));
  });

  it("are not counted behind a trusted proxy", async () => {
    const server = await serve(app, { port: 0, trustProxy: true });
    ends.push(server.close);
    const sockets = await Promise.all(Array.from({ length: 300 }, () => raw(server.url, "")));
    expect((await fetch(`${server.url}/-/health`)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});

describe("closing a server", () => {
  /** What comes first: the end, or a time for which a server waits by default, and the machine hardly makes it wait. */
  const first = (closing: Promise<unknown>) =>
    Promise.race([closing.then(() => "closed"), sleep(8000, "late", { ref: false })]);

  it("finishes running requests, and ends keep-alive connections", async () => {
    let finish: (value: undefined) => void = () => undefined;
    const waiting = new Promise<undefined>((resolve) => {
      finish = resolve;
    });
    const server = await serve(
      { respond: (incoming) => (incoming.path === "/slow" ? waiting : app.respond(incoming)) },
      { port: 0 },
    );
    const [slow, idle] = await Promise.all([
      raw(server.url, "GET /slow HTTP/1.1\r\nHost: pm.test\r\n\r\n"),
      raw(server.url, "GET /-/health HTTP/1.1\r\nHost: pm.test\r\n\r\n"),
    ]);
    await once(idle, "data");
    const closing = first(server.close());
    await closed(idle);
    await expect(fetch(`${server.url}/-/health`)).rejects.toThrow();
    setTimeout(() => finish(undefined), 50);
    const [answer] = await once(slow, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /);
    expect(await closing).toBe("closed");
  });

  it("does not wait longer than allowed for stalled clients", async () => {
    const server = await serve(app, { port: 0, grace: 100 });
    const stalled = await Promise.all([
      raw(server.url, ""),
      raw(server.url, "GET /-/health HT"),
      raw(server.url, "POST /api/v4/groups HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"),
    ]);
    const ends = stalled.map(closed);
    const closing = first(server.close());
    expect(await Promise.race([closing, sleep(90, "waits")])).toBe("waits");
    expect(await closing).toBe("closed");
    await Promise.all(ends);
  });

  it("can be requested twice", async () => {
    const server = await serve(app, { port: 0 });
    await Promise.all([server.close(), server.close()]);
    await server.close();
  });
});

describe("listening", () => {
  it("fails if the address is in use", async () => {
    const server = await serve(app, { port: 0 });
    ends.push(server.close);
    const port = Number(new URL(server.url).port);
    await expect(serve(app, { port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  it("works on IPv6 addresses", async () => {
    const server = await serve(app, { host: "::1", port: 0 });
    ends.push(server.close);
    expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await linksOf(`${server.url}/api/v4/groups`))[1]).toBe(`${server.url}/groups/acme`);
  });
});
