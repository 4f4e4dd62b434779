/** The names of all known emoji. The list is long, so it is loaded when the first emoji is given. */
export const knownNames = async (): Promise<ReadonlySet<string>> =>
  (await import("./names.ts")).NAMES;
