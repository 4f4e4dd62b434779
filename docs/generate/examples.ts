// Requests to the routes, as lines for a shell, and what is answered: really asked of a server in memory, whose clock
// stands still.

import { scimToken } from "../../src/auth/authenticators/scim.ts";
import { takesRawBody } from "../../src/core/http/raw-body.ts";
import type { AttributeNotes } from "../../src/core/input.ts";
import type { Route } from "../../src/core/resource.ts";
import { createWorld, type World } from "../../src/testing/world.ts";
import { filePartOf } from "../../test/api/routes.ts";
import {
  createFixtures,
  fixtureSeed,
  type Places,
  placesIn,
  valuesOf,
} from "../../test/fixtures.ts";
import { call, tokenOf } from "../../test/helpers.ts";
import { type Described, documented, inOpenApi } from "./documented.ts";
import { type Ask, EXAMPLES, type Json, NAMED, TYPED } from "./example-values.ts";
import { isRequired } from "./schemas.ts";

/** A request and its answer. */
export interface Example {
  /** A line with curl, which takes the server's address from `$GITLAB`, and tokens from variables such as `$TOKEN`. */
  curl: string;
  status: number;
  /** The answer, if it is JSON: of lists the first entry, and the beginning of long texts. */
  json: unknown;
}

/** Where the server of the examples says it is. */
const ADDRESS = "https://gitlab.example.com";
/** Mounts whose addresses are found in answers, or are used by Git. */
const UNASKED = ["Addresses", "Git"];
/** Who calls, if nobody in particular does. */
const TOKEN = '--header "PRIVATE-TOKEN: $TOKEN"';
const TEXT = "A text";

/** With what the server of the examples starts. */
export const START = {
  seed: fixtureSeed(1),
  now: "2026-01-15T09:30:00Z",
  webhooks: "keep",
} as const;

/** Adds a record of every kind, as tests that are generated from the routes have them. */
export async function fill({ admin, app }: Pick<World, "admin" | "app">): Promise<Places> {
  const calls = {
    admin,
    call: async (request: string, options?: Parameters<typeof call>[2]) => {
      const answer = await call(app, request, options);
      // Pipelines that follow from it get their numbers before those of the next request.
      await admin.maintenance.runPipelines();
      return answer;
    },
  };
  // The topics are those of the tests' toy.
  await createFixtures(calls, 1, ["Topics"]);
  return placesIn(calls, "acme", "acme/site");
}

let made: Promise<ReadonlyMap<Route, Example>> | undefined;

/** An example of each route, asked once. */
export function examples(): Promise<ReadonlyMap<Route, Example>> {
  made ??= make();
  return made;
}

async function make(): Promise<ReadonlyMap<Route, Example>> {
  const world = await createWorld(START);
  try {
    const places = await fill(world);
    await world.admin.maintenance.runPipelines();
    await world.snapshots.save("filled");
    const found = new Map<Route, Example>();
    for (const resource of inOpenApi) {
      if (UNASKED.includes(resource.mount.name)) continue;
      for (const route of resource.routes) {
        // Each request finds the same. The projects' objects are read beforehand, as on a server that has run a while.
        await world.snapshots.restore("filled");
        await call(world.app, "GET /projects/acme%2Fsite/jobs", { as: "admin" });
        found.set(route, await example(world, resource, route, places));
      }
    }
    return found;
  } finally {
    await world.close();
  }
}

