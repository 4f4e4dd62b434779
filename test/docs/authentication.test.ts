import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Scope } from "../../src/core/scopes.ts";
import { routes } from "../api/routes.ts";

const text = readFileSync(new URL("../../docs/authentication.md", import.meta.url), "utf8");

/** Routes that declare a scope, except those any token may use on itself. */
const named = (scope: Scope) =>
  routes.filter(
    ({ scopes, path }) => scopes?.includes(scope) && path !== "/personal_access_tokens/self",
  );

it("lists the routes that read_user and sudo reach", () => {
  const row = /^\| `read_user` \|(.*)\|$/m.exec(text)?.[1] ?? "";
  const paths = [...row.matchAll(/`(\/[^`]*)`/g)].map(([, path]) => path);
  const reached = named("read_user");
  expect(paths.sort()).toEqual(reached.map(({ path }) => path).sort());
  expect(reached.filter(({ method }) => method !== "GET")).toEqual([]);
  expect(named("sudo")).toEqual([]);
});

it("is right that read_api reaches every GET, and api everything", () => {
  const narrower = routes.filter(
    ({ method, scopes }) =>
      scopes && (!scopes.includes("api") || (method === "GET" && !scopes.includes("read_api"))),
  );
  expect(narrower).toEqual([]);
});

it("lists the routes that accept job tokens", () => {
  const list = /<!-- job tokens:[^>]*-->\n((?:- .*\n)+)/.exec(text)?.[1] ?? "";
  const taking = routes.filter(({ jobTokens }) => jobTokens);
  expect([...list.matchAll(/`([^`]*)`/g)].map(([, name]) => name).sort()).toEqual(
    taking.map(({ method, path }) => `${method} ${path}`).sort(),
  );
});
