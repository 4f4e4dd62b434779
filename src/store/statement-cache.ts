/** Maximum cached statements. */
export const MAX_STATEMENTS = 1000;
/** Maximum characters of all their texts together. SQLite needs about 70 bytes per character. */
export const MAX_CHARACTERS = 500_000;
/**
 * Longer statements are not cached: they were built for one request. The longest of the others, which list events of all kinds that
 * somebody may see, have 17,000 characters.
 */
const MAX_STATEMENT_LENGTH = 20_000;

/**
 * Cache of prepared statements by their text, limited in number and size. It has two generations, so that a hit costs one
 * look-up: a statement used while it is in the older one moves to the newer one, and once the newer one holds half of
 * what is allowed, the older one is evicted.
 */
export class StatementCache<Statement> {
  #newer = new Map<string, Statement>();
  #older = new Map<string, Statement>();
  #characters = 0;
  readonly #evicted: (statement: Statement) => void;

  /** @param evicted frees an evicted statement */
  constructor(evicted: (statement: Statement) => void) {
    this.#evicted = evicted;
  }

  /** Returns the statement of a text if it is cached, and marks it as used. */
  get(sql: string): Statement | undefined {
    const newer = this.#newer.get(sql);
    if (newer !== undefined) return newer;
    const older = this.#older.get(sql);
    if (older === undefined) return undefined;
    this.#older.delete(sql);
    this.#add(sql, older);
    return older;
  }

  /** Caches a statement that is not cached yet. Returns false if it is too long. */
  set(sql: string, statement: Statement): boolean {
    if (sql.length > MAX_STATEMENT_LENGTH) return false;
    this.#add(sql, statement);
    return true;
  }

  /** Evicts all statements. */
  clear(): void {
    this.#turn();
    this.#turn();
  }

  #add(sql: string, statement: Statement): void {
    const isFull =
      this.#newer.size >= MAX_STATEMENTS / 2 || this.#characters + sql.length > MAX_CHARACTERS / 2;
    if (isFull) this.#turn();
    this.#newer.set(sql, statement);
    this.#characters += sql.length;
  }

  #turn(): void {
    for (const statement of this.#older.values()) this.#evicted(statement);
    this.#older = this.#newer;
    this.#newer = new Map();
    this.#characters = 0;
  }
}
