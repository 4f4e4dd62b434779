// `npm run docs`: writes reference.md and openapi.json from the routes. test/docs fails while they are not current.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Caller } from "../src/core/auth.ts";
import { type AttributeNotes, notesOf } from "../src/core/input.ts";
import type { Field, Fields, Shape } from "../src/core/present.ts";
import type { Resource, Route } from "../src/core/resource.ts";
import { VERSION } from "../src/core/version.ts";
import { everything } from "../src/doors.ts";

/** What programs call: pages are for people. */
export const described: readonly Resource[] = everything.filter(
  ({ door, routes }) => door?.credentials !== "session" && routes.length > 0,
);

/** An attribute of a route: where it is sent and what it may be. */
interface Parameter {
  name: string;
  place: "path" | "query" | "body";
  required: boolean;
  notes: AttributeNotes;
}

/** What a caller gets: a shape, and who gets it where that differs. */
interface Answer {
  to: string | undefined;
  shape: Shape;
}

/** A route with what the documents say of it. */
interface Documented {
  route: Route;
  operationId: string;
  parameters: Parameter[];
  scopes: readonly string[];
  status: number;
  answers: Answer[];
  /** Whether the API's tokens say who calls; else the route sees to that itself. */
  takesTokens: boolean;
  /** Whether a page of them is answered. */
  isList: boolean;
}

const ID: AttributeNotes = { type: "string", about: "its id, or its full path with `/` as `%2F`" };

function documented({ door }: Resource, route: Route): Documented {
  return {
    route,
    operationId: operationIdOf(route),
    parameters: parametersOf(route),
    scopes: route.scopes ?? (route.method === "GET" ? ["api", "read_api"] : ["api"]),
    status: route.status ?? { GET: 200, PUT: 200, POST: 201, DELETE: 204 }[route.method],
    answers: answersOf(route),
    takesTokens: door?.credentials !== "none",
    isList: route.method === "GET" && route.summary.startsWith("List "),
  };
}

/** `GET /groups/:id/boards/:board_id` → `getGroupsIdBoardsBoardId`. */
function operationIdOf({ method, path }: Route): string {
  const words = path.split(/\W+|_/).filter((word) => word !== "");
  const camel = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return method.toLowerCase() + camel;
}

function parametersOf(route: Route): Parameter[] {
  const input = Object.entries(route.input ?? {});
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const elsewhere = route.method === "GET" || route.method === "DELETE" ? "query" : "body";
  const notes = new Map(input.map(([name, schema]) => [name, notesOf(schema)]));
  return [
    ...inPath.map((name) => ({
      name,
      place: "path" as const,
      required: true,
      notes: notes.get(name) ?? ID,
    })),
    ...[...notes]
      .filter(([name]) => !inPath.includes(name))
      .map(
        ([name, of]) => ({ name, place: elsewhere, required: !of.optional, notes: of }) as const,
      ),
  ];
}

const USER: Caller = {
  id: 1,
  username: "ada",
  admin: false,
  external: false,
  scopes: ["api"],
  by: { kind: "token", id: 1 },
};
const CALLERS: { to: string; caller: Caller | undefined; access: Route["access"][] }[] = [
  { to: "callers without a token", caller: undefined, access: ["anyone"] },
  { to: "users", caller: USER, access: ["anyone", "user"] },
  { to: "administrators", caller: { ...USER, admin: true }, access: ["anyone", "user", "admin"] },
];

/** Where the presenter depends on the caller, what each kind of caller gets who sends nothing optional. */
function answersOf({ present, access = "user" }: Route): Answer[] {
  if (present === undefined) return [];
  if (typeof present !== "function") return [{ to: undefined, shape: present }];
  const byShape = new Map<Shape, string[]>();
  for (const { to, caller, access: reached } of CALLERS) {
    if (!reached.includes(access)) continue;
    const shape = present({ caller, input: {} });
    byShape.set(shape, [...(byShape.get(shape) ?? []), to]);
  }
  const alone = byShape.size === 1;
  return [...byShape].map(([shape, to]) => ({ to: alone ? undefined : to.join(" and "), shape }));
}

/** The reference for people, in Markdown. */
export function reference(of: readonly Resource[] = described): string {
  const known = new Map<Shape, string>();
  return [
    "<!-- Generated from the routes by `npm run docs`: change those. -->",
    "",
    "# Reference",
    "",
    "Paths are below `/api/v4`, but for those that begin with `/-`, `/oauth` or `/.well-known`. Attributes are sent in",
    "the query or, except with GET, as a JSON object, a form or multipart. `null` and, but for text, an empty value count",
    "as not sent, or clear what can be cleared. Lists take `page` and `per_page`, and answer with `Link` and the `X-`",
    "headers. `search` and `query` find what contains the text, whatever the case of its letters. What is wrong is told",
    "as [errors.md](errors.md) says. [openapi.json](openapi.json) has the same for machines.",
    "",
    ...of.map(({ name }) => `- [${name}](#${anchor(name)})`),
    "",
    ...of.flatMap((resource) => [
      `## ${resource.name}`,
      "",
      ...resource.routes.flatMap((route) => section(documented(resource, route), known)),
    ]),
  ].join("\n");
}

