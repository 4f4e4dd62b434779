import type { Worker } from "node:cluster";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** The message that accompanies a connection passed to a worker: its number. */
export interface Offered {
  connection: number;
}

/** The worker's reply, before it reads from the connection: whether it serves it. */
export interface Answered extends Offered {
  taken: boolean;
}

/** A worker with this many unanswered connections has stalled; other workers take its turns. */
const STALLED = 50;

/**
 * Accepts connections and passes them to the workers in turn. A connection stays open here until its worker has
 * replied; if the worker dies first, or is about to end, another gets it (docs/decisions/0011-several-processes.md).
 */
export class Reception {
  readonly #server = createServer({ pauseOnConnect: true, noDelay: true }, (connection) => {
    connection.on("error", () => undefined);
    this.#offer(connection);
  });
  /** The workers in the order of their turns, each with its unanswered connections. */
  readonly #workers = new Map<Worker, Map<number, Socket>>();
  /** Connections that arrived while there was no worker. */
  #waiting: Socket[] = [];
  #count = 0;

  /**
   * Listens, and returns the URL.
   *
   * @throws the system's error if it can't listen
   */
  async listen(host: string, port: number): Promise<string> {
    this.#server.listen(port, host);
    await once(this.#server, "listening");
    const { port: actual } = this.#server.address() as AddressInfo;
    return `http://${host.includes(":") ? `[${host}]` : host}:${actual}`;
  }

  /** Stops accepting connections, and closes those that wait for a worker. */
  close(): void {
    this.#server.close();
    for (const connection of this.#waiting) connection.destroy();
  }

  /** Adds a worker, which gets connections until it refuses one or exits. */
  add(worker: Worker): void {
    const offered = new Map<number, Socket>();
    worker.on("message", (message: Answered | object) => {
      if (!("connection" in message)) return;
      const { connection: number, taken } = message;
      const connection = offered.get(number);
      offered.delete(number);
      if (taken) connection?.destroy();
      else this.#leave(worker, connection ? [connection] : []);
    });
    // "close" comes after all of the worker's messages, unlike "exit"; "disconnect" may not come at all.
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
    // If it can't be sent, the worker has exited, and its "close" event follows.
    worker.send(message, connection, { keepOpen: true }, () => undefined);
  }
}
