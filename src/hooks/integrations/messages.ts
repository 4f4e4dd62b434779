import type { HookTrigger } from "../events.ts";

/** What happened, as webhooks are told it. */
export interface Told {
  /** The event of which one must listen for this. */
  readonly event: HookTrigger;
  readonly title: string;
  // biome-ignore lint/suspicious/noExplicitAny: payloads of all kinds, whose makers have the shapes
  readonly body: Readonly<Record<string, any>>;
}

/** A text with a link. */
export interface Link {
  readonly text: string;
  readonly url: string;
}

/** A text of several parts. */
export type Words = readonly (string | Link)[];

/** What a message says of something that happened. */
export interface Message {
  readonly project: Link;
  /** One sentence. */
  readonly summary: Words;
  /** What it is about, and what that says. */
  readonly subject?: Link | undefined;
  /** One text a line. */
  readonly detail: readonly Words[];
  /** In hexadecimal, without `#`. */
  readonly color: string;
}

const NEUTRAL = "345678";
const GOOD = "36a64f";
const BAD = "d00000";
const ISSUE = "c95823";

/** Characters of a description or comment that a message quotes. */
const MOST_QUOTED = 2000;
const quoted = (given: unknown) => {
  const text = String(given ?? "").trim();
  return text.length > MOST_QUOTED ? `${text.slice(0, MOST_QUOTED)}…` : text;
};
const lines = (given: unknown): Words[] => (quoted(given) === "" ? [] : [[quoted(given)]]);

/** The name of no object. */
const NOTHING = /^0+$/;

type Body = Told["body"];
type Say = (body: Body, project: Link) => Omit<Message, "project"> | undefined;

const person = (user: Body | null) => (user ? `${user["name"]} (${user["username"]})` : "Somebody");

const push: Say = (body, project) => {
  const isTag = body["ref"].startsWith("refs/tags/");
  const name = body["ref"].split("/").slice(2).join("/");
  const what = isTag ? "tag" : "branch";
  const who = String(body["user_name"] ?? "Somebody");
  if (NOTHING.test(body["after"])) {
    const summary = [`${who} removed ${what} ${name} from `, project];
    return { summary, detail: [], color: NEUTRAL };
  }
  const ref = { text: name, url: `${project.url}/-/${isTag ? "tags" : "commits"}/${at(name)}` };
  const color = NEUTRAL;
  if (NOTHING.test(body["before"])) {
    return { summary: [`${who} pushed new ${what} `, ref, " to ", project], detail: [], color };
  }
  const range = `${body["before"]}...${body["after"]}`;
  const compare = { text: "Compare changes", url: `${project.url}/-/compare/${range}` };
  return {
    summary: [`${who} pushed to ${what} `, ref, " of ", project, " (", compare, ")"],
    detail: (body["commits"] as Body[]).map((commit) => [
      { text: String(commit["id"]).slice(0, 8), url: commit["url"] },
      `: ${quoted(commit["title"])} - ${commit["author"].name}`,
    ]),
    color,
  };
};

const at = (ref: string) => encodeURIComponent(ref).replaceAll("%2F", "/");

/** What is said of the actions on issues; others are not told. */
const ISSUE_ACTIONS: Readonly<Record<string, string>> = {
  open: "opened",
  close: "closed",
  reopen: "reopened",
};
const REQUEST_ACTIONS: Readonly<Record<string, string>> = {
  ...ISSUE_ACTIONS,
  merge: "merged",
  approved: "approved",
  unapproved: "unapproved",
  approval: "added their approval to",
  unapproval: "removed their approval from",
};

const issue: Say = ({ user, object_attributes: attributes }, project) => {
  const verb = ISSUE_ACTIONS[attributes.action];
  if (!verb) return undefined;
  const subject = { text: `#${attributes.iid} ${attributes.title}`, url: attributes.url };
  return {
    summary: ["[", project, "] Issue ", subject, ` ${verb} by ${person(user)}`],
    ...(verb === "opened" && { subject }),
    detail: verb === "opened" ? lines(attributes.description) : [],
    color: ISSUE,
  };
};

