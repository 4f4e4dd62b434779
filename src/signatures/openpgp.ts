// Reads OpenPGP keys and verifies signatures (RFC 4880, RFC 9580), with node:crypto: keys of version 4, by RSA, ECDSA and EdDSA.

import { createHash, createPublicKey, type JsonWebKey, verify } from "node:crypto";
import { dearmored } from "./armor.ts";

/** Packets by their number (RFC 9580 §5). */
const PACKET = { signature: 2, publicKey: 6, userId: 13, subkey: 14 } as const;
/** Types of signatures (RFC 9580 §5.2.1). */
const TYPE = {
  binary: 0x00,
  text: 0x01,
  certifications: [0x10, 0x11, 0x12, 0x13],
  subkey: 0x18,
  primaryKey: 0x19,
  key: 0x1f,
  keyRevocation: 0x20,
  subkeyRevocation: 0x28,
  certificationRevocation: 0x30,
} as const;
/** Hashes by their number (RFC 9580 §9.5). MD5 and RIPEMD are not taken. */
const HASHES: Readonly<Record<number, string>> = {
  2: "sha1",
  8: "sha256",
  9: "sha384",
  10: "sha512",
  11: "sha224",
};
const SHA1 = 2;
/** Curves by their object identifiers in hex, with the bytes of a coordinate. */
const CURVES: Readonly<Record<string, { crv: string; size: number }>> = {
  "2a8648ce3d030107": { crv: "P-256", size: 32 },
  "2b81040022": { crv: "P-384", size: 48 },
  "2b81040023": { crv: "P-521", size: 66 },
};
const ED25519 = "2b06010401da470f01";

/** Packets of a key that are read, and signatures that are verified: no key takes longer. */
const MOST_PACKETS = 500;
/** Bytes of a key, which is hashed with its size in two bytes. */
const MOST_KEY_BYTES = 0xffff;
/** Bits of the largest RSA key. */
const MOST_BITS = 8192;
const MAY_SIGN = 0x02;

/** A key that can make signatures: a primary key, or one below it. */
interface SigningKey {
  /** The last 16 digits of its fingerprint, in capitals. */
  readonly keyId: string;
  /** The content of its packet. */
  readonly packet: Buffer;
  readonly isPrimary: boolean;
  /** Epoch milliseconds; `null`: it does not expire. */
  readonly expiresAt: number | null;
  /** Whether its owner has revoked it, for whatever reason. */
  readonly isRevoked: boolean;
}

/** Whose a key says it is. */
export interface UserId {
  readonly name: string;
  readonly email: string;
}

/** A public key, as its owner has signed it. */
export interface PublicKey {
  /** In capitals. */
  readonly fingerprint: string;
  readonly keyId: string;
  readonly userIds: readonly UserId[];
  /** The keys that may sign, the primary one first. */
  readonly signingKeys: readonly SigningKey[];
}

/** A signature, as far as it says who made it. */
export interface Signature {
  readonly type: number;
  readonly algorithm: number;
  readonly hash: number;
  /** What is hashed of it, after what it signs. */
  readonly hashed: Buffer;
  readonly subpackets: ReadonlyMap<number, Buffer>;
  /** Who made it: the last 16 digits of the fingerprint, in capitals. */
  readonly issuer: string | undefined;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly values: Buffer;
}

