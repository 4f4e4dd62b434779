import { createHash } from "node:crypto";
import * as audit from "../audit/log.ts";
import { type SealedColumn, sealerFor } from "../core/sealed.ts";
import type { Secrets } from "../core/secrets.ts";
import { insertRow } from "../store/insert.ts";
import type { Reader, Store } from "../store/port.ts";
import type { Ssh2 } from "./ssh2.ts";

/** Where the keys are by which clients know the server (decision 117). */
export const SSH_HOST_KEYS: SealedColumn = {
  table: "ssh_host_keys",
  id: "id",
  column: "private_key",
  purpose: "'ssh_host_key ' || fingerprint",
};

const purposeOf = (fingerprint: string) => `ssh_host_key ${fingerprint}`;

/** A key by which clients know the server. */
export interface HostKey {
  /** As in `authorized_keys`: its type and the key itself. */
  readonly publicKey: string;
  /** As `ssh-keygen -l` shows it. */
  readonly fingerprint: string;
}

/** A key that was made, with its private part in OpenSSH's format. */
interface MadeKey extends HostKey {
  readonly privateKey: string;
}

/** The fingerprint of a public key, as `ssh-keygen -l` shows it. @param key in the form that is sent */
export function fingerprintOf(key: Uint8Array): string {
  return `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;
}

/** The keys by which clients know the server, as it is; none before SSH is first used. */
export async function hostKeys(db: Reader): Promise<HostKey[]> {
  const rows = await db.rows("select public_key, fingerprint from ssh_host_keys order by id");
  return rows.map(([publicKey, fingerprint]) => ({
    publicKey: String(publicKey),
    fingerprint: String(fingerprint),
  }));
}

function generate(utils: Ssh2["utils"]): MadeKey[] {
  // Old clients, such as those of Java, know no Ed25519.
  const pairs = [
    readable(utils, () => utils.generateKeyPairSync("ed25519")),
    readable(utils, () => utils.generateKeyPairSync("ecdsa", { bits: 256 })),
  ];
  return pairs.map(({ public: line, private: privateKey }) => {
    const publicKey = line.split(" ", 2).join(" ");
    const encoded = publicKey.split(" ")[1] as string;
    return { publicKey, privateKey, fingerprint: fingerprintOf(Buffer.from(encoded, "base64")) };
  });
}

type KeyPair = ReturnType<Ssh2["utils"]["generateKeyPairSync"]>;

/** Makes pairs of keys until one can be read again: of some hundred that ssh2 writes, it can't read one. */
function readable(utils: Ssh2["utils"], make: () => KeyPair): KeyPair {
  for (;;) {
    const pair = make();
    if (!(utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}

/**
 * The private keys by which clients know the server, in OpenSSH's format. They are made when they are first asked for: once
 * for all processes that share the database.
 *
 * @throws SecretKeyError if there is no key to encrypt them with, or the one that has encrypted them is lost
 */
export async function privateHostKeys({
  store,
  secrets,
  now,
  ssh2,
}: {
  readonly store: Store;
  readonly secrets: Secrets;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly ssh2: Ssh2;
}): Promise<string[]> {
  const find = (db: Reader) =>
    db.rows("select fingerprint, private_key from ssh_host_keys order by id");
  let rows = await find(store);
  if (rows.length === 0) {
    const made = generate(ssh2.utils);
    rows = await store.transaction(async (db) => {
      // Another process may have been faster.
      const theirs = await find(db);
      if (theirs.length > 0) return theirs;
      const seal = await sealerFor(db, secrets);
      for (const { publicKey, privateKey, fingerprint } of made) {
        await insertRow(db, "ssh_host_keys", {
          public_key: publicKey,
          fingerprint,
          private_key: seal(privateKey, purposeOf(fingerprint)),
          created_at: now,
        });
        const by = { id: null, name: "server", ip: "" };
        await audit.log({ db, by, now }, "SSH host key made", { target: fingerprint });
      }
      return find(db);
    });
  }
  return rows.map(([fingerprint, sealed]) =>
    secrets.open(String(sealed), purposeOf(String(fingerprint))),
  );
}
