import * as audit from "../../audit/log.ts";
import type { Source } from "../../core/access/source.ts";
import { ApiError, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { LEVELS } from "./abilities.ts";
import { migrations } from "./table.ts";

/** Rules of a project about each of the two. */
const MOST = 100;

/** The types of packages in GitLab. Here are generic ones and those of npm and PyPI. */
const TYPES = [
  "cargo",
  "conan",
  "generic",
  "helm",
  "maven",
  "npm",
  "nuget",
  "pypi",
  "terraform_module",
] as const;

type Kind = "package" | "repository";
/** What is sent of a rule. */
interface Sent {
  readonly package_name_pattern?: string | undefined;
  readonly repository_path_pattern?: string | undefined;
  readonly package_type?: string | undefined;
  readonly minimum_access_level_for_push?: string | null | undefined;
  readonly minimum_access_level_for_delete?: string | null | undefined;
}

interface Rule {
  readonly id: number;
  readonly pattern: string;
  readonly package_type: string;
  readonly push_level: string | null;
  readonly delete_level: string | null;
  readonly updated_at: number;
}
type In = Pick<Context, "source"> & { readonly db: Reader };

const id = { rule_id: param.recordId() };
const level = param.clearable(param.choice(LEVELS));

/** A rule of which nothing is known. */
const NEW: Rule = {
  id: 0,
  pattern: "",
  package_type: "",
  push_level: null,
  delete_level: null,
  updated_at: 0,
};

const refused = (message: string) => new ApiError(422, { message: [message] });

async function find(db: Reader, kind: Kind, { id }: Source, ruleId: number): Promise<Rule> {
  const found = await db.one<Rule>(
    `select id, pattern, package_type, push_level, delete_level, updated_at from protection_rules
     where project_id = ? and kind = ? and id = ?`,
    [id, kind, ruleId],
  );
  if (!found) throw notFound();
  return found;
}

async function rowOf(db: Reader, { columns }: Presenter, ruleId: number): Promise<Value[]> {
  const [found] = await db.rows(`select ${columns} from protection_rules pp where pp.id = ?`, [
    ruleId,
  ]);
  return found as Value[];
}

/**
 * Checks a rule as it is to be.
 *
 * @param what GitLab's name of its pattern, in errors
 * @throws ApiError 422
 */
async function requireRule(
  { db, source }: In,
  kind: Kind,
  what: string,
  rule: Rule,
): Promise<void> {
  if (rule.push_level === null && rule.delete_level === null) {
    throw refused("A rule must have at least a minimum access role for push or delete.");
  }
  if (
    kind === "repository" &&
    !rule.pattern.toLowerCase().startsWith(source.fullPath.toLowerCase())
  ) {
    throw refused(`${what} should start with the project's full path`);
  }
  const others = await db.rows(
    "select id, package_type, pattern from protection_rules where project_id = ? and kind = ? and id <> ?",
    [source.id, kind, rule.id],
  );
  if (others.some(([, type, pattern]) => type === rule.package_type && pattern === rule.pattern)) {
    throw refused(`${what} has already been taken`);
  }
  if (others.length >= MOST) throw refused(`Maximum number of protection rules (${MOST}) exceeded`);
}

/** What rules of a kind are about. */
interface About {
  readonly kind: Kind;
  readonly path: "/packages/protection/rules" | "/registry/protection/repository/rules";
  /** The attribute of their pattern, and what errors call it. */
  readonly attribute: "package_name_pattern" | "repository_path_pattern";
  readonly what: string;
  readonly of: string;
}

const PACKAGES: About = {
  kind: "package",
  path: "/packages/protection/rules",
  attribute: "package_name_pattern",
  what: "Package name pattern",
  of: "packages",
};
const REPOSITORIES: About = {
  kind: "repository",
  path: "/registry/protection/repository/rules",
  attribute: "repository_path_pattern",
  what: "Repository path pattern",
  of: "repositories of container images",
};

function routesOf({ kind, path, attribute, what, of }: About) {
  const { del, list, patch, post } = routes({ source: "project", path });
  const isPackage = kind === "package";
  const role = "maintainer";
  const type = param.choice(TYPES);
  const given = {
    minimum_access_level_for_push: level,
    minimum_access_level_for_delete: level,
  };
  const created: param.Attributes = {
    [attribute]: param.text(),
    ...(isPackage && { package_type: type }),
    ...given,
  };
  const changed: param.Attributes = {
    [attribute]: param.optional(param.text()),
    ...(isPackage && { package_type: param.optional(type) }),
    ...given,
  };
  const shown = presenter({
    id: field.integer("pp.id"),
    project_id: field.integer("pp.project_id"),
    [attribute]: field.text("pp.pattern"),
    ...(isPackage && { package_type: field.text("pp.package_type") }),
    minimum_access_level_for_push: field.text("pp.push_level"),
    minimum_access_level_for_delete: field.text("pp.delete_level"),
  });
  /** A rule as it is to be. @param before of which what is not sent stays */
  const ruleOf = (input: Sent, before: Rule): Rule => {
    const { minimum_access_level_for_push: push, minimum_access_level_for_delete: remove } = input;
    return {
      ...before,
      pattern: input[attribute] ?? before.pattern,
      package_type: input.package_type ?? before.package_type,
      push_level: push === undefined ? before.push_level : push,
      delete_level: remove === undefined ? before.delete_level : remove,
    };
  };
  const targetOf = ({ fullPath }: Source, { pattern }: Rule) => ({
    target: `${pattern} of ${fullPath}`,
  });
  return [
    list("", {
      summary: `List the rules that protect ${of}`,
      role,
      presenter: shown,
      handle: ({ db, page, source }) =>
        paginate(db, shown, page, {
          from: "protection_rules pp where pp.project_id = ? and pp.kind = ?",
          values: [source.id, kind],
          order: "pp.id",
        }),
    }),
    post("", {
      summary: `Add a rule that protects ${of}`,
      role,
      input: created,
      presenter: shown,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const rule = ruleOf(input as Sent, NEW);
        await requireRule(context, kind, what, rule);
        const { id: _, updated_at: __, ...columns } = rule;
        const at = { created_at: now, updated_at: now };
        const row = { ...columns, ...at, project_id: source.id, kind };
        const made = await insertRow(db, "protection_rules", row);
        await audit.log(context, "protection rule added", targetOf(source, rule));
        return rowOf(db, shown, made);
      },
    }),
    patch("/:rule_id", {
      summary: `Change a rule that protects ${of}`,
      role,
      input: { ...id, ...changed },
      presenter: shown,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const before = await find(db, kind, source, input.rule_id as number);
        const rule = ruleOf(input as Sent, before);
        await requireRule(context, kind, what, rule);
        const { id: ruleId, updated_at: _, ...columns } = rule;
        await updateRow(db, "protection_rules", ruleId, columns, now);
        await audit.log(context, "protection rule changed", targetOf(source, rule));
        return rowOf(db, shown, ruleId);
      },
    }),
    del("/:rule_id", {
      summary: `Remove a rule that protects ${of}`,
      role,
      input: id,
      handle: async (context) => {
        const { db, source, input, requireUnmodified } = context;
        const found = await find(db, kind, source, input.rule_id);
        requireUnmodified(found.updated_at);
        await db.run("delete from protection_rules where id = ?", [found.id]);
        await audit.log(context, "protection rule removed", targetOf(source, found));
        return undefined;
      },
    }),
  ];
}

/** Who may push and delete packages, and repositories of container images, by their names. */
export const protectionRuleResource: Resource = {
  name: "Protection rules",
  migrations,
  routes: [...routesOf(PACKAGES), ...routesOf(REPOSITORIES)],
};
