import { isStreamed, type Respond } from "./incoming.ts";
import { streamed } from "./streamed.ts";

/** How long a closing application waits for running requests. */
const GRACE_MILLISECONDS = 10_000;

/** Counts the requests an application is answering, so that it can shut down without breaking them off. */
export class Running {
  #count = 0;
  #closing = false;
  #idle: () => void = () => undefined;
  readonly #onError: (error: unknown) => void;

  /** @param onError notified of every streamed body that could not be read to its end */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** How many requests are being answered, including streamed bodies that are being sent. */
  get count(): number {
    return this.#count;
  }

  readonly isClosing = (): boolean => this.#closing;

  /** Wraps `respond` to count each request until it is answered, and each streamed body until it is sent. */
  counted(respond: Respond): Respond {
    return async (incoming) => {
      this.#count += 1;
      try {
        const reply = await respond(incoming);
        if (reply && isStreamed(reply.body)) reply.body = streamed(reply.body, this.#watch);
        return reply;
      } finally {
        this.#leave();
      }
    };
  }

  /** Marks the application as closing and waits for running requests, up to the limit. */
  async end(): Promise<void> {
    this.#closing = true;
    if (this.#count === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
      timer = setTimeout(resolve, GRACE_MILLISECONDS);
    });
    clearTimeout(timer);
  }

  readonly #watch = {
    began: () => {
      this.#count += 1;
    },
    ended: () => this.#leave(),
    failed: (error: unknown) => this.#onError(error),
  };

  #leave(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#idle();
  }
}
