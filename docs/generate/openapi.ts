// The reference for machines.

import { takesRawBody } from "../../src/core/http/raw-body.ts";
import { PAGE_LIMITS } from "../../src/core/pagination.ts";
import type { Route } from "../../src/core/resource.ts";
import { VERSION } from "../../src/core/version.ts";
import { LFS_JSON } from "../../src/lfs/errors.ts";
import {
  type Described,
  type Documented,
  documented,
  inOpenApi,
  type Parameter,
} from "./documented.ts";
import { schemaName } from "./names.ts";
import { rights } from "./reference.ts";
import {
  attributeSchema,
  attributesSchema,
  exampleSchema,
  type Json,
  objectSchema,
} from "./schemas.ts";
import { TAGS } from "./tags.ts";

/** The reference as an OpenAPI 3.1 document. */
export function openapi(of: readonly Described[] = inOpenApi): Json {
  const all = of.flatMap((resource) =>
    resource.routes.map((route) => ({ resource, documented: documented(resource, route) })),
  );
  const schemas = namedSchemas(all.map((one) => one.documented));
  const paths: Record<string, Json> = {};
  for (const { resource, documented: one } of all) {
    const path = one.route.path.replace(/:(\w+)\*?/g, "{$1}");
    paths[path] ??= resource.mount.base === "" ? { servers: [{ url: "/" }] } : {};
    paths[path][one.route.method.toLowerCase()] = operation(resource, one, schemas);
  }
  const written = linked({ paths, schemas });
  return {
    openapi: "3.1.0",
    info: {
      title: "pm-api",
      version: VERSION,
      summary: "Project management that speaks GitLab's REST v4 dialect.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/api/v4" }],
    tags: of.map(({ name }) => ({ name, description: TAGS[name] })),
    paths: written.paths,
    components: {
      schemas: { ...written.schemas, ...ERRORS },
      parameters: {
        page: queryParameter("page", "the number of the page; less than 1 means 1", { default: 1 }),
        per_page: queryParameter(
          "per_page",
          `how many a page has; more than ${PAGE_LIMITS.maxPerPage} mean ${PAGE_LIMITS.maxPerPage}, and less than 0 the default`,
          { not: { const: 0 }, default: PAGE_LIMITS.perPage },
        ),
      },
      responses: {
        ...Object.fromEntries(Object.keys(ERRORS).map((name) => [name, errorResponse(name)])),
        TextError: {
          description: "The reason why the request failed, as a text.",
          content: { "text/plain": { schema: { type: "string" } } },
        },
        NotModified: { description: "What the client has is still current." },
      },
      securitySchemes: {
        privateToken: { type: "apiKey", in: "header", name: "Private-Token" },
        bearer: { type: "http", scheme: "bearer" },
      },
    },
  };
}

const JSON_TYPE = "application/json";
const SCIM_TYPE = "application/scim+json";
/** Files of any type. */
const BYTES = "application/octet-stream";
/** Schemas of what is not JSON. */
const MEDIA: Readonly<Record<string, Json>> = {
  [BYTES]: { type: "string", format: "binary" },
  "image/*": { type: "string", format: "binary" },
  "text/plain": { type: "string" },
  "image/svg+xml": { type: "string" },
};

const text: Json = { type: "string" };
const texts: Json = { type: "array", items: text };

/** The forms of errors. */
const ERRORS: Readonly<Record<string, Json>> = {
  Error: {
    type: "object",
    description: "See errors.md: `message` is about the data, `error` about the request itself.",
    properties: {
      message: {
        description: "A reason, several, or those of each attribute.",
        anyOf: [text, texts, { type: "object", additionalProperties: { anyOf: [text, texts] } }],
      },
      error: { anyOf: [text, texts] },
      errors: { ...text, description: "Why a repository of GitHub can't be imported." },
      error_description: text,
      error_code: { ...text, description: "Why a commit can't be picked: `conflict` or `empty`." },
      scope: { ...text, description: "The scopes that would do, separated by spaces." },
    },
  },
  ScimError: {
    type: "object",
    description: "An error of SCIM (RFC 7644 §3.12).",
    properties: { schemas: texts, status: text, scimType: text, detail: text },
    required: ["schemas", "status"],
  },
  OAuthError: {
    type: "object",
    description: "An error of OAuth2 (RFC 6749 §5.2).",
    properties: { error: text, error_description: text },
    required: ["error"],
  },
  RegistryErrors: {
    type: "object",
    description: "Errors of the container registry, as the OCI specification has them.",
    properties: {
      errors: {
        type: "array",
        items: { type: "object", properties: { code: text, message: text, detail: {} } },
      },
    },
    required: ["errors"],
  },
  LfsError: {
    type: "object",
    description: "An error of Git LFS; of locks with the `lock` that it is about.",
    properties: {
      message: text,
      documentation_url: text,
      lock: {
        type: "object",
        properties: {
          id: text,
          path: text,
          locked_at: text,
          owner: { type: "object", properties: { name: text } },
        },
      },
    },
    required: ["message", "documentation_url"],
  },
  GraphqlErrors: {
    type: "object",
    description: "Errors of GraphQL.",
    properties: {
      errors: {
        type: "array",
        items: { type: "object", properties: { message: text }, required: ["message"] },
      },
    },
    required: ["errors"],
  },
};

