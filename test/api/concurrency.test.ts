import { afterAll, beforeAll, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import type { Answer, CallOptions } from "../helpers.ts";
import { type Client, codeFor, type OAuthApp, oauthApp, redemption } from "../oauth/helpers.ts";

const ROUNDS = 3;
const CLIENTS = 12;

let app: OAuthApp;
/** A second server on the same database. */
let other: Awaited<ReturnType<OAuthApp["another"]>>;
let client: Client;
beforeAll(async () => {
  app = await oauthApp();
  other = await app.another();
  client = await app.register();
});
afterAll(async () => {
  await other.close();
  await app.dispose();
});

let requests = 0;
/** Sends requests to the two servers in turn. */
const ask = (request: string, options: CallOptions = {}): Promise<Answer> => {
  requests += 1;
  return (requests % 2 === 0 ? app : other).call(request, { as: "owner", ...options });
};

async function made(request: string, json: unknown): Promise<{ id: number; iid: number }> {
  const answer = await ask(request, { json });
  expect([request, answer.status]).toEqual([request, 201]);
  return answer.json;
}

const many = <T>(count: number, work: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)));

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).sort();

/** Creates the records one round writes to. */
async function preparedFor(round: number) {
  const group = await made("POST /groups", { name: `G${round}`, path: `g-${round}` });
  const inGroup = { namespace_id: group.id, visibility: "private" };
  const project = await made("POST /projects", { ...inGroup, path: "busy" });
  const at = `/projects/${project.id}`;
  const labels = await many(6, (index) =>
    made(`POST ${at}/labels`, { name: `label ${index}`, color: "#123456" }),
  );
  const board = await made(`POST /groups/${group.id}/boards`, { name: "Board" });
  const lists: number[] = [];
  for (const name of ["a", "b", "c", "d"]) {
    const label = await made(`POST /groups/${group.id}/labels`, { name, color: "#123456" });
    const list = { label_id: label.id };
    lists.push((await made(`POST /groups/${group.id}/boards/${board.id}/lists`, list)).id);
  }
  const pair = await made("POST /groups", { name: `Pair ${round}`, path: `pair-${round}` });
  const [admin] = (await ask("GET /users?username=admin")).json;
  const [owner] = (await ask("GET /users?username=owner")).json;
  await made(`POST /groups/${pair.id}/members`, { user_id: admin.id, access_level: 50 });
  const open = await made("POST /groups", {
    name: `Open ${round}`,
    path: `open-${round}`,
    visibility: "public",
  });
  const page = await made(`POST ${at}/wikis`, { title: "Page", content: "0" });
  expect(page).toBeTruthy();
  const issue = await made(`POST ${at}/issues`, { title: "Toggled" });
  const [site] = (await ask("GET /projects?search=site")).json;
  const code = await codeFor(await app.signedIn(), client);
  const once = (await app.token(redemption(client, await codeFor(await app.signedIn(), client))))
    .json.refresh_token as string;
  return {
    group,
    project,
    at,
    labels,
    board,
    lists,
    pair,
    admin,
    owner,
    open,
    issue,
    site,
    code,
    once,
  };
}

