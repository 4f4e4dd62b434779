/** See runtimes.mjs. */
interface Runtime {
  name: "Bun" | "Deno" | "Node with node:sqlite";
  /** Program and arguments before a script; `undefined` where this platform hasn't got it. */
  command: string[] | undefined;
  env?: Record<string, string>;
}

export const runtimes: Runtime[];
