import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { described, documented, inOpenApi } from "../../docs/generate/documented.ts";
import { EXAMPLES, WITHOUT } from "../../docs/generate/example-values.ts";
import { examples, fill, START } from "../../docs/generate/examples.ts";
import { documents } from "../../docs/generate/index.ts";
import { unusedMeanings } from "../../docs/generate/meanings.ts";
import { unknownSchemaNames } from "../../docs/generate/names.ts";
import { openapi } from "../../docs/generate/openapi.ts";
import { reference } from "../../docs/generate/reference.ts";
import { startTestServer } from "../../src/testing.ts";
import { tokenOf } from "../helpers.ts";

const routes = described.flatMap((resource) => resource.routes);

interface Operation {
  operationId: string;
  summary: string;
  parameters: { in?: string; name?: string; $ref?: string }[];
  responses: Record<string, { $ref?: string }>;
}

interface BodySchema {
  properties: Record<string, object>;
  required?: string[];
  anyOf?: object[];
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

describe("the reference", () => {
  const pages = reference();
  const folder = new URL("../../docs/reference/", import.meta.url);

  it("has a page for each resource, and no others", () => {
    const names = Object.keys(pages).map((name) => name.replace("reference/", ""));
    expect(readdirSync(folder).sort()).toEqual(names.sort());
  });

  it("has a request of each route that is accepted, except of those that say why not", async () => {
    const asked = [...(await examples())];
    const refused = asked
      .filter(([route, { status }]) => status >= 400 && status !== (route.status ?? 200))
      .map(([{ method, path }]) => `${method} ${path}`);
    expect(refused.toSorted()).toEqual(Object.keys(WITHOUT).toSorted());
    // The others are addresses that answers have, and Git's.
    expect(asked.length).toBeGreaterThan(700);
  });

  it("has requests that a shell and curl send as they are meant", async () => {
    const server = await startTestServer(START);
    try {
      await fill(server);
      const lines = [...(await examples())].filter(
        ([{ method, path }, { curl, status }]) =>
          method === "GET" &&
          status === 200 &&
          !EXAMPLES[`${method} ${path}`]?.before &&
          // Tokens, and what is random on each server.
          !/_TOKEN"|\$CREDENTIALS|0123456789abcdef|123e4567/.test(curl),
      );
      expect(lines.length).toBeGreaterThan(200);
      const script = lines
        .map(([, { curl }]) => curl.replace("curl ", "curl -sS -o /dev/null -w '%{http_code}\\n' "))
        .join("\n");
      const env = { ...process.env, GITLAB: server.url, TOKEN: tokenOf("admin") };
      const { stdout } = await promisify(execFile)("sh", ["-c", script], { env });
      const answered = stdout.trim().split("\n");
      const others = lines.filter((_, at) => answered[at] !== "200").map(([, { curl }]) => curl);
      expect(others).toEqual([]);
    } finally {
      await server.close();
    }
  });

  it("says which features a project must have, and what happens in archived ones", async () => {
    const texts = await Promise.all(Object.values(pages).map((page) => page()));
    const text = texts.join("\n");
    const lineOf = (title: string) =>
      text.split(`\n## ${title}\n`)[1]?.split("\n## ")[0]?.split("\n")[3];
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
    const declared = inOpenApi
      .flatMap((resource) => resource.routes)
      .map(({ method, path }) => `${method} ${path.replaceAll("*", "")}`);
    expect(described.sort()).toEqual(declared.sort());
  });

  const ids = operations.map(({ operation }) => operation.operationId);

  it("has a unique id for each operation: a verb and what it is about", () => {
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(ids.filter((id) => !/^[a-z]+([A-Z][a-z]+)*$/.test(id))).toEqual([]);
    const idOf = (method: string, path: string) => document.paths[path]?.[method]?.operationId;
    expect(idOf("get", "/projects/{id}/boards")).toBe("listProjectBoards");
    expect(idOf("get", "/user")).toBe("getCurrentUser");
    expect(idOf("post", "/projects/{id}/repository/branches")).toBe("createProjectBranch");
    expect(idOf("post", "/projects/{id}/issues/{issue_iid}/move")).toBe("moveProjectIssue");
  });

  it("names schemas as people would: one thing, without its address", () => {
    const { schemas = {} } = document.components;
    for (const name of ["Issue", "IssueDetails", "Branch", "ProjectBoard", "CommitStatus"]) {
      expect(Object.keys(schemas)).toContain(name);
    }
    // Such as `Branche` and `getProjectsIdBoardsAnswer`.
    const odd = /Answer|Id[A-Z]|(tuse|che|sse)$/;
    const names = Object.keys(schemas);
    expect(names.filter((name) => odd.test(name) || !/^[A-Z][A-Za-z]+$/.test(name))).toEqual([]);
    expect(unknownSchemaNames(new Set(ids))).toEqual([]);
  });

  it("says what every parameter means, in few words that a table can hold", () => {
    const undescribed = described.flatMap((resource) =>
      resource.routes.flatMap((route) =>
        documented(resource, route)
          .parameters.filter(({ notes }) => !notes.about || /[|\n]/.test(notes.about))
          .map(({ name }) => `${resource.name}/${name}`),
      ),
    );
    // Of an attribute without a meaning, docs/generate/meanings.ts can say it.
    expect([...new Set(undescribed)]).toEqual([]);
    const used = described.flatMap((resource) =>
      resource.routes.flatMap((route) =>
        documented(resource, route).parameters.map(({ name }) => [
          name,
          `${resource.name}/${name}`,
        ]),
      ),
    );
    expect(unusedMeanings(new Set(used.flat()))).toEqual([]);
  });

  it("says what values are allowed, as requests are checked", () => {
    const bodyOf = (name: string) => document.components["schemas"]?.[name] as BodySchema;
    const issue = bodyOf("CreateProjectIssueBody");
    expect(issue.properties["title"]).toMatchObject({ minLength: 1, maxLength: 255 });
    expect(issue.required).toEqual(["title"]);
    expect(issue.properties["due_date"]).toMatchObject({
      type: ["string", "null"],
      format: "date",
    });
    const emoji = bodyOf("UpdateProjectIssueDiscussionNoteBody");
    expect(emoji.anyOf).toEqual([{ required: ["body"] }, { required: ["resolved"] }]);
    // Larger pages are not refused, but count as 100; less than 1 means the first page, or the default.
    const safe = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
    const { page, per_page } = document.components["parameters"] as Record<string, object>;
    expect(page).toMatchObject({ schema: { type: "integer", ...safe, default: 1 } });
    expect(per_page).toMatchObject({ schema: { ...safe, not: { const: 0 }, default: 20 } });
    expect(bodyOf("CreateProjectBoardListBody").properties["label_id"]).toMatchObject(safe);
    expect(bodyOf("CreateProjectDeployTokenBody").properties["scopes"]).toMatchObject({
      minItems: 1,
    });
    expect(bodyOf("CreateUserImpersonationTokenBody").required).toEqual(["name", "scopes"]);
    expect(issue.properties["created_at"]).toMatchObject({ format: "date-time" });
  });

  it("says how objects are written in queries, and takes as forms what a form can say", () => {
    type Operation = {
      parameters: { name: string; style?: string; explode?: boolean }[];
      requestBody?: { content: object };
    };
    const operationOf = (method: string, path: string) =>
      document.paths[path]?.[method] as unknown as Operation;
    const { parameters } = operationOf("get", "/projects/{id}/variables/{key}");
    expect(parameters.find(({ name }) => name === "filter")).toMatchObject({
      style: "deepObject",
      explode: true,
    });
    const typesOf = (path: string) =>
      Object.keys(operationOf("post", path).requestBody?.content ?? {});
    const form = "application/x-www-form-urlencoded";
    expect(typesOf("/projects/{id}/boards")).toEqual(["application/json", form]);
    // It has lists, and `null`.
    expect(typesOf("/projects/{id}/issues")).toEqual(["application/json"]);
  });

  it("has the statuses that are answered", () => {
    const statusesOf = (method: string, path: string) =>
      Object.keys(document.paths[path]?.[method]?.responses ?? {});
    expect(statusesOf("get", "/projects")).toEqual(["200", "304", "4XX", "5XX"]);
    expect(statusesOf("post", "/projects/{id}/star")).toEqual(["201", "304", "4XX", "5XX"]);
    expect(statusesOf("delete", "/projects/{id}/issues/{issue_iid}")).toEqual([
      "204",
      "4XX",
      "5XX",
    ]);
    const links = "/projects/{id}/issues/{issue_iid}/links/{issue_link_id}";
    expect(statusesOf("delete", links)).toEqual(["200", "4XX", "5XX"]);
    const notes = "/projects/{id}/issues/{noteable_id}/notes";
    expect(statusesOf("post", notes)).toEqual(["201", "202", "4XX", "5XX"]);
  });

  it("gives errors the form that their mount has", () => {
    const errorOf = (method: string, path: string) =>
      document.paths[path]?.[method]?.responses["4XX"]?.$ref?.split("/").at(-1);
    expect(errorOf("get", "/projects")).toBe("Error");
    expect(errorOf("get", "/api/scim/v2/groups/{group_path}/Users")).toBe("ScimError");
    expect(errorOf("post", "/oauth/token")).toBe("OAuthError");
    expect(errorOf("post", "/api/graphql")).toBe("GraphqlErrors");
    expect(errorOf("get", "/{repository}/info/refs")).toBe("TextError");
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
