// Integrations of projects and groups: what is kept and shown, and what their other sides are sent.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Person, testApp } from "../helpers.ts";
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
    ["PUT", "slack", { webhook: "" }, 400, { error: "webhook is missing" }],
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

describe("other programs", () => {
  /** Sets an integration up, opens an issue or has the given done, and returns what was received. */
  async function received(slug: string, json: object, act = issue) {
    await hooked.call(`PUT ${PROJECT}/integrations/${slug}`, json);
    await act();
    await hooked.idle();
    return hooked.receiver.received.splice(0).map(({ path, headers, json: body }) => ({
      path,
      authorization: headers.authorization,
      body,
    }));
  }
  const issue = async () => {
    await hooked.call(`POST ${PROJECT}/issues`, { title: "A <b> & [c]" });
  };
  const request = async () => {
    await hooked.call(`POST ${PROJECT}/merge_requests`, {
      ...{ title: "Better", source_branch: `b${Math.random()}`, target_branch: "main" },
    });
  };

  it("are told in Discord's form, of some things elsewhere", async () => {
    const url = hooked.receiver.url;
    const json = { webhook: `${url}/all`, confidential_issue_channel: `${url}/few` };
    const [all] = await received("discord", json);
    expect(all?.path).toBe("/all");
    expect(all?.body).toEqual({
      embeds: [
        {
          author: { name: "acme/site", url: "https://pm.example.com/acme/site" },
          color: 0xc95823,
          description: expect.stringContaining("A \\<b\\> & \\[c\\]](https://pm.example.com/acme/"),
        },
      ],
      allowed_mentions: { parse: [] },
    });
    const [few] = await received("discord", json, async () => {
      await hooked.call(`POST ${PROJECT}/issues`, { title: "Leak", confidential: true });
    });
    expect(few?.path).toBe("/few");
    const { json: shown } = await ask(`GET ${PROJECT}/integrations/discord`);
    expect(shown.properties).toEqual({
      notify_only_broken_pipelines: true,
      branches_to_be_notified: "default",
    });
  });

  it("are told in Telegram's form, with the token in the path", async () => {
    const json = { token: `1:${SECRET}`, room: "@us", thread: 7, hostname: hooked.receiver.url };
    const [one] = await received("telegram", json);
    const { json: shown } = await ask(`GET ${PROJECT}/integrations/telegram`);
    expect(shown.properties).toEqual({
      ...{ room: "@us", thread: "7", hostname: hooked.receiver.url },
      ...{ notify_only_broken_pipelines: true, branches_to_be_notified: "default" },
    });
    expect(one?.path).toBe(`/bot1:${SECRET}/sendMessage`);
    expect(one?.body).toMatchObject({ chat_id: "@us", message_thread_id: 7, parse_mode: "HTML" });
    expect(one?.body.text).toContain("A &lt;b&gt; &amp; [c]</a> opened by ");
  });

  it("are told in Matrix's form, with the token in a header", async () => {
    const json = { token: SECRET, room: "!a:b.test", hostname: hooked.receiver.url };
    const [one] = await received("matrix", json);
    expect(one?.path).toMatch(
      /^\/_matrix\/client\/v3\/rooms\/!a%3Ab\.test\/send\/m\.room\.message\/[\da-f-]{36}$/,
    );
    expect(one?.authorization).toBe(`Bearer ${SECRET}`);
    expect(one?.body).toMatchObject({ msgtype: "m.text", format: "org.matrix.custom.html" });
  });

  it.each([
    ["microsoft-teams", { "@type": "MessageCard", title: "acme/site", themeColor: "c95823" }],
    ["hangouts-chat", { text: expect.stringContaining("|#") }],
    ["webex-teams", { markdown: expect.stringContaining("Issue [") }],
    ["unify-circuit", { subject: "acme/site", markdown: true }],
  ])("are told in the form of %s", async (slug, body) => {
    const [one] = await received(slug, { webhook: `${hooked.receiver.url}/in` });
    expect([one?.path, one?.body]).toEqual(["/in", expect.objectContaining(body)]);
  });

  it.each([
    [
      "jenkins",
      { jenkins_url: "URL/", project_name: "a/b c", username: "ann", password: SECRET },
      "/project/a/b%20c",
      `Basic ${Buffer.from(`ann:${SECRET}`).toString("base64")}`,
    ],
    [
      "drone-ci",
      { drone_url: "URL", token: SECRET },
      `/hook?owner=acme&name=site&access_token=${SECRET}`,
      undefined,
    ],
    [
      "packagist",
      { username: "ann", token: SECRET, server: "URL" },
      `/api/update-package?username=ann&apiToken=${SECRET}`,
      undefined,
    ],
  ])("get payloads: %s", async (slug, json, path, authorization) => {
    const text = JSON.stringify(json).replaceAll("URL", hooked.receiver.url);
    const [one] = await received(slug, JSON.parse(text), request);
    expect([one?.path, one?.authorization]).toEqual([path, authorization]);
    expect(one?.body).toMatchObject({
      object_kind: "merge_request",
      object_attributes: { title: "Better", action: "open" },
    });
    const kept = await hooked.app.store.rows("select * from hook_deliveries");
    expect(JSON.stringify(kept)).not.toContain(SECRET);
  });

  it("forget secrets that are not given again with another address", async () => {
    const first = { jenkins_url: `${hooked.receiver.url}/a`, project_name: "p" };
    await received("jenkins", { ...first, username: "ann", password: SECRET }, async () => {});
    const [same] = await received("jenkins", first, request);
    expect(same?.authorization).toMatch(/^Basic /);
    const moved = { ...first, jenkins_url: `${hooked.receiver.url}/b` };
    const [other] = await received("jenkins", moved, request);
    expect(atob(String(other?.authorization).slice("Basic ".length))).toBe("ann:");
  });

  it("are not told any more once they are disabled", async () => {
    const json = { webhook: `${hooked.receiver.url}/in` };
    expect(await received("pumble", json)).toHaveLength(1);
    expect(
      await received("pumble", json, async () => {
        await ask(`DELETE ${PROJECT}/integrations/pumble`);
        await issue();
      }),
    ).toEqual([]);
  });

  it("are told of issues with the labels that are wanted", async () => {
    const json = { webhook: webhook(), labels_to_be_notified: "~UX, ~Development" };
    const label = (labels: string) => async () => {
      await hooked.call(`POST ${PROJECT}/issues`, { title: "A", labels });
    };
    expect(await received("slack", json, label("UX"))).toHaveLength(1);
    expect(await received("slack", json, issue)).toEqual([]);
    const all = { ...json, labels_to_be_notified_behavior: "match_all" };
    expect(await received("slack", all, label("UX"))).toEqual([]);
    expect(await received("slack", all, label("UX,Development"))).toHaveLength(1);
  });
});

