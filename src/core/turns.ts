import { overloaded } from "./errors.ts";
import { networkOf } from "./network.ts";

/** Requests of one address that are worked on at the same time. */
const AT_ONCE = 32;
/** Requests of one address that wait for those. More are refused. */
const MOST_WAITING = 1000;

interface Address {
  running: number;
  waiting: (() => void)[];
}

/** Turns of the event loop between two requests: in each of them libuv accepts one connection. */
const BETWEEN = 48;
/** Milliseconds of work after which a turn of the event loop starts no more requests. */
const SLICE = 10;

/**
 * Shares the process between addresses: of one address a bounded number of requests is worked on at once, so that a
 * client that sends thousands holds up itself. Once a turn of the event loop takes long, the others are started one by
 * one, with turns between them in which connections are accepted and new requests are read.
 */
export class Turns {
  readonly #addresses = new Map<string, Address>();
  readonly #next: (() => void)[] = [];
  /** Turns of the event loop since one of those was started. */
  #passed = 0;
  /** When the first request of this turn of the event loop was started. */
  #began: number | undefined;

  /**
   * Waits for the turn of a request, whose end has to be told to {@link end}.
   *
   * @param ip the client's address; `""`, where it is unknown, never waits
   * @returns `undefined` where it need not wait
   * @throws ApiError 503 where too many requests of the address wait already
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

  /** A request whose turn it was is done with. */
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
