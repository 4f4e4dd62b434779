import { readFileSync } from "node:fs";
import type { AppOptions } from "../src/index.ts";
import { UsageError } from "./errors.ts";

/**
 * Reads the providers by which people sign in, whose settings have their names in small letters with underscores, as the
 * settings file has them. `createApp` checks them.
 *
 * @param given the name of a JSON file, or JSON, as a variable may have it
 * @throws UsageError if it can't be read, or is no JSON object
 */
export function readSignIn(given: string): NonNullable<AppOptions["signIn"]> {
  const isJson = /^\s*[[{]/.test(given);
  let settings: unknown;
  try {
    settings = JSON.parse((isJson ? given : readFileSync(given, "utf8")).replace(/^\ufeff/, ""));
  } catch (error) {
    // Neither what was given nor what is wrong with it: that may be a secret.
    if (isJson || error instanceof SyntaxError) throw new UsageError("--sign-in is no JSON");
    throw new UsageError(`cannot read --sign-in: ${(error as Error).message}`);
  }
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) {
    throw new UsageError("--sign-in must be a JSON object");
  }
  return named(settings) as NonNullable<AppOptions["signIn"]>;
}

/** A value whose objects have the names of the library: `client_id` becomes `clientId`. */
function named(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(named);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [
    name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    named(one),
  ]);
  return Object.fromEntries(entries);
}
