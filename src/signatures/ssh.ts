// Verifies signatures by SSH keys (OpenSSH's PROTOCOL.sshsig).

import { createHash, createPublicKey, type JsonWebKey, verify } from "node:crypto";
import { dearmored } from "./armor.ts";

/** The namespace that Git signs in. */
const NAMESPACE = "git";
const MAGIC = "SSHSIG";

/** A signature that a key really has made. */
export interface SshSignature {
  /** `SHA256:` and the digest of the key in base64. */
  readonly fingerprint: string;
  /** Whether it is a valid signature of what was given. */
  readonly isValid: boolean;
}

/** Hashes of what is signed, by their name, and those of the signature, by its algorithm. */
const HASHES = ["sha256", "sha512"];
const ALGORITHMS: Readonly<Record<string, { type: string; hash: string | null; size: number }>> = {
  "ssh-ed25519": { type: "ssh-ed25519", hash: null, size: 64 },
  "rsa-sha2-256": { type: "ssh-rsa", hash: "sha256", size: 0 },
  "rsa-sha2-512": { type: "ssh-rsa", hash: "sha512", size: 0 },
  "ecdsa-sha2-nistp256": { type: "ecdsa-sha2-nistp256", hash: "sha256", size: 32 },
  "ecdsa-sha2-nistp384": { type: "ecdsa-sha2-nistp384", hash: "sha384", size: 48 },
  "ecdsa-sha2-nistp521": { type: "ecdsa-sha2-nistp521", hash: "sha512", size: 66 },
};
/** Those of keys on security tokens, which sign what they are asked to with more around it (OpenSSH's PROTOCOL.u2f). */
const HARDWARE: typeof ALGORITHMS = {
  "sk-ssh-ed25519@openssh.com": { type: "ssh-ed25519", hash: null, size: 64 },
  "sk-ecdsa-sha2-nistp256@openssh.com": {
    type: "ecdsa-sha2-nistp256",
    hash: "sha256",
    size: 32,
  },
};
/** The flags of a signature, of which this one says that somebody has touched the token; and its counter. */
const FLAGS_AND_COUNTER = 5;
const IS_TOUCHED = 1;
const CURVES: Readonly<Record<string, string>> = { 32: "P-256", 48: "P-384", 66: "P-521" };

/** Reads a signature and verifies it; `undefined` if it is none. */
export function verifySshSignature(text: string, signed: Buffer): SshSignature | undefined {
  const bytes = dearmored(text, "SSH SIGNATURE");
  if (!bytes || bytes.length < 10 || bytes.subarray(0, 6).toString("latin1") !== MAGIC) {
    return undefined;
  }
  const values = stringsOf(bytes.subarray(10));
  if (bytes.readUInt32BE(6) !== 1 || values?.length !== 5) return undefined;
  const [key, namespace, reserved, hash, signature] = values as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ];
  const digest = createHash("sha256").update(key).digest("base64").replace(/=+$/, "");
  const hashName = hash.toString("latin1");
  const isKnown = namespace.toString("latin1") === NAMESPACE && HASHES.includes(hashName);
  const what = Buffer.concat([
    Buffer.from(MAGIC, "latin1"),
    ...[namespace, reserved, hash].flatMap(withSize),
    ...(isKnown ? withSize(createHash(hashName).update(signed).digest()) : []),
  ]);
  return { fingerprint: `SHA256:${digest}`, isValid: isKnown && hasSigned(key, signature, what) };
}

function hasSigned(key: Buffer, signature: Buffer, what: Buffer): boolean {
  const [type] = stringsOf(key) ?? [];
  const [name, bytes] =
    stringsOf(type && isOnToken(type) ? signature.subarray(0, -FLAGS_AND_COUNTER) : signature) ??
    [];
  if (!name || !bytes || !type) return false;
  if (isOnToken(type)) {
    const about = signature.subarray(-FLAGS_AND_COUNTER);
    return name.equals(type) && hasSignedByToken(key, Buffer.concat([bytes, about]), what);
  }
  const algorithm = ALGORITHMS[name.toString("latin1")];
  if (type.toString("latin1") !== algorithm?.type) return false;
  return isSignedWith(algorithm, stringsOf(key)?.slice(1) ?? [], bytes, what);
}

