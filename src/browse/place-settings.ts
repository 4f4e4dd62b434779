import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { DEPLOY_SCOPES, meaningOf, SCOPES } from "../core/scopes.ts";
import { confirmButton, field, form, formText } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { mayRenameProject } from "../resources/projects/abilities.ts";
import { actionIn, type Shown, type Visit } from "./declare.ts";
import { type FormField, type FormSpec, formPage, formShown } from "./forms.ts";
import type { PlaceKind } from "./lists.ts";
import { at, button, LEVELS, placeOf, row, tag } from "./parts.ts";
import { type SettingKind, secretOf, settingsPages } from "./settings.ts";

/** A setting that is on or off. */
export const flag = (name: string, label: string, hint?: string): FormField => ({
  ...{ name, label, kind: "flag" },
  ...(hint !== undefined && { hint }),
});

/** The name of something that a page of settings lists. */
export const NAME: FormField = { name: "name", label: "Name" };
const DESCRIPTION: FormField = {
  name: "description",
  label: "Description",
  isOptional: true,
};
/** When something new stops to work. */
export const EXPIRES: FormField = {
  ...{ name: "expires_at", label: "Expires on", kind: "date", isOptional: true },
  hint: "From that day on it is refused; if empty, never",
};

/** The visibility of a group or project. */
export const VISIBILITY: FormField = {
  ...{ name: "visibility", label: "Who sees it", kind: "one" },
  among: () => [
    ["private", "Members"],
    ["internal", "Everybody who is signed in"],
    ["public", "Everybody"],
  ],
};
const scopes = (all: readonly string[], meaning?: (scope: string) => string): FormField => ({
  ...{ name: "scopes", label: "Scopes", kind: "many" },
  among: () => all.map((scope) => [scope, meaning ? `${scope}: ${meaning(scope)}` : scope]),
});

/** When something stops to work. */
const until = ({ expires_at }: Shown): string =>
  expires_at ? `expires ${String(expires_at).slice(0, 10)}` : "never expires";

/** Facts about something in one line, without those that do not hold. */
export const parts = (...all: readonly (string | false | null | undefined)[]): string =>
  all.filter(Boolean).join(" · ");

/** Who may do something with what is protected. */
const PROTECTED_FOR = [
  ["40", "Maintainers"],
  ["30", "Developers and maintainers"],
  ["0", "No one"],
] as const;
const allowed = (name: string, label: string): FormField => ({
  ...{ name, label, kind: "one", among: () => PROTECTED_FOR },
});
const described = (levels: readonly Shown[]): string =>
  levels.map(({ access_level_description: text }) => text).join(", ") || "No one";
const PATTERN: FormField = { ...NAME, hint: "Or a pattern, such as release/*" };

