import { keyIdOf, SecretKeyError, type Secrets } from "../core/secrets.ts";

/** What the key of a link is encrypted for: nothing else can be made into one. */
const PURPOSE = "unsubscribe";

/** What a link unsubscribes from, and whom. */
export interface Unsubscription {
  readonly prefix: "issue" | "merge_request";
  /** The id of the issue or merge request. */
  readonly id: number;
  readonly userId: number;
}

/** The path of the page that unsubscribes, without signing in: whoever has it can do that, and nothing else. */
export function unsubscribePath(
  secrets: Pick<Secrets, "seal">,
  { prefix, id, userId }: Unsubscription,
): string {
  const key = Buffer.from(secrets.seal(`${prefix} ${id} ${userId}`, PURPOSE)).toString("base64url");
  return `/-/sent_notifications/${key}/unsubscribe`;
}

/** What the key of such a path says; `undefined` if this server has not made it, or its key is gone. */
export function readKey(secrets: Pick<Secrets, "open">, key: string): Unsubscription | undefined {
  const sealed = Buffer.from(key, "base64url").toString();
  // A text that was never encrypted would be opened as it is.
  if (keyIdOf(sealed) === undefined) return undefined;
  try {
    const [prefix, id, userId] = secrets.open(sealed, PURPOSE).split(" ");
    return { prefix: prefix as Unsubscription["prefix"], id: Number(id), userId: Number(userId) };
  } catch (error) {
    if (error instanceof SecretKeyError) return undefined;
    throw error;
  }
}
