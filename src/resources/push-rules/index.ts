import * as audit from "../../audit/log.ts";
import { ApiError, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, type Resource, routes, type SourceKind } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { FLAGS, findRule, PATTERNS } from "./queries.ts";
import { migrations } from "./table.ts";

/** Characters of a regular expression: GitLab's limit. */
const LONGEST = 511;
/** Mebibytes that a rule may let files have at most: more than any object has. */
const LARGEST = 1_000_000;

const each = <Name extends string, T>(names: readonly Name[], make: (name: Name) => T) =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>;

const shown = {
  created_at: field.instant("pu.created_at"),
  ...each(PATTERNS, (name) => field.text(`pu.${name}`)),
  ...each(FLAGS, (name) => field.flag(`pu.${name}`)),
  max_file_size: field.integer("pu.max_file_size"),
};
const PRESENTERS = {
  group: presenter({ id: field.integer("pu.id"), ...shown }),
  project: presenter({
    id: field.integer("pu.id"),
    project_id: field.integer("pu.project_id"),
    ...shown,
  }),
};

const input = {
  ...each(PATTERNS, () => param.clearable(param.anyText({ max: LONGEST }))),
  ...each(FLAGS, () => param.optional(param.boolean())),
  max_file_size: param.optional(param.integer({ min: 0, max: LARGEST })),
};

const missing = () => notFound("Push Rule");

type Sent = param.Input<typeof input>;

/** The columns that a request sets. @throws ApiError 400 if one of its patterns is no regular expression of RE2 */
async function columnsOf(sent: Sent) {
  const patterns = PATTERNS.filter((name) => sent[name]);
  if (patterns.length > 0) {
    const { readExpression } = await import("../../core/expressions.ts");
    const wrong = patterns.filter((name) => !readExpression(sent[name] as string));
    if (wrong.length > 0) throw invalid(each(wrong, () => ["is an invalid regular expression"]));
  }
  const flags = each(FLAGS, (name) => (sent[name] === undefined ? undefined : Number(sent[name])));
  return { ...each(PATTERNS, (name) => sent[name]), ...flags, max_file_size: sent.max_file_size };
}

/** Columns without those that are not set. */
const given = (columns: Record<string, Value | undefined>) =>
  Object.fromEntries(
    Object.entries(columns).filter((entry): entry is [string, Value] => entry[1] !== undefined),
  );

async function rowOf({
  db,
  source,
  presenter: { columns },
}: Pick<Context, "source" | "presenter"> & { readonly db: Reader }) {
  const sql = `select ${columns} from push_rules pu where pu.${source.column} = ?`;
  return (await db.rows(sql, [source.id]))[0] as Value[] | undefined;
}

function routesOf(source: SourceKind) {
  const { del, get, post, put } = routes({ source, path: "/push_rule" });
  const common = { role: "maintainer", tier: "premium" } as const;
  const writing = {
    ...common,
    input,
    atLeastOne: [...FLAGS, ...PATTERNS, "max_file_size"] as const,
    presenter: PRESENTERS[source],
  };
  return [
    get("", {
      ...common,
      summary: `Get the push rule of a ${source}${source === "project" ? "; `null` if it has none" : ""}`,
      presenter: PRESENTERS[source],
      ...(source === "project" && { examples: [null] }),
      handle: async (context) => {
        const row = await rowOf(context);
        // As in GitLab, where only projects answer without one.
        if (!row && source === "group") throw notFound("Push Rule");
        return row ?? new Json(null);
      },
    }),
    post("", {
      ...writing,
      summary:
        source === "group"
          ? "Give a group a push rule, which new projects below it get"
          : "Give a project a push rule, which pushes, commits and merges have to fit",
      handle: async (context) => {
        const { db, source: owner, input: sent, now } = context;
        const columns = await columnsOf(sent);
        if (await findRule(db, owner)) {
          const kind = owner.kind === "group" ? "Group" : "Project";
          throw new ApiError(422, { message: `${kind} push rule exists` });
        }
        const of = { [owner.column]: owner.id, created_at: now, updated_at: now };
        await insertRow(db, "push_rules", { ...given(columns), ...of });
        await audit.log(context, "push rule added", { target: owner.fullPath });
        return rowOf(context);
      },
    }),
    put("", {
      ...writing,
      summary: `Change the push rule of a ${source}`,
      handle: async (context) => {
        const { db, source: owner, input: sent, now } = context;
        const columns = await columnsOf(sent);
        const found = await findRule(db, owner);
        if (!found) throw missing();
        await updateRow(db, "push_rules", found.id, columns, now);
        await audit.log(context, "push rule changed", { target: owner.fullPath });
        return rowOf(context);
      },
    }),
    del("", {
      ...common,
      summary: `Remove the push rule of a ${source}`,
      handle: async (context) => {
        const { db, source: owner, requireUnmodified } = context;
        const found = await findRule(db, owner);
        if (!found) throw missing();
        requireUnmodified(found.updated_at);
        await db.run("delete from push_rules where id = ?", [found.id]);
        await audit.log(context, "push rule removed", { target: owner.fullPath });
        return undefined;
      },
    }),
  ];
}

/** What pushes to projects have to fit. */
export const pushRuleResource: Resource = {
  name: "Push rules",
  migrations,
  routes: [...routesOf("project"), ...routesOf("group")],
};
