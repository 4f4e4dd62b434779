import * as v from "valibot";
import { hashPassword } from "../../auth/passwords.ts";
import { USER_STATES, type UserState } from "../../core/access/caller.ts";
import {
  type InsertNested,
  type InstantSeed,
  instant,
  oneOf,
  type SeededUser,
  type SeedParts,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import * as users from "./queries.ts";
import { requireFree } from "./rules.ts";

/** A user of a seed. */
export interface UserSeed {
  username: string;
  /** Default: the user name. */
  name?: string | undefined;
  /** Default: the user name followed by `@example.com`. */
  email?: string | undefined;
  /** Without a password, the user can only use tokens. */
  password?: string | undefined;
  admin?: boolean | undefined;
  external?: boolean | undefined;
  state?: Word<UserState> | undefined;
  created_at?: InstantSeed;
}

/** A seed's users. @param nested what each of them has */
export const usersPart = <Nested extends SeedParts<SeededUser>>(nested: Nested) =>
  seedList({
    entries: {
      username: v.string(),
      name: v.optional(v.string()),
      email: v.optional(v.string()),
      password: v.optional(v.string()),
      admin: v.optional(v.boolean(), false),
      external: v.optional(v.boolean(), false),
      state: v.optional(oneOf(USER_STATES), "active"),
      created_at: instant,
    },
    nested,
    counted: "users",
    /** Replaces passwords by their hashes. */
    async prepare(given) {
      const prepared: typeof given = [];
      for (const user of given) {
        const { password } = user;
        prepared.push(
          password === undefined ? user : { ...user, password: await hashPassword(password) },
        );
      }
      return prepared;
    },
    async insert(seeding, user, _seed: undefined, insertNested: InsertNested<SeededUser>) {
      const { username, name = username, email = `${username}@example.com` } = user;
      await requireFree(seeding.db, { username, email }, undefined, { isSeeded: true });
      const { password: password_hash, admin, external, state } = user;
      const id = await users.insert(
        seeding.db,
        { username, name, email, password_hash, admin, external, state },
        user.created_at ?? seeding.now,
      );
      seeding.addUser({ username, id });
      await insertNested({ username, id });
    },
  });
