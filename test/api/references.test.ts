import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";
let branch = 0;

beforeAll(async () => {
  app = await testApp();
  for (const project of [SITE, "/projects/acme%2Fteam%2Fcore", "/projects/secret%2Fvault"]) {
    for (const title of ["One", "Two", "Three"]) {
      await app.call(`POST ${project}/issues`, { as: "owner", json: { title } });
    }
  }
});
afterAll(() => app.dispose());

const create = async (json: object, as: Person = "owner") => {
  branch += 1;
  const made = await app.call(`POST ${SITE}/merge_requests`, {
    as,
    json: { title: "Work", source_branch: `b${branch}`, target_branch: "main", ...json },
  });
  expect(made.status, made.text).toBe(201);
  return `${SITE}/merge_requests/${made.json.iid}`;
};

/** The issues a merge request closes, as `path#number`. */
const closedBy = async (request: string, as: Person = "owner") => {
  const { status, json } = await app.call(`GET ${request}/closes_issues`, { as });
  expect(status).toBe(200);
  return json.map(({ web_url }: { web_url: string }) =>
    web_url.replace("http://pm.test/", "").replace("/-/issues/", "#"),
  );
};

describe("a merge request closes", () => {
  it.each([
    ["Closes #1", ["acme/site#1"]],
    ["closed #1, #2 and #3", ["acme/site#1", "acme/site#2", "acme/site#3"]],
    ["Fixes: issue #1\nResolving issues #2 and #3", ["acme/site#1", "acme/site#2", "acme/site#3"]],
    ["Implement acme/team/core#2 and #1", ["acme/site#1", "acme/team/core#2"]],
    ["Closes ACME/Site#1, site#2", ["acme/site#1", "acme/site#2"]],
    ["Closes #1, see #2, #3", ["acme/site#1"]],
    ["It fixes #1. Closes #1", ["acme/site#1"]],
    ["#1 is fixed", []],
    ["CLOSES #1", []],
    ["encloses #1", []],
    ["Closes &#1; ##2 x/#3 /a#1 #1a #99", []],
    ["`Closes #1`\n```\nCloses #2\n```", []],
    ["Closes nowhere/at/all#1", []],
  ])("what its description says: %j", async (description, issues) => {
    expect(await closedBy(await create({ description }))).toEqual(issues);
  });

  it("what its title says, and no longer what it said", async () => {
    const request = await create({ title: "Fix #1", description: "Closes #2" });
    expect(await closedBy(request)).toEqual(["acme/site#1", "acme/site#2"]);
    await app.call(`PUT ${request}`, { as: "owner", json: { title: "Fix" } });
    expect(await closedBy(request)).toEqual(["acme/site#2"]);
    await app.call(`PUT ${request}`, { as: "owner", json: { description: null } });
    expect(await closedBy(request)).toEqual([]);
  });

  it("only issues that its author and the caller can see", async () => {
    const request = await create({ description: "Closes secret/vault#1 and #3" });
    expect(await closedBy(request)).toEqual(["acme/site#3", "secret/vault#1"]);
    expect(await closedBy(request, "stranger")).toEqual(["acme/site#3"]);
    const issue = "/projects/secret%2Fvault/issues/1";
    expect((await app.call(`GET ${issue}/closed_by`, { as: "owner" })).json).toHaveLength(1);
  });

  it("none unless it goes into the default branch", async () => {
    const request = await create({ description: "Closes #1", target_branch: "next" });
    expect(await closedBy(request)).toEqual(["acme/site#1"]);
    await app.call(`PUT ${SITE}`, { as: "owner", json: { default_branch: "main" } });
    expect(await closedBy(request)).toEqual([]);
    expect(await closedBy(await create({ description: "Closes #1" }))).toEqual(["acme/site#1"]);
  });
});

it("an issue lists the merge requests that close it, and those that refer to it", async () => {
  const { json } = await app.call(`POST ${SITE}/issues`, { as: "owner", json: { title: "New" } });
  const requests = [
    await create({ description: `Closes #${json.iid}` }),
    await create({ description: `Like #${json.iid}` }),
  ];
  const shown = async (what: string, as?: Person) => {
    const answer = await app.call(`GET ${SITE}/issues/${json.iid}/${what}`, as ? { as } : {});
    expect(answer.status, answer.text).toBe(200);
    return answer.json.map(({ iid }: { iid: number }) => `${SITE}/merge_requests/${iid}`);
  };
  expect(await shown("related_merge_requests")).toEqual(requests);
  expect(await shown("closed_by")).toEqual(requests.slice(0, 1));
  const edit = { merge_requests_access_level: "disabled", merge_requests_enabled: false };
  await app.call(`PUT ${SITE}`, { as: "owner", json: edit });
  expect(await shown("related_merge_requests", "owner")).toEqual([]);
  await app.call(`PUT ${SITE}`, { as: "owner", json: { merge_requests_enabled: true } });
});

it("a merge request refers to at most a hundred issues", async () => {
  const rows = "select count(*) from merge_request_issues where merge_request_id = ?";
  const description = `${Array.from({ length: 150 }, (_, at) => `#${at + 500}`).join(" ")} #1`;
  const { json } = await app.call(`GET ${await create({ description })}`, { as: "owner" });
  expect(await app.store.rows(rows, [json.id])).toEqual([[0]]);
});
