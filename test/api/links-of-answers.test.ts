// Every address in every answer of the API leads somewhere.
import { afterAll, beforeAll, expect, it } from "vitest";
import { createFixtures, fixtureSeed, pathOf, placesIn } from "../fixtures.ts";
import { type Answer, givePassword, PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { Visitor } from "../visitor.ts";
import { routes } from "./routes.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ seed: fixtureSeed(1), extra: toys });
  await createFixtures(app, 1);
});
afterAll(() => app.dispose());

/** Where to ask instead for what is an address of several. */
const FIRST: readonly (readonly [RegExp, string])[] = [
  [/\/packages\/nuget\/(download|metadata)$/, "/Acme.Thing/index.json"],
  [/\.git$/, "/info/refs?service=git-upload-pack"],
  [/\/api\/scim\/v2\/groups\/[^/]+$/, "/ServiceProviderConfig"],
];

/** The addresses of this server in a value, with where they are. */
function* addressesIn(value: unknown, at: string): Generator<[address: string, at: string]> {
  if (typeof value === "string") {
    for (const [url] of value.matchAll(/http:\/\/pm\.test\/[^\s"'<>)]*/g)) yield [url, at];
  } else if (typeof value === "object" && value !== null) {
    for (const [name, one] of Object.entries(value)) yield* addressesIn(one, `${at} ${name}`);
  }
}

/** Whether no route answers. */
const isUnknown = ({ status, text }: Answer) =>
  status === 404 && text === '{"error":"404 Not Found"}';

it("every address in an answer leads to a route or to a page", async () => {
  const places = await placesIn(app, "acme", "acme/site");
  const found = new Map<string, string>();
  for (const route of routes.filter(({ method }) => method === "GET")) {
    const { json, headers } = await app.call(`GET ${pathOf(route, places)}`, { as: "admin" });
    const answer = { json, link: headers.get("link") };
    for (const [address, at] of addressesIn(answer, route.path)) found.set(address, at);
  }
  expect(found.size).toBeGreaterThan(200);
  const lost: string[] = [];
  await givePassword(app, "admin");
  const visitor = new Visitor(app);
  await visitor.signIn("admin", PASSWORD);
  visitor.headers = { accept: "text/html" };
  for (const [address, at] of found) {
    const rest = FIRST.find(([of]) => of.test(address))?.[1] ?? "";
    const { pathname, search } = new URL(address + rest);
    const isRoute = !isUnknown(await app.call(`GET ${address}${rest}`, { as: "admin" }));
    // Nothing is published yet where the site of a project would be.
    if (isRoute && (!pathname.includes("/-/") || pathname.startsWith("/-/sites/"))) continue;
    const { status } = await visitor.get(pathname + search);
    if (status < 400 || (isRoute && pathname.startsWith("/api/"))) continue;
    lost.push(`${status} ${address} in ${at}`);
  }
  expect(lost).toEqual([]);
});
