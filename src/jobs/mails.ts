import type { Database, Reader } from "../store/port.ts";
import { addIfRun, isRun } from "./outbox.ts";

/** The name of the worker that sends mail. */
export const MAIL = "mail";

/**
 * A mail to an address that may be nobody's: the confirmation of one, an invitation, or what an integration was told, by the
 * id of its record; a link to set a password, by the address whose owner has forgotten theirs; or what follows from signing up: a
 * link that makes the account, what is told whoever has one already, the request that administrators decide about, and that
 * it was approved; or what is asked somebody who is said to have done what was imported, and told whoever has said that of several.
 */
export type Letter =
  | { readonly confirmation: number }
  | { readonly invitation: number }
  | { readonly delivery: number; readonly to: string }
  | { readonly password: string }
  | { readonly signUp: number }
  | { readonly signUpAgain: string }
  | { readonly signUpRequest: number; readonly to: string }
  | { readonly signUpApproved: number }
  | { readonly claim: number }
  | ({ readonly claims: number; readonly to: string; readonly at: number } & Claims);

/** How many people of a list were said to be somebody here, how many could not be, and of how many nothing was said. */
export interface Claims {
  readonly matched: number;
  readonly failed: number;
  readonly skipped: number;
}

const KINDS = [
  ...["confirmation", "invitation", "delivery", "password"],
  ...["signUp", "signUpAgain", "signUpRequest", "signUpApproved", "claim", "claims"],
];

/** Queues a letter, if there is a process that sends mail. */
export function queueLetter(db: Database, letter: Letter, now: number): Promise<void> {
  return addIfRun(db, MAIL, letter, now);
}

/** Whether what a task of that worker says is a letter. */
export function isLetter(payload: object): payload is Letter {
  return KINDS.some((kind) => kind in payload);
}

/** Whether there is a process that sends mail. */
export async function sendsMail(db: Reader, now: number): Promise<boolean> {
  return isRun(db, MAIL, now);
}
