import { describe, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import { endpointOf } from "../../src/core/http/endpoint.ts";
import type { Mount } from "../../src/core/http/mount.ts";
import * as param from "../../src/core/input.ts";
import { Json, type Route, routes } from "../../src/core/resource.ts";
import { allMounts } from "../../src/mounts.ts";
import { openStore } from "../../src/store/open.ts";

const project = routes({ source: "project", path: "/topics", features: ["wiki"] });
const plain = routes({ path: "/topics" });
const id = { topic_id: param.recordId() };
const mount: Mount = { name: "Test", base: "/api", authenticators: [], resources: [] };

/** What starting an application with the route throws. */
const start = (route: Route) => () => endpointOf(route, mount);

describe("a declaration that contradicts itself does not compile", () => {
  it("without a schema for a parameter of the path", () => {
    const wrong = project.get("/:topic_id", {
      summary: "Get a topic",
      // @ts-expect-error the parameter is misspelt
      input: { topicid: param.recordId() },
      handle: () => undefined,
    });
    expect(start(wrong)).toThrow(
      "GET /api/projects/:id/topics/:topic_id: input has no schema for :topic_id of the path",
    );
  });

  it("if a role is needed where there is no source", () => {
    const wrong = plain.post("", {
      summary: "Create a topic",
      // @ts-expect-error there is no group or project
      role: "developer",
      handle: () => undefined,
    });
    expect(start(wrong)).toThrow("POST /api/topics: role needs a source");
  });

  it("if a handler uses a source that is not there", () => {
    plain.get("", {
      summary: "Get the topic",
      // @ts-expect-error the source is undefined
      handle: ({ source }) => new Json(source.id),
    });
  });

  it("if a caller who may be anonymous is not checked", () => {
    plain.get("", {
      summary: "Get the caller",
      access: "anyone",
      // @ts-expect-error the caller may be undefined
      handle: ({ caller }) => new Json(caller.id),
    });
    plain.get("", {
      summary: "Get the caller",
      handle: ({ caller }) => new Json(caller.id),
    });
  });

  it("if a reading route writes", () => {
    plain.query("", {
      summary: "Search topics",
      // @ts-expect-error a reader cannot write
      handle: ({ db }) => db.run("delete from topics"),
    });
  });
});

describe("what types cannot see is refused at the start, with the route's name", () => {
  it("such as a parameter in a path from a variable", () => {
    const path: string = "/:topic_id";
    const wrong = plain.get(path, { summary: "Get a topic", handle: () => undefined });
    expect(start(wrong)).toThrow("GET /api/topics/:topic_id: input has no schema for :topic_id");
  });

  it("such as a file part in a route without a source", () => {
    const wrong = {
      ...plain.post("", { summary: "Upload", handle: () => undefined }),
      deployTokens: "read_package_registry",
    };
    expect(start(wrong as Route)).toThrow("POST /api/topics: deployTokens needs a source");
  });
});

it("a row without a presenter is an error that names the route", async () => {
  const failures: unknown[] = [];
  const route = plain.get("", { summary: "Get a topic", access: "anyone", handle: () => [1] });
  const topics: Mount = {
    ...mount,
    resources: [{ name: "Topics", migrations: [], routes: [route] }],
  };
  const onError = (error: unknown) => failures.push(error);
  const app = await createAppOn(await openStore(":memory:"), { onError, background: false }, [
    topics,
  ]);
  const answer = await app.fetch("http://localhost/api/topics");
  expect(answer.status).toBe(500);
  expect(String(failures)).toContain("GET /api/topics answers a row, but has no presenter");
  await app.close();
});

it("routes know what they are as data", () => {
  const list = project.list("", { summary: "List topics", handle: () => undefined });
  expect(list).toMatchObject({
    method: "GET",
    path: "/projects/:id/topics",
    source: "project",
    features: ["wiki"],
    isList: true,
    isReading: true,
  });
  const change = plain.patch("/:topic_id", {
    summary: "Change a topic",
    input: id,
    handle: () => undefined,
  });
  expect(change).toMatchObject({ method: "PATCH", path: "/topics/:topic_id", isReading: false });
  expect(change).not.toHaveProperty("source");
});

it("every path below a group or project declares it as its source", () => {
  const without = allMounts
    .flatMap(({ resources }) => resources)
    .flatMap((resource) => resource.routes)
    .filter(({ source, path }) => !source && /^\/(groups|projects)\/:id(\/|$)/.test(path))
    // Their callers have a token instead, which says in which project.
    .filter(({ path }) => !path.endsWith("/trigger/pipeline"));
  expect(without).toEqual([]);
});
