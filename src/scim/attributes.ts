/** The schema of users (RFC 7643 §4.1). */
export const USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";
/** The schema of users' data at their employer (RFC 7643 §4.3). */
export const ENTERPRISE_SCHEMA = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** The value of a simple attribute. Instants are epoch milliseconds. */
export type Scalar = string | boolean | number;

/** One value of a multi-valued attribute, by the names of its sub-attributes. */
export type Element = Readonly<Record<string, Scalar>>;

/** A user's attributes by {@link Leaf.key} and {@link List.key}; those without a value are missing. */
export type Attributes = Map<string, Scalar | readonly Element[]>;

/** A simple attribute, or a sub-attribute. */
export interface Leaf {
  readonly kind: "leaf";
  readonly name: string;
  /** Its path, such as `name.givenName`. Clients may write it in any case. */
  readonly key: string;
  readonly type: "string" | "boolean" | "dateTime" | "reference";
  readonly about: string;
  /** Its column: of `scim_users`, or of `scim_values` for a sub-attribute of a list. */
  readonly column?: string;
  /** Its value in SQL; without it, it can neither be filtered nor sorted by. */
  readonly sql?: string;
  /** Whether the value in SQL is never null. */
  readonly isFilled?: true;
  /** Whether upper and lower case differ. */
  readonly caseExact?: true;
  readonly isReadOnly?: true;
  readonly isRequired?: true;
  /** Whether no two users of a group have the same value. */
  readonly isUnique?: true;
  /** Whether answers have it whatever attributes were asked for. */
  readonly isAlwaysReturned?: true;
  /** The usual values. */
  readonly values?: readonly string[];
  /** Maximum characters of a text. */
  readonly maxLength: number;
}

/** A complex attribute with one value, or a schema extension. */
export interface Complex {
  readonly kind: "complex";
  readonly name: string;
  readonly key: string;
  readonly about: string;
  readonly isReadOnly?: true;
  readonly parts: readonly (Leaf | Complex)[];
}

/** A multi-valued attribute. */
export interface List {
  readonly kind: "list";
  readonly name: string;
  readonly key: string;
  readonly about: string;
  readonly isReadOnly?: never;
  readonly parts: readonly Leaf[];
}

/** An attribute of users. */
export type Attribute = Leaf | Complex | List;

/** What a path may name: an attribute, or a sub-attribute of a list. */
export type Target =
  | Attribute
  | { readonly kind: "part"; readonly list: List; readonly leaf: Leaf };

/** Maximum characters of a text. */
const SHORT = 255;
/** Maximum characters of an address or a URL. */
const LONG = 1000;
/** Maximum values of all multi-valued attributes of a user together. */
export const MAX_ELEMENTS = 50;

type Options = Partial<Omit<Leaf, "kind" | "name" | "key" | "about" | "column">>;

function leaf(
  name: string,
  column: string | undefined,
  about: string,
  options: Options = {},
): Leaf {
  const sql = column === undefined ? {} : { column, sql: `s.${column}` };
  return {
    kind: "leaf",
    name,
    key: name,
    type: "string",
    about,
    maxLength: SHORT,
    ...sql,
    ...options,
  };
}

function complex(name: string, about: string, parts: readonly (Leaf | Complex)[]): Complex {
  return {
    kind: "complex",
    name,
    key: name,
    about,
    parts: parts.map((part) => below(`${name}.`, part)),
  };
}

/** Puts a prefix before the keys of an attribute and its parts. */
function below<A extends Leaf | Complex>(prefix: string, attribute: A): A {
  const key = prefix + attribute.key;
  if (attribute.kind === "leaf") return { ...attribute, key };
  return { ...attribute, key, parts: attribute.parts.map((part) => below(prefix, part)) };
}

/** The parts of a list: columns of `scim_values`. */
function list(name: string, about: string, types: readonly string[], parts: readonly Leaf[]): List {
  const shared = [
    leaf("type", "type", "What the value is for", { values: types }),
    leaf("primary", "is_primary", "Whether it is the preferred value", { type: "boolean" }),
  ];
  const all = [...parts, ...shared].map((part) => ({
    ...below(`${name}.`, part),
    sql: `v.${part.column}`,
  }));
  return { kind: "list", name, key: name, about, parts: all };
}

const value = (about: string, options: Options = {}) => leaf("value", "value", about, options);
const display = leaf("display", "display", "A name for people");

const COMMON: readonly Leaf[] = [
  leaf("id", "uid", "The user's id here", {
    caseExact: true,
    isFilled: true,
    isReadOnly: true,
    isUnique: true,
    isAlwaysReturned: true,
  }),
  leaf("externalId", "external_id", "The user's id at the identity provider", { caseExact: true }),
];

const readOnly = { isReadOnly: true } as const;
const instant = { ...readOnly, type: "dateTime", isFilled: true } as const;
const META: Complex = {
  ...complex("meta", "About the resource", [
    leaf("resourceType", undefined, "User", {
      ...readOnly,
      sql: "cast('User' as text)",
      caseExact: true,
      isFilled: true,
    }),
    leaf("created", "created_at", "When it was created", instant),
    leaf("lastModified", "updated_at", "When it was last changed", instant),
    leaf("location", undefined, "Its address", { ...readOnly, type: "reference", caseExact: true }),
    leaf("version", undefined, "Its ETag", { ...readOnly, caseExact: true }),
  ]),
  ...readOnly,
};

