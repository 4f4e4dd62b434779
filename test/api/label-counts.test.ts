import { afterAll, beforeAll, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { type CallOptions, type Person, type TestApp, testApp } from "../helpers.ts";

const SITE = "/projects/acme%2Fsite";
const CORE = "/projects/acme%2Fteam%2Fcore";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

async function ok(
  request: string,
  json?: object,
  as: Person = "owner",
): Promise<{ iid: number; id: number }> {
  const options: CallOptions = json === undefined ? { as } : { as, json };
  const answer = await app.call(request, options);
  expect([request, answer.status < 300 || answer.text]).toEqual([request, true]);
  return answer.json;
}

/** Every label's counts must be the totals of the lists that have only issues or merge requests with it. */
async function requireRightCounts(): Promise<void> {
  expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
  for (const place of [SITE, CORE, "/groups/acme"]) {
    for (const as of ["admin", "reporter", "guest", "stranger"] as const) {
      const labels = await app.call(`GET ${place}/labels`, { as });
      if (labels.status === 404) continue;
      for (const label of labels.json) {
        const total = async (list: string) => {
          const path = `${place}/${list}&scope=all&labels=${label.name}`;
          return Number((await app.call(`GET ${path}`, { as })).headers.get("x-total"));
        };
        const counted = {
          open_issues_count: await total("issues?state=opened"),
          closed_issues_count: await total("issues?state=closed"),
          open_merge_requests_count: await total("merge_requests?state=opened"),
        };
        const what = `${label.name} at ${place} for ${as}`;
        expect([what, label]).toEqual([what, { ...label, ...counted }]);
        const one = await app.call(`GET ${place}/labels/${label.id}`, { as });
        expect([what, one.json]).toEqual([what, label]);
      }
    }
  }
}

it("are right after every kind of write, for every caller", async () => {
  const guest = (await app.call("GET /users?username=guest", { as: "admin" })).json[0].id;
  const core = (await ok(`GET ${CORE}`)).id;
  await ok(`POST ${SITE}/labels`, { name: "own", color: "#ff0000" });
  const created = { title: "One", labels: "UX,own" };
  const one = await ok(`POST ${SITE}/issues`, created);
  const hidden = await ok(`POST ${SITE}/issues`, { ...created, confidential: true });
  const written = await ok(`POST ${SITE}/issues`, { title: "Two", confidential: true }, "guest");
  await ok(`PUT ${SITE}/issues/${written.iid}`, { labels: "UX" });
  const assigned = await ok(`POST ${SITE}/issues`, {
    ...created,
    confidential: true,
    assignee_ids: [guest],
  });
  const branches = { source_branch: "feature", target_branch: "main" };
  const request = await ok(`POST ${SITE}/merge_requests`, { ...created, ...branches });
  await ok(`POST ${CORE}/issues`, { title: "Elsewhere", labels: "UX,Testing" });
  await requireRightCounts();

  await ok(`PUT ${SITE}/issues/${one.iid}`, { add_labels: "Testing", remove_labels: "own" });
  await ok(`PUT ${SITE}/issues/${hidden.iid}`, { confidential: false, state_event: "close" });
  await ok(`PUT ${SITE}/issues/${assigned.iid}`, { state_event: "close" });
  await ok(`PUT ${SITE}/merge_requests/${request.iid}`, {
    state_event: "close",
    labels: "Testing",
  });
  await requireRightCounts();

  await ok(`PUT ${SITE}/issues/${hidden.iid}`, { confidential: true, state_event: "reopen" });
  await ok(`PUT ${SITE}/merge_requests/${request.iid}`, { state_event: "reopen" });
  await ok(`POST ${SITE}/issues/${one.iid}/move`, { to_project_id: core });
  await requireRightCounts();

  await ok(`DELETE ${SITE}/issues/${hidden.iid}`);
  await ok(`DELETE ${SITE}/merge_requests/${request.iid}`);
  await requireRightCounts();

  await ok(`DELETE ${SITE}/labels/own`);
  await ok(`PUT ${SITE}`, { issues_enabled: false });
  await requireRightCounts();
  await ok(`PUT ${SITE}`, { issues_enabled: true });
  await ok(`DELETE ${CORE}`);
  await requireRightCounts();
});

it("are those of each caller, however often others ask for the same page", async () => {
  const label = await ok(`POST ${SITE}/labels`, { name: "asked-for", color: "#00ff00" });
  const lists = async () => {
    const of = async (as: Person, query = "") => {
      const { json } = await app.call(`GET ${SITE}/labels?per_page=100${query}`, { as });
      return json.find(({ id }: { id: number }) => id === label.id);
    };
    return [await of("reporter"), await of("guest"), await of("guest", "&search=ASKED")];
  };
  await ok(`POST ${SITE}/issues`, { title: "Hidden", labels: "asked-for", confidential: true });
  await ok(`POST ${SITE}/labels/${label.id}/subscribe`, {}, "guest");
  const reporter = { open_issues_count: 1, subscribed: false };
  const guest = { open_issues_count: 0, subscribed: true };
  for (let again = 0; again < 3; again += 1) {
    expect(await lists()).toMatchObject([reporter, guest, guest]);
  }
  await ok(`POST ${SITE}/labels/${label.id}/unsubscribe`, {}, "guest");
  await ok(`POST ${SITE}/issues`, { title: "Seen", labels: "asked-for" });
  const later = { open_issues_count: 1, subscribed: false };
  for (let again = 0; again < 2; again += 1) {
    expect(await lists()).toMatchObject([{ ...reporter, open_issues_count: 2 }, later, later]);
  }
  await ok(`PUT ${SITE}/labels/${label.id}`, { new_name: "asked-for-again" });
  expect(await lists()).toMatchObject(Array(3).fill({ name: "asked-for-again" }));
  await ok(`DELETE ${SITE}/labels/${label.id}`);
  expect(await lists()).toEqual([undefined, undefined, undefined]);
});

it("are right for many issues, whose increments PostgreSQL sums up", async () => {
  for (let at = 0; at < 150; at += 1) {
    const issue = await ok(`POST ${SITE}/issues`, { title: "Many", labels: "UX" });
    if (at % 3 === 0) await ok(`PUT ${SITE}/issues/${issue.iid}`, { state_event: "close" });
  }
  await requireRightCounts();
  const [counted] = await app.store.rows("select count(*) from label_counts");
  expect((counted as [number])[0]).toBeLessThan(200);

  await app.store.transaction((db) =>
    db.run("delete from issue_labels where label_id in (select id from labels where name = 'UX')"),
  );
  await app.store.transaction((db) => db.run("update issues set state = 'closed'"));
  await requireRightCounts();
  for (const table of ["label_counts", "open_issue_counts"]) {
    const [rows] = await app.store.rows(`select count(*) from ${table}`);
    expect((rows as [number])[0], table).toBeLessThan(100);
  }
});

it("are right after many at once, and after deleting all of them", async () => {
  const add = Array.from({ length: 100 }, () =>
    ok(`POST ${SITE}/issues`, { title: "At once", labels: "UX,Testing" }),
  );
  await Promise.all(add);
  await requireRightCounts();
  await ok(`DELETE ${SITE}`);
  expect(await app.store.rows("select label_id from label_counts")).toEqual([]);
  await requireRightCounts();
});
