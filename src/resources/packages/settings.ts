import * as audit from "../../audit/log.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import { badRequest, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, routes } from "../../core/resource.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { findByPath } from "../namespaces/queries.ts";
import { ownedAmong } from "./abilities.ts";
import type { Version } from "./queries.ts";

/** The kinds of packages that GitLab has such settings for. Those of Terraform modules are kept only: there is no registry of them. */
const KINDS = ["maven", "generic", "nuget", "terraform_module"] as const;
type Kind = (typeof KINDS)[number];

/** Characters of an expression: GitLab's limit. */
const LONGEST = 255;

/** Whether packages may be published again, and with which names or versions it is the other way round, by the names of columns. */
export type PackageSettings = Record<`${Kind}_duplicates_allowed`, number> &
  Record<`${Kind}_duplicate_exception_regex`, string>;

/** What applies to a namespace that nobody has set anything for. */
const DEFAULTS = Object.fromEntries(
  KINDS.flatMap((kind) => [
    [`${kind}_duplicates_allowed`, Number(kind !== "terraform_module")],
    [`${kind}_duplicate_exception_regex`, ""],
  ]),
) as PackageSettings;

const COLUMNS = Object.keys(DEFAULTS) as (keyof PackageSettings)[];

/** An expression that has to fit all of a text, put together as in GitLab. */
const whole = (expression: string) => `\\A${expression}\\z`;

/**
 * The settings of namespaces that the caller owns, by their ids: as in GitLab, nobody else sees them.
 *
 * @param owners those of users' own namespaces, by the ids of the namespaces
 */
export async function settingsOf(
  db: Reader,
  ids: readonly Value[],
  viewer: Viewer,
  owners: ReadonlyMap<Value, Value> = new Map(),
): Promise<Map<Value, PackageSettings>> {
  const owned = await ownedAmong(db, ids, viewer, owners);
  if (owned.length === 0) return new Map();
  const among = placeholders(owned);
  const set = await db.all<PackageSettings & { readonly namespace_id: number }>(
    `select namespace_id, ${COLUMNS.join(", ")} from package_settings where namespace_id in (${among.sql})`,
    among.values,
  );
  const known = new Map<Value, PackageSettings>(set.map((row) => [row.namespace_id, row]));
  return new Map(owned.map((id) => [id, known.get(id) ?? DEFAULTS]));
}

/** The settings of the namespace at a path, with what they belong to. @throws ApiError 404 if the caller does not own it */
async function requireSettings(db: Reader, path: string, viewer: Viewer) {
  const namespace = await findByPath(db, path);
  if (!namespace) throw notFound("Namespace");
  const { id, kind, owner_id } = namespace;
  const owners = new Map(kind === "user" ? [[id, owner_id]] : []);
  const settings = (await settingsOf(db, [id], viewer, owners)).get(id);
  if (!settings) throw notFound("Namespace");
  return { namespace, settings };
}

const flag = param.optional(param.boolean());
const expression = param.clearable(param.anyText({ max: LONGEST }));

/** Changes the settings of a namespace; for GraphQL, since REST has none in GitLab. */
export const changeSettingsRoute = routes({ path: "/namespaces" }).put(
  "/:namespace_path/package_settings",
  {
    summary: "Say which packages may be published again in a namespace",
    input: {
      namespace_path: param.anyText({ max: 1024 }),
      maven_duplicates_allowed: flag,
      maven_duplicate_exception_regex: expression,
      generic_duplicates_allowed: flag,
      generic_duplicate_exception_regex: expression,
      nuget_duplicates_allowed: flag,
      nuget_duplicate_exception_regex: expression,
      terraform_module_duplicates_allowed: flag,
      terraform_module_duplicate_exception_regex: expression,
    },
    handle: async (context) => {
      const { db, viewer, now } = context;
      const { namespace_path, ...sent } = context.input;
      const { namespace, settings } = await requireSettings(db, namespace_path, viewer);
      const changes = Object.entries(sent)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => [name, typeof value === "boolean" ? Number(value) : (value ?? "")]);
      await requireExpressions(changes as [string, Value][]);
      const changed: PackageSettings = { ...settings, ...Object.fromEntries(changes) };
      await store(db, namespace.id, changed, now);
      const { kind, id, full_path: fullPath } = namespace;
      await audit.log(context, "package settings changed", {
        target: fullPath,
        ...(kind === "group" && { place: { kind, id, fullPath } }),
      });
      return new Json(changed);
    },
  },
);

