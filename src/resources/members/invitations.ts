import { spend } from "../../auth/throttle.ts";
import { ApiError, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import {
  type Context,
  Json,
  type Resource,
  type Route,
  routes,
  type SourceKind,
} from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { queueLetter } from "../../jobs/mails.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as users from "../users/queries.ts";
import { isAddress } from "../users/rules.ts";
import {
  addMember,
  changeOf,
  enroll,
  type MemberChange,
  type Membership,
  requireGrantable,
} from "./changes.ts";
import type { Place } from "./followers.ts";
import * as invitations from "./invited.ts";
import * as members from "./queries.ts";

const invitation = presenter({
  id: field.integer("mi.id"),
  invite_email: field.text("mi.email"),
  access_level: field.integer("mi.access_level"),
  created_at: field.instant("mi.created_at"),
  expires_at: field.date("mi.expires_at"),
  // Invitations of users make them members at once.
  user_name: field.constant(null),
  created_by_name: field.text("cb.name"),
});

/** How often a user may send invitations, each time to as many addresses as a list can have. */
const ALLOWANCE = { max: 200, window: 86_400_000 };

const of = { email: param.text() };
const level = param.integer();

/** @throws ApiError 404 */
async function findOne({
  db,
  source,
  input,
}: Pick<Context, "source"> & {
  db: Reader;
  input: { email: string };
}): Promise<invitations.Invitation> {
  const found = await invitations.find(db, source, input.email);
  if (!found) throw notFound();
  return found;
}

/** Makes a user a member. @returns why that is impossible, if it is */
async function include(
  change: MemberChange,
  userId: number,
  membership: Membership,
): Promise<string | undefined> {
  if (await members.find(change.db, change.source, userId)) {
    return "User already exists in source";
  }
  try {
    await addMember(change, userId, membership);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { message } = error.body as { message?: unknown };
    return typeof message === "string"
      ? message
      : Object.entries(message ?? {})
          .map(([name, texts]) => `${name} ${String(texts)}`)
          .join(", ");
  }
}

/** Invites an address: its user becomes a member, or whoever will have it. @returns why that is impossible, if it is */
async function invite(
  change: MemberChange,
  email: string,
  membership: Membership,
): Promise<string | undefined> {
  const { db, source, by, now } = change;
  if (!isAddress(email)) return "Invite email is invalid";
  const userId = await users.idByAddress(db, email);
  if (userId !== undefined) return include(change, userId, membership);
  if (await invitations.find(db, source, email)) return "Invite email has already been taken";
  const created_by_id = by.id;
  const id = await invitations.insert(db, source, { ...membership, email, created_by_id }, now);
  await queueLetter(db, { invitation: id }, now);
  return undefined;
}

/** The user that an id in a list names. */
async function userNamed(db: Reader, text: string): Promise<users.User | undefined> {
  const found = /^\d{1,15}$/.test(text) ? await users.find(db, Number(text)) : undefined;
  return found && users.isAccount(found) ? found : undefined;
}

function routesOf(kind: SourceKind): Route[] {
  const { del, list, post, put } = routes({ source: kind, path: "/invitations" });
  const role = kind === "group" ? "owner" : "maintainer";
  return [
    list("", {
      summary: `List the invitations to a ${kind} that nobody has accepted`,
      role,
      input: { query: param.optional(param.anyText()) },
      presenter: invitation,
      handle: ({ db, presenter: shown, page, source, input }) =>
        invitations.list(db, shown, page, source, input.query),
    }),
    post("", {
      summary: `Invite people to a ${kind}: users become members at once, others when the address is theirs`,
      role,
      input: {
        email: param.optional(param.commaSeparated()),
        user_id: param.optional(param.commaSeparated()),
        access_level: level,
        expires_at: param.clearable(param.date()),
      },
      atLeastOne: ["email", "user_id"],
      examples: [
        { status: "success" },
        { status: "error", message: { "ada@example.com": "Invite email has already been taken" } },
        { status: "error", message: {} },
      ],
      handle: async (context) => {
        const { db, caller, input, source, now } = context;
        await spend(db, { ...ALLOWANCE, key: `invitations of ${caller.id}` }, now);
        const { email = [], user_id = [], access_level, expires_at } = input;
        requireGrantable(source, access_level);
        const change = changeOf(context);
        const membership = { access_level, expires_at };
        const message: Record<string, string> = {};
        for (const address of email) {
          const problem = await invite(change, address, membership);
          if (problem !== undefined) message[address] = problem;
        }
        for (const id of user_id) {
          const user = await userNamed(db, id);
          const problem = user ? await include(change, user.id, membership) : "User not found";
          if (problem !== undefined) message[user?.username ?? id] = problem;
        }
        const failed = Object.keys(message).length > 0;
        return new Json(failed ? { status: "error", message } : { status: "success" });
      },
    }),
    put("/:email", {
      summary: "Change the access level or expiry date of an invitation",
      role,
      input: {
        ...of,
        access_level: param.optional(level),
        expires_at: param.clearable(param.date()),
      },
      atLeastOne: ["access_level", "expires_at"],
      presenter: invitation,
      handle: async (context) => {
        const { db, source, input, presenter: shown, now } = context;
        const found = await findOne(context);
        const { access_level, expires_at } = input;
        requireGrantable(source, Math.max(access_level ?? 0, found.access_level));
        if (access_level !== undefined) requireGrantable(source, access_level);
        await updateRow(db, "member_invitations", found.id, { access_level, expires_at }, now);
        return invitations.row(db, shown, found.id);
      },
    }),
    del("/:email", {
      summary: "Withdraw an invitation",
      role,
      input: of,
      handle: async (context) => {
        const found = await findOne(context);
        context.requireUnmodified(found.updated_at);
        await invitations.remove(context.db, found.id);
        return undefined;
      },
    }),
  ];
}

/**
 * Makes a user a member where an address was invited that is now known to be theirs. Invitations that have expired, or
 * that would not raise the user's role, are dropped.
 */
export async function acceptInvitations(
  db: Database,
  userId: number,
  email: string,
  now: number,
): Promise<void> {
  for (const taken of await invitations.take(db, email)) await accept(db, userId, taken, now);
}

/**
 * Makes a user a member who has opened the link of an invitation: whoever reads the mail is meant. It is used up by that, as by
 * what {@link acceptInvitations} drops.
 */
export async function acceptInvitation(
  db: Database,
  userId: number,
  taken: invitations.Accepted & { readonly id: number },
  now: number,
): Promise<void> {
  await invitations.remove(db, taken.id);
  await accept(db, userId, taken, now);
}

async function accept(
  db: Database,
  userId: number,
  taken: invitations.Accepted,
  now: number,
): Promise<void> {
  const { access_level, expires_at } = taken;
  const source = placeOf(taken);
  const above = await members.findBest(db, { ...source, namespaceId: taken.above_id }, userId);
  const isOver = expires_at !== null && expires_at <= dayOf(now);
  if (isOver || (above && above.access_level >= access_level)) return;
  if (await members.find(db, source, userId)) return;
  const by = { id: taken.created_by_id, name: taken.created_by ?? "", ip: "" };
  await enroll({ db, source, by, now }, userId, { access_level, expires_at });
}

function placeOf({ project_id, namespace_id, full_path: fullPath }: invitations.Accepted): Place {
  return project_id === null
    ? { kind: "group", column: "namespace_id", id: namespace_id as number, fullPath }
    : { kind: "project", column: "project_id", id: project_id, fullPath };
}

/** Invitations to groups and projects. */
export const invitationResource: Resource = {
  name: "Invitations",
  migrations: [],
  routes: [...routesOf("group"), ...routesOf("project")],
};
