import type { Controls } from "../app.ts";
import { MAIL } from "../jobs/mails.ts";
import { register, type Task, tokenOf } from "../jobs/outbox.ts";
import { type Outcome, workOff } from "../jobs/worker.ts";
import { mailOf } from "../notifications/mailer.ts";
import type { Message } from "../notifications/message.ts";
import { Log } from "./log.ts";
import { fitsPattern, type PathPattern } from "./paths.ts";
import { type WaitOptions, waitIn } from "./waiting.ts";

/** A mail that would have been sent. */
export interface TestMail {
  /** Its number: mails of one server are counted from 1. */
  readonly id: number;
  /** The address of who gets it. */
  readonly to: string;
  readonly from: string;
  readonly subject: string;
  /** What it says, as plain text. */
  readonly text: string;
  /** The same as an HTML document, unless the application's setting `html_emails_enabled` is off. */
  readonly html?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What it is about: `acme/site#3`, `acme/site, pipeline 1`, `invitation` or `confirmation`. */
  readonly about: string;
  /** When it was made, by the clock of the server. */
  readonly time: string;
}

/** Which mails are meant: those that fit all that is given. In a text, `*` stands for any text. */
export interface MailFilter {
  to?: PathPattern | undefined;
  subject?: PathPattern | undefined;
  about?: PathPattern | undefined;
}

/** The mails of a test server, which are kept and not sent. */
export interface Mails {
  /** How many had to go for newer ones since the last reset. */
  readonly dropped: number;
  /** Those that fit, in order, also of what was just done. */
  list(filter?: MailFilter): Promise<TestMail[]>;
  /**
   * Waits for a mail that fits; it may be there already.
   *
   * @param options `timeout` in milliseconds, default 5000
   * @throws NothingArrived if there is none in time, which says what has arrived instead
   */
  wait(filter?: MailFilter, options?: WaitOptions): Promise<TestMail>;
  /** Forgets all of them. */
  clear(): Promise<void>;
}

const LIMITS = { entries: 10_000, bytes: 32 * 1024 * 1024 };
const FROM = "GitLab <gitlab@localhost>";
/** The queue is told that somebody sends mail again when so much time has passed, in milliseconds. */
const DAY = 86_400_000;

/** Makes the mails of a world, and keeps them. */
export class Mailbox {
  readonly #log = new Log<TestMail>(LIMITS);
  readonly #controls: () => Controls;
  readonly #before: () => Promise<unknown>;
  #working: Promise<unknown> = Promise.resolve();
  #registeredAt = 0;
  #startedAt = 0;
  #last = 0;
  #hasChanged = false;
  /** The address that links in mails begin with: that of the newest request. */
  base = "http://localhost";

  /**
   * @param controls of the application that runs
   * @param before tells integrations what is queued for them: some send mails
   */
  constructor(controls: () => Controls, before: () => Promise<unknown>) {
    this.#controls = controls;
    this.#before = before;
  }

  readonly mails: Mails = ((log: Log<TestMail>) => ({
    get dropped() {
      return log.dropped;
    },
    list: async (filter = {}) => {
      await this.work();
      return this.#log.entries.filter((mail) => isMeant(filter, mail));
    },
    wait: async (filter = {}, options = {}) => {
      await this.work();
      return waitIn(
        this.#log,
        (mail) => isMeant(filter, mail),
        options,
        "mail",
        ({ to, subject }) => `to ${to}: ${subject}`,
      );
    },
    clear: async () => {
      await this.work();
      this.#log.clear();
    },
  }))(this.#log);

  /** Lets mails be queued from now on. Called once an application has started, before its seed. */
  async start(): Promise<void> {
    this.#startedAt = this.#controls().working.now();
    await this.#register();
  }

  /** Lets mails be queued also long after the start, by a clock that was moved. */
  async stay(): Promise<void> {
    if (this.#controls().working.now() > this.#registeredAt + DAY) await this.#register();
  }

  /** For the application: more may be queued. */
  readonly onChange = (): void => {
    this.#hasChanged = true;
  };

  /** {@link work}, unless nothing has changed since: for who asks all the time. */
  async workOnChange(): Promise<void> {
    if (this.#hasChanged) await this.work();
  }

  /** Makes the mails that are queued. One call after the other, so that they are in order. */
  work(): Promise<unknown> {
    const made = this.#working.then(this.#before).then(() => this.#work());
    this.#working = made.catch(() => undefined);
    return made;
  }

  /** The data are those of another time: that mails are queued has to be made sure of. */
  moved(): void {
    this.#registeredAt = 0;
  }

  /** Forgets the mails; what is queued has gone with the data. */
  reset(): void {
    this.#log.clear();
    this.#registeredAt = this.#startedAt;
    this.#last = 0;
  }

  /** Ends all waits. */
  end(): void {
    this.#log.end();
  }

  async #register(): Promise<void> {
    const { store, now } = this.#controls().working;
    this.#registeredAt = now();
    await store.transaction((db) => register(db, MAIL, { ordered: false }, now()));
  }

  async #work(): Promise<void> {
    const { working } = this.#controls();
    this.#hasChanged = false;
    await workOff({
      ...working,
      name: MAIL,
      interval: 0,
      lanes: 1,
      work: (task) => this.#keep(task),
    });
  }

  async #keep(task: Task): Promise<Outcome> {
    const { working, secrets } = this.#controls();
    const { store, now } = working;
    const made = await mailOf(store, task, now(), async () => ({
      from: FROM,
      url: this.base,
      token: (await tokenOf(store, MAIL)) ?? "",
      secrets,
    }));
    if ("done" in made) return made;
    this.#add(made.message, made.about, now());
    return { done: true };
  }

  #add(
    { from, to, subject, text, html, headers, ...ids }: Message,
    about: string,
    now: number,
  ): void {
    this.#last += 1;
    const { messageId, inReplyTo, references } = ids;
    const mail: TestMail = {
      id: this.#last,
      to,
      from,
      subject,
      text,
      ...(html !== undefined && { html }),
      headers: {
        "Message-ID": messageId,
        ...(inReplyTo !== undefined && { "In-Reply-To": inReplyTo }),
        ...(references !== undefined && { References: references }),
        ...headers,
      },
      about,
      time: new Date(now).toISOString(),
    };
    this.#log.add(mail);
    this.#log.complete(mail, JSON.stringify(mail).length);
  }
}

function isMeant({ to, subject, about }: MailFilter, mail: TestMail): boolean {
  return (
    (to === undefined || fitsPattern(to, mail.to)) &&
    (subject === undefined || fitsPattern(subject, mail.subject)) &&
    (about === undefined || fitsPattern(about, mail.about))
  );
}