const REPOSITORY: readonly SettingKind[] = [
  {
    ...{ what: "protected branch", title: "Protected branches", at: "/protected_branches" },
    ...{ path: "/-/protected_branches", key: "name", nameOf: ({ name }) => name },
    none: "No branch is protected.",
    isOwn: ({ inherited }) => !inherited,
    row: ({ name, push_access_levels, merge_access_levels, allow_force_push, inherited }) => [
      html`<code>${name}</code>`,
      parts(
        `push: ${described(push_access_levels)}`,
        `merge: ${described(merge_access_levels)}`,
        allow_force_push && "force push",
        inherited && "by a group",
      ),
    ],
    fields: [
      PATTERN,
      allowed("push_access_level", "Allowed to push"),
      allowed("merge_access_level", "Allowed to merge"),
      flag("allow_force_push", "Allow force push"),
    ],
    removal: ["Unprotect", "Developers may then push to it, and delete it."],
  },
  {
    ...{ what: "protected tag", title: "Protected tags", at: "/protected_tags" },
    ...{ path: "/-/protected_tags", key: "name", nameOf: ({ name }) => name },
    none: "No tag is protected.",
    row: ({ name, create_access_levels }) => [
      html`<code>${name}</code>`,
      `create: ${described(create_access_levels)}`,
    ],
    fields: [PATTERN, allowed("create_access_level", "Allowed to create")],
    removal: ["Unprotect", "Developers may then make and delete it."],
  },
  {
    ...{ what: "deploy key", title: "Deploy keys", at: "/deploy_keys" },
    ...{ path: "/-/deploy_keys", key: "key_id", none: "There are no deploy keys." },
    row: (key) => [
      html`${key.title}${tag(key.can_push, "may push")}`,
      parts(key.fingerprint_sha256, until(key)),
    ],
    fields: [
      { name: "title", label: "Title" },
      { name: "key", label: "Key", kind: "lines", hint: "The public one: ssh-ed25519 AAAA…" },
      flag("can_push", "May push"),
      EXPIRES,
    ],
    changes: [{ name: "title", label: "Title" }, flag("can_push", "May push")],
    removal: ["Remove", "Whoever has it can't fetch or push with it any more."],
  },
  {
    ...{ what: "deploy token", title: "Deploy tokens", at: "/deploy_tokens" },
    ...{ path: "/-/deploy_tokens", key: "token_id", none: "There are no deploy tokens." },
    with: { active: true },
    row: (token) => [token.name, parts(token.username, token.scopes.join(", "), until(token))],
    fields: [
      NAME,
      {
        ...{ name: "username", label: "User name", isOptional: true },
        hint: "If empty, one is made",
      },
      EXPIRES,
      scopes(DEPLOY_SCOPES),
    ],
    secret: ({ username, token }) =>
      html`<p>User name: <code>${username}</code></p>${secretOf(token)}`,
    removal: ["Revoke", "Programs that use it lose access. This can't be undone."],
  },
];

const KINDS_OF_VARIABLES = [
  ["env_var", "Variable"],
  ["file", "File"],
] as const;

/** What is said of a variable; of a new one also its key. */
const VARIABLE: readonly FormField[] = [
  { name: "value", label: "Value", kind: "lines", isOptional: true },
  { name: "variable_type", label: "Type", kind: "one", among: () => KINDS_OF_VARIABLES },
  {
    ...{ name: "environment_scope", label: "Environments", hint: "* for all" },
    value: ({ found }) => found?.environment_scope ?? "*",
  },
  DESCRIPTION,
  flag("protected", "Protected", "Only for protected branches and tags"),
  flag("masked", "Masked", "Logs of jobs do not show it"),
  flag("raw", "As it is", "References to other variables in it are not expanded"),
];
const variables: SettingKind = {
  ...{ what: "variable", title: "Variables", at: "/variables", path: "/-/variables" },
  ...{ key: "key", nameOf: ({ key }) => key, none: "There are no variables." },
  also: ({ environment_scope }) => ({ scope: environment_scope }),
  find: async ({ scope }) => ({
    filter: scope === undefined ? {} : { environment_scope: scope },
  }),
  row: ({ key, value, masked, hidden, environment_scope, description, ...one }) => [
    html`<code>${key}</code>${tag(one.protected, "protected")}${tag(masked, hidden ? "hidden" : "masked")}`,
    parts(
      !masked && `${value.slice(0, 80)}${value.length > 80 ? "…" : ""}`,
      environment_scope !== "*" && `in ${environment_scope}`,
      description,
    ),
  ],
  fields: [
    { name: "key", label: "Key" },
    ...VARIABLE,
    flag("masked_and_hidden", "Hidden", "Masked, and never shown again"),
  ],
  empties: ["value"],
  // Others may look over the shoulder of whoever changes the description.
  changes: VARIABLE.map((one) =>
    one.name === "value"
      ? {
          ...{ ...one, hint: "A masked one stays what it is if this is empty" },
          value: ({ found }) => (found.masked ? "" : found.value),
        }
      : one,
  ),
  sends: ({ value, ...sent }) => ({
    ...sent,
    ...(!(value === "" && sent["masked"] === "true") && { value }),
  }),
  removal: ["Delete", "Jobs do not get it any more."],
};

