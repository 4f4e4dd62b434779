import type * as v from "valibot";
import type { Incoming, Reply } from "../../core/http/incoming.ts";
import type { World } from "../world.ts";
import type { Worlds } from "../worlds.ts";

/** An order, as it arrived. */
export interface Given<Body = undefined, Query = undefined> {
  /** The world whose address it was sent to. */
  readonly world: World;
  /** All worlds of this program. */
  readonly worlds: Worlds;
  /** The parts of the path that the order's path names with a colon, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The body, as the order's schema has it. */
  readonly body: Body;
  /** The query, as the order's schema has it. */
  readonly query: Query;
  readonly incoming: Incoming;
}

/** One thing that a test server can be told over HTTP, below `/-/test/` (docs/testing.md). */
export interface Order<Body = undefined, Query = undefined> {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `/-/test/`, such as `snapshots/:name/restore`. */
  readonly path: string;
  /** What it does, in a sentence without a full stop. */
  readonly summary: string;
  /** The schema of its JSON or YAML body, made with `optionsOf`; without one it takes none. */
  readonly body?: v.GenericSchema<unknown, Body>;
  /** The schema of its query, made with `optionsOf` from texts; without one it takes none. */
  readonly query?: v.GenericSchema<unknown, Query>;
  /** The status of its answer. Default 200; 204 has no body. */
  readonly status?: number;
  /**
   * Does it.
   *
   * @returns the answer's JSON, unless the status is 204; or {@link Whole} for an answer of another kind
   * @throws OptionError, SeedError or TypeError for what can't be done as given (400), ApiError for another status
   */
  run(given: Given<Body, Query>): unknown;
}

/** An order whose types of body and query follow from its schemas. */
export function order<Body = undefined, Query = undefined>(
  declared: Order<Body, Query>,
): Order<never, never> {
  return declared as unknown as Order<never, never>;
}

/** A whole answer of an order, such as a page. */
export class Whole {
  constructor(readonly reply: Reply) {}
}
