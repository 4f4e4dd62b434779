import * as v from "valibot";
import { isOpenTo, ROLES } from "../../core/access.ts";
import * as is from "../../core/input.ts";
import * as show from "../../core/present.ts";
import { get, type Resource } from "../../core/resource.ts";
import * as dependencies from "./queries.ts";
import { PACKAGE_MANAGERS, type PackageManager } from "./rules.ts";
import { migrations } from "./table.ts";

/** A dependency (contract §2). */
const dependency = show.shape({
  name: show.text("d.name"),
  version: show.text("d.version"),
  package_manager: show.text("d.package_manager"),
  dependency_file_path: show.text("d.dependency_file_path"),
  vulnerabilities: show.json("d.vulnerabilities", "array of objects with name and severity", {
    items: { name: show.text("v.name"), severity: show.text("v.severity") },
  }),
});

/** Comma-separated or as an array; one that is no package manager spoils all (gitlab-facts §5). */
const managers = v.pipe(
  is.commaSeparated(),
  v.check(
    (words) => words.every((word) => (PACKAGE_MANAGERS as readonly string[]).includes(word)),
    "does not have a valid value",
  ),
  v.transform((words) => words as PackageManager[]),
  v.metadata({ values: PACKAGE_MANAGERS }),
);

/** What projects depend on: contract §4.4, gitlab-facts §5. */
export const dependencyResource: Resource = {
  name: "Dependencies",
  migrations,
  routes: [
    get("/projects/:id/dependencies", {
      jobTokens: true,
      summary: "List what a project depends on",
      tier: "ultimate",
      // Guests of a private project don't read its repository.
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
        // The security dashboard, and what it shows, is for developers.
        if (source.level < ROLES.developer) {
          const at = shape.at("vulnerabilities");
          for (const row of listed.rows) row[at] = "[]";
        }
        return listed;
      },
    }),
  ],
};
