// What merge requests say of their code, compared with what REST says of it.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CodeProject, lines, newCodeProject } from "../api/_merge-requests.ts";
import { everyone, type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, send } from "./ask.ts";

let app: TestApp;
let project: CodeProject;
beforeAll(async () => {
  app = await testApp();
  project = await newCodeProject(app);
  const message = "The third\n\nSays more.\n";
  await project.commit("three", { "one.txt": lines(3) }, { from: "main" });
  await project.commit("three", { "two.txt": lines(5), "one.txt": lines(2) });
  await project.commit("three", { "a.txt": lines(20, { 4: "other" }) }, { message });
  await project.open("three");
  await project.commit("one", { "a.txt": null }, { from: "main" });
  await project.open("one");
});
afterAll(() => app.dispose());

const of = (fields: string, iid = 1) =>
  `{ project(fullPath: "${project.fullPath}") { mergeRequest(iid: "${iid}") { ${fields} } } }`;
const read = async (fields: string, iid?: number, as: Person = "developer") =>
  (await ask(app, of(fields, iid), {}, as)).project.mergeRequest;
const problem = async (fields: string) => {
  const { data, errors } = await send(app, "developer", of(fields));
  return [data.project.mergeRequest, errors?.[0].message];
};

describe("commits of merge requests", () => {
  it("are those that REST lists", async () => {
    const { json: listed } = await project.get("/merge_requests/1/commits");
    const { commitCount, commits } = await read(`commitCount commits { count nodes { id sha shortId
      title fullTitle message description author { username } authorName authorEmail authoredDate
      committerName committerEmail committedDate webUrl webPath } }`);
    expect([commitCount, commits.count, listed.length]).toEqual([3, 3, 3]);
    const instant = (zoned: string) => new Date(zoned).toISOString();
    const expected = listed.map((one: Record<string, string>) => ({
      id: `gid://gitlab/Commit/${one["id"]}`,
      sha: one["id"],
      shortId: one["short_id"],
      title: one["title"],
      fullTitle: one["title"],
      message: one["message"],
      description: one["message"]?.startsWith("The third") ? "Says more." : "",
      author: { username: "maintainer" },
      authorName: one["author_name"],
      authorEmail: one["author_email"],
      authoredDate: instant(one["authored_date"] as string),
      committerName: one["committer_name"],
      committerEmail: one["committer_email"],
      committedDate: instant(one["committed_date"] as string),
      webUrl: one["web_url"],
      webPath: new URL(one["web_url"] as string).pathname,
    }));
    expect(commits.nodes).toEqual(expected);
  });

  it("come in pages, forwards and backwards", async () => {
    const page = async (args: string) => {
      const { commits } = await read(
        `commits(${args}) { nodes { sha } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`,
      );
      return { ...commits.pageInfo, shas: commits.nodes.map(({ sha }: { sha: string }) => sha) };
    };
    const { shas } = await page("first: 1000");
    const first = await page("first: 2");
    expect(first).toMatchObject({
      shas: shas.slice(0, 2),
      hasNextPage: true,
      hasPreviousPage: false,
    });
    const next = await page(`first: 2, after: "${first.endCursor}"`);
    expect(next).toMatchObject({
      shas: shas.slice(2),
      hasNextPage: false,
      hasPreviousPage: true,
    });
    expect(await page(`last: 1, before: "${next.startCursor}"`)).toMatchObject({
      shas: shas.slice(1, 2),
      hasNextPage: true,
      hasPreviousPage: true,
    });
    const { edges } = (await read("commits { edges { cursor node { sha } } }")).commits;
    expect(edges.map(({ node }: { node: { sha: string } }) => node.sha)).toEqual(shas);
    expect(edges[1].cursor).toBe(first.endCursor);
    expect((await page(`after: "${edges[0].cursor}"`)).shas).toEqual(shas.slice(1));
    expect(await page("first: 0")).toMatchObject({ shas: [], startCursor: null, endCursor: null });
    expect((await page(`after: "${next.endCursor}"`)).shas).toEqual([]);
  });

  it("refuse pages that can't be", async () => {
    const refused = [
      ["first: 1, last: 1", "Can only provide either first or last, not both"],
      ["first: -1", "first and last must not be negative"],
      ['after: "nothing"', "Please provide a valid cursor"],
      [`after: "${Buffer.from("[-2]").toString("base64url")}"`, "Please provide a valid cursor"],
    ];
    for (const [args, message] of refused) {
      expect(await problem(`commits(${args}) { count }`)).toEqual([{ commits: null }, message]);
    }
  });

  it("are none where there is no code", async () => {
    const json = { title: "Record", source_branch: "a", target_branch: "b" };
    const made = await app.call("POST /projects/acme%2Fsite/merge_requests", { as: "owner", json });
    expect(made.status).toBe(201);
    const query = `{ project(fullPath: "acme/site") { mergeRequest(iid: "${made.json.iid}") {
      commitCount commits { count nodes { sha } } diffStats { path } diffStatsSummary { changes } } } }`;
    expect((await ask(app, query)).project.mergeRequest).toEqual({
      commitCount: null,
      commits: { count: 0, nodes: [] },
      diffStats: [],
      diffStatsSummary: null,
    });
  });

  it("are read for a list by a bounded number of statements", async () => {
    const query = (first: number) => `{ project(fullPath: "${project.fullPath}") {
      mergeRequests(first: ${first}) { nodes { commitCount commits { nodes { sha author { id } } } diffStats { path } } } } }`;
    const count = async (first: number) => {
      app.statements.length = 0;
      await ask(app, query(first), {}, "developer");
      return app.statements.length;
    };
    await count(2);
    const [one, two] = [await count(1), await count(2)];
    // Authors are looked up for each merge request.
    expect(two - one).toBeLessThanOrEqual(1);
  });

  it("are seen by those who see the merge request", async () => {
    for (const as of everyone) {
      const { data } = await send(app, as, of("commitCount diffStats { path }"));
      const { status } = await project.get("/merge_requests/1/commits", as);
      expect([as, data.project?.mergeRequest?.commitCount]).toEqual([
        as,
        status === 200 ? 3 : undefined,
      ]);
    }
  });
});

