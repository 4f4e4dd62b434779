import * as param from "../../core/input.ts";
import { type Resource, type Route, routes } from "../../core/resource.ts";
import { find, inputOf, OF_ALL, OF_GROUPS, OF_PROJECTS, prepare, presenterOf } from "./scopes.ts";

/** GitLab has these routes below `/-/` too. */
const PATHS = ["/search", "/-/search"] as const;

const ofSources = PATHS.flatMap((path): Route[] => [
  routes({ source: "group" }).list(path, {
    summary: "Search a group and everything below it, also code, commits and wikis",
    input: inputOf(OF_GROUPS),
    prepare,
    presenter: ({ input }) => presenterOf(input.scope),
    handle: (context) => find(context, context.source),
  }),
  routes({ source: "project" }).list(path, {
    summary: "Search a project, also its code, commits, notes and wiki",
    input: { ...inputOf(OF_PROJECTS), ref: param.unlessBlank(param.text({ max: 1024 })) },
    prepare,
    presenter: ({ input }) => presenterOf(input.scope, "project"),
    handle: (context) => find(context, context.source),
  }),
]);

/** Searches of everything, of a group or of a project. */
export const searchResource: Resource = {
  name: "Search",
  migrations: [],
  routes: [
    routes().list("/search", {
      summary: "Search everything that the caller can see",
      input: inputOf(OF_ALL),
      prepare,
      presenter: ({ input }) => presenterOf(input.scope),
      handle: (context) => find(context, undefined),
    }),
    ...ofSources,
  ],
};
