import { afterAll, beforeAll, expect, it } from "vitest";
import type { Seed } from "../../src/seed/input.ts";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";
import { ask } from "./ask.ts";

type Project = NonNullable<NonNullable<Seed["groups"]>[number]["projects"]>[number];
type Dependency = NonNullable<Project["dependencies"]>[number];

const rails: Dependency = {
  name: "rails",
  version: "7.1.0",
  package_manager: "bundler",
  dependency_file_path: "Gemfile.lock",
  vulnerabilities: [{ name: "DDoS", severity: "unknown" }],
};
const express: Dependency = {
  name: "express",
  version: "4.0.0",
  package_manager: "npm",
  dependency_file_path: "package-lock.json",
};
const seed = {
  ...baseSeed,
  groups: (baseSeed.groups ?? []).map((group) => ({
    ...group,
    projects: (group.projects ?? []).map((project) => ({
      ...project,
      dependencies: [rails, express],
    })),
  })),
};

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ seed });
});
afterAll(() => app.dispose());

const SITE = 'project(fullPath: "acme/site")';

async function names(on: string, args = "", as: Person = "owner", at = app): Promise<string[]> {
  const data = await ask(at, `{ on: ${on} { dependencies${args} { nodes { name } } } }`, {}, as);
  return data.on?.dependencies.nodes.map(({ name }: { name: string }) => name) ?? null;
}

it("dependencies have the values that REST shows", async () => {
  const shown = async (as: Person) =>
    (
      await ask(
        app,
        `{ ${SITE} { dependencies(sort: NAME_DESC, first: 1) { nodes { id name version packager
          componentVersion { version } location { path } project { fullPath } vulnerabilityCount
          vulnerabilities { name severity } } } } }`,
        {},
        as,
      )
    ).project.dependencies.nodes[0];
  const expected = {
    id: expect.stringMatching(/^gid:\/\/gitlab\/Sbom::Occurrence\/\d+$/),
    name: "rails",
    version: "7.1.0",
    packager: "BUNDLER",
    componentVersion: { version: "7.1.0" },
    location: { path: "Gemfile.lock" },
    project: { fullPath: "acme/site" },
    vulnerabilityCount: 1,
    vulnerabilities: [{ name: "DDoS", severity: "unknown" }],
  };
  expect(await shown("developer")).toEqual(expected);
  const hidden = { ...expected, vulnerabilityCount: 0, vulnerabilities: [] };
  expect(await shown("reporter")).toEqual(hidden);
  expect(await shown("anonymous")).toBeUndefined();
});

it.each([
  ["", ["express", "rails"]],
  ["(sort: NAME_DESC)", ["rails", "express"]],
  ["(sort: PACKAGER_ASC)", ["rails", "express"]],
  ["(packageManagers: [NPM, YARN])", ["express"]],
  ['(componentNames: ["rails"])', ["rails"]],
])(
  "dependencies of a project and its group are filtered and sorted: %s",
  async (args, expected) => {
    expect(await names(SITE, args)).toEqual(expected);
    expect(await names('group(fullPath: "acme")', args)).toEqual(expected);
  },
);

it("guests of a private project do not see them", async () => {
  const vault = 'project(fullPath: "secret/vault")';
  for (const on of [vault, 'group(fullPath: "secret")']) {
    expect(await names(on, "", "guest")).toEqual([]);
    expect(await names(on, "", "reporter")).toEqual(["express", "rails"]);
    expect(await names(on, "", "stranger")).toBeNull();
  }
});

it("they belong to the ultimate tier", async () => {
  const lesser = await testApp({ seed, tier: "premium" });
  expect(await names(SITE, "", "owner", lesser)).toEqual([]);
  await lesser.dispose();
});
