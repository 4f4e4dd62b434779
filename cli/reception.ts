import type { Worker } from "node:cluster";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** What comes with a connection that is handed to a worker: its number. */
export interface Offered {
  connection: number;
}

/** What the worker answers, before it reads from the connection: whether it serves it. */
export interface Answered extends Offered {
  taken: boolean;
}

/** A worker that has left so many unanswered does nothing at all: its turns are the others'. */
const STALLED = 50;

/**
 * Accepts connections and hands each to the worker whose turn it is. One is kept until the worker has answered: where
 * it dies before, or is about to end, another gets it (docs/decisions/0011).
 */
export class Reception {
  readonly #server = createServer({ pauseOnConnect: true, noDelay: true }, (connection) => {
    connection.on("error", () => undefined);
    this.#offer(connection);
  });
  /** Who takes connections, in the order of their turns, and what each has not answered yet. */
  readonly #workers = new Map<Worker, Map<number, Socket>>();
  /** What came while there was no worker. */
  #waiting: Socket[] = [];
  #count = 0;

  /**
   * Gives the URL it listens on.
   *
   * @throws the system's error where it can't
   */
  async listen(host: string, port: number): Promise<string> {
    this.#server.listen(port, host);
    await once(this.#server, "listening");
    const { port: actual } = this.#server.address() as AddressInfo;
    return `http://${host.includes(":") ? `[${host}]` : host}:${actual}`;
  }

  /** Accepts nothing more; what no worker takes any more is closed. */
  close(): void {
    this.#server.close();
    for (const connection of this.#waiting) connection.destroy();
  }

  /** Has a worker take its turns from now on, until it refuses one or is gone. */
  add(worker: Worker): void {
    const offered = new Map<number, Socket>();
    worker.on("message", ({ connection: number, taken }: Answered) => {
      const connection = offered.get(number);
      offered.delete(number);
      if (taken) connection?.destroy();
      else this.#leave(worker, connection ? [connection] : []);
    });
    // It comes after all that a worker has said, which "exit" does not; "disconnect" may not come at all.
    worker.process.once("close", () => this.#leave(worker, offered.values()));
    this.#workers.set(worker, offered);
    for (const connection of this.#waiting.splice(0)) this.#offer(connection);
  }

  #leave(worker: Worker, left: Iterable<Socket>): void {
    this.#workers.delete(worker);
    for (const connection of left) this.#offer(connection);
  }

  #offer(connection: Socket): void {
    const turns = [...this.#workers];
    const next = turns.find(([, { size }]) => size < STALLED) ?? turns[0];
    if (!next) {
      if (this.#server.listening) this.#waiting.push(connection);
      else connection.destroy();
      return;
    }
    const [worker, offered] = next;
    this.#workers.delete(worker);
    this.#workers.set(worker, offered);
    this.#count += 1;
    offered.set(this.#count, connection);
    const message: Offered = { connection: this.#count };
    // Where it can't be sent the worker is gone, and we are told so.
    worker.send(message, connection, { keepOpen: true }, () => undefined);
  }
}
