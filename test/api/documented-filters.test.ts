import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { routes } from "./routes.ts";

// GitLab ignores what it does not know. No filter of a list that it documents may be ignored here: it has its effect, is
// refused by name, or docs/kept.md says that it leaves nothing out. Those of issues and merge requests are tried one by one
// in filters.test.ts.

const PROJECTS = `active archived id_after id_before imported include_hidden include_pending_delete last_activity_after
  last_activity_before marked_for_deletion_on min_access_level order_by owned repository_checksum_failed repository_storage
  search search_namespaces simple sort starred topic topic_id updated_after updated_before visibility
  wiki_checksum_failed with_custom_attributes with_issues_enabled with_merge_requests_enabled with_programming_language`;
const GROUPS = `active all_available archived marked_for_deletion_on min_access_level order_by owned repository_storage search
  skip_groups sort statistics top_level_only visibility with_custom_attributes`;
const MILESTONES =
  "iids state title search include_parent_milestones include_ancestors updated_before updated_after";
const ISSUES = `assignee_id assignee_username author_id author_username confidential created_after created_before due_date
  epic_id health_status iids in issue_type iteration_id iteration_title labels milestone milestone_id my_reaction_emoji
  not order_by scope search sort state updated_after updated_before weight with_labels_details`;
const REQUESTS = `approved approved_by_ids approved_by_usernames approver_ids assignee_id author_id author_username
  created_after created_before deployed_after deployed_before draft environment in labels merge_user_id merge_user_username
  milestone my_reaction_emoji not order_by reviewer_id reviewer_username scope search sort source_branch source_project_id
  state target_branch updated_after updated_before view with_labels_details with_merge_status_recheck wip iids
  assignee_username`;