const mergeRequest: Say = ({ user, object_attributes: attributes }, project) => {
  const verb = REQUEST_ACTIONS[attributes.action];
  if (!verb) return undefined;
  const subject = { text: `!${attributes.iid} ${attributes.title}`, url: attributes.url };
  return {
    summary: [`${person(user)} ${verb} merge request `, subject, " in ", project],
    ...(verb === "opened" && { subject }),
    detail: verb === "opened" ? lines(attributes.description) : [],
    color: NEUTRAL,
  };
};

const note: Say = ({ user, object_attributes: attributes, ...body }, project) => {
  if (attributes.action !== "create") return undefined;
  const { issue: on, merge_request: request, snippet, commit } = body;
  const [what, title] = on
    ? [`issue #${on.iid}`, on.title]
    : request
      ? [`merge request !${request.iid}`, request.title]
      : snippet
        ? [`snippet $${snippet.id}`, snippet.title]
        : [`commit ${String(commit?.id).slice(0, 8)}`, commit?.title];
  const link = { text: `commented on ${what}`, url: attributes.url };
  return {
    summary: [`${person(user)} `, link, " in ", project, `: ${title}`],
    detail: lines(attributes.note),
    color: NEUTRAL,
  };
};

const pipeline: Say = ({ user, object_attributes: attributes, builds }, project) => {
  const { status, ref, tag } = attributes;
  const what = tag ? "tag" : "branch";
  const page = `${project.url}/-/${tag ? "tags" : "commits"}/${at(ref)}`;
  const passed = status === "success";
  const failed = (builds as Body[]).filter((job) => job["status"] === "failed").slice(0, 20);
  const duration = attributes.duration === null ? "" : ` in ${attributes.duration} s`;
  return {
    summary: [
      project,
      ": Pipeline ",
      { text: `#${attributes.id}`, url: attributes.url },
      ` of ${what} `,
      { text: ref, url: page },
      ` by ${person(user)} has ${passed ? "passed" : "failed"}${duration}`,
    ],
    detail: failed.map((job) => [
      "Failed: ",
      { text: String(job["name"]), url: `${project.url}/-/jobs/${job["id"]}` },
    ]),
    color: passed ? GOOD : BAD,
  };
};

const WIKI_ACTIONS: Readonly<Record<string, string>> = {
  create: "created",
  update: "edited",
  delete: "deleted",
};

const wikiPage: Say = ({ user, object_attributes: attributes }, project) => ({
  summary: [
    `${person(user)} ${WIKI_ACTIONS[attributes.action]} `,
    { text: "wiki page", url: attributes.url },
    " in ",
    project,
    `: ${attributes.title}`,
  ],
  detail: attributes.action === "delete" ? [] : lines(attributes.message),
  color: NEUTRAL,
});

const DEPLOYMENTS: Readonly<Record<string, string>> = {
  running: "started",
  success: "succeeded",
  failed: "failed",
  canceled: "was canceled",
};

const deployment: Say = (body, project) => {
  const said = DEPLOYMENTS[body["status"]];
  if (!said) return undefined;
  const commit = { text: body["short_sha"], url: body["commit_url"] };
  return {
    summary: [`Deployment to ${body["environment"]} of `, project, ` ${said}`],
    detail: [[commit, `: ${quoted(body["commit_title"])} - ${person(body["user"])}`]],
    color: { success: GOOD, failed: BAD }[body["status"] as string] ?? NEUTRAL,
  };
};

const SAYS: Partial<Record<HookTrigger, Say>> = {
  push,
  tag_push: push,
  issues: issue,
  confidential_issues: issue,
  merge_requests: mergeRequest,
  note,
  confidential_note: note,
  pipeline,
  wiki_page: wikiPage,
  deployment,
};

/** The message about something that happened; `undefined` for what nobody is told of, such as a changed title. */
export function messageOf({ event, body }: Told): Message | undefined {
  const { web_url: url, path_with_namespace: text } = body["project"];
  const project = { text, url };
  const said = SAYS[event]?.(body, project);
  return said && { project, ...said };
}

/** Writes a text of several parts. @param link writes a link @param plain writes what is between links */
export function write(
  words: Words,
  link: (part: Link) => string,
  plain: (text: string) => string,
): string {
  return words.map((part) => (typeof part === "string" ? plain(part) : link(part))).join("");
}
