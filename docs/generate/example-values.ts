// What the examples of requests send: values that read well, and what is needed for a request to be accepted.

import { createHash } from "node:crypto";
import { objectOf } from "../../test/api/_lfs.ts";
import { document } from "../../test/api/_npm.ts";
import { basic, digestOf, IMAGE } from "../../test/api/_registry.ts";
import { operations, USER } from "../../test/api/_scim.ts";
import { zipped } from "../../test/api/_zip.ts";
import { CHART, NUPKG } from "../../test/fixtures.ts";
import type { Answer, Person } from "../../test/helpers.ts";
import { sshKeyOf, tokenOf } from "../../test/helpers.ts";
import { gpgKeyOf } from "../../test/pgp.ts";

export type Json = Readonly<Record<string, unknown>>;

/** Performs a request before that of the example, and returns its answer; without one, where it is told to go. */
export type Ask = (
  request: string,
  sent?: Json | FormData,
  as?: Person,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer["json"]>;

/** What the example of a route has in particular. */
export interface Special {
  /** The caller. Default: the administrator. */
  as?: Person;
  /** Values of parameters of the path. */
  params?: Json;
  /** Attributes beside those that are required, or other values of these. */
  sent?: Json;
  headers?: Readonly<Record<string, string>>;
  /** The body of a route that takes it as it is. Default: a line of text. */
  text?: string;
  /** The name of the file of a form. */
  file?: string;
  /** What is in it. Default: the beginning of a picture. */
  content?: Buffer<ArrayBuffer>;
  /** Makes what the request needs. @returns values as above that follow from it */
  before?: (ask: Ask) => Promise<Pick<Special, "params" | "sent" | "headers"> | undefined>;
}

const SITE = "/projects/acme%2Fsite";

const asOwner = { Authorization: basic("owner", tokenOf("owner")).authorization };

/** A repository of container images, which is there. */
const IMAGES = "acme/site/image-0";

/** A client of images, which may do all with a repository. */
async function imageClient(ask: Ask) {
  const scope = `repository:${IMAGES}:pull,push,delete`;
  const { token } = await ask(
    `GET http://127.0.0.1:3000/jwt/auth?service=container_registry&scope=${scope}`,
    undefined,
    "anonymous",
    basic("owner", tokenOf("owner")),
  );
  return { headers: { Authorization: `Bearer ${token}` } };
}

/** {@link imageClient}, which has pushed the blob `{}`. */
async function withBlob(ask: Ask) {
  const client = await imageClient(ask);
  const path = `POST http://127.0.0.1:3000/v2/${IMAGES}/blobs/uploads?digest=${digestOf("{}")}`;
  await ask(path, {}, "anonymous", client.headers);
  return client;
}

/** {@link imageClient}, which has begun to push a blob. */
async function withUpload(ask: Ask) {
  const client = await imageClient(ask);
  const path = `POST http://127.0.0.1:3000/v2/${IMAGES}/blobs/uploads`;
  const { location } = await ask(path, undefined, "anonymous", client.headers);
  const params = { repository: IMAGES, upload_id: location.split("/").at(-1) };
  return { ...client, params };
}

/** What git-lfs calls, with a token as its password. */
const ofLfs = (sent: Json = {}, more: Special = {}): Special => ({
  as: "anonymous",
  headers: asOwner,
  sent,
  ...more,
});

/** What an image's clients call, as one of them. */
const ofImages = (params: Json = {}, more: Special = {}): Special => ({
  as: "anonymous",
  before: imageClient,
  ...more,
  params: { repository: IMAGES, ...params },
});

/** A module of the server that is asked, whose address others have not. */
const OF_MODULE: Special = {
  before: async () => ({ params: { module_name: "gitlab.example.com/acme/site" } }),
};

/** Where a project is updated from. */
const PULLED = {
  enabled: true,
  url: "https://git.example.com/acme/site.git",
  auth_user: "mirror",
  auth_password: "secret",
};

/** Values of attributes by name. */
export const NAMED: Json = {
  access_level: 30,
  actions: [{ action: "create", file_path: "docs/hello.md", content: "# Hello\n" }],
  body: "Looks good to me.",
  branch: "main",
  color: "#1f75cb",
  commit_message: "Say hello",
  content: "# Hello\n",
  cron: "0 1 * * *",
  description: "What it is for",
  duration: "1h30m",
  email: "grace@example.com",
  from: "t0",
  image_url: "https://example.com/badge.svg",
  key: "DEPLOY_TO",
  link_url: "https://example.com",
  message: "We are back at noon.",
  name: "Example",
  note: "Looks good to me.",
  password: "correct horse",
  path: "example",
  redirect_uri: "https://app.example.com/callback",
  ref: "main",
  scopes: ["api"],
  search: "issue",
  source_branch: "feature-1",
  target_branch: "main",
  text: "Some *Markdown*",
  title: "An example",
  to: "main",
  url: "https://hooks.example.com",
  username: "grace",
  user_id: 7,
};

/** Values of other attributes by type. */
export const TYPED: Json = {
  integer: 1,
  number: 1,
  boolean: true,
  string: "A text",
  date: "2026-02-01",
  timestamp: "2026-02-01T12:00:00Z",
};

/** What a path says before the words of a record of a kind; the routes of these are alike. */
const each = (paths: readonly string[], special: Special): Record<string, Special> =>
  Object.fromEntries(paths.map((path) => [path, special]));

const emoji = [
  "projects/:id/issues",
  "projects/:id/merge_requests",
  "projects/:id/snippets",
  "groups/:id/epics",
].flatMap((kind) => [
  `POST /${kind}/:noteable_id/award_emoji`,
  `POST /${kind}/:noteable_id/notes/:note_id/award_emoji`,
]);

const key = { title: "A laptop", key: sshKeyOf(4711) };

/** Of what must be done first: a request to another address. */
const first = (request: string, json: Json = {}): Special => ({
  before: async (ask) => {
    await ask(request, json);
    return undefined;
  },
});

const both = (method: string, path: string) => [
  `${method} /groups/:id${path}`,
  `${method} /projects/:id${path}`,
];

/** Commits a CI configuration, and returns the branch that has it. */
async function configured(ask: Ask, content: string): Promise<string> {
  await ask(`POST ${SITE}/repository/commits`, {
    branch: "topic",
    start_branch: "main",
    commit_message: "Configure [skip ci]",
    actions: [{ action: "create", file_path: ".gitlab-ci.yml", content }],
  });
  return "topic";
}

const MANUAL = "deploy: { script: [make], when: manual }\n";
const OF_REQUESTS = "test: { script: [make], rules: [{ if: $CI_MERGE_REQUEST_IID }] }\n";

/** A runner that has taken a job, which is running. */
async function runningJob(ask: Ask): Promise<{ token: string; id: number; job: string }> {
  const { token } = await ask("POST /user/runners", { runner_type: "instance_type" });
  const { id, token: job } = await ask("POST /jobs/request", { token }, "anonymous");
  return { token, id, job };
}

const ofRunner: Special = {
  as: "anonymous",
  before: async (ask) => {
    const { token } = await ask("POST /user/runners", { runner_type: "instance_type" }, "admin");
    return { sent: { token } };
  },
};

const ofJob: Special = {
  as: "anonymous",
  before: async (ask) => {
    const { id, job } = await runningJob(ask);
    return { params: { job_id: id }, sent: { token: job } };
  },
};

/** A job that has ended. */
const ended: Special = {
  before: async (ask) => {
    const { id, job } = await runningJob(ask);
    await ask(`PUT /jobs/${id}`, { token: job, state: "failed" }, "anonymous");
    return { params: { job_id: id } };
  },
};

/** A job with a file in its artifacts. @param ends whether it has ended */
async function storedJob(ask: Ask, ends = true): Promise<{ id: number; job: string }> {
  const { id, job } = await runningJob(ask);
  const form = new FormData();
  form.append("token", job);
  form.append("file", new Blob([zipped({ "log.txt": "All is well\n" })]), "artifacts.zip");
  await ask(`POST /jobs/${id}/artifacts`, form, "anonymous");
  if (ends) await ask(`PUT /jobs/${id}`, { token: job, state: "success" }, "anonymous");
  return { id, job };
}

/** A merge request that can be merged. */
const mergeable: Special = {
  before: async (ask) => ({ params: { merge_request_iid: (await openRequest(ask)).iid } }),
};

async function openRequest(ask: Ask) {
  const actions = [{ action: "create", file_path: "added.md", content: "New\n" }];
  const start = { branch: "topic", start_branch: "main", commit_message: "Add it", actions };
  await ask(`POST ${SITE}/repository/commits`, start);
  const request = { title: "Add it", source_branch: "topic", target_branch: "main" };
  return ask(`POST ${SITE}/merge_requests`, request);
}

/** What a comment on the new file of a merge request suggests. */
async function suggested(ask: Ask): Promise<number> {
  const { iid, diff_refs } = await openRequest(ask);
  const at = { position_type: "text", old_path: "added.md", new_path: "added.md", new_line: 1 };
  const comment = { body: "```suggestion\nNewer\n```", position: { ...diff_refs, ...at } };
  const { notes } = await ask(`POST ${SITE}/merge_requests/${iid}/discussions`, comment);
  return notes[0].suggestions[0].id;
}

/** A merge request that an external status check has or has not passed. */
async function checkedRequest(ask: Ask, status: string) {
  const { iid, sha } = await openRequest(ask);
  const added = { name: "Laboratory", external_url: "https://checks.example.com/acme" };
  const { id } = await ask(`POST ${SITE}/external_status_checks`, added);
  const sent = { sha, external_status_check_id: id, status };
  await ask(`POST ${SITE}/merge_requests/${iid}/status_check_responses`, sent);
  const params = { merge_request_iid: iid, external_status_check_id: id };
  return { params, sent };
}

const SNIPPET = {
  title: "A text",
  files: [{ file_path: "hello.md", content: "# Hello\n" }],
  visibility: "internal",
};

const DELETED = "It must have been marked for deletion, and its name has changed by that.";
const OF_ROOT = "It is there on a server of its own only.";
const OF_OAUTH = "It takes what an OAuth2 application has got: docs/oauth.md has examples.";
const OF_PIPELINE = "A pipeline of the branch must have succeeded.";
const SCIM = "/api/scim/v2/groups/:group_path*";
const user = (userName: string) => ({
  schemas: [USER],
  userName,
  externalId: userName,
  emails: [{ type: "work", primary: true, value: userName }],
});

const searched = {
  schemas: ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
  filter: 'userName eq "scim0@example.com"',
};

/** About a user who has not done anything yet. @param earlier what is done to them before */
const ofNewUser = (earlier?: string): Special => ({
  before: async (ask) => {
    const user = { username: "grace", name: "Grace", email: "grace@example.com" };
    const { id } = await ask("POST /users", { ...user, force_random_password: true });
    if (earlier) await ask(`POST /users/${id}/${earlier}`);
    return { params: { user_id: id } };
  },
});

const OF_IMPORT = "Another server must have been imported from: docs/moving-in.md has an example.";
const WRITTEN = "The export must have ended, which takes some time.";

/** Routes without an example, and why. */
export const WITHOUT: Readonly<Record<string, string>> = {
  "POST /users/:user_id/approve": "No account waits for approval where the examples are asked.",
  "POST /users/:user_id/reject": "No account waits for approval where the examples are asked.",
  "PATCH /users/:user_id/disable_two_factor":
    "Nobody has a second factor where the examples are asked.",
  "DELETE /users/:user_id/identities/:provider": "Nobody has an identity at another service.",
  "PUT /projects/:id/merge_requests/:merge_request_iid/reset_approvals":
    "It takes the token of a project or group.",
  "PUT /projects/:id/pages/domains/:domain/verify":
    "Administrators must have set `pages_domain_verification_enabled` to false.",
  "GET /projects/:id/repository/tags/:tag_name/signature": "The tag must be signed.",
  "GET /projects/:id/remote_mirrors/:mirror_id/public_key": "Push mirrors sign in with a password.",
  "PUT /projects/:id/repository/submodules/:submodule": "The repository must have a submodule.",
  "POST /bulk_imports": OF_IMPORT,
  "GET /bulk_imports": OF_IMPORT,
  "GET /bulk_imports/entities": OF_IMPORT,
  "GET /bulk_imports/:import_id": OF_IMPORT,
  "GET /bulk_imports/:import_id/entities": OF_IMPORT,
  "GET /bulk_imports/:import_id/entities/:entity_id": OF_IMPORT,
  "GET /bulk_imports/:import_id/entities/:entity_id/failures": OF_IMPORT,
  "POST /groups/:id/placeholder_reassignments": "Its file must name placeholders of the group.",
  "POST /bulk_imports/:import_id/cancel": OF_IMPORT,
  "POST /import/github": "GitHub must have the repository: docs/moving-in.md has an example.",
  "POST /import/github/cancel": "A repository of GitHub must be on its way here.",
  "GET /projects/:id/export/download": WRITTEN,
  "GET /groups/:id/export/download": WRITTEN,
  "GET /groups/:id/export_relations/download": WRITTEN,
  "GET /projects/:id/export_relations/download": WRITTEN,
  "POST /groups/:id/restore": DELETED,
  "POST /projects/:id/restore": DELETED,
  "GET /projects/:id/jobs/artifacts/:ref_name*/download": OF_PIPELINE,
  "GET /projects/:id/jobs/artifacts/:ref_name*/raw/:artifact_path*": OF_PIPELINE,
  "POST /projects/:id/deployments/:deployment_id/approval":
    "A protected environment must have blocked the deployment.",
  "GET /favicon.ico": OF_ROOT,
  "GET /robots.txt": OF_ROOT,
  "GET /oauth/token/info": OF_OAUTH,
  "POST /oauth/revoke": OF_OAUTH,
  "POST /oauth/introspect": OF_OAUTH,
  "POST /oauth/authorize_device": OF_OAUTH,
  "GET /oauth/userinfo": OF_OAUTH,
  "POST /oauth/userinfo": OF_OAUTH,
};

/** What routes have in particular, by method and path. */
export const EXAMPLES: Readonly<Record<string, Special>> = {
  ...each(emoji, { sent: { name: "rocket" } }),
  ...each([...both("PUT", "/labels"), ...both("DELETE", "/labels")], {
    sent: { name: "label 0" },
  }),
  ...each(["POST /hooks", ...both("POST", "/hooks")], { sent: { issues_events: true } }),
  ...each(["PUT /hooks/:hook_id", ...both("PUT", "/hooks/:hook_id")], {
    sent: { enable_ssl_verification: false },
  }),
  ...each(["POST /deploy_keys", "POST /projects/:id/deploy_keys", "POST /user/keys"], {
    sent: key,
  }),
  "POST /users/:user_id/keys": { sent: key },
  ...each(["POST /user/gpg_keys", "POST /users/:user_id/gpg_keys"], {
    sent: { key: gpgKeyOf(4711) },
  }),
  ...each(both("POST", "/boards/:board_id/lists"), { sent: { label_id: 2 } }),
  ...each(both("PUT", "/boards/:board_id/lists/:list_id"), {
    before: async (ask) => {
      for (const at of ["/groups/acme/boards/2", `${SITE}/boards/3`]) {
        await ask(`POST ${at}/lists`, { label_id: 2 });
      }
      return undefined;
    },
  }),
  ...each(both("POST", "/protected_environments"), {
    sent: { name: "production", deploy_access_levels: [{ access_level: 40 }] },
  }),
  ...each(both("PUT", "/protected_environments/:name"), {
    sent: { deploy_access_levels: [{ access_level: 30 }] },
  }),
  ...each(["POST /member_roles", "POST /groups/:id/member_roles"], {
    sent: { name: "Auditor", base_access_level: 10, read_code: true },
  }),
  "POST /groups/:id/unarchive": {
    before: async (ask) => {
      await ask("POST /groups/acme/archive");
      return undefined;
    },
  },
  "GET /projects/:id/issues/:issue_iid/user_agent_detail": {
    before: async (ask) => {
      const { iid } = await ask(`POST ${SITE}/issues`, { title: "By a program" });
      return { params: { issue_iid: iid } };
    },
  },
  "GET /projects/:id/snippets/:snippet_id/user_agent_detail": {
    before: async (ask) => {
      const { id } = await ask(`POST ${SITE}/snippets`, SNIPPET);
      return { params: { snippet_id: id } };
    },
  },
  "GET /snippets/:snippet_id/user_agent_detail": {
    before: async (ask) => {
      const { id } = await ask("POST /snippets", SNIPPET);
      return { params: { snippet_id: id } };
    },
  },
  "PUT /projects/:id/resource_groups/:key": { sent: { process_mode: "oldest_first" } },
  "POST /projects/:id/packages/helm/api/:channel/charts": {
    file: "thing-1.0.0.tgz",
    content: CHART,
  },
  "PUT /projects/:id/packages/nuget": { file: "Acme.Thing.1.0.0.nupkg", content: NUPKG },
  "PUT /projects/:id/packages/nuget/symbolpackage": {
    file: "Acme.Thing.1.0.0.snupkg",
    content: NUPKG,
  },
  "POST /projects/:id/packages/composer": { sent: { branch: "composer" } },
  "GET /projects/:id/packages/composer/archives/:package_name*": {
    before: async (ask) => {
      const { commit } = await ask(`GET ${SITE}/repository/branches/composer`);
      return { sent: { sha: commit.id } };
    },
  },
  "POST /projects/:id/packages/pypi": {
    sent: { name: "acme-tool", version: "1.0.0" },
    file: "acme_tool-1.0.0.tar.gz",
  },
  "PUT /projects/:id/packages/npm/:package_name*": {
    text: JSON.stringify(document("@acme/thing", "1.0.1")),
  },
  "PUT /projects/:id/packages/npm/-/package/:package_name*/dist-tags/:tag": { text: '"1.0.0"' },
  "POST /projects/:id/packages/protection/rules": {
    sent: {
      package_name_pattern: "lib-*",
      package_type: "npm",
      minimum_access_level_for_push: "maintainer",
    },
  },
  "PATCH /projects/:id/packages/protection/rules/:rule_id": {
    sent: { minimum_access_level_for_delete: "owner" },
  },
  "POST /projects/:id/pages/domains": { sent: { domain: "docs.example.com" } },
  "POST /projects/:id/registry/protection/repository/rules": {
    sent: {
      repository_path_pattern: "acme/site/lib-*",
      minimum_access_level_for_push: "maintainer",
    },
  },
  "PATCH /projects/:id/registry/protection/repository/rules/:rule_id": {
    sent: { minimum_access_level_for_delete: "owner" },
  },
  "PUT /projects/:id/mirror/pull": { sent: PULLED },
  "POST /projects/:id/mirror/pull": {
    before: async (ask) => {
      await ask(`PUT ${SITE}/mirror/pull`, PULLED);
      return undefined;
    },
  },
  "POST /projects/:id/freeze_periods": {
    sent: { freeze_start: "0 23 * * 5", freeze_end: "0 7 * * 1" },
  },
  "PUT /projects/:id/freeze_periods/:freeze_period_id": { sent: { freeze_end: "0 8 * * 1" } },
  ...each(both("POST", "/push_rule"), {
    before: async (ask) => {
      for (const at of ["/groups/acme", SITE]) await ask(`DELETE ${at}/push_rule`);
      return { sent: { commit_message_regex: "^[A-Z]", max_file_size: 10 } };
    },
  }),
  ...each(both("POST", "/deploy_tokens"), { sent: { scopes: ["read_repository"] } }),
  ...each(both("POST", "/invitations"), { sent: { email: "grace@example.com" } }),
  ...each(["POST /snippets", "POST /projects/:id/snippets"], { sent: SNIPPET }),
  "POST /users": {
    sent: {
      email: "grace@example.com",
      username: "grace",
      name: "Grace",
      password: "correct horse",
    },
  },
  ...each(both("POST", "/share"), {
    before: async (ask) => {
      const { id } = await ask("POST /groups", { name: "Friends", path: "friends" });
      return { sent: { group_id: id, group_access: 30 } };
    },
  }),
  ...each(
    ["GET", "POST"].map((method) => `${method} /projects/:id/repository/changelog`),
    {
      sent: { version: "1.0.0", from: "t0" },
    },
  ),
  "POST /projects/:id/merge_requests/:merge_request_iid/context_commits": {
    before: async (ask) => {
      const { id } = await ask(`GET ${SITE}/repository/commits/main`);
      return { sent: { commits: [id] } };
    },
  },
  "DELETE /projects/:id/merge_requests/:merge_request_iid/context_commits": {
    before: async (ask) => {
      const { id } = await ask(`GET ${SITE}/repository/commits/main`);
      await ask(`POST ${SITE}/merge_requests/1/context_commits`, { commits: [id] });
      return { sent: { commits: [id] } };
    },
  },
  "POST /groups": { sent: { name: "Example", path: "example" } },
  "POST /projects": { sent: { name: "Example", visibility: "private" } },
  "POST /projects/:id/merge_requests/:merge_request_iid/unapprove": first(
    `POST ${SITE}/merge_requests/1/approve`,
  ),
  "POST /projects/:id/repository/branches": { sent: { branch: "idea", ref: "main" } },
  "POST /features/:name": { sent: { value: "true" } },
  "POST /topics/merge": {
    before: async (ask) => {
      const { id } = await ask("POST /topics", { name: "games", title: "Games" });
      return { sent: { source_topic_id: id, target_topic_id: 1 } };
    },
  },
  "POST /projects/:id/repository/commits": {
    sent: { branch: "main", actions: NAMED["actions"] },
  },
  "POST /projects/:id/repository/commits/:sha/cherry_pick": { sent: { branch: "main" } },
  "POST /projects/:id/repository/commits/:sha/revert": { sent: { branch: "feature" } },
  "POST /projects/:id/deployments": {
    sent: { environment: "production", ref: "main", tag: false, status: "success" },
  },
  "PUT /projects/:id/deployments/:deployment_id": {
    before: async (ask) => {
      const { commit } = await ask(`GET ${SITE}/repository/branches/main`);
      const started = { environment: "staging", sha: commit.id, ref: "main", tag: false };
      const { id } = await ask(`POST ${SITE}/deployments`, { ...started, status: "running" });
      return { params: { deployment_id: id }, sent: { status: "success" } };
    },
  },
  "DELETE /projects/:id/deployments/:deployment_id": {
    before: async (ask) => {
      const { commit } = await ask(`GET ${SITE}/repository/branches/main`);
      const started = { environment: "staging", sha: commit.id, ref: "main", tag: false };
      const { id } = await ask(`POST ${SITE}/deployments`, { ...started, status: "failed" });
      return { params: { deployment_id: id } };
    },
  },
  ...each(["POST /service_accounts", ...both("POST", "/service_accounts")], {
    sent: { name: "Deployer", username: "deployer" },
  }),
  "POST /users/:user_id/deactivate": ofNewUser(),
  "POST /users/:user_id/ban": ofNewUser(),
  "POST /users/:user_id/unban": ofNewUser("ban"),
  "DELETE /users/:user_id/emails/:email_id": {
    before: async (ask) => {
      const { id } = await ask("POST /users/2/emails", { email: "second@example.com" });
      return { params: { email_id: id } };
    },
  },
  "POST /projects/:id/environments/stop_stale": { sent: { before: "2026-01-01T00:00:00Z" } },
  "DELETE /projects/:id/environments/:environment_id": first(`POST ${SITE}/environments/1/stop`, {
    force: true,
  }),
  "POST /projects/:id/repository/files/:file_path": { params: { file_path: "hello.md" } },
  "GET /-/avatars/:name": { params: { name: "p-200.svg" } },
  "POST /projects/:id/issues/:issue_iid/links": {
    sent: { target_project_id: 1, target_issue_iid: 3 },
  },
  ...each(["PUT /groups/:id/epics/:epic_iid", "PUT /groups/:id/-/epics/:epic_iid"], {
    sent: { title: "Ship it", state_event: "close" },
  }),
  ...each(["POST /groups/:id/epics/:epic_iid/issues/:issue_id"], {
    before: async (ask) => {
      const { id } = await ask(`POST ${SITE}/issues`, { title: "A new issue" });
      return { params: { issue_id: id } };
    },
  }),
  ...each(
    ["epics", "links"].map((path) => `POST /groups/:id/epics/:epic_iid/${path}/:child_epic_id`),
    {
      before: async (ask) => {
        const { id } = await ask("POST /groups/acme/epics", { title: "A new epic" });
        return { params: { child_epic_id: id } };
      },
    },
  ),
  ...each(
    ["epics", "links"].map((path) => `PUT /groups/:id/epics/:epic_iid/${path}/:child_epic_id`),
    {
      before: async (ask) => {
        const [first, second] = [
          await ask("POST /groups/acme/epics/1/epics", { title: "First" }),
          await ask("POST /groups/acme/epics/1/epics", { title: "Second" }),
        ];
        return { params: { child_epic_id: first.id }, sent: { move_before_id: second.id } };
      },
    },
  ),
  "POST /groups/:id/epics/:epic_iid/related_epics": {
    before: async (ask) => {
      const { iid } = await ask("POST /groups/acme/epics", { title: "A new epic" });
      return { sent: { target_group_id: "acme", target_epic_iid: iid } };
    },
  },
  "POST /groups/:id/epics/:epic_iid/unsubscribe": {
    before: async (ask) => {
      await ask("POST /groups/acme/epics/1/subscribe");
      return undefined;
    },
  },
  "POST /projects/:id/issues/:issue_iid/move": { sent: { to_project_id: 3 } },
  ...each(
    ["issues/:issue_iid", "merge_requests/:merge_request_iid"].map(
      (path) => `POST /projects/:id/${path}/unsubscribe`,
    ),
    {
      before: async (ask) => {
        await ask(`POST ${SITE}/issues/1/subscribe`);
        await ask(`POST ${SITE}/merge_requests/1/subscribe`);
        return undefined;
      },
    },
  ),
  "POST /groups/:id/labels/:label_id/unsubscribe": first("POST /groups/acme/labels/1/subscribe"),
  "POST /projects/:id/labels/:label_id/unsubscribe": first(`POST ${SITE}/labels/5/subscribe`),
  "POST /projects/:id/unstar": first(`POST ${SITE}/star`),
  "POST /users/:user_id/unfollow": first("POST /users/2/follow"),
  "POST /projects/:id/jobs/:job_id/retry": ended,
  "POST /projects/:id/jobs/:job_id/play": {
    before: async (ask) => {
      const { id } = await ask(`POST ${SITE}/pipeline`, { ref: await configured(ask, MANUAL) });
      const [job] = await ask(`GET ${SITE}/pipelines/${id}/jobs`);
      return { params: { job_id: job.id } };
    },
  },
  ...each(
    [
      "POST /projects/:id/jobs/:job_id/erase",
      "GET /projects/:id/jobs/:job_id/artifacts",
      "GET /projects/:id/jobs/:job_id/artifacts/tree",
      "POST /projects/:id/jobs/:job_id/artifacts/keep",
      "DELETE /projects/:id/jobs/:job_id/artifacts",
      "GET /projects/:id/jobs/:job_id/artifacts/:artifact_path*",
    ],
    { before: async (ask) => ({ params: { job_id: (await storedJob(ask)).id } }) },
  ),
  "GET /jobs/:job_id/artifacts": {
    as: "anonymous",
    before: async (ask) => {
      const { id, job } = await storedJob(ask, false);
      return { params: { job_id: id }, headers: { "JOB-TOKEN": job } };
    },
  },
  "GET /job": {
    as: "anonymous",
    before: async (ask) => ({ headers: { "JOB-TOKEN": (await runningJob(ask)).job } }),
  },
  "POST /projects/:id/job_token_scope/allowlist": { sent: { target_project_id: 3 } },
  "POST /projects/:id/job_token_scope/groups_allowlist": {
    before: async (ask) => ({ sent: { target_group_id: (await ask("GET /groups/secret")).id } }),
  },
  ...each(both("POST", "/members"), { sent: { user_id: 7 } }),
  "POST /projects/:id/merge_requests": {
    sent: { source_branch: "topic" },
    ...first(`POST ${SITE}/repository/branches`, { branch: "topic", ref: "feature" }),
  },
  "PUT /projects/:id/merge_requests/:merge_request_iid/merge": mergeable,
  "PUT /projects/:id/merge_requests/:merge_request_iid/rebase": mergeable,
  "PUT /suggestions/:suggestion_id/apply": {
    before: async (ask) => ({ params: { suggestion_id: await suggested(ask) } }),
  },
  "PUT /suggestions/batch_apply": {
    before: async (ask) => ({ sent: { ids: [await suggested(ask)] } }),
  },
  ...each(
    ["issues", "merge_requests", "new_members"].map(
      (name) => `GET /analytics/group_activity/${name}_count`,
    ),
    { sent: { group_path: "acme" } },
  ),
  ...each(both("GET", "/dora/metrics"), { sent: { metric: "deployment_frequency" } }),
  "POST /projects/:id/merge_requests/:merge_request_iid/blocks": {
    before: async (ask) => {
      const { id } = await openRequest(ask);
      return { sent: { blocking_merge_request_id: id } };
    },
  },
  "POST /projects/:id/merge_trains/merge_requests/:merge_request_iid": {
    before: async (ask) => {
      const { iid } = await openRequest(ask);
      return { params: { merge_request_iid: iid } };
    },
  },
  "GET /projects/:id/merge_requests/:merge_request_iid/merge_ref": mergeable,
  ...each([...both("PUT", "/integrations/:slug"), "PUT /projects/:id/services/:slug"], {
    sent: { webhook: "https://hooks.slack.com/services/T0/B0/secret", channel: "#general" },
  }),
  "POST /projects/:id/external_status_checks": {
    sent: { name: "Laboratory", external_url: "https://checks.example.com/acme" },
  },
  "PUT /projects/:id/external_status_checks/:check_id": { sent: { shared_secret: "a long one" } },
  "POST /projects/:id/merge_requests/:merge_request_iid/status_check_responses": {
    before: async (ask) => {
      const { params, sent } = await checkedRequest(ask, "passed");
      return { params: { merge_request_iid: params.merge_request_iid }, sent };
    },
  },
  "POST /projects/:id/merge_requests/:merge_request_iid/status_checks/:external_status_check_id/retry":
    { before: async (ask) => ({ params: (await checkedRequest(ask, "failed")).params }) },
  "POST /projects/:id/pipeline": { sent: { ref: "pipelines" } },
  "POST /projects/:id/merge_requests/:merge_request_iid/pipelines": {
    before: async (ask) => {
      const source_branch = await configured(ask, OF_REQUESTS);
      const request = { title: "Add it", source_branch, target_branch: "main" };
      const { iid } = await ask(`POST ${SITE}/merge_requests`, request);
      return { params: { merge_request_iid: iid } };
    },
  },
  "POST /projects/:id/releases": { sent: { tag_name: "v2.0", ref: "main" } },
  "PUT /projects/:id/releases/:tag_name": { sent: { description: "What is new" } },
  "PUT /projects/:id/releases/:tag_name/assets/links/:link_id": { sent: { name: "The manual" } },
  "GET /projects/:id/repository/merge_base": { sent: { refs: ["main", "feature"] } },
  "POST /runners/verify": ofRunner,
  "POST /runners/reset_authentication_token": ofRunner,
  "DELETE /runners": ofRunner,
  "POST /jobs/request": ofRunner,
  "DELETE /runners/managers": {
    as: "anonymous",
    before: async (ask) => {
      const { token } = await ask("POST /user/runners", { runner_type: "instance_type" }, "admin");
      await ask("POST /runners/verify", { token, system_id: "s_1" }, "anonymous");
      return { sent: { token, system_id: "s_1" } };
    },
  },
  "PUT /jobs/:job_id": ofJob,
  "PATCH /jobs/:job_id/trace": {
    as: "anonymous",
    before: async (ask) => {
      const { id, job } = await runningJob(ask);
      return { params: { job_id: id }, headers: { "JOB-TOKEN": job, "Content-Range": "0-5" } };
    },
  },
  "GET /keys": {
    sent: {
      fingerprint: `SHA256:${createHash("sha256")
        .update(Buffer.from(sshKeyOf(0).split(" ")[1] ?? "", "base64"))
        .digest("base64")
        .replaceAll("=", "")}`,
    },
  },
  "DELETE /projects/:id/fork": { params: { id: "admin/admin-0" } },
  "POST /runners": {
    as: "anonymous",
    before: async (ask) => {
      const { token } = await ask("POST /groups/acme/runners/reset_registration_token");
      return { sent: { token } };
    },
  },
  ...each(
    [
      "GET /projects/:id/uploads/:secret/:file_name",
      "DELETE /projects/:id/uploads/:secret/:file_name",
      "GET /-/project/:project_id/uploads/:secret/:file_name",
    ],
    {
      before: async (ask) => {
        const form = new FormData();
        form.append("file", new Blob(["an upload"]), "a.txt");
        const { url } = await ask(`POST ${SITE}/uploads`, form);
        const [, , secret, file_name] = url.split("/");
        return { params: { secret, file_name, project_id: 1 } };
      },
    },
  ),
  "POST /oauth/token": {
    as: "anonymous",
    before: async (ask) => {
      await ask("PUT /users/2", { password: "correct horse" });
      return undefined;
    },
    sent: { grant_type: "password", username: "owner", password: "correct horse" },
  },
  "POST /jobs/:job_id/artifacts": ofJob,
  "DELETE /projects/:id/runners/:runner_id": {
    before: async (ask) => {
      await ask("POST /projects/3/runners", { runner_id: 4 });
      return { params: { id: 3 } };
    },
  },
  "POST /projects/:id/runners": { params: { id: 3 } },
  ...each(
    [
      "PUT /projects/:id/pipeline_schedules/:pipeline_schedule_id",
      "POST /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables",
      "PUT /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables/:key",
      "PUT /projects/:id/triggers/:trigger_id",
    ],
    { as: "owner" },
  ),
  "POST /projects/:id/terraform/state/:name": { text: '{"version": 4, "serial": 2}' },
  "POST /projects/:id/feature_flags": {
    sent: {
      name: "new_search",
      version: "new_version_flag",
      strategies: [
        { name: "default", parameters: {}, scopes: [{ environment_scope: "production" }] },
      ],
    },
  },
  "PUT /projects/:id/feature_flags/:feature_flag_name": {
    sent: { name: "newer_search", active: false },
  },
  ...each(
    [
      "GET /feature_flags/unleash/:project_id/client/features",
      "GET /feature_flags/unleash/:project_id/features",
      "POST /feature_flags/unleash/:project_id/client/register",
      "POST /feature_flags/unleash/:project_id/client/metrics",
    ],
    {
      before: async (ask) => {
        const { token } = await ask(`POST ${SITE}/feature_flags_client/reset_token`, {}, "owner");
        return { headers: { "unleash-instanceid": token, "unleash-appname": "production" } };
      },
    },
  ),
  "POST /projects/:id/repository/tags": { sent: { tag_name: "v2.0" } },
  "PUT /projects/:id/transfer": { sent: { namespace: "secret" } },
  "POST /groups/:id/transfer": { params: { id: "acme/team" } },
  ...each(
    ["POST /projects/:id/trigger/pipeline", "POST /projects/:id/ref/:ref*/trigger/pipeline"],
    {
      before: async (ask) => {
        const { token } = await ask(`POST ${SITE}/triggers`, { description: "nightly" });
        return { params: { ref: "pipelines" }, sent: { token, ref: "pipelines" } };
      },
    },
  ),
  ...each(
    [
      "POST /projects/:id/issues/:target_iid/todo",
      "POST /groups/:id/epics/:target_iid/todo",
      "POST /projects/:id/merge_requests/:target_iid/todo",
    ],
    {
      before: async (ask) => {
        await ask("POST /todos/mark_as_done");
        return undefined;
      },
    },
  ),
  "GET /jwt/auth": {
    as: "anonymous",
    sent: { service: "container_registry", scope: "repository:acme/site:pull" },
  },
  "GET /projects/:id/packages/go/:module_name*/@v/list": OF_MODULE,
  "GET /projects/:id/packages/go/:module_name*/@v/:module_version.info": OF_MODULE,
  "GET /projects/:id/packages/go/:module_name*/@v/:module_version.mod": OF_MODULE,
  "GET /projects/:id/packages/go/:module_name*/@v/:module_version.zip": OF_MODULE,
  "POST /:repository*/info/lfs/objects/batch": ofLfs({
    operation: "download",
    objects: [objectOf("object 0")],
  }),
  "GET /:repository*/gitlab-lfs/objects/:oid": ofLfs(),
  "PUT /:repository*/gitlab-lfs/objects/:oid/:size": ofLfs(
    {},
    { params: objectOf("A text"), text: "A text" },
  ),
  "GET /:repository*/info/lfs/locks": ofLfs(),
  "POST /:repository*/info/lfs/locks": ofLfs({ path: "images/logo.psd" }),
  "POST /:repository*/info/lfs/locks/verify": ofLfs({ limit: 100 }),
  "POST /:repository*/info/lfs/locks/:lock_id/unlock": ofLfs({ force: true }),
  "GET /v2": ofImages(),
  "GET /v2/:repository*/blobs/:digest": ofImages({ digest: digestOf("layer t0") }),
  "DELETE /v2/:repository*/blobs/:digest": ofImages(
    { digest: digestOf("{}") },
    { before: withBlob },
  ),
  "GET /v2/:repository*/blobs/uploads/:upload_id": ofImages({}, { before: withUpload }),
  "PATCH /v2/:repository*/blobs/uploads/:upload_id": ofImages({}, { before: withUpload }),
  "PUT /v2/:repository*/blobs/uploads/:upload_id": ofImages(
    {},
    { before: withUpload, sent: { digest: digestOf("A text") } },
  ),
  "DELETE /v2/:repository*/blobs/uploads/:upload_id": ofImages({}, { before: withUpload }),
  "PUT /v2/:repository*/manifests/:reference": ofImages(
    { reference: "1.0" },
    {
      before: withBlob,
      headers: { "Content-Type": IMAGE },
      text: JSON.stringify({
        schemaVersion: 2,
        config: { mediaType: "application/json", digest: digestOf("{}"), size: 2 },
        layers: [],
      }),
    },
  ),
  "DELETE /projects/:id/registry/repositories/:repository_id/tags": {
    sent: { name_regex_delete: "dev-.*", keep_n: 5, older_than: "7d" },
  },
  "POST /v2/:repository*/blobs/uploads": ofImages({}, { sent: { digest: digestOf("A text") } }),
  "GET /v2/:repository*/manifests/:reference": ofImages({ reference: "t0" }),
  "DELETE /v2/:repository*/manifests/:reference": ofImages({ reference: "t0" }),
  "GET /v2/:repository*/tags/list": ofImages(),
  "GET /v2/:repository*/referrers/:digest": ofImages({ digest: digestOf("layer t0") }),
  "POST /applications": { sent: { scopes: "api" } },
  [`POST ${SCIM}/Users`]: { sent: user("grace@example.com") },
  [`PUT ${SCIM}/Users/:uid`]: { sent: user("scim0@example.com") },
  [`PATCH ${SCIM}/Users/:uid`]: {
    sent: operations({ op: "replace", path: "active", value: false }),
  },
  [`POST ${SCIM}/Users/.search`]: { sent: searched },
  [`POST ${SCIM}/.search`]: { sent: searched },
};
