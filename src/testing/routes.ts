import { closest } from "../core/options.ts";
import { allMounts } from "../mounts.ts";
import { API } from "../resources/mount.ts";

/** All paths of routes, such as `/api/v4/projects/:id`. */
const ROUTES: ReadonlySet<string> = new Set(
  allMounts.flatMap(({ base, resources }) =>
    resources.flatMap(({ routes }) => routes.map(({ path }) => base + path)),
  ),
);

/** How a route is written: without the beginning of the API's paths, and with a colon before parameters. */
const written = (route: string) => route.replace(/\{(\w+)\}/g, ":$1");

/** The path of a route that is written as in the reference or in openapi.json; `undefined` if there is none. */
export function routeOf(given: string): string | undefined {
  const route = written(given);
  return [API.base + route, route].find((path) => ROUTES.has(path));
}

/** The route that was probably meant, as in the reference. */
export function nearestRoute(given: string): string | undefined {
  const wanted = written(given).split("/");
  let best = { path: undefined as string | undefined, alike: 1 };
  for (const full of ROUTES) {
    const path = full.startsWith(`${API.base}/`) ? full.slice(API.base.length) : full;
    const parts = path.split("/");
    const likeness = parts.reduce((sum, part, at) => sum + likenessOf(part, wanted[at]), 0);
    const alike = likeness - Math.abs(parts.length - wanted.length) / 2;
    if (alike > best.alike) best = { path, alike };
  }
  return best.path;
}

/** How alike two parts of a path are: 1 if they are the same, or both parameters. */
function likenessOf(part: string, wanted: string | undefined): number {
  if (wanted === undefined) return 0;
  if (part === wanted || (part.startsWith(":") && /^[:*\d]/.test(wanted))) return 1;
  return closest(wanted, [part]) === undefined ? 0 : 0.5;
}
