import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const PATH = "/application/settings";
const change = (json: object, as: Person = "admin") => app.call(`PUT ${PATH}`, { as, json });
const make = async (path: string, json: object, as: Person = "admin") => {
  const made = await app.call(`POST ${path}`, { as, json });
  expect(made.status, JSON.stringify(made.json)).toBe(201);
  return made.json;
};
let users = 0;
const newUser = (json: object = {}) => {
  users += 1;
  const named = { username: `new${users}`, name: "New", email: `new${users}@example.com` };
  return make("/users", { ...named, force_random_password: true, ...json });
};

const DEFAULTS = {
  id: 1,
  default_project_visibility: "private",
  default_group_visibility: "private",
  default_snippet_visibility: "internal",
  restricted_visibility_levels: [],
  default_branch_name: null,
  default_ci_config_path: null,
  default_projects_limit: 100000,
  can_create_group: true,
  user_default_external: false,
  max_artifacts_size: 100,
  signup_enabled: true,
};

/** Changes settings for as long as something runs. */
async function withSettings(json: Partial<typeof DEFAULTS> | object, run: () => Promise<void>) {
  const changed = await change(json);
  expect([changed.status, changed.json]).toMatchObject([200, { ...DEFAULTS, ...json }]);
  expect((await app.call(`GET ${PATH}`, { as: "admin" })).json).toEqual(changed.json);
  try {
    await run();
  } finally {
    await change(DEFAULTS);
  }
}

it("are the defaults until an administrator changes them", async () => {
  const shown = await app.call(`GET ${PATH}`, { as: "admin" });
  expect([shown.status, shown.json]).toMatchObject([200, DEFAULTS]);
});

it("are only for administrators", async () => {
  const json = { can_create_group: false };
  expect((await app.call(`GET ${PATH}`, { as: "owner" })).status).toBe(403);
  expect((await change(json, "owner")).status).toBe(403);
  expect((await app.call(`GET ${PATH}`)).status).toBe(401);
  expect((await app.call(`PUT ${PATH}`, { json })).status).toBe(401);
});

it.each([
  [{}],
  [{ nosuch_enabled: true }],
  [{ default_project_visibility: "secret" }],
  [{ default_branch_name: "two..dots" }],
  [{ restricted_visibility_levels: ["secret"] }],
  [{ restricted_visibility_levels: "public,internal" }],
  [{ default_projects_limit: -1 }],
])("refuse %j", async (json) => {
  expect((await change(json)).status).toBe(400);
  expect((await app.call(`GET ${PATH}`, { as: "admin" })).json).toMatchObject(DEFAULTS);
});

it("ignore what is no setting here, beside one that is", async () => {
  const changed = await change({ gravatar_enabled: true, default_projects_limit: 42 });
  expect(changed.json).toMatchObject({ ...DEFAULTS, default_projects_limit: 42 });
  await change(DEFAULTS);
});

it("are audited", async () => {
  await change({ can_create_group: true, default_projects_limit: 100000 });
  const [event] = await app.admin.auditEvents.list({ action: "application settings changed" });
  expect(event).toMatchObject({
    action: "application settings changed",
    target: "can_create_group, default_projects_limit",
  });
});