/** The attributes of {@link USER_SCHEMA}. */
export const USER_ATTRIBUTES: readonly Attribute[] = [
  leaf("userName", "user_name", "The name the user has at the identity provider", {
    isFilled: true,
    isRequired: true,
    isUnique: true,
  }),
  complex("name", "The parts of the user's name", [
    leaf("formatted", "name_formatted", "The full name"),
    leaf("familyName", "family_name", "The family name"),
    leaf("givenName", "given_name", "The given name"),
    leaf("middleName", "middle_name", "The middle name"),
    leaf("honorificPrefix", "honorific_prefix", "The title before the name"),
    leaf("honorificSuffix", "honorific_suffix", "The suffix after the name"),
  ]),
  leaf("displayName", "display_name", "The name to show"),
  leaf("nickName", "nick_name", "The casual name"),
  leaf("profileUrl", "profile_url", "The address of the user's profile", {
    type: "reference",
    maxLength: LONG,
  }),
  leaf("title", "title", "The job title"),
  leaf("userType", "user_type", "The relation to the organization"),
  leaf("preferredLanguage", "preferred_language", "The preferred languages"),
  leaf("locale", "locale", "The locale"),
  leaf("timezone", "timezone", "The time zone"),
  leaf("active", "active", "Whether the user is a member of the group", {
    type: "boolean",
    isFilled: true,
  }),
  list("emails", "E-mail addresses", ["work", "home", "other"], [value("The address"), display]),
  list(
    "phoneNumbers",
    "Phone numbers",
    ["work", "home", "mobile", "fax", "pager", "other"],
    [value("The number"), display],
  ),
  list("ims", "Addresses for instant messages", [], [value("The address"), display]),
  list(
    "photos",
    "Addresses of pictures",
    ["photo", "thumbnail"],
    [value("The address", { type: "reference", maxLength: LONG }), display],
  ),
  list(
    "addresses",
    "Postal addresses",
    ["work", "home", "other"],
    [
      leaf("formatted", "formatted", "The full address", { maxLength: LONG }),
      leaf("streetAddress", "street_address", "Street and number", { maxLength: LONG }),
      leaf("locality", "locality", "The city"),
      leaf("region", "region", "The state or region"),
      leaf("postalCode", "postal_code", "The postal code"),
      leaf("country", "country", "The country"),
    ],
  ),
  list("entitlements", "What the user is entitled to", [], [value("The entitlement"), display]),
  list("roles", "The user's roles at the organization", [], [value("The role"), display]),
];

const ENTERPRISE_PARTS: readonly (Leaf | Complex)[] = [
  leaf("employeeNumber", "employee_number", "The number of the employee"),
  leaf("costCenter", "cost_center", "The cost center"),
  leaf("organization", "organization", "The organization"),
  leaf("division", "division", "The division"),
  leaf("department", "department", "The department"),
  complex("manager", "The user's manager", [
    leaf("value", "manager_id", "The manager's id"),
    leaf("displayName", "manager_name", "The manager's name"),
  ]),
];

/** The extension {@link ENTERPRISE_SCHEMA}. */
export const ENTERPRISE: Complex = {
  kind: "complex",
  name: ENTERPRISE_SCHEMA,
  key: ENTERPRISE_SCHEMA,
  about: "Data of the user's employer",
  parts: ENTERPRISE_PARTS.map((part) => below(`${ENTERPRISE_SCHEMA}:`, part)),
};

/** Every attribute, in the order of answers. Parsing, SQL, answers, changes and `/Schemas` all follow this table. */
export const ATTRIBUTES: readonly Attribute[] = [...COMMON, ...USER_ATTRIBUTES, ENTERPRISE, META];

/** All leaves that are no parts of lists. */
export const LEAVES: readonly Leaf[] = leavesOf(ATTRIBUTES);
/** All lists. */
export const LISTS: readonly List[] = ATTRIBUTES.filter((one) => one.kind === "list");

/** The simple attributes among some, and those within them; parts of lists are left out. */
export function leavesOf(attributes: readonly Attribute[]): Leaf[] {
  return attributes.flatMap((one) =>
    one.kind === "leaf" ? [one] : one.kind === "complex" ? leavesOf(one.parts) : [],
  );
}

const TARGETS = new Map<string, Target>();

function register(attribute: Attribute): void {
  const names = [attribute.key.toLowerCase()];
  if (!attribute.key.startsWith(ENTERPRISE_SCHEMA)) {
    names.push(`${USER_SCHEMA}:${attribute.key}`.toLowerCase());
  }
  for (const name of names) {
    TARGETS.set(name, attribute);
    if (attribute.kind !== "list") continue;
    for (const part of attribute.parts) {
      const target = { kind: "part", list: attribute, leaf: part } as const;
      TARGETS.set(`${name}.${part.name.toLowerCase()}`, target);
    }
  }
  if (attribute.kind === "complex") for (const part of attribute.parts) register(part);
}
for (const attribute of ATTRIBUTES) register(attribute);

/** What a path such as `name.givenName` names, in any case, with or without its schema; `undefined` if nothing. */
export function targetOf(path: string): Target | undefined {
  return path.length > LONG ? undefined : TARGETS.get(path.toLowerCase());
}

/** The sub-attribute of a list with this name, in any case. */
export function partOf({ parts }: List, name: string): Leaf | undefined {
  const wanted = name.toLowerCase();
  return parts.find((part) => part.name.toLowerCase() === wanted);
}
