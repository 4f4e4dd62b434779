import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { inOpenApi } from "../../docs/generate/documented.ts";
import { operationName } from "../../docs/generate/names.ts";
import { createAppOn } from "../../src/app.ts";
import type { Route } from "../../src/core/resource.ts";
import { type Server, serve } from "../../src/node.ts";
import { openStore } from "../../src/store/open.ts";
import { providerOf } from "../api/_scim.ts";
import { storesInMany } from "../api/routes.ts";
import { openapi } from "../documented.ts";
import { createFixtures, fixtureSeed, type Places, placesIn, valuesOf } from "../fixtures.ts";
import { isLong } from "../forms.ts";
import {
  call,
  newDatabase,
  PASSWORD_COST,
  SECRET_KEY,
  type TestApp,
  type TestDatabase,
  tokenOf,
} from "../helpers.ts";
import { hasPython, newEnvironment } from "../suites/python.ts";
import { EXCEPTIONS } from "../suites/schemathesis-exceptions.ts";
import { toys } from "../toy/index.ts";
import { undoing } from "../undoing.ts";

// schemathesis sends ten requests made from docs/openapi.json to each operation, half of which its schema forbids, to a
// server with one record of each kind. Changes are undone, so that every request finds the same ones.

const isRun = isLong && hasPython();
/** It takes minutes: this only ends what hangs. */
const LONG = 3_600_000;
const EXAMPLES = 10;
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
  "positive_data_acceptance",
];
/** Also refusals: too long a body, address or header. */
const REFUSED = [
  "400",
  "401",
  "403",
  "404",
  "405",
  "406",
  "409",
  "413",
  "414",
  "415",
  "422",
  "431",
];

const operations = inOpenApi
  .flatMap(({ mount, routes }) =>
    routes.map((route) => {
      const path = (mount.name === "REST API" ? mount.base : "") + route.path;
      const pattern = path
        .replaceAll(".", "\\.")
        .replace(/:\w+\*/g, ".+")
        .replace(/:\w+/g, "[^/]+");
      return {
        mount,
        route,
        pattern: new RegExp(`^${pattern}$`),
        fixed: path.replace(/:\w+/g, "\u0001"),
      };
    }),
  )
  // Those with more that is fixed come first.
  .sort((one, other) => (one.fixed < other.fixed ? 1 : -1));

let database: TestDatabase;
let app: Pick<TestApp, "admin" | "call" | "close">;
let places: Places;
let scimToken: string;
let server: Server;
const failures: unknown[] = [];

beforeAll(async () => {
  if (!isRun) return;
  database = await newDatabase();
  const store = undoing(await openStore(database.database));
  const onError = (error: unknown) => failures.push(error);
  const options = { secretKey: SECRET_KEY, onError, background: false, sites: "path" };
  const made = await createAppOn(store, options, toys, PASSWORD_COST);
  app = { ...made, call: (text, given) => call(made, text, given) };
  await app.admin.seed(fixtureSeed(1));
  await createFixtures(app, 1);
  places = await placesIn(app, "acme", "acme/site");
  scimToken = (await providerOf(app)).token;
  const respond: typeof made.respond = (incoming) => {
    const found = operations.find(
      ({ route, pattern }) => route.method === incoming.method && pattern.test(incoming.path),
    );
    // Merging writes objects, too, whose ids would be given twice.
    const { route } = found ?? {};
    store.undoes = route === undefined || !(storesInMany(route) || route.path.endsWith("/merge"));
    return made.respond(incoming);
  };
  server = await serve({ respond }, { port: 0 });
});
afterAll(async () => {
  if (!isRun) return;
  await server.close();
  await app.close();
  await database.drop();
});

/** What schemathesis reads: whole paths, and no credentials, which are sent with each request. */
function documentOf(): object {
  const { securitySchemes: _, ...components } = openapi.components as Record<string, unknown>;
  const paths = Object.entries(openapi.paths).map(([path, { servers, ...methods }]) => [
    servers ? path : `/api/v4${path}`,
    Object.fromEntries(
      Object.entries(methods).map(([name, operation]) => [name, { ...operation, security: [] }]),
    ),
  ]);
  return {
    openapi: "3.1.0",
    info: { title: "pm-api", version: "1" },
    paths: Object.fromEntries(paths),
    components,
  };
}