describe("decide", () => {
  it("the visibility of new projects, which is no higher than their group's", async () => {
    const group = await make("/groups", { name: "Hidden", path: "hidden" });
    await withSettings({ default_project_visibility: "internal" }, async () => {
      expect((await make("/projects", { name: "Open" })).visibility).toBe("internal");
      const told = { name: "Told", visibility: "public" };
      expect((await make("/projects", told)).visibility).toBe("public");
      const within = { name: "Within", namespace_id: group.id };
      expect((await make("/projects", within)).visibility).toBe("private");
    });
    expect((await make("/projects", { name: "Closed" })).visibility).toBe("private");
  });

  it("the visibility of new groups, which is no higher than their parent's", async () => {
    const parent = await make("/groups", { name: "Parent", path: "parent" });
    await withSettings({ default_group_visibility: "public" }, async () => {
      const open = await make("/groups", { name: "Open", path: "open-group" });
      expect(open.visibility).toBe("public");
      const sub = await make("/groups", { name: "Sub", path: "sub", parent_id: parent.id });
      expect(sub.visibility).toBe("private");
    });
  });

  it("the visibility of new snippets", async () => {
    const snippet = { title: "s", file_name: "f", content: "c" };
    await withSettings({ default_snippet_visibility: "private" }, async () => {
      expect((await make("/snippets", snippet)).visibility).toBe("private");
    });
    expect((await make("/snippets", snippet)).visibility).toBe("internal");
  });

  it("the default branch of new projects", async () => {
    await withSettings({ default_branch_name: "trunk" }, async () => {
      const readme = { name: "Readme", initialize_with_readme: true };
      const made = await make("/projects", readme);
      expect(made.default_branch).toBe("trunk");
      const branches = await app.call(`GET /projects/${made.id}/repository/branches`, {
        as: "admin",
      });
      expect(branches.json).toMatchObject([{ name: "trunk", default: true }]);
      expect((await make("/projects", { name: "Empty" })).default_branch).toBe("trunk");
      const own = { name: "Own", initialize_with_readme: true, default_branch: "own" };
      expect((await make("/projects", own)).default_branch).toBe("own");
    });
    const readme = { name: "Main", initialize_with_readme: true };
    expect((await make("/projects", readme)).default_branch).toBe("main");
  });

  it("where new projects have their configuration of CI", async () => {
    await withSettings({ default_ci_config_path: "ci/all.yml" }, async () => {
      expect((await make("/projects", { name: "CI" })).ci_config_path).toBe("ci/all.yml");
      const own = { name: "Own CI", ci_config_path: "own.yml" };
      expect((await make("/projects", own)).ci_config_path).toBe("own.yml");
    });
    expect((await make("/projects", { name: "No CI" })).ci_config_path).toBeNull();
  });

  it("what new users may do", async () => {
    const limits = {
      default_projects_limit: 42,
      can_create_group: false,
      user_default_external: true,
    };
    await withSettings(limits, async () => {
      expect(await newUser()).toMatchObject({
        projects_limit: 42,
        can_create_group: false,
        external: true,
      });
      const told = { projects_limit: 7, can_create_group: true, external: false };
      expect(await newUser(told)).toMatchObject(told);
    });
    expect(await newUser()).toMatchObject({
      projects_limit: 100000,
      can_create_group: true,
      external: false,
    });
  });
});

describe("restricted visibility levels", () => {
  const RESTRICTED = { restricted_visibility_levels: ["internal", "public"] };
  const refusal = (word: string) => [
    400,
    { visibility_level: [`${word} has been restricted by your GitLab administrator`] },
  ];
  const tell = async (request: string, json: object, as: Person = "owner") => {
    const answer = await app.call(request, { as, json });
    return [answer.status, answer.json.message];
  };
  let made = 0;
  const named = (more: object = {}) => {
    made += 1;
    return { name: `Restricted ${made}`, path: `restricted-${made}`, ...more };
  };
  const snippet = { title: "s", file_name: "f", content: "c" };

  it("are refused to all but administrators, whatever is created", async () => {
    await withSettings(RESTRICTED, async () => {
      const levels = [
        ["public", "Public"],
        ["internal", "Internal"],
      ] as const;
      for (const [visibility, word] of levels) {
        for (const path of ["/projects", "/groups"]) {
          expect(await tell(`POST ${path}`, named({ visibility }))).toEqual(refusal(word));
          expect((await make(path, named({ visibility }))).visibility).toBe(visibility);
          expect((await make(path, named({ visibility: "private" }), "owner")).visibility).toBe(
            "private",
          );
        }
        for (const path of ["/snippets", "/projects/acme%2Fsite/snippets"]) {
          expect(await tell(`POST ${path}`, { ...snippet, visibility })).toEqual(refusal(word));
          expect((await make(path, { ...snippet, visibility })).visibility).toBe(visibility);
        }
      }
      // Also as the level of what says none, and of forks.
      expect(await tell("POST /snippets", snippet)).toEqual(refusal("Internal"));
      const fork = "POST /projects/acme%2Fsite/fork";
      expect(await tell(fork, named())).toEqual(refusal("Public"));
      expect((await tell(fork, named({ visibility: "private" })))[0]).toBe(201);
    });
  });

  it("are refused when something is changed, which keeps what it has", async () => {
    const project = await make("/projects", named({ visibility: "public" }), "owner");
    const group = await make("/groups", named({ visibility: "internal" }), "owner");
    const own = await make("/snippets", { ...snippet, visibility: "private" }, "owner");
    await withSettings(RESTRICTED, async () => {
      const all = [`/projects/${project.id}`, `/groups/${group.id}`, `/snippets/${own.id}`];
      for (const path of all) {
        expect(await tell(`PUT ${path}`, { visibility: "internal" })).toEqual(refusal("Internal"));
        expect((await tell(`PUT ${path}`, { description: "kept" }))[0]).toBe(200);
        expect((await tell(`PUT ${path}`, { visibility: "internal" }, "admin"))[0]).toBe(200);
      }
      const query = `mutation { createSnippet(input: {title: "s", visibilityLevel: public,
        blobActions: [{action: create, filePath: "f", content: "c"}]}) { errors snippet { id } } }`;
      const { json } = await app.call("POST http://pm.test/api/graphql", {
        as: "owner",
        json: { query },
      });
      expect(json.data.createSnippet.snippet).toBeNull();
      expect(json.data.createSnippet.errors.join()).toContain("has been restricted");
    });
  });

  it("may be all of them, or none", async () => {
    const all = { restricted_visibility_levels: ["private", "internal", "public"] };
    await withSettings(all, async () => {
      expect(await tell("POST /projects", named())).toEqual(refusal("Private"));
    });
    const cleared = await change({ restricted_visibility_levels: "" });
    expect(cleared.json.restricted_visibility_levels).toEqual([]);
  });
});

