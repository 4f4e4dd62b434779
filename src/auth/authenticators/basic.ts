import { unauthorized } from "../../core/errors.ts";
import type { Authenticator } from "../../core/http/authenticator.ts";
import type { Incoming } from "../../core/http/incoming.ts";
import { deployTokenCaller } from "./deploy.ts";
import { jobToken } from "./job.ts";
import { accessToken } from "./oauth.ts";
import { personalToken } from "./personal.ts";
import { BlockedError } from "./user-row.ts";

/** A user name and a password, which may be a token. */
export interface BasicCredentials {
  readonly login: string;
  readonly password: string;
}

/** The credentials of `Authorization: Basic` (RFC 7617); `undefined` if it isn't sent, or malformed. */
export function basicOf({ header }: Pick<Incoming, "header">): BasicCredentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header("authorization") ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  // Texts with a NUL can't be looked up.
  if (colon < 0 || pair.includes("\0")) return undefined;
  return { login: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

/** The user name with which CI jobs send their token. */
export const JOB_LOGIN = "gitlab-ci-token";

/** A token that is sent as the password of `Authorization: Basic`, which may also be a real password. */
function asPassword(
  { callerOf }: Authenticator,
  accepts: (login: string) => boolean = () => true,
): Authenticator {
  return {
    refusesUnknown: false,
    credential: ({ incoming }) => {
      const sent = basicOf(incoming);
      return sent && sent.password !== "" && accepts(sent.login) ? sent.password : undefined;
    },
    callerOf: async (...request) => {
      try {
        return await callerOf(...request);
      } catch (error) {
        // A blocked user's token is a wrong password: clients then ask for another one.
        throw error instanceof BlockedError ? unauthorized({ tokenGiven: true }) : error;
      }
    },
  };
}

/** A deploy token with its own user name. A colon is between them, which no user name has. */
const deployTokenAsPassword: Authenticator = {
  refusesUnknown: false,
  credential: ({ incoming }) => {
    const sent = basicOf(incoming);
    return sent && sent.password !== "" ? `${sent.login}:${sent.password}` : undefined;
  },
  callerOf: (sent, db, { ip }, now, settings) => {
    const colon = sent.indexOf(":");
    const login = sent.slice(0, colon);
    return deployTokenCaller(db, sent.slice(colon + 1), { ip, now, login }, settings);
  },
};

const tokensOfNoApplication: readonly Authenticator[] = [
  asPassword(jobToken, (login) => login === JOB_LOGIN),
  deployTokenAsPassword,
];

/** Tokens sent as passwords, as Git sends them. The user name matters only for jobs and deploy tokens. */
export const tokensAsPasswords: readonly Authenticator[] = [
  asPassword(personalToken),
  asPassword(accessToken),
  ...tokensOfNoApplication,
];

/** {@link tokensAsPasswords} for images of containers: OAuth2 tokens are not among them, as in GitLab. */
export const tokensForImages: readonly Authenticator[] = [
  asPassword(personalToken),
  ...tokensOfNoApplication,
];

/** Where only tokens count, as for packages, a real password is as unknown as a wrong one. */
const unknownPassword: Authenticator = {
  refusesUnknown: true,
  credential: ({ incoming }) => basicOf(incoming)?.password || undefined,
  callerOf: () => undefined,
};

/** Tokens sent as passwords, where anything else is refused. */
export const onlyTokensAsPasswords: readonly Authenticator[] = [
  ...tokensAsPasswords,
  unknownPassword,
];
