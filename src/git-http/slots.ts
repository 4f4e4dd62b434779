import { unavailable } from "../core/errors.ts";

/** Pushes that a process receives at once: each takes memory for as long as its client sends. */
const AT_ONCE = 8;
/** Pushes of one user among them: who sends slowly delays only themselves. */
const OF_USER = 2;
/** Pushes that may wait. */
const WAITING = 64;

interface Waiting {
  readonly userId: number;
  readonly start: () => void;
}

/** The pushes that a process is receiving. */
export class Slots {
  readonly #users = new Map<number, number>();
  readonly #waiting: Waiting[] = [];
  #taken = 0;

  /**
   * Waits until another push can be received.
   *
   * @returns what ends it, to be called once
   * @throws ApiError 503 if too many are waiting already
   */
  async take(userId: number): Promise<() => void> {
    if (!this.#hasRoom(userId)) {
      if (this.#waiting.length >= WAITING) throw unavailable();
      await new Promise<void>((start) => this.#waiting.push({ userId, start }));
    } else this.#add(userId, 1);
    return () => this.#free(userId);
  }

  #hasRoom(userId: number): boolean {
    return this.#taken < AT_ONCE && (this.#users.get(userId) ?? 0) < OF_USER;
  }

  #add(userId: number, step: 1 | -1): void {
    const count = (this.#users.get(userId) ?? 0) + step;
    this.#taken += step;
    if (count === 0) this.#users.delete(userId);
    else this.#users.set(userId, count);
  }

  #free(userId: number): void {
    this.#add(userId, -1);
    const at = this.#waiting.findIndex((other) => this.#hasRoom(other.userId));
    if (at < 0) return;
    const [next] = this.#waiting.splice(at, 1) as [Waiting];
    this.#add(next.userId, 1);
    next.start();
  }
}
