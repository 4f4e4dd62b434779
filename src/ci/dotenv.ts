import type { Variable } from "./types.ts";

/** A file of variables that can't be used; the message says why. */
export class DotenvError extends Error {}

/**
 * Reads the variables that a job hands on in a file: a name, `=` and a value in each line. Of equal names, the last one
 * counts.
 *
 * @param most variables that a file may have
 * @throws DotenvError
 */
export function readDotenv(text: string, most: number): Variable[] {
  const values = new Map<string, string>();
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const end = line.indexOf("=");
    if (end < 0) throw new DotenvError("Invalid Format");
    const key = line.slice(0, end).trim();
    if (!/^\w{1,255}$/.test(key)) {
      throw new DotenvError(
        "Validation failed: Key can contain only letters, digits and '_'., Key is too long (maximum is 255 characters)",
      );
    }
    values.set(key, line.slice(end + 1).trim());
  }
  if (values.size > most) {
    throw new DotenvError(`Dotenv files cannot have more than ${most} variables`);
  }
  return [...values].map(([key, value]) => ({ key, value }));
}