describe("changes of merge requests", () => {
  it("are counted by file and together", async () => {
    const counts =
      "diffStats { path additions deletions } diffStatsSummary { additions deletions changes fileCount }";
    expect(await read(counts)).toEqual({
      diffStats: [
        { path: "a.txt", additions: 1, deletions: 1 },
        { path: "one.txt", additions: 2, deletions: 0 },
        { path: "two.txt", additions: 5, deletions: 0 },
      ],
      diffStatsSummary: { additions: 8, deletions: 1, changes: 9, fileCount: 3 },
    });
    expect(await read(counts, 2)).toEqual({
      diffStats: [{ path: "a.txt", additions: 0, deletions: 20 }],
      diffStatsSummary: { additions: 0, deletions: 20, changes: 20, fileCount: 1 },
    });
    const { diffStats } = await read('diffStats(path: "two.txt") { path }');
    expect(diffStats).toEqual([{ path: "two.txt" }]);
  });

  it("follow pushes", async () => {
    await project.commit("one", { "new.txt": lines(4) });
    expect((await read("diffStatsSummary { additions }", 2)).diffStatsSummary.additions).toBe(4);
    expect((await read("commitCount", 2)).commitCount).toBe(2);
  });
});

describe("messages of merge requests", () => {
  const messages = "defaultMergeCommitMessage defaultSquashCommitMessage";

  it("are those of the commits that merging makes", async () => {
    const issue = { title: "Flap" };
    const { json: closed } = await project.send("POST", "/issues", issue);
    const description = `Closes #${closed.iid}`;
    const none = { merge_commit_template: "", squash_commit_template: "" };
    const countOf = async (iid: number) => {
      const query = `{ project(fullPath: "${project.fullPath}") { issue(iid: "${iid}") { mergeRequestsCount } } }`;
      return (await ask(app, query, {}, "developer")).project.issue.mergeRequestsCount;
    };
    expect(await countOf(closed.iid)).toBe(0);
    const make = async (branch: string, template: object) => {
      expect((await project.send("PUT", "", template, "maintainer")).status).toBe(200);
      await project.commit(branch, { [`${branch}.txt`]: lines(2) }, { from: "main" });
      await project.commit(branch, { [`${branch}.txt`]: lines(3) }, { message: "More\n\nText" });
      const { iid } = await project.open(branch, { title: `Add ${branch}`, description });
      const expected = await read(messages, iid);
      expect(await countOf(closed.iid)).toBe(template === none ? 1 : 2);
      const merged = await project.send("PUT", `/merge_requests/${iid}/merge`, { squash: true });
      expect(merged.status, merged.text).toBe(200);
      const messageOf = async (sha: string) =>
        (await project.get(`/repository/commits/${sha}`)).json.message;
      const { merge_commit_sha, squash_commit_sha } = merged.json;
      expect(expected).toEqual({
        defaultMergeCommitMessage: await messageOf(merge_commit_sha),
        defaultSquashCommitMessage: await messageOf(squash_commit_sha),
      });
      return expected;
    };
    expect(await make("plain", none)).toEqual({
      defaultMergeCommitMessage: expect.stringMatching(
        `^Merge branch 'plain' into 'main'\n\nAdd plain\n\nCloses #${closed.iid}\n\nSee merge request`,
      ),
      defaultSquashCommitMessage: "Add plain",
    });
    const all = "%{title}\n%{all_commits}\n%{first_commit}\n%{merge_request_author}\n%{merged_by}";
    const template = { merge_commit_template: `M ${all}`, squash_commit_template: `S ${all}` };
    const written = await make("other", template);
    expect(written.defaultSquashCommitMessage).toContain("S Add other\n* More\n\nText");
    await project.send("PUT", "", none, "maintainer");
  });

  it("are there without code, and for developers only", async () => {
    const json = { title: "Record", source_branch: "c", target_branch: "d" };
    const made = await app.call("POST /projects/acme%2Fsite/merge_requests", { as: "owner", json });
    const query = `{ project(fullPath: "acme/site") { mergeRequest(iid: "${made.json.iid}") { ${messages} } } }`;
    const seen = [];
    for (const as of everyone) {
      const { data } = await send(app, as, query);
      if (data.project?.mergeRequest?.defaultSquashCommitMessage === "Record") seen.push(as);
    }
    expect(seen).toEqual(["developer", "maintainer", "owner", "admin"]);
  });

  it("are made for 20 merge requests at most", async () => {
    await project.commit("many", { "many.txt": "" }, { from: "main" });
    for (let at = 0; at <= 20; at += 1) {
      await project.send("POST", "/repository/branches", { branch: `to-${at}`, ref: "main" });
      await project.open("many", { target_branch: `to-${at}` });
    }
    const list = (first: number) =>
      send(
        app,
        "developer",
        `{ project(fullPath: "${project.fullPath}") { mergeRequests(first: ${first}) { nodes { defaultMergeCommitMessage } } } }`,
      );
    const { data } = await list(20);
    expect(data.project.mergeRequests.nodes).toHaveLength(20);
    const statementsOf = async (first: number) => {
      app.statements.length = 0;
      await list(first);
      return app.statements.length;
    };
    expect(await statementsOf(2)).toBe(await statementsOf(20));
    const { errors } = await list(21);
    expect(errors?.[0].message).toBe("Messages of more than 20 merge requests can't be made");
  });
});

