import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";

/** 2026-01-01, in seconds. */
const MADE_AT = 1_767_225_600;
/** Of Ed25519, as OpenPGP names it. */
const OID = Buffer.from("092b06010401da470f01", "hex");
/** The head of a private key in PKCS #8, before its 32 bytes. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** A packet, or something else, with its size before it. */
const sized = (size: 1 | 2 | 4, body: Buffer) => {
  const head = Buffer.alloc(size);
  head.writeUIntBE(body.length, 0, size);
  return Buffer.concat([head, body]);
};
const packet = (tag: number, body: Buffer) =>
  Buffer.concat([Buffer.from([0xc0 | tag, 0xff]), sized(4, body)]);
const seconds = (at: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(at);
  return bytes;
};
const number = (bytes: Buffer) => {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = bytes.subarray(first);
  const head = Buffer.alloc(2);
  head.writeUInt16BE(digits.length * 8 - Math.clz32(digits[0] as number) + 24);
  return Buffer.concat([head, digits]);
};
const subpacket = (type: number, body: Buffer) =>
  sized(1, Buffer.concat([Buffer.from([type]), body]));

/** A key pair by Ed25519, as OpenPGP's version 4 has it. */
export function pgpKey(name: string, seed: string) {
  const bytes = createHash("sha256").update(seed).digest();
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8, bytes]),
    format: "der",
    type: "pkcs8",
  });
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  const point = Buffer.concat([Buffer.from([0x40]), Buffer.from(x, "base64url")]);
  const body = Buffer.concat([
    Buffer.from([4]),
    seconds(MADE_AT),
    Buffer.from([22]),
    OID,
    number(point),
  ]);
  const hashed = Buffer.concat([Buffer.from([0x99]), sized(2, body)]);
  const fingerprint = createHash("sha1").update(hashed).digest();

  /** The packet of a signature. @param more subpackets that are signed, too */
  const signed = (type: number, what: Buffer, { at = MADE_AT, more = Buffer.alloc(0) } = {}) => {
    const subpackets = Buffer.concat([
      subpacket(2, seconds(at)),
      subpacket(33, Buffer.concat([Buffer.from([4]), fingerprint])),
      more,
    ]);
    const head = Buffer.concat([Buffer.from([4, type, 22, 8]), sized(2, subpackets)]);
    const trailer = Buffer.concat([Buffer.from([4, 0xff]), seconds(head.length)]);
    const digest = createHash("sha256")
      .update(Buffer.concat([what, head, trailer]))
      .digest();
    const made = sign(null, digest, privateKey);
    const values = [made.subarray(0, 32), made.subarray(32)].map(number);
    return packet(
      2,
      Buffer.concat([head, sized(2, Buffer.alloc(0)), digest.subarray(0, 2), ...values]),
    );
  };

  const userId = Buffer.from(name);
  const certified = Buffer.concat([hashed, Buffer.from([0xb4]), sized(4, userId)]);
  return {
    keyId: fingerprint.toString("hex").slice(-16).toUpperCase(),
    /** The public key. @param options `lifetime` in seconds; `isRevoked`: with a revocation of its own */
    text: ({ lifetime = 0, isRevoked = false } = {}) =>
      armored("PGP PUBLIC KEY BLOCK", [
        packet(6, body),
        ...(isRevoked ? [signed(0x20, hashed)] : []),
        packet(13, userId),
        signed(0x13, certified, {
          more: lifetime ? subpacket(9, seconds(lifetime)) : Buffer.alloc(0),
        }),
      ]),
    /** A signature of some bytes. @param at seconds of the epoch */
    sign: (what: Buffer, at = MADE_AT) => armored("PGP SIGNATURE", [signed(0, what, { at })]),
  };
}

export function armored(label: string, packets: readonly Buffer[]): string {
  const lines =
    Buffer.concat(packets)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, "", ...lines, `-----END ${label}-----`, ""].join("\n");
}

/** The text of a public key; each number has its own. */
export const gpgKeyOf = (at: number): string =>
  pgpKey(`Person ${at} <person${at}@example.com>`, `key ${at}`).text();
