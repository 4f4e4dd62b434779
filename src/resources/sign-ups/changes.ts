import type * as audit from "../../audit/log.ts";
import { ApiError, type AttributeErrors } from "../../core/errors.ts";
import { queueLetter } from "../../jobs/mails.ts";
import type { Database, Reader } from "../../store/port.ts";
import { createAccount } from "../accounts/changes.ts";
import { addressProblem, type SignUpRules } from "../application-settings/sign-up.ts";
import { createUser } from "../users/changes.ts";
import * as users from "../users/queries.ts";
import { isAddress, requireFree } from "../users/rules.ts";
import * as signUps from "./queries.ts";

/** Characters of an e-mail address (RFC 5321). */
const MOST_ADDRESS = 254;
/** Characters of a name, as of those that the API takes. */
const MOST_NAME = 255;
/** So many administrators are told of somebody who waits for them. */
const MOST_TOLD = 20;

/**
 * What is wrong with a name, a user name and an address with which somebody signs up. Whether the address is somebody's is not
 * told, that of a user name is, as everybody can see it.
 */
export async function problemsOf(
  db: Reader,
  rules: SignUpRules,
  { name, username, email }: Omit<signUps.SignUp, "password_hash">,
  now: number,
): Promise<AttributeErrors> {
  const errors: Record<string, string[]> = {};
  if (name === "") errors["name"] = ["can't be blank"];
  if (name.length > MOST_NAME)
    errors["name"] = [`is too long (maximum is ${MOST_NAME} characters)`];
  const problem = await nameProblem(db, username, now);
  if (problem) errors["username"] = problem;
  if (!isAddress(email) || email.length > MOST_ADDRESS) errors["email"] = ["is invalid"];
  else {
    const refusal = await addressProblem(rules, email);
    if (refusal !== undefined) errors["email"] = [refusal];
  }
  return errors;
}

async function nameProblem(
  db: Reader,
  username: string,
  now: number,
): Promise<string[] | undefined> {
  try {
    await requireFree(db, { username });
    return (await signUps.isReserved(db, username, now)) ? TAKEN : undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
    const { message } = error.body as { message?: unknown };
    return typeof message === "object" && message !== null && "username" in message
      ? (message.username as string[])
      : TAKEN;
  }
}

const TAKEN = ["has already been taken"];

/** Somebody's arrival. */
interface Arriving {
  readonly db: Database;
  readonly rules: SignUpRules;
  readonly by: audit.Actor;
  readonly now: number;
}

/**
 * Signs somebody up: they get an account, or a mail with a link by which they get it. Whose address has an account already gets
 * a mail that says so: the person who signs up learns nothing of it.
 *
 * @returns whether the user name was still free
 */
export async function signUp(arriving: Arriving, person: signUps.SignUp): Promise<boolean> {
  const { db, rules, now } = arriving;
  if (rules.confirms) {
    const id = await signUps.insert(db, person, now);
    if (id !== undefined) await queueLetter(db, { signUp: id }, now);
    return id !== undefined;
  }
  if (await users.isEmailTaken(db, person.email)) {
    await queueLetter(db, { signUpAgain: person.email }, now);
    return true;
  }
  await open(arriving, person, false);
  return true;
}

/**
 * Makes the account of somebody whose address is confirmed, who becomes a member wherever it was invited.
 *
 * @throws ApiError 409 if the user name or address has become somebody's meanwhile
 */
export const openConfirmed = (arriving: Arriving, person: signUps.SignUp): Promise<number> =>
  open(arriving, person, true);

async function open(
  { db, rules, by, now }: Arriving,
  { username, name, email, password_hash }: signUps.SignUp,
  isConfirmed: boolean,
): Promise<number> {
  const state = rules.needsApproval ? "blocked_pending_approval" : "active";
  const user = { username, name, email, password_hash, state } as const;
  // An address that nobody has confirmed may be anybody's: it accepts no invitation.
  const id = await (isConfirmed ? createAccount : createUser)(db, by, user, now);
  if (rules.needsApproval) {
    for (const to of await users.addressesOfAdmins(db, MOST_TOLD)) {
      await queueLetter(db, { signUpRequest: id, to }, now);
    }
  }
  return id;
}
