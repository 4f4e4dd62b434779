import type { Signed } from "../../git/commits.ts";
import { hasSigned, readSignature, type UserId } from "../../signatures/openpgp.ts";
import { verifySshSignature } from "../../signatures/ssh.ts";
import type { Reader } from "../../store/port.ts";
import { findSigningKey, type SigningKey } from "../keys/queries.ts";
import * as users from "../users/queries.ts";
import * as keys from "./queries.ts";

/** What is found out about a signature, as GitLab words it. */
type Verification =
  | "verified"
  | "unverified"
  | "unverified_key"
  | "unknown_key"
  | "other_user"
  | "same_user_different_email"
  | "multiple_signatures"
  | "revoked_key";

/** A signature of a commit or tag. */
export type Verified =
  | { readonly type: "PGP"; readonly status: Verification; readonly key: PgpKey }
  | {
      readonly type: "SSH";
      readonly status: Verification;
      readonly key: SigningKey | undefined;
      /** `SHA256:` and the digest of the key in base64; `undefined` if the signature can't be read. */
      readonly fingerprint?: string | undefined;
    }
  | { readonly type: "X509"; readonly status: "unverified" };

/** The key of a PGP signature: `null` where it is not known. */
export interface PgpKey {
  readonly user_id: number | null;
  readonly gpg_key_id: number | null;
  readonly gpg_key_primary_keyid: string | null;
  readonly gpg_key_user_name: string | null;
  readonly gpg_key_user_email: string | null;
  readonly gpg_key_subkey_id: number | null;
}

/** Characters of a signature that are read: longer ones are not verified. */
const MOST_CHARACTERS = 32_768;

const unknown = (keyId: string | null = null): PgpKey => ({
  user_id: null,
  gpg_key_id: null,
  gpg_key_primary_keyid: keyId,
  gpg_key_user_name: null,
  gpg_key_user_email: null,
  gpg_key_subkey_id: null,
});

/** Finds out by whom something is signed, and whether it is the one who says to have made it. */
export async function verify(db: Reader, signed: Signed): Promise<Verified> {
  const { signature } = signed;
  const isReadable = signature.length <= MOST_CHARACTERS;
  if (signature.startsWith("-----BEGIN SSH")) {
    return isReadable
      ? verifySsh(db, signed)
      : { type: "SSH", status: "unverified", key: undefined };
  }
  if (signature.startsWith("-----BEGIN SIGNED")) return { type: "X509", status: "unverified" };
  return isReadable ? verifyPgp(db, signed) : { type: "PGP", status: "unverified", key: unknown() };
}

async function verifyPgp(db: Reader, { signature, bytes, email }: Signed): Promise<Verified> {
  const made = readSignature(signature);
  if (made === "several") return { type: "PGP", status: "multiple_signatures", key: unknown() };
  if (made?.issuer === undefined) return { type: "PGP", status: "unverified", key: unknown() };
  const { issuer, createdAt } = made;
  const possible = (await keys.findByKeyId(db, issuer)).filter(
    ({ removed_at }) => removed_at === null || createdAt <= removed_at,
  );
  const isMadeBy = ({ packet }: keys.PossibleKey) =>
    hasSigned(Buffer.from(packet, "base64"), made, bytes);
  const maker = possible.find(isMadeBy);
  const found = maker ?? possible[0];
  if (!found) return { type: "PGP", status: "unknown_key", key: unknown(issuer) };
  const own = await users.addresses(db, found.user_id);
  const userIds = JSON.parse(found.user_ids) as UserId[];
  const confirmed = userIds.filter((one) => own.has(one.email.toLowerCase()));
  const [shown] = [...confirmed, ...userIds];
  const key: PgpKey = {
    user_id: found.user_id,
    gpg_key_id: found.id,
    gpg_key_primary_keyid: found.primary_keyid,
    gpg_key_user_name: shown?.name ?? null,
    gpg_key_user_email: shown?.email ?? null,
    gpg_key_subkey_id: found.is_primary === 1 ? null : found.part_id,
  };
  const status = (): Verification => {
    if (confirmed.length === 0) return "unverified_key";
    if (found.is_revoked === 1) return "revoked_key";
    const hasExpired = found.expires_at !== null && found.expires_at <= createdAt;
    if (!maker || hasExpired) return "unverified";
    const address = email.toLowerCase();
    if (confirmed.some((one) => one.email.toLowerCase() === address)) return "verified";
    return own.has(address) ? "same_user_different_email" : "other_user";
  };
  return { type: "PGP", status: status(), key };
}

async function verifySsh(db: Reader, { signature, bytes, email }: Signed): Promise<Verified> {
  const made = verifySshSignature(signature, bytes);
  const fingerprint = made?.fingerprint;
  if (!made?.isValid) return { type: "SSH", status: "unverified", key: undefined, fingerprint };
  const key = await findSigningKey(db, made.fingerprint);
  if (!key) return { type: "SSH", status: "unknown_key", key, fingerprint };
  const own = await users.addresses(db, key.user_id);
  const status = own.has(email.toLowerCase()) ? "verified" : "other_user";
  return { type: "SSH", status, key, fingerprint };
}