async function example(
  { app, admin }: World,
  resource: Described,
  route: Route,
  places: Places,
): Promise<Example> {
  const { method, path } = route;
  const special = EXAMPLES[`${method} ${path}`] ?? {};
  const ask: Ask = async (request, given, as = "admin", more = {}) => {
    const options = given instanceof FormData ? { body: given } : given && { json: given };
    const headers = { "user-agent": "curl/8.5.0", ...more };
    const from = { as, headers, ip: "192.0.2.10" };
    const {
      headers: answered,
      status,
      text,
      json,
    } = await call(app, request, {
      ...from,
      ...options,
    });
    if (status >= 400) throw new Error(`before ${method} ${path}: ${request}: ${status} ${text}`);
    return json ?? { location: answered.get("location") };
  };
  const before = await special.before?.(ask);
  // Those of commits get their numbers before what is asked for.
  await admin.maintenance.runPipelines();
  const isScim = resource.mount.authenticators.includes(scimToken);
  const { as = isScim ? "anonymous" : "admin" } = special;
  const provider = isScim && (await ask("POST /groups/acme/scim_tokens", { name: "IdP" }));
  const headers: Record<string, string> = {
    ...special.headers,
    ...before?.headers,
    ...(provider && { Authorization: `Bearer ${provider.token}` }),
  };

  const inPath: Json = { ...valuesOf(route, places), ...special.params, ...before?.params };
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const given = { ...leastOf(resource, route, places), ...special.sent, ...before?.sent };
  const sent = Object.entries(given).filter(([name]) => !names.includes(name));
  const filled = path.replace(/:(\w+)\*?/g, (_, name) => encodeURIComponent(String(inPath[name])));
  const inQuery = method === "GET" || method === "DELETE" || takesRawBody(route);
  const base = resource.mount.name === "REST API" ? "/api/v4" : "";
  const address = `${base}${filled}${inQuery ? queryOf(sent) : ""}`;
  const { text = TEXT } = special;
  const { options, type, body } = takesRawBody(route)
    ? { options: [`--data-binary ${quoted(text)}`], type: undefined, body: text }
    : bodyOf(inQuery ? [] : sent, filePartOf(route), special.file, special.content);

  const response = await app.fetch(`${ADDRESS}${address}`, {
    method,
    headers: {
      ...headers,
      ...(type && { "content-type": type }),
      ...(as !== "anonymous" && { "private-token": tokenOf(as) }),
    },
    body,
    redirect: "manual",
  });
  const answer = await response.text();
  const isJson = /^application\/(scim\+)?json/.test(response.headers.get("content-type") ?? "");
  const line = [
    "curl",
    ...(method === (options.length > 0 ? "POST" : "GET") ? [] : [`--request ${method}`]),
    ...(as === "anonymous" ? [] : [TOKEN]),
    ...Object.entries(headers).map(([name, value]) => `--header "${name}: ${value}"`),
    ...options,
    `"$GITLAB${address}"`,
  ].join(" ");
  return {
    curl: withVariables(steady(line)),
    status: response.status,
    json: isJson && answer !== "" ? shortened(JSON.parse(steady(answer))) : undefined,
  };
}

/** What a route needs, with values. */
function leastOf(resource: Described, route: Route, places: Places): Json {
  const needed = documented(resource, route).parameters.filter(
    ({ name, location, required }) =>
      location !== "path" &&
      name !== route.upload?.part &&
      (required || name === route.atLeastOne?.[0]),
  );
  return Object.fromEntries(
    needed.map(({ name, notes }) => [name, exampleOf(name, notes, places)]),
  );
}

function exampleOf(name: string, notes: AttributeNotes, places: Places): unknown {
  const { type, values, attributes } = notes;
  if (name in NAMED && (!values || values.includes(String(NAMED[name])))) return NAMED[name];
  const known = places.params[name];
  if (known !== undefined) return known;
  if (type === "object") {
    const needed = Object.entries(attributes ?? {}).filter(([, one]) => isRequired(one));
    return Object.fromEntries(needed.map(([inner, one]) => [inner, exampleOf(inner, one, places)]));
  }
  const items = /^array of (.+)$/.exec(type)?.[1];
  if (items) return [exampleOf(name, { ...notes, type: items }, places)];
  return values?.[0] ?? TYPED[type] ?? TYPED["string"];
}

type Sent = readonly (readonly [string, unknown])[];

