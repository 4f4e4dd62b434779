// Derives a route's documentation from the route.
import { personalToken } from "../../src/auth/authenticators/personal.ts";
import { scimToken } from "../../src/auth/authenticators/scim.ts";
import type { Caller } from "../../src/core/access/caller.ts";
import type { Mount } from "../../src/core/http/mount.ts";
import { takesRawBody } from "../../src/core/http/raw-body.ts";
import type { AttributeNotes } from "../../src/core/input.ts";
import type { Presenter } from "../../src/core/presenter.ts";
import type { Resource, Route } from "../../src/core/resource.ts";
import { allMounts } from "../../src/mounts.ts";

/** A resource with its mount. */
export interface Described extends Resource {
  mount: Mount;
}

/** The resources for programs; pages are for people. Paths outside the REST API are shown as a whole. */
export const described: readonly Described[] = allMounts
  .filter(({ hasForms }) => !hasForms)
  .map((mount) => (mount.name === "REST API" ? mount : withWholePaths(mount)))
  .flatMap((mount) => mount.resources.map((resource) => ({ ...resource, mount })))
  .filter(({ routes }) => routes.length > 0);

function withWholePaths(mount: Mount): Mount {
  const resources = mount.resources.map((resource) => ({
    ...resource,
    routes: resource.routes.map((route) => ({ ...route, path: mount.base + route.path })),
  }));
  return { ...mount, base: "", resources };
}

/** An attribute of a route: where it is sent and its possible values. */
export interface Parameter {
  name: string;
  location: "path" | "query" | "body";
  required: boolean;
  notes: AttributeNotes;
}

/** The presenter of an answer, and the callers who get it if others get another. */
interface Answer {
  callers: string | undefined;
  presenter: Presenter;
}

/** A route with its documentation. */
export interface Documented {
  route: Route;
  operationId: string;
  parameters: Parameter[];
  scopes: readonly string[];
  status: number;
  answers: Answer[];
  /** Whether callers authenticate with the API's tokens. */
  takesTokens: boolean;
  /** Whether callers authenticate with SCIM tokens. Without either, the route handles that itself. */
  takesScimTokens: boolean;
}

const ID: AttributeNotes = {
  type: "string",
  about: "its id, or its full path with `/` encoded as `%2F`",
};

/** The status of success, if the route writes. */
const STATUS = { GET: 200, PUT: 200, PATCH: 200, POST: 201, DELETE: 204 };

/** Documents a route. */
export function documented({ mount }: Described, route: Route): Documented {
  return {
    route,
    operationId: operationIdOf(route),
    parameters: parametersOf(route),
    scopes: route.scopes ?? (route.isReading ? ["api", "read_api"] : ["api"]),
    status: route.status ?? (route.isReading ? 200 : STATUS[route.method]),
    answers: answersOf(route),
    takesTokens: mount.authenticators.includes(personalToken),
    takesScimTokens: mount.authenticators.includes(scimToken),
  };
}

/** `GET /groups/:id/boards/:board_id` → `getGroupsIdBoardsBoardId`; `/-/` becomes `Dash`. */
function operationIdOf({ method, path }: Route): string {
  const words = path
    .replace("/-/", "/dash/")
    .split(/\W+|_/)
    .filter((word) => word !== "");
  const camel = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return method.toLowerCase() + camel;
}

function parametersOf(route: Route): Parameter[] {
  const input = Object.entries(route.input ?? {});
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const hasNoFields =
    ["GET", "DELETE"].includes(route.method) || takesRawBody(route) || route.body === "object";
  const elsewhere = hasNoFields ? "query" : "body";
  const notes = new Map(input.map(([name, schema]) => [name, schema.notes]));
  return [
    ...inPath.map((name) => ({
      name,
      location: "path" as const,
      required: true,
      notes: notes.get(name) ?? ID,
    })),
    ...[...notes]
      .filter(([name]) => !inPath.includes(name))
      .map(
        ([name, of]) => ({ name, location: elsewhere, required: !of.optional, notes: of }) as const,
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
const CALLERS: { callers: string; caller: Caller | undefined; access: Route["access"][] }[] = [
  { callers: "callers without a token", caller: undefined, access: ["anyone"] },
  { callers: "users", caller: USER, access: ["anyone", "user"] },
  {
    callers: "administrators",
    caller: { ...USER, admin: true },
    access: ["anyone", "user", "admin"],
  },
];

/** Values of a required attribute that the presenter may depend on, each with the words for it. */
function choicesOf(input: Route["input"] = {}): { words: string; sent: Record<string, string> }[] {
  const required = Object.entries(input).flatMap(([name, schema]) => {
    const { values, optional } = schema.notes;
    return values && !optional ? [{ name, values }] : [];
  });
  const [{ name, values } = { name: "", values: [] }] = required;
  return values.map((value) => ({
    words: `\`${name}=${value}\``,
    sent: { [name]: String(value) },
  }));
}

/**
 * If the presenter depends on the caller or on a required attribute: the answer for each kind of caller and each value,
 * without optional parameters.
 */
function answersOf({ presenter, access = "user", input }: Route): Answer[] {
  if (presenter === undefined) return [];
  if (typeof presenter !== "function") return [{ callers: undefined, presenter }];
  const byPresenter = new Map<Presenter, string[]>();
  const note = (chosen: Presenter, words: string) =>
    byPresenter.set(chosen, [...(byPresenter.get(chosen) ?? []), words]);
  const choices = choicesOf(input);
  for (const { callers, caller, access: reached } of CALLERS) {
    if (!reached.includes(access)) continue;
    if (choices.length === 0) note(presenter({ caller, input: {} }), callers);
  }
  for (const { words, sent } of choices) {
    note(presenter({ caller: USER, input: sent }), `those who send ${words}`);
  }
  const isSame = byPresenter.size === 1;
  return [...byPresenter].map(([chosen, callers]) => ({
    callers: isSame ? undefined : callers.join(" and "),
    presenter: chosen,
  }));
}
