// Integrations of projects and groups: what is kept and shown, and what their other sides are sent.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Person } from "../helpers.ts";
import { type Hooked, startHooked } from "./_hooks.ts";

const PROJECT = "/projects/acme%2Fsite";
const SECRET = "s3cret-of-the-receiver";

let hooked: Hooked;
beforeAll(async () => {
  hooked = await startHooked();
});
afterEach(async () => {
  await hooked.clear();
  for (const table of ["integrations", "hook_deliveries"]) {
    await hooked.app.store.transaction((db) => db.run(`delete from ${table}`));
  }
});
afterAll(() => hooked.dispose());

const ask = (request: string, json?: object, as: Person = "maintainer") =>
  hooked.app.call(request, { as, ...(json && { json }) });
const webhook = () => `${hooked.receiver.url}/services/${SECRET}`;
const EVENTS = {
  commit_events: true,
  push_events: true,
  issues_events: true,
  incident_events: false,
  alert_events: true,
  confidential_issues_events: true,
  merge_requests_events: true,
  tag_push_events: true,
  deployment_events: false,
  note_events: true,
  confidential_note_events: true,
  pipeline_events: true,
  wiki_page_events: true,
  job_events: true,
  comment_on_event_enabled: true,
  vulnerability_events: false,
};
const SLACK = {
  id: expect.any(Number),
  title: "Slack notifications",
  slug: "slack",
  created_at: expect.any(String),
  updated_at: expect.any(String),
  active: true,
  ...EVENTS,
  inherited: false,
};
/** The settings of Slack's integration that are shown. */
const SHOWN = {
  username: null,
  channel: null,
  notify_only_broken_pipelines: true,
  branches_to_be_notified: "default",
  notify_only_default_branch: false,
  labels_to_be_notified: null,
  labels_to_be_notified_behavior: "match_any",
  push_channel: null,
  issue_channel: null,
  confidential_issue_channel: null,
  merge_request_channel: null,
  note_channel: null,
  confidential_note_channel: null,
  tag_push_channel: null,
  pipeline_channel: null,
  wiki_page_channel: null,
  deployment_channel: null,
  alert_channel: null,
  incident_channel: null,
};

describe("an integration", () => {
  it("is not there until it is set up, and has all its attributes then, without its secrets", async () => {
    const none = await ask(`GET ${PROJECT}/integrations/slack`);
    expect([none.status, none.json]).toEqual([404, { message: "404 Integration Not Found" }]);
    expect((await ask(`GET ${PROJECT}/integrations`)).json).toEqual([]);
    const sent = { webhook: webhook(), username: "Bot", push_events: true, note_events: false };
    const made = await ask(`PUT ${PROJECT}/integrations/slack`, sent);
    const expected = { ...SLACK, note_events: false, properties: { ...SHOWN, username: "Bot" } };
    expect([made.status, made.json]).toEqual([200, expected]);
    expect((await ask(`GET ${PROJECT}/integrations/slack`)).json).toEqual(expected);
    expect((await ask(`GET ${PROJECT}/services/slack`)).json).toEqual(expected);
    const { properties: _, ...basic } = expected;
    expect((await ask(`GET ${PROJECT}/integrations`)).json).toEqual([basic]);
    expect((await ask(`GET ${PROJECT}/services`)).json).toEqual([basic]);
    const rows = await hooked.app.store.rows("select * from integrations");
    expect(JSON.stringify(rows)).not.toContain(SECRET);
  });

  it("keeps what a further request does not mention, and begins again with null", async () => {
    const sent = { webhook: webhook(), username: "Bot", channel: "#a", issues_events: false };
    await ask(`PUT ${PROJECT}/services/slack`, sent);
    const { json } = await ask(`PUT ${PROJECT}/services/slack`, {
      webhook: webhook(),
      channel: null,
      branches_to_be_notified: "all",
    });
    const properties = { ...SHOWN, username: "Bot", branches_to_be_notified: "all" };
    expect(json).toEqual({ ...SLACK, issues_events: false, properties });
  });

  it("is disabled, with all settings as at the beginning", async () => {
    const never = await ask(`DELETE ${PROJECT}/integrations/slack`);
    expect([never.status, never.json]).toEqual([404, { message: "404 Integration Not Found" }]);
    await ask(`PUT ${PROJECT}/integrations/slack`, { webhook: webhook(), username: "Bot" });
    expect((await ask(`DELETE ${PROJECT}/integrations/slack`)).status).toBe(204);
    const left = await ask(`GET ${PROJECT}/integrations/slack`);
    expect(left.json).toEqual({ ...SLACK, active: false, properties: SHOWN });
    expect((await ask(`GET ${PROJECT}/integrations`)).json).toEqual([]);
    const [row] = await hooked.app.store.rows("select secrets, properties from integrations");
    expect(row).toEqual([null, "{}"]);
  });

  it.each([
    ["PUT", "slack", {}, 400, { error: "webhook is missing" }],
    ["PUT", "slack", { push_events: true }, 400, { error: "webhook is missing" }],
    ["PUT", "slack", { webhook: "" }, 400, { message: { webhook: ["can't be blank"] } }],
    [
      "PUT",
      "slack",
      { webhook: "ftp://a.test" },
      400,
      { message: { webhook: ["must be a valid URL"] } },
    ],
    [
      "PUT",
      "slack",
      { webhook: "https://a.test", branches_to_be_notified: "some" },
      400,
      { message: { branches_to_be_notified: ["does not have a valid value"] } },
    ],
    ["PUT", "nothing", { webhook: "https://a.test" }, 404, { error: "404 Not Found" }],
    ["GET", "nothing", undefined, 400, { error: "slug does not have a valid value" }],
    ["DELETE", "nothing", undefined, 400, { error: "slug does not have a valid value" }],
    ["GET", "constructor", undefined, 400, { error: "slug does not have a valid value" }],
    [
      "PUT",
      "gitlab-slack-application",
      {},
      422,
      { message: "You cannot create the GitLab for Slack app integration from the API" },
    ],
  ] as const)("%s %s %j answers %i", async (method, slug, json, status, body) => {
    const answer = await ask(`${method} ${PROJECT}/integrations/${slug}`, json);
    expect([answer.status, answer.json]).toEqual([status, body]);
  });
});

