import type { Caller } from "../../core/access/caller.ts";
import { unauthorized } from "../../core/errors.ts";
import { routes } from "../../core/resource.ts";
import { find, inputOf, OF_PROJECTS, prepare, presenterOf } from "./scopes.ts";

// Visitors of GitLab's pages may search, and those of its API may not: pages perform these routes, which have no address.

/** People are found by those who are signed in, and code everywhere is not searched by pages. */
const EVERYWHERE = ["projects", "issues", "merge_requests", "milestones", "users"] as const;

function requireKnown(caller: Caller | undefined, { scope }: { readonly scope: string }): void {
  if (scope === "users" && !caller) throw unauthorized();
}

/** Searches everything that the visitor can see. */
export const SEARCH = routes().list("/visitors/search", {
  summary: "Search everything that the visitor can see",
  access: "anyone",
  input: inputOf(EVERYWHERE),
  presenter: ({ input }) => presenterOf(input.scope),
  handle: (context) => {
    requireKnown(context.caller, context.input);
    return find({ ...context, prepared: undefined }, undefined);
  },
});

/** Searches a project that the visitor can see. */
export const SEARCH_PROJECT = routes({ source: "project" }).list("/visitors/search", {
  summary: "Search a project that the visitor can see, also its code and commits",
  access: "anyone",
  input: inputOf(OF_PROJECTS),
  prepare,
  presenter: ({ input }) => presenterOf(input.scope, "project"),
  handle: (context) => {
    requireKnown(context.caller, context.input);
    return find(context, context.source);
  },
});
