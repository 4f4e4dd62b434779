import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { type Html, html } from "../pages/html.ts";
import { groupPage, projectPage, type Showing, type Shown, type Visit } from "./declare.ts";
import { filterOf, listPage, newButton, placeOf, refused } from "./parts.ts";

const PLACES = { project: projectPage, group: groupPage };

/** What has lists. */
export type PlaceKind = keyof typeof PLACES;

/** A page that is a list of what a group or project has. */
export interface ListSpec {
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
  /** What a form makes that is in it, and the route of the API, if it is another than that of the list. */
  readonly makes?: string | readonly [what: string, route: string];
  /** What an empty list says. */
  readonly none: string;
  readonly row: (row: Shown, visit: Visit, place: Shown) => Html;
}

/** What a list of a group or project shows. */
export const listShown = (of: PlaceKind, spec: ListSpec): Showing<"place" | "rows"> => {
  const { kind, path, list, hasSearch, states, makes, none, row } = spec;
  return {
    shows: { place: `GET /${of}s/:id`, rows: `GET /${of}s/:id${list}` },
    ...(states && { defaults: { state: states[0] } }),
    view: async ({ place, rows }, visit) => {
      const wanted = states && String(visit.parameters["state"]);
      const address = placeOf(place).address + path;
      const [what, route] = [makes].flat();
      const more =
        what !== undefined &&
        newButton(place, visit, { path, what, route: route ?? `POST /${of}s/:id${list}` });
      return listPage(place, visit, {
        ...{ kind, path, name: "rows", rows, none },
        filter: html`${refused(visit)}${(hasSearch || states) && filterOf(visit, address, { states, wanted })}${more}`,
        row: (one) => row(one, visit, place),
      });
    },
  };
};

/** Declares a list of a group or project as a page. */
export const listOf = (of: PlaceKind, spec: ListSpec): Route => {
  const { kind, path, input, hasSearch, states } = spec;
  return PLACES[of]({
    ...listShown(of, spec),
    path,
    summary: `Show the ${kind.toLowerCase()} of a ${of}`,
    input: {
      ...input,
      ...(hasSearch && { search: param.optional(param.anyText()) }),
      ...(states && { state: param.optional(param.choice(states)) }),
    },
  });
};