/** The form of errors of mounts whose errors are not like the REST API's. */
const ERROR_OF: Readonly<Record<string, string>> = {
  SCIM: "ScimError",
  OAuth2: "OAuthError",
  GraphQL: "GraphqlErrors",
  Git: "TextError",
  "Git LFS": "LfsError",
  "Container images": "RegistryErrors",
  "Tokens of the container registry": "RegistryErrors",
};

function errorResponse(name: string): Json {
  const type = { ScimError: SCIM_TYPE, LfsError: LFS_JSON }[name] ?? JSON_TYPE;
  const schema = { $ref: `#/components/schemas/${name}` };
  // Without credentials, git-lfs gets the text that Git gets.
  const plain = name === "LfsError" && { "text/plain": { schema: MEDIA["text/plain"] } };
  const content = { [type]: { schema }, ...plain };
  return { description: "The reason why the request failed.", content };
}

/** The schemas that have a name: objects that are answered, and bodies. */
function namedSchemas(operations: readonly Documented[]): Json {
  const answered = new Map<string, string[]>();
  const note = (schema: Json, id: string) => {
    if (schema["type"] === "array") return note(schema["items"] as Json, id);
    const ids = answered.get(JSON.stringify(schema)) ?? [];
    if (schema["properties"]) answered.set(JSON.stringify(schema), [...ids, id]);
  };
  for (const { operationId, answers } of operations) {
    for (const [index, { presenter }] of answers.entries()) {
      const id = answers.length > 1 ? `${operationId}:${index + 1}` : operationId;
      note(objectSchema(presenter.fields), id);
    }
  }
  for (const { operationId, route } of operations) {
    if (route.examples) note(exampleSchema(route.examples), operationId);
    for (const [status, given] of Object.entries(route.alsoAnswers ?? {})) {
      const id = route.presenter ? `${operationId}:${status}` : operationId;
      if (given !== "the same") note(exampleSchema(given), id);
    }
  }
  const schemas: Json = {};
  const add = (name: string, schema: Json, ids: readonly string[]) => {
    if (name in schemas) throw new Error(`two schemas are ${name}: name ${ids} in names.ts`);
    schemas[name] = schema;
  };
  for (const [schema, ids] of answered) add(schemaName(ids), JSON.parse(schema), ids);
  for (const one of operations) {
    const body = one.parameters.filter(({ location }) => location === "body");
    if (body.length === 0) continue;
    add(bodyName(one), bodySchema(body, one.route.atLeastOne), [one.operationId]);
  }
  return schemas;
}

/** Generators name parameters of operations `…Request`. */
const bodyName = ({ operationId }: Documented) =>
  `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Body`;

/** Replaces inlined copies of named schemas by references. */
function linked(parts: { paths: Record<string, Json>; schemas: Json }): typeof parts {
  const names = new Map(
    Object.entries(parts.schemas).map(([name, schema]) => [JSON.stringify(schema), name]),
  );
  const link = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(link);
    if (typeof value !== "object" || value === null) return value;
    const name = names.get(JSON.stringify(value));
    return name === undefined ? within(value) : { $ref: `#/components/schemas/${name}` };
  };
  const within = (object: object): Json =>
    Object.fromEntries(Object.entries(object).map(([key, value]) => [key, link(value)]));
  const schemas = Object.entries(parts.schemas).map(([name, schema]) => [
    name,
    within(schema as Json),
  ]);
  return {
    paths: within(parts.paths) as Record<string, Json>,
    schemas: Object.fromEntries(schemas),
  };
}

const queryParameter = (name: string, description: string, more: Json): Json => ({
  name,
  in: "query",
  description,
  schema: { ...attributeSchema({ type: "integer" }), ...more },
});

