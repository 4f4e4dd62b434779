// Texts as HTML, compared with what `POST /markdown` makes of them.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask } from "./ask.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const TEXT = "**See** #1, secret/vault#1, @owner and `code`.\n\n- [x] <b>done</b>\n";

async function create(project: string, description: string): Promise<number> {
  const { status, json } = await app.call(`POST /projects/${encodeURIComponent(project)}/issues`, {
    as: "owner",
    json: { title: "T", description },
  });
  expect(status).toBe(201);
  return json.iid;
}

/** A text as REST renders it. */
async function rendered(text: string, project: string, as: Person): Promise<string> {
  const { json } = await app.call("POST /markdown", { as, json: { text, gfm: true, project } });
  return json.html;
}

it("descriptions and notes have links to what the caller may see", async () => {
  await create("secret/vault", "Hidden");
  const iid = await create("acme/site", TEXT);
  const note = { as: "owner", json: { body: `${TEXT}\n~UX` } } as const;
  await app.call(`POST /projects/acme%2Fsite/issues/${iid}/notes`, note);
  const query = `{ project(fullPath: "acme/site") { issue(iid: "${iid}") { descriptionHtml
    notes { nodes { body bodyHtml } } } } }`;
  const found: string[] = [];
  for (const as of ["owner", "stranger"] as const) {
    const { issue } = (await ask(app, query, {}, as)).project;
    expect(issue.descriptionHtml).toBe(await rendered(TEXT, "acme/site", as));
    expect(issue.notes.nodes.length).toBeGreaterThan(0);
    for (const { body, bodyHtml } of issue.notes.nodes) {
      expect(bodyHtml).toBe(await rendered(body, "acme/site", as));
    }
    found.push(issue.descriptionHtml);
  }
  expect(found[0]).toContain("/secret/vault/-/issues/1");
  expect(found[1]).not.toContain("/secret/vault/-/issues/1");
  expect(found[1]).toContain(`<a href="http://pm.test/acme/site/-/issues/1"`);
});

it("references mean what their own project has, also in lists of several", async () => {
  await create("acme/team/core", "Referring to #1");
  await create("acme/site", "Referring to #1");
  const query =
    '{ group(fullPath: "acme") { issues(includeSubgroups: true, search: "Referring") { nodes { descriptionHtml reference(full: true) } } } }';
  const { nodes } = (await ask(app, query)).group.issues;
  expect(nodes).toHaveLength(2);
  for (const { descriptionHtml, reference } of nodes) {
    const [project] = reference.split("#");
    expect(descriptionHtml).toBe(await rendered("Referring to #1", project, "owner"));
    expect(descriptionHtml).toContain(`/${project}/-/issues/1`);
  }
});

it("null stays null, and what is too long is shown as it is", async () => {
  const none = await app.call("POST /projects/acme%2Fsite/issues", {
    as: "owner",
    json: { title: "None" },
  });
  const long = await create("acme/site", `**b** <\n${"x ".repeat(40_000)}`);
  const html = async (iid: number) => {
    const query = `{ project(fullPath: "acme/site") { issue(iid: "${iid}") { descriptionHtml } } }`;
    return (await ask(app, query)).project.issue.descriptionHtml;
  };
  expect(await html(none.json.iid)).toBeNull();
  expect((await html(long)).slice(0, 20)).toBe("<p>**b** &lt;<br>\nx ");
});

it("takes no more statements for more of one project", async () => {
  const count = async (first: number) => {
    app.statements.length = 0;
    const query = `{ project(fullPath: "acme/site") { issues(first: ${first}) { nodes { descriptionHtml } } } }`;
    await ask(app, query);
    return app.statements.length;
  };
  await count(5);
  for (let index = 0; index < 5; index += 1) await create("acme/site", `${TEXT} ${index}`);
  expect(await count(5)).toBe(await count(3));
});
