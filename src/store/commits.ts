import type { Awaitable } from "./port.ts";
import type { Queue } from "./queue.ts";

/** The connection that writes. */
interface Writer {
  readonly inTransaction: boolean;
  run(sql: string): void;
  /** Takes the write lock. @param asked when the waiting began */
  begin(asked: number): Promise<void>;
  commit(): void;
  /** Takes back what has been written since {@link begin}. */
  rollBack(): void;
}

/** Transactions that are committed together. */
interface Group {
  readonly began: number;
  /** How many of them have succeeded. */
  size: number;
  readonly committed: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum transactions of a group, and the milliseconds after which it takes no more. */
const MOST = 32;
const OPEN_MS = 10;

/**
 * Runs transactions one after another, and commits those together that wait at the same time: a commit writes a page of
 * each index that a transaction has changed, which takes longer than the rest of it, and most transactions change the
 * same pages (docs/performance.md). None of them ends before the commit, and one that fails takes back only its own
 * changes.
 */
export class Commits {
  readonly #queue: Queue;
  readonly #writer: Writer;
  #group: Group | undefined;
  /** Whether the writer keeps what savepoints need in memory. */
  #isPrepared = false;

  /** @param queue of all that uses the writer */
  constructor(queue: Queue, writer: Writer) {
    this.#queue = queue;
    this.#writer = writer;
  }

  /** Runs a transaction that is committed alone. */
  alone<T>(work: () => Awaitable<T>): Promise<T> {
    const asked = performance.now();
    return this.#queue.add(async () => {
      this.end();
      await this.#writer.begin(asked);
      try {
        const result = await work();
        this.#writer.commit();
        return result;
      } catch (error) {
        this.#rollBack();
        throw error;
      }
    });
  }

  /** Runs a transaction that may be committed together with others. */
  async together<T>(work: () => Awaitable<T>): Promise<T> {
    const asked = performance.now();
    const { result, committed } = await this.#queue.add(async () => {
      this.#group ??= await this.#begin(asked);
      const { committed } = this.#group;
      try {
        return { result: await this.#add(this.#group, work), committed };
      } finally {
        if (!this.#isOpen()) this.end();
      }
    });
    await committed;
    return result;
  }

  /** Commits the transactions that have run, if there are any. To be called by tasks of the queue only. */
  end(): void {
    const group = this.#group;
    if (!group) return;
    this.#group = undefined;
    try {
      this.#writer.commit();
      group.resolve();
    } catch (error) {
      this.#rollBack();
      group.reject(error);
    }
  }

  async #begin(asked: number): Promise<Group> {
    if (!this.#isPrepared) {
      // What a savepoint keeps of changed pages would go to a file otherwise. Only migrations, which come before, sort
      // much.
      this.#writer.run("pragma temp_store = memory");
      this.#isPrepared = true;
    }
    // Lets the other requests in that have arrived.
    await new Promise<void>((resolve) => setImmediate(resolve));
    await this.#writer.begin(asked);
    let resolve: Group["resolve"] = () => undefined;
    let reject: Group["reject"] = resolve;
    const committed = new Promise<void>((succeed, fail) => {
      resolve = succeed;
      reject = fail;
    });
    // The only one may have failed already, and then nobody waits for the commit.
    committed.catch(() => undefined);
    return { began: performance.now(), size: 0, committed, resolve, reject };
  }

  async #add<T>(group: Group, work: () => Awaitable<T>): Promise<T> {
    const writer = this.#writer;
    // What fails first takes everything back.
    const isApart = group.size > 0;
    if (isApart) writer.run("savepoint one");
    try {
      const result = await work();
      if (isApart) writer.run("release one");
      group.size += 1;
      return result;
    } catch (error) {
      if (isApart && writer.inTransaction) {
        writer.run("rollback to one");
        writer.run("release one");
      } else {
        this.#group = undefined;
        this.#rollBack();
        // A full disk, for example, ends the transaction of all.
        group.reject(error);
      }
      throw error;
    }
  }

  #isOpen(): boolean {
    const group = this.#group;
    return (
      group !== undefined &&
      this.#queue.length > 1 &&
      group.size < MOST &&
      performance.now() - group.began < OPEN_MS
    );
  }

  #rollBack(): void {
    if (this.#writer.inTransaction) this.#writer.rollBack();
  }
}
