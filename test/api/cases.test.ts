import { afterAll, beforeAll, expect } from "vitest";
import { baseSeed, type TestApp, testApp } from "../helpers.ts";
import { type Case, describeCases } from "./_cases.ts";

let app: TestApp;
/** Ids used in requests: `{badge}` is replaced by the badge's. */
const ids: Record<string, number> = {};

beforeAll(async () => {
  const [acme, secret] = baseSeed.groups as [NonNullable<typeof baseSeed.groups>[0], object];
  app = await testApp({
    seed: {
      users: (baseSeed.users ?? []).map((user) =>
        user.username === "owner"
          ? {
              ...user,
              tokens: [...(user.tokens ?? []), { token: "reads-user", scopes: ["read_user"] }],
            }
          : user,
      ),
      groups: [
        {
          ...acme,
          badges: [
            { link_url: "http://a.example", image_url: "http://b.example", name: "Coverage" },
          ],
        },
        { ...secret, path: "secret" },
      ],
    },
  });
  const make = async (name: string, request: string, json: object, key = "id") => {
    const answer = await app.call(request, { as: "owner", json });
    expect([request, answer.status]).toEqual([request, 201]);
    ids[name] = answer.json[key];
  };
  ids["badge"] = (await app.call("GET /groups/acme/badges")).json[0].id;
  ids["owner"] = (await app.call("GET /user", { as: "owner" })).json.id;
  ids["stranger"] = (await app.call("GET /user", { as: "stranger" })).json.id;
  const site = "/projects/acme%2Fsite";
  await make("issue", `POST ${site}/issues`, { title: "Open one" }, "iid");
  await make("confidential", `POST ${site}/issues`, { title: "S", confidential: true }, "iid");
  for (const issue of [ids["issue"], ids["confidential"]]) {
    await app.call(`PUT ${site}/issues/${issue}?state_event=close`, { as: "owner" });
  }
  await app.call(`PUT ${site}/issues/${ids["issue"]}?state_event=reopen`, { as: "owner" });
  await make("request", `POST ${site}/merge_requests`, {
    title: "Closed one",
    source_branch: "a",
    target_branch: "b",
  });
  ids["request"] = 1;
  await app.call(`PUT ${site}/merge_requests/1?state_event=close`, { as: "owner" });
  await make("todo", `POST ${site}/issues/${ids["issue"]}/todo`, {});
  await app.admin.activity.recordPush({
    project: "acme/site",
    user: "owner",
    ref: "refs/heads/main",
    from: "1".repeat(40),
    to: "2".repeat(40),
    commitCount: 2,
    commitTitle: "Say hello",
  });
});
afterAll(() => app.dispose());

const unauthorized = { message: "401 Unauthorized" };
const forbidden = { message: "403 Forbidden" };
const found = { message: "404 Not found" };
const naming = (text: string) => ({ message: expect.stringContaining(text) });
const http = { link_url: "http://www.example.com", image_url: "http://www.example1.com" };
const rendered = {
  ...http,
  rendered_link_url: http.link_url,
  rendered_image_url: http.image_url,
};
const shown = { id: expect.any(Number), kind: "group", ...rendered };
const past = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
const readsUser = { "private-token": "reads-user" };
const site = "/projects/acme%2Fsite";
const issue = `${site}/issues/{issue}`;
const flags = {
  new_note: expect.any(Boolean),
  new_issue: expect.any(Boolean),
  reopen_issue: expect.any(Boolean),
  close_issue: expect.any(Boolean),
  reassign_issue: expect.any(Boolean),
  issue_due: expect.any(Boolean),
  new_merge_request: expect.any(Boolean),
  push_to_merge_request: expect.any(Boolean),
  reopen_merge_request: expect.any(Boolean),
  close_merge_request: expect.any(Boolean),
  reassign_merge_request: expect.any(Boolean),
  merge_merge_request: expect.any(Boolean),
  failed_pipeline: expect.any(Boolean),
  success_pipeline: expect.any(Boolean),
};
const some = expect.arrayContaining([expect.anything()]);