it("the project decides how merge requests are squashed and rebased", async () => {
  await project.commit("late", { "late.txt": "" }, { from: "main" });
  const { iid } = await project.open("late", { squash: true });
  await project.commit("main", { "new.txt": "" });
  const fields = `squash squashOnMerge squashReadOnly shouldBeRebased
    project { squashReadOnly removeSourceBranchAfterMerge }`;
  const seen = [];
  for (const squash_option of ["never", "always", "default_off"]) {
    const json = { squash_option, remove_source_branch_after_merge: squash_option === "always" };
    await project.send("PUT", "", json, "maintainer");
    const { squash, squashOnMerge, squashReadOnly, project: own } = await read(fields, iid);
    expect([squash, own.squashReadOnly]).toEqual([true, squashReadOnly]);
    seen.push([squash_option, squashOnMerge, squashReadOnly, own.removeSourceBranchAfterMerge]);
  }
  expect(seen).toEqual([
    ["never", false, true, false],
    ["always", true, true, true],
    ["default_off", true, false, false],
  ]);
  await project.get(`/merge_requests/${iid}`);
  const rebased = [(await read("shouldBeRebased", iid)).shouldBeRebased];
  for (const merge_method of ["ff", "merge"]) {
    await project.send("PUT", "", { merge_method }, "maintainer");
    rebased.push((await read("shouldBeRebased", iid)).shouldBeRebased);
  }
  expect(rebased).toEqual([false, true, false]);
});
