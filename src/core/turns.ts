import { overloaded } from "./errors.ts";
import { networkOf } from "./network.ts";

/** Maximum requests of one address that run at the same time. */
const AT_ONCE = 32;
/** Maximum requests of one address that wait for them. More are refused. */
const MOST_WAITING = 1000;

interface Address {
  running: number;
  waiting: (() => void)[];
}

/** Turns of the event loop between two delayed requests: libuv accepts one connection in each of them. */
const BETWEEN = 48;
/** Milliseconds of work after which a turn of the event loop starts no more requests. */
const SLICE = 10;

/**
 * Shares the process between addresses: each has a limited number of requests running at once, so that a client that
 * sends thousands delays only itself. Once a turn of the event loop takes long, further requests are started one by
 * one, with turns between them for accepting connections and reading new requests.
 */
export class Turns {
  readonly #addresses = new Map<string, Address>();
  readonly #next: (() => void)[] = [];
  /** Turns of the event loop since a delayed request was last started. */
  #passed = 0;
  /** When the first request of this turn of the event loop was started. */
  #began: number | undefined;

  /**
   * Waits for a request's turn. Call {@link end} when the request is done.
   *
   * @param ip the client's address; `""` (unknown) never waits
   * @returns `undefined` if it need not wait
   * @throws ApiError 503 if too many requests of the address are already waiting
   */
  begin(ip: string): Promise<void> | undefined {
    if (ip === "") return undefined;
    const network = networkOf(ip);
    const address = this.#addresses.get(network) ?? { running: 0, waiting: [] };
    this.#addresses.set(network, address);
    if (address.running < AT_ONCE) {
      address.running += 1;
      return this.#isLate() ? new Promise((resolve) => this.#later(resolve)) : undefined;
    }
    if (address.waiting.length >= MOST_WAITING) throw overloaded();
    return new Promise((resolve) => address.waiting.push(resolve));
  }

  /** Ends the turn of a request. */
  end(ip: string): void {
    if (ip === "") return;
    const network = networkOf(ip);
    const address = this.#addresses.get(network) as Address;
    const next = address.waiting.shift();
    if (next) {
      this.#later(next);
      return;
    }
    address.running -= 1;
    if (address.running === 0) this.#addresses.delete(network);
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
    if (this.#next.length === 1) setImmediate(this.#start);
  }

  readonly #start = (): void => {
    this.#passed += 1;
    if (this.#passed === BETWEEN) {
      this.#passed = 0;
      this.#next.shift()?.();
    }
    if (this.#next.length > 0) setImmediate(this.#start);
  };
}
