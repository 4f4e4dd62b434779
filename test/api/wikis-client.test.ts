import { Gitlab } from "@gitbeaker/rest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Server, serve } from "../../src/node.ts";
import { type TestApp, testApp, tokenOf } from "../helpers.ts";

let app: TestApp;
let server: Server;
beforeAll(async () => {
  app = await testApp();
  server = await serve(app, { port: 0 });
});
afterAll(async () => {
  await server.close();
  await app.dispose();
});

describe("@gitbeaker/rest", () => {
  it("works with wikis", async () => {
    const { ProjectWikis } = new Gitlab({ host: server.url, token: tokenOf("owner") });
    const project = "secret/vault";
    const page = await ProjectWikis.create(project, "# Hi", "Guides/First steps");
    expect(page.slug).toBe("Guides/First-steps");
    expect((await ProjectWikis.show(project, page.slug)).content).toBe("# Hi");
    await ProjectWikis.edit(project, page.slug, { content: "other" });
    const options = { title: "/Start" };
    expect((await ProjectWikis.edit(project, page.slug, options)).slug).toBe("Start");
    const content = new Blob(["hello"]);
    const attached = await ProjectWikis.uploadAttachment(project, { filename: "a b.txt", content });
    expect(attached).toMatchObject({ file_name: "a_b.txt", branch: "master" });
    expect(await ProjectWikis.all(project, { withContent: true })).toEqual([
      { content: "other", format: "markdown", slug: "Start", title: "Start" },
    ]);
    await ProjectWikis.remove(project, "Start");
    expect(await ProjectWikis.all(project)).toEqual([]);
    await expect(ProjectWikis.show(project, "Start")).rejects.toThrow();
  });
});
