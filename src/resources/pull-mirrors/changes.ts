import type { Caller } from "../../core/access/caller.ts";
import { type AttributeErrors, invalid } from "../../core/errors.ts";
import type { PrepareContext } from "../../core/resource.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { Database } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import {
  addressOf,
  type MirrorAddress,
  requirePublic,
  withCredentials,
} from "../mirrors/address.ts";
import { choiceColumns, requireChoice } from "../mirrors/branches.ts";
import * as mirrors from "./queries.ts";
import { purposeOf } from "./table.ts";

/** What is set of a mirror, besides its address. */
export interface GivenSettings {
  readonly enabled?: boolean | undefined;
  readonly mirror_trigger_builds?: boolean | undefined;
  readonly only_mirror_protected_branches?: boolean | undefined;
  readonly mirror_overwrites_diverged_branches?: boolean | undefined;
  readonly mirror_branch_regex?: string | null | undefined;
}

/** What is set of its address. */
interface GivenAddress {
  readonly url?: string | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** The attribute with the URL, for errors. Default `url`. */
  readonly attribute?: string;
}

/** What is needed to check it; without a `source`, the project is yet to be created. */
export type Preparing = Pick<PrepareContext, "db" | "secrets" | "outgoing"> & {
  readonly source?: { readonly id: number } | undefined;
};

/**
 * Checks what is set of a project's mirror. A new URL has no credentials but its own and those that are sent with it: those
 * of another address are not for it.
 *
 * @returns its address; `undefined` if that stays as it is
 * @throws ApiError 400
 */
export async function prepareMirror(
  given: GivenSettings,
  { url, user, password, attribute = "url" }: GivenAddress,
  { db, source, secrets, outgoing }: Preparing,
): Promise<MirrorAddress | undefined> {
  await requireChoice(given, "only_mirror_protected_branches");
  if (url !== undefined) {
    const address = addressOf(url, { user, password }, attribute);
    await requirePublic(address, outgoing.allowLocal, attribute);
    return address;
  }
  if (user === undefined && password === undefined) return undefined;
  const found = source && (await mirrors.find(db, source.id));
  if (!found) return undefined;
  const { href } = withCredentials(found, purposeOf(found.id), secrets);
  return addressOf(href, { user, password });
}

const bit = (given: boolean | undefined) => (given === undefined ? undefined : Number(given));

/** What a mirror is set up with. */
interface Setting {
  readonly db: Database;
  readonly source: { readonly id: number };
  readonly secrets: Secrets;
  readonly caller: Pick<Caller, "id">;
  readonly now: number;
}

/**
 * Sets up the mirror of a project, whose changes are the caller's from now on. It is updated at once if it was not enabled,
 * or has another address.
 *
 * @param address as {@link prepareMirror} returns it
 * @param attribute the one that needs the URL, for errors
 * @throws ApiError 400 if it has none
 */
export async function setUp(
  { db, source, secrets, caller, now }: Setting,
  given: GivenSettings,
  address: MirrorAddress | undefined,
  attribute = "url",
): Promise<void> {
  const found = await mirrors.find(db, source.id);
  if (!found && !address) throw invalid({ [attribute]: ["can't be blank"] } as AttributeErrors);
  const { url = "" } = address ?? {};
  const id = found?.id ?? (await mirrors.insert(db, { projectId: source.id, url }, now));
  if (address) await mirrors.setAddress(db, secrets, id, address, now);
  const choice = choiceColumns(given.only_mirror_protected_branches, given.mirror_branch_regex);
  const columns = {
    enabled: bit(given.enabled),
    mirror_trigger_builds: bit(given.mirror_trigger_builds),
    only_mirror_protected_branches: choice.onlyProtected,
    mirror_overwrites_diverged_branches: bit(given.mirror_overwrites_diverged_branches),
    mirror_branch_regex: choice.pattern,
    user_id: caller.id,
  };
  await updateRow(db, "pull_mirrors", id, columns, now);
  const wasEnabled = found?.enabled === 1;
  const isEnabled = given.enabled ?? wasEnabled;
  if (isEnabled && (address || !wasEnabled)) await mirrors.queue(db, id, now);
}
