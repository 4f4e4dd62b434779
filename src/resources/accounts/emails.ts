import * as audit from "../../audit/log.ts";
import { spend } from "../../auth/throttle.ts";
import type { Caller } from "../../core/access/caller.ts";
import { invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import { USER_SCOPES } from "../../core/scopes.ts";
import { queueLetter } from "../../jobs/mails.ts";
import type { Database, Reader } from "../../store/port.ts";
import * as users from "../users/queries.ts";
import { isAddress, requireChangeable, requireUser } from "../users/rules.ts";
import { confirmAddress } from "./changes.ts";
import * as emails from "./queries.ts";

/** Further addresses that a user can have. */
const MAX_EMAILS = 100;

/** How often a user may have a mail sent to an address of their choice. */
const ALLOWANCE = { max: 100, window: 86_400_000 };

const email = presenter({
  id: field.integer("ue.id"),
  email: field.text("ue.email"),
  confirmed_at: field.instant("ue.confirmed_at"),
});

const emailId = { email_id: param.recordId() };
const userId = { user_id: param.recordId() };
const newEmail = { email: param.trimmed({ max: 254 }) };

type Changing = Pick<Context, "now" | "request"> & { db: Database; caller: Caller };

/** Adds an address to a user. It is theirs once it is confirmed: by the link in a mail, or by an administrator. */
async function add(context: Changing, userId: number, address: string, isConfirmed: boolean) {
  const { db, now } = context;
  if (!isAddress(address)) throw invalid({ email: ["is invalid"] });
  const isOwn = await emails.has(db, userId, address);
  if (isOwn || (await users.isEmailTaken(db, address))) {
    throw invalid({ email: ["has already been taken"] });
  }
  if ((await emails.count(db, userId)) >= MAX_EMAILS) {
    throw invalid({ email: [`can't be added: ${MAX_EMAILS} are enough`] });
  }
  const id = await emails.insert(db, userId, address, now);
  await audit.log(context, "e-mail address added", { userId, target: address });
  if (isConfirmed) await confirmAddress(db, { id, user_id: userId, email: address }, now);
  else await queueLetter(db, { confirmation: id }, now);
  return id;
}

/** Removes an address, also from where it was chosen. */
async function remove(
  context: Changing & Pick<Context, "requireUnmodified">,
  userId: number,
  id: number,
) {
  const found = await emails.find(context.db, userId, id);
  if (!found) throw notFound("Email");
  context.requireUnmodified(found.updated_at);
  await emails.remove(context.db, found);
  await audit.log(context, "e-mail address removed", { userId, target: found.email });
  return undefined;
}

const own = routes({ path: "/user/emails" });
const ofUser = routes({ path: "/users/:user_id/emails" });

async function rowOf(db: Reader, shown: Context["presenter"], ownerId: number, id: number) {
  const row = await emails.row(db, shown, ownerId, id);
  if (!row) throw notFound("Email");
  return row;
}

/** Further e-mail addresses of users, beside the one of their account. */
export const emailResource: Resource = {
  name: "E-mail addresses",
  migrations: [],
  routes: [
    own.list("", {
      summary: "List the caller's further e-mail addresses",
      scopes: USER_SCOPES,
      presenter: email,
      handle: ({ db, presenter: shown, page, caller }) => emails.list(db, shown, page, caller.id),
    }),
    own.get("/:email_id", {
      summary: "Get one of the caller's further e-mail addresses",
      scopes: USER_SCOPES,
      input: emailId,
      presenter: email,
      handle: ({ db, presenter: shown, caller, input }) =>
        rowOf(db, shown, caller.id, input.email_id),
    }),
    own.post("", {
      summary: "Add an e-mail address of the caller, who confirms it by the link in a mail",
      input: newEmail,
      presenter: email,
      handle: async (context) => {
        const { db, caller, input, presenter: shown, now } = context;
        await spend(db, { ...ALLOWANCE, key: `addresses of ${caller.id}` }, now);
        const id = await add(context, caller.id, input.email, false);
        return rowOf(db, shown, caller.id, id);
      },
    }),
    own.del("/:email_id", {
      summary: "Remove an e-mail address of the caller",
      input: emailId,
      handle: (context) => remove(context, context.caller.id, context.input.email_id),
    }),
    ofUser.list("", {
      summary: "List the further e-mail addresses of a user",
      access: "admin",
      scopes: USER_SCOPES,
      input: userId,
      presenter: email,
      handle: async ({ db, presenter: shown, page, input }) => {
        const { id } = await requireUser(db, input.user_id);
        return emails.list(db, shown, page, id);
      },
    }),
    ofUser.post("", {
      summary:
        "Add an e-mail address of a user, confirmed or to be confirmed by the link in a mail",
      access: "admin",
      input: { ...userId, ...newEmail, skip_confirmation: param.optional(param.boolean()) },
      presenter: email,
      handle: async (context) => {
        const { db, input, presenter: shown } = context;
        const user = await requireChangeable(db, input.user_id);
        const id = await add(context, user.id, input.email, input.skip_confirmation === true);
        return rowOf(db, shown, user.id, id);
      },
    }),
    ofUser.del("/:email_id", {
      summary: "Remove an e-mail address of a user",
      access: "admin",
      input: { ...userId, ...emailId },
      handle: async (context) => {
        const { id } = await requireUser(context.db, context.input.user_id);
        return remove(context, id, context.input.email_id);
      },
    }),
  ],
};
