import * as v from "valibot";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { hasTier, type Tier } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { arg } from "../../graphql/declare/args.ts";
import type { Arg } from "../../graphql/declare/declarations.ts";
import type { Value } from "../../store/port.ts";

/** The types of issues of projects. */
export const ISSUE_TYPES = ["issue", "incident", "test_case", "task"] as const;
/** One of them, or that of epics. */
export type IssueType = (typeof ISSUE_TYPES)[number] | "epic";

/** A type in words: `Test Case`. */
export const typeName = (type: IssueType): string =>
  type
    .split("_")
    .map((part) => `${part[0]?.toUpperCase()}${part.slice(1)}`)
    .join(" ");

/** The values of each kind of attribute in seeds. */
interface Given {
  type: IssueType;
  flag: boolean;
  day: string;
  count: number;
}

/** An attribute of issues or merge requests that is a column: the name of both, also in seeds, archives and payloads. */
export interface IssuableAttribute {
  readonly kind: keyof Given;
  /** What it means, for the reference. */
  readonly about: string;
  /** Whether it is ignored if the caller may not plan: always, or for which values. */
  readonly isPlanned?: true | ((value: unknown) => boolean);
  /** The lowest tier that has it. Default: all do. */
  readonly tier?: Tier;
  /** Its name in answers. Default: its own. */
  readonly shownAs?: string;
  /** Whether webhooks do not show it, as GitLab's: they only tell changes of it, or not even these. */
  readonly isUntold?: true | "unless changed";
  /** Whether GraphQL has it under other names, which are declared with the type. */
  readonly isApart?: true;
  /** What a mutation of its own does. Without it, no mutation sets it. */
  readonly sets?: string;
  /** Its name in the arguments of mutations. Default: that of GraphQL's field. */
  readonly argument?: string;
}

const discussion_locked = {
  kind: "flag",
  about: "whether only members may comment",
  isPlanned: true,
  sets: "Lock or unlock the discussion.",
  argument: "locked",
} as const;

/** All of them. Whatever reads, writes, shows or carries attributes is made of this table (decision 95). */
export const ATTRIBUTES = {
  issue: {
    /** Default `"issue"`. */
    issue_type: {
      kind: "type",
      about: "what it is",
      isPlanned: (type) => type === "incident" || type === "test_case",
      isUntold: "unless changed",
      isApart: true,
    },
    /** Default `false`. */
    confidential: {
      kind: "flag",
      about: "whether only members who may see confidential issues see it",
      sets: "Make an issue confidential, or not.",
    },
    /** A day. */
    start_date: {
      kind: "day",
      about: "the day on which work on it starts",
      isPlanned: true,
      isUntold: "unless changed",
      isApart: true,
    },
    /** A day. */
    due_date: {
      kind: "day",
      about: "the day by which it is due",
      isPlanned: true,
      sets: "Set or clear the due date.",
    },
    weight: {
      kind: "count",
      about: "the weight, 0 or more",
      isPlanned: true,
      tier: "premium",
      sets: "Set or clear the weight.",
    },
    /** Whether only members may comment. Default `false`. */
    discussion_locked,
  },
  merge_request: {
    /** Whether only members may comment. Default `false`. */
    discussion_locked,
    /** Whether its commits become one. Default `false`. */
    squash: { kind: "flag", about: "whether its commits become one", isUntold: true },
    /** Whether merging removes its source branch. Default `false`. */
    remove_source_branch: {
      kind: "flag",
      about: "whether merging removes the source branch",
      shownAs: "force_remove_source_branch",
      isUntold: true,
    },
  },
} as const satisfies Record<string, Readonly<Record<string, IssuableAttribute>>>;

type Prefix = keyof typeof ATTRIBUTES;
type Table<P extends Prefix> = (typeof ATTRIBUTES)[P];

/** The forms that the values of a kind have. */
interface Kind<T> {
  /** In the column of a row that was given none. */
  readonly empty: Value;
  /** In columns, as archives have them. */
  readonly stored: () => v.GenericSchema;
  readonly given: () => v.GenericSchema<T>;
  readonly input: param.Attribute<unknown>;
  readonly field: (column: string) => field.Field;
  /** In GraphQL. */
  readonly type: string;
  readonly argument: Arg<unknown>;
  /** As the argument of a mutation of its own, and how that is read as REST's attribute. */
  readonly only: { readonly type: Arg<unknown>; read(sent: never): unknown };
}

