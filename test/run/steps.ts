import { spawn } from "node:child_process";
import { cpuSeconds } from "./cpu.ts";

/** A program to run. */
export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Expected CPU seconds: of those that can start, the longest is first. */
  readonly seconds: number;
  /** How many of the slots it takes. */
  readonly slots: number;
  /** The name of a step that must have succeeded before. */
  readonly after?: string | undefined;
}

/** How a step ended. */
export interface Ending {
  readonly step: Step;
  readonly isOk: boolean;
  readonly output: Buffer;
  /** What it took, by the clock and of CPU time; `cpu` is 0 where that is not known. */
  readonly seconds: number;
  readonly cpu: number;
}

/** Limits a step that hangs. */
const PATIENCE_MILLISECONDS = 85 * 60_000;

/**
 * Runs steps side by side, and shows each one's output when it ends. A step whose predecessor failed is not run.
 *
 * @param slots how many there are; each step takes some of them
 */
export async function runSteps(steps: readonly Step[], slots: number): Promise<Ending[]> {
  const endings: Ending[] = [];
  const waiting = [...steps].sort((a, b) => b.seconds / b.slots - a.seconds / a.slots);
  const running = new Map<Step, Promise<void>>();
  const isReady = ({ after }: Step) =>
    after === undefined || endings.some(({ step, isOk }) => step.name === after && isOk);
  for (;;) {
    const used = [...running.keys()].reduce((total, step) => total + step.slots, 0);
    const fits = (step: Step) => running.size === 0 || used + step.slots <= slots;
    const next = waiting.find((step) => isReady(step) && fits(step));
    if (next) {
      waiting.splice(waiting.indexOf(next), 1);
      const ended = run(next).then((ending) => {
        endings.push(ending);
        running.delete(next);
      });
      running.set(next, ended);
    } else if (running.size > 0) await Promise.race(running.values());
    else return endings;
  }
}

async function run(step: Step): Promise<Ending> {
  const [command = "", ...args] = step.command;
  console.log(`${step.name}: started`);
  const started = performance.now();
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...step.env },
    timeout: PATIENCE_MILLISECONDS,
    killSignal: "SIGKILL",
  });
  const parts: Buffer[] = [];
  let cpu = 0;
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => parts.push(part));
  child.once("exit", () => {
    cpu = sinceLastChild();
  });
  const status = await new Promise((resolve) => {
    child.once("error", (error) => {
      parts.push(Buffer.from(`${error.message}\n`));
      resolve(1);
    });
    child.once("close", resolve);
  });
  const isOk = status === 0;
  const output = Buffer.concat(parts);
  const seconds = (performance.now() - started) / 1000;
  process.stdout.write(output);
  console.log(
    `${step.name}: ${isOk ? "ok" : "failed"} (${seconds.toFixed(0)} s, ${cpu.toFixed(0)} s of CPU)\n`,
  );
  return { step, isOk, output, seconds, cpu };
}

let known = 0;

/** CPU seconds that were added when a child ended: its own, and those of all that it started. */
function sinceLastChild(): number {
  const now = cpuSeconds();
  const added = now - known;
  known = now;
  return added;
}
