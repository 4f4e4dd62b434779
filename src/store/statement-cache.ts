/** The most statements that are kept. */
export const MOST_STATEMENTS = 1000;
/** The most characters of their texts in all. In SQLite a statement takes about 70 bytes for each. */
export const MOST_CHARACTERS = 500_000;
/** A longer text is not kept: it was put together for one request. The others have up to 3,600 characters. */
const LONGEST_STATEMENT = 10_000;

/**
 * Prepared statements by their text, bounded in number and in size. The one that was used least recently makes room for
 * a new one.
 */
export class StatementCache<Statement> {
  readonly #statements = new Map<string, Statement>();
  readonly #evicted: (statement: Statement) => void;
  #characters = 0;

  /** @param evicted frees a statement that is not kept any longer */
  constructor(evicted: (statement: Statement) => void) {
    this.#evicted = evicted;
  }

  /** The statement of a text, if it is kept; it has now been used. */
  get(sql: string): Statement | undefined {
    const statement = this.#statements.get(sql);
    if (statement === undefined) return undefined;
    // A map is in the order of insertion: the first one is the one that was used least recently.
    this.#statements.delete(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Keeps a statement, whose text is not kept yet. Returns whether it does. */
  set(sql: string, statement: Statement): boolean {
    if (sql.length > LONGEST_STATEMENT) return false;
    this.#statements.set(sql, statement);
    this.#characters += sql.length;
    for (const [oldest, old] of this.#statements) {
      if (this.#statements.size <= MOST_STATEMENTS && this.#characters <= MOST_CHARACTERS) break;
      this.#statements.delete(oldest);
      this.#characters -= oldest.length;
      this.#evicted(old);
    }
    return true;
  }

  /** Evicts all. */
  clear(): void {
    for (const statement of this.#statements.values()) this.#evicted(statement);
    this.#statements.clear();
    this.#characters = 0;
  }
}
