import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let people: number[];
beforeAll(async () => {
  app = await testApp();
  const idOf = async (name: string) => (await get(`/users?username=${name}`)).json[0].id;
  people = [await idOf("maintainer"), await idOf("reporter")];
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const get = (path: string, as: Person = "maintainer") => app.call(`GET ${path}`, { as });
const sendForm = (request: string, form: string) => app.call(request, { as: "maintainer", form });
const send = (request: string, json: object) => app.call(request, { as: "maintainer", json });
const names = (users: { id: number }[]) => users.map(({ id }) => id).sort();
const iids = ({ json }: Answer) => json.map(({ iid }: { iid: number }) => iid).sort();

describe("a list of numbers", () => {
  it.each([
    ["issues", "assignee_ids", "assignees"],
    ["merge_requests", "assignee_ids", "assignees"],
    ["merge_requests", "reviewer_ids", "reviewers"],
  ])(
    "of %s, %s, is emptied by an empty element, and split at commas",
    async (type, name, field) => {
      const made = await send(`POST ${SITE}/${type}`, {
        title: "Made",
        source_branch: `of-${name}`,
        target_branch: "main",
        [name]: people.join(","),
      });
      const path = `${SITE}/${type}/${made.json.iid}`;
      expect(names(made.json[field])).toEqual([...people].sort());
      for (const empty of [`${name}[]=`, `${name}[]`, `${name}=`]) {
        expect((await sendForm(`PUT ${path}`, `${name}=${people.join("%2C+")}`)).status).toBe(200);
        const emptied = await sendForm(`PUT ${path}`, empty);
        expect([emptied.status, emptied.json[field]], empty).toEqual([200, []]);
      }
      for (const empty of [[""], [null], [","], []]) {
        const given = await send(`PUT ${path}`, { [name]: [String(people[0]), "", ...empty] });
        expect(names(given.json[field])).toEqual([people[0]]);
        const emptied = await send(`PUT ${path}`, { [name]: empty });
        expect([emptied.status, emptied.json[field]]).toEqual([200, []]);
      }
      const wrong = await send(`PUT ${path}`, { [name]: ["1,x"] });
      expect([wrong.status, wrong.json]).toEqual([400, { message: { [name]: ["is invalid"] } }]);
    },
  );

  it("filters nothing if it is empty", async () => {
    for (const type of ["issues", "merge_requests", "milestones"]) {
      const more = { title: "Another", source_branch: `from-${type}`, target_branch: "main" };
      for (let number = 0; number < 2; number += 1) {
        const { json } = await send(`POST ${SITE}/${type}`, { ...more, title: `No. ${number}` });
        expect(json.iid).toBeDefined();
        more.source_branch += "-too";
      }
      const path = `${SITE}/${type}`;
      const all = iids(await get(path));
      for (const empty of ["iids[]=", "iids[]", "iids=", "iids="]) {
        expect(iids(await get(`${path}?${empty}`)), empty).toEqual(all);
      }
      const some = all.slice(0, 2);
      expect(iids(await get(`${path}?iids=${some.join(",")}`))).toEqual(some);
      if (type !== "milestones") expect(iids(await get(`${path}?not[iids][]=`))).toEqual(all);
    }
    const groups = (await get("/groups")).json.map(({ id }: { id: number }) => id);
    expect((await get("/groups?skip_groups[]=")).json).toHaveLength(groups.length);
    expect((await get(`/groups?skip_groups=${groups.join(",")}`)).json).toEqual([]);
  });

  it("makes an approval rule of anybody", async () => {
    const rule = { name: "Anybody", approvals_required: 1, user_ids: [""], group_ids: [""] };
    const { status, json } = await send(`POST ${SITE}/approval_rules`, rule);
    expect([status, json.rule_type, json.users]).toEqual([201, "any_approver", []]);
  });

  it("counts its entries", async () => {
    const { status, json } = await get(`${SITE}/issues?iids=${"1,".repeat(501)}`);
    const message = { iids: ["has too many entries (maximum is 500)"] };
    expect([status, json]).toEqual([400, { message }]);
  });
});
