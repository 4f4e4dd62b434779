/** Characters written at a time: six bytes each at most, as JSON. */
export const SLICE = 16 * 1024;

/** Slices a long text, but not between the two halves of a character. */
export function* slicesOf(text: string): Generator<string> {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = at + SLICE;
    if ((text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end += 1;
    yield text.slice(at, end);
  }
}
