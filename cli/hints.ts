/** The `--db` that commands in hints need to use the same database. */
let flag = "";

/** Makes {@link command} name a database, if it isn't the default. */
export function hintAt(database: string): void {
  const isUrl = /^postgres(ql)?:\/\//.test(database);
  // A URL may hold a password, which is not repeated.
  const name = isUrl ? "URL" : /^[\w./-]+$/.test(database) ? database : `'${database}'`;
  const isDefault = database === (process.env["PM_DB"] ?? "pm.db");
  flag = !isDefault ? ` --db ${name}` : configured ? ` --config ${configured}` : "";
}

/** The file whose database a command needs `--config` for; `""` for none. */
let configured = "";

/** Makes {@link command} name a file of settings that a command line has named, as the next one would not know it. */
export function hintAtConfig(file: string): void {
  configured = /^[\w./-]+$/.test(file) ? file : `'${file}'`;
}

/** A command for hints, on the database in use: `pm-cli user list --db p.db`. */
export function command(words: string): string {
  return `pm-cli ${words}${flag}`;
}
