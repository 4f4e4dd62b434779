import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import type { Html } from "../pages/html.ts";
import { groupPage, projectPage, type Shown, type Visit } from "./declare.ts";
import { filterOf, listPage, placeOf } from "./parts.ts";

const PLACES = { project: projectPage, group: groupPage };

/** What has lists. */
export type PlaceKind = keyof typeof PLACES;

/** A page that is a list of what a group or project has. */
interface ListSpec {
  /** Its title. */
  readonly kind: string;
  /** Below the address of the place. */
  readonly path: string;
  /** The list of the API, below that of the place. */
  readonly list: string;
  /** What else its address may ask for. */
  readonly input?: param.Attributes;
  /** Whether it can be searched. */
  readonly hasSearch?: true;
  /** The states of which one is shown, the usual one first. */
  readonly states?: readonly [string, ...string[]];
  /** What an empty list says. */
  readonly none: string;
  readonly row: (row: Shown, visit: Visit, place: Shown) => Html;
}

/** Declares a list of a group or project as a page. */
export const listOf = (of: PlaceKind, spec: ListSpec): Route => {
  const { kind, path, list, input, hasSearch, states, none, row } = spec;
  return PLACES[of]({
    path,
    summary: `Show the ${kind.toLowerCase()} of a ${of}`,
    input: {
      ...input,
      ...(hasSearch && { search: param.optional(param.anyText()) }),
      ...(states && { state: param.optional(param.choice(states)) }),
    },
    shows: { place: `GET /${of}s/:id`, rows: `GET /${of}s/:id${list}` },
    ...(states && { defaults: { state: states[0] } }),
    view: async ({ place, rows }, visit) => {
      const wanted = states && String(visit.parameters["state"]);
      const address = placeOf(place).address + path;
      return listPage(place, visit, {
        ...{ kind, path, name: "rows", rows, none },
        ...((hasSearch || states) && { filter: filterOf(visit, address, { states, wanted }) }),
        row: (one) => row(one, visit, place),
      });
    },
  });
};
