import { OPERATOR } from "../audit/log.ts";
import type { SecretsState } from "../auth/two-factor-secrets.ts";
import * as twoFactorSecrets from "../auth/two-factor-secrets.ts";
import type { AdminContext } from "./context.ts";

/** Secrets encrypted at rest (docs/configuration.md). */
export interface SecretAdmin {
  /** How the secrets of two-factor sign-in are encrypted. */
  checkSecrets(): Promise<SecretsState>;
  /**
   * Encrypts secrets with another key: a new one if keys are in a file, the first one if they were given as `secretKey`.
   * If it is interrupted, the next call continues.
   *
   * @returns `secrets`: how many were encrypted; `key`: the id of the current key
   */
  rotateSecrets(): Promise<{ secrets: number; key: string | null }>;
  /** Disables two-factor sign-in for users whose secret can't be read any more because its key is lost. */
  removeLostSecrets(): Promise<{ users: string[] }>;
}

/** Creates {@link SecretAdmin}. */
export function secretAdmin({ store, now, secrets }: AdminContext): SecretAdmin {
  return {
    checkSecrets: () => twoFactorSecrets.stateOf(store, secrets),
    async rotateSecrets() {
      const encrypted = await twoFactorSecrets.rotateKey(store, secrets);
      return { secrets: encrypted, key: secrets.keyIds()[0] ?? null };
    },
    removeLostSecrets: async () => ({
      users: await store.transaction((db) =>
        twoFactorSecrets.removeLost(db, secrets, OPERATOR, now()),
      ),
    }),
  };
}