describe("messages to Slack", () => {
  const slack = (json: object = {}) =>
    hooked.call(`PUT ${PROJECT}/integrations/slack`, { webhook: webhook(), ...json });

  it("tell of issues that are opened and closed, and not of other changes", async () => {
    await slack({ channel: "#all", confidential_issue_channel: "#few", username: "Bot" });
    const issue = { title: "It <breaks> & burns", description: "See [this](https://a.test)" };
    const { iid } = await hooked.call(`POST ${PROJECT}/issues`, issue);
    const [opened] = await hooked.next();
    await hooked.call(`PUT ${PROJECT}/issues/${iid}`, { title: "It breaks" });
    await hooked.call(`PUT ${PROJECT}/issues/${iid}`, { state_event: "close" });
    await hooked.call(`POST ${PROJECT}/issues`, { title: "Leak", confidential: true });
    const [closed, leak] = await hooked.next(2);
    const page = "https://pm.example.com/acme/site";
    const link = (title: string) => `<${page}/-/issues/${iid}|#${iid} ${title}>`;
    expect(opened).toEqual({
      event: "Issue Hook",
      channel: "#all",
      username: "Bot",
      text: `[<${page}|acme/site>] Issue ${link("It &lt;breaks&gt; &amp; burns")} opened by The maintainer (maintainer)`,
      attachments: [
        {
          fallback: expect.any(String),
          color: "#c95823",
          title: `#${iid} It &lt;breaks&gt; &amp; burns`,
          title_link: `${page}/-/issues/${iid}`,
          text: "See [this](https://a.test)",
          mrkdwn_in: ["text"],
        },
      ],
    });
    expect(closed.text).toContain(`Issue ${link("It breaks")} closed by `);
    expect(leak.channel).toBe("#few");
  });

  it("go to the webhook with its path, which neither log nor database show", async () => {
    await slack();
    await hooked.call(`POST ${PROJECT}/issues`, { title: "Broken" });
    await hooked.idle();
    expect(hooked.receiver.received.map(({ path }) => path)).toEqual([`/services/${SECRET}`]);
    const kept = await hooked.app.store.rows("select * from hook_deliveries");
    expect(kept.length).toBe(1);
    expect(JSON.stringify(kept)).not.toContain(SECRET);
    expect((await ask(`GET ${PROJECT}/hooks`)).json).toEqual([]);
    expect((await ask(`GET /hooks`, undefined, "admin")).json).toEqual([]);
  });
});
