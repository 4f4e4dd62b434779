import { Agent, request } from "node:http";
import { HEADERS } from "./operations.ts";
import type { Server } from "./processes.ts";

/** Latency of reads, in milliseconds. */
export interface Latency {
  median: number;
  p99: number;
  reads: number;
}

/** Measures reads, one after the other, for some seconds. */
export async function reads(server: Server, seconds: number): Promise<Latency> {
  const end = performance.now() + seconds * 1000;
  return readsWhile(server, () => performance.now() < end);
}

/** Measures reads, one after the other, as long as they are wanted. */
export async function readsWhile(server: Server, isWanted: () => boolean): Promise<Latency> {
  const agent = new Agent({ keepAlive: true });
  const took: number[] = [];
  while (isWanted()) {
    const started = performance.now();
    await ask(`${server.url}/api/v4/user`, { headers: HEADERS, agent }, 200);
    took.push(performance.now() - started);
  }
  agent.destroy();
  return latencyOf(took);
}

/** @param took milliseconds of each */
export function latencyOf(took: number[]): Latency {
  took.sort((a, b) => a - b);
  const at = (share: number) => took[Math.floor(took.length * share)] as number;
  return { median: at(0.5), p99: at(0.99), reads: took.length };
}

/** The latency of several spans of time: the median of theirs, weighted by nothing. */
export function joined(parts: readonly Latency[]): Latency {
  const middle = (numbers: number[]) =>
    numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] as number;
  return {
    median: middle(parts.map(({ median }) => median)),
    p99: middle(parts.map(({ p99 }) => p99)),
    reads: parts.reduce((sum, part) => sum + part.reads, 0),
  };
}

/** Sends a request, and waits for the whole answer. @throws Error if it has another status */
export function ask(
  url: string,
  options: { method?: string; headers: Record<string, string>; agent: Agent },
  expected: number,
  body?: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, options, (response) => {
      response.resume();
      response.on("end", () => {
        if (response.statusCode === expected) resolve();
        else reject(new Error(`${url}: ${response.statusCode} where ${expected} was expected`));
      });
    })
      .once("error", reject)
      .end(body);
  });
}
