import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { ServerChannel } from "ssh2";

/** Milliseconds for which a client may send nothing that is waited for, or take nothing that is sent. */
const PATIENCE = 300_000;

/** A client has left, or does not go on. */
export class ClientGone extends Error {}

/** The two directions of a command of a client, which are read and written only as fast as the other side goes on. */
export class Pipe implements AsyncIterable<Uint8Array> {
  readonly #channel: ServerChannel;
  readonly #socket: Socket;
  readonly #signal: AbortSignal;

  /** @param signal aborted once the client has left */
  constructor(channel: ServerChannel, socket: Socket, signal: AbortSignal) {
    this.#channel = channel;
    this.#socket = socket;
    this.#signal = signal;
  }

  /** What the client sends, until it has left or does not go on. Leaving the loop early ends nothing. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (!this.#channel.readableEnded) {
      const chunk = this.#channel.read() as Uint8Array | null;
      if (chunk) yield chunk;
      else if (!(await this.#comesMore())) return;
    }
  }

  async #comesMore(): Promise<boolean> {
    try {
      await this.#until(this.#channel, ["readable", "end"]);
      return true;
    } catch (error) {
      if (error instanceof ClientGone) return false;
      throw error;
    }
  }

  /** Sends to the client; ends when it has been sent, and there is room for more. @throws ClientGone */
  async write(bytes: Uint8Array | string): Promise<void> {
    if (bytes.length === 0) return;
    await this.#sent((done) => this.#channel.write(bytes, done));
    // What the channel's window allows may be more than the connection takes.
    while (this.#socket.writableNeedDrain) await this.#until(this.#socket, ["drain"]);
  }

  /** Sends what the client shows beside its output. @throws ClientGone */
  async tell(text: string): Promise<void> {
    await this.#sent((done) => this.#channel.stderr.write(text, done));
  }

  /** Ends the command with a status. @throws ClientGone */
  end(status: number): void {
    this.#requireThere();
    // Clients take it for a failure if the status comes after the end.
    this.#channel.exit(status);
    this.#channel.end();
  }

  /** Waits until something is sent. */
  #sent(send: (done: () => void) => void): Promise<void> {
    this.#requireThere();
    return this.#orGone(new Promise((resolve) => send(resolve)));
  }

  #requireThere(): void {
    if (this.#signal.aborted) throw new ClientGone();
  }

  async #until(source: EventEmitter, events: readonly string[]): Promise<void> {
    this.#requireThere();
    let go = () => {};
    const happened = new Promise<void>((resolve) => {
      go = resolve;
    });
    for (const event of events) source.on(event, go);
    try {
      await this.#orGone(happened);
    } finally {
      for (const event of events) source.off(event, go);
    }
  }

  /** What comes while the client is there, and goes on. @throws ClientGone */
  async #orGone(coming: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let leave = () => {};
    const gone = new Promise<never>((_, reject) => {
      leave = () => reject(new ClientGone());
      timer = setTimeout(leave, PATIENCE).unref();
      this.#signal.addEventListener("abort", leave);
    });
    try {
      await Promise.race([coming, gone]);
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener("abort", leave);
    }
  }
}
