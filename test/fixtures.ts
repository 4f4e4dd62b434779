import { createHash } from "node:crypto";
import type { Route } from "../src/core/resource.ts";
import { NAMES } from "../src/resources/award-emoji/names.ts";
import type { Seed } from "../src/seed/input.ts";
import { lfs, objectOf, oidOf, put } from "./api/_lfs.ts";
import { document } from "./api/_npm.ts";
import { digestOf, pusher, pushImage } from "./api/_registry.ts";
import { providerOf, USER } from "./api/_scim.ts";
import { zipped } from "./api/_zip.ts";
import { resourceOf } from "./api/routes.ts";
import { baseSeed, type Person, sshKeyOf, type TestApp } from "./helpers.ts";
import { entry, Objects, push } from "./packs.ts";
import { gpgKeyOf } from "./pgp.ts";

// What the tests that are generated from the routes need of each resource. A new resource adds its entry here, and is
// covered by the access matrix, the lists and their query counts, random requests, worst shapes and lost access.

type Calls = Pick<TestApp, "admin" | "call">;
type GroupSeed = NonNullable<Seed["groups"]>[number];
type ProjectSeed = NonNullable<GroupSeed["projects"]>[number];

/** Finds the value of a path parameter; `:group`, `:project` and parameters found before are filled into its path. */
type Lookup = (app: Calls, fill: (path: string) => string) => Promise<string | number>;

/** What generated tests need of a resource. */
interface Fixture {
  /** Users with their records, added to the seed: as many as told of what is listed. */
  users?: (count: number) => NonNullable<Seed["users"]>;
  /** What a group has in the seed. */
  group?: (count: number) => Partial<GroupSeed>;
  /**
   * What a project has in the seed. Where callers see only their own records, as many are the owner's as the
   * administrator's.
   */
  project?: (count: number) => Partial<ProjectSeed>;
  /** Creates what a seed can't contain. */
  create?: (app: Calls, count: number) => Promise<void>;
  /**
   * The values of its path parameters, by name. Segments before the name limit it to paths that contain them:
   * `"merge_requests note_id"`; what names most of them is used.
   */
  params?: Record<string, Lookup>;
}

/**
 * The first record of a list; 0 if there is none.
 *
 * @param key the attribute that stands in paths
 * @param preferred an attribute's value of the record to take, if there is such a one
 */
const listed =
  (path: string, key = "id", preferred: Record<string, string> = {}): Lookup =>
  async (app, fill) => {
    const { status, json } = await app.call(`GET ${fill(path)}`, { as: "admin" });
    // The list of a record that a test's own seed does not have.
    if (status === 404) return 0;
    const wanted = Object.entries(preferred);
    const found = json.find((one: Record<string, unknown>) =>
      wanted.every(([name, value]) => one[name] === value),
    );
    return (found ?? json[0])?.[key] ?? 0;
  };

const FIRST_INCIDENT = listed("/projects/:project/issues?issue_type=incident", "iid");

/** A token of the first service account that is listed; 0 if there is none. */
const tokenOfFirst =
  (place: string): Lookup =>
  async (app, fill) => {
    const of = `${fill(place)}/service_accounts`;
    const accounts = await app.call(`GET ${of}`, { as: "admin" });
    const [first] = accounts.status === 404 ? [] : accounts.json;
    if (!first) return 0;
    return listed(`${of}/${first.id}/personal_access_tokens`)(app, fill);
  };

const always =
  (value: string | number): Lookup =>
  async () =>
    value;

const numbered = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Callers whose own records are listed. */
const AUTHORS = ["owner", "admin"] as const;
const byAuthors = <T>(count: number, make: (author: string, index: number) => T): T[] =>
  AUTHORS.flatMap((author) => numbered(count, (index) => make(author, index)));

async function post(app: Calls, path: string, as: Person, json: object): Promise<void> {
  const { status, text } = await app.call(`POST ${path}`, { as, json });
  if (status !== 201) throw new Error(`the fixture's POST ${path}: ${status} ${text}`);
}

/** A file of a Maven package. */
const JAR = "acme/site/thing/1.0/thing-1.0.jar";
/** A chart of Helm, `thing` 1.0.0, whose only file is Chart.yaml. */
export const CHART = Buffer.from(
  "H4sIAAAAAAACAyvJyMxL13fOSCwq0atMzM1hoAEwAAIzExMwDQTotIGBqRGCDRI3NARRCgYMdAClxSWJRUDrGUYmSCzIDEstKs7Mz7NSKDPiykvMTbVSKAElCq4ymLihnoGeARfDKBgFo2AUjIJhBAA3Sk47AAgAAA==",
  "base64",
);
/** A package of NuGet, `Acme.Thing` 1.0.0, whose only file is its .nuspec. */
export const NUPKG = zipped({
  "Acme.Thing.nuspec":
    "<package><metadata><id>Acme.Thing</id><version>1.0.0</version></metadata></package>",
});
const PROJECT = "/projects/acme%2Fsite";
/** How a picture begins. */
const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Who a rule about branches or tags lets do something: maintainers and a user. */
async function grants(app: Calls): Promise<object[]> {
  const { json } = await app.call("GET /users?username=developer", { as: "admin" });
  return [{ access_level: 40 }, { user_id: json[0].id }];
}

const labels = (count: number) => numbered(count, (index) => ({ name: `label ${index}` }));
const badges = (count: number) =>
  numbered(count, () => ({ link_url: "https://a.test", image_url: "https://a.test/b.svg" }));
const wikiOf = (count: number) => ({
  wiki: numbered(count, (index) => ({
    title: ["home", "docs/page"][index] ?? `page ${index}`,
    content: "Welcome",
  })),
  wiki_attachments: [{ folder: "0".repeat(32), file_name: "a.txt", content: "Text" }],
});
const boards = (count: number) =>
  numbered(count, (index) => ({
    name: `board ${index}`,
    lists: index === 0 ? labels(count).map(({ name }) => name) : ["UX"],
  }));
const awardEmoji = (count: number) =>
  Object.fromEntries([...NAMES].slice(0, count).map((name) => [name, ["owner"]]));

/** Discussions, of which the first is a thread, with emoji on its first note. */
const discussed = (count: number) => ({
  award_emoji: awardEmoji(count),
  notes: numbered(count, (at) => ({
    author: "guest",
    body: "So?",
    ...(at === 0 && {
      award_emoji: awardEmoji(count),
      replies: numbered(count, () => ({ author: "owner", body: "So." })),
    }),
  })),
});

/** Issues and merge requests: the first has the participants, notes and emoji, and all of them todos. */
const issuables = (count: number) =>
  ["of the group", "of the project"].flatMap((milestone, first) =>
    byAuthors(count, (author, index) => {
      const isFirst = first + index === 0 && author === AUTHORS[0];
      return {
        title: "An issue",
        author,
        labels: ["UX"],
        assignees: ["guest", ...(isFirst ? numbered(count, (at) => `member${at}`) : [])],
        milestone,
        todos: [...AUTHORS],
        ...(isFirst && discussed(count)),
      };
    }),
  );

const variables = (count: number) =>
  numbered(count, (index) => ({ key: `KEY_${index}`, value: "a value" }));

const deployments = (count: number) =>
  numbered(count, () => ({ user: "owner", ref: "main", sha: "a".repeat(40) }));

const COMMIT_DISCUSSIONS = "/projects/:project/repository/commits/:sha/discussions";
const DISCUSSED_SNIPPET = "/projects/:project/snippets";

/** The newest entry in the log of the first hook of a list. */
async function ofHook(app: Calls, fill: (path: string) => string, path: string) {
  const hook = await listed(path)(app, fill);
  return hook === 0 ? 0 : listed(`${path}/${hook}/events`)(app, fill);
}

/** The first record of a list below the snippet with notes and emoji. */
const ofSnippet =
  (path: string): Lookup =>
  async (app, fill) => {
    const snippet = await listed(DISCUSSED_SNIPPET)(app, fill);
    return listed(`${DISCUSSED_SNIPPET}/${snippet}/${path}`)(app, fill);
  };

/**
 * Pushes a repository with as many files, commits on `main`, branches `feature…` at one commit, and tags.
 *
 * @param text what its texts say
 */
