import { OPERATOR, record } from "./accounts/audit.ts";
import * as audit from "./accounts/audit-queries.ts";
import type { SecretsState } from "./accounts/sealed.ts";
import * as sealed from "./accounts/sealed.ts";
import * as twoFactor from "./accounts/two-factor.ts";
import { newSecret } from "./core/auth.ts";
import { invalid, notFound } from "./core/errors.ts";
import { hashPassword } from "./core/passwords.ts";
import type { Secrets } from "./core/secrets.ts";
import { dayOf } from "./core/time.ts";
import { readDependencyFiles, readDependencyReport, type TextFile } from "./dependencies/index.ts";
import * as applications from "./oauth/applications.ts";
import {
  type Purged,
  type PurgeOptions,
  purgeEvents,
  removeExpiredMembers,
  startOfRetention,
} from "./purge.ts";
import * as dependencies from "./resources/dependencies/queries.ts";
import type { DependencyFile } from "./resources/dependencies/rules.ts";
import * as events from "./resources/events/queries.ts";
import * as jobs from "./resources/meta/queries.ts";
import {
  findEvent,
  type Recipient,
  recipients,
} from "./resources/notification-settings/recipients.ts";
import * as projects from "./resources/projects/queries.ts";
import * as tokens from "./resources/tokens/queries.ts";
import { requireScopes } from "./resources/tokens/rules.ts";
import * as users from "./resources/users/queries.ts";
import { requireFree } from "./resources/users/rules.ts";
import { exportWiki, type WikiFile } from "./resources/wikis/export.ts";
import { type Progress, type Seed, type Seeded, seed } from "./seed.ts";
import type { Database, Reader, Store } from "./store/port.ts";

/** A user as operators see them. */
export interface UserRecord {
  id: number;
  username: string;
  name: string;
  email: string;
  state: "active" | "blocked";
  admin: boolean;
}

/** A token as operators see it. */
export interface TokenRecord {
  id: number;
  username: string;
  name: string;
  scopes: string[];
  impersonation: boolean;
  /** `YYYY-MM-DD`; expired from the start of that day (UTC) on. */
  expires_at: string | null;
  /** As an ISO 8601 instant, to the minute; `null` for never. */
  last_used_at: string | null;
  revoked: boolean;
  /** Neither revoked nor expired. */
  active: boolean;
}

/** A CI job's token as it is made. */
export interface JobTokenRecord {
  id: number;
  username: string;
  /** The full path of the only project it reaches. */
  project: string;
  /** As an ISO 8601 instant. */
  expires_at: string;
}

/** A security event. */
export interface AuditRecord {
  id: number;
  /** As an ISO 8601 instant. */
  created_at: string;
  /** Such as `"signed in"`. */
  action: string;
  /** The user name of who did it; `"operator"` for whoever has the database, as `pm-cli` does. */
  author: string;
  /** The user name of whose account it was done to, where that is another. */
  user: string | null;
  /** What it was done to, such as a token's name; `""` for nothing. */
  target: string;
  /** The client's address; `""` where it is unknown. */
  ip: string;
}

/** An OAuth2 application as operators see it. */
export interface ApplicationRecord {
  id: number;
  /** Whose it is; `null` where an administrator registered it through the API. */
  username: string | null;
  name: string;
  client_id: string;
  redirect_uris: string[];
  scopes: string[];
  /** Whether it can keep a secret; if not it is public, and has none. */
  confidential: boolean;
  /** Whether users are not asked for their consent; public applications ask nevertheless. */
  trusted: boolean;
}

/** A push as Git's post-receive hook knows it. */
export interface PushRecord {
  /** The project's full path or id. */
  project: string;
  /** The user name, or e-mail address, of who pushed. */
  user: string;
  /** With `refs/heads/` or `refs/tags/`. */
  ref: string;
  /** The commit before, `null` for a ref that is new. */
  from: string | null;
  /** The commit after, `null` for a ref that is gone. */
  to: string | null;
  commitCount: number;
  /** The first line of the last commit's message. */
  commitTitle: string | null;
}