const hidden = (name: string, value: FormField["value"]): FormField => ({
  ...{ name, label: name, kind: "hidden" },
  ...(value && { value }),
});

/** How a runner is started with its token. */
const started = (token: string, { view }: Visit): Html =>
  html`${secretOf(token)}<p>Start it with one of these:</p><pre>pm-cli runner --url ${view.base} --token ${token}</pre>
<pre>gitlab-runner register --url ${view.base} --token ${token}</pre>`;

const RUNNER: readonly FormField[] = [
  DESCRIPTION,
  {
    ...{ name: "tag_list", label: "Tags", isOptional: true, hint: "Separated by commas" },
    value: ({ found }) => found?.tag_list.join(", "),
  },
  {
    ...flag("run_untagged", "Also jobs without tags"),
    value: ({ found }) => found?.run_untagged ?? true,
  },
];

/** Runners of a group, a project or the site. */
export const runners = (of: PlaceKind | "site"): SettingKind => ({
  ...{ what: "runner", title: "Runners", path: of === "site" ? "/admin/runners" : "/-/runners" },
  ...{ at: of === "site" ? "/runners/all" : "/runners", key: "runner_id" },
  one: "/runners/:runner_id",
  none: "There are no runners.",
  row: ({ id, description, runner_type, status, paused }) => [
    html`${description || `Runner ${id}`}${tag(paused, "paused")}`,
    parts(`#${id}`, `of ${WORDS_OF_RUNNERS[runner_type] ?? runner_type}`, status.replace("_", " ")),
  ],
  makes: "POST /user/runners",
  fields: [
    ...RUNNER,
    hidden("runner_type", () => `${of === "site" ? "instance" : of}_type`),
    ...(of === "site" ? [] : [hidden(`${of}_id`, ({ place }) => place.id)]),
  ],
  secret: ({ token }, visit) => started(token, visit),
  changes: [...RUNNER, flag("paused", "Paused", "It gets no new jobs")],
  removal: ["Remove", "It gets no jobs any more. This can't be undone."],
  isOwn: ({ runner_type }) => of === "site" || runner_type === `${of}_type`,
});
const WORDS_OF_RUNNERS: Readonly<Record<string, string>> = {
  instance_type: "everybody",
  group_type: "a group",
  project_type: "a project",
};

const triggers: SettingKind = {
  ...{ what: "trigger", title: "Pipeline triggers", at: "/triggers", path: "/-/triggers" },
  ...{ key: "trigger_id", none: "There are no triggers." },
  row: (trigger) => [trigger.description, parts(trigger.owner?.name, until(trigger))],
  fields: [{ name: "description", label: "Description" }, EXPIRES],
  secret: ({ token }, { view, source }) =>
    html`${secretOf(token)}<pre>curl -X POST -F token=${token} -F ref=main ${view.base}/api/v4/projects/${source?.id}/trigger/pipeline</pre>`,
  changes: [{ name: "description", label: "Description" }],
  removal: ["Revoke", "Programs that use it start no pipelines any more."],
};

const LEVEL_OF_TOKENS: FormField = {
  ...{ name: "access_level", label: "Role", kind: "one" },
  among: () => [40, 10, 20, 30, 50].map((level) => [String(level), LEVELS[level] as string]),
};
const accessTokens: SettingKind = {
  ...{ what: "access token", title: "Active tokens", at: "/access_tokens" },
  ...{ path: "/-/settings/access_tokens", key: "token_id", none: "There are none." },
  with: { state: "active" },
  row: (token) => [
    token.name,
    parts(LEVELS[token.access_level], token.scopes.join(", "), until(token)),
  ],
  fields: [
    NAME,
    DESCRIPTION,
    EXPIRES,
    LEVEL_OF_TOKENS,
    scopes(
      SCOPES.filter((scope) => meaningOf(scope) !== "Nothing on this server" && scope !== "sudo"),
      meaningOf,
    ),
  ],
  secret: ({ token }) => secretOf(token),
  removal: ["Revoke", "Programs that use it lose access. This can't be undone."],
};

