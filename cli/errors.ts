import type { ApiError, OptionError, StoreError } from "../src/index.ts";
import { command } from "./hints.ts";

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command failed; the message says what to do next: exit code 1. */
export class Failure extends Error {
  override readonly name = "Failure";
}

/** The command failed, and a worker has already printed why. */
export class WorkerFailure extends Error {
  override readonly name = "WorkerFailure";

  /** @param code the worker's exit code */
  constructor(readonly code: 1 | 2) {
    super("a worker failed");
  }
}

/** How a failed command ends: a line to print, unless that was done already, and the exit code. */
export interface Ending {
  line?: string;
  code: 1 | 2;
}

/** The commands whose `list` shows each kind of record. */
const LISTED_BY: Readonly<Record<string, readonly string[]>> = {
  User: ["user"],
  Group: ["group"],
  Project: ["project"],
  Namespace: ["group", "user"],
  Token: ["token"],
  "SCIM token": ["scim"],
  Application: ["app"],
};
const OTHER_DATABASE = "choose another with --db (or PM_DB)";

/**
 * What to print for an error, or `undefined` if it is unexpected. The library's errors are recognized by name, so that
 * the library need not be loaded.
 */
export function endingOf(error: unknown): Ending | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  switch (error.name) {
    case "UsageError":
      return { line: message, code: 2 };
    case "Failure":
      return { line: message, code: 1 };
    case "WorkerFailure":
      return { code: (error as WorkerFailure).code };
    case "ExitPromptError":
      return { line: "cancelled, nothing was done", code: 1 };
    case "ApiError":
      return endingOfRefusal(error as ApiError);
    case "OptionError":
      return { line: `${optionLine(error as OptionError)}: correct it and try again`, code: 2 };
    case "DependencyError":
      return { line: `${message}. Nothing was changed: correct it and try again`, code: 1 };
    case "SeedError":
      return { line: `${message}. Nothing was written: correct the seed and try again`, code: 1 };
    case "ConstraintError":
      return {
        line: `the data contradicts itself (${message}). Nothing was written: correct it and try again`,
        code: 1,
      };
    case "SecretKeyError":
    case "SourceError":
      return { line: message, code: 1 };
    case "StoreError":
      return { line: storeLine(error as StoreError), code: 1 };
    case "UnavailableError":
      return { line: unavailableLine(error), code: 1 };
  }
  const next = databaseHint(error);
  return next
    ? { line: `cannot use the database: ${message}. ${sentence(next)}`, code: 1 }
    : undefined;
}

/** An error as the log shows it, with its stack if it is a bug. */
export function describe(error: unknown): { message: string; stack?: string } {
  if (!(error instanceof Error)) return { message: String(error) };
  const isExpected = /^(UnavailableError|OutageEnded)$/.test(error.name);
  return { message: error.message, ...(error.stack && !isExpected ? { stack: error.stack } : {}) };
}

/** What is wrong with an answer according to an error, or `undefined` if the error is not about the answer. */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name === "UsageError") return sentence(error.message.replace(/^--[\w-]+: /, ""));
  if (error.name === "OptionError") return sentence((error as OptionError).problem);
  if (error.name !== "ApiError") return undefined;
  const { record } = error as ApiError;
  return record === undefined
    ? sentence(messageOf(error as ApiError))
    : `There is no such ${record}`;
}

function optionLine({ option, problem }: OptionError): string {
  return option === "" ? problem : `${option} ${problem}`;
}

function messageOf({ body }: ApiError): string {
  return textOf((body as { message?: unknown }).message ?? body).replace(/\.$/, "");
}

function endingOfRefusal(error: ApiError): Ending {
  const { status, record } = error;
  if (record !== undefined) {
    const lists = (LISTED_BY[record] ?? []).map((noun) => `\`${command(`${noun} list`)}\``);
    const all = lists.length > 1 ? "show them all" : "shows them all";
    const hint = lists.length > 0 ? `: ${lists.join(" and ")} ${all}` : "";
    const kind = /^[A-Z]{2}/.test(record) ? record : record.toLowerCase();
    return { line: `there is no such ${kind}${hint}`, code: 1 };
  }
  const message = messageOf(error).replace(/^403 Forbidden - /, "");
  if (status === 400) return { line: `${message}: correct it and try again`, code: 2 };
  return { line: status === 409 ? `${message}: choose another` : message, code: 1 };
}

/** The message, or the problems of each attribute. */
function textOf(message: unknown): string {
  if (typeof message !== "object" || message === null) return String(message);
  return Object.entries(message)
    .map(([name, problems]) => `${name} ${[problems].flat().join(", ")}`)
    .join("; ");
}

/** What to do if a database cannot be used, by error code; the messages of `newer` and `driver` say it themselves. */
const STORE_HINTS: Partial<Record<StoreError["code"], string>> = {
  newer: "",
  driver: "",
  older: ": `pm-cli db migrate` does that",
  not_empty: ". Choose another with --to, or empty it",
  not_ours: `. ${sentence(OTHER_DATABASE)}`,
  differs: ". The target was left empty: check both with `pm-cli db check`",
  unsupported: ", such as `pg_dump --format=custom --file=pm.dump URL` and `pg_restore`",
  same_file: ". Nothing was written: name another file",
  exists: ". Nothing was written: name another file, or replace it with --force",
  not_written: ". Name a file in an existing folder that you may write to",
  damaged: ". Nothing was changed: choose another backup",
  in_use: ". Nothing was changed: stop its servers first",
  unreachable: ". Check that it runs and that the URL in --db (or PM_DB) is right",
};

function storeLine({ message, code, cause }: StoreError): string {
  // If a host has several addresses, the error of trying them all has no message of its own.
  const first = cause instanceof AggregateError ? (cause.errors[0] as Error).message : "";
  const hint =
    STORE_HINTS[code] ??
    `. ${sentence(databaseHint(cause) ?? "choose a file in an existing folder with --db (or PM_DB)")}`;
  return `${message}${first}${hint}`;
}

function unavailableLine({ message, cause }: Error): string {
  const { code } = (cause ?? {}) as { code?: unknown };
  const next = /^SQLITE_/.test(String(code))
    ? databaseHint(cause)
    : "check that the database server runs, and try again";
  return `${message}. ${sentence(next as string)}`;
}

/** What to do about an error of SQLite or PostgreSQL, or `undefined` if it is from neither. */
function databaseHint(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  if (typeof code !== "string") return undefined;
  if (severity !== undefined) return "check what the user in --db (or PM_DB) may do there";
  const kind = /^SQLITE_([A-Z]+)/.exec(code)?.[1];
  switch (kind) {
    case undefined:
      return undefined;
    case "BUSY":
    case "LOCKED":
      return "another process is writing to it: try again";
    case "READONLY":
    case "PERM":
    case "AUTH":
      return `get permission to write it, or ${OTHER_DATABASE}`;
    case "NOTADB":
    case "CORRUPT":
      return `restore a backup of it, or ${OTHER_DATABASE}`;
    case "ERROR":
      return `check that it is a database of pm-api, or ${OTHER_DATABASE}`;
    case "FULL":
    case "IOERR":
      return "check the disk it is on";
    default:
      return `check that it is a file in a folder you may write, or ${OTHER_DATABASE}`;
  }
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