/** What reading dependency files, or a report, put in place. */
export interface DependencyScan {
  files: { path: string; dependencies: number; vulnerabilities: number }[];
  /** Packages of a report whose package manager the API has no word for. */
  skipped: number;
}

/** What operators do. Users are named by their user name, whatever its case. */
export interface Admin {
  /** @throws ApiError 400 or 409 where the data is malformed or taken */
  createUser(user: {
    username: string;
    name: string;
    email: string;
    /** At least 8 characters, at most 72 bytes; without one the user has tokens only. */
    password?: string;
    admin?: boolean;
  }): Promise<UserRecord>;
  listUsers(): Promise<UserRecord[]>;
  /** Blocks a user: from then on their tokens answer 403. @throws ApiError 404 */
  blockUser(username: string): Promise<UserRecord>;
  /** @throws ApiError 404 */
  unblockUser(username: string): Promise<UserRecord>;
  /** Gives a user another password, which ends their sessions. @throws ApiError 404, 400 for a password that can't be */
  setPassword(username: string, password: string): Promise<UserRecord>;
  /** Switches a user's second factor off, where it is on. @throws ApiError 404 */
  disableTwoFactor(username: string): Promise<UserRecord>;
  /**
   * Issues a personal token, or an impersonation token.
   *
   * @returns the record with `token`, the secret, which is nowhere else
   * @throws ApiError 404 for an unknown user, 400 for scopes that aren't
   */
  createToken(token: {
    user: string;
    name: string;
    scopes: readonly string[];
    expires_at?: string;
    impersonation?: boolean;
  }): Promise<TokenRecord & { token: string }>;
  /** The tokens of a user, or of all, in the order they were made. @throws ApiError 404 */
  listTokens(filter?: { user?: string }): Promise<TokenRecord[]>;
  /** Revokes a token for good. @throws ApiError 404 */
  revokeToken(id: number): Promise<TokenRecord>;
  /**
   * Issues the token of a CI job, which reaches what its user may read in one project (docs/authentication.md).
   *
   * @param token `lifetime` in seconds, default 3600
   * @returns the record with `token`, the secret, which is nowhere else
   * @throws ApiError 404 for an unknown project or user, 400 for a lifetime that isn't above 0
   */
  createJobToken(token: {
    /** Its full path or id. */
    project: string;
    user: string;
    lifetime?: number;
  }): Promise<JobTokenRecord & { token: string }>;
  /**
   * Security events, the newest first.
   *
   * @param filter `user`: who did it, or whom it was done to; `since`: an ISO 8601 instant or a day; `limit`: how many
   *   at most, default 1000
   * @throws ApiError 404 for an unknown user
   * @throws RangeError where `since` is no instant
   */
  listAuditEvents(filter?: {
    user?: string;
    action?: string;
    since?: string;
    limit?: number;
  }): Promise<AuditRecord[]>;
  /**
   * Registers an OAuth2 application.
   *
   * @returns the record with `client_secret`, which is nowhere else; `null` for public applications
   * @throws ApiError 404 for an unknown user, 400 for data that isn't right
   */
  createApplication(application: {
    user: string;
    name: string;
    redirect_uris: readonly string[];
    scopes: readonly string[];
    /** Default true. */
    confidential?: boolean;
    /** Default false. */
    trusted?: boolean;
  }): Promise<ApplicationRecord & { client_secret: string | null }>;
  /** The applications of a user, or all, in the order they were made. @throws ApiError 404 */
  listApplications(filter?: { user?: string }): Promise<ApplicationRecord[]>;
  /**
   * Gives an application another secret.
   *
   * @param application its id or `client_id`
   * @throws ApiError 404, 400 for a public application
   */
  renewApplicationSecret(
    application: string | number,
  ): Promise<ApplicationRecord & { client_secret: string }>;
  /**
   * Deletes an application and every access it was given.
   *
   * @param application its id or `client_id`
   * @throws ApiError 404
   */
  deleteApplication(application: string | number): Promise<ApplicationRecord>;
  /**
   * Who is to be told of an event, and why, by their notification settings.
   *
   * @throws ApiError 404 for an unknown event
   */
  recipients(eventId: number): Promise<Recipient[]>;
  /**
   * Removes events older than the retention (contract §6). With the retention switched off and no `olderThan`, nothing.
   *
   * @throws RangeError where `olderThan` is no age
   */
  purgeEvents(options?: PurgeOptions): Promise<Purged>;
  /**
   * Removes memberships that have run out; where they were of a project, its activity says so. They give no access from
   * their last day on, removed or not.
   */
  removeExpiredMembers(): Promise<{ members: number }>;
  /**
   * {@link purgeEvents} and {@link removeExpiredMembers}, where none of the processes that share the database did so
   * for a day. `createApp` calls it by itself unless `background` is `false`; then call it every few minutes.
   *
   * @returns `undefined` where it is not due, or another process is at it
   */
  sweepDaily(): Promise<(Purged & { members: number }) | undefined>;
  /**
   * Does a job now and then, of all processes that share the database one: to be called often, by each of them. A job
   * that fails is tried again within ten minutes; until it succeeds, `/-/readiness` names it in `failed_jobs`.
   *
   * @param job its name, and how many milliseconds pass between two runs
   * @returns what `work` gave; `undefined` where it is not due, or another process is at it
   * @throws what `work` throws
   */
  runJob<T>(job: { name: string; every: number }, work: () => Promise<T>): Promise<T | undefined>;
  /**
   * Keeps a push in a project's activity.
   *
   * @throws ApiError 404 for an unknown project or user
   */
  recordPush(push: PushRecord): Promise<{ id: number }>;
  /**
   * Gives a project's wiki as files: its pages, its attachments below `uploads/`, and every version there ever was, in
   * `history.jsonl`. Each is read when it is written, so that no wiki is too large.
   *
   * @param project its id or full path
   * @throws ApiError 404
   */
  exportWiki(project: string): AsyncIterable<WikiFile>;
  /**
   * Reads dependency files ({@link DEPENDENCY_FILES}) and puts what they say in place of what the same files said
   * before, in one transaction. What other files said stays.
   *
   * @param project full path, or id
   * @throws DependencyError naming the file that can't be read; nothing is changed then
   * @throws ApiError 404 for an unknown project
   */
  scanDependencies(project: string, files: readonly TextFile[]): Promise<DependencyScan>;
  /**
   * As {@link scanDependencies}, with vulnerabilities, from a CycloneDX SBOM (JSON, 1.4 to 1.7) or GitLab's dependency
   * scanning report. Where an SBOM does not name the dependency file, the report's own name stands for it.
   *
   * @throws DependencyError where the report can't be read
   * @throws ApiError 404 for an unknown project
   */
  importDependencies(project: string, report: TextFile): Promise<DependencyScan>;
  /** How the secrets of two-factor sign-in are encrypted. */
  checkSecrets(): Promise<SecretsState>;
  /**
   * Encrypts secrets anew: with another key, which is made, where keys are in a file; with the first key there is, where
   * they were given as `secretKey`. Ended early, the next call goes on.
   *
   * @returns `secrets`: how many were; `key`: the id of the key that encrypts now
   */
  rotateSecrets(): Promise<{ secrets: number; key: string | null }>;
  /** Switches two-factor sign-in off for those whose secret nobody can read any more, since its key is lost. */
  removeLostSecrets(): Promise<{ users: string[] }>;
  /** Fills the database with plain data, in one transaction. @throws SeedError */
  seed(data: Seed, onProgress?: Progress): Promise<Seeded>;
}