/** What an identity provider adds people to a group with. */
const scimTokens: SettingKind = {
  ...{ what: "SCIM token", title: "SCIM tokens", at: "/scim_tokens" },
  ...{ path: "/-/settings/scim", key: "scim_token_id", none: "There are none." },
  row: (token) => [
    html`${token.name}${tag(token.revoked, "revoked")}`,
    parts(
      token.access_level_description ?? LEVELS[token.access_level] ?? token.access_level,
      until(token),
      token.last_used_at ? `used ${String(token.last_used_at).slice(0, 10)}` : "never used",
    ),
  ],
  isOwn: ({ revoked }) => !revoked,
  fields: [NAME, LEVEL_OF_TOKENS, EXPIRES],
  secret: ({ token }) => secretOf(token),
  removal: ["Revoke", "The identity provider can't change people of this group any more."],
};

/** Pipelines that start by themselves: each is its owner's, who alone changes it. */
const SCHEDULE: readonly FormField[] = [
  { name: "description", label: "Description" },
  {
    ...{ name: "cron", label: "When", hint: "As cron has it: 0 4 * * 1 is each Monday at four" },
    value: ({ found }) => found?.cron ?? "0 4 * * *",
  },
  {
    ...{ name: "cron_timezone", label: "Time zone" },
    value: ({ found }) => found?.cron_timezone ?? "UTC",
  },
  {
    ...{ name: "ref", label: "Branch or tag" },
    value: ({ place, found }) => found?.ref ?? place?.default_branch,
  },
  { ...flag("active", "Active"), value: ({ found }) => found?.active ?? true },
];
const GIVEN = { key: param.optional(formText), value: param.optional(formText) };
const keyInPath = { key: param.anyText() };
/** The variables of the pipelines of a schedule: each with a form of its own, and one for another. */
const scheduleVariables: SettingKind["below"] = ({ place, found }, visit) => {
  const path = `${placeOf(place).address}/-/pipeline_schedules/${found.id}/variables`;
  const variables = ((found.variables ?? []) as Shown[]).map(({ key, value }, at) => {
    const own = `${path}/${encodeURIComponent(key)}`;
    const changing = html`${field({ name: "value", id: `value-${at}`, label: key, value, required: false })}<button class="quiet">Save<span class="unseen"> ${key}</span></button>`;
    const question = "Pipelines of this schedule do not get it any more.";
    return html`<li><div>${form(visit, `${own}/change`, changing)}</div>${confirmButton(visit, { label: "Remove", of: key, question, action: `${own}/delete` })}</li>`;
  });
  const adding = html`${field({ name: "key", label: "Name" })}${field({ name: "value", label: "Value", required: false })}<button>Add variable</button>`;
  return html`<section><h2>Variables</h2>${variables.length > 0 ? html`<ul class="rows">${variables}</ul>` : html`<p class="lead">There are none.</p>`}</section>
<section><h2>New variable</h2>${form(visit, path, adding)}</section>`;
};
const schedules: SettingKind = {
  ...{ what: "pipeline schedule", title: "Pipeline schedules", at: "/pipeline_schedules" },
  ...{ path: "/-/pipeline_schedules", key: "pipeline_schedule_id", none: "There are none." },
  row: ({ description, cron, ref, active, owner, next_run_at }) => [
    html`${description}${tag(!active, "inactive")}`,
    html`${parts(ref.replace(/^refs\/(heads|tags)\//, ""), cron, owner && `by ${owner.name}`)}${active && next_run_at && html` · next ${at(next_run_at)}`}`,
  ],
  isOwn: ({ owner }, { caller }) => owner?.id === caller?.id,
  buttons: ({ owner }, visit, path) =>
    html`${visit.offers("POST /projects/:id/pipeline_schedules/:pipeline_schedule_id/play") && button(visit, `${path}/play`, "Run now")}${
      owner?.id !== visit.caller?.id &&
      visit.offers("POST /projects/:id/pipeline_schedules/:pipeline_schedule_id/take_ownership") &&
      button(visit, `${path}/take_ownership`, "Take ownership")
    }`,
  fields: SCHEDULE,
  changes: SCHEDULE,
  removal: ["Delete", "It starts no more pipelines."],
  below: scheduleVariables,
  acts: [
    {
      ...{ path: "/variables", summary: "Add a variable to a pipeline schedule" },
      ...{ input: {}, fields: GIVEN },
    },
    {
      ...{ path: "/variables/:key/change", summary: "Change a variable of a pipeline schedule" },
      ...{ input: keyInPath, fields: { value: GIVEN.value } },
      performs: ["PUT", "/variables/:key"],
    },
    {
      ...{ path: "/variables/:key/delete", summary: "Remove a variable of a pipeline schedule" },
      ...{ input: keyInPath, performs: ["DELETE", "/variables/:key"] },
    },
    { path: "/play", summary: "Run a pipeline schedule at once", input: {} },
    { path: "/take_ownership", summary: "Become the owner of a pipeline schedule", input: {} },
  ],
};

