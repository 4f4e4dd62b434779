import { createHash } from "node:crypto";

/** A public key, as it is in a line of `authorized_keys` (sshd(8)). */
export interface SshKey {
  /** The line, without surrounding whitespace. */
  readonly line: string;
  /** Its type and the key itself, without a comment. */
  readonly bare: string;
  /** MD5 of the key, as hexadecimal pairs with colons. */
  readonly fingerprint: string;
  /** `SHA256:` and the digest of the key in base64, as `ssh-keygen -l` shows it. */
  readonly fingerprintSha256: string;
}

/** Types of keys, with how many values each consists of (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4). */
const VALUES: Readonly<Record<string, number>> = {
  "ssh-rsa": 3,
  "ssh-ed25519": 2,
  "ecdsa-sha2-nistp256": 3,
  "ecdsa-sha2-nistp384": 3,
  "ecdsa-sha2-nistp521": 3,
  "sk-ssh-ed25519@openssh.com": 3,
  "sk-ecdsa-sha2-nistp256@openssh.com": 4,
};

/** Reads a public key; `undefined` if it is none, or of a type that is no longer considered safe. */
export function readSshKey(text: string): SshKey | undefined {
  const line = text.trim();
  const [type = "", encoded = ""] = line.split(/[ \t]+/, 2);
  if (/[\r\n]/.test(line) || !Object.hasOwn(VALUES, type)) return undefined;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return undefined;
  const key = Buffer.from(encoded, "base64");
  const values = valuesOf(key);
  if (values?.length !== VALUES[type] || values?.[0]?.toString("latin1") !== type) return undefined;
  const digest = (name: string) => createHash(name).update(key).digest();
  return {
    line,
    bare: `${type} ${encoded}`,
    fingerprint: (digest("md5").toString("hex").match(/../g) as string[]).join(":"),
    fingerprintSha256: `SHA256:${digest("sha256").toString("base64").replace(/=+$/, "")}`,
  };
}

/** The values of a key, each with its length before it (RFC 4251 §5); `undefined` if it is cut short or one is empty. */
function valuesOf(key: Buffer): Buffer[] | undefined {
  const values: Buffer[] = [];
  for (let at = 0; at < key.length; ) {
    if (at + 4 > key.length) return undefined;
    const end = at + 4 + key.readUInt32BE(at);
    if (end > key.length || end === at + 4) return undefined;
    values.push(key.subarray(at + 4, end));
    at = end;
  }
  return values;
}
