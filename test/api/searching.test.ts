import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  const [acme, secret] = baseSeed.groups ?? [];
  const issues = (place: string) => [
    { title: `Needle in ${place}`, author: "owner" },
    { title: `Hidden needle in ${place}`, author: "owner", confidential: true },
    { title: `Closed needle in ${place}`, author: "owner", state: "closed" as const },
    { title: "Hay", author: "owner" },
  ];
  const requests = (place: string) => [
    {
      title: `Needle merge in ${place}`,
      author: "owner",
      source_branch: "a",
      target_branch: "main",
    },
  ];
  const things = (place: string) => ({
    issues: issues(place),
    merge_requests: requests(place),
    milestones: [{ title: `Needle milestone of ${place}` }, { title: "Hay" }],
    snippets: [
      { title: `Needle snippet of ${place}`, file_name: "a.txt", content: "x", author: "owner" },
    ],
  });
  app = await testApp({
    seed: {
      ...baseSeed,
      groups: [
        {
          ...acme,
          path: "acme",
          milestones: [{ title: "Needle milestone of acme" }],
          projects: [
            { path: "site", name: "Needle site", visibility: "public", ...things("site") },
          ],
        },
        {
          ...secret,
          path: "secret",
          projects: [{ path: "vault", name: "Vault", ...things("vault") }],
        },
      ],
    },
  });
});
afterAll(() => app.dispose());

interface Found {
  title?: string;
  name?: string;
  username?: string;
}
const found = async (path: string, scope: string, as: Person = "guest", more = "") => {
  const { status, json } = await app.call(`GET ${path}?scope=${scope}&search=nEEdle${more}`, {
    as,
  });
  expect(status).toBe(200);
  return json.map(({ title, name, username }: Found) => username ?? title ?? name).sort();
};

describe("a search of everything", () => {
  it("finds what the caller can see", async () => {
    expect(await found("/search", "projects")).toEqual(["Needle site"]);
    expect(await found("/search", "issues", "stranger")).toEqual([
      "Closed needle in site",
      "Needle in site",
    ]);
    expect(await found("/search", "issues", "guest")).toHaveLength(4);
    expect(await found("/search", "issues", "reporter")).toHaveLength(6);
    expect(await found("/search", "merge_requests", "stranger")).toEqual(["Needle merge in site"]);
    expect(await found("/search", "merge_requests", "reporter")).toHaveLength(2);
    expect(await found("/search", "milestones", "stranger")).toEqual([
      "Needle milestone of acme",
      "Needle milestone of site",
    ]);
    expect(await found("/search", "milestones", "guest")).toHaveLength(3);
    expect(await found("/search", "snippet_titles", "guest")).toHaveLength(2);
    expect(await found("/search", "snippet_titles", "stranger")).toEqual([
      "Needle snippet of site",
    ]);
  });

  it("finds users by their names", async () => {
    const { json } = await app.call("GET /search?scope=users&search=GUEST", { as: "stranger" });
    expect(json).toMatchObject([{ username: "guest", name: "The guest" }]);
    expect(Object.keys(json[0])).not.toContain("email");
  });

  it("is limited to a state, or to what is confidential", async () => {
    expect(await found("/search", "issues", "guest", "&state=closed")).toHaveLength(2);
    expect(await found("/search", "issues", "reporter", "&confidential=true")).toHaveLength(2);
    expect(await found("/search", "issues", "guest", "&confidential=true")).toEqual([]);
    expect(
      await found("/search", "issues", "reporter", "&confidential=false&state=opened"),
    ).toEqual(["Needle in site", "Needle in vault"]);
  });

  it("is paged", async () => {
    const path = "/search?scope=issues&search=needle&per_page=2&page=2";
    const { json, headers } = await app.call(`GET ${path}`, { as: "guest" });
    expect(json).toHaveLength(2);
    expect(headers.get("x-total")).toBe("4");
  });

  it("is refused without scope, text or user", async () => {
    expect((await app.call("GET /search?scope=projects&search=a")).status).toBe(401);
    for (const query of [
      "scope=unknown&search=a",
      "search=a",
      "scope=projects",
      "scope=notes&search=a",
    ]) {
      const { status, json } = await app.call(`GET /search?${query}`, { as: "guest" });
      expect([query, status, Object.keys(json)]).toEqual([query, 400, [expect.any(String)]]);
    }
  });
});

describe.each(["/search", "/-/search"])("a search of a group, as %s,", (path) => {
  it("finds what is in it and below", async () => {
    const acme = `/groups/acme${path}`;
    expect(await found(acme, "projects")).toEqual(["Needle site"]);
    expect(await found(acme, "issues", "guest")).toEqual([
      "Closed needle in site",
      "Needle in site",
    ]);
    expect(await found(acme, "merge_requests", "guest")).toEqual(["Needle merge in site"]);
    expect(await found(acme, "milestones", "stranger")).toHaveLength(2);
    const { json } = await app.call(`GET ${acme}?scope=users&search=er`, { as: "guest" });
    const names = json.map(({ username }: Found) => username).sort();
    expect(names).toEqual(["developer", "maintainer", "owner", "reporter"]);
    const hidden = await app.call(`GET /groups/secret${path}?scope=issues&search=a`, {
      as: "stranger",
    });
    expect([hidden.status, hidden.json]).toEqual([404, { message: "404 Group Not Found" }]);
  });
});

describe.each(["/search", "/-/search"])("a search of a project, as %s,", (path) => {
  it("finds what is in it", async () => {
    const vault = `/projects/secret%2Fvault${path}`;
    expect(await found(vault, "issues", "reporter")).toHaveLength(3);
    expect(await found(vault, "merge_requests", "reporter")).toEqual(["Needle merge in vault"]);
    expect(await found(vault, "milestones")).toEqual(["Needle milestone of vault"]);
    const { json } = await app.call(`GET ${vault}?scope=users&search=guest`, { as: "guest" });
    expect(json).toMatchObject([{ username: "guest" }]);
    expect((await app.call(`GET ${vault}?scope=projects&search=a`, { as: "guest" })).status).toBe(
      400,
    );
    expect((await app.call(`GET ${vault}?scope=issues&search=a`, { as: "stranger" })).status).toBe(
      404,
    );
  });
});
