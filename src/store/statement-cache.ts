/** Maximum cached statements. */
export const MOST_STATEMENTS = 1000;
/** Maximum characters of all their texts together. SQLite needs about 70 bytes per character. */
export const MOST_CHARACTERS = 500_000;
/** Longer statements are not cached: they were built for one request. All others have at most 3,600 characters. */
const LONGEST_STATEMENT = 10_000;

/**
 * Cache of prepared statements by their text, limited in number and size. It evicts the least recently used ones.
 */
export class StatementCache<Statement> {
  readonly #statements = new Map<string, Statement>();
  readonly #evicted: (statement: Statement) => void;
  #characters = 0;

  /** @param evicted frees an evicted statement */
  constructor(evicted: (statement: Statement) => void) {
    this.#evicted = evicted;
  }

  /** Returns the statement of a text if it is cached, and marks it as used. */
  get(sql: string): Statement | undefined {
    const statement = this.#statements.get(sql);
    if (statement === undefined) return undefined;
    // Maps keep the order of insertion, so the first statement is the least recently used one.
    this.#statements.delete(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Caches a statement that is not cached yet. Returns false if it is too long. */
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

  /** Evicts all statements. */
  clear(): void {
    for (const statement of this.#statements.values()) this.#evicted(statement);
    this.#statements.clear();
    this.#characters = 0;
  }
}