export async function pushRepository(
  app: Calls,
  project: string,
  count: number,
  text = "A text",
): Promise<void> {
  const objects = new Objects();
  const files = numbered(count, (index) => {
    const name = `file-${String(index).padStart(4, "0")}`;
    return entry("100644", name, objects.add("blob", `${text}, ${index}\n`));
  });
  const tree = objects.add("tree", Buffer.concat(files));
  const docs = objects.add("tree", Buffer.concat([entry("40000", "docs", tree), ...files]));
  const first = objects.commit(docs, [], { message: text });
  const signature = "-----BEGIN PGP SIGNATURE-----\n\nwsBz\n-----END PGP SIGNATURE-----";
  const feature = objects.commit(tree, [first], { message: text, time: 1_700_000_001, signature });
  let main = first;
  for (const index of numbered(count, (at) => at)) {
    const time = 1_700_000_001 + index;
    main = objects.commit(docs, [main], { message: `${text}\n`, author: `Ada${index}`, time });
  }
  const tag = `object ${main.toString("hex")}\ntype commit\ntag t\ntagger A <a@b> 1700000000 +0000\n\n`;
  // One more: the merge request of the first one may be closed.
  const refs = numbered(count + 1, (index) => {
    const annotated = `${tag}${text} ${index}\n`;
    return [
      [`refs/heads/feature${index === 0 ? "" : `-${index}`}`, feature],
      [`refs/tags/t${index}`, index % 2 === 0 ? main : objects.add("tag", annotated)],
    ] as const;
  }).flat();
  const all = { "refs/heads/main": main, ...Object.fromEntries(refs) };
  const answer = await push(app, project, objects.pack, all);
  if (!answer.includes("unpack ok")) throw new Error(`the fixture's push: ${answer}`);
}

