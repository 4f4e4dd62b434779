import * as v from "valibot";
import { OPERATOR } from "../audit/log.ts";
import { type NextKey, turnSigningKey } from "../auth/signing-keys.ts";
import { removeSecondFactor, TWO_FACTOR_SECRETS, usernamesOf } from "../auth/two-factor-secrets.ts";
import { optionsOf, readOptions } from "../core/options.ts";
import * as sealed from "../core/sealed.ts";
import { type HostKey, hostKeys } from "../ssh/host-keys.ts";
import type { AdminContext } from "./context.ts";

/** How the secrets in a database are encrypted. */
export interface SecretsState {
  /** The id of the current key; `null` if there is none. */
  key: string | null;
  /** How many secrets there are. */
  secrets: number;
  /** How many are encrypted with another key, or not at all. */
  outdated: number;
  /** The names of users whose second factor can't be read, because its key is missing. */
  lost: string[];
  /** How many other secrets can't be read, such as values of CI variables. */
  lostOthers: number;
}

/** Secrets encrypted at rest (docs/configuration.md). */
export interface SecretAdmin {
  /** How the secrets of two-factor sign-in and of CI are encrypted. */
  check(): Promise<SecretsState>;
  /**
   * Encrypts secrets with another key: a new one if keys are in a file, the first one if they were given as `secretKey`.
   * If it is interrupted, the next call continues.
   *
   * @returns `secrets`: how many were encrypted; `key`: the id of the current key
   */
  rotate(): Promise<{ secrets: number; key: string | null }>;
  /**
   * Makes the key that will sign the tokens of OpenID Connect (docs/oauth.md): it is published now and signs a day later.
   * The present one stays published for as long as its tokens may live.
   *
   * @param options `atOnce`: the present key was stolen, so that the new one signs now, and tokens of all others are
   *   worthless. Default false
   * @returns the new key, or the one that already waits
   */
  rotateSigningKey(options?: { atOnce?: boolean }): Promise<NextKey>;
  /** The keys by which clients of SSH know the server (docs/git.md); none before it was first served. */
  sshHostKeys(): Promise<HostKey[]>;
  /**
   * Disables two-factor sign-in for users whose secret can't be read any more because its key is lost, and removes
   * everything else that can't be read.
   *
   * @returns `users`: the names of these users; `others`: how many other records were removed
   */
  removeLost(): Promise<{ users: string[]; others: number }>;
}

const ROTATION = optionsOf({ atOnce: v.optional(v.boolean("must be true or false")) });

/** Creates {@link SecretAdmin}. */
export function secretAdmin({ store, now, secrets, sealedColumns }: AdminContext): SecretAdmin {
  const ofUsers = ({ column }: sealed.LostSecret) => column === TWO_FACTOR_SECRETS;
  return {
    async check() {
      const counts = await sealed.countByKey(store, sealedColumns);
      const lost = await sealed.lostIn(store, secrets, sealedColumns);
      const users = lost.filter(ofUsers).map(({ id }) => id);
      const [key = null] = secrets.keyIds();
      const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
      return {
        key,
        secrets: all,
        outdated: all - (key === null ? 0 : (counts.get(key) ?? 0)),
        lost: await usernamesOf(store, users),
        lostOthers: lost.length - users.length,
      };
    },
    async rotate() {
      const encrypted = await sealed.rotateKey(store, secrets, sealedColumns);
      return { secrets: encrypted, key: secrets.keyIds()[0] ?? null };
    },
    rotateSigningKey: async (options = {}) => {
      readOptions("secrets.rotateSigningKey", ROTATION, options);
      const { atOnce = false } = options;
      return turnSigningKey({ store, secrets, now: now() }, OPERATOR, { atOnce });
    },
    sshHostKeys: () => hostKeys(store),
    removeLost: () =>
      store.transaction(async (db) => {
        const lost = await sealed.lostIn(db, secrets, sealedColumns);
        const users = lost.filter(ofUsers).map(({ id }) => id);
        const usernames = await usernamesOf(db, users);
        for (const userId of users) await removeSecondFactor(db, userId, OPERATOR, now());
        const others = lost.filter((one) => !ofUsers(one));
        for (const { column, id } of others) {
          await db.run(`delete from ${column.table} where ${column.id} = ?`, [id]);
        }
        await sealed.forgetUnusedKeys(db, sealedColumns);
        return { users: usernames, others: others.length };
      }),
  };
}
