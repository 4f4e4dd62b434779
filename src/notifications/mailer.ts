import type { Transporter } from "nodemailer";
import { storedIn } from "../core/kept.ts";
import { MAIL } from "../jobs/mails.ts";
import { setFailing, type Task, tokenOf } from "../jobs/outbox.ts";
import type { Service } from "../jobs/services.ts";
import { type Outcome, startWorker, type Working } from "../jobs/worker.ts";
import { messagesOfMails } from "../resources/appearance/queries.ts";
import { keptSettings } from "../resources/application-settings/kept.ts";
import type { Store } from "../store/port.ts";
import { bodyOf } from "./body.ts";
import { composeLetter } from "./mails.ts";
import { type Composed, compose, composePipeline, type Message, type Sender } from "./message.ts";
import { documentOf, textOf } from "./paragraphs.ts";
import { stepOf } from "./queue.ts";

/** Options for sending notifications. */
export interface MailOptions {
  /** The SMTP server as a URL: `smtp://user:password@mail.example.com:587`. */
  smtp: string;
  /** The sender's address. */
  from: string;
  /** How often the outbox is checked for mail to send, in milliseconds. Default 1000. */
  interval?: number;
  /**
   * Called once when the server can't be reached or refuses to work, and once when it works again. If several processes
   * share a database, only one of them calls it.
   */
  onChange?: (change: MailChange) => void;
}

/** Sending mail started to fail, or works again. */
export interface MailChange {
  failing: boolean;
  /** The server's reply, or the reason there was none. */
  error?: string;
}

/** Options of the mailer with its dependencies. */
export interface MailerSettings extends MailOptions, Working {
  /** The base URL of links in mails. */
  url: string;
  /** Encrypts the keys of links that unsubscribe. */
  secrets: Sender["secrets"];
}

const INTERVAL = 1000;
const LANES = 4;
/** The pause after the server failed, in milliseconds. */
const REST = 30_000;
/** In milliseconds; nodemailer's defaults are minutes. */
const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };
/** The maximum time for sending one mail, in milliseconds, however slow the server is. */
const SEND_TIMEOUT_MS = 60_000;

async function connectionTo(smtp: string): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  return createTransport({ url: smtp, ...TIMEOUTS });
}

/** A mail that is to be sent, and what it is about, such as `acme/site#3`. */
export interface ReadyMail {
  readonly message: Message;
  readonly about: string;
}

/** The mail of a task, or how the task ends without one. @param senderOf called only if there is a mail */
export async function mailOf(
  store: Store,
  task: Task,
  now: number,
  senderOf: () => Promise<Sender>,
): Promise<ReadyMail | Extract<Outcome, { done: true }>> {
  const step = await stepOf(store, task, now);
  if (!step) return { done: true };
  if ("fanOut" in step) return { done: true, follow: step.fanOut };
  const sender = await senderOf();
  const [header, footer] = await messagesOfMails(store);
  const stored = await storedIn(store, "application_settings", 1);
  const { html_emails_enabled: hasHtml } = keptSettings.read(stored);
  const ready = ({ envelope, saying }: Composed, about: string): ReadyMail => {
    const text = [header, textOf(saying), footer].filter((part) => part).join("\n\n");
    const html = hasHtml && documentOf(saying, { header, footer });
    return { message: { ...envelope, text, ...(html && { html }) }, about };
  };
  if ("letter" in step) {
    const composed = await composeLetter(store, step.letter, sender, now);
    const [about = ""] = Object.keys(step.letter);
    return composed ? ready(composed, about) : { done: true };
  }
  if ("pipeline" in step) {
    const { project, id } = step.pipeline;
    return ready(composePipeline(step.pipeline, sender), `${project}, pipeline ${id}`);
  }
  const { project, subject_type, number } = step.send;
  const body = await bodyOf(store, step.send, sender, now);
  return ready(compose(step.send, sender, body), project + subject_type.sigil + number);
}

/**
 * Starts sending notifications from the outbox in the background. Any number of processes on one database may do so.
 *
 * @throws StoreError if the database can't be used
 */
export async function startMailer(settings: MailerSettings): Promise<Service> {
  const { store, now, leases, from, url, secrets, onError, onChange } = settings;
  const { interval = INTERVAL } = settings;
  const transport = await connectionTo(settings.smtp);
  let sender: Sender | undefined;
  /** As far as this process knows; others may have found out since. */
  let works: boolean | undefined;

  const report = async (failure: string | undefined) => {
    if (works === (failure === undefined)) return;
    const since = failure === undefined ? null : now();
    let changed: boolean;
    try {
      changed = await store.transaction((db) => setFailing(db, MAIL, since), { shared: true });
    } catch (error) {
      // It must not make an attempt fail: a mail that was sent would be sent again.
      return onError(error);
    }
    works = failure === undefined;
    if (!changed) return;
    onChange?.(failure === undefined ? { failing: false } : { failing: true, error: failure });
  };

  const work = async (task: Task, stopping: AbortSignal): Promise<Outcome> => {
    const made = await mailOf(store, task, now(), async () => {
      sender ??= { from, url, token: (await tokenOf(store, MAIL)) ?? "", secrets };
      return sender;
    });
    if ("done" in made) return made;
    const { message } = made;
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(SEND_TIMEOUT_MS)]);
    try {
      await transport.sendMail({ ...message, signal });
    } catch (error) {
      if (stopping.aborted) return "interrupted";
      const { code, responseCode = 0, message } = error as SendingError;
      // The server works but refuses this mail, permanently with a 5xx (RFC 5321 §4.2.1).
      if (code === "EENVELOPE" || code === "EMESSAGE") {
        await report(undefined);
        return { done: false, error: message, final: responseCode >= 500 };
      }
      await report(message);
      return { done: false, error: message, rest: REST };
    }
    await report(undefined);
    return { done: true };
  };

  const worker = await startWorker({
    ...{ store, name: MAIL, now, leases, interval, lanes: LANES, work, onError },
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
 * Sends a test mail.
 *
 * @param to the recipient's address
 * @throws Error with the server's reply, or the reason there was none
 */
export function sendTestMail(options: MailOptions, to: string): Promise<void> {
  return sendNow(options, {
    to,
    subject: "Mail from pm-api works",
    text: "This server sends mail from here. Nothing has to be done.",
  });
}

/**
 * Sends a new user the link by which they set their password, as `admin.users.invite` returns it.
 *
 * @throws Error with the server's reply, or the reason there was none
 */
export function sendPasswordLink(
  options: MailOptions,
  { email, name }: { email: string; name: string },
  { url, username, expires_at }: { url: string; username: string; expires_at: string },
): Promise<void> {
  return sendNow(options, {
    to: email,
    subject: "Your account",
    text: `Hello ${name.replace(/\s+/g, " ")},

there is an account for you: ${username}. Set its password here, once, until ${expires_at}:

${url}
`,
  });
}

async function sendNow(
  { smtp, from }: MailOptions,
  mail: { to: string; subject: string; text: string },
): Promise<void> {
  const transport = await connectionTo(smtp);
  try {
    await transport.sendMail({
      from,
      ...mail,
      headers: { "Auto-Submitted": "auto-generated" },
      signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
    });
  } finally {
    transport.close();
  }
}
