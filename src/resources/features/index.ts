import { invalid } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import type { Value } from "../../store/port.ts";
import { migrations } from "./table.ts";

const gatesOf = (value: string) => {
  return Number.isNaN(Number(value))
    ? [{ key: "boolean", value: value === "true" }]
    : [
        { key: "boolean", value: false },
        { key: "percentage_of_time", value: Number(value) },
      ];
};

const STATES: Readonly<Record<string, string>> = { true: "on", false: "off" };

const feature = presenter({
  name: field.text("fe.name"),
  state: field.derived(
    ["fe.value"],
    "on, off, conditional",
    ([value]) => STATES[String(value)] ?? "conditional",
  ),
  gates: field.derived(["fe.value"], "array of object", ([value]) => gatesOf(String(value))),
  definition: field.constant(null),
});

const name = { name: param.text() };

/** A value as it is kept. @throws ApiError 400 */
function keptValueOf(given: string): string {
  const value = given.trim().toLowerCase();
  if (value === "true" || value === "false") return value;
  if (/^\d{1,3}$/.test(value) && Number(value) <= 100) return String(Number(value));
  throw invalid({ value: ["is invalid"] });
}

/** For whom alone a feature can be set in GitLab. */
const ACTORS = ["feature_group", "user", "group", "namespace", "project", "repository"];

const { del, get, list, post } = routes({ path: "/features" });

/** The feature flags of the instance. Nothing here depends on them: they are kept for programs that set them. */
export const featureResource: Resource = {
  name: "Features",
  migrations,
  routes: [
    list("", {
      summary: "List the features that were set",
      access: "admin",
      presenter: feature,
      handle: ({ db, presenter, page }) =>
        paginate(db, presenter, page, { from: "features fe", values: [], order: "fe.name" }),
    }),
    get("/definitions", {
      summary: "List the definitions of features: there are none",
      access: "admin",
      examples: [[]],
      handle: () => new Json([]),
    }),
    post("/:name", {
      summary: "Set a feature, to true, false or a percentage of the time",
      access: "admin",
      input: {
        ...name,
        value: param.text(),
        // Nothing here depends on a feature, so that none can be on for some only.
        ...Object.fromEntries(ACTORS.map((actor) => [actor, unsupported(param.anyText())])),
      },
      presenter: feature,
      handle: async ({ db, input, presenter, now }) => {
        await db.run(
          `insert into features (name, value, created_at, updated_at) values (?, ?, ?, ?)
           on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at`,
          [input.name, keptValueOf(input.value), now, now],
        );
        const sql = `select ${presenter.columns} from features fe where fe.name = ?`;
        const [row] = await db.rows(sql, [input.name]);
        return row as Value[];
      },
    }),
    del("/:name", {
      summary: "Remove a feature",
      access: "admin",
      input: name,
      handle: async ({ db, input }) => {
        await db.run("delete from features where name = ?", [input.name]);
        return undefined;
      },
    }),
  ],
};
