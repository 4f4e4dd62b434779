import type { Transporter } from "nodemailer";
import * as outbox from "../jobs/outbox.ts";
import type { Store } from "../store/port.ts";
import { compose, type Sender } from "./message.ts";
import { MAIL, stepOf } from "./queue.ts";

/** How notifications are sent. */
export interface MailOptions {
  /** The SMTP server as a URL: `smtp://user:password@mail.example.com:587`. */
  smtp: string;
  /** The sender's address. */
  from: string;
  /** Milliseconds between two looks for mails that are to be sent. Default 1000. */
  interval?: number;
  /**
   * Is told when the server can't be reached or refuses to work, once until it works again, and then of that; of several
   * processes on a database one is told. Default: nobody.
   */
  onChange?: (change: MailChange) => void;
}

/** That mail can't be sent, or can again. */
export interface MailChange {
  failing: boolean;
  /** What the server said, or what happened instead. */
  error?: string;
}

/** What the mailer runs on. */
export interface MailerSettings extends MailOptions {
  store: Store;
  now: () => number;
  /** What links in mails begin with. */
  url: string;
  onError: (error: unknown) => void;
}

const INTERVAL = 1000;
const LANES = 4;
/** How long nothing is sent after the server failed. */
const REST = 30_000;
/** In milliseconds; nodemailer's own are minutes. */
const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };
/** The longest that one mail may take in all, however slowly the server goes on. */
const LONGEST = 60_000;

async function connectionTo(smtp: string): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  return createTransport({ url: smtp, ...TIMEOUTS });
}

/**
 * Sends notifications from the outbox, in the background, until it is stopped. Any number of processes may do so on one
 * database.
 *
 * @throws StoreError where the database can't be used
 */
export async function startMailer(settings: MailerSettings): Promise<outbox.Worker> {
  const { store, now, from, url, onError, onChange, interval = INTERVAL } = settings;
  const transport = await connectionTo(settings.smtp);
  let sender: Sender | undefined;
  /** As far as this process knows; another may know more. */
  let works: boolean | undefined;

  const note = async (failure: string | undefined) => {
    if (works === (failure === undefined)) return;
    works = failure === undefined;
    const since = failure === undefined ? null : now();
    const isNews = await store.transaction((db) => outbox.setFailing(db, MAIL, since), {
      shared: true,
    });
    if (!isNews) return;
    onChange?.(failure === undefined ? { failing: false } : { failing: true, error: failure });
  };

  const work = async (task: outbox.Task, stopping: AbortSignal): Promise<outbox.Outcome> => {
    const step = await stepOf(store, task, now());
    if (!step) return { done: true };
    if ("fanOut" in step) return { done: true, follow: step.fanOut };
    sender ??= { from, url, token: (await outbox.tokenOf(store, MAIL)) ?? "" };
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(LONGEST)]);
    try {
      await transport.sendMail({ ...compose(step.send, sender), signal });
    } catch (error) {
      if (stopping.aborted) return "interrupted";
      const { code, responseCode = 0, message } = error as SendingError;
      // The server works, and refuses this mail: for ever with a 5xx (RFC 5321, 4.2.1).
      if (code === "EENVELOPE" || code === "EMESSAGE") {
        await note(undefined);
        return { done: false, error: message, final: responseCode >= 500 };
      }
      await note(message);
      return { done: false, error: message, rest: REST };
    }
    await note(undefined);
    return { done: true };
  };

  const worker = await outbox.startWorker({
    ...{ store, name: MAIL, now, interval, lanes: LANES, work, onError },
  });
  return {
    stop: async () => {
      await worker.stop();
      transport.close();
    },
  };
}

type SendingError = Error & { code?: string; responseCode?: number };

/**
 * Sends a mail that says that mail works.
 *
 * @param to whom
 * @throws Error with what the server said, or what happened instead
 */
export async function sendTestMail({ smtp, from }: MailOptions, to: string): Promise<void> {
  const transport = await connectionTo(smtp);
  try {
    await transport.sendMail({
      from,
      to,
      subject: "Mail from pm-api works",
      text: "This server sends mail from here. Nothing has to be done.",
      headers: { "Auto-Submitted": "auto-generated" },
      signal: AbortSignal.timeout(LONGEST),
    });
  } finally {
    transport.close();
  }
}
