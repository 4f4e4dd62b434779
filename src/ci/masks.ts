import type { Circumstances } from "./types.ts";

/** Replaces the values of masked variables in what a configuration's readers see: paths, addresses and mistakes. */
export function maskOf({ variables, masked }: Circumstances): (text: string) => string {
  const secrets = variables
    .filter(({ key, value }) => masked?.has(key) && value !== "")
    .map(({ value }) => value)
    .sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, "[MASKED]"), text);
}
