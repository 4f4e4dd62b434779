import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** An encrypted text: format version, key id, then IV, ciphertext and tag in Base64. */
const SEALED = /^\$1\$([0-9a-f]{8})\$/;
const NO_BASE64URL = /[^\w-]/;

/**
 * The id of the key of an encrypted secret, and what is encrypted; `undefined` for what is not. A pattern for the whole would
 * run out of stack on large ones.
 */
function partsOf(sealed: string): [keyId: string, encrypted: string] | undefined {
  const [head, id] = SEALED.exec(sealed) ?? [];
  if (head === undefined || id === undefined) return undefined;
  const encrypted = sealed.slice(head.length);
  return encrypted === "" || NO_BASE64URL.test(encrypted) ? undefined : [id, encrypted];
}

/** The key is missing, or is not the one that encrypted a secret. The message is for operators. */
export class SecretKeyError extends Error {
  override get name() {
    return "SecretKeyError" as const;
  }
}

/** Where the keys come from. */
export interface SecretKeys {
  /** Keys of 32 bytes in Base64 or hexadecimal, separated by commas; the first one encrypts. */
  secretKey?: string | undefined;
  /** A file with such keys, one per line. */
  secretKeyFile?: string | undefined;
}

/** Encrypts secrets that are needed in plain text again, so that a digest would not do. */
export interface Secrets {
  /**
   * Encrypts a text (AES-256-GCM).
   *
   * @param of what the text belongs to, such as `"two_factor 7"`: it cannot be decrypted for anything else
   * @throws SecretKeyError if there is no key
   */
  seal(text: string, of: string): string;
  /**
   * Decrypts a text; returns a text that was never encrypted unchanged.
   *
   * @throws SecretKeyError if its key is missing, or the text was changed
   */
  open(sealed: string, of: string): string;
  /** Whether there is a key to encrypt with, or one can be created. */
  readonly mayEncrypt: boolean;
  /** The ids of all keys; the first one encrypts. */
  keyIds(): string[];
  /**
   * Creates a new key, which encrypts from then on. The previous key stays, older ones only if `isUsed` says so.
   *
   * @returns false if the keys come from the environment, where they cannot be changed
   */
  renew(isUsed: (keyId: string) => boolean): boolean;
}

interface Key {
  id: string;
  bytes: Buffer;
}

/** A source of keys. */
interface KeyRing {
  /** All keys; the first one encrypts. */
  keys(): Key[];
  /** Creates the first key; absent if that is not allowed. */
  make?(): void;
  renew?(isUsed: (keyId: string) => boolean): void;
  /** What operators should do if a key is missing. */
  remedy: string;
}

/**
 * Creates the encryption of secrets. If neither a key nor a key file is given, the key of a SQLite file is in a file
 * beside it, created with the first secret; a database in memory has its key in memory; PostgreSQL has none, since
 * several machines would have to share it.
 *
 * @param database as `createApp` takes it
 * @throws SecretKeyError if the key is malformed
 */
export function createSecrets(
  { secretKey, secretKeyFile }: SecretKeys,
  database: string,
  isSqlite: boolean,
): Secrets {
  if (secretKey !== undefined) return secretsOf(given(secretKey));
  if (secretKeyFile !== undefined) return secretsOf(inFile(secretKeyFile, isSqlite));
  if (!isSqlite) {
    const remedy = "set PM_SECRET_KEY (secretKey), or name a file of it (secretKeyFile)";
    return secretsOf({ keys: () => [], remedy });
  }
  if (database !== ":memory:") return secretsOf(inFile(`${database}.key`, true));
  return secretsOf(given(randomBytes(KEY_BYTES).toString("base64")));
}

/** The id of the key that encrypted a text; `undefined` if it was never encrypted. */
export function keyIdOf(sealed: string): string | undefined {
  return partsOf(sealed)?.[0];
}

