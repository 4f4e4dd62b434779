import * as invitations from "../auth/invitations.ts";
import { newOpaque } from "../auth/token-secrets.ts";
import { roleOf } from "../core/access/roles.ts";
import type { Letter } from "../jobs/mails.ts";
import { idByAddress } from "../resources/users/queries.ts";
import type { Reader, Store } from "../store/port.ts";
import type { Composed, Sender } from "./message.ts";
import type { Saying } from "./paragraphs.ts";

/** For how long the link of a confirmation works, in milliseconds. */
const LIFETIME = 3 * 86_400_000;
/** The same of a link to set a password, as in GitLab. */
const PASSWORD_LIFETIME = 2 * 86_400_000;

/** A letter. */
interface Written {
  /** The same in every attempt to send the same text. */
  id: string;
  to: string;
  subject: string;
  saying: Saying;
}

/**
 * Writes a letter. The secret of a confirmation is created now, so that only its digest is ever stored; the link of an
 * earlier mail stops working.
 *
 * @param now epoch milliseconds
 * @returns `undefined` if it should no longer be sent
 */
export async function composeLetter(
  store: Store,
  letter: Letter,
  sender: Sender,
  now: number,
): Promise<Composed | undefined> {
  const written =
    "invitation" in letter
      ? await invitationTo(store, letter.invitation, sender)
      : "delivery" in letter
        ? await integrationMailTo(store, letter)
        : "password" in letter
          ? await passwordLinkTo(store, letter.password, sender, now)
          : await confirmationOf(store, letter.confirmation, sender, now);
  if (!written) return undefined;
  const { id, to, subject, saying } = written;
  return {
    envelope: {
      from: sender.from,
      to,
      subject: subject.replace(/\s+/g, " "),
      messageId: `<${id}.${sender.token}@${new URL(sender.url).hostname}>`,
      headers: { "Auto-Submitted": "auto-generated", "X-PM-Reason": id.split("-")[0] as string },
    },
    saying,
  };
}

async function confirmationOf(
  store: Store,
  id: number,
  { url }: Sender,
  now: number,
): Promise<Written | undefined> {
  const { secret, digest } = newOpaque();
  const found = await store.transaction((db) =>
    db.one<{ email: string; user_id: number }>(
      `update user_emails set digest = ?, expires_at = ? where id = ? and confirmed_at is null
       returning email, user_id`,
      [digest, now + LIFETIME, id],
    ),
  );
  const user = await store.one<{ name: string; username: string }>(
    "select name, username from users where id = ?",
    [found?.user_id ?? 0],
  );
  if (!found || !user) return undefined;
  return {
    id: `confirmation-${id}-${digest.slice(0, 16)}`,
    to: found.email,
    subject: "Confirm your e-mail address",
    saying: {
      paragraphs: [
        `${user.name} (@${user.username}) wants to use this e-mail address. If that is you, open this link within three days:`,
        {
          link: `${url}/users/confirmation?confirmation_token=${secret}`,
          name: "Confirm this address",
        },
        "Otherwise nothing has to be done.",
      ],
    },
  };
}

/**
 * A link to set a password, to whoever has an address that is confirmed and may sign in with one: people of an LDAP server have
 * their password there.
 */
async function passwordLinkTo(
  store: Store,
  email: string,
  { url }: Sender,
  now: number,
): Promise<Written | undefined> {
  const user = await store.one<{ id: number; name: string; username: string }>(
    `select u.id, u.name, u.username from users u where u.state in ('active', 'deactivated')
     and u.id = ? and not exists (select 1 from identities i where i.user_id = u.id and i.checked_at is not null)`,
    [(await idByAddress(store, email)) ?? 0],
  );
  if (!user) return undefined;
  const { id, name, username } = user;
  const secret = await store.transaction((db) =>
    invitations.create(db, id, now + PASSWORD_LIFETIME, now),
  );
  return {
    id: `password-${id}-${now}`,
    to: email,
    subject: "Set your password",
    saying: {
      paragraphs: [
        `Somebody, we hope you, has asked for a new password of ${name} (@${username}). This link works once, for two days:`,
        {
          link: `${url}/users/password/edit?reset_password_token=${secret}`,
          name: "Set your password",
        },
        "If it was not you, nothing has to be done: your password stays what it is.",
      ],
    },
  };
}

interface InvitationRow {
  email: string;
  access_level: number;
  full_path: string;
  name: string | null;
}

async function invitationTo(db: Reader, id: number, { url }: Sender): Promise<Written | undefined> {
  const found = await db.one<InvitationRow>(
    `select mi.email, mi.access_level, coalesce(p.full_path, n.full_path) as full_path, cb.name
     from member_invitations mi left join projects p on p.id = mi.project_id
     left join namespaces n on n.id = mi.namespace_id left join users cb on cb.id = mi.created_by_id
     where mi.id = ?`,
    [id],
  );
  if (!found) return undefined;
  const { email, access_level, full_path: path, name } = found;
  return {
    id: `invitation-${id}`,
    to: email,
    subject: `Invitation to join ${path}`,
    saying: {
      paragraphs: [
        `${name ?? "Somebody"} has invited you to ${path}, as ${roleOf(access_level)}.`,
        `You become a member once this address (${email}) belongs to your account at ${url}: as that of a new account, or
added to yours and confirmed.`,
      ],
    },
  };
}

async function integrationMailTo(
  db: Reader,
  { delivery, to }: Extract<Letter, { delivery: number }>,
): Promise<Written | undefined> {
  const [found] = await db.rows("select request_data from hook_deliveries where id = ?", [
    delivery,
  ]);
  if (!found) return undefined;
  const { subject, text } = JSON.parse(String(found[0])) as { subject: string; text: string };
  const reason = "You get this mail because an integration of the project names your address.";
  const saying = { paragraphs: [text], reasons: [reason] };
  return { id: `integration-${delivery}`, to, subject, saying };
}
