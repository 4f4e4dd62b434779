import * as sessions from "../auth/sessions.ts";
import { readSigned } from "../auth/signing-keys.ts";
import type { Caller } from "../core/access/caller.ts";
import type { Reader } from "../store/port.ts";
import { type Problem, problem } from "./errors.ts";

/** What an application may ask for by `prompt`. */
export const PROMPTS = ["none", "login", "consent", "select_account"] as const;
type Prompt = (typeof PROMPTS)[number];

/** How the user is to be asked (OpenID Connect Core 1.0 §3.1.2.1). */
export interface Asking {
  readonly prompts: readonly Prompt[];
  /** Seconds that may have passed since the user has signed in. */
  readonly maxAge: number | undefined;
  /** An id_token of the user who is expected. */
  readonly hint: string | undefined;
}

/** How users are asked by applications that ask for nothing, or not for the scope `openid`. */
export const AS_USUAL: Asking = { prompts: [], maxAge: undefined, hint: undefined };

/** The parameters that say how the user is to be asked. */
interface AskingParams {
  prompt?: string | undefined;
  max_age?: string | undefined;
  id_token_hint?: string | undefined;
}

/** Reads how the user is to be asked; what is wrong with it is a text. */
export function readAsking({ prompt, max_age, id_token_hint }: AskingParams): Asking | Problem {
  const prompts = (prompt ?? "").split(" ").filter((word) => word !== "") as Prompt[];
  const unknown = prompts.find((word) => !PROMPTS.includes(word));
  if (unknown !== undefined) {
    return problem("invalid_request", "The prompt must be none, login, consent or select_account.");
  }
  if (prompts.includes("none") && prompts.length > 1) {
    return problem("invalid_request", "The prompt none can't be combined with others.");
  }
  if (max_age && !/^\d{1,12}$/.test(max_age)) {
    return problem("invalid_request", "The max_age must be a number of seconds.");
  }
  return {
    prompts,
    maxAge: max_age ? Number(max_age) : undefined,
    hint: id_token_hint || undefined,
  };
}

/** Whether nobody may be asked anything. */
export const isSilent = ({ prompt = "" }: AskingParams): boolean => prompt.trim() === "none";

/** When a user has signed in, in epoch milliseconds; `undefined` if the embedding app knows that. */
export async function signedInAt(db: Reader, { by }: Caller): Promise<number | undefined> {
  return by.kind === "session" ? sessions.beginning(db, by.id) : undefined;
}

/** Whether a user has to sign in again, though they are signed in. @param now epoch milliseconds */
export async function mustSignIn(
  db: Reader,
  { prompts, maxAge, hint }: Asking,
  caller: Caller,
  now: number,
): Promise<boolean> {
  if (prompts.includes("login") || prompts.includes("select_account") || maxAge === 0) return true;
  if (maxAge !== undefined) {
    const at = await signedInAt(db, caller);
    if (at === undefined || now - at > maxAge * 1000) return true;
  }
  if (hint === undefined) return false;
  return (await readSigned(db, hint, now))?.["sub"] !== String(caller.id);
}

/** The query of a request without what signing in again answers. */
export function answeredQuery(query: string): string {
  const parameters = new URLSearchParams(query);
  const prompts = (parameters.get("prompt") ?? "").split(" ").filter((word) => word === "consent");
  parameters.delete("id_token_hint");
  if (Number(parameters.get("max_age")) === 0) parameters.delete("max_age");
  if (prompts.length > 0) parameters.set("prompt", "consent");
  else parameters.delete("prompt");
  return String(parameters);
}
