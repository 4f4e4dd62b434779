import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formatsModule from "ajv-formats";
import { inOpenApi } from "../docs/generate/documented.ts";
import type { Answer } from "./helpers.ts";

interface Content {
  readonly schema?: object;
}
interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, Content>>;
}
interface Operation {
  readonly responses: Readonly<Record<string, Response>>;
}

/** docs/openapi.json. */
export const openapi = JSON.parse(
  readFileSync(new URL("../docs/openapi.json", import.meta.url), "utf8"),
) as {
  paths: Record<string, Record<string, Operation> & { servers?: unknown }>;
  components: {
    schemas: Record<string, object>;
    responses: Record<string, Response>;
  };
};

/** A schema that allows no properties beyond the documented ones. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, closed(one)]));
  const isClosed =
    inner["properties"] && inner["type"] === "object" && !("additionalProperties" in inner);
  return isClosed ? { ...inner, additionalProperties: false } : inner;
}

// CommonJS: the types declare `default`, but Node imports the function itself.
const formats = formatsModule as unknown as (ajv: Ajv2020) => void;
let ajv: Ajv2020 | undefined;
const validators = new Map<string, ValidateFunction>();

/** The validator of a schema of openapi.json, by its JSON pointer; compiled when it is first needed. */
function validatorAt(pointer: string): ValidateFunction {
  if (ajv === undefined) {
    ajv = new Ajv2020({ strict: false, validateSchema: false });
    formats(ajv);
    ajv.addSchema(closed(openapi) as object, "api");
  }
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `api#${encodeURI(pointer)}` });
  validators.set(pointer, validate);
  return validate;
}

const escaped = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");

/** Which paths a route has: those with more that is fixed come first. */
const routes = inOpenApi
  .flatMap(({ mount, routes: own }) =>
    own.map(({ method, path }) => ({
      method,
      path: path.replace(/:(\w+)\*?/g, "{$1}"),
      pattern: new RegExp(
        `^${(mount.base + path)
          .replaceAll(".", "\\.")
          .replace(/:\w+\*/g, ".+")
          .replace(/:\w+/g, "[^/]+")}$`,
      ),
      fixed: path.replace(/:\w+\*/g, "\u0000").replace(/:\w+/g, "\u0001"),
    })),
  )
  .sort((one, other) => (one.fixed < other.fixed ? 1 : -1));
/**
 * What of an answer is not as openapi.json says; `undefined` if it is, or if no operation has that address.
 *
 * @param path of the URL
 */
export function undocumented(
  method: string,
  path: string,
  { status, headers, json }: Pick<Answer, "status" | "headers" | "json">,
): string | undefined {
  const route = routes.find((one) => one.method === method && one.pattern.test(path));
  if (!route) return undefined;
  const operation = openapi.paths[route.path]?.[method.toLowerCase()];
  if (!operation) return undefined;
  const { responses } = operation;
  const key = String(status) in responses ? String(status) : `${String(status).charAt(0)}XX`;
  const said = responses[key];
  const where = `${method} ${route.path} ${status}`;
  if (!said) return `${where}: the status`;
  const pointer =
    said.$ref?.slice(1) ?? `/paths/${escaped(route.path)}/${method.toLowerCase()}/responses/${key}`;
  const shared = said.$ref?.split("/").at(-1) ?? "";
  const { content = {} } = openapi.components.responses[shared] ?? said;
  const type = headers.get("content-type")?.split(";")[0];
  const types = Object.keys(content);
  if (type === undefined)
    return types.length === 0 || json === undefined ? undefined : `${where}: no type`;
  // Files are of any type, and pictures of any that pictures have.
  const any = ["application/octet-stream", `${type.split("/")[0]}/*`];
  if (![type, ...any].some((one) => types.includes(one)))
    return `${where}: ${type}, not ${types.join(", ") || "none"}`;
  if (!content[type]?.schema || json === undefined) return undefined;
  const validate = validatorAt(`${pointer}/content/${escaped(type)}/schema`);
  if (validate(json)) return undefined;
  return `${where}: ${JSON.stringify(validate.errors)}`;
}

/** All schemas of openapi.json, with where they are. */
export function allSchemas(): { at: string; schema: object }[] {
  const found: { at: string; schema: object }[] = [];
  const walk = (value: unknown, at: string) => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, one] of Object.entries(value)) {
      const below = `${at}/${key}`;
      if (key === "schema" || at === "/components/schemas") found.push({ at: below, schema: one });
      else walk(one, below);
    }
  };
  walk(openapi, "");
  return found;
}