/** The public key in a text; `undefined` if there is none that can be used, or it is not signed by itself. */
export function readPublicKey(text: string): PublicKey | undefined {
  const bytes = dearmored(text, "PGP PUBLIC KEY BLOCK");
  const packets = bytes && packetsOf(bytes);
  const [primary, ...others] = packets ?? [];
  if (primary?.tag !== PACKET.publicKey || !materialOf(primary.body)) return undefined;
  if (others.some(({ tag }) => tag === PACKET.publicKey)) return undefined;
  const fingerprint = fingerprintOf(primary.body);
  const keyId = fingerprint.slice(-16);
  const keyHash = hashedKey(primary.body);
  const parts = partsOf(others, keyId);
  const verified = (part: Part, what: Buffer, types: readonly number[]) =>
    part.signatures.filter(
      (signature) => types.includes(signature.type) && isValid(primary.body, signature, what),
    );

  const userIds: UserId[] = [];
  const selfSigned: Signature[] = [];
  for (const part of parts) {
    if (part.tag !== PACKET.userId) continue;
    const what = Buffer.concat([keyHash, Buffer.from([0xb4]), sized(part.body), part.body]);
    const newest = newestOf(verified(part, what, TYPE.certifications));
    const revoked = newestOf(verified(part, what, [TYPE.certificationRevocation]));
    if (!newest || (revoked && revoked.createdAt >= newest.createdAt)) continue;
    selfSigned.push(newest);
    userIds.push(userIdOf(part.body));
  }
  if (userIds.length === 0) return undefined;
  const direct = parts.filter(({ tag }) => tag === PACKET.publicKey);
  const ownSignatures = direct.flatMap((part) => verified(part, keyHash, [TYPE.key]));
  const isRevoked = direct.some((part) => verified(part, keyHash, [TYPE.keyRevocation]).length > 0);
  const self = newestOf([...selfSigned, ...ownSignatures]);

  const signingKeys: SigningKey[] = [
    {
      keyId,
      packet: primary.body,
      isPrimary: true,
      expiresAt: expiryOf(primary.body, self),
      isRevoked,
    },
  ];
  for (const part of parts) {
    if (part.tag !== PACKET.subkey || !materialOf(part.body)) continue;
    const what = Buffer.concat([keyHash, hashedKey(part.body)]);
    const binding = newestOf(verified(part, what, [TYPE.subkey]));
    if (!binding || !maySign(part.body, binding, what)) continue;
    signingKeys.push({
      keyId: fingerprintOf(part.body).slice(-16),
      packet: part.body,
      isPrimary: false,
      expiresAt: expiryOf(part.body, binding),
      isRevoked: isRevoked || verified(part, what, [TYPE.subkeyRevocation]).length > 0,
    });
  }
  return { fingerprint, keyId, userIds, signingKeys };
}

/** The signature in a text; `undefined` if there is none that can be read, `"several"` if there is more than one. */
export function readSignature(text: string): Signature | "several" | undefined {
  const bytes = dearmored(text, "PGP SIGNATURE");
  const packets = bytes && packetsOf(bytes);
  const [first, ...others] = packets ?? [];
  if (first?.tag !== PACKET.signature) return undefined;
  return others.length > 0 ? "several" : signatureOf(first.body);
}

/**
 * Whether a key has made a signature of some bytes, by hashes that are still safe.
 *
 * @param packet of the key, as in {@link SigningKey}
 */
export function hasSigned(packet: Buffer, signature: Signature, signed: Buffer): boolean {
  if (signature.hash === SHA1) return false;
  if (signature.type === TYPE.binary) return isValid(packet, signature, signed);
  if (signature.type !== TYPE.text) return false;
  const lines = signed.toString("latin1").replace(/\r?\n/g, "\r\n");
  return isValid(packet, signature, Buffer.from(lines, "latin1"));
}

interface Packet {
  readonly tag: number;
  readonly body: Buffer;
}

/** The packets in some bytes (RFC 9580 §4.2); `undefined` if they are cut short, or too many. */
function packetsOf(bytes: Buffer): Packet[] | undefined {
  const packets: Packet[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at] as number;
    if ((first & 0x80) === 0 || packets.length === MOST_PACKETS) return undefined;
    const isNew = (first & 0x40) !== 0;
    const found = isNew ? lengthAt(bytes, at + 1) : oldLengthAt(bytes, at + 1, first & 3);
    if (!found) return undefined;
    const end = found.start + found.length;
    if (end > bytes.length) return undefined;
    const tag = isNew ? first & 0x3f : (first & 0x3c) >> 2;
    packets.push({ tag, body: bytes.subarray(found.start, end) });
    at = end;
  }
  return packets;
}

interface Extent {
  readonly start: number;
  readonly length: number;
}

/** A length of one, two or five bytes, as in packets and parts of them; `undefined` for one that is not known yet. */
function lengthAt(bytes: Buffer, at: number): Extent | undefined {
  const first = bytes[at];
  if (first === undefined) return undefined;
  if (first < 192) return { start: at + 1, length: first };
  const second = bytes[at + 1];
  if (first < 224) {
    return second === undefined
      ? undefined
      : { start: at + 2, length: ((first - 192) << 8) + second + 192 };
  }
  return first === 255 && at + 5 <= bytes.length
    ? { start: at + 5, length: bytes.readUInt32BE(at + 1) }
    : undefined;
}

function oldLengthAt(bytes: Buffer, at: number, kind: number): Extent | undefined {
  const size = [1, 2, 4][kind];
  if (size === undefined || at + size > bytes.length) return undefined;
  return { start: at + size, length: bytes.readUIntBE(at, size) };
}

/** A part of a key, with the signatures after it that its owner has made. */
interface Part extends Packet {
  readonly signatures: Signature[];
}