/** What hooks are told of, and what can be tried out. */
const EVENTS =
  `push tag_push merge_requests issues confidential_issues note confidential_note wiki_page pipeline job deployment
releases milestone emoji feature_flag resource_access_token`
    .split(/\s/)
    .map((word) => [`${word}_events`, word.replaceAll("_", " ")] as const);
const HOOK: readonly FormField[] = [
  { name: "url", label: "URL" },
  { ...NAME, isOptional: true },
  DESCRIPTION,
  { name: "token", label: "Secret token", isOptional: true, hint: "Sent as X-Gitlab-Token" },
  {
    ...{ name: "push_events_branch_filter", label: "Branches of pushes", isOptional: true },
    hint: "A pattern, such as release/*; if empty, all",
  },
  ...EVENTS.map(
    ([name, label]): FormField => ({
      ...flag(name, `Events: ${label}`),
      value: ({ found }) => found?.[name] ?? name === "push_events",
    }),
  ),
  {
    ...flag("enable_ssl_verification", "Verify certificates"),
    value: ({ found }) => found?.enable_ssl_verification ?? true,
  },
  {
    ...{ name: "custom_headers", label: "Headers", kind: "lines", isOptional: true },
    hint: "One a line, as Name: value",
    // Their values are not shown again.
    value: () => "",
  },
  {
    ...{ name: "custom_webhook_template", label: "Body", kind: "lines", isOptional: true },
    hint: 'What is sent in place of all that is known, such as {"text": "{{object_kind}}"}',
  },
];
/** Headers are typed one a line. */
const withHeaders = ({ custom_headers, ...sent }: Readonly<Record<string, unknown>>) => {
  const lines = String(custom_headers ?? "")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const headers = lines.map((line) => {
    const [key = "", ...value] = line.split(":");
    return { key: key.trim(), value: value.join(":").trim() };
  });
  return { ...sent, ...(headers.length > 0 && { custom_headers: headers }) };
};
const hookPath = (place: Shown, { id }: Shown) => `${placeOf(place).address}/-/hooks/${id}`;
/** Webhooks of a group or project. */
const hooks = (of: PlaceKind): SettingKind => ({
  ...{ what: "webhook", title: "Webhooks", at: "/hooks", path: "/-/hooks", key: "hook_id" },
  none: "There are no webhooks.",
  row: (hook) => [
    html`${hook.name || hook.url}${tag(hook.alert_status !== "executable", "disabled")}`,
    parts(
      hook.name && hook.url,
      EVENTS.filter(([name]) => hook[name])
        .map(([, label]) => label)
        .join(", "),
    ),
  ],
  fields: HOOK,
  changes: HOOK.map((one) =>
    one.name === "token"
      ? { ...one, value: () => "", hint: "It stays what it is if this is empty" }
      : one.name === "custom_headers"
        ? { ...one, hint: `${one.hint}; they stay what they are if this is empty` }
        : one,
  ),
  asks: withHeaders,
  sends: withHeaders,
  keeps: ["token"],
  removal: ["Delete", "It is told of nothing any more."],
  shows: { events: `GET /${of}s/:id/hooks/:hook_id/events` },
  below: ({ place, found, events }, visit) =>
    html`<section><h2>Try it out</h2><div class="actions">${
      visit.offers(`POST /${of}s/:id/hooks/:hook_id/test/:trigger`) &&
      EVENTS.map(([name, label]) =>
        button(visit, `${hookPath(place, found)}/test/${name}`, `Test ${label}`),
      )
    }</div></section>
<section><h2>Recent deliveries</h2>${
      events.length === 0
        ? html`<p>There are none.</p>`
        : html`<ul class="rows">${events.map((one: Shown) =>
            row(
              html`${one.trigger.replaceAll("_", " ")}`,
              html`${one.response_status} · ${at(one.created_at)}`,
              visit.offers(`POST /${of}s/:id/hooks/:hook_id/events/:hook_log_id/resend`)
                ? button(visit, `${hookPath(place, found)}/events/${one.id}/resend`, "Resend")
                : undefined,
            ),
          )}</ul>`
    }</section>`,
  acts: [
    {
      path: "/test/:trigger",
      summary: `Try out a webhook of a ${of}`,
      input: { trigger: param.anyText() },
    },
    {
      path: "/events/:hook_log_id/resend",
      summary: `Send again what a webhook of a ${of} was sent`,
      input: { hook_log_id: param.recordId() },
    },
  ],
});

