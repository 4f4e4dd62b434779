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
/** What a sealed text looks like: the format, the key's id, and IV, ciphertext and tag in one. */
const SEALED = /^\$1\$([0-9a-f]{8})\$([\w-]+)$/;

/** The key is missing, or is another than a secret was encrypted with. The message says so to operators. */
export class SecretKeyError extends Error {
  override readonly name = "SecretKeyError";
}

/** Where the keys of secrets come from. */
export interface SecretKeys {
  /** Keys of 32 bytes in Base64 or hexadecimal, separated by commas; the first one encrypts. */
  secretKey?: string | undefined;
  /** A file of such keys, one a line. */
  secretKeyFile?: string | undefined;
}

/** Encrypts what has to be known again and therefore can't be kept as a digest. */
export interface Secrets {
  /**
   * Encrypts a text (AES-256-GCM).
   *
   * @param of what it belongs to, such as `"two_factor 7"`: nothing else can be decrypted in its place
   * @throws SecretKeyError where there is no key
   */
  seal(text: string, of: string): string;
  /**
   * Decrypts a text; one that was never encrypted is given as it is.
   *
   * @throws SecretKeyError where its key is not there, or the text was changed
   */
  open(sealed: string, of: string): string;
  /** Whether there is a key to encrypt with, or one can be made. */
  readonly mayEncrypt: boolean;
  /** The ids of the keys there are, that of the one that encrypts first. */
  keyIds(): string[];
  /**
   * Makes another key, which encrypts from then on; those before stay where `isUsed` says so.
   *
   * @returns whether that could be done: keys from the environment are not ours to change
   */
  renew(isUsed: (keyId: string) => boolean): boolean;
}

interface Key {
  id: string;
  bytes: Buffer;
}

/** A place that keys are kept in. */
interface KeyRing {
  /** The keys there are, the one that encrypts first. */
  keys(): Key[];
  /** Makes the first key, where it may. */
  make?(): void;
  renew?(isUsed: (keyId: string) => boolean): void;
  /** What is to be done where a key is missing. */
  remedy: string;
}

/**
 * Makes what encrypts and decrypts secrets. Without a key or a file, a SQLite file's key is in a file beside it, made
 * with its first secret; what is in memory has a key in memory; PostgreSQL has none, since several machines would have
 * to share it.
 *
 * @param database as `createApp` takes it
 * @throws SecretKeyError where the key is malformed
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

/** The id of the key that a text was encrypted with; `undefined` where it never was. */
export function keyIdOf(sealed: string): string | undefined {
  return SEALED.exec(sealed)?.[1];
}

function secretsOf(ring: KeyRing): Secrets {
  let known = ring.keys();
  const keyOf = (id: string): Key => {
    const isIt = (key: Key) => key.id === id;
    const found = known.find(isIt);
    if (found) return found;
    // Another process may have made it since.
    known = ring.keys();
    const made = known.find(isIt);
    if (made) return made;
    throw new SecretKeyError(
      `the key ${id}, which a secret was encrypted with, is not there: ${ring.remedy}`,
    );
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
      const parts = SEALED.exec(sealed);
      if (!parts) return sealed;
      const key = keyOf(parts[1] as string);
      const bytes = Buffer.from(parts[2] as string, "base64url");
      try {
        const iv = bytes.subarray(0, IV_BYTES);
        const decipher = createDecipheriv("aes-256-gcm", key.bytes, iv)
          .setAAD(Buffer.from(of))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
        return Buffer.concat([text, decipher.final()]).toString("utf8");
      } catch (cause) {
        throw new SecretKeyError(`the secret of ${of} was changed, or is another's`, { cause });
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
  return { keys: () => keys, remedy: "add it to PM_SECRET_KEY (secretKey), behind a comma" };
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
    const lines = text.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
    return lines.map((line, at) => {
      const key = readKey(line.trim());
      if (key) return key;
      throw new SecretKeyError(`${file} holds no key in line ${at + 1} of its keys`);
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
      // Unlike renaming, linking replaces no file that another process has just made.
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

const HEADING = [
  "# The keys of the secrets in pm-api's database. The first one encrypts; the others decrypt what is older.",
  "# Without this file nobody can sign in with two factors. Keep a copy, apart from the database's backups.",
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