function secretsOf(ring: KeyRing): Secrets {
  let known = ring.keys();
  const keyOf = (id: string): Key => {
    const isIt = (key: Key) => key.id === id;
    const found = known.find(isIt);
    if (found) return found;
    // Another process may have created it since.
    known = ring.keys();
    const made = known.find(isIt);
    if (made) return made;
    throw new SecretKeyError(`the key ${id}, which encrypted a secret, is missing: ${ring.remedy}`);
  };
  return {
    seal: (text, of) => {
      known = ring.keys();
      if (known.length === 0 && ring.make) {
        ring.make();
        known = ring.keys();
      }
      const [key] = known;
      if (!key) throw new SecretKeyError(`there is no key to encrypt secrets with: ${ring.remedy}`);
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key.bytes, iv).setAAD(Buffer.from(of));
      const bytes = [iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
      return `$1$${key.id}$${Buffer.concat(bytes).toString("base64url")}`;
    },
    open: (sealed, of) => {
      const parts = partsOf(sealed);
      if (!parts) return sealed;
      const [keyId, encrypted] = parts;
      const key = keyOf(keyId);
      const bytes = Buffer.from(encrypted, "base64url");
      try {
        const iv = bytes.subarray(0, IV_BYTES);
        const decipher = createDecipheriv("aes-256-gcm", key.bytes, iv)
          .setAAD(Buffer.from(of))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
        return Buffer.concat([text, decipher.final()]).toString("utf8");
      } catch (cause) {
        throw new SecretKeyError(`the secret of ${of} was changed, or belongs elsewhere`, {
          cause,
        });
      }
    },
    get mayEncrypt() {
      return ring.make !== undefined || ring.keys().length > 0;
    },
    keyIds: () => {
      known = ring.keys();
      return known.map(({ id }) => id);
    },
    renew: (isUsed) => {
      if (!ring.renew) return false;
      ring.renew(isUsed);
      known = ring.keys();
      return true;
    },
  };
}

function given(text: string): KeyRing {
  const keys = text.split(",").map((part) => {
    const key = readKey(part.trim());
    if (key) return key;
    throw new SecretKeyError(
      "the secret key must be 32 bytes in Base64 or hexadecimal, such as `openssl rand -base64 32` prints",
    );
  });
  return { keys: () => keys, remedy: "add it to PM_SECRET_KEY (secretKey), after a comma" };
}

function inFile(file: string, mayMake: boolean): KeyRing {
  const keys = (): Key[] => {
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw new SecretKeyError(`cannot read the key in ${file}`, { cause });
    }
    return linesOf(text).map((line, at) => {
      const key = readKey(line.trim());
      if (key) return key;
      throw new SecretKeyError(`key ${at + 1} in ${file} is malformed`);
    });
  };
  const write = (list: readonly Key[], place: (from: string, to: string) => void) => {
    const partial = `${file}.${process.pid}.partial`;
    rmSync(partial, { force: true });
    const made = openSync(partial, "wx", 0o600);
    try {
      fchmodSync(made, 0o600);
      writeSync(
        made,
        [...HEADING, ...list.map(({ bytes }) => bytes.toString("base64")), ""].join("\n"),
      );
    } finally {
      closeSync(made);
    }
    try {
      place(partial, file);
    } finally {
      rmSync(partial, { force: true });
    }
  };
  return {
    keys,
    remedy: `restore the file ${file}`,
    ...(mayMake && {
      // Unlike renaming, linking never replaces a file that another process has just created.
      make: () => {
        try {
          write([newKey()], linkSync);
        } catch (error) {
          if (keys().length === 0) throw error;
        }
      },
    }),
    renew: (isUsed) => {
      const [current, ...older] = keys();
      const used = older.filter(({ id }) => isUsed(id));
      // A server that has just read the file may still encrypt with the current one.
      write([newKey(), ...(current ? [current] : []), ...used], renameSync);
    },
  };
}

const linesOf = (text: string) =>
  text.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));

/** No file with keys is larger, in bytes. */
export const MAX_KEYS_BYTES = 65_536;

/** Whether the text of a file consists of keys, one per line. */
export function areKeys(text: string): boolean {
  const lines = linesOf(text);
  return lines.length > 0 && lines.every((line) => readKey(line.trim()) !== undefined);
}

const HEADING = [
  "# Keys for the secrets in pm-api's database. The first one encrypts; the others decrypt older secrets.",
  "# Without this file nobody can sign in with two factors. Keep a copy, separate from the database's backups.",
];

function newKey(): Key {
  return keyOfBytes(randomBytes(KEY_BYTES));
}

function readKey(text: string): Key | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return keyOfBytes(Buffer.from(text, "hex"));
  if (!/^[\w+/-]{43}=?$/.test(text)) return undefined;
  return keyOfBytes(Buffer.from(text, "base64"));
}

function keyOfBytes(bytes: Buffer): Key {
  const id = createHash("sha256")
    .update("pm-api secret key ")
    .update(bytes)
    .digest("hex")
    .slice(0, 8);
  return { id, bytes };
}
