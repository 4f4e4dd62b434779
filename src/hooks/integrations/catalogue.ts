import type { HookTrigger } from "../events.ts";

/** Something that an integration is told of, as its attribute names it. A row has a number whose bit `n` stands for the entry `n`. */
export const INTEGRATION_EVENTS = [
  "commit_events",
  "push_events",
  "issues_events",
  "incident_events",
  "alert_events",
  "confidential_issues_events",
  "merge_requests_events",
  "tag_push_events",
  "deployment_events",
  "note_events",
  "confidential_note_events",
  "pipeline_events",
  "wiki_page_events",
  "job_events",
  "comment_on_event_enabled",
  "vulnerability_events",
] as const;
export type IntegrationEvent = (typeof INTEGRATION_EVENTS)[number];

/** A setting of an integration. */
export interface Property {
  readonly type: "text" | "flag" | "integer" | "texts";
  /** Whether every request that sets the integration up has to give it. */
  readonly required?: true;
  /** Whether it is encrypted, and never shown. */
  readonly secret?: true;
  /** Whether it is an address with `http:` or `https:`. */
  readonly url?: true;
  readonly values?: readonly string[];
  /** The largest integer that it can be; the smallest is 0. Default: any integer can be given. */
  readonly largest?: number;
  /** What it is until it is given. */
  readonly initial?: string | boolean;
  /** Whether a number is shown as a text, as GitLab's forms store it, and clients expect it. */
  readonly asText?: true;
  /** Whether nothing follows from it, though other settings of the integration have an effect. */
  readonly kept?: true;
}

/** How what happens is sent on, see `SENDERS`. */
export type SenderName =
  | "slack"
  | "pumble"
  | "discord"
  | "teams"
  | "googleChat"
  | "telegram"
  | "matrix"
  | "pushover"
  | "circuit"
  | "webex"
  | "jenkins"
  | "drone"
  | "buildkite"
  | "datadog"
  | "packagist"
  | "pipelineMail"
  | "pushMail";

/** What integrates GitLab with another program. */
export interface Integration {
  readonly title: string;
  readonly properties: Readonly<Record<string, Property>>;
  /** Of what it can be told. */
  readonly events: readonly IntegrationEvent[];
  /** What can be switched besides, and nothing follows from it. */
  readonly keptEvents?: readonly IntegrationEvent[];
  /** Without one, its settings are kept, and nothing follows from them. */
  readonly sender?: SenderName;
  /** Whether it builds what is pushed, so that `git push -o integrations.skip_ci` leaves it out. */
  readonly builds?: true;
  /** Whether groups can't have it. */
  readonly onlyProjects?: true;
  /** Whether it comes with an app of the other side, so that it can't be set up here. */
  readonly unavailable?: true;
}

const text: Property = { type: "text" };
const flag: Property = { type: "flag" };
const required: Property = { type: "text", required: true };
const url: Property = { type: "text", url: true };
const requiredUrl: Property = { ...url, required: true };
const secret: Property = { type: "text", secret: true };
const requiredSecret: Property = { ...secret, required: true };
const keptFlag: Property = { type: "flag", kept: true };
const verified: Property = { type: "flag", initial: true };

/** Which branches it is told of. */
const BRANCHES_TOLD = ["all", "default", "protected", "default_and_protected"] as const;
const LABELS_MATCH = ["match_any", "match_all"] as const;

const branches = (initial: (typeof BRANCHES_TOLD)[number]): Record<string, Property> => ({
  branches_to_be_notified: { type: "text", values: BRANCHES_TOLD, initial },
});
const told = {
  notify_only_broken_pipelines: { type: "flag", initial: true },
  ...branches("default"),
} as const satisfies Record<string, Property>;
const oldTold = { ...told, notify_only_default_branch: flag };
const webhook: Property = { type: "text", required: true, secret: true, url: true };

