// What the documents say of a route, from the route.
import type { Caller } from "../../src/core/auth.ts";
import { type AttributeNotes, notesOf } from "../../src/core/input.ts";
import type { Shape } from "../../src/core/present.ts";
import type { Resource, Route } from "../../src/core/resource.ts";
import { everything } from "../../src/doors.ts";

/** What programs call: pages are for people. */
export const described: readonly Resource[] = everything.filter(
  ({ door, routes }) => door?.credentials !== "session" && routes.length > 0,
);

/** An attribute of a route: where it is sent and what it may be. */
export interface Parameter {
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
export interface Documented {
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

/** What is to be said of a route. */
export function documented({ door }: Resource, route: Route): Documented {
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
