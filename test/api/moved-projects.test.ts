// Projects at their former paths: GitLab's API redirects there, and so does ours.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let id: number;
beforeAll(async () => {
  app = await testApp();
  const json = { name: "before", visibility: "private" };
  const made = await app.call("POST /projects", { as: "owner", json });
  id = made.json.id;
  await app.call(`PUT /projects/${id}`, { as: "owner", json: { path: "after" } });
});
afterAll(() => app.dispose());

const FORMER = "/projects/owner%2Fbefore";
const at = (rest = "") => `http://pm.test/api/v4/projects/${id}${rest}`;

it.each([
  ["GET", "", "", 301],
  ["HEAD", "", "", 301],
  ["GET", "/issues?state=opened&labels[]=a+b", "/issues?state=opened&labels%5B%5D=a+b", 301],
  ["GET", "/repository/files/a%2Fb?ref=main", "/repository/files/a%2Fb?ref=main", 301],
  ["POST", "/issues", "/issues", 308],
  ["PUT", "", "", 308],
  ["DELETE", "", "", 308],
])("%s %s says where it is now", async (method, rest, found, status) => {
  const { headers, ...answer } = await app.call(`${method} ${FORMER}${rest}`, {
    as: "owner",
    ...(method !== "GET" && method !== "HEAD" && { json: { title: "t", name: "t" } }),
  });
  expect([answer.status, headers.get("location")]).toEqual([status, at(found)]);
  if (method !== "HEAD") {
    const message = `This resource has been moved permanently to ${at(found)}`;
    expect(answer.json).toEqual({ message });
  }
});

it("says it in any letter case, and without the token of the query", async () => {
  const request = "GET /projects/Owner%2FBEFORE?private_token=token-of-owner&statistics=true";
  const { status, headers, text } = await app.call(request);
  expect([status, headers.get("location")]).toEqual([301, at("?statistics=true")]);
  expect(text).not.toContain("token-of-owner");
});

it("tells nobody who may not see it", async () => {
  for (const as of ["stranger", "anonymous"] as const) {
    const { status, json, headers } = await app.call(`GET ${FORMER}`, { as });
    expect([status, json, headers.get("location")]).toEqual([
      404,
      { message: "404 Project Not Found" },
      null,
    ]);
  }
});

it("is over once the path is another's", async () => {
  const json = { name: "other", path: "before", visibility: "private" };
  const { json: other } = await app.call("POST /projects", { as: "owner", json });
  const { status, json: found } = await app.call(`GET ${FORMER}`, { as: "owner" });
  expect([status, found.id]).toEqual([200, other.id]);
});
