// An agent of SSH (draft-ietf-sshm-ssh-agent) with keys as security tokens have them, since there is no token to touch here.
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { createServer } from "node:net";

const FAILURE = 5;
const REQUEST_IDENTITIES = 11;
const IDENTITIES = 12;
const SIGN_REQUEST = 13;
const SIGN_RESPONSE = 14;

/** A key on a token (OpenSSH's PROTOCOL.u2f). */
export interface TokenKey {
  /** As it is added to a user. */
  readonly line: string;
  readonly blob: Buffer;
  /** What it signs with: the type of its name, and what is signed. */
  readonly signatureOf: (what: Buffer) => Buffer;
}

const number = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const string = (value: string | Buffer) => {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
};
const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest();

/** A positive number, as SSH writes it. */
function integer(digits: Buffer): Buffer {
  let from = 0;
  while (digits[from] === 0) from += 1;
  const short = digits.subarray(from);
  return string((short[0] ?? 0) > 127 ? Buffer.concat([Buffer.of(0), short]) : short);
}

/**
 * Makes a key, as on a token.
 *
 * @param flags of its signatures: 1 if somebody has touched the token
 */
export function tokenKey(kind: "ed25519" | "ecdsa", flags = 1): TokenKey {
  const isEdwards = kind === "ed25519";
  const { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject } = isEdwards
    ? generateKeyPairSync("ed25519")
    : generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const [across, up] = [Buffer.from(x, "base64url"), Buffer.from(y, "base64url")];
  const type = isEdwards ? "sk-ssh-ed25519@openssh.com" : "sk-ecdsa-sha2-nistp256@openssh.com";
  const material = isEdwards
    ? string(across)
    : Buffer.concat([string("nistp256"), string(Buffer.concat([Buffer.of(4), across, up]))]);
  const blob = Buffer.concat([string(type), material, string("ssh:")]);
  const about = Buffer.concat([Buffer.of(flags), number(7)]);
  return {
    line: `${type} ${blob.toString("base64")}`,
    blob,
    signatureOf: (what) => {
      const signed = Buffer.concat([sha256("ssh:"), about, sha256(what)]);
      const made = isEdwards
        ? sign(null, signed, privateKey)
        : sign("sha256", signed, { key: privateKey, dsaEncoding: "ieee-p1363" });
      const bytes = isEdwards
        ? made
        : Buffer.concat([integer(made.subarray(0, 32)), integer(made.subarray(32))]);
      return Buffer.concat([string(type), string(bytes), about]);
    },
  };
}

/** Answers for keys at a socket. @returns what ends it */
export async function startAgent(socket: string, keys: readonly TokenKey[]): Promise<() => void> {
  const answerTo = (request: Buffer): Buffer => {
    if (request[0] === REQUEST_IDENTITIES) {
      const all = keys.flatMap(({ blob }) => [string(blob), string("token")]);
      return Buffer.concat([Buffer.of(IDENTITIES), number(keys.length), ...all]);
    }
    const length = request[0] === SIGN_REQUEST ? request.readUInt32BE(1) : 0;
    const key = keys.find(({ blob }) => blob.equals(request.subarray(5, 5 + length)));
    if (!key) return Buffer.of(FAILURE);
    const start = 5 + length + 4;
    const what = request.subarray(start, start + request.readUInt32BE(5 + length));
    return Buffer.concat([Buffer.of(SIGN_RESPONSE), string(key.signatureOf(what))]);
  };
  const server = createServer((connection) => {
    let held = Buffer.alloc(0);
    connection.on("error", () => undefined);
    connection.on("data", (chunk) => {
      held = Buffer.concat([held, chunk]);
      while (held.length >= 4 && held.length >= 4 + held.readUInt32BE(0)) {
        const end = 4 + held.readUInt32BE(0);
        connection.write(string(answerTo(held.subarray(4, end))));
        held = held.subarray(end);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return () => server.close();
}
