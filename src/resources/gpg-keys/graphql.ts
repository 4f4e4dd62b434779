import { isoInstant } from "../../core/time.ts";
import {
  about,
  costing,
  enumeration,
  type GraphContext,
  type GraphqlModule,
  interfaceType,
  property,
  required,
  valueType,
} from "../../graphql/declare.ts";
import type { SigningKey } from "../keys/queries.ts";
import type { ShownCommit } from "../repositories/graphql-commits.ts";
import { type PgpKey, type Verified, verify } from "./verify.ts";

const STATUS = enumeration("VerificationStatus", "What is found out about a signature.", [
  "MULTIPLE_SIGNATURES",
  "OTHER_USER",
  "REVOKED_KEY",
  "SAME_USER_DIFFERENT_EMAIL",
  "UNKNOWN_KEY",
  "UNVERIFIED",
  "UNVERIFIED_AUTHOR_EMAIL",
  "UNVERIFIED_KEY",
  "VERIFIED",
  "VERIFIED_CA",
  "VERIFIED_SYSTEM",
]);

/** A signature with the commit that has it. */
interface Shown {
  readonly commit: ShownCommit;
  readonly verified: Verified;
}

const INTERFACE = "CommitSignature";

const fields = {
  commitSha: property("String", ({ commit }: Shown) => commit.id),
  project: property("Project", ({ commit }: Shown) => commit.projectId),
  verificationStatus: {
    ...property("VerificationStatus", ({ verified }: Shown) => verified.status.toUpperCase()),
    declares: STATUS,
  },
};

const ofGpg = (name: keyof PgpKey) =>
  property("String", ({ verified }: Shown) =>
    verified.type === "PGP" ? verified.key[name] : null,
  );
const owner = property("UserCore", ({ verified }: Shown) =>
  verified.type === "X509" ? null : (verified.key?.user_id ?? null),
);

const key = valueType("Key", "An SSH key.", {
  id: required(property("ID", ({ id }: SigningKey) => `gid://gitlab/Key/${id}`)),
  title: required(property("String")),
  key: required(property("String")),
  createdAt: required(property("Time", (one: SigningKey) => isoInstant(one.created_at))),
  expiresAt: property("Time", ({ expires_at }: SigningKey) =>
    expires_at === null ? null : isoInstant(expires_at),
  ),
});

const implemented = { implements: [INTERFACE] };

const CLASSES = { PGP: "GpgSignature", SSH: "SshSignature", X509: "X509Signature" } as const;

/** Signatures of commits. */
export const graphqlModule: GraphqlModule = {
  types: [
    interfaceType(INTERFACE, "A signature of a commit.", fields),
    valueType(
      CLASSES.PGP,
      "A signature by a GPG key.",
      {
        ...fields,
        gpgKeyPrimaryKeyid: ofGpg("gpg_key_primary_keyid"),
        gpgKeyUserEmail: ofGpg("gpg_key_user_email"),
        gpgKeyUserName: ofGpg("gpg_key_user_name"),
        user: owner,
      },
      implemented,
    ),
    valueType(
      CLASSES.SSH,
      "A signature by an SSH key.",
      {
        ...fields,
        key: property(key, ({ verified }: Shown) =>
          verified.type === "SSH" ? (verified.key ?? null) : null,
        ),
        keyFingerprintSha256: property("String", ({ verified }: Shown) =>
          verified.type === "SSH" ? (verified.fingerprint ?? null) : null,
        ),
        user: owner,
      },
      implemented,
    ),
    valueType(CLASSES.X509, "A signature by an X.509 certificate, which is not verified.", fields, {
      implements: [INTERFACE],
    }),
  ],
  extend: {
    Commit: {
      signature: about(
        "Null if there is none.",
        costing(
          5,
          property(INTERFACE, async (commit: ShownCommit, { db }: GraphContext) => {
            const signed = await commit.readSigned();
            if (!signed) return null;
            const verified = await verify(db, signed);
            return { type: CLASSES[verified.type], key: { commit, verified } };
          }),
        ),
      ),
    },
  },
};