/** What features of a project can be for its members only, or switched off. */
const FEATURES = [
  ["issues", "Issues"],
  ["repository", "Repository"],
  ["merge_requests", "Merge requests"],
  ["wiki", "Wiki"],
  ["builds", "CI/CD"],
  ["snippets", "Snippets"],
  ["releases", "Releases"],
  ["environments", "Environments"],
  ["package_registry", "Package registry"],
  ["container_registry", "Container registry"],
] as const;
const FEATURE_USERS = [
  ["enabled", "Everyone with access"],
  ["private", "Only project members"],
  ["disabled", "Nobody"],
] as const;
const SWITCHES = [
  ["lfs_enabled", "Git LFS"],
  ["request_access_enabled", "People may ask for access"],
] as const;
const MERGING = [
  ["only_allow_merge_if_pipeline_succeeds", "Pipelines must succeed"],
  ["allow_merge_on_skipped_pipeline", "Skipped pipelines count as successful"],
  ["only_allow_merge_if_all_discussions_are_resolved", "All threads must be resolved"],
  ["remove_source_branch_after_merge", "Delete the source branch by default"],
  ["resolve_outdated_diff_discussions", "Resolve threads on lines that changed"],
  ["autoclose_referenced_issues", "Close issues that are mentioned"],
] as const;
const flags = (all: readonly (readonly [name: string, label: string])[]): readonly FormField[] =>
  all.map(([name, label]) => flag(name, label));
const LONG_DESCRIPTION: FormField = { ...DESCRIPTION, kind: "lines", isMarkdown: true };
const isOwner: FormField["when"] = (_, { source }) =>
  source !== undefined && mayRenameProject(source);

