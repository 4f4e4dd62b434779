import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

// What the tests that run suites of Python share. The suites are installed into a folder that is removed afterwards.

const run = promisify(execFile);

/** What a program printed, and how it ended. */
interface Ran {
  readonly code: number;
  readonly output: string;
}

/** Whether there is a Python of at least 3.11, with which the suites run; says if not. */
export function hasPython(): boolean {
  const isNew = "import sys; sys.exit(sys.version_info < (3, 11))";
  const has = spawnSync("python3", ["-c", isNew]).status === 0;
  if (!has) console.warn("not tested, since there is no Python 3.11");
  return has;
}

/** A virtual environment with the packages of a file beside this one. */
export async function newEnvironment(requirements: string) {
  const folder = mkdtempSync(join(tmpdir(), "pm-api-suite-"));
  const bin = join(folder, "venv/bin");
  const file = fileURLToPath(new URL(requirements, import.meta.url));
  await run("python3", ["-m", "venv", "venv"], { cwd: folder });
  await run(join(bin, "python"), ["-m", "pip", "install", "-q", "-r", file], { cwd: folder });
  /** Runs one of its programs. @param variables added to the environment */
  const start = async (program: string, args: string[], variables = {}, cwd = folder) => {
    const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}`, ...variables };
    const options = { cwd, env, maxBuffer: 2 ** 30 };
    const { error, ...printed } = await run(join(bin, program), args, options).then(
      (done) => ({ ...done, error: undefined }),
      (error) => ({ stdout: "", stderr: "", ...error, error }),
    );
    const code = error === undefined ? 0 : Number(error.code ?? 1);
    return { code, output: String(printed.stdout) + String(printed.stderr) } satisfies Ran;
  };
  return { folder, start };
}
