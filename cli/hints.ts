/** The `--db` that commands in hints need to use the same database. */
let flag = "";

/** Makes {@link command} name a database, if it isn't the default. */
export function hintAt(database: string): void {
  const isUrl = /^postgres(ql)?:\/\//.test(database);
  // A URL may hold a password, which is not repeated.
  const name = isUrl ? "URL" : /^[\w./-]+$/.test(database) ? database : `'${database}'`;
  flag = database === (process.env["PM_DB"] ?? "pm.db") ? "" : ` --db ${name}`;
}

/** A command for hints, on the database in use: `pm-cli user list --db p.db`. */
export function command(words: string): string {
  return `pm-cli ${words}${flag}`;
}
