import { type Attributes, type InputReader, inputReader } from "../input.ts";
import type { Presenter } from "../presenter.ts";
import type { Route } from "../resource.ts";
import type { Scope } from "../scopes.ts";
import type { Mount } from "./mount.ts";

const READ_SCOPES: readonly Scope[] = ["api", "read_api"];
const WRITE_SCOPES: readonly Scope[] = ["api"];

/** A route with everything that can be computed in advance. */
export interface Endpoint {
  readonly route: Route;
  readonly mount: Mount;
  /** Reads the route's attributes from a request's parameters. */
  readonly read: InputReader<Attributes>;
  /** Token scopes, one of which is needed. */
  readonly scopes: readonly Scope[];
  readonly concurrency: NonNullable<Route["concurrency"]>;
  /** The route's. Of a route that answers no rows, one that throws a TypeError which names the route. */
  readonly presenter: NonNullable<Route["presenter"]>;
}

/**
 * Prepares a route.
 *
 * @throws TypeError if its declaration contradicts itself
 */
export function endpointOf(route: Route, mount: Mount): Endpoint {
  const name = `${route.method} ${mount.base}${route.path}`;
  requireConsistent(route, name);
  const isOfFeature =
    route.source === "project" && (route.features !== undefined || route.repository === true);
  return {
    route,
    mount,
    read: inputReader(route.input ?? {}, route.atLeastOne),
    scopes: route.scopes ?? (route.isReading ? READ_SCOPES : WRITE_SCOPES),
    concurrency: route.concurrency ?? (isOfFeature ? "per project" : "alone"),
    presenter: route.presenter ?? refusing(name),
  };
}

function refusing(name: string): Presenter {
  const refuse = (): never => {
    throw new TypeError(`${name} answers a row, but has no presenter`);
  };
  return {
    columns: "",
    fields: {},
    write: refuse,
    pieces: refuse,
    value: refuse,
    at: refuse,
    find: refuse,
  };
}

/** Checks what the types of a declaration can't, such as paths put together from variables. */
function requireConsistent(route: Route, name: string): void {
  const wrong = (problem: string) => new TypeError(`${name}: ${problem}`);
  if (route.body === "stream" && !route.prepare) throw wrong("only prepare can read a stream");
  const attributes = Object.keys(route.input ?? {});
  const parameters = [...route.path.matchAll(/:(\w+)/g)].map(([, found]) => found as string);
  // The first parameter after a source's word is looked up by the pipeline.
  for (const parameter of route.source ? parameters.slice(1) : parameters) {
    if (!attributes.includes(parameter)) {
      throw wrong(`input has no schema for :${parameter} of the path`);
    }
  }
  if (!route.source) {
    for (const option of ["role", "deployTokens", "features", "whenArchived"] as const) {
      if (route[option] !== undefined) throw wrong(`${option} needs a source`);
    }
  }
}
