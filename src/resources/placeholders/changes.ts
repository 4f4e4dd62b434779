import * as audit from "../../audit/log.ts";
import { refused } from "../../core/errors.ts";
import { storedIn } from "../../core/kept.ts";
import { queueLetter } from "../../jobs/mails.ts";
import { removeLater } from "../../jobs/removal.ts";
import type { Database, Reader } from "../../store/port.ts";
import { keptSettings } from "../application-settings/kept.ts";
import * as users from "../users/queries.ts";
import * as sourceUsers from "./queries.ts";

/** What a reassignment needs. */
export interface Reassigning {
  readonly db: Database;
  readonly by: audit.Actor;
  /** The group at the top that it was imported into. */
  readonly group: { readonly id: number; readonly fullPath: string };
  /** Whether nobody has to agree: operators decide alone, administrators where the settings say so. */
  readonly isFinal: boolean;
  readonly now: number;
}

const INVALID_STATUS = "Import source user has an invalid status for this operation";

/** Whether administrators need nobody's agreement, and whether placeholders may be reassigned to administrators. */
export async function rulesOf(db: Reader) {
  const settings = keptSettings.read(await storedIn(db, "application_settings", 1));
  return {
    skipsConfirmation: settings.allow_bypass_placeholder_confirmation === true,
    takesAdministrators: settings.allow_contribution_mapping_to_admins === true,
  };
}

/**
 * Reassigns a source user to a user here, who is asked by mail, unless nobody has to agree.
 *
 * @throws ApiError 400 if they can't be, or it was decided before
 */
export async function propose(
  change: Reassigning,
  found: sourceUsers.SourceUser,
  user: users.User | undefined,
): Promise<void> {
  const { db, by, group, isFinal, now } = change;
  const { takesAdministrators } = await rulesOf(db);
  const isPerson = user !== undefined && (await users.isPerson(db, user));
  const isFree = user?.state === "active" || (isFinal && user?.state !== "removed");
  if (!isPerson || !isFree || (user.admin === 1 && !takesAdministrators && !isFinal)) {
    const who = isFinal ? "users" : "active users";
    const access = takesAdministrators
      ? "regular, auditor, or administrator"
      : "regular or auditor";
    throw refused(`You can assign ${who} with ${access} access only.`);
  }
  if (await sourceUsers.isClaimed(db, found, user.id)) {
    throw refused("Reassign to user already assigned to another placeholder");
  }
  const status = isFinal ? "reassignment_in_progress" : "awaiting_approval";
  const columns = { status, reassign_to_user_id: user.id, reassigned_by_user_id: by.id } as const;
  if (!(await sourceUsers.move(db, found.id, sourceUsers.REASSIGNABLE, columns, now))) {
    throw refused(INVALID_STATUS);
  }
  const target = `${found.source_username} of ${found.source_hostname}`;
  const source = { kind: "group", ...group } as const;
  await audit.log({ db, by, now, source }, "placeholder reassigned", { userId: user.id, target });
  if (isFinal) await removeLater(db, { placeholder: found.id }, now);
  else await queueLetter(db, { claim: found.id }, now);
}

/** Takes the answer of the user who was asked. @returns whether there was still something to answer */
export async function answer(
  db: Database,
  { id }: sourceUsers.SourceUser,
  accepts: boolean,
  now: number,
): Promise<boolean> {
  const status = accepts ? "reassignment_in_progress" : "rejected";
  const moved = await sourceUsers.move(db, id, ["awaiting_approval"], { status }, now);
  if (moved && accepts) await removeLater(db, { placeholder: id }, now);
  return moved;
}

/** What owners do with a placeholder besides reassigning it. */
const STEPS = {
  cancel: { from: ["awaiting_approval", "rejected"], to: "pending_reassignment" },
  keep: { from: sourceUsers.REASSIGNABLE, to: "keep_as_placeholder" },
  undoKeep: { from: ["keep_as_placeholder"], to: "pending_reassignment" },
} as const;
export type Step = keyof typeof STEPS;

/** Changes what is to become of a placeholder. @throws ApiError 400 if it can't be */
export async function take(db: Database, id: number, step: Step, now: number): Promise<void> {
  const { from, to } = STEPS[step];
  const nobody = { reassign_to_user_id: null, reassigned_by_user_id: null };
  if (!(await sourceUsers.move(db, id, from, { status: to, ...nobody }, now))) {
    throw refused(INVALID_STATUS);
  }
}

/** Keeps all placeholders of a group that are not reassigned, and returns how many. */
export function keepAll(db: Database, groupId: number, now: number) {
  return db.run(
    `update import_source_users set status = 'keep_as_placeholder', reassign_to_user_id = null, reassigned_by_user_id = null,
       updated_at = ? where namespace_id = ? and status in ('pending_reassignment', 'rejected')`,
    [now, groupId],
  );
}

/** Asks the user once more. @throws ApiError 400 if they were not asked, or have answered */
export async function remind(
  db: Database,
  { id, status }: sourceUsers.SourceUser,
  now: number,
): Promise<void> {
  if (status !== "awaiting_approval") throw refused(INVALID_STATUS);
  await queueLetter(db, { claim: id }, now);
}

/** Tries a reassignment again that has failed. @throws ApiError 400 if none has */
export async function retry(
  db: Database,
  { id, reassign_to_user_id }: sourceUsers.SourceUser,
  now: number,
): Promise<void> {
  const columns = { status: "reassignment_in_progress", reassignment_error: null } as const;
  const mayTry = reassign_to_user_id !== null;
  if (!mayTry || !(await sourceUsers.move(db, id, ["failed"], columns, now))) {
    throw refused(INVALID_STATUS);
  }
  await removeLater(db, { placeholder: id }, now);
}
