import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

describe("GET /groups/:id/boards", () => {
  it("is 401 without a token, even on a public group", async () => {
    const { status, json } = await app.call("GET /groups/acme/boards");
    expect([status, json]).toEqual([401, { message: "401 Unauthorized" }]);
  });

  it("lists the boards with their lists", async () => {
    const { status, json, headers } = await app.call("GET /groups/acme/boards", { as: "owner" });
    expect(status).toBe(200);
    expect(json).toEqual([
      {
        id: expect.any(Number),
        name: "Board",
        project: null,
        group: { id: expect.any(Number), name: "Acme", web_url: "http://pm.test/groups/acme" },
        lists: [
          {
            id: expect.any(Number),
            label: { name: "Development", color: "#0000ff", description: "Being built" },
            position: 0,
          },
          {
            id: expect.any(Number),
            label: { name: "Testing", color: "#00ff00", description: null },
            position: 1,
          },
        ],
      },
    ]);
    expect(headers.get("x-total")).toBe("1");
  });

  it("is 404 to a stranger where the group is private", async () => {
    const { status, json } = await app.call("GET /groups/secret/boards", { as: "stranger" });
    expect([status, json]).toEqual([404, { message: "404 Group Not Found" }]);
  });
});
