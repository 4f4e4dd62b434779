import * as audit from "../audit/log.ts";
import * as invitations from "../auth/invitations.ts";
import { hashPassword, requirePassword } from "../auth/passwords.ts";
import * as twoFactor from "../auth/two-factor.ts";
import { USER_STATES, type UserState } from "../core/access/caller.ts";
import * as param from "../core/input.ts";
import { inputOf, readArgument, readOptions } from "../core/options.ts";
import { changeAccount, createAccount } from "../resources/accounts/changes.ts";
import { finish } from "../resources/remover.ts";
import * as changes from "../resources/users/changes.ts";
import * as users from "../resources/users/queries.ts";
import { requireFree } from "../resources/users/rules.ts";
import type { Database } from "../store/port.ts";
import { type AdminContext, findUser, reference } from "./context.ts";

/** A user as operators see them. */
export interface UserRecord {
  id: number;
  username: string;
  name: string;
  email: string;
  state: UserState;
  admin: boolean;
}

/** A user to create. */
export interface NewUser {
  username: string;
  name: string;
  email: string;
  /** Default false. */
  admin?: boolean;
}

/** Changes to a user; omitted properties stay. */
export interface UserChange {
  /** The user name; the paths of their own projects change with it. */
  username?: string;
  name?: string;
  email?: string;
  /** Whether they are an administrator. */
  admin?: boolean;
  /**
   * `"active"` accepts their tokens, the other states refuse them: `"deactivated"` until they sign in, `"banned"` also hides
   * their issues, merge requests and notes from others.
   */
  state?: UserState;
}

/** A link by which a user sets their password, once. */
export interface PasswordLink {
  username: string;
  /** The path below the server's address. It contains a secret of which only a digest is stored. */
  path: string;
  /** The complete link; `null` if the application has no `url`. */
  url: string | null;
  /** An ISO 8601 instant. */
  expires_at: string;
}

/** Users, given by user name (case-insensitive). */
export interface UserAdmin {
  /**
   * Creates a user.
   *
   * @throws OptionError if something is missing or of the wrong type
   * @throws ApiError 400 or 409 if a name or the password is invalid or taken
   */
  create(
    user: NewUser & {
      /** At least 8 characters, at most 72 bytes. Without one, the user can only use tokens. */
      password?: string;
    },
  ): Promise<UserRecord>;
  /**
   * Creates a user, and the link by which they set their password.
   *
   * @param user `lifetime`: how long the link works, in seconds; default 7 days
   * @throws OptionError, ApiError as {@link create}
   */
  invite(user: NewUser & { lifetime?: number }): Promise<UserRecord & { invitation: PasswordLink }>;
  /**
   * Creates a link by which a user sets a new password; earlier links stop working.
   *
   * @param options `lifetime`: how long it works, in seconds; default 7 days
   * @throws ApiError 404
   */
  createPasswordLink(username: string, options?: { lifetime?: number }): Promise<PasswordLink>;
  /**
   * Checks all or part of a new user's data without creating the user, for forms.
   *
   * @throws OptionError, ApiError as {@link create}
   */
  check(user: Partial<NewUser> & { password?: string }): Promise<void>;
  /** Returns a user. @throws ApiError 404 */
  get(username: string): Promise<UserRecord>;
  /** Whether any users exist. */
  exist(): Promise<boolean>;
  /** All users, oldest first. */
  list(): Promise<UserRecord[]>;
  /**
   * Changes a user: renames, promotes, demotes, blocks.
   *
   * @throws ApiError 404, 400 or 409 for a name that is invalid or taken, 403 for the last administrator
   */
  update(username: string, change: UserChange): Promise<UserRecord>;
  /** Deletes a user with their own projects. @throws ApiError 404, 403 for the last administrator */
  delete(username: string): Promise<UserRecord>;
  /** Blocks a user; their tokens are answered with 403. @throws ApiError 404, 403 for the last administrator */
  block(username: string): Promise<UserRecord>;
  /** Unblocks a user. @throws ApiError 404 */
  unblock(username: string): Promise<UserRecord>;
  /** Sets a user's password and ends their sessions. @throws ApiError 404, 400 for an invalid password */
  setPassword(username: string, password: string): Promise<UserRecord>;
  /** Disables a user's second factor, if it is enabled. @throws ApiError 404 */
  disableTwoFactor(username: string): Promise<UserRecord>;
}

/** A week and a year, in seconds. */
const LINK_LIFETIME = 7 * 86_400;
const MAX_LINK_LIFETIME = 365 * 86_400;

const lifetime = { lifetime: param.optional(param.integer({ min: 1, max: MAX_LINK_LIFETIME })) };
const account = { ...changes.newUserInput, admin: param.optional(param.boolean()) };
const NEW_USER = inputOf({ ...account, password: param.optional(param.anyText()) });
const PARTIAL_USER = inputOf({ ...changes.userInput, password: param.optional(param.anyText()) });
const NEW_INVITATION = inputOf({ ...account, ...lifetime });
const LINK = inputOf(lifetime);
const CHANGE = inputOf({
  ...changes.userInput,
  state: param.optional(param.choice(USER_STATES)),
});

