import { file } from "../core/http/upload.ts";
import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { field, form, formText, oneOf } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { list } from "../pages/list.ts";
import { mountOf } from "../pages/navigation.ts";
import { AVATAR_PART, CHANGE_PROFILE, MAKE_PRIMARY } from "../resources/accounts/actions.ts";
import { actionIn, type Shown, type Visit } from "./declare.ts";
import { type FormField, type FormSpec, formPage, formShown } from "./forms.ts";
import { asked, at, placeOf, row, tag } from "./parts.ts";
import { EXPIRES, flag, parts } from "./place-settings.ts";
import { type SettingKind, settingsPages } from "./settings.ts";

/** A field of one line that may be empty. */
const line = (name: string, label: string, hint?: string): FormField => ({
  ...{ name, label, isOptional: true },
  ...(hint !== undefined && { hint }),
});

/** One of the caller's confirmed addresses, or none. */
const address = (name: string, label: string): FormField => ({
  ...{ name, label, kind: "one" },
  among: ({ account, emails: further }) => [
    ["", "The usual one, or none"],
    [account.email, account.email],
    ...(further as readonly Shown[])
      .filter(({ confirmed_at }) => confirmed_at !== null)
      .map(({ email }): readonly [string, string] => [email, email]),
  ],
});
/** What shows them. */
const ADDRESSES = { account: "GET /user", emails: "GET /user/emails" };

const PROFILE = "/-/user_settings/profile";
const profile: FormSpec = {
  ...{ of: "account", path: PROFILE, summary: "Change the caller's profile" },
  shows: { ...ADDRESSES, found: "GET /user", status: "GET /user/status" },
  performs: CHANGE_PROFILE,
  fields: [
    { name: "name", label: "Full name" },
    line("pronouns", "Pronouns"),
    { ...line("bio", "About you"), kind: "lines" },
    line("job_title", "Job title"),
    line("organization", "Organization"),
    line("location", "Location"),
    line("website_url", "Website", "Such as https://example.com"),
    address("public_email", "Address that everybody sees"),
    address("commit_email", "Address of commits that are made here"),
    ...[
      ["linkedin", "LinkedIn"],
      ["twitter", "X (Twitter)"],
      ["discord", "Discord"],
      ["github", "GitHub"],
    ].map(([name = "", label = ""]) => line(name, label)),
    flag("private_profile", "Private profile", "Others don't see what you do, and since when"),
  ],
  title: () => "Profile",
  button: "Save changes",
  to: () => PROFILE,
  below: ({ found, status }, visit) =>
    html`<section><h2>Your picture</h2><img src="${found.avatar_url}" alt="Your picture now" width="64" height="64">
${form(visit, `${PROFILE}/picture`, html`${field({ ...PICTURE, type: "file", required: false })}<button>Save picture</button>`, { hasFile: true })}</section>
<section><h2>Your status</h2>${form(visit, `${PROFILE}/status`, html`${field({ ...STATUS, value: String(visit.parameters["message"] ?? status.message ?? ""), error: visit.refusal?.errors["message"], required: false })}${oneOf({ ...AVAILABILITY, value: status.availability })}<button>Set status</button>`)}</section>`,
};
const PICTURE = {
  ...{ name: "avatar", label: "Picture" },
  hint: "PNG, JPEG, GIF, WebP or another format of pictures, at most 200 KiB; none takes it away",
};
const STATUS = { name: "message", label: "What you are doing", hint: "Everybody sees it" };
const AVAILABILITY = {
  ...{ name: "availability", label: "Whether you are busy" },
  options: [
    ["not_set", "No"],
    ["busy", "Yes"],
  ] as const,
};

const EMAILS = "/-/profile/emails";
const emails: SettingKind = {
  ...{ what: "address", title: "Further addresses", at: "/emails", path: EMAILS },
  ...{ key: "email_id", none: "You have no other addresses." },
  row: ({ email, confirmed_at }) => [
    html`${email}${tag(confirmed_at === null, "to be confirmed")}`,
    confirmed_at === null
      ? "Open the link in the mail that was sent there; remove and add it again for another mail"
      : html`confirmed ${at(confirmed_at)}`,
  ],
  buttons: ({ id, email, confirmed_at }, { view }) =>
    confirmed_at === null
      ? html``
      : html`<a class="button quiet" href="${mountOf(view)}${EMAILS}/${id}/primary" aria-label="Make ${email} primary">Make primary</a>`,
  fields: [{ name: "email", label: "E-mail address", hint: "You get a mail with a link there" }],
  removal: ["Remove", "You get no mails there any more."],
};