/** What GitLab documents of lists, by their paths. */
const DOCUMENTED: Readonly<Record<string, string>> = {
  "/projects": `${PROJECTS} membership statistics`,
  "/users/:user_id/projects": `${PROJECTS} statistics`,
  "/users/:user_id/starred_projects": PROJECTS,
  "/projects/:id/forks": PROJECTS,
  "/groups/:id/projects": `${PROJECTS} include_subgroups with_shared with_security_reports`,
  "/groups/:id/projects/shared": PROJECTS,
  "/projects/:id/groups":
    "search skip_groups with_shared shared_visible_only shared_min_access_level",
  "/groups": GROUPS,
  "/groups/:id/subgroups": GROUPS,
  "/groups/:id/descendant_groups": GROUPS,
  "/users": `active admins auditors blocked created_after created_before exclude_active exclude_external exclude_humans
    exclude_internal extern_uid external humans order_by provider public_email saml_provider_id search skip_ldap sort two_factor
    username with_custom_attributes without_project_bots without_projects`,
  "/issues": `${ISSUES} non_archived`,
  "/groups/:id/issues": `${ISSUES} non_archived`,
  "/projects/:id/issues": ISSUES,
  "/groups/:id/epics": `author_id author_username confidential created_after created_before include_ancestor_groups
    include_descendant_groups labels my_reaction_emoji not order_by search sort state updated_after updated_before
    with_labels_details`,
  "/merge_requests": REQUESTS,
  "/groups/:id/merge_requests": `${REQUESTS} non_archived`,
  "/projects/:id/merge_requests": REQUESTS,
  "/projects/:id/merge_requests/:merge_request_iid":
    "include_diverged_commits_count include_rebase_in_progress render_html",
  "/projects/:id/members": "query user_ids skip_users",
  "/groups/:id/members": "query user_ids skip_users",
  "/projects/:id/members/all": "query user_ids skip_users show_seat_info state",
  "/groups/:id/members/all": "query user_ids skip_users show_seat_info state",
  "/projects/:id/milestones": MILESTONES,
  "/groups/:id/milestones": `${MILESTONES} include_descendants search_title containing_date start_date end_date`,
  "/projects/:id/labels": "with_counts include_ancestor_groups search",
  "/groups/:id/labels":
    "with_counts include_ancestor_groups include_descendant_groups only_group_labels search",
  "/projects/:id/pipelines":
    "name order_by ref scope sha sort source status updated_after updated_before created_after created_before username yaml_errors",
  "/projects/:id/jobs": "scope",
  "/projects/:id/pipelines/:pipeline_id/jobs": "scope include_retried",
  "/projects/:id/pipelines/:pipeline_id/bridges": "scope",
  "/projects/:id/releases": "order_by sort include_html_description updated_before updated_after",
  "/groups/:id/releases": "sort simple",
  "/projects/:id/repository/commits":
    "ref_name since until path author all with_stats first_parent order trailers follow",
  "/projects/:id/repository/branches": "search regex",
  "/projects/:id/repository/tags": "order_by sort search",
  "/runners": "scope type status paused tag_list version_prefix",
  "/runners/all": "scope type status paused tag_list version_prefix",
  "/projects/:id/runners": "scope type status paused tag_list version_prefix",
  "/groups/:id/runners": "type status paused tag_list version_prefix",
  "/runners/:runner_id/jobs": "status order_by sort system_id",
  "/events": "action target_type before after scope sort",
  "/users/:user_id/events": "action target_type before after sort",
  "/projects/:id/events": "action target_type before after sort",
  "/todos": "action author_id project_id group_id state type",
  "/projects/:id/packages":
    "order_by sort package_type package_name package_version include_versionless status",
  "/groups/:id/packages":
    "exclude_subgroups order_by sort package_type package_name package_version include_versionless status",
  "/projects/:id/deployments":
    "order_by sort updated_after updated_before finished_after finished_before environment status",
  "/projects/:id/environments": "name search states",
  "/snippets": "created_after created_before",
  "/snippets/public": "created_after created_before",
  "/snippets/all": "created_after created_before",
  "/namespaces": "search owned_only top_level_only full_path_search requested_hosted_plan",
  "/projects/:id/issues/:noteable_id/notes": "sort order_by activity_filter",
  "/projects/:id/merge_requests/:noteable_id/notes": "sort order_by activity_filter",
  "/search":
    "scope search confidential order_by sort state include_archived num_context_lines exclude_forks regex",
  "/projects/:id/pipeline_schedules": "scope",
  "/projects/:id/badges": "name",
  "/audit_events": "created_after created_before entity_type entity_id",
  "/deploy_tokens": "active",
  "/personal_access_tokens":
    "created_after created_before expires_after expires_before last_used_after last_used_before revoked search sort state user_id",
};

const namesOf = (text: string) => text.split(/\s+/).filter(Boolean);
const inputOf = (path: string) =>
  routes.find((route) => route.method === "GET" && route.path === path)?.input ?? {};

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

it.each(Object.entries(DOCUMENTED))("%s knows each filter", (path, names) => {
  const known = inputOf(path);
  expect(namesOf(names).filter((name) => !(name in known))).toEqual([]);
});

describe("what is not here", () => {
  const refused = Object.entries(DOCUMENTED).flatMap(([path, names]) =>
    namesOf(names)
      .filter((name) => inputOf(path)[name]?.notes.without === "support")
      .map((name) => [path, name] as const),
  );

  it.each(refused)("%s refuses %s by its name", async (path, name) => {
    const { type, values } = inputOf(path)[name]?.notes ?? { type: "" };
    const wanted = type === "boolean" ? ["true", "false"] : (values ?? ["1"]);
    const filled = path
      .replace(/^\/projects\/:id/, "/projects/acme%2Fsite")
      .replace(/^\/groups\/:id/, "/groups/acme")
      .replace(/:\w+/g, "1");
    const answers = await Promise.all(
      wanted.map((value) => {
        const also = path === "/search" ? "&scope=projects&search=site" : "";
        return app.call(`GET ${filled}?${name}=${value}${also}`, { as: "admin" });
      }),
    );
    const message = { message: { [name]: ["is not supported on this server"] } };
    expect(answers.filter(({ status }) => status === 400).map(({ json }) => json)).toContainEqual(
      message,
    );
  });
});

