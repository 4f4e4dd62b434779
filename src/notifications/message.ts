import type { Secrets } from "../core/secrets.ts";
import type { Html } from "../pages/html.ts";
import { PIPELINES } from "./mail-reasons.ts";
import type { Paragraph, Saying } from "./paragraphs.ts";
import type { PipelineMail } from "./pipelines.ts";
import type { Notification } from "./recipients.ts";
import { unsubscribePath } from "./unsubscribing.ts";

const REASONS: Readonly<Record<Notification["reason"], string>> = {
  participating: "you take part in it",
  mentioned: "you were mentioned",
  assignee: "you are or were assigned to it",
  reviewer: "you are or were asked to review it",
  subscribed: "you are subscribed to it or to one of its labels",
  watching: "you watch the project",
  custom: "of your notification settings",
  "own pipeline": "the pipeline is yours",
};

/** GitLab's words for these reasons; for others it has none. */
const GITLAB_REASONS: Partial<Readonly<Record<Notification["reason"], string>>> = {
  mentioned: "mentioned",
  assignee: "assigned",
  reviewer: "review_requested",
  subscribed: "subscribed",
};

/** How GitLab's headers call what a mail is about. */
const SUBJECTS = { issue: "Issue", merge_request: "MergeRequest", snippet: "Snippet" } as const;

/** The sender of mails. */
export interface Sender {
  /** The sender's address. */
  from: string;
  /** The base URL of links. */
  url: string;
  /** Distinguishes this installation from others in message ids. */
  token: string;
  /** Encrypts the keys of links that unsubscribe. If it can't, there are none. */
  secrets: Pick<Secrets, "seal" | "open" | "mayEncrypt">;
}

/** A mail in nodemailer's format. */
export interface Message extends Envelope {
  text: string;
  /** Unless the application's setting `html_emails_enabled` is off. */
  html?: string;
}

/** A mail without what it says, and what it says. */
export interface Composed {
  readonly envelope: Envelope;
  readonly saying: Saying;
}

interface Envelope {
  from: string;
  to: string;
  subject: string;
  messageId: string;
  inReplyTo?: string;
  references?: string;
  headers: Record<string, string>;
}

/**
 * Writes the mail of a notification. All mails to one person about an issue, merge request or snippet form a thread (RFC 5322
 * §3.6.4): they refer to the mail about its creation, whether or not that was sent. Every attempt uses the same message
 * id, so that duplicates can be recognized.
 *
 * @param body the comment, or the description of what was created, as its reader sees it; if there is one
 */
export function compose(
  mail: Notification,
  { from, url, token, secrets }: Sender,
  body: { readonly markdown: string; readonly html: Html } | undefined,
): Composed {
  const { name, path, sigil } = mail.subject_type;
  const reference = `${sigil}${mail.number}`;
  const host = new URL(url).hostname;
  const idOf = (thing: string) => `<${thing}-user-${mail.user_id}.${token}@${host}>`;
  const thread = idOf(`${name.replace(" ", "-")}-${mail.subject_id}`);
  const { begins, author, verb } = mail;
  const subject = `${mail.project} | ${mail.title} (${reference})`.replace(/\s+/g, " ");
  const { prefix } = mail.subject_type;
  const unsubscribe =
    prefix !== "snippet" && secrets.mayEncrypt
      ? url + unsubscribePath(secrets, { prefix, id: mail.subject_id, userId: mail.user_id })
      : undefined;
  const page = `${url}/${mail.project}/-/${path}/${mail.number}`;
  const link = mail.note_id === null ? page : `${page}#note_${mail.note_id}`;
  const paragraphs: Paragraph[] = [
    `${author === null ? verb : `${author} ${verb}`} ${name} ${reference}: ${mail.title}`,
    ...(body ? [body] : []),
    { link, name: `Open the ${name}` },
  ];
  const reasons: Paragraph[] = [`You get this mail because ${REASONS[mail.reason]}.`];
  if (unsubscribe !== undefined) {
    const before = "To get no more about it: ";
    reasons.push({ link: unsubscribe, before, name: "Get no more mails about it" });
  }
  const subjectId = `X-GitLab-${SUBJECTS[prefix]}-ID`;
  const envelope: Envelope = {
    from,
    to: mail.email,
    subject: begins ? subject : `Re: ${subject}`,
    messageId: begins ? thread : idOf(mail.key),
    ...(begins ? {} : { inReplyTo: thread, references: thread }),
    headers: {
      "Auto-Submitted": "auto-generated",
      "X-PM-Reason": mail.reason,
      "X-GitLab-Project-Path": mail.project,
      [subjectId]: String(mail.subject_id),
      ...(prefix !== "snippet" && { [subjectId.replace(/ID$/, "IID")]: String(mail.number) }),
      ...(GITLAB_REASONS[mail.reason] && {
        "X-GitLab-NotificationReason": GITLAB_REASONS[mail.reason],
      }),
      ...(unsubscribe !== undefined && unsubscribing(unsubscribe)),
    },
  };
  return { envelope, saying: { paragraphs, reasons } };
}

/** What programs that read mail need to unsubscribe: with one click only over HTTPS (RFC 8058 §3.1). */
const unsubscribing = (address: string): Record<string, string> => ({
  "List-Unsubscribe": `<${address}>`,
  ...(address.startsWith("https:") && { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }),
});

/** Writes the mail about the end of a pipeline. */
export function composePipeline(mail: PipelineMail, { from, url, token }: Sender): Composed {
  const { title, said } = PIPELINES[mail.outcome];
  const commit = mail.sha.slice(0, 8);
  const failed = mail.failed_jobs.map((name) => `\n- ${name}`);
  return {
    envelope: {
      from,
      to: mail.email,
      subject: `${mail.project} | ${title} for ${mail.ref} | ${commit}`.replace(/\s+/g, " "),
      messageId: `<${mail.key}-user-${mail.user_id}.${token}@${new URL(url).hostname}>`,
      headers: { "Auto-Submitted": "auto-generated", "X-PM-Reason": mail.reason.replace(" ", "-") },
    },
    saying: {
      paragraphs: [
        `Pipeline #${mail.id} of ${mail.ref} (${commit}) ${said}.`,
        ...(failed.length > 0 ? [`Jobs that failed:${failed.join("")}`] : []),
        { link: `${url}/${mail.project}/-/pipelines/${mail.id}`, name: "Open the pipeline" },
      ],
      reasons: [`You get this mail because ${REASONS[mail.reason]}.`],
    },
  };
}
