/** See runtimes.mjs. */
interface Runtime {
  name: "Bun" | "Deno" | "Node with node:sqlite";
  /** Program and arguments before a script; `undefined` if it is not available on this platform. */
  command: string[] | undefined;
  env?: Record<string, string>;
}

export const runtimes: Runtime[];
