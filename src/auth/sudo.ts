import type { Caller } from "../core/access/caller.ts";
import { forbidden, insufficientScope, invalid, notFound, unauthorized } from "../core/errors.ts";
import type { Incoming } from "../core/http/incoming.ts";
import type { Impersonation } from "../core/http/mount.ts";
import type { Parameters } from "../core/http/parameters.ts";
import type { Reader } from "../store/port.ts";
import { USER_COLUMNS, type UserRow } from "./authenticators/user-row.ts";
import { textOf } from "./request-tokens.ts";

/** Lets administrators act as another user, by a `sudo` parameter or `Sudo` header. The checks are in GitLab's order. */
export const sudo: Impersonation = {
  isAsked: (incoming, parameters) => targetOf(incoming, parameters) !== undefined,
  actAs: (db, caller, incoming, parameters) => {
    const target = targetOf(incoming, parameters);
    return target === undefined ? caller : actAsTarget(db, caller, target);
  },
};

function targetOf(incoming: Pick<Incoming, "header">, parameters: Parameters): string | undefined {
  const given = parameters["sudo"];
  // Ignoring a list or an object would let administrators act as themselves by mistake.
  if (typeof given === "object" && given !== null) throw invalid({ sudo: ["is invalid"] });
  const target = textOf(given === undefined || given === null ? "" : String(given));
  return target ?? textOf(incoming.header("sudo"));
}

async function actAsTarget(
  db: Reader,
  caller: Caller | undefined,
  target: string,
): Promise<Caller> {
  if (!caller) throw unauthorized();
  if (!caller.admin) throw forbidden("Must be admin to use sudo");
  if (["session", "host", "job", "deploy", "key"].includes(caller.by.kind)) {
    throw forbidden("Must be authenticated using an OAuth or Personal Access Token to use sudo");
  }
  if (!caller.scopes.includes("sudo")) throw insufficientScope(["sudo"]);
  const found = await findPerson(db, target);
  if (!found) throw notFound(`User with ID or username '${target}'`);
  // The sudo scope covers everything the target may do, so the route's own scopes are not needed.
  const { id, username, admin, external } = found;
  const person = { id, username, admin: admin === 1, external: external === 1 };
  return { ...person, scopes: ["api"], by: caller.by, sudoer: caller };
}

/** Finds a user by id if the text is all digits, else by user name, ignoring case. */
async function findPerson(db: Reader, idOrName: string): Promise<UserRow | undefined> {
  // PostgreSQL accepts neither texts with a NUL nor ids beyond its integers.
  if (idOrName.includes("\0")) return undefined;
  const isId = /^\d+$/.test(idOrName);
  if (isId && !Number.isSafeInteger(Number(idOrName))) return undefined;
  return db.one<UserRow>(
    `select ${USER_COLUMNS} from users u
     where ${isId ? "u.id = ?" : "lower(u.username) = lower(?)"} and u.state not in ('ghost', 'placeholder', 'removed')`,
    [isId ? Number(idOrName) : idOrName],
  );
}
