/** The `--db` that commands in hints need, to be about the same database. */
let flag = "";

/** Has {@link command} name a database, where it isn't the one that is taken anyway. */
export function hintAt(database: string): void {
  const isUrl = /^postgres(ql)?:\/\//.test(database);
  // A URL may hold a password, which is not repeated.
  const shown = isUrl ? "URL" : /^[\w./-]+$/.test(database) ? database : `'${database}'`;
  flag = database === (process.env["PM_DB"] ?? "pm.db") ? "" : ` --db ${shown}`;
}

/** A command as hints show it, on the database that was used: `pm-cli user list --db p.db`. */
export function command(words: string): string {
  return `pm-cli ${words}${flag}`;
}