function partsOf(packets: readonly Packet[], keyId: string): Part[] {
  // Signatures before any other part are about the key itself.
  const parts: Part[] = [{ tag: PACKET.publicKey, body: Buffer.alloc(0), signatures: [] }];
  for (const packet of packets) {
    if (packet.tag !== PACKET.signature) {
      parts.push({ ...packet, signatures: [] });
      continue;
    }
    const signature = signatureOf(packet.body);
    if (signature?.issuer === keyId) parts.at(-1)?.signatures.push(signature);
  }
  return parts;
}

const newestOf = (signatures: readonly Signature[]): Signature | undefined =>
  signatures.reduce<Signature | undefined>(
    (newest, one) => (newest && newest.createdAt > one.createdAt ? newest : one),
    undefined,
  );

/** A user id is mostly `Name (comment) <address>` (RFC 9580 §5.11). */
function userIdOf(body: Buffer): UserId {
  const text = body.toString("utf8").replaceAll("\0", "");
  const open = text.lastIndexOf("<");
  const close = text.indexOf(">", open);
  if (open < 0 || close < 0) return { name: text, email: text.includes("@") ? text.trim() : "" };
  const name = text.slice(0, open).replace(/\([^()]*\) *$/, "");
  return { name: name.trim(), email: text.slice(open + 1, close).trim() };
}

/** When a key expires, by the seconds since it was made that a signature has (RFC 9580 §5.2.3.13). */
function expiryOf(packet: Buffer, signature: Signature | undefined): number | null {
  const lifetime = signature?.subpackets.get(9);
  if (lifetime?.length !== 4 || lifetime.readUInt32BE(0) === 0) return null;
  return (packet.readUInt32BE(1) + lifetime.readUInt32BE(0)) * 1000;
}

/** Whether a subkey is for signing, and says itself whose it is: else it could be anybody's. */
function maySign(packet: Buffer, binding: Signature, what: Buffer): boolean {
  const flags = binding.subpackets.get(27)?.[0] ?? 0;
  const embedded = binding.subpackets.get(32);
  if ((flags & MAY_SIGN) === 0 || !embedded) return false;
  const back = signatureOf(embedded);
  return back?.type === TYPE.primaryKey && isValid(packet, back, what);
}

/** Reads a signature of version 4 (RFC 9580 §5.2.3); `undefined` for others. */
function signatureOf(body: Buffer): Signature | undefined {
  if (body.length < 6 || body[0] !== 4) return undefined;
  const hashedEnd = 6 + body.readUInt16BE(4);
  if (hashedEnd + 2 > body.length) return undefined;
  const restEnd = hashedEnd + 2 + body.readUInt16BE(hashedEnd);
  // After the subpackets come the first two bytes of the hash.
  if (restEnd + 2 > body.length) return undefined;
  const signed = subpacketsOf(body.subarray(6, hashedEnd));
  const others = subpacketsOf(body.subarray(hashedEnd + 2, restEnd));
  const created = signed?.get(2);
  if (!signed || !others || created?.length !== 4) return undefined;
  const fingerprint = signed.get(33) ?? others.get(33);
  const issuer = fingerprint?.subarray(-8) ?? signed.get(16) ?? others.get(16);
  const embedded = others.get(32);
  if (embedded && !signed.has(32)) signed.set(32, embedded);
  return {
    type: body[1] as number,
    algorithm: body[2] as number,
    hash: body[3] as number,
    hashed: body.subarray(0, hashedEnd),
    subpackets: signed,
    issuer: issuer?.toString("hex").toUpperCase(),
    createdAt: created.readUInt32BE(0) * 1000,
    values: body.subarray(restEnd + 2),
  };
}

/** The subpackets of a signature by their type; the last one of each counts. */
function subpacketsOf(bytes: Buffer): Map<number, Buffer> | undefined {
  const found = new Map<number, Buffer>();
  for (let at = 0; at < bytes.length; ) {
    const extent = lengthAt(bytes, at);
    if (!extent || extent.length === 0 || extent.start + extent.length > bytes.length) {
      return undefined;
    }
    const end = extent.start + extent.length;
    found.set((bytes[extent.start] as number) & 0x7f, bytes.subarray(extent.start + 1, end));
    at = end;
  }
  return found;
}

function sized(body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return length;
}

/** A key as it is hashed: for its fingerprint, and for signatures of it. */
function hashedKey(packet: Buffer): Buffer {
  const head = Buffer.from([0x99, 0, 0]);
  head.writeUInt16BE(packet.length, 1);
  return Buffer.concat([head, packet]);
}

const fingerprintOf = (packet: Buffer) =>
  createHash("sha1").update(hashedKey(packet)).digest("hex").toUpperCase();

