import * as field from "../../core/field.ts";

/** The settings of a project's mirror, one bit each: then one look-up finds all. */
const BITS = {
  mirror: "enabled",
  mirror_trigger_builds: "mirror_trigger_builds",
  only_mirror_protected_branches: "only_mirror_protected_branches",
  mirror_overwrites_diverged_branches: "mirror_overwrites_diverged_branches",
} as const;
type Name = keyof typeof BITS;

const NAMES = Object.keys(BITS) as Name[];
const SUM = NAMES.map((name, at) => `${2 ** at} * pum.${BITS[name]}`).join(" + ");
const SETTINGS = `(select ${SUM} from pull_mirrors pum where pum.project_id = p.id)`;

/** What a project says of its pull mirror, of a project `p`. */
export const mirrorFields = Object.fromEntries(
  NAMES.map((name, at) => [
    name,
    field.derived([SETTINGS], "boolean", ([bits]) => (Number(bits ?? 0) & (2 ** at)) !== 0),
  ]),
) as Record<Name, field.Field>;