/** The values of an attribute in a list, which must be answered. */
async function listed(path: string, key: string, as: "admin" | "owner" = "admin") {
  const { status, json, text } = await app.call(`GET ${path}`, { as });
  expect([path, status, text]).toEqual([path, 200, text]);
  return json.map((one: Record<string, unknown>) => one[key]);
}
const idOf = async (username: string) =>
  (await app.call(`GET /users?username=${username}`, { as: "admin" })).json[0].id as number;

describe("what they find", () => {
  it("users", async () => {
    const bot = await app.call("POST /projects/acme%2Fsite/access_tokens", {
      as: "owner",
      json: { name: "bot", scopes: ["api"], expires_at: "2099-01-01" },
    });
    expect(bot.status).toBe(201);
    const all: string[] = await listed("/users?per_page=100", "username");
    const bots = all.filter((name) => name.includes("_bot"));
    const users = (query: string) => listed(`/users?per_page=100&${query}`, "username");
    expect(bots).toHaveLength(1);
    expect(await users("exclude_humans=true")).toEqual(bots);
    expect(await users("humans=true")).toEqual(all.filter((name) => !bots.includes(name)));
    expect(await users("exclude_active=true")).toEqual(["blocked"]);
    expect(await users("admins=true")).toEqual(["admin"]);
    expect(await users("exclude_external=true")).toEqual(all);
    const idle = await users("without_projects=true");
    expect(idle).toContain("stranger");
    expect(idle).not.toContain("guest");
    expect(idle).not.toContain(bots[0]);
  });

  it("members", async () => {
    const [owner, guest] = [await idOf("owner"), await idOf("guest")];
    const query = `user_ids[]=${owner}&user_ids[]=${guest}`;
    for (const path of ["/groups/acme/members", "/projects/acme%2Fsite/members/all"]) {
      const all: string[] = await listed(path, "username");
      expect((await listed(`${path}?${query}`, "username")).sort()).toEqual(["guest", "owner"]);
      expect(await listed(`${path}?skip_users[]=${guest}`, "username")).toEqual(
        all.filter((name) => name !== "guest"),
      );
    }
    expect(await listed("/groups/acme/members/all?state=active", "username")).toContain("owner");
  });

  it("milestones of what is above and below", async () => {
    const make = async (path: string, title: string) => {
      const { status } = await app.call(`POST ${path}/milestones`, {
        as: "owner",
        json: { title },
      });
      expect(status).toBe(201);
    };
    await make("/groups/acme%2Fteam", "of team");
    await make("/projects/acme%2Fteam%2Fcore", "of core");
    const core = "/projects/acme%2Fteam%2Fcore/milestones";
    expect(await listed(core, "title")).toEqual(["of core"]);
    expect(await listed(`${core}?include_ancestors=true`, "title")).toEqual([
      "of core",
      "of team",
      "v1",
    ]);
    expect(await listed(`${core}?include_parent_milestones=true`, "title")).toHaveLength(3);
    const acme = "/groups/acme/milestones";
    expect(await listed(acme, "title")).toEqual(["v1"]);
    expect(await listed(`${acme}?include_descendants=true&search=of`, "title")).toEqual([
      "of core",
      "of team",
    ]);
    // The project is private: who does not see it does not see its milestones.
    const { json } = await app.call(`GET ${acme}?include_descendants=true`, { as: "stranger" });
    expect(json.map(({ title }: { title: string }) => title)).toEqual(["v1"]);
    expect(await listed(`${acme}?updated_after=2100-01-01`, "title")).toEqual([]);
    expect(await listed(`${acme}?updated_before=2100-01-01`, "title")).toEqual(["v1"]);
  });

  it("notes of people, or of the system", async () => {
    const issue = await app.call("POST /projects/acme%2Fsite/issues", {
      as: "owner",
      json: { title: "An issue" },
    });
    const notes = `/projects/acme%2Fsite/issues/${issue.json.iid}/notes`;
    for (const body of ["written", "acted"]) {
      await app.call(`POST ${notes}`, { as: "owner", json: { body } });
    }
    // What GitLab writes when a commit refers to an issue.
    await app.store.transaction((db) => db.run("update notes set system = 1 where body = 'acted'"));
    expect(await listed(`${notes}?activity_filter=only_comments`, "body")).toEqual(["written"]);
    expect(await listed(`${notes}?activity_filter=only_activity`, "system")).toEqual([true]);
    expect(await listed(`${notes}?activity_filter=all_notes`, "system")).toEqual([true, false]);
  });

  it("projects", async () => {
    const paths = (query: string) => listed(`/projects?${query}`, "path_with_namespace");
    const all = await paths("");
    await app.call("PUT /projects/acme%2Fsite", {
      as: "owner",
      json: { merge_requests_enabled: false },
    });
    expect(await paths("with_merge_requests_enabled=true")).toEqual(
      all.filter((path: string) => path !== "acme/site"),
    );
    for (const name of ["last_activity", "updated"]) {
      expect(await paths(`${name}_after=2100-01-01`)).toEqual([]);
      expect(await paths(`${name}_after=2000-01-01&${name}_before=2100-01-01`)).toEqual(all);
      expect(await paths(`${name}_before=2000-01-01`)).toEqual([]);
    }
    expect(await paths("search=team")).toEqual([]);
    expect(await paths("search=team&search_namespaces=true")).toEqual(["acme/team/core"]);
    const { json: site } = await app.call("GET /projects/acme%2Fsite", { as: "owner" });
    const below = await listed(
      `/groups/acme/projects?include_subgroups=true&id_after=${site.id}`,
      "path",
    );
    expect(below).toEqual(["core"]);
  });

  it("groups", async () => {
    const paths = (query: string) => listed(`/groups?${query}`, "full_path");
    expect(await paths("top_level_only=true")).toEqual(["acme", "secret"]);
    expect(await paths("visibility=public")).toEqual(["acme"]);
    expect(await paths("visibility=private")).toEqual(["secret", "acme/team"]);
  });

  it.each(["issues", "merge_requests"])("labels with details, of %s", async (kind) => {
    const { status } = await app.call(`POST /projects/acme%2Fteam%2Fcore/${kind}`, {
      as: "owner",
      json: { title: "One", labels: "UX,Development", source_branch: "a", target_branch: "main" },
    });
    expect(status).toBe(201);
    for (const path of ["/groups/acme", "/projects/acme%2Fteam%2Fcore"]) {
      expect(await listed(`${path}/${kind}?search=One`, "labels")).toEqual([["Development", "UX"]]);
      expect(await listed(`${path}/${kind}?search=One&with_labels_details=true`, "labels")).toEqual(
        [
          [
            {
              name: "Development",
              color: "#0000ff",
              description: "Being built",
              description_html: "Being built",
              text_color: "#FFFFFF",
            },
            {
              name: "UX",
              color: "#ff0000",
              description: null,
              description_html: null,
              text_color: "#FFFFFF",
            },
          ],
        ],
      );
    }
  });

  it("releases", async () => {
    const made = await app.call("POST /projects/acme%2Fteam%2Fcore/releases", {
      as: "owner",
      json: { tag_name: "v1", ref: "main", released_at: "2020-01-01" },
    });
    if (made.status !== 201) {
      await app.store.transaction(async (db) => {
        await db.run(
          `insert into releases (project_id, tag, created_at, updated_at, released_at)
           select id, 'v1', 1, ?, 1 from projects where full_path = 'acme/team/core'`,
          [Date.now()],
        );
      });
    }
    const tags = (query: string) =>
      listed(`/projects/acme%2Fteam%2Fcore/releases?${query}`, "tag_name");
    expect(await tags("updated_after=2020-06-01")).toEqual(["v1"]);
    expect(await tags("updated_before=2020-06-01")).toEqual([]);
  });
});