/** Whether a key has made a signature of some bytes. */
function isValid(packet: Buffer, signature: Signature, signed: Buffer): boolean {
  const hash = HASHES[signature.hash];
  const key = materialOf(packet);
  if (hash === undefined || !key || key.algorithm !== signature.algorithm) return false;
  const trailer = Buffer.concat([Buffer.from([4, 0xff]), sized(signature.hashed)]);
  const what = Buffer.concat([signed, signature.hashed, trailer]);
  try {
    const publicKey = createPublicKey({ key: key.jwk, format: "jwk" });
    const bytes = key.bytesOf(signature.values);
    if (!bytes) return false;
    if (key.kind === "eddsa") {
      return verify(null, createHash(hash).update(what).digest(), publicKey, bytes);
    }
    return key.kind === "rsa"
      ? verify(hash, what, publicKey, bytes)
      : verify(hash, what, { key: publicKey, dsaEncoding: "ieee-p1363" }, bytes);
  } catch {
    // A point that is on no curve, for instance.
    return false;
  }
}

/** A public key as node:crypto takes it. */
interface Material {
  readonly kind: "rsa" | "ecdsa" | "eddsa";
  readonly algorithm: number;
  readonly jwk: JsonWebKey;
  /** The bytes of a signature, of the values that a packet has. */
  bytesOf(values: Buffer): Buffer | undefined;
}

/** Reads the packet of a key of version 4 (RFC 9580 §5.5); `undefined` for kinds that can't be verified here. */
function materialOf(packet: Buffer): Material | undefined {
  if (packet.length < 8 || packet.length > MOST_KEY_BYTES || packet[0] !== 4) return undefined;
  const algorithm = packet[5] as number;
  const rest = packet.subarray(6);
  // RSA for everything, and for signatures only.
  if (algorithm === 1 || algorithm === 3) {
    const [n, e] = numbersOf(rest, 2) ?? [];
    if (!n || !e || n.length * 8 > MOST_BITS || n.length < 128 || e.length > 8) return undefined;
    return {
      kind: "rsa",
      algorithm,
      jwk: { kty: "RSA", n: n.toString("base64url"), e: e.toString("base64url") },
      bytesOf: (values) => padded(numbersOf(values, 1)?.[0], n.length),
    };
  }
  if (algorithm === 27 && rest.length === 32) {
    return { ...ed25519(algorithm, rest), bytesOf: (values) => values };
  }
  const oid = rest.subarray(1, 1 + (rest[0] as number));
  const [point] = numbersOf(rest.subarray(1 + oid.length), 1) ?? [];
  if (!point) return undefined;
  if (algorithm === 22 && oid.toString("hex") === ED25519 && point.length === 33) {
    return { ...ed25519(algorithm, point.subarray(1)), bytesOf: (values) => pairOf(values, 32) };
  }
  const curve = CURVES[oid.toString("hex")];
  if (algorithm !== 19 || !curve || point.length !== 1 + 2 * curve.size) return undefined;
  const { crv, size } = curve;
  const [x, y] = [point.subarray(1, 1 + size), point.subarray(1 + size)];
  return {
    kind: "ecdsa",
    algorithm,
    jwk: { kty: "EC", crv, x: x.toString("base64url"), y: y.toString("base64url") },
    bytesOf: (values) => pairOf(values, size),
  };
}

const ed25519 = (algorithm: number, key: Buffer) =>
  ({
    kind: "eddsa",
    algorithm,
    jwk: { kty: "OKP", crv: "Ed25519", x: key.toString("base64url") },
  }) as const;

/** So many numbers, each with its bits before it (RFC 9580 §3.2), without zeros before them. */
function numbersOf(bytes: Buffer, count: number): Buffer[] | undefined {
  const numbers: Buffer[] = [];
  for (let at = 0; numbers.length < count; ) {
    if (at + 2 > bytes.length) return undefined;
    const end = at + 2 + ((bytes.readUInt16BE(at) + 7) >> 3);
    if (end > bytes.length) return undefined;
    const number = bytes.subarray(at + 2, end);
    numbers.push(number[0] === 0 ? number.subarray(1) : number);
    at = end;
  }
  return numbers;
}

function padded(number: Buffer | undefined, size: number): Buffer | undefined {
  if (!number || number.length > size) return undefined;
  return Buffer.concat([Buffer.alloc(size - number.length), number]);
}

function pairOf(values: Buffer, size: number): Buffer | undefined {
  const [r, s] = numbersOf(values, 2) ?? [];
  const [first, second] = [padded(r, size), padded(s, size)];
  return first && second && Buffer.concat([first, second]);
}
