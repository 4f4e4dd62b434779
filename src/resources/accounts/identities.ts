import * as audit from "../../audit/log.ts";
import { conflict } from "../../core/errors.ts";
import type { Database } from "../../store/port.ts";
import * as identities from "../users/identities.ts";

/**
 * Says who a user is at a provider, in the place of what was said before.
 *
 * @throws ApiError 409 if that is somebody else
 */
export async function setIdentity(
  db: Database,
  by: audit.Actor,
  userId: number,
  identity: identities.Identity,
  now: number,
): Promise<void> {
  const { provider, extern_uid } = identity;
  const owner = await identities.findUser(db, identity);
  if (owner === userId) return;
  if (owner !== undefined) throw conflict({ extern_uid: ["has already been taken"] });
  const had = (await identities.ofUser(db, userId)).some((one) => one.provider === provider);
  await (had ? identities.change : identities.insert)(db, userId, identity, now);
  const action = had ? "identity changed" : "identity added";
  await audit.log({ db, by, now }, action, { userId, target: `${provider} (${extern_uid})` });
}

/** Takes a user's identity at a provider away. @returns whether there was one */
export async function removeIdentity(
  db: Database,
  by: audit.Actor,
  userId: number,
  provider: string,
  now: number,
): Promise<boolean> {
  if (!(await identities.remove(db, userId, provider))) return false;
  await audit.log({ db, by, now }, "identity removed", { userId, target: provider });
  return true;
}
