import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
const LINK = "https://ci.test/%{project_path}";
const IMAGE = "https://ci.test/%{default_branch}.svg";

beforeAll(async () => {
  app = await testApp();
  for (const [path, name] of [
    ["/groups/acme", "all"],
    ["/projects/acme%2Fsite", "own"],
  ] as const) {
    const json = { name, link_url: LINK, image_url: IMAGE };
    const { status, text } = await app.call(`POST ${path}/badges`, { as: "owner", json });
    if (status !== 201) throw new Error(text);
  }
});
afterAll(() => app.dispose());

const SITE = 'project(fullPath: "acme/site")';

it("badges have the values that REST shows", async () => {
  const { project, group } = await ask(
    app,
    `{ ${SITE} { badges { nodes { id name linkUrl imageUrl
        renderedLinkUrl(projectPath: "acme/site") renderedImageUrl(projectPath: "acme/site")
        kind group { fullPath } project { fullPath } } }
        named: badges(name: "own") { nodes { name renderedLinkUrl } } }
      group(fullPath: "acme") { badges { count nodes { name renderedLinkUrl
        hidden: renderedLinkUrl(projectPath: "secret/vault") } } } }`,
    {},
    "anonymous",
  );
  const { json } = await app.call("GET /projects/acme%2Fsite/badges");
  expect(project.badges.nodes).toEqual(
    json.map((badge: Record<string, string>) => ({
      id: `gid://gitlab/Badge/${badge["id"]}`,
      name: badge["name"],
      linkUrl: badge["link_url"],
      imageUrl: badge["image_url"],
      renderedLinkUrl: badge["rendered_link_url"],
      renderedImageUrl: badge["rendered_image_url"],
      kind: badge["kind"]?.toUpperCase(),
      group: badge["kind"] === "group" ? { fullPath: "acme" } : null,
      project: badge["kind"] === "group" ? null : { fullPath: "acme/site" },
    })),
  );
  expect(json.length).toBe(2);
  expect(project.named.nodes).toEqual([
    { name: "own", renderedLinkUrl: "https://ci.test/acme/site" },
  ]);
  expect(group.badges).toEqual({
    count: 1,
    nodes: [{ name: "all", renderedLinkUrl: LINK, hidden: LINK }],
  });
});

const change = async (name: string, input: object, as: Person = "owner") => {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input!`;
  const { data, errors } = await send(
    app,
    as,
    `mutation ($input: ${type}) { ${name}(input: $input) { errors badge { id name linkUrl kind } } }`,
    { input },
  );
  return { ...data[name], refused: errors?.[0].message };
};

it.each([
  [{ groupPath: "acme/team" }, "GROUP", "maintainer"],
  [{ projectPath: "acme/team/core" }, "PROJECT", "developer"],
] as const)("they are added to %j, changed and removed", async (at, kind, other) => {
  const urls = { linkUrl: "https://a.test", imageUrl: "https://a.test/b.svg" };
  expect((await change("badgeCreate", { ...at, ...urls }, other)).refused).toBe(NOT_AVAILABLE);
  const wrong = await change("badgeCreate", { ...at, ...urls, linkUrl: "ftp://a.test" });
  expect(wrong.errors).toEqual(["Link url is blocked: Only allowed schemes are http, https"]);
  const { badge } = await change("badgeCreate", { ...at, ...urls, name: "New" });
  expect(badge).toMatchObject({ name: "New", linkUrl: "https://a.test", kind });
  const { id } = badge;
  expect((await change("badgeUpdate", { id, name: "x" }, other)).refused).toBe(NOT_AVAILABLE);
  const changed = await change("badgeUpdate", { id, name: null, linkUrl: "https://b.test" });
  expect(changed.badge).toEqual({ id, name: null, linkUrl: "https://b.test", kind });
  expect((await change("badgeDestroy", { id }, other)).refused).toBe(NOT_AVAILABLE);
  expect(await change("badgeDestroy", { id })).toMatchObject({ errors: [], badge: null });
  expect((await change("badgeDestroy", { id })).refused).toBe(NOT_AVAILABLE);
});

it("they need a group or a project", async () => {
  const urls = { linkUrl: "https://a.test", imageUrl: "https://a.test" };
  for (const at of [{}, { groupPath: "acme", projectPath: "acme/site" }]) {
    expect((await change("badgeCreate", { ...urls, ...at })).refused).toBe(
      "Exactly one of group_path or project_path arguments is required",
    );
  }
});
