import { describe, expect, it } from "vitest";
import type { Seed } from "../../src/testing.ts";
import { refusal, serving, users } from "./gitbeaker.ts";

const seed: Seed = {
  users,
  groups: [
    {
      path: "acme",
      members: { ann: "owner", bob: "guest" },
      badges: [
        {
          name: "Pipeline",
          link_url: "https://ci.example.com/%{project_path}",
          image_url: "https://ci.example.com/%{project_path}/%{default_branch}.svg",
        },
      ],
      projects: [
        {
          path: "site",
          creator: "ann",
          created_at: "2026-01-01T10:00:00Z",
          default_branch: "main",
          members: { bob: { role: "developer", joined_at: "2026-01-02T10:00:00Z" } },
          dependencies: [
            ["express", "npm"],
            ["ws", "npm"],
            ["rack", "bundler"],
          ].map(([name = "", manager]) => ({
            name,
            version: "1.0.0",
            package_manager: manager as "npm" | "bundler",
            dependency_file_path: `${manager}.lock`,
            vulnerabilities: name === "ws" ? [{ name: "DoS", severity: "high" as const }] : [],
          })),
          issues: [
            {
              title: "First",
              author: "ann",
              created_at: "2026-01-03T10:00:00Z",
              notes: [{ author: "bob", body: "Seen", created_at: "2026-01-04T10:00:00Z" }],
              state: "closed",
              ended_at: "2026-01-05T10:00:00Z",
            },
          ],
          pushes: [
            {
              author: "bob",
              ref: "topic",
              action: "created",
              commit_to: "2".repeat(40),
              commit_title: "Begin",
              created_at: "2026-01-06T10:00:00Z",
            },
          ],
        },
      ],
    },
  ],
};

const { server, ann: gitlab, bob } = await serving(seed, 2);

const LINK = "https://example.com/%{project_path}?tag=%{default_branch}";
const IMAGE = "https://example.com/%{project_id}.svg";

describe("badges", () => {
  it.each(["GroupBadges", "ProjectBadges"] as const)("%s", async (resource) => {
    const badges = gitlab[resource];
    const source = resource === "GroupBadges" ? "acme" : "acme/site";
    const kind = resource === "GroupBadges" ? "group" : "project";
    const { id: projectId } = await gitlab.Projects.show("acme/site");
    const made = await badges.add(source, LINK, IMAGE, { name: "Mine" });
    expect(made).toMatchObject({
      kind,
      name: "Mine",
      link_url: LINK,
      rendered_link_url: "https://example.com/acme/site?tag=main",
      rendered_image_url: `https://example.com/${projectId}.svg`,
    });
    expect(await badges.show(source, made.id)).toEqual(made);
    expect(await badges.all(source, { name: "Mine" })).toEqual([made]);
    expect(await badges.all(source, { name: "mine" })).toEqual([]);
    const changed = await badges.edit(source, made.id, { linkUrl: "https://example.com/other" });
    expect(changed).toMatchObject({ link_url: "https://example.com/other", image_url: IMAGE });
    await badges.remove(source, made.id);
    expect(await refusal(badges.show(source, made.id))).toEqual([404, "404 Not found"]);
    const bad = badges.add(source, "javascript:alert(1)", IMAGE);
    expect(await refusal(bad)).toEqual([
      400,
      '{"link_url":["is blocked: Only allowed schemes are http, https"]}',
    ]);
  });

  it.each(["GroupBadges", "ProjectBadges"] as const)("%s are tried out", async (resource) => {
    const source = resource === "GroupBadges" ? "acme" : "acme/site";
    expect(await gitlab[resource].preview(source, LINK, IMAGE)).toMatchObject({
      link_url: LINK,
      rendered_link_url: "https://example.com/acme/site?tag=main",
    });
  });

  it("of a group include its projects' own, across pages", async () => {
    for (const name of ["a", "b", "c"]) {
      await gitlab.ProjectBadges.add("acme/site", LINK, IMAGE, { name });
    }
    const found = await gitlab.ProjectBadges.all("acme/site");
    expect(found.map(({ kind, name }) => [kind, name])).toEqual([
      ["group", "Pipeline"],
      ["project", "a"],
      ["project", "b"],
      ["project", "c"],
    ]);
    const asked = server.requests.filter(({ method }) => method === "GET");
    expect(asked.map(({ query }) => query)).toEqual(["", "page=2&per_page=2"]);
    expect(await refusal(bob.GroupBadges.add("acme", LINK, IMAGE))).toEqual([403, "403 Forbidden"]);
  });
});

describe("dependencies", () => {
  // The client has no method for them, but it can send arbitrary requests.
  const list = async (client: typeof gitlab, searchParams: Record<string, string> = {}) => {
    const { body, headers } = await client.Projects.requester.get(
      "projects/acme%2Fsite/dependencies",
      { searchParams },
    );
    return { body: body as unknown as { name: string; vulnerabilities: object[] }[], headers };
  };

  it("are listed and filtered", async () => {
    const { body, headers } = await list(gitlab);
    expect(body.map(({ name }) => name)).toEqual(["express", "rack"]);
    expect(headers).toMatchObject({ "x-total": "3", "x-next-page": "2" });
    const { body: some } = await list(gitlab, { package_manager: "npm,yarn" });
    expect(some).toMatchObject([
      { name: "express", vulnerabilities: [] },
      { name: "ws", vulnerabilities: [{ name: "DoS", severity: "high" }] },
    ]);
    expect(await refusal(list(gitlab, { package_manager: "npm,cargo" }))).toEqual([
      400,
      '{"package_manager":["does not have a valid value"]}',
    ]);
  });
});