function section(of: Documented, known: Map<Shape, string>): string[] {
  const { route, parameters, isList, status } = of;
  const title = `${route.method} ${route.path}`;
  const lines = [`### ${title}`, "", `${route.summary}.`, "", rights(of), ""];
  if (parameters.length > 0) {
    lines.push("| attribute | | type | |", "|---|---|---|---|", ...parameters.map(row));
    if (route.atLeastOne) {
      lines.push("", `At least one of ${list(route.atLeastOne.map(code), "or")} is needed.`);
    }
    lines.push("");
  }
  if (of.answers.length === 0) lines.push(`Answers ${status}.`, "");
  for (const { to, shape } of of.answers) {
    const whom = to === undefined ? "" : ` to ${to}`;
    const what = isList ? "a page of what" : "what";
    const before = known.get(shape);
    if (before !== undefined) {
      lines.push(`Answers ${status}${whom} with ${what} [${before}](#${anchor(before)}) has.`, "");
    } else {
      lines.push(`Answers ${status}${whom}${isList ? " with a page of" : " with"}`, "");
      lines.push("```", written(shape.fields, ""), "```", "");
      known.set(shape, title);
    }
  }
  return lines;
}

const WHO = { anyone: "Anyone", user: "Users", admin: "Administrators" };

/** Who may call, with which token, in which tier. */
function rights({ route, scopes, takesTokens }: Documented): string {
  const { access = "user", role, tier = "free" } = route;
  const kind = /^\/(group|project)s\/:id/.exec(route.path)?.[1];
  const needed =
    typeof role === "string"
      ? ` who are at least ${role} of the ${kind}`
      : role
        ? `, whose role in the ${kind} depends on what is asked`
        : kind
          ? ` who may read the ${kind}`
          : "";
  const token = access === "anyone" ? "A token, where one is sent, has" : "The token has";
  return [
    `${WHO[access]}${needed}.`,
    ...(takesTokens ? [`${token} the scope ${list(scopes.map(code), "or")}.`] : []),
    ...(tier === "free" ? [] : [`Tier: ${tier}.`]),
  ].join(" ");
}

function row({ name, required, notes }: Parameter): string {
  const values = notes.values ? `one of ${list(notes.values.map(code), "or")}` : notes.about;
  const said = [values, bounds(notes)].filter((one) => one !== undefined).join("; ");
  return `| \`${name}\` | ${required ? "required" : ""} | ${notes.type} | ${said} |`;
}

/** How long a text, or how many of what a list may be. */
function bounds({ maxItems, maxLength }: AttributeNotes): string | undefined {
  const characters = maxLength && `at most ${maxLength} characters`;
  const entries = maxItems && `at most ${maxItems} entries`;
  return [entries, characters].filter(Boolean).join(" of ") || undefined;
}

/** Fields as the object they make, with types for values. */
function written(fields: Fields, indent: string): string {
  const inner = Object.entries(fields).map(([name, field]) => {
    const value = field.fields ? written(field.fields, `${indent}  `) : field.type;
    return `${indent}  ${name}${field.omitted ? "?" : ""}: ${value}`;
  });
  return `{\n${inner.join("\n")}\n${indent}}`;
}

const code = (text: string) => `\`${text}\``;

function list(words: readonly string[], conjunction: string): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${conjunction} ${words.at(-1)}`;
}

/** The anchor GitHub gives a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}

type Json = Record<string, unknown>;

/** The same as an OpenAPI 3.1 document. */
export function openapi(of: readonly Resource[] = described): Json {
  const schemas: Json = {};
  const names = new Map<Shape, string>();
  const paths: Record<string, Json> = {};
  for (const resource of of) {
    for (const route of resource.routes) {
      const path = route.path.replace(/:(\w+)/g, "{$1}");
      paths[path] ??= resource.door?.base === "" ? { servers: [{ url: "/" }] } : {};
      paths[path][route.method.toLowerCase()] = operation(
        resource,
        documented(resource, route),
        (shape, id) => {
          const name = names.get(shape) ?? `${id}Answer`;
          names.set(shape, name);
          schemas[name] ??= objectSchema(shape.fields);
          return { $ref: `#/components/schemas/${name}` };
        },
      );
    }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "pm-api",
      version: VERSION,
      summary: "Project management that speaks GitLab's REST v4 dialect.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/api/v4" }],
    tags: of.map(({ name }) => ({ name })),
    paths,
    components: {
      schemas,
      parameters: {
        page: queryParameter("page", { type: "integer", default: 1 }),
        per_page: queryParameter("per_page", { type: "integer", default: 20, maximum: 100 }),
      },
      responses: {
        Error: {
          description: "What was wrong with the request.",
          content: { "application/json": { schema: { type: "object" } } },
        },
      },
      securitySchemes: {
        privateToken: { type: "apiKey", in: "header", name: "Private-Token" },
        bearer: { type: "http", scheme: "bearer" },
      },
    },
  };
}