/** Numbered cases not covered by other tests. */
const cases: Record<string, Case[]> = {
  wikis: [
    [
      "065",
      `POST ${site}/wikis?title=new+title&content=x`,
      "developer",
      201,
      { slug: "new-title", title: "new title" },
    ],
  ],
  badges: [
    ["091", "GET /groups/acme/badges", "anonymous", 200, some],
    ["092", "GET /groups/secret/badges", "stranger", 404, { message: "404 Group Not Found" }],
    ["094", "GET /groups/acme/badges?name=coverage", "owner", 200, []],
    [
      "095",
      "GET /groups/acme/badges/{badge}",
      "stranger",
      200,
      { id: expect.any(Number), kind: "group", rendered_link_url: "http://a.example" },
    ],
    ["097", "GET /groups/acme/badges/abc", "owner", 400],
    ["098", "POST /groups/acme/badges", "owner", 201, shown, { json: http }],
    [
      "100",
      "POST /groups/acme/badges?link_url=http://a.example",
      "owner",
      400,
      naming("image_url"),
    ],
    [
      "101",
      "POST /groups/acme/badges?image_url=http://a.example",
      "owner",
      400,
      naming("link_url"),
    ],
    ["103", "POST /groups/acme/badges", "maintainer", 403, forbidden, { json: http }],
    ["104", "POST /groups/acme/badges", "stranger", 403, forbidden, { json: http }],
    ["106", "POST /groups/acme/badges", "anonymous", 401, unauthorized, { json: http }],
    ["109", "PUT /groups/acme/badges/{badge}", "owner", 200, { link_url: "http://a.example" }],
    ["107", "PUT /groups/acme/badges/{badge}", "owner", 200, shown, { json: http }],
    ["110", "PUT /groups/acme/badges/{badge}", "developer", 403, forbidden, { json: http }],
    ["112", "DELETE /groups/acme/badges/123456", "owner", 404, found],
    [
      "113",
      "DELETE /groups/acme/badges/{badge}",
      "owner",
      412,
      { message: "412 Precondition Failed" },
      { headers: past },
    ],
    ["115", `GET /groups/acme/badges/render?${new URLSearchParams(http)}`, "owner", 200, rendered],
    [
      "116",
      "GET /groups/acme/badges/render?link_url=http://x.example/%25%7Bproject_path%7D&image_url=http://x.example/%25%7Bproject_path%7D",
      "owner",
      200,
      { rendered_link_url: "http://x.example/acme/site" },
    ],
    [
      "118",
      "GET /groups/acme/badges/render?link_url=http://x.example/%25%7Bunknown_thing%7D&image_url=http://x.example",
      "owner",
      200,
      { rendered_link_url: "http://x.example/%{unknown_thing}" },
    ],
    [
      "119",
      "GET /groups/acme/badges/render?link_url=http://a.example",
      "owner",
      400,
      naming("image_url"),
    ],
    [
      "121",
      `GET /groups/acme/badges/render?${new URLSearchParams(http)}`,
      "developer",
      403,
      forbidden,
    ],
    [
      "122",
      `GET /groups/acme/badges/render?${new URLSearchParams(http)}`,
      "anonymous",
      401,
      unauthorized,
    ],
    ["124", `DELETE ${site}/badges/{badge}`, "maintainer", 403],
    [
      "298",
      "DELETE /groups/acme/badges/{badge}",
      "owner",
      204,
      undefined,
      { headers: { "if-unmodified-since": "garbage" } },
    ],
  ],
  dependencies: [
    ["125", `GET ${site}/dependencies`, "anonymous", 401, unauthorized],
    ["128", `GET ${site}/dependencies?package_manager=yarn,bundler`, "developer", 200, []],
    ["130", `GET ${site}/dependencies?package_manager=nray,yarn`, "developer", 400],
    ["133", "GET /projects/secret%2Fvault/dependencies", "guest", 403, forbidden],
    [
      "134",
      "GET /projects/secret%2Fvault/dependencies",
      "stranger",
      404,
      { message: "404 Project Not Found" },
    ],
  ],
  "notification settings": [
    ["136", "GET /notification_settings", "anonymous", 401, unauthorized],
    [
      "137",
      "GET /notification_settings",
      "guest",
      200,
      { level: "participating", notification_email: expect.stringContaining("@") },
    ],
    [
      "139",
      "PUT /notification_settings?notification_email=invalid@example.com",
      "guest",
      400,
      { message: { notification_email: expect.any(Array) } },
    ],
    [
      "140",
      "PUT /notification_settings?level=invalid",
      "guest",
      400,
      { message: expect.anything() },
    ],
    ["142", "PUT /groups/acme/notification_settings?level=watch", "guest", 200, { level: "watch" }],
    [
      "143",
      "PUT /groups/acme/notification_settings?level=disabled",
      "guest",
      200,
      { level: "disabled" },
    ],
    ["143", "GET /groups/acme/notification_settings", "guest", 200, { level: "disabled" }],
    [
      "145, 146",
      `PUT ${site}/notification_settings?level=custom&new_note=true`,
      "guest",
      200,
      { level: "custom", events: { ...flags, new_note: true, new_issue: false } },
    ],
    ["148", `PUT ${site}/notification_settings?new_note=maybe`, "guest", 400],
    [
      "149",
      `PUT ${site}/notification_settings?level=watch&new_issue=true`,
      "reporter",
      200,
      { level: "watch" },
    ],
    [
      "149",
      `PUT ${site}/notification_settings?level=custom`,
      "reporter",
      200,
      { events: { new_issue: true } },
    ],
    [
      "151",
      "PUT /groups/acme/notification_settings?level=custom",
      "reporter",
      200,
      { events: { new_epic: false } },
    ],
    ["154", `PUT ${site}/notification_settings?level=watch`, "stranger", 200, { level: "watch" }],
  ],
  events: [
    ["155", "GET /events", "anonymous", 401, unauthorized],
    ["157", "GET /events", "owner", 200, some, { headers: readsUser }],
    ["160", "GET /events?target_type=pipeline", "owner", 400],
    ["161", "GET /events?action=", "owner", 400],
    ["163", "GET /events?sort=up", "owner", 400],
    ["164", `GET /events?before=${new Date().toISOString().slice(0, 10)}`, "owner", 200, []],
    ["166", "GET /events?sort=asc&per_page=1", "owner", 200, [{ action_name: "opened" }]],
    ["167", "GET /events?scope=all", "guest", 200, some],
    ["169", "GET /users/owner/events?per_page=1", "guest", 200, [{ author_username: "owner" }]],
    ["170", "GET /users/{owner}/events?per_page=1", "guest", 200, [{ author_username: "owner" }]],
    ["172", "GET /users/42424242/events", "owner", 404, { message: "404 User Not Found" }],
    [
      "173",
      "GET /users/{owner}/events?action=pushed",
      "owner",
      200,
      [
        {
          push_data: {
            commit_count: 2,
            action: "pushed",
            ref_type: "branch",
            commit_to: "2".repeat(40),
          },
        },
      ],
    ],
    ["175", "GET /users/{owner}/events?per_page=1", "owner", 200, [{ action_name: "pushed" }]],
    [
      "176",
      "GET /projects/secret%2Fvault/events",
      "anonymous",
      404,
      { message: "404 Project Not Found" },
    ],
    [
      "178",
      `GET ${site}/events?action=closed&target_type=issue`,
      "stranger",
      200,
      [{ target_iid: 1 }],
    ],
    ["179", `GET ${site}/events?action=closed&target_type=issue`, "developer", 200, [{}, {}]],
    ["181", "GET /projects/secret%2Fvault/events", "stranger", 404],
    ["182", "GET /projects/1234567/events", "owner", 404, { message: "404 Project Not Found" }],
    [
      "184",
      `GET ${site}/events`,
      "owner",
      403,
      { error: "insufficient_scope" },
      { headers: readsUser },
    ],
    [
      "185",
      `GET ${site}/events?action=reopened`,
      "owner",
      200,
      [{ action_name: "opened", target_iid: 1 }],
    ],
  ],
  projects: [
    [
      "352",
      `POST ${site}/fork`,
      "stranger",
      201,
      {
        path_with_namespace: "stranger/site",
        forked_from_project: { path_with_namespace: "acme/site" },
      },
    ],
    [
      "353",
      `POST ${site}/fork`,
      "stranger",
      409,
      { message: { name: ["has already been taken"], path: ["has already been taken"] } },
    ],
  ],
  "issues, notes, merge requests": [
    ["370", "GET /issues", "anonymous", 401, unauthorized],
    ["370", "GET /issues?scope=all", "anonymous", 200, some],
    ["371", `GET ${site}/issues/12345`, "owner", 404],
    ["373", `POST ${site}/issues`, "owner", 400, naming("title")],
    ["374", `POST ${site}/issues?title=x&confidential=foo`, "owner", 400],
    [
      "376",
      `POST ${issue}/notes?body=hi!`,
      "guest",
      201,
      { body: "hi!", author: { username: "guest" } },
    ],
    ["376", `GET ${site}/events?action=commented`, "owner", 200, [{ note: { body: "hi!" } }]],
    ["377", `POST ${issue}/notes`, "guest", 400, naming("body")],
    ["379", `GET ${site}/issues/999/notes`, "owner", 404],
    [
      "380",
      `POST ${site}/merge_requests?title=x&source_branch=a&target_branch=a`,
      "developer",
      422,
    ],
    [
      "382",
      `PUT ${site}/merge_requests/{request}/merge`,
      "developer",
      405,
      { message: "405 Method Not Allowed" },
    ],
  ],
  "todos, emoji, users": [
    ["304", "GET /users?username=invalid", "anonymous", 200, []],
    ["383", "GET /todos", "anonymous", 401, unauthorized],
    ["386", "POST /todos/{todo}/mark_as_done", "guest", 404],
    ["385", "POST /todos/{todo}/mark_as_done", "owner", 201, { state: "done" }],
    ["388", `POST ${issue}/todo`, "guest", 201, { action_name: "marked" }],
    ["388", `POST ${issue}/todo`, "guest", 304],
    [
      "389",
      `POST ${issue}/award_emoji?name=blowfish`,
      "guest",
      201,
      { name: "blowfish", user: { username: "guest" } },
    ],
    ["391", `POST ${issue}/award_emoji`, "guest", 400, naming("name")],
    ["392", `POST ${issue}/award_emoji?name=blowfish`, "anonymous", 401, unauthorized],
  ],
};

describeCases(() => app, ids, cases);