const DAY = 86_400_000;
/** How long a process is given for a job: one that takes longer has died, or is joined by another. */
const JOB_LEASE = 3_600_000;
/** When a job that failed is tried again. */
const RETRY = 600_000;
/** In seconds: a month. */
const LONGEST_JOB = 30 * 86_400;
const operator: applications.Actor = { ...OPERATOR, ip: "" };

/**
 * Makes the operators' side of an application.
 *
 * @param retention how long events are kept, `false` for ever
 * @param secrets what encrypts secrets
 */
export function createAdmin(
  store: Store,
  now: () => number,
  retention: string | false,
  secrets: Secrets,
): Admin {
  const recordFor = (
    db: Database,
    action: Parameters<typeof record>[1]["action"],
    userId: number,
    target?: string,
  ) => record(db, { action, author: OPERATOR, userId, target, ip: "" }, now());

  const setState = (username: string, state: users.User["state"]) =>
    store.transaction(async (db) => {
      const user = await findUser(db, username);
      await users.setState(db, user, state, now());
      await recordFor(db, state === "blocked" ? "user blocked" : "user unblocked", user.id);
      return userRecord({ ...user, state });
    });

  const replaceDependencies = (name: string, files: readonly DependencyFile[], skipped: number) =>
    store.transaction(async (db): Promise<DependencyScan> => {
      const project = await findProject(db, name);
      for (const file of files) await dependencies.replaceFile(db, project.id, file);
      return {
        files: files.map((file) => ({
          path: file.path,
          dependencies: file.dependencies.length,
          vulnerabilities: file.dependencies.reduce(
            (sum, { vulnerabilities }) => sum + vulnerabilities.length,
            0,
          ),
        })),
        skipped,
      };
    });

  const purge: Admin["purgeEvents"] = async (options = {}) => {
    const age = options.olderThan ?? retention;
    const before = age === false ? 0 : startOfRetention(age, now());
    return purgeEvents(store, before, options);
  };

  const runJob: Admin["runJob"] = async ({ name, every }, work) => {
    if (!(await jobs.isDue(store, name, now()))) return undefined;
    const taken = await store.transaction((db) => jobs.takeJob(db, name, now(), now() + JOB_LEASE));
    if (!taken) return undefined;
    const end = (next: number, error: string | null) =>
      store.transaction((db) => jobs.endJob(db, name, now() + next, error));
    try {
      const result = await work();
      await end(every, null);
      return result;
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error));
      await end(Math.min(every, RETRY), message.slice(0, 500)).catch(() => undefined);
      throw error;
    }
  };

  return {
    async createUser({ password, ...user }) {
      const password_hash = password === undefined ? null : await hashPassword(password);
      return store.transaction(async (db) => {
        await requireFree(db, user);
        const id = await users.insert(db, { ...user, password_hash }, now());
        return userRecord((await users.find(db, id)) as users.User);
      });
    },
    listUsers: async () => (await users.all(store)).map(userRecord),
    blockUser: (username) => setState(username, "blocked"),
    unblockUser: (username) => setState(username, "active"),
    async setPassword(username, password) {
      const hash = await hashPassword(password);
      return store.transaction(async (db) => {
        const user = await findUser(db, username);
        await users.setPassword(db, user.id, hash, now());
        await recordFor(db, "password changed", user.id);
        return userRecord(user);
      });
    },
    disableTwoFactor: (username) =>
      store.transaction(async (db) => {
        const user = await findUser(db, username);
        if (await twoFactor.turnOff(db, user.id)) {
          await recordFor(db, "two-factor disabled", user.id);
        }
        return userRecord(user);
      }),
    async createToken({ user: username, name, scopes, expires_at, impersonation = false }) {
      requireScopes(scopes);
      const { secret, digest } = newSecret();
      return store.transaction(async (db) => {
        const user = await findUser(db, username);
        const id = await tokens.insert(
          db,
          { user_id: user.id, name, digest, scopes, impersonation, expires_at },
          now(),
        );
        await recordFor(
          db,
          "token made",
          user.id,
          impersonation ? `${name} (impersonation)` : name,
        );
        return { ...(await tokenRecord(db, id, now())), token: secret };
      });
    },
    async listTokens({ user: username } = {}) {
      const user = username === undefined ? undefined : await findUser(store, username);
      return (await tokens.all(store, user?.id)).map((row) => recordOf(row, now()));
    },
    revokeToken: (id) =>
      store.transaction(async (db) => {
        const { name } = await tokenRecord(db, id, now());
        const { user_id: userId } = (await tokens.find(db, id)) as tokens.Token;
        if (await tokens.revoke(db, id, now())) await recordFor(db, "token revoked", userId, name);
        return tokenRecord(db, id, now());
      }),
    async createJobToken({ project: name, user: username, lifetime = 3600 }) {
      if (!(lifetime > 0 && lifetime <= LONGEST_JOB)) {
        throw invalid({ lifetime: [`must be above 0 and at most ${LONGEST_JOB} seconds`] });
      }
      const { secret, digest } = newSecret();
      return store.transaction(async (db) => {
        const project = await findProject(db, name);
        const user = await findUser(db, username);
        const expires_at = now() + Math.round(lifetime * 1000);
        const of = { user_id: user.id, project_id: project.id, digest, expires_at };
        const id = await tokens.insertJobToken(db, of, now());
        await recordFor(db, "job token made", user.id, project.full_path);
        return {
          id,
          username: user.username,
          project: project.full_path,
          expires_at: new Date(expires_at).toISOString(),
          token: secret,
        };
      });
    },
    async listAuditEvents({ user: username, action, since, limit = 1000 } = {}) {
      const user = username === undefined ? undefined : await findUser(store, username);
      const after = since === undefined ? undefined : Date.parse(since);
      if (Number.isNaN(after)) throw new RangeError(`"${since}" is no instant`);
      const found = await audit.latest(store, { userId: user?.id, action, after }, limit);
      return found.map((row) => ({
        id: row.id,
        created_at: new Date(row.created_at).toISOString(),
        action: row.action,
        author: row.author_name,
        user: row.username,
        target: row.target,
        ip: row.ip,
      }));
    },
    createApplication: ({ user: username, name, redirect_uris, scopes, ...rest }) =>
      store.transaction(async (db) => {
        const user = await findUser(db, username);
        const { confidential = true, trusted = false } = rest;
        const data = { name, redirectUris: redirect_uris, scopes, confidential, trusted };
        const made = await applications.register(db, operator, { ...data, userId: user.id }, now());
        const found = await findApplication(db, made.id);
        return { ...applicationRecord(found), client_secret: made.secret };
      }),
    async listApplications({ user: username } = {}) {
      const user = username === undefined ? undefined : await findUser(store, username);
      return (await applications.all(store, user?.id)).map(applicationRecord);
    },
    renewApplicationSecret: (application) =>
      store.transaction(async (db) => {
        const found = await findApplication(db, application);
        const secret = await applications.renewSecret(db, operator, found, now());
        if (secret === null) throw invalid({ application: ["is public and has no secret"] });
        return { ...applicationRecord(found), client_secret: secret };
      }),
    deleteApplication: (application) =>
      store.transaction(async (db) => {
        const found = await findApplication(db, application);
        await applications.remove(db, operator, found, now());
        return applicationRecord(found);
      }),
    recipients: async (eventId) => {
      const event = await findEvent(store, eventId);
      if (!event) throw notFound("Event");
      return recipients(store, event, dayOf(now()));
    },
    purgeEvents: purge,
    sweepDaily: () =>
      runJob({ name: "sweep", every: DAY }, async () => {
        const members = await removeExpiredMembers(store, now());
        return { ...(await purge()), members };
      }),
    runJob,
    removeExpiredMembers: async () => ({ members: await removeExpiredMembers(store, now()) }),
    recordPush: ({ project: name, user: username, ref, from, to, commitCount, commitTitle }) =>
      store.transaction(async (db) => {
        const user = username.includes("@")
          ? await users.findByEmail(db, username)
          : await users.findByUsername(db, username);
        if (!user) throw notFound("User");
        const project = await findProject(db, name);
        const parts = /^refs\/(heads|tags)\/(.+)$/.exec(ref);
        if (!parts) throw invalid({ ref: ["must begin with refs/heads/ or refs/tags/"] });
        const id = await events.recordPush(
          db,
          {
            project_id: project.id,
            author_id: user.id,
            ref: parts[2] as string,
            ref_type: parts[1] === "tags" ? "tag" : "branch",
            push_action: from === null ? "created" : to === null ? "removed" : "pushed",
            commit_count: commitCount,
            commit_from: from,
            commit_to: to,
            commit_title: commitTitle,
          },
          now(),
        );
        return { id };
      }),
    async *exportWiki(project) {
      yield* exportWiki(store, (await findProject(store, project)).id);
    },
    scanDependencies: async (project, files) =>
      replaceDependencies(project, await readDependencyFiles(files), 0),
    importDependencies: async (project, report) => {
      const { files, skipped } = await readDependencyReport(report);
      return replaceDependencies(project, files, skipped);
    },
    checkSecrets: () => sealed.stateOf(store, secrets),
    rotateSecrets: async () => {
      const resealed = await sealed.rotate(store, secrets);
      return { secrets: resealed, key: secrets.keyIds()[0] ?? null };
    },
    removeLostSecrets: async () => ({
      users: await store.transaction((db) => sealed.removeLost(db, secrets, OPERATOR, now())),
    }),
    seed: (data, onProgress) => seed(store, data, now(), onProgress),
  };
}

