import { sealerFor } from "../../core/sealed.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { Database, Reader } from "../../store/port.ts";
import { type Hook, purposeOf, type SecretKind } from "./queries.ts";

/** Whether a URL may have secrets in it: in its query, or before its host. Then it is stored encrypted. */
export const isSecretUrl = (url: string) => /[?@]/.test(url);

/** A URL as the column of hooks has it: `""` if it is encrypted. */
export const plainUrlOf = (url: string) => (isSecretUrl(url) ? "" : url);

/** A variable of a URL, whose value is not in it. */
const VARIABLE = /^\{\w+\}$/;

/** A URL as logs show it: without the secrets that it may have, but with the names of variables in place of others. */
export function maskedUrl(url: string): string {
  const [address = "", ...rest] = url.replace(/\/\/[^/?#]*@/, "//*****@").split("?");
  if (rest.length === 0) return address;
  const values = rest.join("?").split("&");
  const masked = values.map((part) => {
    const value = part.indexOf("=") + 1;
    return VARIABLE.test(part.slice(value)) ? part : `${part.slice(0, value)}*****`;
  });
  return `${address}?${masked.join("&")}`;
}

/**
 * Stores a secret of a hook, encrypted.
 *
 * @param name of a header or variable; `""` for the token
 * @throws SecretKeyError if there is no key
 */
export async function setSecret(
  db: Database,
  secrets: Secrets,
  hookId: number,
  kind: SecretKind,
  name: string,
  value: string,
): Promise<void> {
  const seal = await sealerFor(db, secrets);
  await db.run(
    `insert into hook_secrets (hook_id, kind, name, value) values (?, ?, ?, ?)
     on conflict (hook_id, kind, name) do update set value = excluded.value`,
    [hookId, kind, name, seal(value, purposeOf(hookId, kind, name))],
  );
}

/** Removes a secret of a hook; without a name, all of its kind. @returns how many there were */
export async function removeSecrets(
  db: Database,
  hookId: number,
  kind: SecretKind,
  name?: string,
): Promise<number> {
  const [sql, values] = name === undefined ? ["", []] : ["and name = ?", [name]];
  return db.run(`delete from hook_secrets where hook_id = ? and kind = ? ${sql}`, [
    hookId,
    kind,
    ...values,
  ]);
}

/** How many secrets of a kind a hook has, besides one of a name. */
export async function countOthers(
  db: Reader,
  hookId: number,
  kind: SecretKind,
  name: string,
): Promise<number> {
  const [counted] = await db.rows(
    "select count(*) from hook_secrets where hook_id = ? and kind = ? and name <> ?",
    [hookId, kind, name],
  );
  return (counted as [number])[0];
}

/** The secrets of a hook in plain text. */
export interface OpenSecrets {
  /** The hook's URL, with its variables. */
  readonly url: string;
  readonly token: string | undefined;
  readonly headers: ReadonlyMap<string, string>;
  readonly variables: ReadonlyMap<string, string>;
}

/** Decrypts the secrets of a hook. @throws SecretKeyError if their key is missing */
export async function openSecrets(
  db: Reader,
  secrets: Secrets,
  { id: hookId, url }: Pick<Hook, "id" | "url">,
): Promise<OpenSecrets> {
  const found = await db.all<{ kind: SecretKind; name: string; value: string }>(
    "select kind, name, value from hook_secrets where hook_id = ? order by name",
    [hookId],
  );
  const open = (wanted: SecretKind) =>
    new Map(
      found
        .filter(({ kind }) => kind === wanted)
        .map(({ kind, name, value }) => [name, secrets.open(value, purposeOf(hookId, kind, name))]),
    );
  return {
    url: open("url").get("") ?? url,
    token: open("token").get(""),
    headers: open("header"),
    variables: open("variable"),
  };
}
