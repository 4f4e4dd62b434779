import type { Route } from "../core/resource.ts";
import { confirmButton } from "../pages/form.ts";
import { html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { adminPage } from "./admin-parts.ts";
import { workPages } from "./admin-work.ts";
import { type Shown, sitePage, type Visit } from "./declare.ts";
import { type FormField, formPage } from "./forms.ts";
import { at, button, fact, person, state as stateOf, tag } from "./parts.ts";
import { flag, NAME, parts, runners, VISIBILITY } from "./place-settings.ts";
import { onlyAdmins, type SettingKind, saidOf, settingsPages } from "./settings.ts";

const searched = ({ parameters: { search } }: Visit) => (search ? { search } : {});

const USER: readonly FormField[] = [
  NAME,
  { name: "username", label: "User name" },
  { name: "email", label: "E-mail address" },
  { ...flag("admin", "Administrator"), value: ({ found }) => found?.is_admin ?? false },
  flag("external", "External", "Sees only what they are a member of"),
  { name: "note", label: "Note of the administrators", kind: "lines", isOptional: true },
];
const USER_STATES = ["all", "active", "blocked", "inactive", "admins"];

const users: SettingKind = {
  ...{ what: "user", title: "Users", at: "/users", path: "/admin/users", key: "user_id" },
  none: "There are no users.",
  with: (visit) => {
    const { state } = visit.parameters;
    const isKnown = state !== "all" && USER_STATES.includes(String(state));
    const people = { ...searched(visit), without_project_bots: true };
    const filter = state === "inactive" ? "exclude_active" : String(state);
    return { ...people, ...(isKnown && { [filter]: true }) };
  },
  row: (user, visit) => [
    html`${person(user, visit)}${tag(user.is_admin, "administrator")}${user.state !== "active" && html` ${stateOf(user.state)}`}`,
    parts(
      `@${user.username}`,
      user.email,
      user.last_activity_on && `active on ${user.last_activity_on}`,
    ),
  ],
  isOwn: ({ id }, { caller }) => id !== caller?.id,
  buttons: ({ state, username }, visit, path) =>
    state === "blocked_pending_approval"
      ? html`${button(visit, `${path}/approve`, "Approve")}${confirmButton(visit, {
          ...{ label: "Reject", of: username, action: `${path}/reject` },
          question: "Their account is deleted, as if they had not signed up.",
        })}`
      : state === "blocked"
        ? button(visit, `${path}/unblock`, "Unblock")
        : button(visit, `${path}/block`, "Block"),
  fields: [
    ...USER,
    {
      ...{ name: "password", label: "Password", kind: "password", isOptional: true },
      hint: "If empty, they get a mail with a link by which they choose one",
    },
    { ...flag("skip_confirmation", "Their address needs no confirmation"), value: () => true },
  ],
  asks: ({ password, ...sent }) =>
    password ? { ...sent, password } : { ...sent, reset_password: true },
  changes: USER,
  acts: [
    { path: "/block", summary: "Block a user", input: {} },
    { path: "/unblock", summary: "Unblock a user", input: {} },
    { path: "/approve", summary: "Approve a user who has signed up", input: {} },
    { path: "/reject", summary: "Reject a user who has signed up", input: {} },
  ],
  removal: [
    "Delete",
    "Their own projects are deleted; the ghost user gets what they wrote elsewhere.",
  ],
};

/** Groups and projects: their names lead to their own pages, where their owners have settings of them. */
const places = (of: "group" | "project"): SettingKind => ({
  ...{ what: of, title: `${of === "group" ? "Groups" : "Projects"}`, at: `/${of}s` },
  ...{ path: `/admin/${of}s`, key: "id", none: `There are no ${of}s.` },
  with: (visit) => ({ ...searched(visit), ...(of === "group" && { all_available: true }) }),
  row: (place, { view }) => {
    const path = of === "group" ? `/groups/${place.full_path}` : `/${place.path_with_namespace}`;
    return [
      html`<a href="${mountOf(view)}${path}">${place.full_name ?? place.name_with_namespace}</a>${tag(place.archived, "archived")}`,
      parts(place.visibility, place.description),
    ];
  },
  removal: ["Delete", "All that is in it is deleted. Without a delay, this can't be undone."],
});

const ONE_TIME = "Such as 2026-12-01T08:00:00Z";
const MESSAGE: readonly FormField[] = [
  { name: "message", label: "Message", kind: "lines", isMarkdown: true },
  { name: "starts_at", label: "From", isOptional: true, hint: ONE_TIME },
  { name: "ends_at", label: "Until", isOptional: true, hint: ONE_TIME },
  {
    ...{ name: "broadcast_type", label: "Shown as", kind: "one" },
    among: () => [
      ["banner", "Banner"],
      ["notification", "Notification"],
    ],
  },
  {
    ...{ name: "target_path", label: "Only on paths", isOptional: true },
    hint: "A pattern, such as */welcome",
  },
  flag("dismissable", "Can be dismissed"),
];
const messages: SettingKind = {
  ...{ what: "broadcast message", title: "Broadcast messages", at: "/broadcast_messages" },
  ...{ path: "/admin/broadcast_messages", key: "message_id", none: "There are none." },
  row: ({ message, starts_at, ends_at, broadcast_type, active }) => [
    html`${message}${tag(active, "active")}`,
    html`${broadcast_type} · ${at(starts_at)} to ${at(ends_at)}`,
  ],
  fields: MESSAGE,
  changes: MESSAGE,
  keeps: ["starts_at", "ends_at"],
  removal: ["Delete", "Nobody is shown it any more."],
};

const visibility = (of: string): FormField => ({
  ...{ ...VISIBILITY, name: `default_${of}_visibility`, label: `Who sees new ${of}s` },
});

const domains = (name: string, label: string, more = ""): FormField => ({
  ...{ name, label, kind: "lines", isOptional: true },
  hint: ["One a line, such as example.com or *.example.com", more].filter(Boolean).join(". "),
  value: ({ found }) => found[name].join("\n"),
});

/** Application settings: a few of those that are in force. */
const SETTINGS: readonly FormField[] = [
  ...["project", "group", "snippet"].map(visibility),
  {
    ...{ name: "restricted_visibility_levels", label: "Only administrators choose", kind: "many" },
    among: () => [
      ["private", "Private"],
      ["internal", "Internal"],
      ["public", "Public"],
    ],
    value: ({ found }) =>
      found.restricted_visibility_levels.map((one: string) => [
        one,
        `${one.charAt(0).toUpperCase()}${one.slice(1)}`,
      ]),
  },
  { name: "default_branch_name", label: "Default branch of new projects", isOptional: true },
  { name: "default_ci_config_path", label: "Default CI/CD configuration", isOptional: true },
  { name: "default_projects_limit", label: "Personal projects of each new user" },
  flag("can_create_group", "New users may create groups"),
  flag("user_default_external", "New users are external"),
  { name: "max_artifacts_size", label: "Most MiB of a job's artifacts" },
  flag("delayed_project_deletion", "Projects are deleted with a delay"),
  flag("delayed_group_deletion", "Groups are deleted with a delay"),
  { name: "deletion_adjourned_period", label: "That delay, in days" },
  flag("signup_enabled", "People can sign up"),
  flag("require_admin_approval_after_user_signup", "Administrators approve who signs up"),
  {
    ...{ name: "email_confirmation_setting", label: "Addresses of who signs up", kind: "one" },
    among: () => [
      ["off", "Are not confirmed"],
      ["hard", "Are confirmed by a mail before there is an account"],
    ],
  },
  domains("domain_allowlist", "Only these domains can sign up", "Empty: all"),
  flag("domain_denylist_enabled", "Some domains can't sign up"),
  domains("domain_denylist", "Those domains"),
  flag("email_restrictions_enabled", "Some addresses can't sign up"),
  {
    ...{ name: "email_restrictions", label: "Those addresses", isOptional: true },
    hint: "A regular expression of RE2, such as @mail\\d*\\.example\\.com$",
  },
  {
    ...{ name: "after_sign_up_text", label: "What those are told who have signed up" },
    ...{ kind: "lines", isOptional: true, hint: "In Markdown" },
  },
  { name: "minimum_password_length", label: "Fewest characters of a password" },
  flag("password_number_required", "Passwords need a number"),
  flag("password_uppercase_required", "Passwords need an uppercase letter"),
  flag("password_lowercase_required", "Passwords need a lowercase letter"),
  flag("password_symbol_required", "Passwords need a symbol"),
];

const DOMAINS = ["domain_allowlist", "domain_denylist"];
/** Lists of domains are typed one a line. */
const linesOf = ([name, value]: [string, unknown]) =>
  DOMAINS.includes(name)
    ? [
        name,
        String(value)
          .split("\n")
          .map((line) => line.trim())
          .filter(Boolean),
      ]
    : [name, value];

const audit: SettingKind = {
  ...{ what: "event", title: "Audit log", at: "/audit_events", key: "audit_event_id" },
  none: "Nothing has happened yet.",
  row: ({ details: { custom_message, author_name, target_details, entity_path }, created_at }) => [
    parts(custom_message, target_details),
    html`${author_name} · ${entity_path} · ${at(created_at)}`,
  ],
};

const page = (path: string, title: string, kind: SettingKind, filter?: readonly string[]) =>
  settingsPages({ of: "site", path, title, kinds: [kind], ...(filter && { filter }) });

/** Pages of the administration. */
export const adminPages: readonly Route[] = [
  sitePage({
    ...{ path: "/admin", summary: "Show the administration", access: "user", find: onlyAdmins },
    shows: { version: "GET /version" },
    view: async ({ version }, visit) => {
      const counts = await visit.ask("GET /application/statistics", {});
      const rows = Object.entries((counts?.value ?? {}) as Shown).map(([name, count]) =>
        fact(name.replaceAll("_", " "), String(count)),
      );
      return adminPage(visit, {
        title: "Administration",
        body: html`<section><dl>${fact("Version", version.version)}${rows}</dl></section>`,
      });
    },
  }),
  ...page("/admin/users", "Users", users, USER_STATES),
  ...page("/admin/groups", "Groups", places("group"), []),
  ...page("/admin/projects", "Projects", places("project"), []),
  ...page("/admin/runners", "Runners", runners("site")),
  ...page("/admin/broadcast_messages", "Broadcast messages", messages),
  ...formPage({
    ...{ of: "site", path: "/admin/application_settings/general", find: onlyAdmins },
    summary: "Change the settings of the application",
    shows: { found: "GET /application/settings" },
    performs: "PUT /application/settings",
    fields: SETTINGS,
    sends: (sent) => saidOf(Object.fromEntries(Object.entries(sent).map(linesOf)), () => false),
    title: () => "Settings",
    button: "Save changes",
    to: () => "/admin/application_settings/general",
  }),
  ...workPages,
  ...page("/admin/audit_logs", "Audit log", audit),
];
