import { type AddressInfo, connect as connectTo, createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import { openStore } from "../../src/store/open.ts";
import { call, engine, SECRET_KEY, testApp, waitFor } from "../helpers.ts";

/** Passes connections to a server, until it falls silent: what is sent is lost then, and nothing is closed. */
async function startRelay(host: string, port: number) {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server = createServer((client) => {
    const upstream = connectTo(port, host);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => undefined);
      from.on("close", () => to.destroy());
      from.on("data", (bytes) => {
        if (!isSilent) to.write(bytes);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    fallSilent: () => {
      isSilent = true;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

it.skipIf(engine === "sqlite")(
  "readiness does not wait as long for a database behind a silent network as others do",
  async () => {
    const app = await testApp();
    const url = new URL(app.database);
    const relay = await startRelay(url.hostname, Number(url.port));
    url.port = String(relay.port);
    url.hostname = "127.0.0.1";
    const errors: Error[] = [];
    const limits = { statementTimeout: 3000, connectTimeout: 3000 };
    const other = await createAppOn(await openStore(url.href, limits), {
      background: false,
      secretKey: SECRET_KEY,
      onError: (error) => errors.push(error as Error),
    });
    expect((await call(other, "GET /-/readiness")).status).toBe(200);
    relay.fallSilent();
    const answered: string[] = [];
    const ask = async (request: string) => {
      const { status } = await call(other, request);
      answered.push(request);
      return status;
    };
    const all = await Promise.all([ask("GET /projects"), ask("GET /-/readiness")]);
    expect(all).toEqual([503, 503]);
    expect(answered).toEqual(["GET /-/readiness", "GET /projects"]);
    await waitFor(async () => errors.length > 0);
    relay.close();
    await other.close();
    await app.dispose();
  },
);
