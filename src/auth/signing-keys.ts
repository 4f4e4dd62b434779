import { createHash } from "node:crypto";
import * as audit from "../audit/log.ts";
import { type SealedColumn, sealerFor } from "../core/sealed.ts";
import type { Secrets } from "../core/secrets.ts";
import { insertRow } from "../store/insert.ts";
import type { Database, Reader, Store } from "../store/port.ts";

/** Where the keys are that sign the tokens of OpenID Connect (decision 113). */
export const SIGNING_KEYS: SealedColumn = {
  table: "signing_keys",
  id: "id",
  column: "private_key",
  purpose: "'signing_key ' || kid",
};

const purposeOf = (kid: string) => `signing_key ${kid}`;

/** How long a key is published before it signs, in milliseconds: as long as others may keep the list of keys. */
const PUBLISHED_BEFORE = 24 * 3_600_000;
/** How long a key is published after another one signs, in milliseconds: tokens of jobs live for a month at most. */
const PUBLISHED_AFTER = 32 * PUBLISHED_BEFORE;

const ALGORITHM = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;

/** A public key as others read it (RFC 7517). */
export interface PublicKey {
  readonly kty: "RSA";
  /** Its thumbprint (RFC 7638). */
  readonly kid: string;
  readonly e: string;
  readonly n: string;
  readonly use: "sig";
  readonly alg: "RS256";
}

/** What a token says. */
export type Claims = Readonly<Record<string, unknown>>;

/** Signs what a token says: a JWT with the header `typ`, `alg` and `kid`. */
export type Sign = (claims: Claims) => Promise<string>;

/** What keys are found or made with. */
interface Keeping {
  readonly store: Store;
  readonly secrets: Secrets;
  /** The instant, in epoch milliseconds. */
  readonly now: number;
}

/** How a key is stored. */
interface MadeKey {
  readonly kid: string;
  /** Of {@link PublicKey}, in JSON. */
  readonly publicKey: string;
  /** PKCS #8 in Base64. */
  readonly privateKey: string;
}