const day = () => v.pipe(v.string(), v.isoDate());
const count = () => v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** All kinds of attributes. */
export const KINDS: { readonly [K in keyof Given]: Kind<Given[K]> } = {
  type: {
    empty: "issue",
    stored: () => v.picklist(ISSUE_TYPES),
    given: () => v.picklist(ISSUE_TYPES),
    input: param.unlessBlank(param.choice(ISSUE_TYPES)),
    field: field.text,
    type: "String",
    argument: arg.string,
    only: { type: arg.required(arg.string), read: (sent: string) => sent },
  },
  flag: {
    empty: 0,
    stored: () => v.picklist([0, 1]),
    given: () => v.boolean(),
    input: param.optional(param.boolean()),
    field: field.flag,
    type: "Boolean!",
    argument: arg.boolean,
    only: { type: arg.required(arg.boolean), read: (sent: boolean) => sent },
  },
  day: {
    empty: null,
    stored: () => v.nullable(day()),
    given: day,
    input: param.clearable(param.date()),
    field: field.date,
    type: "Time",
    argument: arg.clearable(arg.date),
    only: {
      type: arg.clearable(arg.time),
      read: (sent: number | null = null) => (sent === null ? null : dayOf(sent)),
    },
  },
  count: {
    empty: null,
    stored: () => v.nullable(count()),
    given: count,
    input: param.clearable(param.integer({ min: 0 })),
    field: field.integer,
    type: "Int",
    argument: arg.clearable(arg.int),
    only: { type: arg.clearable(arg.int), read: (sent: number | null = null) => sent },
  },
};

/** The attributes of a type with their names. */
export const attributesOf = (prefix: Prefix): [string, IssuableAttribute][] =>
  Object.entries(ATTRIBUTES[prefix]);

/** What is made of each attribute of a type, by its name. */
export const ofEach = <P extends Prefix, T>(prefix: P, make: (one: IssuableAttribute) => T) =>
  Object.fromEntries(attributesOf(prefix).map(([name, one]) => [name, make(one)])) as {
    readonly [Name in keyof Table<P>]: T;
  };

/** The attributes of a type in requests. */
export const inputOf = <P extends Prefix>(prefix: P) =>
  ofEach(prefix, ({ kind, about }) => param.noted(KINDS[kind].input, { about }));

/** The name of an attribute in GraphQL. */
export const camelCase = (name: string) =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Stands in a row for what a tier does not have. */
export const HIDDEN = "";

/** The fields of a type's attributes in answers, or of those that webhooks show. */
export const fieldsOf = (prefix: Prefix, alias: string, isTold = false): field.Fields =>
  Object.fromEntries(
    attributesOf(prefix).flatMap(([name, { kind, shownAs = name, tier, isUntold }]) => {
      if (isTold && isUntold) return [];
      const shown = KINDS[kind].field(`${alias}.${name}`);
      return [[shownAs, tier ? field.omittedIf((value) => value === HIDDEN, shown) : shown]];
    }),
  );

/** The columns of attributes that values are given for. @param isTaken whether an attribute is. Default: all are */
export function columnsOf(
  prefix: Prefix,
  given: Readonly<Record<string, unknown>>,
  isTaken: (one: IssuableAttribute, value: unknown) => boolean = () => true,
): Record<string, Value> {
  const columns: Record<string, Value> = {};
  for (const [name, one] of attributesOf(prefix)) {
    const value = given[name];
    if (value === undefined || !isTaken(one, value)) continue;
    columns[name] = typeof value === "boolean" ? Number(value) : (value as Value);
  }
  return columns;
}

/** The names of what a tier has not. */
export const lackingIn = (prefix: Prefix, tier: Tier): string[] =>
  attributesOf(prefix).flatMap(([name, one]) =>
    hasTier(tier, one.tier) ? [] : [one.shownAs ?? name],
  );

/** The attributes of a type in seeds. */
export type Seeded<P extends Prefix> = {
  [Name in keyof Table<P>]?:
    | Given[Table<P>[Name] extends { kind: infer K extends keyof Given } ? K : never]
    | undefined;
};

/** The schemas of {@link Seeded}. */
export const seedEntriesOf = <P extends Prefix>(prefix: P) =>
  ofEach(prefix, ({ kind }) => v.optional(KINDS[kind].given() as v.GenericSchema)) as unknown as {
    [Name in keyof Table<P>]: v.OptionalSchema<
      v.GenericSchema<NonNullable<Seeded<P>[Name]>>,
      undefined
    >;
  };
