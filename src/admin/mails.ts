import * as v from "valibot";
import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { optionsOf, readArgument, readOptions } from "../core/options.ts";
import { MAIL } from "../jobs/mails.ts";
import { retry } from "../jobs/outbox.ts";
import { type QueuedMail, queuedMails } from "../notifications/queue.ts";
import type { AdminContext } from "./context.ts";

/** The queue of mails to send (docs/notifications.md). */
export interface MailAdmin {
  /**
   * Returns mails that were not sent, given-up ones first.
   *
   * @param options `limit`: the maximum number; default 1000
   * @throws OptionError for a limit that is not a whole number above 0
   */
  list(options?: { limit?: number }): Promise<QueuedMail[]>;
  /**
   * Retries mails at once, both waiting and given-up ones.
   *
   * @param id only this one; default: all of them
   * @returns how many
   * @throws ApiError 404 for an id that is not in the queue, or is being sent
   */
  retry(id?: number): Promise<{ mails: number }>;
}

const LIST = optionsOf({
  limit: v.optional(
    v.pipe(
      v.number("give a whole number"),
      v.integer("give a whole number"),
      v.minValue(1, "must be at least 1"),
    ),
  ),
});

/** Creates {@link MailAdmin}. */
export function mailAdmin({ store, now }: AdminContext): MailAdmin {
  return {
    async list(options = {}) {
      const { limit = 1000 } = readOptions("mails.list", LIST, options);
      return queuedMails(store, limit, now());
    },
    async retry(given) {
      const id =
        given === undefined
          ? undefined
          : readArgument("mails.retry", "id", param.integer({ min: 1 }), given);
      return store.transaction(async (db) => {
        const mails = await retry(db, { worker: MAIL, id });
        if (id !== undefined && mails === 0) throw notFound("Mail");
        return { mails };
      });
    },
  };
}