async function generate(): Promise<MadeKey> {
  const { subtle } = globalThis.crypto;
  const size = { modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
  const pair = await subtle.generateKey({ ...ALGORITHM, ...size }, true, ["sign", "verify"]);
  const { e, n } = await subtle.exportKey("jwk", pair.publicKey);
  const kid = createHash("sha256")
    .update(JSON.stringify({ e, kty: "RSA", n }))
    .digest("base64url");
  const privateKey = Buffer.from(await subtle.exportKey("pkcs8", pair.privateKey));
  return {
    kid,
    publicKey: JSON.stringify({ kty: "RSA", kid, e, n, use: "sig", alg: "RS256" }),
    privateKey: privateKey.toString("base64"),
  };
}

/** The first key of a test server: after a reset it is the same again, since verifiers keep the list of keys. */
export interface FirstKey {
  made?: Promise<MadeKey>;
}

const firstKeys = new WeakMap<Secrets, FirstKey>();

/** Has the first key made once of all databases that are used with these secrets, one after the other. */
export function keepFirst(secrets: Secrets, first: FirstKey): void {
  firstKeys.set(secrets, first);
}

function generateFirst(secrets: Secrets): Promise<MadeKey> {
  const kept = firstKeys.get(secrets);
  if (!kept) return generate();
  kept.made ??= generate();
  return kept.made;
}

/** The first keys that are being made: callers that need one meanwhile wait for it. */
const making = new WeakMap<Store, Promise<void>>();

/** Makes the first key of a database; if several processes do so, one of them counts. */
function makeFirst({ store, secrets, now }: Keeping): Promise<void> {
  const make = async () => {
    // Where it could not be encrypted, nobody can have keys made for nothing.
    await store.transaction((db) => sealerFor(db, secrets));
    const made = await generateFirst(secrets);
    await store.transaction(async (db) => {
      // Of use from the beginning: a clock that is put back finds it, too.
      if ((await db.rows("select 1 from signing_keys limit 1")).length === 0) {
        await insert(db, secrets, made, { signsFrom: 0, now });
      }
    });
  };
  const running = making.get(store) ?? make().finally(() => making.delete(store));
  making.set(store, running);
  return running;
}

async function insert(
  db: Database,
  secrets: Secrets,
  { kid, publicKey, privateKey }: MadeKey,
  { signsFrom, now }: { signsFrom: number; now: number },
): Promise<void> {
  const seal = await sealerFor(db, secrets);
  await insertRow(db, "signing_keys", {
    kid,
    public_key: publicKey,
    private_key: seal(privateKey, purposeOf(kid)),
    signs_from: signsFrom,
    created_at: now,
  });
}

/**
 * The key that signs now: the first one is made when it is first asked for.
 *
 * @throws SecretKeyError if there is no key to encrypt it with, or the one that has encrypted it is lost
 */
export async function signerOf(keeping: Keeping): Promise<Sign> {
  const { store, secrets, now } = keeping;
  const find = () =>
    store.rows(
      // One that is to sign later does so now if it is the only one: the clock was put back, or the other is lost.
      `select kid, private_key from signing_keys
       order by case when signs_from <= ? then 0 else 1 end, signs_from desc, id desc limit 1`,
      [now],
    );
  let [row] = await find();
  if (!row) {
    await makeFirst(keeping);
    [row] = await find();
  }
  const [kid, sealed] = row as [string, string];
  const bytes = Buffer.from(secrets.open(sealed, purposeOf(kid)), "base64");
  const { subtle } = globalThis.crypto;
  const key = await subtle.importKey("pkcs8", bytes, ALGORITHM, false, ["sign"]);
  const header = encoded({ typ: "JWT", kid, alg: "RS256" });
  return async (claims) => {
    const signed = `${header}.${encoded(claims)}`;
    const signature = await subtle.sign(ALGORITHM, key, Buffer.from(signed));
    return `${signed}.${Buffer.from(signature).toString("base64url")}`;
  };
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Which keys `k` are published: those that no other has long replaced. */
const PUBLISHED = `not exists (select 1 from signing_keys later
  where later.signs_from > k.signs_from and later.signs_from <= ?)`;

async function published(db: Reader, now: number): Promise<PublicKey[]> {
  const rows = await db.rows(
    `select public_key from signing_keys k where ${PUBLISHED} order by signs_from desc, id desc`,
    [now - PUBLISHED_AFTER],
  );
  return rows.map(([key]) => JSON.parse(key as string));
}

/**
 * The keys by which tokens are verified, the newest first; with the first one made if there is none.
 *
 * @throws SecretKeyError if there is no key to encrypt the first one with
 */
export async function publicKeys(keeping: Keeping): Promise<PublicKey[]> {
  const found = await published(keeping.store, keeping.now);
  if (found.length > 0) return found;
  await makeFirst(keeping);
  return published(keeping.store, keeping.now);
}

/** The longest token that is read, in characters. */
const MOST = 65_536;

/**
 * What a token says that one of the published keys has signed, expired or not.
 *
 * @returns `undefined` for anything else
 */
export async function readSigned(
  db: Reader,
  token: string,
  now: number,
): Promise<Claims | undefined> {
  const [head, said, signature, ...others] = token.length > MOST ? [] : token.split(".");
  if (!head || !said || !signature || others.length > 0) return undefined;
  for (const key of await published(db, now)) {
    // The header is compared with the one that is ours, so it says nothing of how to verify.
    if (head !== encoded({ typ: "JWT", kid: key.kid, alg: "RS256" })) continue;
    const { subtle } = globalThis.crypto;
    const jwk = { kty: key.kty, e: key.e, n: key.n };
    const known = await subtle.importKey("jwk", jwk, ALGORITHM, false, ["verify"]);
    const bytes = Buffer.from(signature, "base64url");
    const isOurs = await subtle.verify(ALGORITHM, known, bytes, Buffer.from(`${head}.${said}`));
    return isOurs ? JSON.parse(Buffer.from(said, "base64url").toString("utf8")) : undefined;
  }
  return undefined;
}

/** The key that follows. */
export interface NextKey {
  /** Its thumbprint. */
  kid: string;
  /** When it begins to sign, in epoch milliseconds. */
  signsFrom: number;
}

/**
 * Makes the key that follows the one that signs: it is published at once and signs a day later. One that already waits for
 * that is returned instead.
 *
 * @param atOnce signs with it at once, and publishes no other any more, so that tokens of a stolen key are worthless
 * @throws SecretKeyError if there is no key to encrypt it with
 */
export async function turnSigningKey(
  { store, secrets, now }: Keeping,
  by: audit.Actor,
  { atOnce }: { readonly atOnce: boolean },
): Promise<NextKey> {
  const made = await generate();
  return store.transaction(async (db) => {
    if (atOnce) await db.run("delete from signing_keys");
    const [newest] = await db.rows(
      "select kid, signs_from from signing_keys order by signs_from desc, id desc limit 1",
    );
    const [kid, from] = (newest ?? []) as [kid?: string, from?: number];
    if (kid !== undefined && from !== undefined && from > now) return { kid, signsFrom: from };
    const signsFrom = newest ? now + PUBLISHED_BEFORE : now;
    await insert(db, secrets, made, { signsFrom, now });
    await audit.log({ db, by, now }, "signing key made", { target: made.kid });
    return { kid: made.kid, signsFrom };
  });
}

/** Deletes the keys that are not published any more. */
export async function sweepSigningKeys(store: Store, now: number): Promise<void> {
  await store.transaction(
    (db) =>
      db.run(
        `delete from signing_keys where id in (select k.id from signing_keys k where not (${PUBLISHED}))`,
        [now - PUBLISHED_AFTER],
      ),
    { shared: true },
  );
}
