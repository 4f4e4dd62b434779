import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { Option } from "commander";
import type { Admin, App, AppOptions } from "../src/index.ts";
import { Failure } from "./errors.ts";
import { hintAt } from "./hints.ts";

/** `--db`, as every command has it. */
export interface DatabaseOptions {
  db: string;
}

/** The option `--db`. */
export const databaseOption = () =>
  new Option("--db <file>", "SQLite file, or a postgres:// URL").env("PM_DB").default("pm.db");

/**
 * Opens the application on a database. The library is loaded here, not where the command line is read.
 *
 * @throws Failure where the database is a file that may not be written
 */
export async function openApp(options: AppOptions & { database: string }): Promise<App> {
  const { database } = options;
  if (isFile(database) && existsSync(database)) requireWritable(database);
  const { createApp } = await import("../src/index.ts");
  const { PM_SECRET_KEY: secretKey, PM_SECRET_KEY_FILE: secretKeyFile } = process.env;
  return createApp({
    // Only a server looks after its database.
    background: false,
    ...(secretKey && { secretKey }),
    ...(secretKeyFile && { secretKeyFile }),
    ...options,
  });
}

/**
 * Opens a database, lets `work` do what operators do there, and closes it.
 *
 * @param options `create`: whether a missing SQLite file is created, as in commands people begin with; it is removed again
 *   if `work` fails. `url`: the address clients reach the server by
 */
export async function withAdmin<T>(
  database: string,
  work: (admin: Admin) => Promise<T>,
  options: { create?: boolean; url?: string | undefined } = {},
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
      // Somebody else who has it open keeps it.
      await removeDatabase(database).catch(() => undefined);
    }
    throw error;
  }
}

/**
 * What answers are checked with before they are used: the database, or an empty one where it is yet to be made.
 *
 * @param options `create`: as {@link withAdmin} has it
 */
export function withChecks<T>(
  database: string,
  work: (admin: Admin) => Promise<T>,
  { create = false }: { create?: boolean } = {},
): Promise<T> {
  const isYetToBeMade = create && isFile(database) && !existsSync(database);
  return withAdmin(isYetToBeMade ? ":memory:" : database, work);
}

/** @throws Failure where a SQLite file isn't there, which would otherwise be made */
export function requireThere(database: string): void {
  if (isFile(database) && !existsSync(database)) {
    throw new Failure(
      `there is no database ${database}: name another with --db (or PM_DB), or make it with \`pm-cli seed\` or \`pm-cli user create\``,
    );
  }
}

/** SQLite opens what it may only read, and then fails at the first write. */
function requireWritable(file: string): void {
  try {
    accessSync(file, constants.W_OK);
  } catch {
    throw new Failure(
      `may not write the database ${file}: give yourself the right to, or choose another with --db (or PM_DB)`,
    );
  }
}

/** The file with the key of a database's secrets, where there is one. */
export function keyFileOf(database: string): string | undefined {
  if (process.env["PM_SECRET_KEY"]) return undefined;
  const file = process.env["PM_SECRET_KEY_FILE"] ?? defaultKeyFile(database);
  return file !== undefined && existsSync(file) ? file : undefined;
}

/** Where the library keeps that key unless it is told otherwise. */
export function defaultKeyFile(database: string): string | undefined {
  if (!isFile(database)) return undefined;
  return `${existsSync(database) ? realpathSync(database) : database}.key`;
}

/** A database as messages name it: without the password a URL may hold. */
export function nameOf(database: string): string {
  if (!isUrl(database)) return database;
  if (!URL.canParse(database)) return "the PostgreSQL database";
  const { protocol, host, pathname } = new URL(database);
  return `${protocol}//${host}${pathname}`;
}

const isUrl = (database: string) => /^postgres(ql)?:\/\//.test(database);

/** Whether a database is a SQLite file. */
export const isFile = (database: string) => !isUrl(database) && database !== ":memory:";
