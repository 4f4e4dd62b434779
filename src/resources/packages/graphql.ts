import {
  arg,
  type GraphqlModule,
  loaded,
  mutation,
  property,
  required,
  valueType,
} from "../../graphql/declare.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { changeSettingsRoute, type PackageSettings, settingsOf } from "./settings.ts";

const flag = (of: keyof PackageSettings) =>
  required(property("Boolean", (settings: PackageSettings) => settings[of] === 1));
const expression = (of: keyof PackageSettings) =>
  property("UntrustedRegexp", (settings: PackageSettings) => settings[of]);
/** Nothing is asked of other registries here. */
const never = property("Boolean", () => false);

const settings = valueType(
  "PackageSettings",
  "Which packages may be published again in the projects of a namespace: of the exceptions, the name or the version fits the expression.",
  {
    mavenDuplicatesAllowed: flag("maven_duplicates_allowed"),
    mavenDuplicateExceptionRegex: expression("maven_duplicate_exception_regex"),
    genericDuplicatesAllowed: flag("generic_duplicates_allowed"),
    genericDuplicateExceptionRegex: expression("generic_duplicate_exception_regex"),
    nugetDuplicatesAllowed: flag("nuget_duplicates_allowed"),
    nugetDuplicateExceptionRegex: expression("nuget_duplicate_exception_regex"),
    terraformModuleDuplicatesAllowed: flag("terraform_module_duplicates_allowed"),
    terraformModuleDuplicateExceptionRegex: expression(
      "terraform_module_duplicate_exception_regex",
    ),
    mavenPackageRequestsForwarding: never,
    npmPackageRequestsForwarding: never,
    pypiPackageRequestsForwarding: never,
    nugetSymbolServerEnabled: required(never),
  },
);

/** Settings of namespaces about packages. */
export const graphqlModule: GraphqlModule = {
  types: [settings],
  extend: {
    Group: {
      packageSettings: loaded(settings, (ids, { db, viewer }) => settingsOf(db, ids, viewer)),
    },
    Namespace: {
      packageSettings: loaded(
        settings,
        async (paths, { db, viewer }) => {
          const among = placeholders(paths);
          const found = await db.rows(
            `select full_path, id, owner_id from namespaces where full_path in (${among.sql})`,
            among.values,
          );
          const ids = found.map(([, id]) => id as Value);
          const owners = found.filter(([, , owner]) => owner !== null);
          const users = new Map(owners.map(([, id, owner]) => [id as Value, owner as Value]));
          const set = await settingsOf(db, ids, viewer, users);
          return new Map(found.map(([path, id]) => [path as Value, set.get(id as Value)]));
        },
        // Projects are namespaces, too, and have numbers of their own.
        { key: "full_path" },
      ),
    },
  },
  mutations: {
    updateNamespacePackageSettings: mutation({
      about: "Say which packages may be published again in a group, or in a user's own namespace.",
      input: {
        namespacePath: arg.required(arg.id),
        mavenDuplicatesAllowed: arg.boolean,
        mavenDuplicateExceptionRegex: arg.clearable(arg.expression),
        genericDuplicatesAllowed: arg.boolean,
        genericDuplicateExceptionRegex: arg.clearable(arg.expression),
        nugetDuplicatesAllowed: arg.boolean,
        nugetDuplicateExceptionRegex: arg.clearable(arg.expression),
        terraformModuleDuplicatesAllowed: arg.boolean,
        terraformModuleDuplicateExceptionRegex: arg.clearable(arg.expression),
      },
      payload: { packageSettings: property(settings) },
      run: async (input, { call }) => {
        const changed = await call(changeSettingsRoute, {
          namespace_path: input.namespacePath,
          maven_duplicates_allowed: input.mavenDuplicatesAllowed,
          maven_duplicate_exception_regex: input.mavenDuplicateExceptionRegex,
          generic_duplicates_allowed: input.genericDuplicatesAllowed,
          generic_duplicate_exception_regex: input.genericDuplicateExceptionRegex,
          nuget_duplicates_allowed: input.nugetDuplicatesAllowed,
          nuget_duplicate_exception_regex: input.nugetDuplicateExceptionRegex,
          terraform_module_duplicates_allowed: input.terraformModuleDuplicatesAllowed,
          terraform_module_duplicate_exception_regex: input.terraformModuleDuplicateExceptionRegex,
        });
        return { packageSettings: changed };
      },
    }),
  },
};