function operation(resource: Described, of: Documented, schemas: Json): Json {
  const { route, operationId, parameters, takesTokens, takesScimTokens } = of;
  const { mount } = resource;
  const signedIn = [
    ...(takesTokens ? [{ privateToken: [] }] : []),
    ...(takesTokens || takesScimTokens ? [{ bearer: [] }] : []),
  ];
  return {
    operationId,
    tags: [resource.name],
    summary: route.summary,
    description: rights(of),
    security: route.access === "anyone" ? [{}, ...signedIn] : signedIn,
    parameters: [
      ...parameters.filter(({ location }) => location !== "body").map(parameterObject),
      ...(route.isList
        ? ["page", "per_page"].map((name) => ({ $ref: `#/components/parameters/${name}` }))
        : []),
    ],
    ...requestBody(of, schemas, mount.contentType ?? JSON_TYPE),
    responses: responsesOf(mount, of),
  };
}

/** The answers by status: that of success, others that are no errors, and errors. */
function responsesOf(mount: Described["mount"], { route, answers, status }: Documented): Json {
  const { examples, answersWith, alsoAnswers = {}, isList, method } = route;
  const json = mount.contentType ?? JSON_TYPE;
  const items = [
    ...answers.map(({ presenter }) => objectSchema(presenter.fields)),
    ...(examples ? [exampleSchema(examples)] : []),
  ];
  const item = items.length > 1 ? { anyOf: items } : items[0];
  const schema = item && isList ? { type: "array", items: item } : item;
  const content = schema
    ? { [json]: { schema } }
    : answersWith && { [answersWith]: { schema: MEDIA[answersWith] ?? {} } };
  const error = { $ref: `#/components/responses/${ERROR_OF[mount.name] ?? "Error"}` };
  return {
    [status]: status < 400 ? { description: "Success.", ...(content && { content }) } : error,
    ...Object.fromEntries(
      Object.entries(alsoAnswers).map(([other, bodies]) => [
        other,
        {
          description: "Success, too: see the summary.",
          ...(bodies === "the same"
            ? { content }
            : bodies.length > 0 && { content: { [json]: { schema: exampleSchema(bodies) } } }),
        },
      ]),
    ),
    ...(method === "GET" && !alsoAnswers[304] && status === 200
      ? { 304: { $ref: "#/components/responses/NotModified" } }
      : {}),
    "4XX": error,
    "5XX": error,
  };
}

function parameterObject({ name, location, required, notes }: Parameter): Json {
  const { description, ...schema } = attributeSchema(notes);
  return {
    name: notes.type.startsWith("array of ") ? `${name}[]` : name,
    in: location,
    ...(required ? { required } : {}),
    ...(description ? { description } : {}),
    ...(notes.type === "object" ? { style: "deepObject", explode: true } : {}),
    schema,
  };
}

/** Whether a form can say every value of an attribute: it has no lists, objects and `null`. */
const fitsForm = ({ notes: { type, clearable } }: Parameter) =>
  !clearable && !/^(array of|object$|JSON$)/.test(type);

/** What a body may be: JSON, a form if that can say it all and, if it has a file, multipart. */
function requestBody(of: Documented, schemas: Json, contentType: string): Json {
  const { route, parameters } = of;
  if (takesRawBody(route))
    return { requestBody: { content: { [BYTES]: { schema: MEDIA[BYTES] } } } };
  if (route.body === "object")
    return { requestBody: { content: { [contentType]: { schema: { type: "object" } } } } };
  const body = parameters.filter(({ location }) => location === "body");
  if (body.length === 0) return {};
  const hasFile = body.some(({ notes }) => notes.type === "file");
  const needsFile = body.some(({ notes, required }) => notes.type === "file" && required);
  const types = [
    ...(needsFile ? [] : [JSON_TYPE]),
    ...(!hasFile && body.every(fitsForm) ? ["application/x-www-form-urlencoded"] : []),
    ...(hasFile ? ["multipart/form-data"] : []),
  ];
  const schema = schemas[bodyName(of)];
  return {
    requestBody: {
      ...(body.some(({ required }) => required) || route.atLeastOne ? { required: true } : {}),
      content: Object.fromEntries(types.map((type) => [type, { schema }])),
    },
  };
}

function bodySchema(body: readonly Parameter[], atLeastOne: Route["atLeastOne"]): Json {
  return {
    ...attributesSchema(body.map(({ name, notes }) => [name, notes])),
    ...(atLeastOne ? { anyOf: atLeastOne.map((name) => ({ required: [name] })) } : {}),
  };
}
