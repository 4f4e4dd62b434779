import { readFileSync, statSync } from "node:fs";
import type { Command, Option } from "commander";
import { UsageError } from "./errors.ts";
import { warn } from "./log.ts";

/** Settings without an option: secrets on a command line would show in the list of processes. */
const VARIABLES = ["PM_SECRET_KEY", "PM_SECRET_KEY_FILE", "PM_SQLITE"];

/**
 * Reads the settings file named by `--config` or `PM_CONFIG`, if any. Each setting becomes the environment variable of
 * its name, unless that is set already. So options win over variables and variables over the file, and all are checked
 * in the same way.
 *
 * @param program the commands; `serve` has an option for each setting
 * @returns the file, and the names of the variables that were set
 * @throws UsageError if the file can't be read, or contains an unknown setting
 */
export function applyConfig(
  program: Command,
  argv: readonly string[],
): { file: string; variables: ReadonlySet<string> } | undefined {
  const file = fileOf(argv) ?? process.env["PM_CONFIG"];
  if (file === undefined) return undefined;
  const serve = program.commands.find((command) => command.name() === "serve") as Command;
  const options = new Map(serve.options.map((option) => [option.envVar, option]));
  const known = [...options.keys(), ...VARIABLES].filter(
    (name): name is string => name !== undefined && name !== "PM_CONFIG",
  );
  const variables = new Set<string>();
  for (const [key, value] of Object.entries(read(file))) {
    const name = `PM_${key.toUpperCase()}`;
    if (key !== key.toLowerCase() || !known.includes(name)) {
      throw new UsageError(`${file}: '${key}' is not a setting${suggestion(key, known)}`);
    }
    const text = textOf(value, options.get(name));
    if (text === undefined) {
      throw new UsageError(`${file}: '${key}' must be a text, a number, a boolean or a list`);
    }
    if (process.env[name] !== undefined) continue;
    process.env[name] = text;
    variables.add(name);
    if (/^PM_(SECRET_KEY|SMTP|DB|SIGN_IN)$/.test(name)) warnIfShared(file, name, text);
  }
  return { file, variables };
}

function fileOf(argv: readonly string[]): string | undefined {
  for (const [at, word] of argv.entries()) {
    if (word === "--") return undefined;
    if (word === "--config") return argv[at + 1];
    if (word.startsWith("--config=")) return word.slice("--config=".length);
  }
  return undefined;
}

function read(file: string): object {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read the settings ${file}: ${(error as Error).message}`);
  }
  let settings: unknown;
  try {
    settings = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw new UsageError(`the settings ${file} are not JSON: ${(error as Error).message}`);
  }
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) {
    throw new UsageError(`the settings ${file} must be a JSON object`);
  }
  return settings;
}

/** A setting as the value of its variable. */
function textOf(value: unknown, option: Option | undefined): string | undefined {
  if (typeof value === "boolean") {
    // Flags take true or false, other switches on or off.
    return option?.isBoolean() ? String(value) : value ? "on" : "off";
  }
  // The only setting that is more than a text: a variable has its JSON.
  if (option?.name() === "sign-in" && typeof value === "object" && value !== null) {
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) {
    return value.every((one) => typeof one === "string") ? value.join(",") : undefined;
  }
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

/** Whether a text has the password of an address, or secrets of those by whom people sign in. */
const hasSecret = (text: string) =>
  /:\/\/[^/]*:[^/]*@/.test(text) || /"(client_secret|password)" *:/.test(text);

function warnIfShared(file: string, name: string, text: string): void {
  const isSecret = name === "PM_SECRET_KEY" || hasSecret(text);
  if (!isSecret || process.platform === "win32" || (statSync(file).mode & 0o077) === 0) return;
  warn(`others can read ${file}, which holds a password or key: chmod 600 ${file}`);
}

function suggestion(key: string, known: readonly string[]): string {
  const names = known.map((name) => name.slice("PM_".length).toLowerCase());
  const [near] = names
    .map((name) => ({ name, distance: distanceOf(key.toLowerCase().replaceAll("-", "_"), name) }))
    .sort((a, b) => a.distance - b.distance);
  return near && near.distance <= 3 ? `, did you mean '${near.name}'?` : "";
}

/** The Levenshtein distance; infinite if the lengths differ by more than 3. */
function distanceOf(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 3) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let to = 1; to <= other.length; to += 1) {
      const replaced = (row[to - 1] as number) + (letter === other[to - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[to] as number) + 1, (next[to - 1] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