/** Creates {@link UserAdmin}. */
export function userAdmin({ store, now, url }: AdminContext): UserAdmin {
  const named = (where: string, username: string) =>
    readArgument(where, "username", reference, username);

  /** Changes a user and returns the new record. */
  const change = (username: string, work: (db: Database, found: users.User) => Promise<unknown>) =>
    store.transaction(async (db) => {
      const found = await findUser(db, username);
      await work(db, found);
      return userRecord((await users.find(db, found.id)) as users.User);
    });

  const linkFor = async (
    db: Database,
    user: Pick<users.User, "id" | "username">,
    seconds = LINK_LIFETIME,
  ): Promise<PasswordLink> => {
    const expiresAt = now() + seconds * 1000;
    const secret = await invitations.create(db, user.id, expiresAt, now());
    await audit.log({ db, by: audit.OPERATOR, now: now() }, "user invited", { userId: user.id });
    const path = `/users/password/edit?reset_password_token=${secret}`;
    return {
      username: user.username,
      path,
      url: url === undefined ? null : url.replace(/\/$/, "") + path,
      expires_at: new Date(expiresAt).toISOString(),
    };
  };

  return {
    async create(given) {
      const { password, ...user } = readOptions("users.create", NEW_USER, given);
      const password_hash = password === undefined ? null : await hashPassword(password, store);
      return store.transaction(async (db) => {
        const id = await createAccount(db, audit.OPERATOR, { ...user, password_hash }, now());
        return userRecord((await users.find(db, id)) as users.User);
      });
    },
    async invite(given) {
      const { lifetime: seconds, ...user } = readOptions("users.invite", NEW_INVITATION, given);
      return store.transaction(async (db) => {
        const id = await createAccount(db, audit.OPERATOR, user, now());
        const created = userRecord((await users.find(db, id)) as users.User);
        return { ...created, invitation: await linkFor(db, created, seconds) };
      });
    },
    async createPasswordLink(username, options = {}) {
      const name = named("users.createPasswordLink", username);
      const { lifetime: seconds } = readOptions("users.createPasswordLink", LINK, options);
      return store.transaction(async (db) => linkFor(db, await findUser(db, name), seconds));
    },
    async check(given) {
      const { password, ...user } = readOptions("users.check", PARTIAL_USER, given);
      if (password !== undefined) await requirePassword(password, store);
      await requireFree(store, user);
    },
    get: async (username) => userRecord(await findUser(store, named("users.get", username))),
    exist: async () => users.exist(store),
    list: async () => (await users.listAll(store)).map(userRecord),
    async update(username, given) {
      const name = named("users.update", username);
      const { state, ...input } = readOptions("users.update", CHANGE, given);
      return change(name, async (db, found) => {
        await changeAccount(db, audit.OPERATOR, found, input, now());
        if (state === undefined || state === found.state) return;
        const changed = (await users.find(db, found.id)) as users.User;
        await changes.changeState(db, audit.OPERATOR, changed, state, now());
      });
    },
    async delete(username) {
      const name = named("users.delete", username);
      const { found, isDone } = await store.transaction(async (db) => {
        const found = await findUser(db, name);
        return { found, isDone: await changes.deleteUser(db, audit.OPERATOR, found, now()) };
      });
      if (!isDone) await finish(store, { user: found.id }, now());
      return userRecord(found);
    },
    block: async (username) =>
      change(named("users.block", username), (db, found) =>
        changes.changeState(db, audit.OPERATOR, found, "blocked", now()),
      ),
    unblock: async (username) =>
      change(named("users.unblock", username), (db, found) =>
        changes.changeState(db, audit.OPERATOR, found, "active", now()),
      ),
    async setPassword(username, password) {
      const name = named("users.setPassword", username);
      const text = readArgument("users.setPassword", "password", param.anyText(), password);
      const hash = await hashPassword(text, store);
      return change(name, (db, found) =>
        changes.changePassword(db, audit.OPERATOR, found, hash, now()),
      );
    },
    disableTwoFactor: async (username) =>
      change(named("users.disableTwoFactor", username), async (db, found) => {
        if (await twoFactor.turnOff(db, found.id)) {
          await audit.log({ db, by: audit.OPERATOR, now: now() }, "two-factor disabled", {
            userId: found.id,
          });
        }
      }),
  };
}

function userRecord(user: users.User): UserRecord {
  const { id, username, name, email } = user;
  const { state } = user;
  const shown = state === "ghost" || state === "placeholder" || state === "removed";
  return {
    ...{ id, username, name, email, admin: user.admin === 1 },
    state: shown ? "active" : state,
  };
}