describe("notification settings", () => {
  it("are read and changed globally", async () => {
    const settings = gitlab.NotificationSettings;
    expect(await settings.show()).toEqual({
      level: "participating",
      notification_email: "ann@example.com",
    });
    expect((await settings.edit({ level: "watch" })).level).toBe("watch");
    expect((await bob.NotificationSettings.show()).level).toBe("participating");
    const foreign = settings.edit({ notificationEmail: "bob@example.com" });
    expect(await refusal(foreign)).toEqual([
      400,
      '{"notification_email":["is not an email you own"]}',
    ]);
  });

  it.each([{ groupId: "acme" }, { projectId: "acme/site" }])(
    "of $groupId$projectId",
    async (of) => {
      const settings = gitlab.NotificationSettings;
      expect(await settings.show(of)).toEqual({ level: "global" });
      // The type declares events as one object; GitLab's API, like ours, has a parameter for each.
      const options: object = {
        level: "custom",
        newNote: true,
        closeIssue: true,
        reopenIssue: false,
      };
      const changed = await settings.edit({ ...of, ...options });
      expect(changed).toMatchObject({
        level: "custom",
        events: { new_note: true, close_issue: true, reopen_issue: false, new_issue: false },
      });
      expect(await settings.show(of)).toEqual(changed);
      await settings.edit({ ...of, level: "mention" });
      expect(await settings.show(of)).toEqual({ level: "mention" });
    },
  );
});

describe("events", () => {
  it("are fetched across pages for a project", async () => {
    const events = await gitlab.Events.all({ projectId: "acme/site" });
    expect(
      events.map(({ action_name, author_username }) => [action_name, author_username]),
    ).toEqual([
      ["pushed new", "bob"],
      ["closed", "ann"],
      ["commented on", "bob"],
      ["opened", "ann"],
      ["joined", "bob"],
      ["created", "ann"],
    ]);
    expect(server.requests).toHaveLength(3);
    expect(events[0]).toMatchObject({
      target_type: null,
      push_data: { action: "created", ref: "topic", ref_type: "branch", commit_title: "Begin" },
    });
    expect(events[2]).toMatchObject({
      target_type: "Note",
      note: { body: "Seen", noteable_type: "Issue", noteable_iid: 1, author: { username: "bob" } },
    });
  });

  it("are fetched for a user, by id and by name", async () => {
    const { id } = await bob.Users.showCurrentUser();
    const events = await gitlab.Events.all({ userId: id });
    expect(events.map(({ action_name }) => action_name)).toEqual([
      "pushed new",
      "commented on",
      "joined",
    ]);
    expect(await gitlab.Events.all({ userId: "bob" })).toEqual(events);
    expect(await refusal(gitlab.Events.all({ userId: "nobody" }))).toEqual([
      404,
      "404 User Not Found",
    ]);
  });

  it("are fetched for the caller, and for all of their projects", async () => {
    expect((await gitlab.Events.all()).map(({ action_name }) => action_name)).toEqual([
      "closed",
      "opened",
      "created",
    ]);
    expect(await gitlab.Events.all({ scope: "all" })).toHaveLength(6);
  });

  it.each([
    [{ action: "pushed" }, ["pushed new"]],
    [{ targetType: "issue" }, ["closed", "opened"]],
    [{ targetType: "note", action: "commented" }, ["commented on"]],
    [{ after: "2026-01-03", before: "2026-01-06" }, ["closed", "commented on"]],
    [{ sort: "asc", before: "2026-01-04" }, ["created", "joined", "opened"]],
  ] as const)("filtered by %o", async (filter, expected) => {
    const events = await gitlab.Events.all({ projectId: "acme/site", ...filter });
    expect(events.map(({ action_name }) => action_name)).toEqual(expected);
  });

  it("include pagination data", async () => {
    const { data, paginationInfo } = await gitlab.Events.all({
      projectId: "acme/site",
      page: 2,
      perPage: 4,
      showExpanded: true,
      pagination: "offset",
    });
    expect(data).toHaveLength(2);
    expect(paginationInfo).toMatchObject({ total: 6, totalPages: 2, previous: 1, next: null });
    const wrong = gitlab.Events.all({ action: "danced" as "closed" });
    expect((await refusal(wrong))[0]).toBe(400);
  });
});

describe("integrations", () => {
  const webhook = "https://chat.example.com/in/secret";

  it("are set up, changed, listed and disabled", async () => {
    const { Integrations } = gitlab;
    expect(await refusal(Integrations.show("acme/site", "slack"))).toEqual([
      404,
      "404 Integration Not Found",
    ]);
    const sent = { webhook, channel: "#all", pushEvents: false };
    const made = await Integrations.edit("acme/site", "slack", sent);
    expect(made).toMatchObject({ slug: "slack", active: true, push_events: false });
    const shown = await Integrations.show("acme/site", "slack");
    expect(shown).toMatchObject({ properties: { channel: "#all" } });
    expect(JSON.stringify(shown)).not.toContain("secret");
    expect(await Integrations.all("acme/site")).toMatchObject([{ slug: "slack" }]);
    await Integrations.disable("acme/site", "slack");
    expect(await Integrations.all("acme/site")).toEqual([]);
    expect((await refusal(bob.Integrations.all("acme/site")))[0]).toBe(403);
  });
});