describe("GitLab's other settings", () => {
  it.each([
    ["home_page_url", "javascript:alert(1)", "http, https"],
    ["after_sign_out_path", "java\nscript:alert(1)", "http, https"],
    ["grafana_url", "//elsewhere.example", "http, https"],
    ["spam_check_endpoint_url", "https://spam.example", "grpc, tls"],
  ])("that are addresses have the schemes of these: %s", async (name, sent, schemes) => {
    const { status, json } = await change({ [name]: sent });
    const message = { [name]: [`is blocked: Only allowed schemes are ${schemes}`] };
    expect([status, json]).toEqual([400, { message }]);
  });

  it("are kept and shown as they were sent", async () => {
    const shown = (await app.call(`GET ${PATH}`, { as: "admin" })).json;
    expect(shown).toMatchObject({
      deletion_adjourned_period: 7,
      gravatar_enabled: true,
      auto_devops_enabled: false,
      home_page_url: null,
      max_artifacts_size: 100,
      import_sources: ["git", "github"],
    });
    const settings = {
      deletion_adjourned_period: 1,
      gravatar_enabled: false,
      auto_devops_enabled: true,
      home_page_url: "https://home.example",
      max_artifacts_size: 50,
      import_sources: ["github", "gitea"],
    };
    const changed = await change(settings);
    expect([changed.status, changed.json]).toEqual([200, { ...shown, ...settings }]);
    const alone = await change({ home_page_url: null });
    expect(alone.json).toEqual({ ...shown, ...settings, home_page_url: null });
    expect((await app.call(`GET ${PATH}`, { as: "admin" })).json).toEqual(alone.json);
    // As programs do that change one value of what they have read.
    const { status, json } = await change({ ...alone.json, ...shown });
    expect([status, json]).toEqual([200, shown]);
  });

  it.each([
    ["require_two_factor_authentication", true, false],
    ["password_authentication_enabled_for_web", false, true],
    ["throttle_authenticated_api_enabled", true, false],
    ["rsa_key_restriction", 4096, 0],
    ["enabled_git_access_protocol", "ssh", "all"],
    ["email_confirmation_setting", "soft", "off"],
  ])(
    "%s is refused, since it has no effect, unless it is what is in force",
    async (name, wrong, right) => {
      const refused = await change({ [name]: wrong });
      expect([refused.status, refused.json]).toEqual([
        400,
        { message: { [name]: ["is not supported on this server"] } },
      ]);
      const taken = await change({ [name]: right });
      expect([taken.status, taken.json[name]]).toEqual([200, right]);
    },
  );
});
