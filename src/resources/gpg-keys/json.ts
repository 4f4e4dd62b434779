import { isoInstant } from "../../core/time.ts";
import type { Verified } from "./verify.ts";

/** What is told of a signature. */
export function signatureJson(verified: Verified): object {
  const { type, status } = verified;
  const told = { signature_type: type, verification_status: status };
  if (verified.type === "PGP") {
    const { user_id: _, ...key } = verified.key;
    return { ...told, ...key };
  }
  if (verified.type === "X509") return told;
  const { key } = verified;
  return {
    ...told,
    key: key
      ? {
          id: key.id,
          title: key.title,
          created_at: isoInstant(key.created_at),
          expires_at: key.expires_at === null ? null : isoInstant(key.expires_at),
          key: key.key,
          usage_type: key.usage_type,
        }
      : null,
  };
}

const KNOWN = {
  signature_type: "PGP",
  verification_status: "verified",
  gpg_key_id: 1,
  gpg_key_primary_keyid: "8254AAB3FBD54AC9",
  gpg_key_user_name: "Ada",
  gpg_key_user_email: "ada@example.com",
  gpg_key_subkey_id: null,
};

/** Examples of it, for the reference. */
export const SIGNATURE_EXAMPLES = [
  KNOWN,
  {
    ...KNOWN,
    verification_status: "unknown_key",
    gpg_key_id: null,
    gpg_key_user_name: null,
    gpg_key_user_email: null,
  },
  {
    ...KNOWN,
    verification_status: "unverified",
    gpg_key_id: null,
    gpg_key_primary_keyid: null,
    gpg_key_user_name: null,
    gpg_key_user_email: null,
  },
  { ...KNOWN, gpg_key_subkey_id: 2 },
  {
    signature_type: "SSH",
    verification_status: "verified",
    key: {
      id: 1,
      title: "A laptop",
      created_at: "2026-01-15T09:30:00.000Z",
      expires_at: null,
      key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtleSA0NzExIGtleSA0NzExIGtleSA0NzExIGtl",
      usage_type: "signing",
    },
  },
  { signature_type: "SSH", verification_status: "unknown_key", key: null },
];