const GENERAL: Readonly<Record<PlaceKind, readonly FormField[]>> = {
  project: [
    { ...NAME, when: isOwner },
    { name: "path", label: "Path", hint: "The old address leads to the new one", when: isOwner },
    LONG_DESCRIPTION,
    {
      ...{ name: "topics", label: "Topics", isOptional: true, hint: "Separated by commas" },
      value: ({ found }) => found.topics.join(", "),
    },
    { ...VISIBILITY, when: isOwner },
    {
      ...{ name: "default_branch", label: "Default branch", kind: "one" },
      when: ({ found }) => Boolean(found.default_branch),
      among: {
        ...{ from: "GET /projects/:id/repository/branches", isName: true },
        as: ({ name }) => [name, name],
      },
    },
    ...FEATURES.map(
      ([name, label]): FormField => ({
        ...{ name: `${name}_access_level`, label, kind: "one" },
        among: () => FEATURE_USERS,
      }),
    ),
    ...flags(SWITCHES),
    {
      ...{ name: "merge_method", label: "Merging", kind: "one" },
      among: () => [
        ["merge", "Merge commit"],
        ["rebase_merge", "Merge commit with semi-linear history"],
        ["ff", "Fast-forward merge"],
      ],
    },
    {
      ...{ name: "squash_option", label: "Squashing", kind: "one" },
      among: () => [
        ["default_off", "Allow"],
        ["default_on", "Encourage"],
        ["never", "Do not allow"],
        ["always", "Require"],
      ],
    },
    ...flags(MERGING),
  ],
  group: [
    NAME,
    { name: "path", label: "Path", hint: "The old address leads to the new one" },
    LONG_DESCRIPTION,
    VISIBILITY,
    flag("request_access_enabled", "People may ask for access"),
    {
      ...{ name: "project_creation_level", label: "Who creates projects", kind: "one" },
      among: () => [
        ["developer", "Developers and above"],
        ["maintainer", "Maintainers and above"],
        ["owner", "Owners"],
        ["noone", "No one"],
      ],
    },
    {
      ...{ name: "subgroup_creation_level", label: "Who creates subgroups", kind: "one" },
      among: () => [
        ["maintainer", "Maintainers and above"],
        ["owner", "Owners"],
      ],
    },
  ],
};

/** What owners do with a whole place: below its settings, with a question that is asked before. */
const WHOLE = [
  ["archive", "Archive", "Nothing in it can be changed then."],
  ["unarchive", "Unarchive", "It can be changed again then."],
  ["restore", "Restore", "It is not deleted then."],
] as const;

const TRANSFERS = { project: "PUT /projects/:id/transfer", group: "POST /groups/:id/transfer" };

/** The form of the general settings, and what is done with the whole place. */
function generalPages(of: PlaceKind): readonly Route[] {
  const api = `/${of}s/:id`;
  const mayAll = (visit: Visit) =>
    visit.source !== undefined && visit.mayCall(`DELETE ${api}`, visit.source);
  const spec: FormSpec = {
    ...{ of, path: "/-/edit", summary: `Change the settings of a ${of}`, isOfArchived: true },
    shows: { found: `GET ${api}` },
    performs: `PUT ${api}`,
    fields: GENERAL[of],
    title: () => "General settings",
    button: "Save changes",
    to: ({ web_url }) => `${web_url}/-/edit`,
    below: ({ found }, visit) => {
      if (!mayAll(visit)) return undefined;
      const isMarked = Boolean(found.marked_for_deletion_on);
      const offered = isMarked ? "restore" : found.archived ? "unarchive" : "archive";
      const { address } = placeOf(found);
      const buttons = WHOLE.filter(([path]) => path === offered).map(([path, label, question]) =>
        confirmButton(visit, { label, question, action: `${address}/-/${path}` }),
      );
      const deleting =
        !isMarked &&
        confirmButton(visit, {
          label: "Delete",
          question: `Delete ${found.name}, with all that is in it? Without a delay, this can't be undone.`,
          action: `${address}/-/delete`,
        });
      return html`<section><h2>The whole ${of}</h2><div class="actions">${visit.offers(TRANSFERS[of]) && html`<a class="button quiet" href="${mountOf(visit.view)}${address}/-/transfer">Transfer</a>`}${buttons}${deleting}</div></section>`;
    },
  };
  const again = formShown(spec);
  return [
    ...formPage(spec),
    ...WHOLE.map(([path, label]) =>
      actionIn(of, {
        ...{ path: `/-/${path}`, summary: `${label} a ${of}`, input: {}, again },
        ...{ performs: `POST ${api}/${path}`, to: () => "/-/edit" },
      }),
    ),
    actionIn(of, {
      ...{ path: "/-/delete", summary: `Delete a ${of}`, input: {}, again },
      performs: `DELETE ${api}`,
      to: (_, __, { base }) => `${base}/dashboard/${of}s`,
    }),
  ];
}