const sshKeys: SettingKind = {
  ...{ what: "SSH key", title: "Keys", at: "/keys", path: "/-/user_settings/ssh_keys" },
  ...{ key: "key_id", none: "You have none." },
  row: ({ title, key, usage_type, expires_at, last_used_at }) => [
    title,
    html`<code>${String(key).slice(0, 40)}…</code><br>${parts(USES[usage_type], expires_at ? `expires ${String(expires_at).slice(0, 10)}` : "never expires")} · ${last_used_at ? html`last used ${at(last_used_at)}` : "never used"}`,
  ],
  fields: [
    {
      ...{ name: "key", label: "Key", kind: "lines" },
      hint: "The public one, such as ssh-ed25519 AAAA…",
    },
    { name: "title", label: "Title", hint: "What it is on, so that you recognize it later" },
    {
      ...{ name: "usage_type", label: "Used for", kind: "one" },
      among: () => Object.entries(USES),
    },
    EXPIRES,
  ],
  removal: ["Delete", "Whoever has it can't read and push with it any more."],
};
const USES: Readonly<Record<string, string>> = {
  auth_and_signing: "Signing in and signing",
  auth: "Signing in",
  signing: "Signing",
};

const gpgKeys: SettingKind = {
  ...{ what: "GPG key", title: "Keys", at: "/gpg_keys", path: "/-/user_settings/gpg_keys" },
  ...{ key: "gpg_key_id", none: "You have none." },
  row: ({ id, created_at }) => [`Key ${id}`, html`added ${at(created_at)}`],
  fields: [
    {
      ...{ name: "key", label: "Key", kind: "code" },
      hint: "The public one, from BEGIN PGP PUBLIC KEY BLOCK to its END",
    },
  ],
  acts: [{ path: "/revoke", summary: "Revoke a GPG key of the caller", input: {} }],
  buttons: (key, visit, path) =>
    form(
      visit,
      `${path}/revoke`,
      html`<button class="quiet">Revoke<span class="unseen"> key ${key.id}</span></button>`,
    ),
  removal: ["Remove", "Commits that it has signed stay verified; to take that back, revoke it."],
};

/** How much somebody is told. */
const LEVELS: readonly (readonly [string, string])[] = [
  ["global", "As everywhere"],
  ["watch", "Everything"],
  ["participating", "What you take part in, and where you are mentioned"],
  ["mention", "Where you are mentioned"],
  ["disabled", "Nothing"],
  ["custom", "What is chosen here, and what you take part in"],
];
/** What can be chosen. */
const CHOSEN: readonly (readonly [string, string])[] = [
  ["new_note", "Comments"],
  ["new_issue", "New issues"],
  ["reopen_issue", "Issues that are reopened"],
  ["close_issue", "Issues that are closed"],
  ["reassign_issue", "Issues that are assigned to others"],
  ["issue_due", "Issues that are due"],
  ["new_merge_request", "New merge requests"],
  ["push_to_merge_request", "Pushes to merge requests"],
  ["reopen_merge_request", "Merge requests that are reopened"],
  ["close_merge_request", "Merge requests that are closed"],
  ["reassign_merge_request", "Merge requests that are assigned to others"],
  ["merge_merge_request", "Merge requests that are merged"],
  ["failed_pipeline", "Pipelines that fail"],
  ["success_pipeline", "Pipelines that succeed"],
];

const level = (levels: typeof LEVELS): FormField => ({
  ...{ name: "level", label: "You get mails about", kind: "one" },
  among: () => levels,
});

