import * as v from "valibot";
import { isOpenTo, ROLES } from "../../core/access.ts";
import * as is from "../../core/input.ts";
import * as show from "../../core/present.ts";
import { get, type Resource } from "../../core/resource.ts";
import * as dependencies from "./queries.ts";
import { PACKAGE_MANAGERS, type PackageManager } from "./rules.ts";
import { migrations } from "./table.ts";

const dependency = show.shape({
  name: show.text("d.name"),
  version: show.text("d.version"),
  package_manager: show.text("d.package_manager"),
  dependency_file_path: show.text("d.dependency_file_path"),
  vulnerabilities: show.json("d.vulnerabilities", "array of objects with name and severity", {
    items: { name: show.text("v.name"), severity: show.text("v.severity") },
  }),
});

/** Comma-separated or an array; one unknown package manager makes the whole list invalid. */
const managers = v.pipe(
  is.commaSeparated(),
  v.check(
    (words) => words.every((word) => (PACKAGE_MANAGERS as readonly string[]).includes(word)),
    "does not have a valid value",
  ),
  v.transform((words) => words as PackageManager[]),
  v.metadata({ values: PACKAGE_MANAGERS }),
);

/** Dependencies of projects. */
export const dependencyResource: Resource = {
  name: "Dependencies",
  migrations,
  routes: [
    get("/projects/:id/dependencies", {
      jobTokens: true,
      summary: "List the dependencies of a project",
      tier: "ultimate",
      // Guests of a private project may not read its repository.
      role: ({ source, viewer }) => (isOpenTo(viewer, source) ? undefined : "reporter"),
      input: { package_manager: is.optional(managers) },
      present: dependency,
      handle: async ({ db, source, shape, page, input }) => {
        const listed = await dependencies.list(
          db,
          shape,
          page,
          source.id,
          input.package_manager ?? [],
        );
        // Vulnerabilities, like the security dashboard, are only for developers and above.
        if (source.level < ROLES.developer) {
          const at = shape.at("vulnerabilities");
          for (const row of listed.rows) row[at] = "[]";
        }
        return listed;
      },
    }),
  ],
};
