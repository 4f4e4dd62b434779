// What the engines' SQL has in common is written once; what differs is rewritten here, and nowhere else.

const TOKEN = /('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\w+|.)(\s*)/gsu;

/** A piece of SQL: a literal, a quoted name, a comment, a word or number, or a single other character. */
interface Token {
  readonly text: string;
  /** The white space behind it. */
  readonly space: string;
}

/** Divides a statement into pieces which make up its text, from its first character that is no white space. */
function tokensOf(sql: string): Token[] {
  return Array.from(
    sql.trimStart().matchAll(TOKEN),
    ([, text, space]) => ({ text, space }) as Token,
  );
}

/** Whether the pieces from a place on have these texts. */
function follow(tokens: readonly Token[], at: number, texts: readonly string[]): boolean {
  return texts.every((text, offset) => tokens[at + offset]?.text === text);
}

/**
 * A statement as SQLite gets it. Since 3.47 it uses bound limits for planning, and therefore plans again whenever the limit
 * is bound again.
 */
export function forSqlite(sql: string): string {
  if (!sql.includes("limit ?")) return sql;
  let before = "";
  return tokensOf(sql)
    .map(({ text, space }) => {
      const isLimit = text === "?" && before === "limit";
      before = text;
      return `${text}${isLimit ? " + 0" : ""}${space}`;
    })
    .join("");
}

/** Functions with another name in PostgreSQL. */
const NAMES: Readonly<Record<string, string>> = {
  instr: "strpos",
  group_concat: "string_agg",
  last_insert_rowid: "lastval",
};

/** A statement in PostgreSQL's words, and of how many values each of its parameters consists. */
export function forPostgres(sql: string): { text: string; sizes: number[] } {
  const tokens = tokensOf(sql);
  const sizes: number[] = [];
  const parameter = (size: number) => `$${sizes.push(size)}`;
  let text = "";
  for (let at = 0; at < tokens.length; at += 1) {
    const { text: word, space } = tokens[at] as Token;
    const isNegated = word === "not" && tokens[at + 1]?.text === "in";
    const size = isNegated
      ? listSize(tokens, at + 2)
      : word === "in"
        ? listSize(tokens, at + 1)
        : 0;
    if (size > 1) {
      // A list becomes one array: PostgreSQL then plans a statement once for all of its lists, and not for the values of
      // each, which takes longer than reading some rows.
      const last = at + (isNegated ? 1 : 0) + 1 + 2 * size;
      text += `${isNegated ? "<> all(" : "= any("}${parameter(size)})${tokens[last]?.space}`;
      at = last;
    } else if (word === "?") text += `${parameter(1)}${space}`;
    else if (follow(tokens, at, ["lower", "(", "?", ")"])) {
      // A bound text has the database's collation, with which it would fold more letters than on columns and in SQLite.
      text += `lower(${parameter(1)} collate "C")${tokens[at + 3]?.space}`;
      at += 3;
    } else if (tokens[at + 1]?.text === "(" && Object.hasOwn(NAMES, word)) text += NAMES[word];
    else text += `${word}${space}`;
  }
  return { text, sizes };
}

/** How many placeholders a list has which begins at a place; 0 if there is none, or something else is in it. */
function listSize(tokens: readonly Token[], at: number): number {
  if (!follow(tokens, at, ["(", "?"])) return 0;
  let size = 1;
  while (follow(tokens, at + 2 * size, [",", "?"])) size += 1;
  return tokens[at + 2 * size]?.text === ")" ? size : 0;
}