const CODE_EVENTS = ["push_events", "merge_requests_events", "tag_push_events"] as const;
const CHAT_EVENTS = [
  "push_events",
  "issues_events",
  "confidential_issues_events",
  "merge_requests_events",
  "note_events",
  "confidential_note_events",
  "tag_push_events",
  "pipeline_events",
  "wiki_page_events",
] as const satisfies readonly IntegrationEvent[];
const MORE_EVENTS = [...CHAT_EVENTS, "deployment_events"] as const;

/** The channels of messages: each may be sent elsewhere, by the property of this name with the suffix `_channel`. */
export const CHANNELS = {
  push: "push",
  issues: "issue",
  confidential_issues: "confidential_issue",
  merge_requests: "merge_request",
  note: "note",
  confidential_note: "confidential_note",
  tag_push: "tag_push",
  pipeline: "pipeline",
  wiki_page: "wiki_page",
  deployment: "deployment",
} as const satisfies Partial<Record<HookTrigger, string>>;

const channels = (property: Property, extra: readonly string[] = []): Record<string, Property> =>
  Object.fromEntries([
    ...Object.values(CHANNELS).map((name) => [`${name}_channel`, property]),
    ...extra.map((name) => [`${name}_channel`, { ...property, kept: true }]),
  ]);

const slackLike = (extra: readonly string[]): Record<string, Property> => ({
  webhook,
  username: text,
  channel: text,
  ...oldTold,
  labels_to_be_notified: text,
  labels_to_be_notified_behavior: { type: "text", values: LABELS_MATCH, initial: "match_any" },
  ...channels(text, extra),
});

const tracker = (...more: readonly string[]): Record<string, Property> => ({
  ...Object.fromEntries(more.map((name) => [name, requiredUrl])),
  issues_url: requiredUrl,
  project_url: requiredUrl,
});

const chat = (title: string, sender: SenderName, properties = told): Integration => ({
  title,
  sender,
  properties: { webhook, ...properties },
  events: CHAT_EVENTS,
});

