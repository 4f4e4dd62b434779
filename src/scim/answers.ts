import { isoInstant } from "../core/time.ts";
import {
  ATTRIBUTES,
  type Attribute,
  type Attributes,
  type Element,
  ENTERPRISE,
  ENTERPRISE_SCHEMA,
  type Leaf,
  leavesOf,
  type Scalar,
  type Target,
  targetOf,
  USER_ATTRIBUTES,
  USER_SCHEMA,
} from "./attributes.ts";
import { refused } from "./errors.ts";

type Json = Record<string, unknown>;

/** The attributes an answer has (RFC 7644 §3.9): only some, or all but some. */
export interface Selection {
  readonly kind: "only" | "without";
  readonly keys: ReadonlySet<string>;
}

/**
 * Reads which attributes are asked for. Unknown names are ignored.
 *
 * @returns `undefined` for all of them
 * @throws ApiError 400 `invalidValue` if both are given
 */
export function selectionOf(
  attributes: readonly string[] | undefined,
  excluded: readonly string[] | undefined,
): Selection | undefined {
  if (attributes && excluded) {
    throw refused("invalidValue", "attributes and excludedAttributes exclude each other.");
  }
  const names = attributes ?? excluded;
  if (!names) return undefined;
  const keys = names.flatMap((name) => keysOf(targetOf(name)));
  return { kind: attributes ? "only" : "without", keys: new Set(keys) };
}

function keysOf(target: Target | undefined): string[] {
  if (target?.kind === "part") return [target.leaf.key];
  if (target?.kind === "list") return target.parts.map(({ key }) => key);
  return target ? leavesOf([target]).map(({ key }) => key) : [];
}

function isShown(leaf: Leaf, selection: Selection | undefined): boolean {
  if (!selection || leaf.isAlwaysReturned) return true;
  return (selection.kind === "only") === selection.keys.has(leaf.key);
}

/** A user as JSON. */
export function userJson(user: Attributes, selection: Selection | undefined): Json {
  const isEmployed = leavesOf([ENTERPRISE]).some(({ key }) => user.has(key));
  const schemas = isEmployed ? [USER_SCHEMA, ENTERPRISE_SCHEMA] : [USER_SCHEMA];
  return { schemas, ...partsJson(ATTRIBUTES, user, selection) };
}

function partsJson(
  parts: readonly Attribute[],
  user: Attributes,
  selection: Selection | undefined,
): Json {
  const json: Json = {};
  for (const part of parts) {
    const found = jsonOf(part, user, selection);
    if (found !== undefined) json[part.name] = found;
  }
  return json;
}

function jsonOf(part: Attribute, user: Attributes, selection: Selection | undefined): unknown {
  const value = user.get(part.key);
  switch (part.kind) {
    case "leaf":
      return value !== undefined && isShown(part, selection)
        ? scalarJson(part, value as Scalar)
        : undefined;
    case "complex": {
      const json = partsJson(part.parts, user, selection);
      return Object.keys(json).length > 0 ? json : undefined;
    }
    case "list": {
      const shown = part.parts.filter((leaf) => isShown(leaf, selection));
      if (value === undefined || shown.length === 0) return undefined;
      return (value as readonly Element[]).map((one) => elementJson(shown, one));
    }
  }
}

function elementJson(shown: readonly Leaf[], element: Element): Json {
  const json: Json = {};
  for (const { name } of shown) if (element[name] !== undefined) json[name] = element[name];
  return json;
}

const scalarJson = ({ type }: Leaf, value: Scalar) =>
  type === "dateTime" ? isoInstant(value as number) : value;

/** The message with a page of users (RFC 7644 §3.4.2). */
export function listJson(users: readonly Json[], total: number, startIndex: number): Json {
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
    totalResults: total,
    startIndex,
    itemsPerPage: users.length,
    Resources: users,
  };
}

/** The message of an error (RFC 7644 §3.12). */
export function errorJson(status: number, scimType: string | undefined, detail: string): Json {
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: String(status),
    ...(scimType !== undefined && { scimType }),
    detail,
  };
}

/**
 * What the service can do (RFC 7643 §5).
 *
 * @param base the address of the group's SCIM API
 * @param maxResults maximum users of a page
 */
export function serviceJson(base: string, maxResults: number): Json {
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "SCIM token",
        description: "A token of the group, sent as Authorization: Bearer",
        specUri: "https://www.rfc-editor.org/rfc/rfc6750",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
  };
}

/** The kinds of resources (RFC 7643 §6): users. @param base the address of the group's SCIM API */
export function resourceTypesJson(base: string): Json[] {
  return [
    {
      schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
      id: "User",
      name: "User",
      description: "People of the group",
      endpoint: "/Users",
      schema: USER_SCHEMA,
      schemaExtensions: [{ schema: ENTERPRISE_SCHEMA, required: false }],
      meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/User` },
    },
  ];
}

/** The schemas of users (RFC 7643 §7). @param base the address of the group's SCIM API */
export function schemasJson(base: string): Json[] {
  const schema = (id: string, name: string, description: string, parts: readonly Attribute[]) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
    id,
    name,
    description,
    attributes: parts.map(attributeJson),
    meta: { resourceType: "Schema", location: `${base}/Schemas/${id}` },
  });
  return [
    schema(USER_SCHEMA, "User", "A person of the group", USER_ATTRIBUTES),
    schema(ENTERPRISE_SCHEMA, "EnterpriseUser", ENTERPRISE.about, ENTERPRISE.parts),
  ];
}

function attributeJson(attribute: Attribute): Json {
  const shared = {
    name: attribute.name,
    description: attribute.about,
    multiValued: attribute.kind === "list",
    mutability: attribute.isReadOnly ? "readOnly" : "readWrite",
    returned: "default",
  };
  if (attribute.kind !== "leaf") {
    const subAttributes = (attribute.parts as readonly Attribute[]).map(attributeJson);
    return { ...shared, type: "complex", required: false, uniqueness: "none", subAttributes };
  }
  const { type, isRequired = false, caseExact = false, isUnique, values = [] } = attribute;
  return {
    ...shared,
    type,
    required: isRequired,
    uniqueness: isUnique ? "server" : "none",
    ...((type === "string" || type === "reference") && { caseExact }),
    ...(type === "reference" && { referenceTypes: ["external"] }),
    ...(values.length > 0 && { canonicalValues: values }),
  };
}
