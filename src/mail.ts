import type { Transporter } from "nodemailer";
import { dayOf } from "./core/time.ts";
import * as outbox from "./resources/notification-settings/outbox.ts";
import type { Store } from "./store/port.ts";

/** How notifications are sent. */
export interface MailOptions {
  /** The SMTP server as a URL: `smtp://user:password@mail.example.com:587`. */
  smtp: string;
  /** The sender's address. */
  from: string;
}

/** What the mailer runs on. */
export interface MailerSettings extends MailOptions {
  store: Store;
  now: () => number;
  /** What links in mails begin with. */
  url: string;
  onError: (error: unknown) => void;
}

/** A running mailer. */
export interface Mailer {
  /** Ends after the mail that is being sent, if any. */
  stop(): Promise<void>;
}

const INTERVAL = 1000;
const EVENTS_AT_ONCE = 100;
const MAILS_AT_ONCE = 20;
/** An event is looked at this long after it happened, so that none with a lower id is still on its way. */
const SETTLING = 1000;
/** A mail that is being sent for this long was interrupted. */
const STUCK = 10 * 60_000;
const FIRST_RETRY = 30_000;
const ATTEMPTS = 8;

/**
 * Sends notifications from the outbox, in the background, until it is stopped. Any number of processes may do so on one
 * database: each mail is claimed by one.
 */
export async function startMailer(settings: MailerSettings): Promise<Mailer> {
  const { store, now, onError } = settings;
  const { createTransport } = await import("nodemailer");
  const transport = createTransport(settings.smtp);
  await store.transaction((db) => outbox.begin(db));

  let stopped = false;
  let wake = () => {};
  const work = async () => {
    while (!stopped) {
      try {
        await interruptStuck(store, now);
        await enqueueAll(store, now, () => stopped);
        await sendDue(settings, transport, () => stopped);
      } catch (error) {
        onError(error);
      }
      if (stopped) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, INTERVAL);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  const running = work();
  return {
    stop: async () => {
      stopped = true;
      wake();
      await running;
      transport.close();
    },
  };
}

/** Gives up what a process that died was sending. */
async function interruptStuck(store: Store, now: () => number): Promise<void> {
  const since = now() - STUCK;
  if (await outbox.hasStuck(store, since)) {
    await store.transaction((db) => outbox.interrupt(db, since, now()), { shared: true });
  }
}

async function enqueueAll(store: Store, now: () => number, stopped: () => boolean): Promise<void> {
  if (!(await outbox.hasNews(store, now() - SETTLING))) return;
  for (let looked = EVENTS_AT_ONCE; looked === EVENTS_AT_ONCE && !stopped(); ) {
    const at = now();
    looked = await store.transaction((db) =>
      outbox.enqueue(db, {
        now: at,
        today: dayOf(at),
        settled: at - SETTLING,
        most: EVENTS_AT_ONCE,
      }),
    );
  }
}

async function sendDue(
  { store, now, from, url }: MailerSettings,
  transport: Transporter,
  stopped: () => boolean,
): Promise<void> {
  for (const id of await outbox.due(store, now(), MAILS_AT_ONCE)) {
    if (stopped()) return;
    const mail = await store.transaction((db) => outbox.claim(db, id, now()), { shared: true });
    if (!mail) continue;
    const end = await transport.sendMail(compose(mail, from, url)).then(
      () => ({ state: "sent" }) as const,
      (error: Error) =>
        mail.attempts >= ATTEMPTS
          ? ({ state: "failed", error: error.message } as const)
          : ({
              state: "pending",
              error: error.message,
              nextAttemptAt: now() + FIRST_RETRY * 2 ** (mail.attempts - 1),
            } as const),
    );
    await store.transaction((db) => outbox.settle(db, id, end, now()), { shared: true });
  }
}

const VERBS: Readonly<Record<string, string>> = {
  created: "opened",
  closed: "closed",
  reopened: "reopened",
  merged: "merged",
  commented: "commented on",
};

const REASONS: Readonly<Record<string, string>> = {
  participating: "you take part in it",
  mentioned: "you were mentioned",
  watching: "you watch the project",
  custom: "of your notification settings",
};

function compose(mail: outbox.OutgoingMail, from: string, url: string) {
  const isIssue = mail.subject_type === "Issue";
  const reference = `${isIssue ? "#" : "!"}${mail.iid}`;
  const link = `${url}/${mail.project}/-/${isIssue ? "issues" : "merge_requests"}/${mail.iid}`;
  const what = isIssue ? "issue" : "merge request";
  const lines = [
    `${mail.author} ${VERBS[mail.action]} ${what} ${reference}: ${mail.title}`,
    ...(mail.body === null ? [] : ["", mail.body]),
    "",
    link,
    "",
    "-- ",
    `You are told of this because ${REASONS[mail.reason]}.`,
  ];
  return {
    from,
    to: mail.email,
    subject: `${mail.project} | ${mail.title} (${reference})`,
    text: lines.join("\n"),
    // The same for every attempt, so that a server that has it already can tell.
    messageId: `<event-${mail.event_id}-mail-${mail.id}@pm-api>`,
    headers: { "Auto-Submitted": "auto-generated", "X-PM-Reason": mail.reason },
  };
}
