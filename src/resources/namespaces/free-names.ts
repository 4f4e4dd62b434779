import { isReserved } from "../../core/paths.ts";
import type { Reader } from "../../store/port.ts";
import * as namespaces from "./queries.ts";

/** Maximum characters of a user name made here, so that paths below it have room. */
const MAX_USERNAME = 100;
/** How many numbers are tried before the user's id makes the name unique. */
const NUMBERS = 9;

/**
 * A free user name like the one at a provider of identities, without what follows an `@`.
 *
 * @param uid makes it unique if all names like it are taken
 */
export async function freeUsername(db: Reader, userName: string, uid: string): Promise<string> {
  const [local = ""] = userName.split("@", 1);
  const plain = local
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^a-zA-Z0-9_.-]/g, "-")
    .slice(0, MAX_USERNAME)
    .replace(/^[-.]+/, "")
    .replace(/\.(git|atom)$/i, "-$1");
  const base = plain === "" ? "user" : plain;
  for (let number = 0; number <= NUMBERS; number += 1) {
    const candidate = number === 0 ? base : `${base}${number}`;
    if (!isReserved(candidate) && !(await namespaces.isTaken(db, candidate))) return candidate;
  }
  return `${base}-${uid.slice(0, 8)}`;
}
