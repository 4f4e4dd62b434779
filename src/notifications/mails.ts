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
  const written = await write(store, letter, sender, now);
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

async function write(
  store: Store,
  letter: Letter,
  sender: Sender,
  now: number,
): Promise<Written | undefined> {
  if ("invitation" in letter) return invitationTo(store, letter.invitation, sender);
  if ("delivery" in letter) return integrationMailTo(store, letter);
  if ("password" in letter) return passwordLinkTo(store, letter.password, sender, now);
  if ("signUp" in letter) return signUpOf(store, letter.signUp, sender, now);
  if ("signUpAgain" in letter) return accountOf(store, letter.signUpAgain, sender, now);
  if ("signUpRequest" in letter) return requestTo(store, letter, sender);
  if ("signUpApproved" in letter) return approvalOf(store, letter.signUpApproved, sender);
  if ("claim" in letter) return claimOf(store, letter.claim, sender);
  if ("claims" in letter) return claimsOf(store, letter);
  return confirmationOf(store, letter.confirmation, sender, now);
}

/** A link that makes the account of somebody who has signed up; or what {@link accountOf} says. */
async function signUpOf(
  store: Store,
  id: number,
  sender: Sender,
  now: number,
): Promise<Written | undefined> {
  const { secret, digest } = newOpaque();
  const found = await store.transaction((db) =>
    db.one<{ email: string; name: string; username: string }>(
      `update sign_ups set digest = ?, expires_at = ? where id = ? and expires_at > ?
       returning email, name, username`,
      [digest, now + LIFETIME, id, now],
    ),
  );
  if (!found) return undefined;
  const { email, name, username } = found;
  const known = await accountOf(store, email, sender, now);
  if (known) return known;
  return {
    id: `signup-${id}-${digest.slice(0, 16)}`,
    to: email,
    subject: "Confirmation instructions",
    saying: {
      paragraphs: [
        `Welcome, ${name}! Somebody, we hope you, has signed up as @${username} with this address. Open this link within three days to get the account:`,
        {
          link: `${sender.url}/users/confirmation?confirmation_token=${secret}`,
          name: "Confirm your account",
        },
        "If it was not you, nothing has to be done: without it there is no account.",
      ],
    },
  };
}

/** What is told whoever has an account with an address with which somebody has signed up. */
async function accountOf(
  store: Store,
  email: string,
  { url }: Sender,
  now: number,
): Promise<Written | undefined> {
  const userId = await idByAddress(store, email);
  const user = await nameOf(store, userId ?? 0);
  if (!user) return undefined;
  return {
    id: `account-${userId}-${now}`,
    to: email,
    subject: "You have an account already",
    saying: {
      paragraphs: [
        `Somebody, maybe you, has signed up with this address. It belongs to your account @${user.username}, so nothing was changed. Sign in with that, or set a new password:`,
        { link: `${url}/users/sign_in`, name: "Sign in" },
        { link: `${url}/users/password/new`, name: "Set a new password" },
      ],
    },
  };
}

async function requestTo(
  db: Reader,
  { signUpRequest: request, to }: Extract<Letter, { signUpRequest: number }>,
  { url }: Sender,
): Promise<Written | undefined> {
  const user = await nameOf(db, request);
  if (user?.state !== "blocked_pending_approval") return undefined;
  return {
    id: `request-${request}`,
    to,
    subject: "Account request",
    saying: {
      paragraphs: [
        `${user.name} (@${user.username}) has asked for an account. It waits until an administrator approves or rejects it:`,
        { link: `${url}/admin/users?state=inactive`, name: "See who waits" },
      ],
    },
  };
}

async function approvalOf(db: Reader, id: number, { url }: Sender): Promise<Written | undefined> {
  const user = await nameOf(db, id);
  if (user?.state !== "active") return undefined;
  return {
    id: `approved-${id}`,
    to: user.email,
    subject: "Your account is approved",
    saying: {
      paragraphs: [
        `Hello ${user.name}, an administrator has approved your account @${user.username}. You can sign in now:`,
        { link: `${url}/users/sign_in`, name: "Sign in" },
      ],
    },
  };
}

/** What is asked somebody who is said to have done what was imported, with what GitLab tells them. */
async function claimOf(db: Reader, id: number, { url }: Sender): Promise<Written | undefined> {
  const found = await db.one<{
    source: string;
    hostname: string;
    full_path: string;
    by_name: string;
    email: string;
    name: string;
    username: string;
    updated_at: number;
  }>(
    `select s.source_name || ' (@' || s.source_username || ')' as source, s.source_hostname as hostname, n.full_path,
       coalesce(b.name || ' (@' || b.username || ')', 'an operator') as by_name, u.email, u.name, u.username, s.updated_at
     from import_source_users s join users u on u.id = s.reassign_to_user_id and u.state = 'active'
     join namespaces n on n.id = s.namespace_id left join users b on b.id = s.reassigned_by_user_id
     where s.id = ? and s.status = 'awaiting_approval'`,
    [id],
  );
  if (!found) return undefined;
  const { source, hostname, full_path, by_name, email, name, username, updated_at } = found;
  return {
    id: `claim-${id}-${updated_at}`,
    to: email,
    subject: `Reassignments in ${full_path} waiting for review`,
    saying: {
      paragraphs: [
        `Hello ${name} (@${username}), ${by_name} says that you are ${source} of ${hostname}, whose contributions were imported into ${full_path}. If you agree, they become yours, and you become a member wherever ${source} was one. This can't be undone. If you don't know of it, do nothing.`,
        { link: `${url}/import/source_users/${id}`, name: "Review reassignment details" },
      ],
    },
  };
}

async function claimsOf(
  db: Reader,
  { claims, to, at, matched, failed, skipped }: Extract<Letter, { claims: number }>,
): Promise<Written | undefined> {
  const [row] = await db.rows("select full_path from namespaces where id = ?", [claims]);
  if (!row) return undefined;
  return {
    id: `claims-${claims}-${at}`,
    to,
    subject: `Placeholder reassignments in ${row[0]} finished`,
    saying: {
      paragraphs: [
        `Reassignment of placeholders in ${row[0]} by a CSV file: ${matched} processed, ${failed} failed, ${skipped} skipped.`,
      ],
    },
  };
}

const nameOf = async (db: Reader, id: number) =>
  db.one<{ name: string; username: string; email: string; state: string }>(
    "select name, username, email, state from users where id = ?",
    [id],
  );

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
  const user = await nameOf(store, found?.user_id ?? 0);
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

async function invitationTo(
  store: Store,
  id: number,
  { url }: Sender,
): Promise<Written | undefined> {
  const { secret, digest } = newOpaque();
  await store.transaction((db) =>
    db.run("update member_invitations set digest = ? where id = ?", [digest, id]),
  );
  const found = await store.one<InvitationRow>(
    `select mi.email, mi.access_level, coalesce(p.full_path, n.full_path) as full_path, cb.name
     from member_invitations mi left join projects p on p.id = mi.project_id
     left join namespaces n on n.id = mi.namespace_id left join users cb on cb.id = mi.created_by_id
     where mi.id = ?`,
    [id],
  );
  if (!found) return undefined;
  const { email, access_level, full_path: path, name } = found;
  return {
    id: `invitation-${id}-${digest.slice(0, 16)}`,
    to: email,
    subject: `Invitation to join ${path}`,
    saying: {
      paragraphs: [
        `${name ?? "Somebody"} has invited you to ${path}, as ${roleOf(access_level)}.`,
        `Open this link to become a member with your account at ${url}, or to make one for this address (${email}):`,
        { link: `${url}/-/invites/${secret}`, name: "Join now" },
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
