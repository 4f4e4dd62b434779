import { codeRole } from "../../core/access/source.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { PACKAGE_MANAGERS } from "../../dependencies/types.ts";
import { mayReadVulnerabilities } from "./abilities.ts";
import { exportRoutes } from "./exports.ts";
import * as dependencies from "./queries.ts";
import { migrations } from "./table.ts";

const dependency = presenter({
  name: field.text("d.name"),
  version: field.text("d.version"),
  package_manager: field.text("d.package_manager"),
  dependency_file_path: field.text("d.dependency_file_path"),
  vulnerabilities: field.json("d.vulnerabilities", "array of objects with name and severity", {
    items: { name: field.text("v.name"), severity: field.text("v.severity") },
  }),
});

/** Comma-separated or an array; one unknown package manager makes the whole list invalid. */
const managers = param.among(param.commaSeparated(), PACKAGE_MANAGERS);

const { list } = routes({ source: "project" });

/** Dependencies of projects, and lists of them as files. */
export const dependencyResource: Resource = {
  name: "Dependencies",
  migrations,
  routes: [
    list("/dependencies", {
      jobTokens: true,
      summary: "List the dependencies of a project",
      tier: "ultimate",
      // Guests of a private project may not read its repository.
      role: codeRole,
      input: { package_manager: param.optional(managers) },
      presenter: dependency,
      handle: async ({ db, source, presenter, page, input }) => {
        const listed = await dependencies.list(
          db,
          presenter,
          page,
          source.id,
          input.package_manager ?? [],
        );
        if (!mayReadVulnerabilities(source)) {
          const at = presenter.at("vulnerabilities");
          for (const row of listed.rows) row[at] = "[]";
        }
        return listed;
      },
    }),
    ...exportRoutes,
  ],
};
