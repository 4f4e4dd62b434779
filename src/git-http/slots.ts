import { ApiError } from "../core/errors.ts";

/** How many pushes a process receives at once: each takes memory for as long as its client sends. */
interface Room {
  readonly atOnce: number;
  /** Those of one person, with all their tokens: who sends slowly delays only themselves. */
  readonly ofPerson: number;
  readonly ofAddress: number;
}
/** The room for pushes of Git. */
const FOR_GIT: Room = { atOnce: 8, ofPerson: 2, ofAddress: 6 };
/** Pushes that may wait, and for how long, in milliseconds. */
const WAITING = 64;
const PATIENCE = 30_000;

/** Whose push it is. */
interface Pusher {
  /** Who answers for it, whichever token it comes with. */
  readonly person: string;
  /** The client's address, `""` if unknown. */
  readonly address: string;
}

interface Waiting {
  readonly pusher: Pusher;
  readonly start: () => void;
}

/** The pushes that a process is receiving. */
export class Slots {
  readonly #people = new Map<string, number>();
  readonly #addresses = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  #taken = 0;

  constructor(readonly room: Room = FOR_GIT) {}

  /**
   * Waits until another push can be received.
   *
   * @returns what ends it, to be called once
   * @throws ApiError 503 if too many are waiting already, or this one has waited too long
   */
  async take(pusher: Pusher): Promise<() => void> {
    if (!this.#hasRoom(pusher)) await this.#wait(pusher);
    else this.#add(pusher, 1);
    return () => this.#free(pusher);
  }

  #wait(pusher: Pusher): Promise<void> {
    if (this.#waiting.length >= WAITING) throw tooMany();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(tooMany());
      }, PATIENCE).unref();
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      const waiting = { pusher, start };
      this.#waiting.push(waiting);
    });
  }

  #hasRoom({ person, address }: Pusher): boolean {
    return (
      this.#taken < this.room.atOnce &&
      (this.#people.get(person) ?? 0) < this.room.ofPerson &&
      (address === "" || (this.#addresses.get(address) ?? 0) < this.room.ofAddress)
    );
  }

  #add({ person, address }: Pusher, step: 1 | -1): void {
    this.#taken += step;
    count(this.#people, person, step);
    count(this.#addresses, address, step);
  }

  #free(pusher: Pusher): void {
    this.#add(pusher, -1);
    const at = this.#waiting.findIndex((other) => this.#hasRoom(other.pusher));
    if (at < 0) return;
    const [next] = this.#waiting.splice(at, 1) as [Waiting];
    this.#add(next.pusher, 1);
    next.start();
  }
}

function count(counts: Map<string, number>, key: string, step: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + step;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}

function tooMany(): ApiError {
  const message = "503 Service Unavailable - Too many pushes are being received. Please try again.";
  return new ApiError(503, { message }, { "retry-after": "10" });
}