const queryParameter = (name: string, schema: Json): Json => ({ name, in: "query", schema });

function operation(
  resource: Resource,
  of: Documented,
  schemaOf: (shape: Shape, operationId: string) => Json,
): Json {
  const { route, operationId, parameters, answers, takesTokens, isList, status } = of;
  const body = parameters.filter(({ place }) => place === "body");
  const references = answers.map(({ to, shape }, index) =>
    schemaOf(shape, index === 0 ? operationId : `${operationId}To${to?.replace(/\W/g, "")}`),
  );
  const item = references.length > 1 ? { anyOf: references } : references[0];
  const schema = isList ? { type: "array", items: item } : item;
  const signedIn = takesTokens ? [{ privateToken: [] }, { bearer: [] }] : [];
  return {
    operationId,
    tags: [resource.name],
    summary: route.summary,
    description: rights(of),
    security: route.access === "anyone" ? [{}, ...signedIn] : signedIn,
    parameters: [
      ...parameters.filter(({ place }) => place !== "body").map(parameterObject),
      ...(isList
        ? ["page", "per_page"].map((name) => ({ $ref: `#/components/parameters/${name}` }))
        : []),
    ],
    ...(body.length > 0 ? { requestBody: requestBody(body) } : {}),
    responses: {
      [status]: {
        description: "Success.",
        ...(schema ? { content: { "application/json": { schema } } } : {}),
      },
      "4XX": { $ref: "#/components/responses/Error" },
    },
  };
}

function parameterObject({ name, place, required, notes }: Parameter): Json {
  const schema = attributeSchema(notes);
  return {
    name: schema["type"] === "array" ? `${name}[]` : name,
    in: place,
    ...(required ? { required } : {}),
    ...(notes.about ? { description: notes.about } : {}),
    schema,
  };
}

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

function attributeSchema({ type, values, maxLength, maxItems }: AttributeNotes): Json {
  const longest = maxLength === undefined ? {} : { maxLength };
  if (type.startsWith("array of ")) {
    const items = attributeSchema({ type: type.slice("array of ".length), ...longest });
    return { type: "array", items, maxItems };
  }
  if (type === "comma-separated string") return { type: "string" };
  if (type === "integer" && values) return { type, enum: values.map(Number) };
  if (type === "integer" || type === "boolean") return { type };
  if (type === "date") return { type: "string", format: "date" };
  if (type === "timestamp") return { type: "string", format: "date-time" };
  return { type: "string", ...longest, ...(values ? { enum: values } : {}) };
}

function objectSchema(fields: Fields): Json {
  const entries = Object.entries(fields);
  return {
    type: "object",
    properties: Object.fromEntries(
      entries.map(([name, field]) => [name, fieldSchema(name, field)]),
    ),
    required: entries.filter(([, field]) => !field.omitted).map(([name]) => name),
  };
}

/** Columns say nothing of null, so all but ids and flags may be. */
function fieldSchema(name: string, { type, fields, columns }: Field): Json {
  if (fields) return { ...objectSchema(fields), type: ["object", "null"] };
  if (columns.length === 0) return { const: JSON.parse(type) };
  if (type === "boolean" || (type === "integer" && name === "id")) return { type };
  if (type.startsWith("array")) return { type: ["array", "null"] };
  if (type === "integer" || type === "object") return { type: [type, "null"] };
  if (type === "timestamp") return { type: ["string", "null"], format: "date-time" };
  if (type === "date") return { type: ["string", "null"], format: "date" };
  if (type === "URL") return { type: ["string", "null"], format: "uri" };
  if (type.includes(", ")) return { enum: [...type.split(", "), null] };
  return { type: ["string", "null"] };
}

/** The generated documents by their place beside this file. */
export const documents: Record<string, () => string> = {
  "reference.md": reference,
  "openapi.json": () => `${JSON.stringify(openapi(), null, 2)}\n`,
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, generate] of Object.entries(documents)) {
    writeFileSync(new URL(name, import.meta.url), generate());
  }
}
