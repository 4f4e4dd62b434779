import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  const make = async (path: string, json: object) =>
    expect([path, (await app.call(`POST ${path}`, { as: "admin", json })).status]).toEqual([
      path,
      201,
    ]);
  for (const name of ["ÉCOLE d'Été", "ПРИВЕТ мир", "Straße 100%", "plain"]) {
    const path = `p${Buffer.from(name).toString("hex").slice(0, 20)}`;
    await make("/projects", { name, path, namespace_id: await idOf("groups/acme") });
    await make("/groups", { name, path: `g${path}` });
    const user = { name, username: `u${path}`, email: `${path}@example.com`, password: "12345678" };
    await make("/users", user);
    await make("/groups/acme/members", {
      user_id: (await app.call(`GET /users?username=u${path}`, { as: "admin" })).json[0].id,
      access_level: 20,
    });
    await make("/groups/acme/labels", { name, color: "#fff" });
    await make("/groups/acme/milestones", { title: name });
    await make("/projects/acme%2Fsite/labels", { name: `${name}!`, color: "#fff" });
    await make("/projects/acme%2Fsite/milestones", { title: `${name}!` });
    await make("/projects/acme%2Fsite/issues", { title: "x", description: `About ${name}.` });
    await make("/projects/acme%2Fsite/merge_requests", {
      title: name,
      source_branch: path,
      target_branch: "main",
    });
    await make("/personal_access_tokens".replace(/^/, `/users/${await idOf("user")}`), {
      name,
      scopes: ["api"],
    });
  }
});
afterAll(() => app.dispose());

async function idOf(path: string): Promise<number> {
  return (await app.call(`GET /${path}`, { as: "admin" })).json.id;
}

const LISTS = [
  "/projects?search=",
  "/groups/acme/projects?search=",
  "/groups?search=",
  "/users?search=",
  "/groups/acme/members?query=",
  "/groups/acme/members/all?query=",
  "/groups/acme/labels?search=",
  "/groups/acme/milestones?search=",
  "/groups/acme/issues?scope=all&search=",
  "/groups/acme/merge_requests?scope=all&search=",
  "/issues?scope=all&search=",
  "/merge_requests?scope=all&search=",
  "/projects/acme%2Fsite/labels?include_ancestor_groups=false&search=",
  "/projects/acme%2Fsite/milestones?search=",
  "/projects/acme%2Fsite/issues?search=",
  "/projects/acme%2Fsite/merge_requests?search=",
  "/personal_access_tokens?search=",
];

describe.each(LISTS)("%s", (list) => {
  const search = async (text: string) => {
    const { status, json } = await app.call(`GET ${list}${encodeURIComponent(text)}`, {
      as: "admin",
    });
    return status === 200 ? json.length : json;
  };

  it.each([
    ["école D'ÉTÉ", 1],
    ["ÉCOLE", 1],
    ["é", 1],
    ["É", 1],
    ["привет", 1],
    ["ПРИВЕТ МИР", 1],
    ["straße", 1],
    ["STRAßE 100%", 1],
    ["ecole", 0],
    ["100%", 1],
    ["1_0", 0],
    ["é_ole", 0],
    ["\\", 0],
    ["PLAIN", 1],
  ])("finds %s: %i", async (text, found) => {
    expect(await search(text)).toBe(found);
  });

  it("accepts 255 characters, and no more", async () => {
    expect(await search("é".repeat(255))).toBe(0);
    expect(await search("👩".repeat(255))).toBe(0);
    const name = /(\w+)=$/.exec(list)?.[1] as string;
    const message = { [name]: ["is too long (maximum is 255 characters)"] };
    expect(await search("a".repeat(256))).toEqual({ message });
  });
});

describe("a search", () => {
  it("folds up to sixteen different non-ASCII letters, and matches further ones case-sensitively", async () => {
    const title = "АБВГДЕЖЗИЙКЛМНОПРС аб";
    const json = { title };
    await app.call("POST /projects/acme%2Fsite/issues", { as: "admin", json });
    const search = async (text: string) => {
      const query = new URLSearchParams({ search: text });
      return (await app.call(`GET /projects/acme%2Fsite/issues?${query}`)).json.length;
    };
    expect(await search(title)).toBe(1);
    expect(await search("абвгдежзийклмноп")).toBe(1);
    expect(await search("абвгдежзийклмнопРС АБ")).toBe(1);
    expect(await search("абвгдежзийклмнопрс")).toBe(0);
  });

  it("does not fold letters without exactly two cases", async () => {
    const title = "ΟΔΟΣ οδός ẞ İı ǅ";
    await app.call("POST /projects/acme%2Fsite/issues", { as: "admin", json: { title } });
    const search = async (text: string) => {
      const query = new URLSearchParams({ search: text });
      return (await app.call(`GET /projects/acme%2Fsite/issues?${query}`)).json.length;
    };
    for (const text of [title, "οδοσ", "ΟΔΟΣ", "οδός", "ẞ", "İı", "ǅ"]) {
      expect([text, await search(text)]).toEqual([text, 1]);
    }
  });
});
