import type { IncomingMessage } from "node:http";
import { ForbiddenAddress, UnknownHost } from "./addresses.ts";
import { type OutgoingRequest, send } from "./request.ts";

/** What another server has answered, or why it has not. The message has no secrets. */
export class SourceError extends Error {
  /** The status of its answer; `undefined` if there was none that can be read. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }

  // A getter: classes with fields lose their own name in the CommonJS build.
  override get name() {
    return "SourceError" as const;
  }
}

/** A JSON object of another server. Nothing about it is certain. */
export type Told = Readonly<Record<string, unknown>>;

/** A request to another server. */
export type Sending = Pick<OutgoingRequest, "url" | "method" | "headers" | "body">;

const REDIRECTED = [301, 302, 303, 307, 308];

/** The most bytes of an answer in JSON. */
export const MOST_BYTES = 16 * 1024 * 1024;
/** Milliseconds that an answer may take to begin, behind the last part of what is sent, and each part of it to follow. */
const IDLE = 60_000;
/** What a {@link Client} may do. */
export interface ClientSettings {
  /** Whether this machine and its networks may be asked. */
  readonly allowLocal: boolean;
}

/** Asks other servers, and follows no redirects. */
export class Client {
  readonly #allowLocal: boolean;
  readonly #signal: AbortSignal;
  /** What ends the requests that are open. */
  readonly #open = new Set<AbortController>();

  /** @param signal ends all requests */
  constructor({ allowLocal }: ClientSettings, signal: AbortSignal) {
    this.#allowLocal = allowLocal;
    this.#signal = signal;
    // One listener: signals made of this one would stay as long as it does, which is as long as the import.
    const stop = () => {
      for (const ending of this.#open) ending.abort(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
  }

  /**
   * Sends a request, and reads the object that it is answered with.
   *
   * @throws SourceError if there is none
   */
  async ask(sending: Sending): Promise<Told> {
    const answer = await this.open(sending, MOST_BYTES);
    if (!("bytes" in answer)) throw new SourceError("redirects are not followed");
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.bytes) chunks.push(chunk);
    const told = jsonIn(Buffer.concat(chunks), sending.url.pathname);
    if (!isTold(told)) throw new SourceError(`the answer to ${sending.url.pathname} is no object`);
    return told;
  }

  /**
   * Sends a request.
   *
   * @param most bytes that its answer may have
   * @returns the answer, or where it leads to
   * @throws SourceError if there is none, or it is refused
   */
  async open(
    sending: Sending,
    most: number,
  ): Promise<{ bytes: AsyncGenerator<Uint8Array> } | { location: URL }> {
    const path = sending.url.pathname;
    const answer = await this.send(sending);
    if (answer instanceof SourceError) throw answer;
    const { statusCode = 0, headers } = answer;
    if (statusCode === 200) return { bytes: bounded(answer, path, most) };
    answer.destroy();
    const { location } = headers;
    const leadsTo =
      REDIRECTED.includes(statusCode) && location && URL.canParse(location, sending.url)
        ? new URL(location, sending.url)
        : undefined;
    if (leadsTo && /^https?:$/.test(leadsTo.protocol)) return { location: leadsTo };
    throw refusal(path, statusCode);
  }

  /**
   * Sends a request whose answer says nothing but that it was done.
   *
   * @throws SourceError if it was not
   */
  async deliver(sending: Sending): Promise<void> {
    const answer = await this.send(sending);
    if (answer instanceof SourceError) throw answer;
    answer.destroy();
    const { statusCode = 0 } = answer;
    if (statusCode < 200 || statusCode >= 300) throw refusal(sending.url.pathname, statusCode);
  }

  /** An answer, or why there is none. @throws what the signal was aborted with; SourceError if the address is forbidden */
  protected async send(sending: Sending): Promise<IncomingMessage | SourceError> {
    const ending = new AbortController();
    this.#open.add(ending);
    let isIdle = false;
    const timer = setTimeout(() => {
      isIdle = true;
      ending.abort();
    }, IDLE);
    const { body, ...rest } = sending;
    const request = {
      ...rest,
      ...(typeof body === "string" && { body }),
      ...(typeof body === "function" && { body: () => heard(body(), () => timer.refresh()) }),
      ...{ verifies: true, allowLocal: this.#allowLocal },
    };
    const forget = () => this.#open.delete(ending);
    try {
      this.#signal.throwIfAborted();
      const answer = await send(request, ending.signal);
      answer.once("close", forget);
      answer.setTimeout(IDLE, () => answer.destroy(new SourceError("the answer stops")));
      return answer;
    } catch (error) {
      forget();
      this.#signal.throwIfAborted();
      if (error instanceof ForbiddenAddress) throw new SourceError(error.message);
      if (error instanceof UnknownHost) return new SourceError(error.message);
      const { code = "ERROR" } = error as NodeJS.ErrnoException;
      return new SourceError(
        isIdle ? "the server does not answer" : `the server can't be reached: ${code}`,
      );
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The parts of what is sent. @param onPart hears of each, once it is taken */
async function* heard(
  parts: AsyncIterable<Uint8Array>,
  onPart: () => void,
): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    yield part;
    onPart();
  }
}

/** The bytes of an answer. @throws SourceError if there are more than so many */
export async function* bounded(
  answer: IncomingMessage,
  path: string,
  most: number,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const chunk of partsOf(answer, path)) {
    length += chunk.length;
    if (length > most) throw new SourceError(`${path} is larger than ${most} bytes`);
    yield chunk;
  }
}

/** @throws SourceError if bytes are no JSON */
export function jsonIn(bytes: Buffer, path: string): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new SourceError(`the answer to ${path} is no JSON`);
  }
}

/** The parts of an answer. @throws SourceError if it is cut off */
export async function* partsOf(answer: IncomingMessage, path: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    if (error instanceof SourceError) throw error;
    throw new SourceError(`the answer to ${path} is cut off`);
  } finally {
    answer.destroy();
  }
}

/** Why an answer with a status is none. */
export function refusal(path: string, status: number): SourceError {
  if (status === 401) return new SourceError("the server refuses the token", status);
  if (status >= 300 && status < 400) {
    return new SourceError(
      `the server leads ${path} elsewhere: redirects are not followed`,
      status,
    );
  }
  return new SourceError(`the server answers ${path} with ${status}`, status);
}

/** Whether a value is a JSON object. */
export const isTold = (value: unknown): value is Told =>
  typeof value === "object" && value !== null && !Array.isArray(value);
