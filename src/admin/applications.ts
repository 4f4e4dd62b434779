import { OPERATOR } from "../audit/log.ts";
import { invalid, notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { inputOf, readArgument, readOptions } from "../core/options.ts";
import * as applications from "../oauth/applications.ts";
import { problemOfUri } from "../oauth/rules.ts";
import type { Reader } from "../store/port.ts";
import { type AdminContext, byUser, findUser, reference } from "./context.ts";

/** An OAuth2 application as operators see it. */
export interface ApplicationRecord {
  id: number;
  /** The owner's user name; `null` if an administrator registered it through the API. */
  username: string | null;
  name: string;
  client_id: string;
  redirect_uris: string[];
  scopes: string[];
  /** Whether it can keep a secret; otherwise it is public and has none. */
  confidential: boolean;
  /** Whether the consent page is skipped; public applications show it nevertheless. */
  trusted: boolean;
}

/** OAuth2 applications. */
export interface ApplicationAdmin {
  /**
   * Registers an OAuth2 application.
   *
   * @returns the record with `client_secret`, of which only a digest is stored; `null` for public applications
   * @throws OptionError if something is missing or of the wrong type
   * @throws ApiError 404 for an unknown user, 400 for invalid data
   */
  create(application: {
    user: string;
    name: string;
    redirect_uris: readonly string[];
    scopes: readonly string[];
    /** Default true. */
    confidential?: boolean;
    /** Default false. */
    trusted?: boolean;
  }): Promise<ApplicationRecord & { client_secret: string | null }>;
  /**
   * Checks a redirect URI before an application is registered, for forms.
   *
   * @throws ApiError 400 if it can't be used
   */
  checkRedirectUri(uri: string): void;
  /** All applications, or a user's, oldest first. @throws ApiError 404 */
  list(filter?: { user?: string }): Promise<ApplicationRecord[]>;
  /**
   * Replaces an application's secret.
   *
   * @param application its id or `client_id`
   * @throws ApiError 404, 400 for a public application
   */
  renewSecret(application: string | number): Promise<ApplicationRecord & { client_secret: string }>;
  /**
   * Deletes an application and every access it was given.
   *
   * @param application its id or `client_id`
   * @throws ApiError 404
   */
  delete(application: string | number): Promise<ApplicationRecord>;
}

const NEW_APPLICATION = inputOf({
  user: param.text(),
  name: param.anyText(),
  redirect_uris: param.arrayOf(param.anyText({ max: 2048 })),
  scopes: param.arrayOf(param.anyText()),
  confidential: param.optional(param.boolean()),
  trusted: param.optional(param.boolean()),
});
const FILTER = inputOf(byUser);

/** Creates {@link ApplicationAdmin}. */
export function applicationAdmin({ store, now }: AdminContext): ApplicationAdmin {
  return {
    async create(given) {
      const read = readOptions("applications.create", NEW_APPLICATION, given);
      const { user: username, name, redirect_uris, scopes, confidential = true } = read;
      const { trusted = false } = read;
      return store.transaction(async (db) => {
        const user = await findUser(db, username);
        const data = { name, redirectUris: redirect_uris, scopes, confidential, trusted };
        const registered = await applications.register(
          db,
          OPERATOR,
          { ...data, userId: user.id },
          now(),
        );
        const found = await findApplication(db, registered.id);
        return { ...applicationRecord(found), client_secret: registered.secret };
      });
    },
    checkRedirectUri(given) {
      const uri = readArgument(
        "applications.checkRedirectUri",
        "uri",
        param.anyText({ max: 2048 }),
        given,
      );
      const problem = problemOfUri(uri);
      if (problem !== undefined) throw invalid({ redirect_uri: [problem] });
    },
    async list(given = {}) {
      const { user: username } = readOptions("applications.list", FILTER, given);
      const user = username === undefined ? undefined : await findUser(store, username);
      return (await applications.listAll(store, user?.id)).map(applicationRecord);
    },
    async renewSecret(application) {
      const name = readArgument("applications.renewSecret", "application", reference, application);
      return store.transaction(async (db) => {
        const found = await findApplication(db, name);
        const secret = await applications.renewSecret(db, OPERATOR, found, now());
        if (secret === null) throw invalid({ application: ["is public and has no secret"] });
        return { ...applicationRecord(found), client_secret: secret };
      });
    },
    async delete(application) {
      const name = readArgument("applications.delete", "application", reference, application);
      return store.transaction(async (db) => {
        const found = await findApplication(db, name);
        await applications.remove(db, OPERATOR, found, now());
        return applicationRecord(found);
      });
    },
  };
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
