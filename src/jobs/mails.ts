import type { Database } from "../store/port.ts";
import { addIfRun } from "./outbox.ts";

/** The name of the worker that sends mail. */
export const MAIL = "mail";

/**
 * A mail to an address that may be nobody's: the confirmation of one, an invitation, or what an integration was told, by the
 * id of its record.
 */
export type Letter =
  | { readonly confirmation: number }
  | { readonly invitation: number }
  | { readonly delivery: number; readonly to: string };

/** Queues a letter, if there is a process that sends mail. */
export function queueLetter(db: Database, letter: Letter, now: number): Promise<void> {
  return addIfRun(db, MAIL, letter, now);
}

/** Whether what a task of that worker says is a letter. */
export function isLetter(payload: object): payload is Letter {
  return "confirmation" in payload || "invitation" in payload || "delivery" in payload;
}
