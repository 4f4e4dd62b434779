import { spawn } from "node:child_process";
import { Failure } from "./errors.ts";

/** Whether this is the single-file binary, whose script has no file name that another process could run. */
export const isOneFile = /^(\/\$bunfs|B:[\\/]~BUN)[\\/]/.test(process.argv[1] ?? "");

/** This program, running in a child process. */
export interface Child {
  /** Its standard output. Rejects with its standard error if the exit code isn't 0. */
  output: Promise<string>;
  kill(): void;
}

/** Runs this program with other arguments, so that long work doesn't block this process. */
export function runSelf(args: readonly string[]): Child {
  const script = isOneFile ? [] : [...process.execArgv, process.argv[1] as string];
  const env: NodeJS.ProcessEnv = { ...process.env };
  // The child is not a cluster worker.
  delete env["NODE_UNIQUE_ID"];
  delete env["NODE_CHANNEL_FD"];
  const child = spawn(process.execPath, [...script, ...args], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text;
    });
  }
  const output = new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(texts.stdout);
      else reject(new Failure(texts.stderr.trim().replace(/^error: /, "") || `ended with ${code}`));
    });
  });
  return { output, kill: () => void child.kill() };
}