it.each(Array.from({ length: ROUNDS }, (_, round) => [round]))(
  "conflicting concurrent writes have one winner each and leave the data consistent (%i)",
  async (round) => {
    const on = await preparedFor(round);
    const { at, labels, board, lists, pair, group, open } = on;
    const everything = {
      issues: many(CLIENTS, async (index) => {
        const answers: Answer[] = [];
        for (let number = 0; number < 4; number += 1) {
          const labels =
            number % 2 ? `new ${number},new ${number + 1}` : `new ${number + 1},new ${number}`;
          const json = { title: `By ${index}`, labels, description: "For @admin" };
          answers.push(await ask(`POST ${at}/issues`, { json }));
        }
        return answers;
      }),
      renamed: many(labels.length, (index) =>
        ask(`PUT ${at}/labels/${labels[index]?.id}`, { json: { new_name: "the same" } }),
      ),
      leaving: Promise.all([
        ask(`DELETE /groups/${pair.id}/members/${on.admin.id}`),
        ask(`DELETE /groups/${pair.id}/members/${on.owner.id}`, { as: "admin" }),
      ]),
      moved: many(8, (index) =>
        ask(`PUT /groups/${group.id}/boards/${board.id}/lists/${lists[index % 4]}`, {
          json: { position: (index * 7) % 4 },
        }),
      ),
      groups: many(5, (index) =>
        ask("POST /groups", { json: { name: `Twin ${index}`, path: `twin-${round}` } }),
      ),
      redeemed: many(2, () => app.token(redemption(client, on.code))),
      refreshed: many(2, () => app.refresh(client, on.once)),
      toggled: many(6, (index) =>
        ask(`PUT ${at}/issues/${on.issue.iid}`, {
          json: { state_event: index % 3 === 2 ? "reopen" : "close" },
        }),
      ),
      narrowed: Promise.all([
        ask(`PUT /groups/${open.id}`, { json: { visibility: "private" } }),
        ask("POST /projects", {
          json: { path: "shown", namespace_id: open.id, visibility: "public" },
        }),
        ask("POST /groups", {
          json: { name: "Below", path: "below", parent_id: open.id, visibility: "public" },
        }),
      ]),
      pages: many(6, (index) =>
        ask(`PUT ${at}/wikis/Page`, { json: { content: `${index}`, title: `Page ${index}` } }),
      ),
      merging: many(4, () =>
        ask(`POST ${at}/merge_requests`, {
          json: { title: "M", source_branch: "one", target_branch: "main" },
        }),
      ),
      milestones: many(4, (index) =>
        ask(`POST ${at}/milestones`, { json: { title: index % 2 ? "Odd" : "Even" } }),
      ),
      stars: many(3, (index) =>
        ask(`POST /projects/${on.site.id}/star`, {
          as: (["guest", "reporter", "developer"] as const)[index] as "guest",
        }),
      ),
    };
    const answers = Object.fromEntries(
      await Promise.all(
        Object.entries(everything).map(async ([name, asked]) => [name, (await asked).flat()]),
      ),
    ) as Record<keyof typeof everything, Answer[]>;

    const broken = Object.values(answers)
      .flat()
      .filter(({ status }) => status >= 500)
      .map(({ status, text }) => `${status} ${text}`);
    expect(broken).toEqual([]);

    const made201 = new Set(statuses(answers.issues));
    expect([...made201]).toEqual([201]);
    const iids = (
      await app.store.rows("select iid from issues where project_id = ? order by iid", [
        on.project.id,
      ])
    ).map(([iid]) => iid);
    expect(iids).toEqual(Array.from({ length: CLIENTS * 4 + 1 }, (_, index) => index + 1));
    expect(answers.issues.map(({ json }) => json.iid).sort((a, b) => a - b)).toEqual(iids.slice(1));
    const told = await app.store.rows(
      `select e.target_iid, i.iid from events e join issues i on i.id = e.target_id
       where e.target_type = 'Issue' and e.project_id = ? and e.target_iid <> i.iid`,
      [on.project.id],
    );
    expect(told).toEqual([]);

    expect(statuses(answers.renamed)).toEqual([200, 409, 409, 409, 409, 409]);
    expect(statuses(answers.leaving)[0]).toBe(204);
    expect(statuses(answers.leaving)[1]).toBeGreaterThanOrEqual(403);
    const owners = "select count(*) from members where namespace_id = ? and access_level = 50";
    expect(await app.store.rows(owners, [pair.id])).toEqual([[1]]);
    const positions =
      "select position from board_lists where board_id = ? and position is not null order by position";
    expect(await app.store.rows(positions, [board.id])).toEqual([[0], [1], [2], [3]]);
    expect(statuses(answers.groups)).toEqual([201, 409, 409, 409, 409]);
    expect(statuses(answers.redeemed)).toEqual([200, 400]);
    expect(statuses(answers.refreshed)).toEqual([200, 400]);
    // Reusing a code revokes what it gave. A second refresh within ten seconds counts as a retry (docs/oauth.md).
    const tokenOf = (given: Answer[]) =>
      given.find(({ json }) => json.access_token)?.json.access_token;
    expect((await app.user(tokenOf(answers.redeemed))).status).toBe(401);
    expect((await app.user(tokenOf(answers.refreshed))).status).toBe(200);
    const exposed = await app.store.rows(
      `select p.full_path from projects p join namespaces n on n.id = p.namespace_id
       where n.kind = 'group' and p.visibility > n.visibility`,
    );
    expect(exposed).toEqual([]);
    expect(statuses(answers.toggled)).toEqual([200, 200, 200, 200, 200, 200]);
    const changes = (
      await app.store.rows(
        `select action from events where project_id = ? and target_iid = ? and target_type = 'Issue'
           and action in ('closed', 'reopened') order by id`,
        [on.project.id, on.issue.iid],
      )
    ).map(([action]) => action);
    expect(changes).toEqual(changes.map((_, index) => (index % 2 ? "reopened" : "closed")));
    expect(statuses(answers.pages).filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(statuses(answers.merging)).toEqual([201, 409, 409, 409]);
    expect(statuses(answers.milestones)).toEqual([201, 201, 400, 400]);

    const problems = (await check(app.store)).filter(({ problems }) => problems.length > 0);
    expect(problems).toEqual([]);
    const twice = `select issue_id, user_id from todos where state = 'pending' and issue_id is not null
      group by issue_id, user_id having count(*) > 1`;
    expect(await app.store.rows(twice)).toEqual([]);
  },
  60_000,
);