function queryOf(sent: Sent): string {
  const pairs = sent.flatMap(([name, value]): [string, string][] =>
    Array.isArray(value) ? value.map((one) => [`${name}[]`, String(one)]) : [[name, String(value)]],
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}

/** A body as curl's options, and as a request's. @param part of a form, which has a file @param file its name, and its `content` */
function bodyOf(
  sent: Sent,
  part: string | undefined,
  file = "picture.gif",
  content: string | Buffer<ArrayBuffer> = "GIF89a",
) {
  if (part !== undefined) {
    const body = new FormData();
    for (const [name, value] of sent) body.append(name, String(value));
    body.append(part, new Blob([content]), file);
    const fields = sent.map(([name, value]) => `--form ${quoted(`${name}=${value}`)}`);
    return { options: [...fields, `--form ${part}=@${file}`], type: undefined, body };
  }
  if (sent.length === 0) return { options: [], type: undefined, body: null };
  const body = JSON.stringify(Object.fromEntries(sent));
  return { options: [`--json ${quoted(body)}`], type: "application/json", body };
}

/** A text as a word of a shell. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** What is random is always the same in documents. Bots have random names, and colours that follow from these. */
const STEADY: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "123e4567-e89b-42d3-a456-426614174000"],
  [/\b(gl[a-z]+|pmat|pmst|GR1348941)-[0-9a-f]{40}\b/g, `$1-${"0123456789".repeat(4)}`],
  [/("token": ?")[0-9a-f]{4}"/g, '$10123"'],
  [/("kid": ?")[\w-]{43}"/g, `$1${"k".repeat(43)}"`],
  [/("n": ?")[\w-]{342}"/g, `$1${"n".repeat(342)}"`],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, "eyJ0eXAiOiJKV1QifQ.e30.c2ln"],
  [/("execution_duration": ?)[\d.]+/g, "$10.001"],
  [/(_bot_|uploads\/|"verification_code": ?")[0-9a-f]{32}\b/g, `$1${"0123456789abcdef".repeat(2)}`],
  [/\b[0-9a-f]{64}\b/g, "0123456789abcdef".repeat(4)],
  [/(\/-\/avatars\/[a-z]-)\d+/g, "$1200"],
];

const steady = (text: string) =>
  STEADY.reduce((known, [pattern, value]) => known.replace(pattern, value), text);

/** Tokens in curl's lines by how they begin. */
const VARIABLES: readonly (readonly [RegExp, string])[] = [
  [/\bglrt-\d{40}/g, "$RUNNER_TOKEN"],
  [/\bglcbt-\d{40}/g, "$JOB_TOKEN"],
  [/\bglffct-\d{40}/g, "$CLIENT_TOKEN"],
  [/\bglptt-\d{40}/g, "$TRIGGER_TOKEN"],
  [/\bpmst-\d{40}/g, "$SCIM_TOKEN"],
  [/\beyJ[\w.-]+/g, "$REGISTRY_TOKEN"],
  [/\bBasic [\w+/]+=*/g, "Basic $CREDENTIALS"],
  [/\bGR1348941-\d{40}/g, "$REGISTRATION_TOKEN"],
];

/** A line with variables in place of tokens: also within single quotes, where a shell doesn't replace them. */
function withVariables(line: string): string {
  const words = line.split(/('(?:[^']|'\\'')*')/);
  const replaced = (word: string) =>
    VARIABLES.reduce(
      (known, [pattern, name]) =>
        known.replace(pattern, word.startsWith("'") ? () => `'"${name}"'` : () => name),
      word,
    );
  return words.map(replaced).join("");
}

const LONGEST = 120;

/** A value with the first entries of its lists, and the beginnings of its long texts. */
function shortened(value: unknown): unknown {
  if (typeof value === "string") {
    return value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value;
  }
  if (Array.isArray(value)) return value.slice(0, 1).map(shortened);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]));
}
