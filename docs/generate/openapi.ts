// The reference for machines.

import { takesRawBody } from "../../src/core/http/raw-body.ts";
import type { Presenter } from "../../src/core/presenter.ts";
import { VERSION } from "../../src/core/version.ts";
import {
  type Described,
  type Documented,
  described,
  documented,
  type Parameter,
} from "./documented.ts";
import { rights } from "./reference.ts";
import { attributeSchema, exampleSchema, type Json, objectSchema } from "./schemas.ts";
import { TAGS } from "./tags.ts";

/** The reference as an OpenAPI 3.1 document. */
export function openapi(of: readonly Described[] = described): Json {
  const schemas: Json = {};
  const names = new Map<Presenter, string>();
  const paths: Record<string, Json> = {};
  for (const resource of of) {
    for (const route of resource.routes) {
      const path = route.path.replace(/:(\w+)\*?/g, "{$1}");
      paths[path] ??= resource.mount.base === "" ? { servers: [{ url: "/" }] } : {};
      paths[path][route.method.toLowerCase()] = operation(
        resource,
        documented(resource, route),
        (presenter, id) => {
          const name = names.get(presenter) ?? nameOf(resource, id, schemas);
          names.set(presenter, name);
          schemas[name] ??= objectSchema(presenter.fields);
          return { $ref: `#/components/schemas/${name}` };
        },
      );
    }
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
      schemas: written.schemas,
      parameters: {
        page: queryParameter("page", { type: "integer", default: 1 }),
        per_page: queryParameter("per_page", { type: "integer", default: 20, maximum: 100 }),
      },
      responses: {
        Error: {
          description: "The reason why the request failed.",
          content: { "application/json": { schema: ERROR } },
        },
      },
      securitySchemes: {
        privateToken: { type: "apiKey", in: "header", name: "Private-Token" },
        bearer: { type: "http", scheme: "bearer" },
      },
    },
  };
}

const JSON_TYPE = "application/json";

const ERROR: Json = {
  type: "object",
  properties: {
    message: { description: "A text, or the errors of each attribute." },
    error: { type: "string" },
    error_description: { type: "string" },
  },
};

/** `Issue` for a resource's first presenter, `IssueDetails` for the next, then the operation's id with `Answer`. */
function nameOf({ name }: Described, id: string, taken: Json): string {
  const words = name.replace(/^Group issue /, "").split(/\W+/);
  const camel = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  const one = camel.replace(/ies$/, "y").replace(/([^s])s$/, "$1");
  return [one, `${one}Details`].find((word) => taken[word] === undefined) ?? `${id}Answer`;
}

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

const queryParameter = (name: string, schema: Json): Json => ({ name, in: "query", schema });

function operation(
  resource: Described,
  of: Documented,
  schemaOf: (presenter: Presenter, operationId: string) => Json,
): Json {
  const { route, operationId, parameters, answers, takesTokens, takesScimTokens, status } = of;
  const { isList } = route;
  const { contentType = JSON_TYPE } = resource.mount;
  const body = parameters.filter(({ location }) => location === "body");
  const references = answers.map(({ callers, presenter }, index) =>
    schemaOf(
      presenter,
      index === 0 ? operationId : `${operationId}To${callers?.replace(/\W/g, "")}`,
    ),
  );
  if (route.examples) references.push(exampleSchema(route.examples));
  const item = references.length > 1 ? { anyOf: references } : references[0];
  const schema = isList ? { type: "array", items: item } : item;
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
      ...(isList
        ? ["page", "per_page"].map((name) => ({ $ref: `#/components/parameters/${name}` }))
        : []),
    ],
    ...(body.length > 0 ? { requestBody: requestBody(body) } : {}),
    ...(takesRawBody(route) ? { requestBody: RAW_BODY } : {}),
    ...(route.body === "object" ? { requestBody: { content: { [contentType]: {} } } } : {}),
    responses: {
      [status]: {
        description: "Success.",
        ...(schema ? { content: { [contentType]: { schema } } } : {}),
      },
      ...(contentType === JSON_TYPE ? { "4XX": { $ref: "#/components/responses/Error" } } : {}),
    },
  };
}

function parameterObject({ name, location, required, notes }: Parameter): Json {
  const schema = attributeSchema(notes);
  return {
    name: schema["type"] === "array" ? `${name}[]` : name,
    in: location,
    ...(required ? { required } : {}),
    ...(notes.about ? { description: notes.about } : {}),
    schema,
  };
}

/** Of any type, not only this one. */
const RAW_BODY: Json = { content: { "application/octet-stream": {} } };

function requestBody(attributes: readonly Parameter[]): Json {
  const required = attributes.filter((one) => one.required).map(({ name }) => name);
  const schema = {
    type: "object",
    properties: Object.fromEntries(
      attributes.map(({ name, notes }) => [name, attributeSchema(notes)]),
    ),
    ...(required.length > 0 ? { required } : {}),
  };
  return {
    ...(required.length > 0 ? { required: true } : {}),
    content: {
      "application/json": { schema },
      "application/x-www-form-urlencoded": { schema },
    },
  };
}
