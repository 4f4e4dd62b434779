import * as audit from "../../audit/log.ts";
import { VISIBILITIES, VISIBILITY_NAMES, VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import { invalid } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { storedIn } from "../../core/kept.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { isShortName } from "../../git/refs.ts";
import type { Reader, Value } from "../../store/port.ts";
import { keptSettings, refusedSettings } from "./kept.ts";
import { DEFAULT_PROTECTION, defaultProtection } from "./protection.ts";
import { COLUMNS, change, TABLES } from "./queries.ts";
import { artifactsSize, levelsOf } from "./rules.ts";
import { migrations } from "./table.ts";

const settings = presenter({
  ...keptSettings.fields,
  // A text, as GitLab's decimals are.
  polling_interval_multiplier: field.derived(["s.kept_settings"], "string", ([stored]) => {
    const times = Number(keptSettings.read(stored).polling_interval_multiplier);
    return Number.isInteger(times) ? times.toFixed(1) : String(times);
  }),
  id: field.constant(1),
  default_project_visibility: field.word(COLUMNS.default_project_visibility, VISIBILITY_WORDS),
  default_group_visibility: field.word(COLUMNS.default_group_visibility, VISIBILITY_WORDS),
  default_snippet_visibility: field.word(COLUMNS.default_snippet_visibility, VISIBILITY_WORDS),
  restricted_visibility_levels: field.derived(
    [COLUMNS.restricted_visibility_levels],
    "array of string",
    ([stored]) => levelsOf(stored),
  ),
  default_branch_name: field.text(COLUMNS.default_branch_name),
  default_ci_config_path: field.text(COLUMNS.default_ci_config_path),
  default_projects_limit: field.integer(COLUMNS.default_projects_limit),
  can_create_group: field.flag(COLUMNS.can_create_group),
  user_default_external: field.flag(COLUMNS.user_default_external),
  max_artifacts_size: field.integer(COLUMNS.max_artifacts_size),
  default_branch_protection_defaults: field.constant(DEFAULT_PROTECTION),
});

const visibility = param.optional(param.choice(VISIBILITY_NAMES));
const changeable = {
  ...keptSettings.attributes,
  default_branch_protection_defaults: defaultProtection,
  ...refusedSettings,
  default_project_visibility: visibility,
  default_group_visibility: visibility,
  default_snippet_visibility: visibility,
  restricted_visibility_levels: param.clearable(param.arrayOf(param.choice(VISIBILITY_NAMES))),
  default_branch_name: param.clearable(param.text()),
  default_ci_config_path: param.clearable(param.anyText()),
  default_projects_limit: param.optional(param.integer({ min: 0, max: 2 ** 31 - 1 })),
  can_create_group: param.optional(param.boolean()),
  user_default_external: param.optional(param.boolean()),
  max_artifacts_size: param.optional(artifactsSize),
};

/** The columns that are set from attributes. @throws ApiError 400 for what is no name of a branch */
function columnsOf(input: param.Input<typeof changeable>) {
  const { default_branch_name: branch, restricted_visibility_levels: levels } = input;
  if (branch && !isShortName(branch)) throw invalid({ default_branch_name: ["is invalid"] });
  const level = (word: keyof typeof VISIBILITIES | undefined) => word && VISIBILITIES[word];
  const flag = (value: boolean | undefined) => (value === undefined ? undefined : Number(value));
  return {
    default_project_visibility: level(input.default_project_visibility),
    default_group_visibility: level(input.default_group_visibility),
    default_snippet_visibility: level(input.default_snippet_visibility),
    restricted_visibility_levels: levels === null ? "" : levels?.join(","),
    default_branch_name: branch,
    default_ci_config_path: input.default_ci_config_path,
    default_projects_limit: input.default_projects_limit,
    can_create_group: flag(input.can_create_group),
    user_default_external: flag(input.user_default_external),
    max_artifacts_size: input.max_artifacts_size,
  };
}

/** @throws ApiError 400 for what is no regular expression, or too long a one */
async function requireExpression(text: string | null | undefined): Promise<void> {
  if (!text) return;
  const { readExpression } = await import("../../core/expressions.ts");
  if (!readExpression(text)) throw invalid({ email_restrictions: ["not valid RE2 syntax"] });
}

async function rowOf(db: Reader, { columns }: Presenter): Promise<Value[]> {
  const [found] = await db.rows(`select ${columns} from ${TABLES}`);
  return found as Value[];
}

const { get, put } = routes({ path: "/application/settings" });

/** What administrators decide for everything that is created without saying so. */
export const applicationSettingsResource: Resource = {
  name: "Application settings",
  migrations,
  routes: [
    get("", {
      summary: "Get the settings of the application",
      access: "admin",
      presenter: settings,
      handle: ({ db, presenter }) => rowOf(db, presenter),
    }),
    put("", {
      summary: "Change the settings of the application",
      access: "admin",
      input: changeable,
      atLeastOne: Object.keys(changeable) as (keyof typeof changeable)[],
      presenter: settings,
      handle: async (context) => {
        const { db, input, presenter, now } = context;
        await requireExpression(input.email_restrictions);
        const kept_settings = await keptSettings.changed(input, () =>
          storedIn(db, "application_settings", 1),
        );
        await change(db, { ...columnsOf(input), kept_settings }, now);
        const target = Object.keys(input).sort().join(", ");
        await audit.log(context, "application settings changed", { target });
        return rowOf(db, presenter);
      },
    }),
  ],
};
