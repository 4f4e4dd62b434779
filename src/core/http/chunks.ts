import { tooLarge, unreadable } from "../errors.ts";

/** 400 for a body that its sender cut off. */
export const cutShort = () => unreadable("message body was cut short");

/** Reports a truncated body that is passed on as the client's error, not as a failure of the server. */
export function uncut(
  body: AsyncIterable<Uint8Array> | undefined,
): AsyncIterable<Uint8Array> | undefined {
  if (!body) return undefined;
  return (async function* () {
    try {
      yield* body;
    } catch {
      throw cutShort();
    }
  })();
}

/** Passes a body on. @throws ApiError 413 beyond `most` bytes */
export async function* limited(body: AsyncIterable<Uint8Array>, most: number) {
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > most) throw tooLarge();
    yield chunk;
  }
}