describe("a receiver", () => {
  it("is not called at an address of this machine's network, unless that is allowed", async () => {
    const strict = await testApp({ webhooks: { deliver: true } });
    for (const [slug, sent, name] of [
      ["slack", { webhook: "http://127.0.0.1:1/in" }, "webhook"],
      ["jenkins", { jenkins_url: "http://10.0.0.1", project_name: "p" }, "jenkins_url"],
      ["matrix", { hostname: "http://localhost", token: "t", room: "r" }, "hostname"],
    ] as const) {
      const request = `PUT ${PROJECT}/integrations/${slug}`;
      const answer = await strict.call(request, { as: "maintainer", json: sent });
      const message = { [name]: ["is blocked: it must not be called"] };
      expect([slug, answer.status, answer.json]).toEqual([slug, 400, { message }]);
    }
    await strict.dispose();
  });
});

describe("an integration of a group", () => {
  const group = (slug = "slack") => `/groups/acme/integrations/${slug}`;
  const opened = async () => {
    await hooked.call(`POST ${PROJECT}/issues`, { title: "Broken" });
    await hooked.idle();
    return hooked.receiver.received.splice(0).map(({ path }) => path);
  };

  it("counts for projects below that have none, even a disabled one", async () => {
    const to = (path: string) => ({ webhook: `${hooked.receiver.url}/${path}` });
    const { json: made } = await ask(`PUT ${group()}`, to("group"), "owner");
    expect(made).toEqual({ ...SLACK, properties: SHOWN });
    const { json: shown } = await ask(`GET ${PROJECT}/integrations/slack`);
    expect(shown).toEqual({ ...SLACK, inherited: true, properties: SHOWN });
    const list = async () => (await ask(`GET ${PROJECT}/integrations`)).json;
    expect(await list()).toEqual([expect.objectContaining({ slug: "slack", inherited: true })]);
    expect(await opened()).toEqual(["/group"]);

    await hooked.call(`PUT ${PROJECT}/integrations/slack`, to("own"));
    expect(await list()).toEqual([expect.objectContaining({ inherited: false })]);
    expect(await opened()).toEqual(["/own"]);

    await ask(`DELETE ${PROJECT}/integrations/slack`);
    expect(await list()).toEqual([]);
    expect(await opened()).toEqual([]);

    const again = { ...to("own"), use_inherited_settings: true };
    const { json } = await ask(`PUT ${PROJECT}/integrations/slack`, again);
    expect(json).toMatchObject({ id: made.id, inherited: true, active: true });
    expect(await opened()).toEqual(["/group"]);

    await ask(`DELETE ${group()}`, undefined, "owner");
    expect((await ask(`GET ${group()}`, undefined, "owner")).json.active).toBe(false);
    expect(await opened()).toEqual([]);
  });

  it("is none of those that only projects have, and maintainers' alone", async () => {
    const jenkins = { jenkins_url: "https://ci.test", project_name: "p" };
    const refused = await ask(`PUT ${group("jenkins")}`, jenkins, "owner");
    expect([refused.status, refused.json]).toEqual([
      400,
      { message: "400 Integration not available" },
    ]);
    for (const path of [group(), `${PROJECT}/integrations/slack`, `${PROJECT}/services/slack`]) {
      const answer = await ask(`GET ${path}`, undefined, "developer");
      expect([path, answer.status]).toEqual([path, 403]);
    }
  });
});