/** The form by which owners move a place elsewhere. */
const transferPages: readonly Route[] = [
  ...formPage({
    ...{ of: "project", path: "/-/transfer", summary: "Transfer a project elsewhere" },
    performs: TRANSFERS.project,
    fields: [
      {
        ...{ name: "namespace", label: "To the group", kind: "one" },
        among: {
          ...{ from: "GET /projects/:id/transfer_locations", isName: true },
          as: ({ full_path }) => [full_path, full_path],
        },
        hint: "Its address changes; the old one leads to the new one",
      },
    ],
    title: () => "Transfer",
    steps: () => [["Settings", "/-/edit"]],
    button: "Transfer project",
    to: ({ web_url }) => `${web_url}/-/edit`,
  }),
  ...formPage({
    ...{ of: "group", path: "/-/transfer", summary: "Transfer a group elsewhere" },
    performs: TRANSFERS.group,
    fields: [
      {
        ...{ name: "group_id", label: "To the group", kind: "one", isOptional: true },
        among: {
          from: "GET /groups/:id/transfer_locations",
          as: ({ id, full_path }) => [String(id), full_path],
        },
        hint: "None: to the top level. Its address changes, with those of all that is in it",
      },
    ],
    sends: ({ group_id }) => (group_id ? { group_id } : {}),
    title: () => "Transfer",
    steps: () => [["Settings", "/-/edit"]],
    button: "Transfer group",
    to: ({ web_url }) => `${web_url}/-/edit`,
  }),
];

/** Settings of groups and projects. */
export const placeSettingsPages: readonly Route[] = [
  ...generalPages("project"),
  ...generalPages("group"),
  ...transferPages,
  ...settingsPages({
    ...{ of: "project", path: "/-/settings/repository", title: "Repository" },
    ...{ needs: "GET /projects/:id/hooks", kinds: REPOSITORY },
  }),
  ...settingsPages({
    ...{ of: "project", path: "/-/settings/ci_cd", title: "CI/CD" },
    ...{ needs: "GET /projects/:id/hooks", kinds: [variables, runners("project"), triggers] },
  }),
  ...settingsPages({
    ...{ of: "project", path: "/-/hooks", title: "Webhooks" },
    ...{ needs: "GET /projects/:id/hooks", kinds: [hooks("project")] },
  }),
  ...settingsPages({
    ...{ of: "project", path: "/-/settings/access_tokens", title: "Access tokens" },
    ...{ needs: "GET /projects/:id/hooks", kinds: [accessTokens] },
  }),
  ...settingsPages({
    ...{ of: "group", path: "/-/settings/ci_cd", title: "CI/CD" },
    ...{ needs: "GET /groups/:id/variables", kinds: [variables, runners("group")] },
  }),
  ...settingsPages({
    ...{ of: "group", path: "/-/hooks", title: "Webhooks" },
    ...{ needs: "GET /groups/:id/hooks", kinds: [hooks("group")] },
  }),
  ...settingsPages({
    ...{ of: "project", path: "/-/pipeline_schedules", title: "Pipeline schedules" },
    ...{ needs: "GET /projects/:id/pipeline_schedules", kinds: [schedules] },
  }),
  ...settingsPages({
    ...{ of: "group", path: "/-/settings/scim", title: "SCIM" },
    ...{ needs: "GET /groups/:id/scim_tokens", kinds: [scimTokens] },
    above: async (place, { view }) =>
      html`<p class="lead">Your identity provider adds people by <code>${view.base}/api/scim/v2/groups/${place.full_path}</code> and a token.</p>`,
  }),
  ...settingsPages({
    ...{ of: "group", path: "/-/settings/access_tokens", title: "Access tokens" },
    ...{ needs: "GET /groups/:id/variables", kinds: [accessTokens] },
  }),
];
