// Merge requests of very many files and lines: they are answered, and what is shown of them is bounded.
import { afterAll, beforeAll, expect, it } from "vitest";
import { givePassword, PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { entry, Objects, push } from "../packs.ts";
import { Visitor } from "../visitor.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

/** What a comparison shows of patches at most, in characters, with one patch more. */
const MOST_SHOWN = 5 * 1024 * 1024 + 200 * 1024;

let projects = 0;
/** A merge request that changes files: their texts before and after, by path. */
async function openLarge(
  files: Readonly<Record<string, readonly [before: string, after: string]>>,
) {
  projects += 1;
  const name = `large${projects}`;
  const { json: made } = await app.call("POST /projects", { as: "owner", json: { name } });
  const objects = new Objects();
  const treeOf = (side: 0 | 1) =>
    objects.add(
      "tree",
      Buffer.concat(
        Object.entries(files).map(([path, texts]) =>
          entry("100644", path, objects.add("blob", texts[side])),
        ),
      ),
    );
  const before = objects.commit(treeOf(0), []);
  const main = objects.commit(treeOf(0), [before], { message: "Aside\n" });
  const change = objects.commit(treeOf(1), [before], { message: "Much\n" });
  const refs = { "refs/heads/main": main, "refs/heads/much": change };
  expect(await push(app, `owner/${name}`, objects.pack, refs)).toContain("unpack ok");
  const path = `/projects/${made.id}/merge_requests`;
  const json = { title: "Much", source_branch: "much", target_branch: "main" };
  const opened = await app.call(`POST ${path}`, { as: "owner", json });
  expect(opened.status, opened.text).toBe(201);
  return { opened: opened.json, path: `${path}/${opened.json.iid}` };
}

const shownOf = (changes: { diff: string }[]) =>
  changes.reduce((sum, { diff }) => sum + diff.length, 0);

it("one of 3,000 files shows the first 1,000 as a whole, and all of them page by page", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 3000 }, (_, at) => {
      const path = `file-${String(at).padStart(4, "0")}`;
      return [path, [`one ${at}\n`, `two ${at}\n`]] as const;
    }),
  );
  const { opened, path } = await openLarge(files);
  expect(opened).toMatchObject({ changes_count: "1000+", merge_status: "can_be_merged" });
  const { json } = await app.call(`GET ${path}/changes`, { as: "owner" });
  expect(json.overflow).toBe(true);
  expect(json.changes).toHaveLength(1000);
  expect(json.changes[999]).toMatchObject({ new_path: "file-0999", collapsed: false });
  const last = await app.call(`GET ${path}/diffs?per_page=100&page=30`, { as: "owner" });
  expect(last.headers.get("x-total")).toBe("3000");
  expect(last.json.at(-1)).toMatchObject({
    new_path: "file-2999",
    diff: "@@ -1 +1 @@\n-one 2999\n+two 2999\n",
  });
  const [version] = (await app.call(`GET ${path}/versions`, { as: "owner" })).json;
  expect(version).toMatchObject({ state: "overflow", real_size: "1000+" });
  const detail = await app.call(`GET ${path}/versions/${version.id}`, { as: "owner" });
  expect(detail.json.diffs).toHaveLength(1000);
  await givePassword(app, "owner");
  const visitor = new Visitor(app);
  await visitor.signIn("owner", PASSWORD);
  const shown = await visitor.get(`${new URL(opened.web_url).pathname}/diffs`);
  expect([shown.status, shown.page.length < 100_000]).toEqual([200, true]);
});

it("one of 300,000 lines shows as many patches as fit, and the others without", async () => {
  const text = (word: string, count: number) =>
    Array.from({ length: count }, (_, at) => `${word} ${at}\n`).join("");
  const files = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => {
      const path = `file-${String(at).padStart(2, "0")}`;
      return [path, [text("before the change", 2500), text("after it", 2500)]] as const;
    }),
  );
  const { opened, path } = await openLarge(files);
  expect(opened).toMatchObject({ changes_count: "60", merge_status: "can_be_merged" });
  const { json } = await app.call(`GET ${path}/changes`, { as: "owner" });
  expect(json.overflow).toBe(true);
  expect(json.changes).toHaveLength(60);
  expect(json.changes[0].diff).toMatch(/^@@ -1,2500 \+1,2500 @@\n-before the change 0\n/);
  expect(json.changes.at(-1)).toMatchObject({ new_path: "file-59", diff: "", collapsed: true });
  expect(shownOf(json.changes)).toBeLessThan(MOST_SHOWN);
  const page = await app.call(`GET ${path}/diffs?per_page=20&page=3`, { as: "owner" });
  expect(page.json.at(-1)).toMatchObject({ new_path: "file-59", collapsed: false });
  const { text: raw } = await app.call(`GET ${path}/raw_diffs`, { as: "owner" });
  expect(raw.match(/^[-+](before the change|after it) \d+$/gm)).toHaveLength(300_000);
});

it("one of a file of 300,000 lines shows that it is too large", async () => {
  const text = (word: string) => `${word}\n`.repeat(300_000);
  const { path } = await openLarge({ large: [text("before"), text("after")] });
  const { json } = await app.call(`GET ${path}/changes`, { as: "owner" });
  expect(json.changes).toEqual([
    expect.objectContaining({ new_path: "large", diff: "", too_large: true }),
  ]);
});