/** The integrations by their slugs. */
export const INTEGRATIONS: Readonly<Record<string, Integration>> = {
  "apple-app-store": {
    title: "Apple App Store Connect",
    properties: {
      app_store_issuer_id: required,
      app_store_key_id: required,
      app_store_private_key_file_name: required,
      app_store_private_key: requiredSecret,
      app_store_protected_refs: { type: "flag", initial: true },
    },
    events: [],
    onlyProjects: true,
  },
  asana: {
    title: "Asana",
    properties: { api_key: requiredSecret, restrict_to_branch: text },
    events: ["push_events"],
  },
  assembla: {
    title: "Assembla",
    properties: { token: requiredSecret, subdomain: text },
    events: ["push_events"],
  },
  bamboo: {
    title: "Atlassian Bamboo",
    properties: {
      bamboo_url: requiredUrl,
      enable_ssl_verification: verified,
      build_key: required,
      username: required,
      password: requiredSecret,
    },
    events: ["push_events"],
  },
  bugzilla: { title: "Bugzilla", properties: tracker("new_issue_url"), events: [] },
  buildkite: {
    title: "Buildkite",
    sender: "buildkite",
    builds: true,
    properties: {
      token: requiredSecret,
      project_url: { ...requiredUrl, kept: true },
      enable_ssl_verification: { ...verified, kept: true },
    },
    events: CODE_EVENTS,
  },
  campfire: {
    title: "Campfire",
    properties: { token: requiredSecret, subdomain: text, room: text },
    events: ["push_events"],
  },
  clickup: { title: "ClickUp", properties: tracker(), events: [] },
  confluence: {
    title: "Confluence Workspace",
    properties: { confluence_url: requiredUrl },
    events: [],
  },
  "custom-issue-tracker": {
    title: "Custom issue tracker",
    properties: tracker("new_issue_url"),
    events: [],
  },
  datadog: {
    title: "Datadog",
    sender: "datadog",
    properties: {
      api_key: requiredSecret,
      datadog_ci_visibility: { type: "flag", initial: true },
      api_url: url,
      datadog_env: text,
      datadog_service: text,
      datadog_site: { type: "text", initial: "datadoghq.com" },
      datadog_tags: text,
      archive_trace_events: keptFlag,
    },
    events: ["pipeline_events", "job_events"],
  },
  "diffblue-cover": {
    title: "Diffblue Cover",
    properties: {
      diffblue_license_key: requiredSecret,
      diffblue_access_token_name: required,
      diffblue_access_token_secret: requiredSecret,
    },
    events: [],
  },
  discord: {
    title: "Discord Notifications",
    sender: "discord",
    // Its channels are webhooks of their own.
    properties: {
      webhook,
      ...told,
      ...channels({ ...secret, url: true }, ["group_mentions", "group_confidential_mentions"]),
    },
    events: MORE_EVENTS,
  },
  "drone-ci": {
    title: "Drone",
    sender: "drone",
    builds: true,
    properties: {
      token: requiredSecret,
      drone_url: requiredUrl,
      enable_ssl_verification: verified,
    },
    events: CODE_EVENTS,
  },
  "emails-on-push": {
    title: "Emails on push",
    sender: "pushMail",
    properties: {
      recipients: required,
      disable_diffs: keptFlag,
      send_from_committer_email: keptFlag,
      ...branches("all"),
    },
    events: ["push_events", "tag_push_events"],
  },
  ewm: { title: "EWM", properties: tracker("new_issue_url"), events: [] },
  "external-wiki": {
    title: "External wiki",
    properties: { external_wiki_url: requiredUrl },
    events: [],
  },
  "git-guardian": { title: "GitGuardian", properties: { token: requiredSecret }, events: [] },
  github: {
    title: "GitHub",
    properties: { token: requiredSecret, repository_url: requiredUrl, static_context: flag },
    events: ["pipeline_events"],
    onlyProjects: true,
  },
  "gitlab-slack-application": {
    title: "GitLab for Slack app",
    properties: {},
    events: [],
    unavailable: true,
  },
  "google-play": {
    title: "Google Play",
    properties: {
      package_name: required,
      service_account_key: requiredSecret,
      service_account_key_file_name: required,
      google_play_protected_refs: { type: "flag", initial: true },
    },
    events: [],
    onlyProjects: true,
  },
  "hangouts-chat": chat("Google Chat", "googleChat", oldTold),
  harbor: {
    title: "Harbor",
    properties: {
      url: requiredUrl,
      project_name: required,
      username: required,
      password: requiredSecret,
    },
    events: [],
  },
  irker: {
    title: "irker (IRC gateway)",
    properties: {
      recipients: required,
      default_irc_uri: text,
      server_host: text,
      server_port: { type: "integer", largest: 65_535 },
      colorize_messages: flag,
    },
    events: ["push_events"],
  },
  jenkins: {
    title: "Jenkins",
    sender: "jenkins",
    builds: true,
    properties: {
      jenkins_url: requiredUrl,
      project_name: required,
      enable_ssl_verification: verified,
      username: text,
      password: secret,
    },
    events: CODE_EVENTS,
    onlyProjects: true,
  },
  jira: {
    title: "Jira issues",
    properties: {
      url: requiredUrl,
      api_url: url,
      username: text,
      password: requiredSecret,
      jira_auth_type: { type: "integer", largest: 1 },
      jira_issue_prefix: text,
      jira_issue_regex: text,
      jira_issue_transition_automatic: flag,
      jira_issue_transition_id: text,
      issues_enabled: flag,
      project_keys: { type: "texts" },
      vulnerabilities_enabled: flag,
      vulnerabilities_issuetype: { type: "integer" },
      project_key: text,
      customize_jira_issue_enabled: flag,
    },
    events: ["commit_events", "merge_requests_events", "comment_on_event_enabled"],
  },
  "jira-cloud-app": {
    title: "GitLab for Jira Cloud app",
    properties: {},
    events: [],
    unavailable: true,
  },
  matrix: {
    title: "Matrix notifications",
    sender: "matrix",
    properties: { token: requiredSecret, room: required, hostname: url, ...told },
    events: CHAT_EVENTS,
  },
  mattermost: {
    title: "Mattermost notifications",
    sender: "slack",
    properties: slackLike([]),
    events: MORE_EVENTS,
  },
  "mattermost-slash-commands": {
    title: "Mattermost slash commands",
    properties: { token: requiredSecret },
    events: [],
  },
  "microsoft-teams": chat("Microsoft Teams notifications", "teams", oldTold),
  packagist: {
    title: "Packagist",
    sender: "packagist",
    properties: { username: required, token: requiredSecret, server: url },
    events: CODE_EVENTS,
  },
  phorge: { title: "Phorge", properties: tracker(), events: [] },
  "pipelines-email": {
    title: "Pipeline status emails",
    sender: "pipelineMail",
    properties: { recipients: required, ...oldTold },
    events: ["pipeline_events"],
  },
  pivotaltracker: {
    title: "Pivotal Tracker",
    properties: { token: requiredSecret, restrict_to_branch: text },
    events: ["push_events"],
  },
  pumble: chat("Pumble", "pumble"),
  pushover: {
    title: "Pushover",
    sender: "pushover",
    properties: {
      api_key: requiredSecret,
      user_key: requiredSecret,
      priority: { type: "text", required: true, values: ["-2", "-1", "0", "1"] },
      device: text,
      sound: text,
    },
    events: ["push_events"],
  },
  redmine: { title: "Redmine", properties: tracker("new_issue_url"), events: [] },
  slack: {
    title: "Slack notifications",
    sender: "slack",
    properties: slackLike(["alert", "incident"]),
    events: MORE_EVENTS,
    keptEvents: ["alert_events", "commit_events", "incident_events", "job_events"],
  },
  "slack-slash-commands": {
    title: "Slack slash commands",
    properties: { token: requiredSecret },
    events: [],
  },
  "squash-tm": {
    title: "Squash TM",
    properties: { url: requiredUrl, token: secret },
    events: ["issues_events", "confidential_issues_events"],
  },
  teamcity: {
    title: "JetBrains TeamCity",
    properties: {
      teamcity_url: requiredUrl,
      enable_ssl_verification: verified,
      build_type: required,
      username: required,
      password: requiredSecret,
    },
    events: ["push_events", "merge_requests_events"],
  },
  telegram: {
    title: "Telegram",
    sender: "telegram",
    properties: {
      token: requiredSecret,
      room: required,
      hostname: url,
      thread: { type: "integer", asText: true },
      ...told,
    },
    events: CHAT_EVENTS,
  },
  "unify-circuit": chat("Unify Circuit", "circuit"),
  "webex-teams": chat("Webex Teams", "webex"),
  youtrack: { title: "YouTrack", properties: tracker(), events: [] },
  zentao: {
    title: "ZenTao",
    properties: {
      url: requiredUrl,
      api_url: url,
      api_token: requiredSecret,
      zentao_product_xid: required,
    },
    events: [],
  },
};

/** The events of an integration that can be switched. */
export const switchable = ({
  events,
  keptEvents = [],
}: Integration): readonly IntegrationEvent[] => [...events, ...keptEvents];

/** What an integration is told of until a request says otherwise. */
const RARE: readonly IntegrationEvent[] = [
  "deployment_events",
  "incident_events",
  "vulnerability_events",
];

/** The events that an integration is told of until somebody chooses others, as the number in its row. */
export const INITIAL_EVENTS = INTEGRATION_EVENTS.reduce(
  (mask, event, bit) => (RARE.includes(event) ? mask : mask | (1 << bit)),
  0,
);

/** Whether something that has an effect here depends on a property of some integration. */
export const hasEffect = ({ sender }: Integration, { kept: isKept }: Property): boolean =>
  sender !== undefined && !isKept;
