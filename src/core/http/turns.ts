import { unavailable } from "../errors.ts";
import { networkOf } from "./network.ts";

/** Maximum requests of one address that run at the same time. */
const AT_ONCE = 32;
interface Address {
  network: string;
  running: number;
  waiting: (() => void)[];
}

/** A request's turn. */
interface Turn {
  /** Resolves when the request may start; `undefined` if it may at once. */
  readonly ready: Promise<void> | undefined;
  /** Ends it. To be called once. */
  end(): void;
}

/** Turns of the event loop after each millisecond of a delayed request: libuv accepts one connection in each of them. */
const TURNS_PER_MILLISECOND = 5;
/** Maximum turns after a delayed request. */
const MAX_TURNS = 48;
/** Milliseconds of work after which a turn of the event loop starts no more requests. */
const SLICE = 10;

/**
 * Shares the process between addresses: each has a limited number of requests running at once, so that a client that
 * sends thousands delays only itself. Once a turn of the event loop takes long, further requests are started one by
 * one, with turns between them for accepting connections and reading new requests: the more, the longer they take.
 */
export class Turns {
  readonly #addresses = new Map<string, Address>();
  readonly #next: (() => void)[] = [];
  readonly #mostWaiting: number;
  /** When the last delayed request was started, if the event loop has not turned since. */
  #started: number | undefined;
  /** Turns of the event loop until the next delayed request. */
  #turns = 0;
  /** When the first request of this turn of the event loop was started. */
  #began: number | undefined;

  /** @param mostWaiting requests of one address that may wait; more are refused */
  constructor(mostWaiting: number) {
    this.#mostWaiting = mostWaiting;
  }

  /**
   * Begins a request.
   *
   * @param ip the client's address; `""` (unknown) has no turns
   * @returns its turn, to be ended when the request is done; `undefined` if it needs none
   * @throws ApiError 503 if too many requests of the address are already waiting
   */
  begin(ip: string): Turn | undefined {
    if (ip === "") return undefined;
    const network = networkOf(ip);
    const address = this.#addresses.get(network) ?? { network, running: 0, waiting: [] };
    if (address.running === 0) this.#addresses.set(network, address);
    const end = () => this.#end(address);
    if (address.running < AT_ONCE) {
      address.running += 1;
      return {
        end,
        ready: this.#isLate() ? new Promise((start) => this.#later(start)) : undefined,
      };
    }
    if (address.waiting.length >= this.#mostWaiting) throw unavailable();
    return { end, ready: new Promise((start) => address.waiting.push(start)) };
  }

  #end(address: Address): void {
    const next = address.waiting.shift();
    if (next) {
      this.#later(next);
      return;
    }
    address.running -= 1;
    if (address.running === 0) this.#addresses.delete(address.network);
  }

  #isLate(): boolean {
    if (this.#next.length > 0) return true;
    if (this.#began !== undefined) return performance.now() - this.#began > SLICE;
    this.#began = performance.now();
    setImmediate(() => {
      this.#began = undefined;
    });
    return false;
  }

  #later(start: () => void): void {
    this.#next.push(start);
    if (this.#next.length > 1) return;
    this.#started = undefined;
    this.#turns = 0;
    setImmediate(this.#start);
  }

  readonly #start = (): void => {
    const now = performance.now();
    if (this.#started !== undefined) {
      const turns = Math.floor((now - this.#started) * TURNS_PER_MILLISECOND);
      this.#turns = Math.min(turns, MAX_TURNS);
      this.#started = undefined;
    }
    if (this.#turns > 0) this.#turns -= 1;
    else {
      this.#started = now;
      this.#next.shift()?.();
    }
    if (this.#next.length > 0) setImmediate(this.#start);
  };
}
