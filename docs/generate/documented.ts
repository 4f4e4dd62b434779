// Derives a route's documentation from the route.
import { PROGRAM_ADDRESSES } from "../../src/addresses/index.ts";
import { personalToken } from "../../src/auth/authenticators/personal.ts";
import { scimToken } from "../../src/auth/authenticators/scim.ts";
import type { Caller } from "../../src/core/access/caller.ts";
import type { Mount } from "../../src/core/http/mount.ts";
import { takesRawBody } from "../../src/core/http/raw-body.ts";
import type { AttributeNotes } from "../../src/core/input.ts";
import type { Presenter } from "../../src/core/presenter.ts";
import type { Resource, Route } from "../../src/core/resource.ts";
import { allMounts } from "../../src/mounts.ts";
import { SITE_HOSTS } from "../../src/resources/sites/addresses.ts";
import { meaningOf } from "./meanings.ts";
import { operationName } from "./names.ts";
import { isRequired } from "./schemas.ts";

/** A resource with its mount. */
export interface Described extends Resource {
  mount: Mount;
}

/** The resources for programs; pages are for people, and hosts of sites have what somebody else has made. Paths outside the REST API are shown as a whole. */
export const described: readonly Described[] = allMounts
  .filter(({ name, hasForms }) => !hasForms && name !== SITE_HOSTS.name)
  .map((mount) => (mount.name === "REST API" ? mount : withWholePaths(mount)))
  .flatMap((mount) => mount.resources.map((resource) => ({ ...resource, mount })))
  .filter(({ routes }) => routes.length > 0);

/** What openapi.json describes: its parameters of paths have no slashes, as most addresses' do. */
export const inOpenApi = described.filter(({ mount }) => mount.name !== PROGRAM_ADDRESSES.name);

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
  /** The name of the resource that declares it. */
  resource: string;
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

const FULL_PATH: AttributeNotes = { type: "string", about: "its full path" };

/** Documents a route. */
export function documented({ mount, name }: Described, route: Route): Documented {
  return {
    route,
    resource: name,
    get operationId() {
      return operationName(route);
    },
    parameters: parametersOf(route, name),
    scopes: route.scopes ?? (route.isReading ? ["api", "read_api"] : ["api"]),
    status: route.status ?? statusOf(route),
    answers: answersOf(route),
    takesTokens: mount.authenticators.includes(personalToken),
    takesScimTokens: mount.authenticators.includes(scimToken),
  };
}

/** The status of success that the pipeline answers. */
function statusOf({ method, isReading, presenter, examples, answersWith }: Route): number {
  if (isReading) return 200;
  if (!presenter && !examples && answersWith === undefined) return 204;
  return method === "POST" ? 201 : 200;
}

function parametersOf(route: Route, resource: string): Parameter[] {
  const input = Object.entries(route.input ?? {});
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const ofId = route.path.startsWith("/:id*") ? FULL_PATH : ID;
  const hasNoFields =
    ["GET", "DELETE"].includes(route.method) || takesRawBody(route) || route.body === "object";
  const elsewhere = hasNoFields ? "query" : "body";
  const notes = new Map(
    input.map(([name, schema]) => [name, explained(schema.notes, resource, name)]),
  );
  return [
    ...inPath.map((name) => ({
      name,
      location: "path" as const,
      required: true,
      notes: notes.get(name) ?? ofId,
    })),
    ...[...notes]
      .filter(([name]) => !inPath.includes(name))
      .map(
        ([name, of]) =>
          ({ name, location: elsewhere, required: isRequired(of), notes: of }) as const,
      ),
  ];
}

/** What is said of attributes without an effect that have no meaning of their own. */
const WITHOUT = {
  effect: "kept, without any effect",
  support: "there is none of it here: only a value that asks for nothing",
};

/** An attribute's notes, with what it means. */
function explained(notes: AttributeNotes, resource: string, name: string): AttributeNotes {
  const about =
    notes.about ?? meaningOf(resource, name) ?? (notes.without && WITHOUT[notes.without]);
  return { ...notes, ...(about !== undefined && { about }) };
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

/** What a presenter may depend on: values of a required attribute or else, beside nothing, of each optional one. */
function choicesOf(input: Route["input"] = {}): { words: string; sent: Record<string, unknown> }[] {
  const choices = Object.entries(input).map(([name, { notes }]) => {
    const values = notes.values ?? (notes.type === "boolean" ? [true, false] : []);
    const sent = values.map((value) => ({
      words: `\`${name}=${value}\``,
      sent: { [name]: value },
    }));
    return { isRequired: !notes.optional, sent };
  });
  const required = choices.find(({ isRequired, sent }) => isRequired && sent.length > 0);
  return required
    ? required.sent
    : [{ words: "", sent: {} }, ...choices.flatMap(({ sent }) => sent)];
}

/** If the presenter depends on the caller or on attributes: the answer to each kind of caller, and each value. */
function answersOf({ presenter, access = "user", input }: Route): Answer[] {
  if (presenter === undefined) return [];
  if (typeof presenter !== "function") return [{ callers: undefined, presenter }];
  const byPresenter = new Map<Presenter, string[]>();
  for (const { words, sent } of choicesOf(input)) {
    for (const { callers, caller, access: reached } of CALLERS) {
      if (!reached.includes(access)) continue;
      const chosen = presenter({ caller, input: sent });
      const known = byPresenter.get(chosen) ?? [];
      // What is answered without an attribute need not be said of those who send it.
      if (words === "") byPresenter.set(chosen, [...known, callers]);
      else if (known.length === 0) byPresenter.set(chosen, [`those who send ${words}`]);
      else if (known.every((one) => one.startsWith("those"))) {
        byPresenter.set(chosen, [...new Set([...known, `those who send ${words}`])]);
      }
    }
  }
  const isSame = byPresenter.size === 1;
  return [...byPresenter].map(([chosen, callers]) => ({
    callers: isSame ? undefined : callers.join(" and "),
    presenter: chosen,
  }));
}
