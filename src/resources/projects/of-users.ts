import * as param from "../../core/input.ts";
import { type Route, routes } from "../../core/resource.ts";
import * as namespaces from "../namespaces/queries.ts";
import { isHidden, requireUserNamed } from "../users/rules.ts";
import { projectFilter, projectListInput, projectOrder } from "./filters.ts";
import { listedProject } from "./json.ts";
import { list as listProjects } from "./list.ts";

const { list } = routes({ path: "/users/:user_id" });

const input = { user_id: param.anyText(), ...projectListInput };

/** How long contributions count, in milliseconds. */
const YEAR = 365 * 24 * 60 * 60 * 1000;

/** The projects of users. */
export const ofUsers: readonly Route[] = [
  list("/projects", {
    summary: "List the projects in a user's own namespace that the caller can see",
    access: "anyone",
    input: { ...input, statistics: param.optional(param.boolean()) },
    presenter: listedProject,
    handle: async ({ db, presenter, page, viewer, input }) => {
      const { id } = await requireUserNamed(db, input.user_id);
      const personal = await namespaces.findPersonal(db, id);
      const filter = { ...projectFilter(input, viewer), namespaceId: personal?.id ?? 0 };
      return listProjects(db, presenter, page, viewer, filter, projectOrder(input, viewer));
    },
  }),
  list("/contributed_projects", {
    summary:
      "List the projects that a user has contributed to within a year; private profiles hide them",
    access: "anyone",
    input,
    presenter: listedProject,
    handle: async ({ db, presenter, page, viewer, input, now }) => {
      const found = await requireUserNamed(db, input.user_id);
      if (isHidden(found, viewer)) return { rows: [], hasNext: false, total: 0 };
      const filter = {
        ...projectFilter(input, viewer),
        contributedBy: { userId: found.id, since: now - YEAR },
      };
      return listProjects(db, presenter, page, viewer, filter, projectOrder(input, viewer));
    },
  }),
  list("/starred_projects", {
    summary: "List the projects that a user has starred; private profiles hide them",
    access: "anyone",
    input,
    presenter: listedProject,
    handle: async ({ db, presenter, page, viewer, input }) => {
      const found = await requireUserNamed(db, input.user_id);
      if (isHidden(found, viewer)) return { rows: [], hasNext: false, total: 0 };
      const filter = { ...projectFilter(input, viewer), starredBy: found.id };
      return listProjects(db, presenter, page, viewer, filter, projectOrder(input, viewer));
    },
  }),
];
