import type { Budget } from "../../turns/budget.ts";
import type { Caller } from "../access/caller.ts";
import type { QuotaUsage } from "../rate-limits.ts";
import type { Incoming } from "./incoming.ts";
import type { Mount } from "./mount.ts";
import type { RawBody } from "./raw-body.ts";

/** A request on its way through the pipeline. */
export interface Exchange {
  readonly incoming: Incoming;
  readonly requestId: string;
  /** What its work may use. */
  readonly budget: Budget;
  /** The pattern of the path, such as `/api/v4/projects/:id`, if there is one. */
  pattern?: string;
  /** The mount of the matched route, or the one that shows an error. */
  mount?: Mount;
  /** The values of the path's parameters, percent-encoded. */
  params: Record<string, string>;
  /** The format at the end of the path, after a dot that is not part of the last segment. */
  format?: string | undefined;
  /** The body, if the route takes it as bytes or as a stream. */
  body?: RawBody;
  /** The session cookie's value, if the mount has forms; a new one for visitors without a cookie. */
  session?: string;
  caller?: Caller | undefined;
  /** Usage of the request limit, if there is one. */
  usage?: QuotaUsage | undefined;
}