const isOnToken = (type: Buffer) => Object.hasOwn(HARDWARE, type.toString("latin1"));

/**
 * Whether a key on a security token, an `sk-` key, has signed something, and was touched for it.
 *
 * @param key as it is sent: its type, its values and what it was made for
 * @param signature without the name of its algorithm, but with its flags and its counter
 * @returns `false` for keys of other types, too
 */
export function hasSignedByToken(key: Buffer, signature: Buffer, what: Buffer): boolean {
  const [type, ...material] = stringsOf(key) ?? [];
  const name = type?.toString("latin1") ?? "";
  const algorithm = Object.hasOwn(HARDWARE, name) ? HARDWARE[name] : undefined;
  const application = material.pop();
  const about = signature.subarray(-FLAGS_AND_COUNTER);
  if (!algorithm || !application || signature.length <= FLAGS_AND_COUNTER) return false;
  if (((about[0] as number) & IS_TOUCHED) === 0) return false;
  const signed = Buffer.concat([sha256(application), about, sha256(what)]);
  return isSignedWith(algorithm, material, signature.subarray(0, -FLAGS_AND_COUNTER), signed);
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest();

function isSignedWith(
  { type, hash, size }: (typeof ALGORITHMS)[string],
  material: readonly Buffer[],
  bytes: Buffer,
  what: Buffer,
): boolean {
  try {
    const jwk = jwkOf(type, size, material);
    if (!jwk) return false;
    const publicKey = createPublicKey({ key: jwk, format: "jwk" });
    if (!type.startsWith("ecdsa")) return verify(hash, what, publicKey, bytes);
    const [r, s] = (stringsOf(bytes) ?? []).map((one) => sizedTo(size, one));
    const pair = r && s && Buffer.concat([r, s]);
    return (
      pair !== undefined && verify(hash, what, { key: publicKey, dsaEncoding: "ieee-p1363" }, pair)
    );
  } catch {
    // A point that is on no curve, for instance.
    return false;
  }
}

/** A public key as node:crypto takes it (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4). */
function jwkOf(type: string, size: number, material: readonly Buffer[]): JsonWebKey | undefined {
  const [first, second] = material;
  if (!first) return undefined;
  if (type === "ssh-ed25519") {
    return { kty: "OKP", crv: "Ed25519", x: first.toString("base64url") };
  }
  if (!second) return undefined;
  if (type === "ssh-rsa") {
    // Larger ones take too long.
    if (first.length > 8 || second.length > 1025) return undefined;
    return {
      kty: "RSA",
      n: withoutZeros(second).toString("base64url"),
      e: withoutZeros(first).toString("base64url"),
    };
  }
  const [x, y] = [second.subarray(1, 1 + size), second.subarray(1 + size)];
  const crv = CURVES[size] as string;
  return { kty: "EC", crv, x: x.toString("base64url"), y: y.toString("base64url") };
}

const withoutZeros = (number: Buffer) => (number[0] === 0 ? number.subarray(1) : number);

function sizedTo(size: number, number: Buffer): Buffer | undefined {
  const digits = withoutZeros(number);
  return digits.length > size
    ? undefined
    : Buffer.concat([Buffer.alloc(size - digits.length), digits]);
}

function withSize(value: Buffer): [size: Buffer, value: Buffer] {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(value.length);
  return [size, value];
}

/** Values with their size before each (RFC 4251 §5); `undefined` if one is cut short. */
function stringsOf(bytes: Buffer): Buffer[] | undefined {
  const values: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (at + 4 > bytes.length) return undefined;
    const end = at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) return undefined;
    values.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return values;
}
