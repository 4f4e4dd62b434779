import * as audit from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { conflict, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes, type SourceKind } from "../../core/resource.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import * as variables from "./queries.ts";
import { requireValid } from "./rules.ts";
import { migrations, purposeOf, VARIABLE_VALUES } from "./table.ts";

const shared = {
  variable_type: field.text("v.variable_type"),
  key: field.text("v.key"),
};
const flags = {
  protected: field.flag("v.protected"),
  masked: field.flag("v.masked"),
  raw: field.flag("v.raw"),
};

const ownedVariable = presenter({
  ...shared,
  value: field.secret("case when v.hidden = 0 then v.value end", purposeOf("v.")),
  hidden: field.flag("v.hidden"),
  ...flags,
  environment_scope: field.text("v.environment_scope"),
  description: field.text("v.description"),
});

const instanceVariable = presenter({
  ...shared,
  value: field.secret("v.value", purposeOf("v.")),
  ...flags,
  description: field.text("v.description"),
});

/** Maximum characters of a value. */
const MAX_VALUE = 10_000;
/** Maximum variables of a project, of a group, and of the instance. */
const MAX_VARIABLES = 1000;

const key = { key: param.anyText() };
const value = param.anyText({ max: MAX_VALUE });
const attributes = {
  variable_type: param.optional(param.choice(variables.VARIABLE_TYPES)),
  protected: param.optional(param.boolean()),
  masked: param.optional(param.boolean()),
  raw: param.optional(param.boolean()),
  description: param.clearable(param.anyText()),
};
const scoped = { environment_scope: param.optional(param.text()) };
const one = {
  ...key,
  filter: param.optional(param.object({ environment_scope: param.optional(param.anyText()) })),
};

/** What its error and its audit entries call the owner of a variable. */
const ownerOf = (source: Source | undefined) => source ?? "instance";
const NAMES = { project: "Variable", group: "GroupVariable", instance: "InstanceVariable" };
const kindOf = (source: Source | undefined) => source?.kind ?? "instance";

type Reading = Pick<Context, "tier"> & { db: Reader; source: Source | undefined };
type Writing = Pick<Context, "presenter" | "now" | "secrets" | "tier" | "request"> & {
  db: Database;
  source: Source | undefined;
  caller: Caller;
};
type Sent = {
  [Name in Exclude<keyof variables.NewVariable, "key" | "hidden">]?:
    | variables.NewVariable[Name]
    | undefined;
};

/**
 * Finds the variable that a path and its filter name.
 *
 * @throws ApiError 404; 409 if there are several with this key
 */
async function findOne(
  { db, source }: Reading,
  input: { key: string; filter?: { environment_scope?: string | undefined } | undefined },
): Promise<variables.Variable> {
  const scope = input.filter?.environment_scope;
  const [found, another] = await variables.findTwo(db, ownerOf(source), input.key, scope);
  if (!found) throw notFound(NAMES[kindOf(source)]);
  if (another) {
    throw conflict(
      "There are multiple variables with provided parameters. Please use 'filter[environment_scope]'",
    );
  }
  return found;
}

/** @throws ApiError 400 if another variable has this key and scope */
async function requireFree(
  { db, source }: Reading,
  { key, environment_scope, id }: Pick<variables.Variable, "key" | "environment_scope" | "id">,
): Promise<void> {
  const others = await variables.findTwo(db, ownerOf(source), key, environment_scope);
  if (others.some((other) => other.id !== id)) {
    throw invalid({ key: [`(${key}) has already been taken`] });
  }
}

/** The scope that counts: groups have scopes from the premium tier on. */
const scopeOf = ({ source, tier }: Reading, scope: string | undefined) =>
  source?.kind === "group" && tier === "free" ? undefined : scope;

/** What the audit log calls a variable. */
const targetOf = (source: Source | undefined, name: string) => ({
  target: `${name} of ${source?.fullPath ?? "the instance"}`,
});

async function create(
  context: Writing,
  {
    masked_and_hidden: hidden = false,
    ...sent
  }: Sent & {
    key: string;
    value: string;
    masked_and_hidden?: boolean | undefined;
  },
): Promise<Value[]> {
  const { db, source, secrets, presenter, now } = context;
  const variable: variables.NewVariable = {
    key: sent.key,
    value: sent.value,
    variable_type: sent.variable_type ?? "env_var",
    protected: sent.protected ?? false,
    masked: hidden || (sent.masked ?? false),
    hidden,
    raw: sent.raw ?? false,
    environment_scope: scopeOf(context, sent.environment_scope) ?? variables.EVERYWHERE,
    description: sent.description ?? null,
  };
  requireValid(variable);
  await requireFree(context, { ...variable, id: 0 });
  const owner = ownerOf(source);
  if (await variables.hasAtLeast(db, owner, MAX_VARIABLES)) {
    const reason = `Maximum number of ${kindOf(source)} ci variables (${MAX_VARIABLES}) exceeded`;
    throw invalid({ base: [reason] });
  }
  const id = await variables.insert(db, secrets, owner, variable, now);
  await audit.log(context, "CI variable added", targetOf(source, variable.key));
  return variables.row(db, presenter, id);
}

