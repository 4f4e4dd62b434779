import { insufficientScope } from "../errors.ts";
import type { DeployScope, Scope } from "../scopes.ts";

/**
 * The states an account can be put into: only active users are let in. Deactivated users become active by signing
 * in; others don't see the issues, merge requests and notes of banned users; `ldap_blocked` users have gone from an LDAP server.
 */
export const USER_STATES = [
  "active",
  "blocked",
  "deactivated",
  "banned",
  "blocked_pending_approval",
  "ldap_blocked",
] as const;
export type UserState = (typeof USER_STATES)[number];

/** The parts of a user that decide what they may see. */
export interface Person {
  readonly id: number;
  readonly username: string;
  readonly admin: boolean;
  /** External users see internal groups and projects only as members. */
  readonly external: boolean;
  /** The role that a credential has by itself, in one group or project. */
  readonly reach?: Reach;
}

/** A role in a group, with everything below it, or in a project. */
export interface Reach {
  readonly column: "namespace_id" | "project_id";
  /** The group's or project's id. */
  readonly id: number;
  readonly level: number;
  /** The deploy key that it is, which rules of branches and tags may name. */
  readonly keyId?: number;
}

/** The caller of a request. */
export interface Caller extends Person {
  readonly scopes: readonly string[];
  /** How they, or with sudo the administrator, authenticated. */
  readonly by: Proof;
  /** The administrator who acts as this user by sudo. */
  readonly sudoer?: Person;
}

/** The token of a CI job. */
export interface JobProof {
  readonly kind: "job";
  readonly id: number;
  /** The project of the job: others take the token only if they say so. */
  readonly projectId: number;
  readonly projectPath: string;
}

/** How a caller authenticated, with the id of the credential's record. */
export type Proof =
  | { readonly kind: "token" | "impersonation" | "session"; readonly id: number }
  | JobProof
  /** An SSH key: that of a user, or a deploy key, whose id as a caller is 0 unless it pushes for its creator. */
  | { readonly kind: "key"; readonly id: number }
  | { readonly kind: "oauth"; readonly id: number; readonly applicationId: number | null }
  | {
      /** An identity provider, which is no user: its id is 0. */
      readonly kind: "scim";
      readonly id: number;
      /** The only group the token is valid for. */
      readonly groupId: number;
      readonly groupPath: string;
      /** The access level of the people it adds. */
      readonly accessLevel: number;
    }
  | {
      /** A deploy token, which is no user: its id as a caller is 0, and its role is its `reach`. */
      readonly kind: "deploy";
      readonly id: number;
    }
  | { readonly kind: "host" | "password" | "feed" | "lfs" };

/**
 * Checks that a token has a scope the route accepts.
 *
 * @throws ApiError 403 insufficient_scope, naming the accepted scopes
 */
export function requireScope(caller: Caller, accepted: readonly (Scope | DeployScope)[]): void {
  if (!caller.scopes.some((scope) => (accepted as readonly string[]).includes(scope))) {
    throw insufficientScope(accepted);
  }
}
