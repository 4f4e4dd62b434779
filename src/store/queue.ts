/** Runs tasks one after another: what keeps transactions apart on a single connection. */
export class Queue {
  #tail: Promise<unknown> = Promise.resolve();
  #length = 0;

  /** Whether nothing runs or waits. */
  get idle(): boolean {
    return this.#length === 0;
  }

  /** Runs `task` after everything added before it has ended, however it ended. */
  add<T>(task: () => T | Promise<T>): Promise<T> {
    this.#length += 1;
    const result = this.#tail.then(task).finally(() => {
      this.#length -= 1;
    });
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
