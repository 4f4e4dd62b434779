import type { Awaitable, Reader } from "../../store/port.ts";
import type { Caller } from "../access/caller.ts";
import { type ApiError, unknownRoute } from "../errors.ts";
import type { PageContext, RawReply, Resource, Route } from "../resource.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Incoming } from "./incoming.ts";
import type { Parameters } from "./parameters.ts";

/** Lets a caller act as another user. */
export interface Impersonation {
  /** Whether a request asks for it. @throws ApiError 400 for a value that can't name a user */
  isAsked(incoming: Pick<Incoming, "header">, parameters: Parameters): boolean;
  /**
   * The user to act as, with `sudoer`; the caller if the request does not ask.
   *
   * @throws ApiError 401 or 403 for callers who may not, 404 for an unknown user
   */
  actAs(
    db: Reader,
    caller: Caller | undefined,
    incoming: Pick<Incoming, "header">,
    parameters: Parameters,
  ): Awaitable<Caller | undefined>;
}

/**
 * A group of resources that share the beginning of their paths, the credentials they accept, the form of their errors and
 * the rules for browsers. The REST API is one; pages are another.
 */
export interface Mount {
  /** Its name, for documents. */
  readonly name: string;
  /** The beginning of its routes' paths; `""` for none. */
  readonly base: string;
  readonly resources: readonly Resource[];
  /**
   * Whether a path belongs to the mount although no route matches. Others are passed to the embedding app. Default: all
   * paths below `base`; none if that is `""`.
   */
  readonly owns?: (path: string) => boolean;
  /** The error for a path that it owns and that no route matches. Default: 404. */
  readonly unknown?: (path: string) => ApiError;
  /** How callers are found, in this order; none if routes do that themselves. */
  readonly authenticators: readonly Authenticator[];
  /** How callers of routes that take HTTP Basic are found besides. Default: they are not. */
  readonly basicAuthenticators?: readonly Authenticator[];
  /** Whether callers may act as other users, and how they ask. Default: they may not. */
  readonly impersonation?: Impersonation;
  /**
   * Whether it has forms for people: visitors get a session cookie, and unsafe requests need its CSRF token (else 422).
   */
  readonly hasForms?: true;
  /** Whether pages of any origin may call it, without cookies. */
  readonly allowsOrigins?: true;
  /** Whether a path may end in a format, as in `/version.json`. */
  readonly takesFormat?: true;
  /** Whether its routes declare all that they take, so that a strict application refuses anything else. */
  readonly declaresParameters?: true;
  /** Whether answers say how long they took (`X-Runtime`). Not where passwords are checked. */
  readonly showsRuntime?: true;
  /** Whether requests count towards the limit of requests per minute. */
  readonly countsRequests?: true;
  /** Maximum bytes of a body. Default: the application's limit. */
  readonly bodyBytes?: number;
  /**
   * Whether its paths are those of a whole site, such as `/explore`: an app that embeds us without a prefix, and goes on
   * after us, has its own there.
   */
  readonly isOfSite?: true;
  /** What its requests come by, for logs, if that is not HTTP. */
  readonly protocol?: "ssh";
  /** The type of JSON answers. Default `application/json`. */
  readonly contentType?: string;
  /** Turns an error into an answer. Default: its JSON body. */
  readonly showError?: (error: ApiError, context: PageContext) => RawReply;
  /**
   * What answers reads of a path that no route has, if no other handler follows: of several mounts, the first's. Default:
   * nothing.
   */
  readonly unknownPage?: Route;
}

/** Whether a path belongs to a mount even if no route matches. */
export function ownsPath({ base, owns }: Mount, path: string): boolean {
  if (owns) return owns(path);
  return (
    base !== "" &&
    path.startsWith(base) &&
    (path.length === base.length || path[base.length] === "/")
  );
}

/** The error for a path of a mount that no route matches. */
export function unknownIn({ unknown }: Mount, path: string): ApiError {
  return unknown ? unknown(path) : unknownRoute();
}