/** Path parameters and credentials of an operation, in TOML. */
function configured({ mount, route }: { mount: { name: string }; route: Route }): string {
  const headers =
    mount.name === "SCIM"
      ? { Authorization: `Bearer ${scimToken}` }
      : { "Private-Token": tokenOf("admin") };
  const parameters = Object.entries(valuesOf(route, places)).map(([name, value]) => [
    `path.${name}`,
    value,
  ]);
  const table = (entries: (readonly [string, string])[]) =>
    `{ ${entries.map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`).join(", ")} }`;
  return [
    "[[operations]]",
    `include-operation-id = ${JSON.stringify(operationName(route))}`,
    `headers = ${table(Object.entries(headers))}`,
    `parameters = ${table(parameters as [string, string][])}`,
    "",
  ].join("\n");
}

/** A check that failed: what, of which operation, and the answer with what is wrong with the request. */
interface Failure {
  readonly code: string;
  readonly operation: string;
  readonly says: string;
}

interface Recorder {
  readonly label: string;
  readonly cases: Record<string, { value: { meta: { phase: { data: { description: string } } } } }>;
  readonly checks: Record<
    string,
    { failure_info?: { failure: { code: string; message: string } } }[]
  >;
  readonly interactions: Record<
    string,
    {
      request?: { uri: string; body?: { $base64: string } };
      response?: { status_code: number; content?: { $base64: string } };
    }
  >;
}

const decoded = (of: { $base64: string } | undefined) =>
  Buffer.from(of?.$base64 ?? "", "base64")
    .toString()
    .slice(0, 500);

/** All failures in a report of events. */
function failuresIn(report: string): Failure[] {
  return report.split("\n").flatMap((line) => {
    const recorder: Recorder | undefined = line.startsWith('{"ScenarioFinished"')
      ? JSON.parse(line).ScenarioFinished.recorder
      : undefined;
    return Object.entries(recorder?.checks ?? {}).flatMap(([id, checks]) =>
      checks.flatMap(({ failure_info: info }) => {
        if (info === undefined) return [];
        const { code, message } = info.failure;
        const { label, cases, interactions } = recorder as Recorder;
        const { request, response } = interactions[id] ?? {};
        const wrong = cases[id]?.value.meta.phase.data.description;
        const answer = `${response?.status_code} ${decoded(response?.content)}`;
        const sent = `${request?.uri.replace(/^\w+:\/\/[^/]+/, "")} ${decoded(request?.body)}`;
        return [
          {
            code,
            operation: label,
            says: [wrong, answer, sent.slice(0, 500), message.slice(0, 200)].join("\n"),
          },
        ];
      }),
    );
  });
}

it.runIf(isRun)(
  "schemathesis finds nothing but what is named",
  async () => {
    const { folder, start } = await newEnvironment("schemathesis.txt");
    writeFileSync(join(folder, "openapi.json"), JSON.stringify(documentOf()));
    const settings = [
      "[generation]",
      "deterministic = true",
      "allow-x00 = false",
      "[checks.negative_data_rejection]",
      `expected-statuses = ${JSON.stringify(REFUSED)}`,
      ...operations.map(configured),
    ];
    writeFileSync(join(folder, "schemathesis.toml"), settings.join("\n"));
    const { output } = await start("st", [
      ...["--config-file", "schemathesis.toml", "--no-color", "run", "openapi.json"],
      ...["-u", server.url, "--phases", "fuzzing", "-n", String(EXAMPLES), "-c", CHECKS.join(",")],
      ...["--continue-on-failure", "--suppress-health-check", "all"],
      ...["--report", "ndjson", "--report-ndjson-path", "events.ndjson"],
    ]);
    const events = join(folder, "events.ndjson");
    const found = existsSync(events) ? failuresIn(readFileSync(events, "utf8")) : [];
    rmSync(folder, { recursive: true });
    expect(failures).toEqual([]);
    expect(output).toMatch(/Tested: \d+/);
    const met = new Set<object>();
    const unexpected = found.filter(({ code, operation, says }) => {
      const known = EXCEPTIONS.find(
        (one) =>
          one.code === code && (one.operation?.test(operation) ?? true) && one.says.test(says),
      );
      if (known) met.add(known);
      return known === undefined;
    });
    expect(unexpected).toEqual([]);
    expect(EXCEPTIONS.filter((one) => !met.has(one))).toEqual([]);
  },
  LONG,
);
