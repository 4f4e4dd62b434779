import type { Secrets } from "../../core/secrets.ts";
import type { Database } from "../../store/port.ts";
import type { SecretKind } from "./queries.ts";
import { isSecretUrl, removeSecrets, setSecret } from "./secrets.ts";

/** The secrets that a request gives to a hook; `undefined` for those it does not mention. */
export interface GivenSecrets {
  readonly url: string | undefined;
  /** Null removes it. */
  readonly token: string | null | undefined;
  readonly headers: ReadonlyMap<string, string> | undefined;
  readonly variables: ReadonlyMap<string, string> | undefined;
}

/**
 * Stores the secrets of a hook. Those that are not given stay, unless the hook gets another URL: then they are removed,
 * so that nobody can have a secret that they don't know sent to themselves.
 */
export async function storeSecrets(
  db: Database,
  secrets: Secrets,
  hookId: number,
  { url, token, headers, variables }: GivenSecrets,
  isMoved: boolean,
): Promise<void> {
  const tokens = token === undefined ? undefined : new Map(token === null ? [] : [["", token]]);
  const urls = url === undefined ? undefined : new Map(isSecretUrl(url) ? [["", url]] : []);
  const given: [SecretKind, ReadonlyMap<string, string> | undefined][] = [
    ["url", urls],
    ["token", tokens],
    ["header", headers],
    ["variable", variables],
  ];
  for (const [kind, values] of given) {
    if (values === undefined && !isMoved) continue;
    await removeSecrets(db, hookId, kind);
    for (const [name, value] of values ?? []) {
      await setSecret(db, secrets, hookId, kind, name, value);
    }
  }
}
