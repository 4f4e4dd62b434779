import type { Job } from "./payload.ts";
import type { Server } from "./server.ts";

const MASK = "[MASKED]";
/** Shorter values are no secrets: replacing them would make a log unreadable. */
const LEAST_MASKED = 3;
/** Bytes that are sent at once: a server takes a mebibyte. */
const MOST_SENT = 512 * 1024;
/** Bytes of a log; what comes after is dropped, and the log says so. */
const MOST_BYTES = 4 * 1024 * 1024;

/** The log of a job: what is written reaches the server in parts, without the values of masked variables. */
export class JobLog {
  readonly #server: Server;
  readonly #job: Job;
  readonly #masks: readonly string[];
  readonly #longest: number;
  readonly #onEnd: () => void;
  /** What may be the beginning of a masked value. */
  #held = "";
  #waiting: Uint8Array = new Uint8Array();
  #written = 0;
  #sent = 0;
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #interval = 1;

  /** @param onEnd called when the server says that the job has ended: it was canceled, or its log is too long */
  constructor(server: Server, job: Job, onEnd: () => void) {
    this.#server = server;
    this.#job = job;
    this.#onEnd = onEnd;
    const values = job.variables.filter(({ masked }) => masked).map(({ value }) => value);
    this.#masks = [job.token, ...values]
      .filter((value) => value.length >= LEAST_MASKED)
      .sort((a, b) => b.length - a.length);
    this.#longest = Math.max(0, ...this.#masks.map((mask) => mask.length));
    this.#schedule();
  }

  /** Writes text as it is. */
  write(text: string): void {
    const whole = this.#masks.reduce(
      (rest, mask) => rest.replaceAll(mask, MASK),
      this.#held + text,
    );
    // Only what a value could begin with at the end of the text has to wait.
    const from = Math.max(0, whole.length - this.#longest + 1);
    const at = this.#masks
      .map((mask) => beginsAt(whole, from, mask))
      .reduce((first, one) => Math.min(first, one), whole.length);
    this.#held = whole.slice(at);
    this.#add(whole.slice(0, at));
  }

  /** Writes a line about what the runner does. */
  say(line: string): void {
    this.write(`\u001b[0;36m${line}\u001b[0m\n`);
  }

  /** Writes a line about what went wrong. */
  complain(line: string): void {
    this.write(`\u001b[31;1m${line}\u001b[0m\n`);
  }

  /** Does something in a section that readers of the log can fold. */
  async section<T>(name: string, work: () => Promise<T>): Promise<T> {
    const mark = (what: string) =>
      this.write(`section_${what}:${Math.floor(Date.now() / 1000)}:${name}\r\u001b[0K`);
    mark("start");
    try {
      return await work();
    } finally {
      mark("end");
    }
  }

  /** Sends all that was written. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#add(this.#held);
    this.#held = "";
    await this.#sending;
    for (let tries = 0; tries < 5 && this.#waiting.length > 0; tries += 1) await this.#send();
    clearTimeout(this.#timer);
  }

  #add(text: string): void {
    if (text === "" || this.#written > MOST_BYTES) return;
    const bytes = Buffer.from(text);
    this.#written += bytes.length;
    const isTooLong = this.#written > MOST_BYTES;
    const more = isTooLong
      ? Buffer.from("\n\u001b[31;1mThe log is too long: the rest is left out\u001b[0m\n")
      : bytes;
    this.#waiting = Buffer.concat([this.#waiting, more]);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#sending = this.#send().finally(() => {
        this.#sending = undefined;
        this.#schedule();
      });
    }, this.#interval * 1000);
  }

  /** Sends a part; without one, it asks whether the job goes on. */
  async #send(): Promise<void> {
    const part = this.#waiting.subarray(0, MOST_SENT);
    try {
      const added = await this.#server.append(this.#job, this.#sent, part);
      if (added.status !== undefined && added.status !== "running") this.#onEnd();
      // A job of which little is written is asked after less often.
      this.#interval = Math.min(added.interval, 3);
      // An answer that was lost: the server has more than was thought.
      const taken = added.isTaken ? part.length : added.end - this.#sent;
      if (taken < 0 || taken > this.#waiting.length) return;
      this.#sent += taken;
      this.#waiting = this.#waiting.subarray(taken);
    } catch {
      // It is tried again with the next part.
    }
  }
}

/** Where the end of a text may be the beginning of another one, after a place; its length if nowhere. */
function beginsAt(text: string, from: number, of: string): number {
  for (let at = from; at < text.length; at += 1) {
    if (of.startsWith(text.slice(at))) return at;
  }
  return text.length;
}
