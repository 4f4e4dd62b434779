import { send } from "./request.ts";

/** Where requests of a library may go, and what they may take. */
export interface FetchRules {
  /** Whether a URL may be on this machine and in its networks. */
  readonly allowsLocal: (url: URL) => boolean;
  /** A longer answer is refused, in bytes. */
  readonly mostBytes: number;
  /** In milliseconds. */
  readonly timeout: number;
}

/** What a library asks for, as in the Fetch API. */
interface Asked {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes a `fetch` for libraries, which goes to checked addresses only ({@link send}). Redirects are answers.
 *
 * @returns rejects with ForbiddenAddress, UnknownHost, or an Error if there is no answer, or it is too long
 */
export function fetchWithin({ allowsLocal, mostBytes, timeout }: FetchRules) {
  return async (address: string, { method, headers, body, signal }: Asked): Promise<Response> => {
    const url = new URL(address);
    const ending = AbortSignal.timeout(timeout);
    const answer = await send(
      {
        ...{ url, headers, verifies: true, allowLocal: allowsLocal(url) },
        method: method === "POST" ? "POST" : "GET",
        ...(body !== undefined && body !== null && { body: String(body) }),
      },
      signal ? AbortSignal.any([ending, signal]) : ending,
    );
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > mostBytes) {
        answer.destroy();
        throw new Error(`the answer of ${url.host} is longer than ${mostBytes} bytes`);
      }
      chunks.push(chunk);
    }
    const { statusCode: status = 502, headers: sent } = answer;
    const hasBody = status !== 204 && status !== 304;
    return new Response(hasBody ? Buffer.concat(chunks) : null, {
      status,
      headers: Object.entries(sent).flatMap(([name, value]) =>
        [value ?? []].flat().map((one): [string, string] => [name, one]),
      ),
    });
  };
}
