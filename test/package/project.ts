import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** A user's project, in its own folder. */
export interface Project {
  readonly folder: string;
  /** Links installed packages into it. */
  link(names: readonly string[]): Promise<void>;
  /** Runs Node in it. @returns the output. @throws with `stderr` on failure */
  node(args: readonly string[], env?: Record<string, string>): Promise<string>;
  remove(): Promise<void>;
}

/**
 * Creates a project with the package as `npm pack` packs it, its `dependencies` and nothing else.
 *
 * @param without dependencies to leave out
 */
export async function newProject({ without = [] as readonly string[] } = {}): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "pm-api-project-"));
  const modules = join(folder, "node_modules");
  const installed = join(modules, "pm-api");
  await mkdir(installed, { recursive: true });
  const { stdout } = await run(
    "npm",
    ["pack", "--json", "--ignore-scripts", "--pack-destination", folder],
    { cwd: root, maxBuffer: 16 * 1024 * 1024 },
  );
  const [{ filename }] = JSON.parse(stdout);
  await run("tar", ["-xzf", join(folder, filename), "-C", installed, "--strip-components", "1"]);
  await rm(join(folder, filename));
  const { dependencies, optionalDependencies } = JSON.parse(
    await readFile(join(installed, "package.json"), "utf8"),
  );

  const link = async (names: readonly string[]) => {
    for (const name of names) {
      const target = join(modules, name);
      await mkdir(dirname(target), { recursive: true });
      await symlink(join(root, "node_modules", name), target, "junction");
    }
  };
  const all = Object.keys({ ...dependencies, ...optionalDependencies });
  await link(
    all.filter((name) => !without.includes(name) && existsSync(join(root, "node_modules", name))),
  );
  return {
    folder,
    link,
    node: async (args, env = {}) => {
      const { NODE_OPTIONS: _, NODE_PATH: __, ...own } = process.env;
      const options = { cwd: folder, env: { ...own, ...env }, timeout: 60_000 };
      return (await run(process.execPath, args, options)).stdout;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