async function change(context: Writing, found: variables.Variable, sent: Sent): Promise<Value[]> {
  const { db, source, secrets, presenter, now } = context;
  const masked = sent.masked ?? found.masked === 1;
  if (found.hidden === 1 && !masked) {
    const reason = "The visibility setting cannot be changed for masked and hidden variables.";
    throw invalid({ base: [reason] });
  }
  const owner = ownerOf(source);
  const environment_scope = scopeOf(context, sent.environment_scope) ?? found.environment_scope;
  const raw = sent.raw ?? found.raw === 1;
  const needsValue = masked && sent.value === undefined && (found.masked === 0 || found.raw === 1);
  const value = needsValue ? await variables.readValue(db, secrets, found.id) : sent.value;
  requireValid({ key: found.key, value, environment_scope, masked, raw });
  await requireFree(context, { ...found, environment_scope });
  const { variable_type, description } = sent;
  const changes = {
    value: sent.value,
    variable_type,
    protected: sent.protected,
    masked,
    raw,
    environment_scope,
    description,
  };
  await variables.update(db, secrets, owner, found, changes, now);
  await audit.log(context, "CI variable changed", targetOf(source, found.key));
  return variables.row(db, presenter, found.id);
}

async function remove(context: Writing, found: variables.Variable): Promise<undefined> {
  await variables.remove(context.db, found.id);
  await audit.log(context, "CI variable removed", targetOf(context.source, found.key));
}

function routesOf(source: SourceKind) {
  const { del, get, list, post, put } = routes({ source, path: "/variables" });
  const role = source === "group" ? "owner" : "maintainer";
  return [
    list("", {
      summary: `List the CI variables of a ${source}`,
      role,
      presenter: ownedVariable,
      handle: ({ db, presenter, page, source: owner }) =>
        variables.list(db, presenter, page, owner),
    }),
    get("/:key", {
      summary: "Get a CI variable",
      role,
      input: one,
      presenter: ownedVariable,
      handle: async (context) => {
        const { id } = await findOne(context, context.input);
        return variables.row(context.db, context.presenter, id);
      },
    }),
    post("", {
      summary: "Add a CI variable",
      role,
      input: {
        ...key,
        value,
        ...attributes,
        masked_and_hidden: param.optional(param.boolean()),
        ...scoped,
      },
      presenter: ownedVariable,
      handle: (context) => create(context, context.input),
    }),
    put("/:key", {
      summary: "Change a CI variable",
      role,
      input: { ...one, value: param.optional(value), ...attributes, ...scoped },
      presenter: ownedVariable,
      handle: async (context) =>
        change(context, await findOne(context, context.input), context.input),
    }),
    del("/:key", {
      summary: "Remove a CI variable",
      role,
      input: one,
      handle: async (context) => {
        const found = await findOne(context, context.input);
        context.requireUnmodified(found.updated_at);
        return remove(context, found);
      },
    }),
  ];
}

const { del, get, list, post, put } = routes({ path: "/admin/ci/variables" });

const ofInstance = [
  list("", {
    summary: "List the CI variables of the instance",
    access: "admin",
    presenter: instanceVariable,
    handle: ({ db, presenter, page }) => variables.list(db, presenter, page, "instance"),
  }),
  get("/:key", {
    summary: "Get a CI variable of the instance",
    access: "admin",
    input: key,
    presenter: instanceVariable,
    handle: async (context) => {
      const { id } = await findOne(context, context.input);
      return variables.row(context.db, context.presenter, id);
    },
  }),
  post("", {
    summary: "Add a CI variable to the instance",
    access: "admin",
    input: { ...key, value, ...attributes },
    presenter: instanceVariable,
    handle: (context) => create(context, context.input),
  }),
  put("/:key", {
    summary: "Change a CI variable of the instance",
    access: "admin",
    input: { ...key, value: param.optional(value), ...attributes },
    presenter: instanceVariable,
    handle: async (context) =>
      change(context, await findOne(context, context.input), context.input),
  }),
  del("/:key", {
    summary: "Remove a CI variable of the instance",
    access: "admin",
    input: key,
    handle: async (context) => {
      const found = await findOne(context, context.input);
      context.requireUnmodified(found.updated_at);
      return remove(context, found);
    },
  }),
];

/** CI variables of groups, of projects and of the instance. */
export const variableResource: Resource = {
  name: "CI variables",
  migrations,
  sealed: [VARIABLE_VALUES],
  routes: [...routesOf("project"), ...routesOf("group"), ...ofInstance],
};
