import * as crypto from "node:crypto";

/**
 * A digest of a text, in hexadecimal digits. Node gained the one-step function in 20.12; it takes half as long.
 *
 * @param algorithm by OpenSSL's name
 */
export const digest: (algorithm: "sha1" | "sha256", text: string) => string =
  typeof crypto.hash === "function"
    ? (algorithm, text) => crypto.hash(algorithm, text)
    : (algorithm, text) => crypto.createHash(algorithm).update(text).digest("hex");