/** By the names of the resources. Order matters: a lookup may use parameters found before. */
const FIXTURES: Record<string, Fixture> = {
  "Pages of groups and projects": {
    params: {
      place: always("main"),
      range: always("main...feature"),
      iid: always(1),
      iteration_id: always(1),
    },
  },
  "Pages of the site": { params: { username: always("owner") } },
  Groups: {
    group: (count) => ({ subgroups: numbered(count, (index) => ({ path: `g${index}` })) }),
  },
  Namespaces: {
    params: {
      namespace_id: listed("/namespaces?search=acme"),
      "namespaces path": always("acme"),
    },
  },
  Projects: {
    users: (count) => numbered(count, (index) => ({ username: `starrer${index}` })),
    project: (count) => ({ starred_by: numbered(count, (index) => `starrer${index}`) }),
    group: (count) => ({ projects: numbered(count, (index) => ({ path: `p${index}` })) }),
    create: async (app, count) => {
      for (const [at, as] of byAuthors(count, (author, index) => [index, author] as const)) {
        const name = `${as}-${at}`;
        await post(app, `${PROJECT}/fork`, as as Person, { name, path: name });
        await post(app, `/projects/${as}%2F${name}/star`, "owner", {});
      }
    },
    params: { forked_from_id: listed("/projects?search=core") },
  },
  "Protected branches": {
    create: async (app, count) => {
      for (const name of numbered(count, (at) => `branch${at}`)) {
        const allowed_to_push = await grants(app);
        await post(app, `${PROJECT}/protected_branches`, "owner", { name, allowed_to_push });
        await post(app, "/groups/acme/protected_branches", "owner", { name: `of-group/${name}` });
      }
    },
    params: {
      "protected_branches name": listed("/projects/:project/protected_branches", "name"),
      "groups protected_branches name": listed("/groups/:group/protected_branches", "name"),
    },
  },
  "Protected tags": {
    create: async (app, count) => {
      for (const name of numbered(count, (at) => `tag${at}`)) {
        const allowed_to_create = await grants(app);
        await post(app, `${PROJECT}/protected_tags`, "owner", { name, allowed_to_create });
      }
    },
    params: { "protected_tags name": listed("/projects/:project/protected_tags", "name") },
  },
  "Deploy keys": {
    create: async (app, count) => {
      for (const at of numbered(count, (index) => 1000 + index)) {
        const json = { title: "a key", key: sshKeyOf(at) };
        await post(app, `${PROJECT}/deploy_keys`, "owner", { ...json, can_push: at % 2 === 0 });
      }
    },
    params: { "deploy_keys key_id": listed("/projects/:project/deploy_keys") },
  },
  "E-mail addresses": {
    create: async (app, count) => {
      for (const [as, at] of byAuthors(count, (author, index) => [author, index] as const)) {
        await post(app, "/user/emails", as as Person, { email: `${as}${at}@further.example` });
      }
    },
    params: { email_id: listed("/user/emails") },
  },
  Invitations: {
    create: async (app, count) => {
      for (const at of ["/groups/acme", PROJECT]) {
        for (const email of numbered(count, (index) => `nobody${index}@invited.example`)) {
          await post(app, `${at}/invitations`, "owner", { email, access_level: 10 });
        }
      }
    },
    params: { "invitations email": always("nobody0@invited.example") },
  },
  Features: {
    create: async (app, count) => {
      for (let number = 1; number <= count; number += 1) {
        await post(app, `/features/feature_${number}`, "admin", { value: "true" });
      }
    },
    params: { "features name": always("feature_1") },
  },
  Absent: { params: { subject_digest: always("a".repeat(64)) } },
  Accounts: { params: { "identities provider": always("ldap") } },
  "Metric images": {
    create: async (app, count) => {
      const path = `${PROJECT}/issues`;
      const incident = { title: "Down", issue_type: "incident" };
      const { json } = await app.call(`POST ${path}`, { as: "owner", json: incident });
      for (let made = 0; made < count; made += 1) {
        const body = new FormData();
        body.append("file", new Blob([PNG]), "load.png");
        await app.call(`POST ${path}/${json.iid}/metric_images`, { as: "owner", body });
      }
    },
    params: {
      "metric_images issue_iid": FIRST_INCIDENT,
      metric_image_id: async (app, fill) => {
        const incident = await FIRST_INCIDENT(app, fill);
        return listed(`/projects/:project/issues/${incident}/metric_images`)(app, fill);
      },
    },
  },
  "Secure files": {
    create: async (app, count) => {
      for (const name of numbered(count, (at) => `key ${at}`)) {
        const body = new FormData();
        body.append("name", name);
        body.append("file", new Blob(["key"]), "key.pem");
        await app.call(`POST ${PROJECT}/secure_files`, { as: "owner", body });
      }
    },
    params: { secure_file_id: listed("/projects/:project/secure_files") },
  },
  Sites: {
    create: async (app, count) => {
      for (const domain of numbered(count, (at) => `www${at}.example.com`)) {
        await post(app, `${PROJECT}/pages/domains`, "owner", { domain });
      }
    },
    params: { domain: listed("/projects/:project/pages/domains", "domain") },
  },
  "Protection rules": {
    create: async (app, count) => {
      for (const name of numbered(count, (at) => `acme/site/rule-${at}`)) {
        const level = { minimum_access_level_for_push: "maintainer" };
        const json = { package_name_pattern: name, package_type: "npm", ...level };
        await post(app, `${PROJECT}/packages/protection/rules`, "owner", json);
        const other = { repository_path_pattern: name, ...level };
        await post(app, `${PROJECT}/registry/protection/repository/rules`, "owner", other);
      }
    },
    params: {
      "packages rule_id": listed("/projects/:project/packages/protection/rules"),
      "registry rule_id": listed("/projects/:project/registry/protection/repository/rules"),
    },
  },
  "Container registry": {
    create: async (app, count) => {
      for (const at of numbered(count, (index) => index)) {
        const name = `acme/site/image-${at}`;
        const client = await pusher(app, name, "owner");
        for (const tag of at === 0 ? numbered(count, (index) => `t${index}`) : ["t0"]) {
          await pushImage(client, name, tag);
        }
      }
    },
    params: {
      repository_id: listed("/projects/:project/registry/repositories"),
      "registry tag_name": always("t0"),
    },
  },
  "Container images": {
    params: {
      "v2 repository": always("acme/site/image-0"),
      reference: always("t0"),
      digest: always(digestOf("layer t0")),
      upload_id: always("no-upload"),
    },
  },
  "Project aliases": {
    create: async (app, count) => {
      for (const name of numbered(count, (at) => `alias${at}`)) {
        await post(app, "/project_aliases", "admin", { name, project_id: "acme/site" });
      }
    },
    params: { "project_aliases name": listed("/project_aliases", "name") },
  },
  "Member roles": {
    create: async (app, count) => {
      for (const name of numbered(count, (at) => `role ${at}`)) {
        const json = { name, base_access_level: 10, read_code: true };
        await post(app, "/member_roles", "admin", json);
        await post(app, "/groups/acme/member_roles", "owner", json);
      }
    },
    params: {
      "member_roles member_role_id": listed("/member_roles"),
      "groups member_roles member_role_id": listed("/groups/:group/member_roles"),
    },
  },
  // They take another server: test/api/bulk-imports.test.ts has one.
  "Imports from other servers": {
    params: { import_id: async () => 1, entity_id: async () => 1 },
  },
  "Imports from GitHub": {},
  "Broadcast messages": {
    create: async (app, count) => {
      for (const message of numbered(count, (at) => `message ${at}`)) {
        await post(app, "/broadcast_messages", "admin", { message });
      }
    },
    params: { message_id: listed("/broadcast_messages") },
  },
  "Project topics": {
    create: async (app, count) => {
      for (const name of numbered(count, (at) => `topic ${at}`)) {
        await post(app, "/topics", "admin", { name, title: name });
      }
    },
    params: { "topics topic_id": listed("/topics"), "topic topic_id": listed("/topics") },
  },
  "Deploy tokens": {
    create: async (app, count) => {
      for (const at of ["/groups/acme", PROJECT]) {
        for (const name of numbered(count, (index) => `token ${index}`)) {
          await post(app, `${at}/deploy_tokens`, "owner", { name, scopes: ["read_repository"] });
        }
      }
    },
    params: {
      "groups deploy_tokens token_id": listed("/groups/:group/deploy_tokens"),
      "projects deploy_tokens token_id": listed("/projects/:project/deploy_tokens"),
    },
  },
  Users: {
    params: { user_id: listed("/users?username=owner") },
  },
  "SSH keys": {
    create: async (app, count) => {
      for (const [at, as] of byAuthors(count, (author) => author as Person).entries()) {
        await post(app, "/user/keys", as, { title: "a key", key: sshKeyOf(at) });
      }
    },
    params: {
      key_id: listed("/user/keys"),
      "users key_id": listed("/users/:user_id/keys"),
    },
  },
  "GPG keys": {
    create: async (app, count) => {
      for (const [at, as] of byAuthors(count, (author) => author as Person).entries()) {
        await post(app, "/user/gpg_keys", as, { key: gpgKeyOf(at) });
      }
    },
    params: {
      gpg_key_id: listed("/user/gpg_keys"),
      "users gpg_key_id": listed("/users/:user_id/gpg_keys"),
    },
  },
  "Custom attributes": {
    create: async (app, count) => {
      const users = await app.call("GET /users?username=owner", { as: "admin" });
      for (const at of ["/groups/acme", "/projects/acme%2Fsite", `/users/${users.json[0].id}`]) {
        for (const key of numbered(count, (index) => `team-${index}`)) {
          const json = { value: "a value" };
          await app.call(`PUT ${at}/custom_attributes/${key}`, { as: "admin", json });
        }
      }
    },
    params: { "custom_attributes key": always("team-0") },
  },
  "Service accounts": {
    create: async (app, count) => {
      for (const [at, prefix] of [
        ["/groups/acme", "acme"],
        ["/projects/acme%2Fsite", "site"],
      ]) {
        const of = `${at}/service_accounts`;
        let newest = 0;
        for (const name of numbered(count, (index) => `robot ${index}`)) {
          const robot = { name, username: `${prefix}-${name.replace(" ", "-")}` };
          const { json } = await app.call(`POST ${of}`, { as: "owner", json: robot });
          newest = json.id;
        }
        for (const name of numbered(count, (index) => `token ${index}`)) {
          const json = { name, scopes: ["read_api"] };
          await post(app, `${of}/${newest}/personal_access_tokens`, "owner", json);
        }
      }
    },
    params: {
      "service_accounts user_id": listed("/service_accounts"),
      "groups service_accounts user_id": listed("/groups/:group/service_accounts"),
      "projects service_accounts user_id": listed("/projects/:project/service_accounts"),
      "groups service_accounts token_id": tokenOfFirst("/groups/:group"),
      "projects service_accounts token_id": tokenOfFirst("/projects/:project"),
    },
  },
  "Access requests": {
    users: (count) =>
      numbered(count, (index) => {
        const username = `asking${index}`;
        return { username, tokens: [{ token: `token-of-${username}`, scopes: ["api"] }] };
      }),
    create: async (app, count) => {
      for (const username of numbered(count, (index) => `asking${index}`)) {
        for (const path of ["/groups/acme", PROJECT]) {
          await post(app, `${path}/access_requests`, username as Person, {});
        }
      }
    },
    params: { "access_requests user_id": listed("/users?username=asking0") },
  },
  "User follows": {
    create: async (app, count) => {
      const idOf = async (username: string): Promise<number> =>
        (await app.call(`GET /users?username=${username}`, { as: "admin" })).json[0].id;
      const owner = await idOf("owner");
      for (const username of numbered(count, (index) => `asking${index}`)) {
        await post(app, `/users/${owner}/follow`, username as Person, {});
        await post(app, `/users/${await idOf(username)}/follow`, "owner", {});
      }
    },
  },
  "Group and project access tokens": {
    create: async (app, count) => {
      for (const name of numbered(count, (index) => `token ${index}`)) {
        for (const path of ["/groups/acme", PROJECT]) {
          await post(app, `${path}/access_tokens`, "owner", { name, scopes: ["api"] });
        }
      }
    },
    params: {
      "groups access_tokens token_id": listed("/groups/:group/access_tokens"),
      "projects access_tokens token_id": listed("/projects/:project/access_tokens"),
    },
  },
  Members: {
    users: (count) => numbered(count, (index) => ({ username: `member${index}` })),
    group: (count) => ({ members: guests(count) }),
    project: (count) => ({ members: guests(count) }),
    params: {
      "members user_id": listed("/users?username=member0"),
      "billable_members user_id": listed("/users?username=maintainer"),
    },
  },
  Labels: {
    group: (count) => ({ labels: labels(count) }),
    project: (count) => ({ labels: labels(count) }),
    params: {
      label_id: listed("/groups/:group/labels"),
      "projects label_id": listed("/projects/:project/labels?include_ancestor_groups=false"),
    },
  },
  Iterations: {
    group: (count) => ({
      iteration_cadences: [
        {
          title: "Weeks",
          iterations: numbered(count, (index) => ({
            title: `week ${index}`,
            start_date: dayAfter(7 * index),
            due_date: dayAfter(7 * index + 6),
          })),
        },
      ],
    }),
  },
  Milestones: {
    group: (count) => ({ milestones: milestones(count, "of the group") }),
    project: (count) => ({ milestones: milestones(count, "of the project") }),
    params: {
      milestone_id: listed("/groups/:group/milestones?per_page=100", "id", {
        title: "of the group",
      }),
      "projects milestone_id": listed("/projects/:project/milestones?per_page=100", "id", {
        title: "of the project",
      }),
    },
  },
  Badges: {
    group: (count) => ({ badges: badges(count) }),
    project: (count) => ({ badges: badges(count) }),
    params: {
      badge_id: listed("/groups/:group/badges"),
      "projects badge_id": listed("/projects/:project/badges?per_page=100", "id", {
        kind: "project",
      }),
    },
  },
  "CI variables": {
    group: (count) => ({ variables: variables(count) }),
    project: (count) => ({ variables: variables(count) }),
    create: async (app, count) => {
      for (const json of variables(count)) await post(app, "/admin/ci/variables", "admin", json);
    },
    params: { "variables key": always("KEY_0") },
  },
  Environments: {
    project: (count) => ({
      environments: numbered(count, (index) => ({
        name: `review/${index}`,
        ...(index === 0 && { deployments: deployments(count) }),
      })),
    }),
    params: { environment_id: listed("/projects/:project/environments") },
  },
  Deployments: {
    params: { deployment_id: listed("/projects/:project/deployments") },
  },
  Transfers: {
    create: async (app, count) => {
      for (const path of numbered(count, (index) => `to-${index}`)) {
        await post(app, "/groups", "owner", { name: path, path });
      }
    },
    params: { "groups project_id": listed("/projects?search=core") },
  },
  Sharing: {
    // Groups are invited to the group and the project, and the group to what others have.
    create: async (app, count) => {
      const { json: acme } = await app.call("GET /groups/acme", { as: "owner" });
      for (const path of numbered(count, (index) => `sharing-${index}`)) {
        const json = { name: path, path, visibility: "public" };
        const { json: made } = await app.call("POST /groups", { as: "owner", json });
        const project = { path, namespace_id: made.id, visibility: "public" };
        await post(app, "/projects", "owner", project);
        for (const [place, group_id] of [
          ["/groups/acme", made.id],
          [PROJECT, made.id],
          [`/groups/${path}`, acme.id],
          [`/projects/${path}%2F${path}`, acme.id],
        ]) {
          await post(app, `${place}/share`, "owner", { group_id, group_access: 10 });
        }
      }
    },
    params: { "share group_id": listed("/groups?search=sharing-0") },
  },
  "Issue boards": {
    group: (count) => ({ boards: boards(count) }),
    project: (count) => ({ boards: boards(count) }),
    params: {
      board_id: listed("/groups/:group/boards?per_page=100", "id", { name: "board 0" }),
      list_id: listed("/groups/:group/boards/:board_id/lists"),
      "projects board_id": listed("/projects/:project/boards?per_page=100", "id", {
        name: "board 0",
      }),
      "projects list_id": async (app, fill) => {
        const board = "/projects/:project/boards?per_page=100";
        const id = await listed(board, "id", { name: "board 0" })(app, fill);
        return listed(`/projects/:project/boards/${id}/lists`)(app, fill);
      },
    },
  },
  "Epic boards": {
    group: (count) => ({ epic_boards: boards(count) }),
    params: {
      "epic_boards board_id": listed("/groups/:group/epic_boards?per_page=100", "id", {
        name: "board 0",
      }),
      "epic_boards list_id": async (app, fill) => {
        const at = "/groups/:group/epic_boards";
        const id = await listed(`${at}?per_page=100`, "id", { name: "board 0" })(app, fill);
        return listed(`${at}/${id}/lists`)(app, fill);
      },
    },
  },
  Issues: {
    project: (count) => ({
      issues: issuables(count).map((issue) => ({ ...issue, iteration: "week 0" })),
    }),
    params: {
      issue_iid: listed("/projects/:project/issues?sort=asc", "iid"),
      issue_id: listed("/projects/:project/issues?sort=asc"),
    },
  },
  Epics: {
    group: (count) => ({
      epics: byAuthors(count, (author, index) => ({
        title: "An epic",
        author,
        labels: ["UX"],
        todos: [...AUTHORS],
        // The first has as many epics and issues below it.
        ...((index > 0 || author !== AUTHORS[0]) && { parent: 1 }),
        ...(index === 0 &&
          author === AUTHORS[0] && {
            issues: numbered(count, (at) => `acme/site#${at + 1}`),
          }),
        ...(index === 0 && author === AUTHORS[0] && discussed(count)),
      })),
    }),
    create: async (app, count) => {
      for (const iid of numbered(count, (at) => at + 2)) {
        const other = { target_group_id: "acme", target_epic_iid: iid };
        await post(app, "/groups/acme/epics/1/related_epics", "owner", other);
      }
    },
    params: {
      epic_iid: listed("/groups/:group/epics?sort=asc", "iid"),
      related_epic_link_id: listed("/groups/:group/related_epic_links"),
      epic_issue_id: listed("/groups/:group/epics/:epic_iid/issues", "epic_issue_id"),
      child_epic_id: listed("/groups/:group/epics/:epic_iid/epics"),
      "epics issue_id": listed("/projects/:project/issues?sort=asc"),
    },
  },
  "Issue links": {
    project: (count) => ({
      issue_links: numbered(count, (index) => ({ source: 1, target: index + 2 })),
    }),
    params: {
      issue_link_id: listed("/projects/:project/issues/:issue_iid/links", "issue_link_id"),
    },
  },
  "Merge requests": {
    project: (count) => ({
      merge_requests: issuables(count).map((request, index) => ({
        ...request,
        // The first closes as many issues, and as many close the first issue.
        description:
          index === 0 ? numbered(count, (at) => `Closes #${at + 1}`).join("\n") : "Closes #1",
        source_branch: index === 0 ? "feature" : `feature-${index}`,
      })),
    }),
    params: {
      merge_request_iid: listed("/projects/:project/merge_requests?sort=asc", "iid"),
      version_id: listed("/projects/:project/merge_requests/:merge_request_iid/versions"),
    },
  },
  Reviewers: {
    create: async (app, count) => {
      const usernames = ["owner", ...numbered(count, (index) => `member${index}`)];
      const { json } = await app.call("GET /users?per_page=100&search=m", {
        as: "admin",
      });
      const among = json.filter(({ username }: { username: string }) =>
        usernames.includes(username),
      );
      const reviewer_ids = among.map(({ id }: { id: number }) => id);
      await app.call(`PUT ${PROJECT}/merge_requests/1`, { as: "owner", json: { reviewer_ids } });
    },
  },
  "Merge request approvals": {
    create: async (app, count) => {
      for (const path of [PROJECT, `${PROJECT}/merge_requests/1`, "/groups/acme"]) {
        for (const name of numbered(count, (index) => `rule ${index}`)) {
          const approvers = { usernames: ["owner", ...numbered(count, (at) => `member${at}`)] };
          await post(app, `${path}/approval_rules`, "owner", {
            name,
            approvals_required: 0,
            ...approvers,
          });
        }
      }
    },
    params: {
      approval_rule_id: listed("/projects/:project/approval_rules"),
      "groups approval_rule_id": listed("/groups/:group/approval_rules"),
      "merge_requests approval_rule_id": listed(
        "/projects/:project/merge_requests/:merge_request_iid/approval_rules",
      ),
    },
  },
  Notes: {
    params: {
      noteable_id: listed("/projects/:project/issues?sort=asc", "iid"),
      "epics noteable_id": listed("/groups/:group/epics?sort=asc", "iid"),
      "epics note_id": listed("/groups/:group/epics/:epic_iid/notes?sort=asc"),
      "merge_requests noteable_id": listed("/projects/:project/merge_requests?sort=asc", "iid"),
      "snippets noteable_id": listed(DISCUSSED_SNIPPET),
      note_id: listed("/projects/:project/issues/:issue_iid/notes?sort=asc"),
      "merge_requests note_id": listed(
        "/projects/:project/merge_requests/:merge_request_iid/notes?sort=asc",
      ),
      "snippets note_id": ofSnippet("notes?sort=asc"),
    },
  },
  Discussions: {
    params: {
      discussion_id: listed("/projects/:project/issues/:issue_iid/discussions"),
      "epics discussion_id": listed("/groups/:group/epics/:epic_iid/discussions"),
      "merge_requests discussion_id": listed(
        "/projects/:project/merge_requests/:merge_request_iid/discussions",
      ),
      "snippets discussion_id": ofSnippet("discussions"),
    },
  },
  "Draft notes": {
    create: async (app, count) => {
      const path = `${PROJECT}/merge_requests/1/draft_notes`;
      for (const as of byAuthors(count, (author) => author as Person)) {
        await post(app, path, as, { note: "A draft" });
      }
    },
    params: {
      draft_note_id: listed("/projects/:project/merge_requests/:merge_request_iid/draft_notes"),
    },
  },
  "Award emoji": {
    params: {
      award_id: listed("/projects/:project/issues/:issue_iid/award_emoji"),
      "merge_requests award_id": listed(
        "/projects/:project/merge_requests/:merge_request_iid/award_emoji",
      ),
      "epics award_id": listed("/groups/:group/epics/:epic_iid/award_emoji"),
      "epics notes award_id": async (app, fill) => {
        const epic = fill("/groups/:group/epics/:epic_iid");
        const note = await listed(`${epic}/notes?sort=asc`)(app, fill);
        return listed(`${epic}/notes/${note}/award_emoji`)(app, fill);
      },
      "notes award_id": listed("/projects/:project/issues/:issue_iid/notes/:note_id/award_emoji"),
      "merge_requests notes award_id": async (app, fill) => {
        const request = fill("/projects/:project/merge_requests/:merge_request_iid");
        const note = await listed(`${request}/notes?sort=asc`)(app, fill);
        return listed(`${request}/notes/${note}/award_emoji`)(app, fill);
      },
      "snippets award_id": ofSnippet("award_emoji"),
      "snippets notes award_id": async (app, fill) => {
        const note = await ofSnippet("notes?sort=asc")(app, fill);
        return ofSnippet(`notes/${note}/award_emoji`)(app, fill);
      },
    },
  },
  Todos: {
    params: {
      todo_id: listed("/todos"),
      target_iid: listed("/projects/:project/issues?sort=asc", "iid"),
      "epics target_iid": listed("/groups/:group/epics?sort=asc", "iid"),
      "merge_requests target_iid": listed("/projects/:project/merge_requests?sort=asc", "iid"),
    },
  },
  "Resource events": {
    create: async (app, count) => {
      const { json } = await app.call(`GET ${PROJECT}/milestones`, { as: "owner" });
      const places = ["issues/1", "merge_requests/1"].map((path) => `${PROJECT}/${path}`);
      for (const place of [...places, "/groups/acme/epics/1"]) {
        const put = (change: object) => app.call(`PUT ${place}`, { as: "owner", json: change });
        await put({ add_labels: labels(count).map(({ name }) => name) });
        for (let at = 0; at < count; at += 1) {
          const closes = at % 2 === 0;
          await put({
            state_event: closes ? "close" : "reopen",
            milestone_id: closes ? null : json[0].id,
            ...(place.endsWith("issues/1") && { weight: at }),
          });
        }
      }
      const { json: weeks } = await app.call(`GET ${PROJECT}/iterations`, { as: "owner" });
      for (const at of numbered(count, (index) => index)) {
        const iterationId = at % 2 === 0 ? null : `gid://gitlab/Iteration/${weeks[0].id}`;
        await app.call("POST /api/graphql", {
          as: "owner",
          json: {
            query: `mutation ($input: IssueSetIterationInput!) { issueSetIteration(input: $input) { errors } }`,
            variables: { input: { projectPath: "acme/site", iid: "1", iterationId } },
          },
        });
      }
    },
    params: Object.fromEntries(
      [
        "projects/:project/issues/:issue_iid",
        "projects/:project/merge_requests/:merge_request_iid",
        "groups/:group/epics/:epic_iid",
      ].flatMap((issuable) => {
        const kinds = ["label", "milestone", "state"];
        if (issuable.includes("/issues/")) kinds.push("iteration", "weight");
        return kinds.map((kind) => [
          `${issuable.split("/")[2]} resource_${kind}_events event_id`,
          listed(`/${issuable}/resource_${kind}_events`),
        ]);
      }),
    ),
  },
  "SCIM tokens and identities": {
    create: async (app, count) => {
      for (let at = 0; at < count; at += 1) {
        const provider = await providerOf(app);
        await provider.add({ userName: `scim${at}@example.com` });
      }
    },
    params: {
      scim_token_id: listed("/groups/:group/scim_tokens"),
      uid: listed("/groups/:group/scim/identities"),
    },
  },
  SCIM: {
    params: {
      group_path: async (_, fill) => decodeURIComponent(fill(":group")),
      "ResourceTypes name": always("User"),
      "Schemas name": always(USER),
    },
  },
  Events: {
    project: (count) => ({
      pushes: byAuthors(count, (author) => ({ author, ref: "feature", commit_to: "a".repeat(40) })),
    }),
  },
  Wikis: {
    project: wikiOf,
    group: wikiOf,
    params: {
      slug: listed("/projects/:project/wikis", "slug"),
      secret: always("0".repeat(32)),
      file_name: always("a.txt"),
    },
  },
  Snippets: {
    project: (count) => ({
      snippets: byAuthors(count, (author, index) => ({
        title: "s",
        file_name: "s",
        content: "s",
        files: { "t/u": "u" },
        author,
        visibility: "public",
        // The newest one, which lists have first.
        ...(author === AUTHORS.at(-1) && index === count - 1 && discussed(count)),
      })),
    }),
    create: async (app, count) => {
      const files = ["s", "t/u"].map((file_path) => ({ file_path, content: "u" }));
      const json = { title: "s", files, visibility: "public" };
      for (const as of byAuthors(count, (author) => author as Person)) {
        await post(app, "/snippets", as, json);
      }
    },
    params: {
      snippet_id: listed("/snippets"),
      "projects snippet_id": listed(DISCUSSED_SNIPPET),
      ref: always("main"),
      "snippets file_path": always("t/u"),
    },
  },
  Dependencies: {
    project: (count) => ({
      dependencies: numbered(count, (index) => ({
        name: `package-${index}`,
        version: "1.0.0",
        package_manager: "npm",
        dependency_file_path: "package-lock.json",
      })),
    }),
    params: {
      export_id: async (app, fill) => {
        const path = `POST ${fill("/projects/:project")}/dependency_list_exports`;
        return (await app.call(path, { as: "admin" })).json?.id ?? 0;
      },
    },
  },
  "Personal access tokens": {
    create: async (app, count) => {
      for (const user of byAuthors(count, (author) => author)) {
        await app.admin.tokens.create({ user, name: "a token", scopes: ["api"] });
      }
    },
    params: { token_id: listed("/personal_access_tokens", "id", { name: "a token" }) },
  },
  "Impersonation tokens": {
    create: async (app, count) => {
      const { json } = await app.call("GET /users?username=owner", { as: "admin" });
      const path = `/users/${json[0].id}/impersonation_tokens`;
      for (let at = 0; at < count; at += 1) {
        await post(app, path, "admin", { name: "a token", scopes: ["api"] });
      }
    },
    params: { "users token_id": listed("/users/:user_id/impersonation_tokens") },
  },
  Applications: {
    create: async (app, count) => {
      const application = { redirect_uris: ["https://a.test/"], scopes: ["api"] };
      for (let at = 0; at < count; at += 1) {
        await app.admin.applications.create({ user: "owner", name: `a${at}`, ...application });
      }
    },
    params: { application_id: listed("/applications") },
  },
  Topics: {
    create: async (app, count) => {
      for (const path of ["/groups/acme", PROJECT]) {
        for (const name of numbered(count, (index) => `topic ${index}`)) {
          await post(app, `${path}/topics`, "owner", { name, description: "All of them" });
        }
        const { json } = await app.call(`GET ${path}/topics`, { as: "owner" });
        const picture = { as: "owner", body: "a picture" } as const;
        await app.call(`PUT ${path}/topics/${json[0].id}/picture`, picture);
        await app.call(`PUT ${path}/topics/${json[0].id}/file`, picture);
        await app.call(`PUT ${path}/topics/${json[0].id}/file`, picture);
      }
    },
    params: {
      "groups topics topic_id": listed("/groups/:group/topics"),
      "projects topics topic_id": listed("/projects/:project/topics"),
    },
  },
  Repositories: {
    create: (app, count) => pushRepository(app, "acme/site", count),
    params: {
      "blobs sha": async (app, fill) => {
        const path = fill("/projects/:project/repository/tree?path=docs");
        const { json } = await app.call(`GET ${path}`, { as: "admin" });
        return json[0]?.id ?? "0".repeat(40);
      },
      format: always("tar.gz"),
      submodule: always("lib"),
    },
  },
  "Repository files": { params: { file_path: always("file-0000") } },
  Branches: {
    // Each push gives the first merge request a version, a commit and a changed file.
    create: async (app, count) => {
      const request = `PUT ${PROJECT}/merge_requests/1`;
      await app.call(request, { as: "owner", json: { state_event: "reopen" } });
      for (const index of numbered(count, (at) => at)) {
        const actions = [{ action: "create", file_path: `added/${index}`, content: "A text\n" }];
        const commit = { branch: "feature", commit_message: `Add ${index}`, actions };
        await post(app, `${PROJECT}/repository/commits`, "owner", commit);
      }
      await app.call(request, { as: "owner", json: { state_event: "close" } });
    },
    params: { branch: always("feature") },
  },
  Tags: { params: { tag_name: always("t0") } },
  Packages: {
    create: async (app, count) => {
      for (const at of numbered(count, (index) => index)) {
        for (const file of at === 0 ? numbered(count, (index) => `f${index}`) : ["f0"]) {
          const path = `${PROJECT}/packages/generic/tool${at}/1.0/${file}`;
          await app.call(`PUT ${path}`, { as: "owner", body: "a package" });
        }
      }
    },
    params: {
      package_id: listed("/projects/:project/packages"),
      package_file_id: listed("/projects/:project/packages/:package_id/package_files"),
      package_name: always("tool0"),
      package_version: always("1.0"),
      "generic file_name": always("f0"),
    },
  },
  "Python packages": {
    create: async (app) => {
      const body = new FormData();
      const sent = { name: "acme-thing", version: "1.0.0" };
      for (const [name, value] of Object.entries(sent)) body.append(name, value);
      body.append("content", new Blob(["x"]), "acme-thing-1.0.0.zip");
      const { status } = await app.call(`POST ${PROJECT}/packages/pypi`, { as: "owner", body });
      if (status !== 201) throw new Error(`the fixture's Python package: ${status}`);
    },
    params: {
      "simple package_name": always("acme-thing"),
      sha256: always(createHash("sha256").update("x").digest("hex")),
      file_identifier: always("acme-thing-1.0.0.zip"),
    },
  },
  "Composer packages": {
    create: async (app) => {
      const content = JSON.stringify({ name: "acme/thing" });
      await post(app, `${PROJECT}/repository/commits`, "owner", {
        branch: "composer",
        start_branch: "main",
        commit_message: "Name it [skip ci]",
        actions: [{ action: "create", file_path: "composer.json", content }],
      });
      await post(app, `${PROJECT}/packages/composer`, "owner", { branch: "composer" });
    },
    params: {
      "composer package_name": always("acme/thing$0"),
      "composer archives package_name": always("acme/thing.zip"),
      "composer p2 package_name": always("acme/thing.json"),
      "composer p sha": always("0"),
    },
  },
  "Go modules": {
    params: {
      module_name: async (app, fill) => {
        const { json } = await app.call(`GET ${fill("/projects/:project")}`, { as: "admin" });
        return json.web_url.replace(/^https?:\/\//, "");
      },
      // The newest commit of `main`, which has no go.mod.
      module_version: async (app, fill) => {
        const path = fill("/projects/:project/repository/commits/main");
        const { json } = await app.call(`GET ${path}`, { as: "admin" });
        if (!json.id) return "v2.0.0+incompatible";
        const time = new Date(json.committed_date).toISOString().replace(/\D/g, "").slice(0, 14);
        return `v2.0.0-${time}-${json.id.slice(0, 12)}+incompatible`;
      },
    },
  },
  "Helm charts": {
    create: async (app) => {
      const body = new FormData();
      body.append("chart", new Blob([CHART]), "thing-1.0.0.tgz");
      const path = `${PROJECT}/packages/helm/api/stable/charts`;
      const { status } = await app.call(`POST ${path}`, { as: "owner", body });
      if (status !== 201) throw new Error(`the fixture's chart: ${status}`);
    },
    params: { channel: always("stable"), "charts file_name": always("thing-1.0.0") },
  },
  "Maven packages": {
    create: async (app) => {
      const { status } = await app.call(`PUT ${PROJECT}/packages/maven/${JAR}`, {
        as: "owner",
        body: "x",
      });
      if (status !== 200) throw new Error(`the fixture's Maven package: ${status}`);
    },
    params: { "maven path": always(JAR) },
  },
  "NuGet packages": {
    create: async (app) => {
      const body = new FormData();
      body.append("package", new Blob([NUPKG]), "thing.nupkg");
      const { status } = await app.call(`PUT ${PROJECT}/packages/nuget`, { as: "owner", body });
      if (status !== 201) throw new Error(`the fixture's NuGet package: ${status}`);
    },
    params: {
      "nuget package_name": always("Acme.Thing"),
      "nuget package_version": always("1.0.0"),
      package_filename: always("acme.thing.1.0.0.nupkg"),
    },
  },
  "npm packages": {
    create: async (app) => {
      const { status } = await app.call(`PUT ${PROJECT}/packages/npm/@acme%2Fthing`, {
        as: "owner",
        body: JSON.stringify(document("@acme/thing", "1.0.0")),
      });
      if (status !== 200) throw new Error(`the fixture's npm package: ${status}`);
    },
    params: {
      "npm package_name": always("@acme/thing"),
      "npm file_name": always("thing-1.0.0.tgz"),
      "dist-tags tag": always("latest"),
    },
  },
  Templates: {
    params: {
      "dockerfiles name": always("Node"),
      "gitignores name": always("Node"),
      "gitlab_ci_ymls name": always("Nodejs"),
      "licenses name": always("mit"),
      "templates type": always("licenses"),
      "templates name": always("mit"),
    },
  },
  Avatars: {
    create: async (app) => {
      for (const path of ["/groups/acme", PROJECT]) {
        const body = new FormData();
        body.append("avatar", new Blob(["GIF89a"]), "a.gif");
        await app.call(`PUT ${path}`, { as: "owner", body });
      }
    },
  },
  Uploads: {
    create: async (app, count) => {
      for (const at of numbered(count, (index) => index)) {
        const body = new FormData();
        body.append("file", new Blob(["an upload"]), `a${at}.txt`);
        await app.call(`POST ${PROJECT}/uploads`, { as: "owner", body });
      }
    },
    params: {
      upload_id: listed("/projects/:project/uploads"),
    },
  },
  Suggestions: { params: { suggestion_id: always("999999") } },
  Releases: {
    create: async (app, count) => {
      for (const at of numbered(count, (index) => index)) {
        const links = numbered(count, (index) => ({
          name: `link ${index}`,
          url: `https://a.test/${index}`,
          direct_asset_path: `/file${index}`,
        }));
        await post(app, `${PROJECT}/releases`, "owner", {
          tag_name: `t${at}`,
          name: `Release ${at}`,
          description: "What is new",
          milestones: ["of the project"],
          assets: { links },
        });
      }
    },
    params: {
      "releases tag_name": always("t0"),
      link_id: listed("/projects/:project/releases/t0/assets/links"),
      direct_asset_path: always("file0"),
      suffix_path: always("assets"),
    },
  },
  Commits: {
    create: async (app, count) => {
      const path = `${PROJECT}/repository/commits/feature-1/comments`;
      for (const note of numbered(count, (index) => `Comment ${index}`)) {
        await post(app, path, "owner", { note });
      }
      const discussions = `${PROJECT}/repository/commits/feature-1/discussions`;
      const { json } = await app.call(`GET ${discussions}`, { as: "owner" });
      for (const body of numbered(count, (index) => `Reply ${index}`)) {
        await post(app, `${discussions}/${json[0].id}/notes`, "owner", { body });
      }
    },
    params: {
      sha: async (app, fill) => {
        const path = fill("/projects/:project/repository/branches/feature-1");
        const { json } = await app.call(`GET ${path}`, { as: "admin" });
        return json.commit?.id ?? "0".repeat(40);
      },
      "commits discussion_id": listed(COMMIT_DISCUSSIONS),
      "commits note_id": async (app, fill) => {
        const discussion = await listed(COMMIT_DISCUSSIONS)(app, fill);
        return listed(`${COMMIT_DISCUSSIONS}/${discussion}/notes`)(app, fill);
      },
    },
  },
  "Commit statuses": {
    create: async (app, count) => {
      for (const branch of ["main", "feature-1", "feature"]) {
        const { json } = await app.call(`GET ${PROJECT}/repository/branches/${branch}`, {
          as: "owner",
        });
        for (const name of numbered(count, (at) => `check ${at}`)) {
          const status = { state: "success", ref: branch, name };
          await post(app, `${PROJECT}/statuses/${json.commit.id}`, "owner", status);
        }
      }
    },
  },
  "Merge request dependencies": {
    // The second one blocks others, and is blocked by them.
    create: async (app, count) => {
      const path = `${PROJECT}/merge_requests`;
      const { json } = await app.call(`GET ${path}?sort=asc&per_page=100`, { as: "owner" });
      const [, second = json[0], ...others] = json;
      const blocks = (iid: number, blocking_merge_request_id: number) =>
        app.call(`POST ${path}/${iid}/blocks`, {
          as: "owner",
          json: { blocking_merge_request_id },
        });
      for (const { id, iid } of others.slice(0, count)) {
        await blocks(second.iid, id);
        await blocks(iid, second.id);
      }
    },
    params: {
      "blocks merge_request_iid": always("2"),
      "blockees merge_request_iid": always("2"),
      block_id: listed("/projects/:project/merge_requests/2/blocks"),
    },
  },
  "Merge trains": {
    // Their pipelines run, so that all of them wait.
    create: async (app, count) => {
      await app.call(`PUT ${PROJECT}`, { as: "owner", json: { merge_trains_enabled: true } });
      for (const source_branch of numbered(count, (at) => `train-${at}`)) {
        const answer = await app.call(`POST ${PROJECT}/repository/commits`, {
          as: "owner",
          json: {
            branch: source_branch,
            start_branch: "main",
            commit_message: "Change it",
            actions: [{ action: "create", file_path: source_branch, content: "New\n" }],
          },
        });
        const status = { state: "running", ref: source_branch };
        await post(app, `${PROJECT}/statuses/${answer.json.id}`, "owner", status);
        const request = { title: "A car", source_branch, target_branch: "main" };
        const opened = await app.call(`POST ${PROJECT}/merge_requests`, {
          as: "owner",
          json: request,
        });
        await post(app, `${PROJECT}/merge_trains/merge_requests/${opened.json.iid}`, "owner", {});
      }
    },
    params: {
      "merge_trains target_branch": always("main"),
      "merge_trains merge_request_iid": async (app, fill) => {
        const { json } = await app.call(`GET ${fill("/projects/:project/merge_trains")}`, {
          as: "admin",
        });
        return json[0]?.merge_request.iid ?? 0;
      },
    },
  },
  "Resource groups": {
    // The jobs of a branch of its own: the first one has the resource, and others wait for it.
    create: async (app, count) => {
      const jobs = numbered(
        count + 1,
        (at) => `shared-${at}: { script: [make], resource_group: group-0 }\n`,
      );
      const others = numbered(
        count,
        (at) => `own-${at}: { script: [make], resource_group: group-${at} }\n`,
      );
      await post(app, `${PROJECT}/repository/commits`, "owner", {
        branch: "resources",
        start_branch: "main",
        commit_message: "Configure [skip ci]",
        actions: [
          { action: "create", file_path: ".gitlab-ci.yml", content: [...jobs, ...others].join("") },
        ],
      });
      await post(app, `${PROJECT}/pipeline`, "owner", { ref: "resources" });
    },
    params: { "resource_groups key": listed("/projects/:project/resource_groups", "key") },
  },
  Pipelines: {
    // The first pipeline has the jobs, and the variables.
    create: async (app, count) => {
      const jobs = numbered(count, (at) => `job-${at}: { script: [make] }\n`).join("");
      const bridges = numbered(
        count,
        (at) => `bridge-${at}: { stage: deploy, trigger: acme/site }\n`,
      ).join("");
      await post(app, `${PROJECT}/repository/commits`, "owner", {
        branch: "pipelines",
        start_branch: "main",
        commit_message: "Configure [skip ci]",
        actions: [{ action: "create", file_path: ".gitlab-ci.yml", content: jobs + bridges }],
      });
      const variables = numbered(count, (at) => ({ key: `KEY_${at}`, value: "A value" }));
      for (const at of numbered(count, (index) => index)) {
        const given = at === count - 1 ? { variables } : {};
        await post(app, `${PROJECT}/pipeline`, "owner", { ref: "pipelines", ...given });
      }
    },
    params: { pipeline_id: listed("/projects/:project/pipelines") },
  },
  Jobs: {
    params: {
      job_id: listed("/projects/:project/jobs"),
      ref_name: always("main"),
      artifact_path: always("log.txt"),
    },
  },
  Runners: {
    create: async (app, count) => {
      const { json: group } = await app.call("GET /groups/acme", { as: "owner" });
      const { json: project } = await app.call(`GET ${PROJECT}`, { as: "owner" });
      for (const at of numbered(count, (index) => index)) {
        const about = { description: `runner ${at}`, tag_list: ["docker", "linux"] };
        const group_type = { runner_type: "group_type", group_id: group.id };
        const project_type = { runner_type: "project_type", project_id: project.id };
        for (const place of [{ runner_type: "instance_type" }, group_type, project_type]) {
          await post(app, "/user/runners", "admin", { ...place, ...about });
        }
      }
      // The last one has processes and jobs.
      const { json } = await app.call("POST /user/runners", {
        as: "admin",
        json: { runner_type: "project_type", project_id: project.id },
      });
      for (const system_id of numbered(count, (at) => `s_${at}`)) {
        const request = { token: json.token, system_id };
        await post(app, "/jobs/request", "anonymous", request);
      }
    },
    params: { runner_id: listed("/runners") },
  },
  "Pipeline schedules": {
    // The first one has the variables and the pipelines.
    create: async (app, count) => {
      const path = `${PROJECT}/pipeline_schedules`;
      const schedule = { ref: "pipelines", cron: "0 1 * * *" };
      for (const description of numbered(count, (at) => `schedule ${at}`)) {
        await post(app, path, "owner", { ...schedule, description });
      }
      const { json } = await app.call(`GET ${path}`, { as: "owner" });
      for (const variable of variables(count)) {
        await post(app, `${path}/${json[0].id}/variables`, "owner", variable);
        await post(app, `${path}/${json[0].id}/play`, "owner", {});
      }
    },
    params: {
      pipeline_schedule_id: listed("/projects/:project/pipeline_schedules"),
      "pipeline_schedules key": always("KEY_0"),
    },
  },
  "External status checks": {
    create: async (app, count) => {
      for (const name of numbered(count, (index) => `check ${index}`)) {
        const json = { name, external_url: `https://checks.test/${name}` };
        await post(app, `${PROJECT}/external_status_checks`, "owner", json);
      }
    },
    params: {
      check_id: listed("/projects/:project/external_status_checks"),
      external_status_check_id: listed("/projects/:project/external_status_checks"),
    },
  },
  "Protected environments": {
    create: async (app, count) => {
      const deploy_access_levels = [...(await grants(app)), ...(await grants(app))];
      for (const path of [PROJECT, "/groups/acme"]) {
        const tiers = ["staging", "testing", "development", "other"];
        const names = path === PROJECT ? numbered(count, (at) => `guarded ${at}`) : tiers;
        for (const name of names.slice(0, Math.max(count, 1))) {
          const json = { name, deploy_access_levels, approval_rules: [{ access_level: 40 }] };
          await post(app, `${path}/protected_environments`, "owner", json);
        }
      }
    },
    params: {
      "groups protected_environments name": listed("/groups/:group/protected_environments", "name"),
      "projects protected_environments name": listed(
        "/projects/:project/protected_environments",
        "name",
      ),
    },
  },
  "Freeze periods": {
    create: async (app, count) => {
      for (const hour of numbered(count, (at) => at % 24)) {
        const json = { freeze_start: `0 ${hour} * * 5`, freeze_end: "0 7 * * 1" };
        await post(app, `${PROJECT}/freeze_periods`, "owner", json);
      }
    },
    params: { freeze_period_id: listed("/projects/:project/freeze_periods") },
  },
  "Push rules": {
    group: () => ({ push_rule: { member_check: true } }),
    project: () => ({ push_rule: { prevent_secrets: true } }),
  },
  "Job token scope": {
    create: async (app, count) => {
      const { json: projects } = await app.call("GET /projects?simple=true", { as: "admin" });
      const others = projects.filter((one: { path: string }) => one.path !== "site");
      for (const { id } of others.slice(0, count)) {
        const json = { target_project_id: id };
        await post(app, `${PROJECT}/job_token_scope/allowlist`, "admin", json);
      }
      const { json: groups } = await app.call("GET /groups", { as: "admin" });
      for (const { id } of groups.slice(0, count)) {
        const json = { target_group_id: id };
        await post(app, `${PROJECT}/job_token_scope/groups_allowlist`, "admin", json);
      }
    },
    params: {
      // The project itself is listed, too, and cannot be removed.
      target_project_id: async (app, fill) => {
        const path = fill("/projects/:project/job_token_scope/allowlist");
        const { json } = await app.call(`GET ${path}`, { as: "admin" });
        return json.find((one: { path: string }) => one.path !== "site")?.id ?? 0;
      },
      target_group_id: listed("/projects/:project/job_token_scope/groups_allowlist"),
    },
  },
  "Pipeline triggers": {
    create: async (app, count) => {
      for (const description of numbered(count, (at) => `trigger ${at}`)) {
        await post(app, `${PROJECT}/triggers`, "owner", { description });
      }
    },
    params: {
      trigger_id: listed("/projects/:project/triggers"),
      "trigger ref": always("main"),
    },
  },
  "Feature flags": {
    create: async (app, count) => {
      const scopes = [{ environment_scope: "*" }];
      for (const at of numbered(count, (index) => index)) {
        const list = { name: `List ${at}`, user_xids: "1,2" };
        await post(app, `${PROJECT}/feature_flags_user_lists`, "owner", list);
        const strategies = [{ name: "default", parameters: {}, scopes }];
        const flag = { name: `flag_${at}`, version: "new_version_flag", strategies };
        await post(app, `${PROJECT}/feature_flags`, "owner", flag);
      }
    },
    params: {
      feature_flag_name: listed("/projects/:project/feature_flags", "name"),
      "feature_flags_user_lists iid": listed("/projects/:project/feature_flags_user_lists", "iid"),
      project_id: always("1"),
    },
  },
  "Terraform states": {
    create: async (app) => {
      for (const name of ["kept", "deleted"]) {
        const { status } = await app.call(`POST ${PROJECT}/terraform/state/${name}`, {
          as: "owner",
          json: { serial: 1, outputs: {} },
        });
        if (status !== 200) throw new Error(`the fixture's state: ${status}`);
      }
    },
    params: { "state name": always("kept"), serial: always(1) },
  },
  "Push mirrors": {
    create: async (app, count) => {
      for (const path of numbered(Math.min(count, 10), (at) => `a${at}.git`)) {
        const url = `https://mirror:secret@git.example.invalid/${path}`;
        await post(app, `${PROJECT}/remote_mirrors`, "owner", { url, enabled: true });
      }
    },
    params: { mirror_id: listed("/projects/:project/remote_mirrors") },
  },
  "Pull mirrors": {
    create: async (app) => {
      const json = { url: "https://mirror:secret@git.example.invalid/a.git" };
      await app.call(`PUT ${PROJECT}/mirror/pull`, { as: "owner", json });
    },
  },
  "Git LFS": {
    create: async (app, count) => {
      for (const at of numbered(count, (index) => index)) {
        const content = `object ${at}`;
        await put(app, "owner", content, objectOf(content));
        await lfs(app, "owner", "POST info/lfs/locks", { path: `file ${at}` });
      }
    },
    params: {
      oid: always(oidOf("object 0")),
      "gitlab-lfs size": always("8"),
      lock_id: async (app) =>
        (await lfs(app, "owner", "GET info/lfs/locks")).json.locks?.[0]?.id ?? "1",
    },
  },
  "Git over HTTP": { params: { repository: async () => "acme/site.git" } },
  Webhooks: {
    create: async (app, count) => {
      const url = "https://hooks.example.invalid/{place}";
      const url_variables = [{ key: "place", value: "here" }];
      const custom_headers = [{ key: "X-Here", value: "yes" }];
      const hook = { url, url_variables, custom_headers };
      for (const path of [`${PROJECT}/hooks`, "/groups/acme/hooks", "/hooks"]) {
        for (const name of numbered(count, (index) => `Hook ${index}`)) {
          await post(app, path, "admin", { ...hook, name });
        }
        // Nothing answers there, which the log says.
        const { json } = await app.call(`GET ${path}`, { as: "admin" });
        const test = path === "/hooks" ? "" : "/test/issues_events";
        for (const _ of numbered(count, () => undefined)) {
          await app.call(`POST ${path}/${json[0].id}${test}`, { as: "admin" });
        }
      }
    },
    params: {
      hook_id: listed("/hooks"),
      "projects hook_id": listed("/projects/:project/hooks"),
      "groups hook_id": listed("/groups/:group/hooks"),
      trigger: always("issues_events"),
      "projects hook_log_id": (app, fill) => ofHook(app, fill, "/projects/:project/hooks"),
      "groups hook_log_id": (app, fill) => ofHook(app, fill, "/groups/:group/hooks"),
      hook_log_id: (app, fill) => ofHook(app, fill, "/hooks"),
      "url_variables key": always("place"),
      "custom_headers key": always("X-Here"),
    },
  },
  Integrations: {
    create: async (app, count) => {
      const chats = ["slack", "mattermost", "pumble", "webex-teams", "unify-circuit", "discord"];
      const trackers = ["bugzilla", "clickup", "custom-issue-tracker", "ewm", "phorge", "redmine"];
      const others = ["hangouts-chat", "microsoft-teams", "youtrack", "external-wiki", "assembla"];
      const url = "https://chat.example.invalid/in";
      const given = { webhook: url, issues_url: url, project_url: url, new_issue_url: url };
      const json = { ...given, external_wiki_url: url, token: "glow-worm" };
      for (const slug of [...chats, ...trackers, ...others].slice(0, Math.max(count, 1))) {
        for (const path of [PROJECT, "/groups/acme"]) {
          const answer = await app.call(`PUT ${path}/integrations/${slug}`, { as: "owner", json });
          if (answer.status !== 200) throw new Error(`${slug} answers ${answer.text}`);
        }
      }
    },
    params: { "integrations slug": always("slack"), "services slug": always("slack") },
  },
  "Audit events": {
    params: {
      "projects audit_event_id": listed("/projects/:project/audit_events"),
      "groups audit_event_id": listed("/groups/:group/audit_events"),
      audit_event_id: listed("/audit_events"),
    },
  },
};

/** Values of path parameters by name; `id` once for groups and once for projects. */
export interface Places {
  group: string;
  project: string;
  params: Record<string, string | number>;
}

/** A route's path with its parameters filled in. @throws Error if a parameter has no value */
export function pathOf(route: Route, places: Places): string {
  return route.path.replace(/:(\w+)\*?/g, (_, name: string) => {
    const value = fillingOf(route, name, places);
    if (value !== undefined) return encodeURIComponent(value);
    const where = `the params of the fixture "${resourceOf(route).name}" in test/fixtures.ts`;
    throw new Error(`${route.method} ${route.path} has no value for :${name}: add it to ${where}`);
  });
}

/** The values of the parameters in a route's path, by name; 1 for those that the fixtures don't have. */
export function valuesOf(route: Route, places: Places): Record<string, string> {
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  return Object.fromEntries(
    names.map((name) => [name, String(fillingOf(route, name, places) ?? 1)]),
  );
}

function fillingOf(route: Route, name: string, { group, project, params }: Places) {
  const segments = route.path.split("/");
  if (name === "id") return segments[1]?.startsWith("group") ? group : project;
  const fitting = Object.keys(params)
    .map((key) => key.split(" "))
    .filter((words) => words.at(-1) === name)
    .filter((words) => words.slice(0, -1).every((segment) => segments.includes(segment)));
  const key = fitting.reduce((most, words) => (words.length > most.length ? words : most), []);
  return params[key.join(" ")];
}

/** Looks up the values of all path parameters in a group and a project of that group. */
export async function placesIn(app: Calls, group: string, project: string): Promise<Places> {
  const params: Places["params"] = {};
  const fill = (path: string) =>
    path.replace(/:([a-z_]+)/g, (_, name: string) =>
      encodeURIComponent({ group, project, ...params }[name] ?? 0),
    );
  for (const fixture of Object.values(FIXTURES)) {
    for (const [name, lookup] of Object.entries(fixture.params ?? {})) {
      params[name] = await lookup(app, fill);
    }
  }
  return { group, project, params };
}

/** {@link baseSeed} with this many of everything in `acme` and `acme/site`. */
export function fixtureSeed(count: number): Seed {
  const [acme, ...others] = baseSeed.groups as GroupSeed[];
  const [site] = acme?.projects ?? [];
  const all = Object.values(FIXTURES);
  const group = all.reduce(
    (sum, fixture) => joined(sum, fixture.group?.(count)),
    acme as GroupSeed,
  );
  const project = all.reduce(
    (sum, fixture) => joined(sum, fixture.project?.(count)),
    site as ProjectSeed,
  );
  return {
    users: [...(baseSeed.users ?? []), ...all.flatMap((fixture) => fixture.users?.(count) ?? [])],
    groups: [{ ...group, projects: [project, ...(group.projects ?? []).slice(1)] }, ...others],
  };
}

/** Creates this many of what {@link fixtureSeed} can't contain. @param without resources that the application doesn't have */
export async function createFixtures(
  app: Calls,
  count: number,
  without: readonly string[] = [],
): Promise<void> {
  for (const [name, { create }] of Object.entries(FIXTURES)) {
    if (!without.includes(name)) await create?.(app, count);
  }
}

/** Joins two parts of a seed: their lists and their members are combined. */
function joined<T extends object>(one: T, other: Partial<T> = {}): T {
  const before = new Map<string, unknown>(Object.entries(one));
  const values = Object.entries(other).map(([name, value]) => {
    const present = before.get(name);
    return Array.isArray(value)
      ? [name, [...((present as unknown[] | undefined) ?? []), ...value]]
      : [name, Object.assign({}, present, value)];
  });
  return { ...one, ...Object.fromEntries(values) };
}

function guests(count: number) {
  return Object.fromEntries(numbered(count, (index) => [`member${index}`, "guest" as const]));
}

/** A day, `YYYY-MM-DD`, after the first of the iterations. */
function dayAfter(days: number) {
  return new Date(Date.UTC(2026, 0, 5 + days)).toISOString().slice(0, 10);
}

function milestones(count: number, newest: string) {
  return [...numbered(count, (index) => ({ title: `milestone ${index}` })), { title: newest }];
}
