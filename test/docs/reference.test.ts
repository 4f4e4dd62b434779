import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { described } from "../../docs/generate/documented.ts";
import { documents } from "../../docs/generate/index.ts";
import { openapi } from "../../docs/generate/openapi.ts";
import { reference } from "../../docs/generate/reference.ts";

const routes = described.flatMap((resource) => resource.routes);

interface Operation {
  operationId: string;
  summary: string;
  parameters: { in?: string; name?: string; $ref?: string }[];
}

const document = openapi() as unknown as {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([method]) => method !== "servers")
    .map(([method, operation]) => ({ path, method, operation })),
);

describe("docs", () => {
  it.each(Object.entries(documents))(
    "%s is current: else run `npm run docs`",
    async (name, generate) => {
      const written = readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");
      expect(written === (await generate())).toBe(true);
    },
  );

  it("has a summary of one line for each route", () => {
    const without = routes.filter(({ summary }) => !/^[A-Z][^\n]*[^.\s]$/.test(summary));
    expect(without.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });
});

describe("reference.md", () => {
  const text = reference();
  const lineOf = (title: string) =>
    text.split(`\n### ${title}\n`)[1]?.split("\n### ")[0]?.split("\n")[3];

  it("says which features a project must have, and what happens in archived ones", () => {
    const must = "The project must have";
    expect(lineOf("POST /projects/:id/wikis")).toContain(
      `${must} the feature \`wiki\` enabled, and must not be archived; else 403.`,
    );
    expect(lineOf("POST /projects/:id/issues/:issue_iid/subscribe")).toContain(
      `${must} the feature \`issues\` enabled; else 403.`,
    );
    expect(lineOf("GET /projects/:id/labels")).toContain(
      `${must} one of the features \`issues\` or \`merge_requests\` enabled; else 403.`,
    );
    expect(lineOf("GET /projects/:id/issues")).toContain(
      "If the project has `issues` disabled, answers as if there were none.",
    );
    for (const title of ["GET /projects/:id", "GET /groups/:id/labels"]) {
      expect(lineOf(title)).not.toMatch(/feature|disabled|archived/);
    }
  });
});

describe("openapi.json", () => {
  it("has every route", () => {
    const described = operations.map(
      ({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
    );
    const declared = routes.map(({ method, path }) => `${method} ${path.replaceAll("*", "")}`);
    expect(described.sort()).toEqual(declared.sort());
  });

  it("has a unique id for each operation", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  it("declares the parameters of each path", () => {
    for (const { path, operation } of operations) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = operation.parameters.filter((parameter) => parameter.in === "path");
      expect(declared.map(({ name }) => name)).toEqual(named);
    }
  });

  it("has no dangling references", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)];
    const missing = references.filter(([, path]) => {
      const [kind, name] = (path as string).split("/") as [string, string];
      return document.components[kind]?.[name] === undefined;
    });
    expect(missing).toEqual([]);
  });
});
