import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { Option } from "commander";
import type { Admin, App, AppOptions } from "../src/index.ts";
import { Failure, UsageError } from "./errors.ts";
import { hintAt } from "./hints.ts";

/** The option `--db`, as commands receive it. */
export interface DatabaseOptions {
  db: string;
}

/** The option `--db`. */
export const databaseOption = () =>
  new Option("--db <file>", "SQLite file, or a postgres:// URL").env("PM_DB").default("pm.db");

/**
 * Opens the application on a database. The library is loaded only here, so that parsing the command line is fast.
 *
 * @throws Failure if the database is a read-only file
 */
export async function openApp(options: AppOptions & { database: string }): Promise<App> {
  const { database } = options;
  if (isFile(database) && existsSync(database)) requireWritable(database);
  const { createApp } = await import("../src/index.ts");
  const { PM_SECRET_KEY: secretKey, PM_SECRET_KEY_FILE: secretKeyFile } = process.env;
  return createApp({
    // Only a server cleans up its database.
    background: false,
    ...(secretKey && { secretKey }),
    ...(secretKeyFile && { secretKeyFile }),
    ...options,
  });
}

/**
 * Opens a database, runs `work` with the operators' API, and closes it.
 *
 * @param options `create`: whether to create a missing SQLite file, as in commands people begin with; it is removed
 *   again if `work` fails. `url`: the server's public address
 */
export async function withAdmin<T>(
  database: string,
  work: (admin: Admin) => Promise<T>,
  options: { create?: boolean; url?: string | undefined } = {},
): Promise<T> {
  if (database === ":memory:") {
    throw new UsageError(
      "a database in memory is empty, and gone when the command ends: name a file or a postgres:// URL with --db (or PM_DB). " +
        "A server has one of its own with `pm-cli serve --db :memory:`",
    );
  }
  return onDatabase(database, work, options);
}

async function onDatabase<T>(
  database: string,
  work: (admin: Admin) => Promise<T>,
  options: { create?: boolean; url?: string | undefined },
): Promise<T> {
  if (!options.create) requireThere(database);
  hintAt(database);
  const isNew = isFile(database) && !existsSync(database);
  const { url } = options;
  const app = await openApp({ database, ...(url === undefined ? {} : { url }) });
  try {
    return await work(app.admin).finally(app.close);
  } catch (error) {
    if (isNew) {
      const { removeDatabase } = await import("../src/index.ts");
      // It is not removed while another process has it open.
      await removeDatabase(database).catch(() => undefined);
    }
    throw error;
  }
}

/**
 * Like {@link withAdmin}, for checking answers before they are used. If the database doesn't exist yet and will be
 * created, uses an empty one in memory.
 *
 * @param options `create`: as in {@link withAdmin}
 */
export function withChecks<T>(
  database: string,
  work: (admin: Admin) => Promise<T>,
  { create = false }: { create?: boolean } = {},
): Promise<T> {
  const isYetToBeMade = create && isFile(database) && !existsSync(database);
  return onDatabase(isYetToBeMade ? ":memory:" : database, work, {});
}

/** Checks that a SQLite file exists, since opening would create it. @throws Failure */
export function requireThere(database: string): void {
  if (isFile(database) && !existsSync(database)) {
    throw new Failure(
      `there is no database ${database}: name another with --db (or PM_DB), or create it with \`pm-cli seed\` or \`pm-cli user create\``,
    );
  }
}

/** SQLite also opens read-only files, and then fails at the first write. */
function requireWritable(file: string): void {
  try {
    accessSync(file, constants.W_OK);
  } catch {
    throw new Failure(
      `no permission to write the database ${file}: grant it, or choose another with --db (or PM_DB)`,
    );
  }
}

/** The file with the key of a database's secrets, if it exists. */
export function keyFileOf(database: string): string | undefined {
  if (process.env["PM_SECRET_KEY"]) return undefined;
  const file = process.env["PM_SECRET_KEY_FILE"] ?? defaultKeyFile(database);
  return file !== undefined && existsSync(file) ? file : undefined;
}

/** The library's default file for that key. */
export function defaultKeyFile(database: string): string | undefined {
  if (!isFile(database)) return undefined;
  return `${existsSync(database) ? realpathSync(database) : database}.key`;
}

/** Whether secrets of a database can be encrypted: a SQLite file gets a key with the first one. */
export function hasKey(database: string): boolean {
  const { PM_SECRET_KEY: key, PM_SECRET_KEY_FILE: file } = process.env;
  return Boolean(key || file) || isFile(database);
}

/** A database's name for messages, without the password a URL may contain. */
export function nameOf(database: string): string {
  if (!isUrl(database)) return database;
  if (!URL.canParse(database)) return "the PostgreSQL database";
  const { protocol, host, pathname } = new URL(database);
  return `${protocol}//${host}${pathname}`;
}

const isUrl = (database: string) => /^postgres(ql)?:\/\//.test(database);

/** Whether a database is a SQLite file. */
export const isFile = (database: string) => !isUrl(database) && database !== ":memory:";
