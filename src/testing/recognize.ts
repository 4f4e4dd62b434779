import { bearerOf } from "../auth/request-tokens.ts";
import { digestOf } from "../auth/token-secrets.ts";
import { ApiError } from "../core/errors.ts";
import { type AuthSettings, findCaller } from "../core/http/authenticator.ts";
import { authenticatorsOf } from "../core/http/authorize.ts";
import type { Endpoint } from "../core/http/endpoint.ts";
import type { Exchange } from "../core/http/exchange.ts";
import type { Incoming, Reply } from "../core/http/incoming.ts";
import { PARAMETER_LIMITS, parseQuery } from "../core/http/parameters.ts";
import { createMountRouter, type Router } from "../core/http/router.ts";
import { allMounts } from "../mounts.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Reader } from "../store/port.ts";
import { Budget } from "../turns/budget.ts";

/** Whose a request is, and which route it is for, before it is answered. */
export interface Recognized {
  /** The route's path, such as `/api/v4/projects/:id`. */
  readonly route: string | undefined;
  /** The user name of the caller, or of who owns the token. */
  readonly user: string | undefined;
  /** The names of the access tokens that it has. */
  readonly tokens: readonly string[];
}

/** Nothing is noted of what is looked at before it is answered. */
const SETTINGS: AuthSettings = {
  impersonation: true,
  tokenUsage: {
    tokenUsed: () => undefined,
    unknownToken: async () => undefined,
    sessionUsed: () => undefined,
    userActive: () => undefined,
  },
  authenticate: undefined,
  reactivate: async () => undefined,
  createAccount: async () => undefined,
  url: undefined,
  secrets: undefined,
};

const FOUND: Reply = { status: 204, headers: {}, body: null };

/** Finds out what a request is, by what is known before its body is read. */
export class Recognizer {
  readonly #now: () => number;
  readonly #reader: () => Reader;
  #router: Router | undefined;

  /** @param now the clock, in epoch milliseconds */
  constructor({ now, reader }: { now: () => number; reader: () => Reader }) {
    this.#now = now;
    this.#reader = reader;
  }

  async recognize(incoming: Incoming): Promise<Recognized> {
    this.#router ??= createMountRouter(allMounts);
    const exchange: Exchange = {
      incoming,
      requestId: "",
      budget: new Budget({ throwIfAborted: () => undefined }),
      params: {},
    };
    try {
      await this.#router.route(exchange, (endpoint, found) => this.#find(endpoint, found));
    } catch (error) {
      // It is refused, as its answer will say.
      if (!(error instanceof ApiError)) throw error;
    }
    const owned = await this.#tokensOf(secretsOf(incoming));
    return {
      route: exchange.pattern,
      user: exchange.caller?.username ?? owned[0]?.username,
      tokens: owned.map(({ name }) => name),
    };
  }

  async #find(endpoint: Endpoint, exchange: Exchange): Promise<Reply> {
    const { route, mount } = endpoint;
    const { incoming, params } = exchange;
    const db = this.#reader();
    const parameters = parseQuery(incoming.query, PARAMETER_LIMITS);
    const request = { incoming, params, parameters, route, isVerified: true };
    const caller = await findCaller(authenticatorsOf(endpoint), request, db, this.#now(), SETTINGS);
    exchange.caller = await (mount.impersonation?.actAs(db, caller, incoming, parameters) ??
      caller);
    return FOUND;
  }

  async #tokensOf(secrets: readonly string[]): Promise<{ name: string; username: string }[]> {
    if (secrets.length === 0) return [];
    const among = placeholders(secrets.map(digestOf));
    const found = await this.#reader().rows(
      `select t.name, u.username from tokens t join users u on u.id = t.user_id where t.digest in (${among.sql})`,
      among.values,
    );
    return found.map(([name, username]) => ({ name: String(name), username: String(username) }));
  }
}

const HEADERS = ["private-token", "job-token", "deploy-token", "runner-token"];
const PARAMETERS = ["private_token", "access_token", "bearer_token", "job_token", "token"];

/** The secrets of tokens that a request has in its headers, as a password of HTTP Basic, or in its query. */
export function secretsOf(incoming: Incoming): string[] {
  const authorization = incoming.header("authorization") ?? "";
  const [, basic = ""] = /^basic +(.*)$/i.exec(authorization) ?? [];
  const query = new URLSearchParams(incoming.query);
  const all = [
    ...HEADERS.map((name) => incoming.header(name)),
    bearerOf(authorization),
    Buffer.from(basic, "base64").toString("utf8").split(":").slice(1).join(":"),
    ...PARAMETERS.map((name) => query.get(name)),
  ];
  return all.filter((secret): secret is string => Boolean(secret));
}
