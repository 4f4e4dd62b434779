import type { Feature } from "../../core/access/features.ts";
import type { Source } from "../../core/access/source.ts";
import { type RouteBuilder, routes } from "../../core/resource.ts";
import type { NoteableType } from "./type.ts";

/** Where the records of a type are: the beginning of their routes' paths. */
export const placeRouteOf = ({ path }: Pick<NoteableType, "path">) =>
  `/${path === "epics" ? "groups" : "projects"}/:id/${path}` as const;

/**
 * Declares routes below the records of a type: of a project that has their feature, or the epics of a group.
 *
 * @param path after that of the project or group
 */
export function routesBelow<const Path extends string>(
  type: Pick<NoteableType, "path" | "whenDisabled">,
  path: Path,
): RouteBuilder<Path, Source> {
  if (type.path === "epics") return routes({ source: "group", isHome: true, path });
  const features = [type.path as Feature];
  return routes({ source: "project", path, features, whenDisabled: type.whenDisabled });
}
