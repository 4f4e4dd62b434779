import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

/** How much of what a program said is shown when it ends. */
const SHOWN_CHARACTERS = 4000;

/**
 * The lines of a program's standard output, one at a time.
 *
 * @param child with pipes as standard output and standard error
 * @returns reads the next line; it throws with what the program said on standard error if it ended instead
 */
export function linesOf(child: ChildProcess): () => Promise<string> {
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error("Standard output and standard error must be pipes");
  let said = "";
  stderr.setEncoding("utf8").on("data", (text: string) => {
    process.stderr.write(text);
    said = (said + text).slice(-SHOWN_CHARACTERS);
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return async () => {
    const { done, value } = await lines.next();
    if (!done) return value;
    await closed;
    const end = child.signalCode ?? `exit code ${child.exitCode}`;
    throw new Error(`${child.spawnargs.join(" ")} ended (${end}):\n${said}`);
  };
}