const NOTIFICATIONS = "/-/profile/notifications";
/** Groups or projects of the caller, with the forms of what they are told of these. */
async function placesSection(visit: Visit, of: "groups" | "projects"): Promise<Html> {
  const parameter = `${of}_page`;
  const mine = of === "groups" ? { min_access_level: 10 } : { membership: true };
  const found = await asked(visit, `GET /${of}`, { parameter, with: { ...mine, simple: true } });
  const shown =
    found &&
    list(visit, found, {
      ...{ path: NOTIFICATIONS, parameter, none: `You are a member of no ${of}.` },
      row: (place: Shown) => {
        const { name, address: path } = placeOf(place);
        return row(
          html`${name}`,
          undefined,
          html`<a class="button quiet" href="${mountOf(visit.view)}${path}/-/notification_settings" aria-label="Change for ${name}">Change</a>`,
        );
      },
    });
  return html`<section><h2>${of === "groups" ? "Groups" : "Projects"}</h2>${shown}</section>`;
}

const ofPlace = (of: "group" | "project"): FormSpec => ({
  ...{ of, path: "/-/notification_settings" },
  summary: `Change what the caller is told of a ${of}`,
  shows: { found: `GET /${of}s/:id/notification_settings` },
  performs: `PUT /${of}s/:id/notification_settings`,
  fields: [
    level(LEVELS),
    ...CHOSEN.map(
      ([name, label]): FormField => ({
        ...flag(name, label),
        value: ({ found }) => found.events?.[name] ?? false,
      }),
    ),
  ],
  title: () => "Notifications",
  button: "Save changes",
  to: () => "/-/notification_settings",
});

const picture = formShown(profile);

/** Pages by which people look after their own accounts: what is not about signing in. */
export const accountPages: readonly Route[] = [
  ...formPage(profile),
  actionIn("account", {
    path: `${PROFILE}/picture`,
    summary: "Change the caller's picture, or take it away",
    input: {},
    fields: { avatar: param.optional(file()) },
    upload: AVATAR_PART,
    performs: "PUT /user/avatar",
    sends: ({ avatar = null }) => ({ avatar }),
    ...{ again: picture, to: () => PROFILE },
  }),
  actionIn("account", {
    path: `${PROFILE}/status`,
    summary: "Say what the caller is doing",
    input: {},
    fields: { message: param.optional(formText), availability: param.optional(formText) },
    performs: "PUT /user/status",
    ...{ again: picture, to: () => PROFILE },
  }),
  ...settingsPages({
    ...{ of: "account", path: EMAILS, title: "E-mails", kinds: [emails] },
    above: async (_, visit) => {
      const own = (await visit.ask("GET /user", {}))?.value as Shown;
      return html`<section><h2>Address of your account</h2><p>${own.email}</p></section>`;
    },
  }),
  ...formPage({
    ...{ of: "account", path: `${EMAILS}/:email_id/primary` },
    summary: "Make one of the caller's addresses that of their account",
    input: { email_id: param.recordId() },
    shows: { found: "GET /user/emails/:email_id" },
    performs: MAKE_PRIMARY,
    fields: [
      {
        ...{ name: "current_password", label: "Your password", kind: "password" },
        isOptional: true,
        hint: "If you have none here, sign in anew just before",
      },
    ],
    title: ({ found }) => `Make ${found.email} primary`,
    button: "Make primary",
    sends: ({ email_id, current_password = "" }) => ({ email_id, current_password }),
    to: () => EMAILS,
  }),
  ...settingsPages({
    ...{ of: "account", path: "/-/user_settings/ssh_keys", title: "SSH keys", kinds: [sshKeys] },
  }),
  ...settingsPages({
    ...{ of: "account", path: "/-/user_settings/gpg_keys", title: "GPG keys", kinds: [gpgKeys] },
  }),
  ...formPage({
    ...{ of: "account", path: NOTIFICATIONS, summary: "Change what the caller is told" },
    shows: { ...ADDRESSES, found: "GET /notification_settings" },
    performs: "PUT /notification_settings",
    fields: [
      level(LEVELS.filter(([name]) => name !== "global" && name !== "custom")),
      address("notification_email", "Sent to"),
    ],
    title: () => "Notifications",
    button: "Save changes",
    to: () => NOTIFICATIONS,
    below: async (_, visit) =>
      html`${await placesSection(visit, "groups")}${await placesSection(visit, "projects")}`,
  }),
];

/** Pages of what the caller is told of a group or project. */
export const notificationPages: readonly Route[] = (["group", "project"] as const).flatMap((of) =>
  formPage(ofPlace(of)),
);