/** @throws ApiError 400 if one of the new values is not the expression it should be */
async function requireExpressions(changes: readonly (readonly [string, Value])[]): Promise<void> {
  const given = changes.filter(([, value]) => typeof value === "string" && value !== "");
  if (given.length === 0) return;
  const { readExpression } = await import("../../core/expressions.ts");
  const isExpression = (text: string) => readExpression(text) && readExpression(whole(text));
  const wrong = given.filter(([, text]) => !isExpression(String(text)));
  if (wrong.length > 0) {
    throw invalid(
      Object.fromEntries(wrong.map(([name]) => [name, ["is an invalid regular expression"]])),
    );
  }
}

async function store(
  db: Database,
  namespaceId: number,
  settings: PackageSettings,
  now: number,
): Promise<void> {
  await db.run(
    `insert into package_settings (namespace_id, created_at, updated_at, ${COLUMNS.join(", ")})
     values (?, ?, ?, ${COLUMNS.map(() => "?").join(", ")})
     on conflict (namespace_id) do update set updated_at = excluded.updated_at,
       ${COLUMNS.map((column) => `${column} = excluded.${column}`).join(", ")}`,
    [namespaceId, now, now, ...COLUMNS.map((column) => settings[column])],
  );
}

/** A version of a kind of packages that a setting is about. */
type Repeated = Version & { readonly package_type: "maven" | "generic" | "nuget" };

/**
 * Whether a version may be published again, as the group or user whom its project belongs to has set. As in GitLab, groups above have
 * no say, and the expression names the exceptions, either way.
 */
export async function mayRepeat(
  db: Reader,
  packageId: number,
  { package_type: type, name, version }: Repeated,
): Promise<boolean> {
  const [set] = await db.rows(
    `select s.${type}_duplicates_allowed, s.${type}_duplicate_exception_regex
     from packages pk join projects p on p.id = pk.project_id join package_settings s on s.namespace_id = p.namespace_id
     where pk.id = ?`,
    [packageId],
  );
  if (!set) return true;
  const isAllowed = set[0] === 1;
  if (set[1] === "") return isAllowed;
  const { readExpression } = await import("../../core/expressions.ts");
  const exception = readExpression(whole(String(set[1])));
  const isException = [name, version].some((text) => text !== "" && exception?.fits(text));
  return isException ? !isAllowed : isAllowed;
}

/** What differs between the files of two builds of a snapshot: when, and how many before it. */
const BUILD = /-\d{8}\.\d{6}-\d+/;

/**
 * Checks that a version does not have a file yet, or may get it again. What belongs to all versions is written anew each time.
 *
 * @throws ApiError 400
 */
export async function requireNewFile(
  db: Reader,
  packageId: number,
  version: Repeated,
  fileName: string,
): Promise<void> {
  if (version.version === "" || (await mayRepeat(db, packageId, version))) return;
  const isSnapshot = version.package_type === "maven" && version.version.endsWith("-SNAPSHOT");
  const known = await db.rows(
    `select distinct file_name from package_files where package_id = ?${isSnapshot ? "" : " and file_name = ?"}`,
    isSnapshot ? [packageId] : [packageId, fileName],
  );
  const named = (name: string) => (isSnapshot ? name.replace(BUILD, "") : name);
  if (known.some(([name]) => named(String(name)) === named(fileName))) {
    throw badRequest("Duplicate package is not allowed");
  }
}
