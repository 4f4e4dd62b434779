import { CsvError, type CsvRows, csvLine, csvRows } from "../../core/csv.ts";
import { ApiError } from "../../core/errors.ts";
import type { Claims } from "../../jobs/mails.ts";
import type { Reader } from "../../store/port.ts";
import { STEPS, type Steps } from "../../turns/pace.ts";
import * as users from "../users/queries.ts";
import { propose, type Reassigning } from "./changes.ts";
import * as sourceUsers from "./queries.ts";

/** The limits of a file, as in GitLab. */
export const MOST_BYTES = 10 * 1024 * 1024;
const MOST = { rows: 50_000, columns: 20, characters: 10_000 };

const HEAD = [
  ...["Source host", "Import type", "Source user identifier", "Source user name"],
  ...["Source username", "GitLab username", "GitLab public email"],
];
/** The columns without which a file is refused. */
const NEEDED = [
  ...["source_host", "import_type", "source_user_identifier"],
  ...["gitlab_username", "gitlab_public_email"],
];

const wrong = (problem: string) =>
  new ApiError(422, {
    message: `The following errors are preventing the sheet from being processed: ${problem}`,
  });

/** The placeholders of a group that are not reassigned, as a file with two columns to be filled in. */
export function written(found: readonly sourceUsers.SourceUser[]): string {
  return [HEAD, ...found.map(cellsOf)].map(csvLine).join("");
}

const cellsOf = (one: sourceUsers.SourceUser) => [
  ...[one.source_hostname, one.import_type, one.source_user_identifier],
  ...[one.source_name, one.source_username].map((text) => text.replace(/\s+/g, " ")),
  ...["", ""],
];

/** A row of a file that names a user. */
interface Claim {
  readonly origin: sourceUsers.Origin;
  readonly identifier: string;
  readonly username: string;
  readonly email: string;
}

/**
 * Reads a file that was filled in.
 *
 * @returns the rows that name a user, and how many name none
 * @throws ApiError 422 for a text that is no such file, or names a user twice
 */
export function* read(
  text: string,
  namespaceId: number,
): Steps<{ claims: Claim[]; skipped: number }> {
  const { names, rows } = yield* rowsIn(text);
  if (!NEEDED.every((name) => names.includes(name))) {
    throw wrong("The provided CSV was not correctly formatted.");
  }
  const claims: Claim[] = [];
  const said = new Set<string>();
  for (const row of rows) {
    yield STEPS;
    const cell = (name: string) => row[name] ?? "";
    const origin = { namespaceId, importType: cell("import_type"), hostname: cell("source_host") };
    const [username, email] = [cell("gitlab_username"), cell("gitlab_public_email")];
    for (const [kind, name] of [
      ["username", username],
      ["email", email],
    ] as const) {
      const key = JSON.stringify([origin, kind, name.toLowerCase()]);
      if (name !== "" && said.has(key)) {
        throw wrong("The provided spreadsheet contains duplicate email addresses or usernames.");
      }
      said.add(key);
    }
    if (username === "" && email === "") continue;
    claims.push({ origin, identifier: cell("source_user_identifier"), username, email });
  }
  return { claims, skipped: rows.length - claims.length };
}

function* rowsIn(text: string): Steps<CsvRows> {
  try {
    return yield* csvRows(text, MOST);
  } catch (error) {
    if (error instanceof CsvError) throw wrong(`The CSV file cannot be read: ${error.message}.`);
    throw error;
  }
}

/** Reassigns by the rows of a file, as far as that can be, and returns for how many it could. @param anyAddress whether addresses count that are not shown */
export async function apply(
  change: Reassigning,
  claims: readonly Claim[],
  anyAddress: boolean,
): Promise<Omit<Claims, "skipped">> {
  const { db } = change;
  // A group has fewer of them than a file may have rows.
  const reassignable = await sourceUsers.listReassignable(db, change.group.id);
  const known = new Map(
    reassignable.map((one) => [
      keyOf(one.import_type, one.source_hostname, one.source_user_identifier),
      one,
    ]),
  );
  let matched = 0;
  for (const { origin, identifier, username, email } of claims) {
    const found = known.get(keyOf(origin.importType, origin.hostname, identifier));
    const user = found && (await userNamed(db, { username, email }, anyAddress));
    if (!found || !user) continue;
    try {
      await propose(change, found, user);
      matched += 1;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }
  return { matched, failed: claims.length - matched };
}

const keyOf = (...texts: readonly string[]): string => JSON.stringify(texts);

/** The user with a name, with an address, or with both. */
async function userNamed(
  db: Reader,
  { username, email }: Pick<Claim, "username" | "email">,
  anyAddress: boolean,
): Promise<users.User | undefined> {
  const byName = username === "" ? undefined : await users.findByUsername(db, username);
  if (email === "") return byName;
  const id =
    (anyAddress && (await users.idByAddress(db, email))) ||
    (await users.idByPublicEmail(db, email));
  const byAddress = id === undefined ? undefined : await users.find(db, id);
  return username === "" || byName?.id === byAddress?.id ? byAddress : undefined;
}
