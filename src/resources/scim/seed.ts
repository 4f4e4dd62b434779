import { randomUUID } from "node:crypto";
import * as v from "valibot";
import { digestOf } from "../../auth/token-secrets.ts";
import { ROLE_NAMES, ROLES, type Role } from "../../core/access/roles.ts";
import { day, oneOf, type SeededSource, seedList, type Word } from "../../core/seeding.ts";
import { readUser } from "../../scim/values.ts";
import * as users from "../users/queries.ts";
import * as scim from "./queries.ts";

/** A SCIM token of a group of a seed. */
export interface ScimTokenSeed {
  /** The secret. */
  token: string;
  name?: string | undefined;
  /** Of the people it adds. */
  role?: Word<Role> | undefined;
  /** A day. */
  expires_at?: string | undefined;
}

/** A group's SCIM tokens. */
export const scimTokensPart = seedList({
  entries: {
    token: v.string(),
    name: v.optional(v.string(), "seed"),
    role: v.optional(oneOf(ROLE_NAMES), "guest"),
    expires_at: v.optional(day),
  },
  async insert({ db, now }, { token, role, ...given }, group: SeededSource) {
    const values = { ...given, digest: digestOf(token), access_level: ROLES[role] };
    await scim.insertToken(db, group.id, values, now);
  },
});

/** What the identity provider of a group of a seed says about a user. */
export interface ScimUserSeed {
  /** The user name of the account. */
  user: string;
  /** The user name at the provider. Default: the account's e-mail address. */
  user_name?: string | undefined;
  external_id?: string | undefined;
  /** Whether the provider says that they belong to the group, whose `members` stay as they are. Default: yes. */
  active?: boolean | undefined;
}

/** The people of a group's identity provider. */
export const scimUsersPart = seedList({
  entries: {
    user: v.string(),
    user_name: v.optional(v.string()),
    external_id: v.optional(v.string()),
    active: v.optional(v.boolean(), true),
  },
  async insert(seeding, { user, user_name, external_id, active }, group: SeededSource) {
    const { db, now } = seeding;
    const userId = seeding.userId(user);
    const account = (await users.find(db, userId)) as users.User;
    const attributes = readUser({
      userName: user_name ?? account.email,
      externalId: external_id,
      active,
      displayName: account.name,
      emails: [{ value: account.email, type: "work", primary: true }],
    });
    const found = { uid: randomUUID(), groupId: group.id, userId, isProvisioned: false };
    await scim.insert(db, found, attributes, now);
  },
});