async function findUser(db: Reader, username: string): Promise<users.User> {
  const found = await users.findByUsername(db, username);
  if (!found) throw notFound("User");
  return found;
}

async function findApplication(
  db: Reader,
  application: string | number,
): Promise<applications.Application> {
  const found = /^\d{1,15}$/.test(String(application))
    ? await applications.find(db, Number(application))
    : await applications.findByUid(db, String(application));
  if (!found) throw notFound("Application");
  return found;
}

async function findProject(db: Reader, name: string): Promise<projects.Project> {
  const found = /^\d+$/.test(name)
    ? await projects.find(db, Number(name))
    : await projects.findByPath(db, name);
  if (!found) throw notFound("Project");
  return found;
}

function userRecord(user: users.User): UserRecord {
  const { id, username, name, email, state } = user;
  return { id, username, name, email, state, admin: user.admin === 1 };
}

function applicationRecord(row: applications.Application): ApplicationRecord {
  return {
    id: row.id,
    username: row.username,
    name: row.name,
    client_id: row.uid,
    redirect_uris: row.redirect_uris.split("\n"),
    scopes: row.scopes.split(" "),
    confidential: row.confidential === 1,
    trusted: row.trusted === 1,
  };
}

async function tokenRecord(db: Database, id: number, now: number): Promise<TokenRecord> {
  const [row] = await tokens.all(db, undefined, id);
  if (!row) throw notFound("Token");
  return recordOf(row, now);
}

function recordOf(row: tokens.TokenDetails, now: number): TokenRecord {
  const { id, username, name, expires_at } = row;
  const revoked = row.revoked === 1;
  return {
    id,
    username,
    name,
    scopes: row.scopes.split(" "),
    impersonation: row.impersonation === 1,
    expires_at,
    last_used_at: row.last_used_at === null ? null : new Date(row.last_used_at).toISOString(),
    revoked,
    active: !revoked && (expires_at === null || expires_at > dayOf(now)),
  };
}
