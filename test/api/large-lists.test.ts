import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
/** Each character takes six in JSON. */
const LARGE = "\u0001".repeat(150_000);
const COUNT = 23;
const PROJECT = "/projects/acme%2Fsite";

beforeAll(async () => {
  app = await testApp();
  for (let at = 0; at < COUNT; at += 1) {
    const name = `page-${String(at).padStart(2, "0")}`;
    const wiki = { title: name, content: at === 9 ? "small" : LARGE + at };
    await app.call(`POST ${PROJECT}/wikis`, { as: "owner", json: wiki });
    const issue = { title: name, description: `${LARGE}${at}` };
    await app.call(`POST ${PROJECT}/issues`, { as: "owner", json: issue });
  }
  const body = LARGE.slice(0, 140_000);
  for (let at = 0; at < 6; at += 1) {
    const path = `POST ${PROJECT}/issues/1/notes`;
    expect((await app.call(path, { as: "owner", json: { body: body + at } })).status).toBe(201);
  }
});
afterAll(() => app.dispose());

describe("a page too large to be read at once", () => {
  it.each([
    ["wiki pages", `${PROJECT}/wikis?with_content=true`, "slug"],
    ["issues", `${PROJECT}/issues?order_by=created_at&sort=asc`, "title"],
  ])("contains all rows and headers: %s", async (_, path, name) => {
    app.statements.length = 0;
    const { status, headers, json, text } = await app.call(`GET ${path}&per_page=15`);
    expect(status).toBe(200);
    expect(text.length).toBeGreaterThan(10_000_000);
    // The page was read in several pieces.
    expect(app.statements.filter((sql) => /\blimit\b/.test(sql)).length).toBeGreaterThan(3);
    expect(json.map((row: Record<string, string>) => row[name])).toEqual(
      Array.from({ length: 15 }, (_, at) => `page-${String(at).padStart(2, "0")}`),
    );
    expect(headers.get("x-total")).toBe(String(COUNT));
    expect(headers.get("x-next-page")).toBe("2");
    expect(headers.get("link")).toContain('rel="next"');
    expect(headers.get("etag")).toBeNull();

    const second = await app.call(`GET ${path}&per_page=15&page=2`);
    expect(second.json).toHaveLength(COUNT - 15);
    expect(second.headers.get("x-next-page")).toBe("");
    expect(second.headers.get("x-prev-page")).toBe("1");
    const whole = await app.call(`GET ${path}&per_page=${COUNT}`);
    expect(whole.json).toHaveLength(COUNT);
    expect(whole.json.slice(0, 15)).toEqual(json);
    expect(whole.headers.get("x-next-page")).toBe("");
    const head = await app.call(`HEAD ${path}&per_page=15`);
    expect([head.status, head.text, head.headers.get("x-total")]).toEqual([200, "", "23"]);
  });

  it("has the texts as they were stored, whatever characters they consist of", async () => {
    const project = "/projects/acme%2Fteam%2Fcore";
    const characters = '\\"\u0001\n\u{1f600}é\u2028'.repeat(40_000);
    const texts = ["", "a", "ab", "abc"].map((start) => start + characters);
    for (const [at, content] of texts.entries()) {
      const json = { title: `text-${at}`, content };
      const { status } = await app.call(`POST ${project}/wikis`, { as: "owner", json });
      expect(status).toBe(201);
    }
    const path = `GET ${project}/wikis?with_content=true`;
    const { json, text, headers } = await app.call(path, { as: "owner" });
    expect(headers.get("etag")).toBeNull();
    expect(json.map(({ content }: { content: string }) => content)).toEqual(texts);
    // No character was torn apart.
    expect(text).toBe(JSON.stringify(json));
  });

  it("of events continues after the last event read", async () => {
    const { json } = await app.call(`GET ${PROJECT}/events?action=commented&per_page=6`);
    const lasts = json.map(({ note }: { note: { body: string } }) => note.body.slice(140_000));
    expect(lasts).toEqual(["5", "4", "3", "2", "1", "0"]);
  });

  it("can be small although others are large, and has an ETag", async () => {
    const { headers, json } = await app.call(`GET ${PROJECT}/wikis?per_page=15`);
    expect(json).toHaveLength(15);
    expect(headers.get("etag")).toMatch(/^W\//);
  });
});
