import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  randomUUID,
  sign,
  verify,
} from "node:crypto";
import { promisify } from "node:util";
import { sealerFor } from "../core/sealed.ts";
import type { Secrets } from "../core/secrets.ts";
import type { Action } from "../resources/container-registry/abilities.ts";
import { KEY_PURPOSE } from "../resources/container-registry/table.ts";
import type { Reader, Store } from "../store/port.ts";

/** For whom tokens are: what clients ask for as `service`. */
export const SERVICE = "container_registry";
/** Characters of a token. */
const MOST = 16_384;
/** Seconds by which clocks may differ. */
const LEEWAY = 5;

/** What a token lets its bearer do with a repository. */
export interface Access {
  readonly type: "repository";
  readonly name: string;
  readonly actions: readonly Action[];
  readonly meta: { readonly project_id: number; readonly project_path: string };
}

/** What a token says. */
export interface Claims {
  /** The user name; `""` of nobody. */
  readonly sub: string;
  /** How they have authenticated. */
  readonly auth_type: string;
  /** Who answers for what they do. */
  readonly person: string;
  readonly access: readonly Access[];
}

interface Keys {
  readonly secret: KeyObject;
  readonly known: KeyObject;
}

/** Keys that were decrypted, by their encrypted text: a process has some databases. */
const KEPT = 8;
const keys = new Map<string, Keys>();

async function findKeys(db: Reader, secrets: Pick<Secrets, "open">): Promise<Keys | undefined> {
  const [row] = await db.rows("select private_key from container_registry_keys where id = 1");
  if (!row) return undefined;
  const sealed = String(row[0]);
  const kept = keys.get(sealed);
  if (kept) return kept;
  const secret = createPrivateKey(secrets.open(sealed, KEY_PURPOSE));
  const found = { secret, known: createPublicKey(secret.export({ type: "pkcs8", format: "pem" })) };
  if (keys.size >= KEPT) keys.delete(keys.keys().next().value as string);
  keys.set(sealed, found);
  return found;
}

const generate = promisify(generateKeyPair);

/** The keys of a database, which are made with its first token: if several processes do so, one of them counts. */
async function keysOf(store: Store, secrets: Secrets, now: number): Promise<Keys> {
  const known = await findKeys(store.reader(), secrets);
  if (known) return known;
  const { privateKey } = await generate("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  await store.transaction(async (db) => {
    const seal = await sealerFor(db, secrets);
    await db.run(
      `insert into container_registry_keys (id, private_key, created_at) values (1, ?, ?)
       on conflict (id) do nothing`,
      [seal(privateKey, KEY_PURPOSE), now],
    );
  });
  return (await findKeys(store.reader(), secrets)) as Keys;
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const HEADER = encoded({ typ: "JWT", alg: "RS256" });

/**
 * Signs a token.
 *
 * @param issuer the public address
 * @param seconds for which it is valid
 * @param now epoch milliseconds
 * @throws SecretKeyError if there is no key for secrets
 */
export async function signToken(
  { store, secrets, now }: { store: Store; secrets: Secrets; now: number },
  issuer: string,
  claims: Claims,
  seconds: number,
): Promise<string> {
  const { secret } = await keysOf(store, secrets, now);
  const iat = Math.floor(now / 1000);
  const times = { iat, nbf: iat - LEEWAY, exp: iat + seconds };
  const said = { iss: issuer, aud: SERVICE, jti: randomUUID(), ...times, ...claims };
  const signed = `${HEADER}.${encoded(said)}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), secret).toString("base64url")}`;
}

/**
 * Reads a token of this server that is valid.
 *
 * @param now epoch milliseconds
 * @returns `undefined` for anything else
 */
export async function readToken(
  db: Reader,
  secrets: Pick<Secrets, "open">,
  token: string,
  now: number,
): Promise<Claims | undefined> {
  const [head, said, signature, ...others] = token.length > MOST ? [] : token.split(".");
  if (head !== HEADER || !said || !signature || others.length > 0) return undefined;
  const found = await findKeys(db, secrets);
  if (!found) return undefined;
  const bytes = Buffer.from(signature, "base64url");
  if (!verify("sha256", Buffer.from(`${head}.${said}`), found.known, bytes)) return undefined;
  const claims = JSON.parse(Buffer.from(said, "base64url").toString("utf8"));
  const seconds = now / 1000;
  const isValid = claims.aud === SERVICE && claims.nbf <= seconds && seconds < claims.exp;
  return isValid ? claims : undefined;
}
