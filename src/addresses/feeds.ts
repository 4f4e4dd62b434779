import { findVisible, type Source } from "../core/access/source.ts";
import * as param from "../core/input.ts";
import { type Page, type RowPage, withoutCredentials } from "../core/pagination.ts";
import { type Context, RawReply, type Route } from "../core/resource.ts";
import { html } from "../pages/html.ts";
import { commitResource } from "../resources/commits/index.ts";
import { filterOf, filters } from "../resources/events/filters.ts";
import { eventResource } from "../resources/events/index.ts";
import * as events from "../resources/events/list.ts";
import { issueResource } from "../resources/issues/index.ts";
import { mergeRequestResource } from "../resources/merge-requests/index.ts";
import { releaseResource } from "../resources/releases/index.ts";
import { requireCommit } from "../resources/repositories/open.ts";
import { tagResource } from "../resources/tags/index.ts";
import { isHidden, requireUserNamed } from "../resources/users/rules.ts";
import type { Database } from "../store/port.ts";
import { authorOf, entriesOfEvents, type ShownEvent, type ShownUser } from "./activity.ts";
import { atomOf, type Entry } from "./atom.ts";
import { calendarOf, type DueEvent } from "./calendar.ts";
import { openRevision, type Revision } from "./revision.ts";

type Listing = Context<param.Attributes, Database, unknown, "anyone", Source | undefined>;

/** Issues of a calendar at most, as in GitLab. */
const MOST_DUE = 100;

/** What the elements of GitLab's feeds that Atom does not have are in, so that the feed stays a valid one. */
const OTHERS = "urn:gitlab:feed";

/** An issue or merge request as lists of the API show it. */
interface ShownIssuable {
  readonly id: number;
  readonly title: string;
  readonly description: string | null;
  readonly state: string;
  readonly updated_at: string;
  readonly web_url: string;
  readonly author: ShownUser;
  readonly labels: readonly string[];
  readonly milestone: { readonly title: string } | null;
  readonly assignees: readonly ShownUser[];
  readonly due_date?: string | null;
  readonly references: { readonly full: string };
}

interface ShownCommit {
  readonly title: string;
  readonly message: string;
  readonly author_name: string;
  readonly author_email: string;
  readonly committed_date: string;
  readonly web_url: string;
}

interface ShownTag {
  readonly name: string;
  readonly message: string;
  readonly created_at: string | null;
  readonly commit: ShownCommit | null;
  readonly release: { readonly description: string | null } | null;
}

interface ShownRelease {
  readonly tag_name: string;
  readonly name: string;
  readonly description: string | null;
  readonly released_at: string;
  readonly author: ShownUser;
}

function entryOfIssuable(shown: ShownIssuable): Entry {
  const { title, description, state, updated_at, web_url, labels, milestone, due_date } = shown;
  return {
    id: web_url,
    title,
    url: web_url,
    updated: updated_at,
    author: authorOf(shown.author),
    summary: title,
    content: description,
    categories: labels,
    more: [
      html`<state xmlns="${OTHERS}">${state}</state>`,
      html`${milestone ? html`<milestone xmlns="${OTHERS}">${milestone.title}</milestone>` : undefined}`,
      html`${due_date ? html`<due_date xmlns="${OTHERS}">${due_date}</due_date>` : undefined}`,
      html`<assignees xmlns="${OTHERS}">${shown.assignees.map(({ name }) => html`<assignee><name>${name}</name></assignee>`)}</assignees>`,
    ],
  };
}

const writerOf = ({
  author_name,
  author_email,
}: Pick<ShownCommit, "author_name" | "author_email">) => ({
  name: author_name,
  email: author_email,
});

function entryOfCommit({ title, message, web_url, ...commit }: ShownCommit): Entry {
  const rest = message.slice(title.length).trim();
  return {
    id: web_url,
    title,
    url: web_url,
    updated: commit.committed_date,
    author: writerOf(commit),
    summary: rest,
  };
}

/** The address of a page of a project. */
const pageOf = (context: Listing, path: string) =>
  `${context.view.base}/${ownerOf(context)}/-/${path}`;

/** What a feed tells, without its addresses as a feed. */
interface Told {
  readonly title: string;
  /** Whose it is. */
  readonly author: string;
  readonly entries: readonly Entry[];
}

/** Answers with a feed, which is of the page at the same address without the format. */
function replyWith(context: Listing, told: Told, hasNext: boolean): RawReply {
  const { request, view, page } = context;
  const query = new URLSearchParams(request.query);
  const at = (changes: Readonly<Record<string, string>>) => {
    const kept = withoutCredentials(query).filter(([name]) => !Object.hasOwn(changes, name));
    const sent = String(new URLSearchParams([...kept, ...Object.entries(changes)]));
    return `${view.base}${request.path}${sent && `?${sent}`}`;
  };
  const feed = {
    ...told,
    self: at({}),
    next: hasNext ? at({ page: String(page.number + 1) }) : undefined,
    alternate: `${view.base}${request.path.replace(/\.atom$/, "")}`,
  };
  return new RawReply(
    200,
    { ...KEPT_PRIVATE, "content-type": `${ATOM}; charset=utf-8` },
    atomOf(feed),
  );
}

const ATOM = "application/atom+xml";
const CALENDAR = "text/calendar";
const KEPT_PRIVATE = { "cache-control": "max-age=0, private, must-revalidate" };

/** A list of the API that is read as a feed, or as a calendar. */
interface ReadAs {
  readonly summary: string;
  /** Attributes of the list that it does not have. */
  readonly without?: readonly string[];
  /** The values of attributes that are not sent. */
  readonly defaults?: (context: Listing) => Readonly<Record<string, unknown>>;
  /** How many rows it has. Default: as many as the request asks for. */
  readonly size?: number;
  readonly answersWith: string;
  readonly reply: (
    context: Listing,
    shown: readonly unknown[],
    hasNext: boolean,
  ) => RawReply | Promise<RawReply>;
}

const API_ROUTES = [
  ...[eventResource, issueResource, mergeRequestResource],
  ...[commitResource, tagResource, releaseResource],
].flatMap((resource) => resource.routes);

/**
 * A list of the API at another address, whose rows are written in another way: who may read them, filters and pages are the
 * list's. It has the first rows of a page whose texts are too large to be read at once.
 *
 * @throws TypeError if there is no such list
 */
function readAs(list: string, address: string, as: ReadAs): Route {
  const route = API_ROUTES.find(({ method, path }) => method === "GET" && path === list);
  if (!route) throw new TypeError(`There is no GET ${list}`);
  const { summary, without = [], defaults, size, answersWith, reply } = as;
  const input = Object.fromEntries(
    Object.entries(route.input ?? {}).filter(([name]) => !without.includes(name)),
  );
  return {
    ...route,
    path: address,
    summary,
    // What is a caller's own is nobody's otherwise.
    ...(!route.source && { access: "user" }),
    input,
    answersWith,
    isList: false,
    feedTokens: true,
    handle: async (context) => {
      const page: Page = size ? { ...context.page, size, maxRows: size } : context.page;
      const query = new URLSearchParams(context.request.query);
      const unsent = Object.entries(defaults?.(context) ?? {}).filter(([name]) => !query.get(name));
      const sent = { ...Object.fromEntries(unsent), ...given(context.input) };
      const listed = (await route.handle({ ...context, page, input: sent })) as RowPage;
      const shown = listed.rows.map((row) => context.presenter.value(row, context.view));
      return reply(context, shown, listed.hasNext);
    },
  };
}

/** The attributes that were sent. */
const given = (input: object) =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));

/** Whose a feed is: the path of a group or project, or the caller's name. */
const ownerOf = ({ source, caller }: Listing) => source?.fullPath ?? caller?.username ?? "";

const activityFeed = readAs("/events", "/dashboard/projects.atom", {
  summary: "Get a feed of what happens in the caller's projects",
  without: ["scope"],
  defaults: () => ({ scope: "all" }),
  answersWith: ATOM,
  reply: async (context, shown, hasNext) => {
    const entries = await entriesOfEvents(context, shown as ShownEvent[]);
    return replyWith(context, { title: "Activity", author: ownerOf(context), entries }, hasNext);
  },
});

/** What a path names: a project, a group or else a user. @throws ApiError 404 */
async function activityOf({ db, viewer }: Listing, path: string) {
  for (const kind of ["project", "group"] as const) {
    const found = await findVisible(db, kind, path, viewer);
    if (!found) continue;
    const { id, fullPath: name } = found;
    return { name, scope: kind === "project" ? { projectId: id } : { groupId: id } };
  }
  const user = await requireUserNamed(db, path);
  return { name: user.name, scope: isHidden(user, viewer) ? undefined : { authorId: user.id } };
}

const activityFeeds = (["/:id*.atom", "/groups/:id*.atom"] as const).map(
  (path): Route => ({
    ...activityFeed,
    path,
    summary: "Get a feed of what happens in a project or group, or of what a user does",
    access: "anyone",
    input: { id: param.anyText({ max: 1024 }), ...filters },
    handle: async (context) => {
      const { db, input, page, viewer, view, presenter } = context;
      const { id, ...filter } = input as param.Input<typeof filters> & { id: string };
      const { name, scope } = await activityOf(context, id);
      const listed =
        scope && (await events.list(db, presenter, page, viewer, scope, filterOf(filter)));
      const shown = (listed?.rows ?? []).map((row) => presenter.value(row, view));
      const entries = await entriesOfEvents(context, shown as ShownEvent[]);
      const told = { title: `${name} activity`, author: name, entries };
      return replyWith(context, told, listed?.hasNext ?? false);
    },
  }),
);

const WITHOUT = ["with_labels_details", "view"];

/** Whose issues a caller's own feed has who does not say so: those that they have to do. */
const ownIssues = ({ input, source }: Listing) => {
  const isNamed = Object.keys(given(input)).some((name) => /^(author|assignee)_/.test(name));
  return { state: "opened", ...(!source && { scope: isNamed ? "all" : "assigned_to_me" }) };
};

function issuableFeed(list: string, address: string, of: string, many: string): Route {
  return readAs(list, `${address}.atom`, {
    summary: `Get a feed of ${of}`,
    without: WITHOUT,
    defaults: ownIssues,
    answersWith: ATOM,
    reply: (context, shown, hasNext) => {
      const author = ownerOf(context);
      const entries = (shown as ShownIssuable[]).map(entryOfIssuable);
      return replyWith(context, { title: `${author} ${many}`, author, entries }, hasNext);
    },
  });
}

/** The paths of the lists of issues: in the API, as addresses, and what they are of. */
const ISSUES = [
  ["/issues", "/dashboard/issues", "the caller's issues or, with filters, all that they see"],
  ["/groups/:id/issues", "/groups/:id*/-/issues", "the issues of a group and its subgroups"],
  ["/projects/:id/issues", "/:id*/-/issues", "the issues of a project"],
] as const;

const issueFeeds = ISSUES.map(([list, address, of]) => issuableFeed(list, address, of, "issues"));

const issueCalendars = ISSUES.map(([list, address, of]) =>
  readAs(list, `${address}.ics`, {
    summary: `Get a calendar of the days on which issues are due: ${of}`,
    without: WITHOUT,
    defaults: (context) => ({ ...ownIssues(context), due_date: "any", order_by: "due_date" }),
    size: MOST_DUE,
    answersWith: CALENDAR,
    reply: (context, shown) => {
      const due = (shown as ShownIssuable[]).flatMap((issue) => dueOf(issue, context.view.host));
      const headers = {
        ...KEPT_PRIVATE,
        "content-type": `${CALENDAR}; charset=utf-8`,
        "content-disposition": "inline",
      };
      return new RawReply(200, headers, calendarOf(`${ownerOf(context)} issues`, due));
    },
  }),
);

function dueOf(issue: ShownIssuable, host: string): readonly DueEvent[] {
  const { id, title, due_date: day, updated_at, web_url: url, references } = issue;
  if (!day) return [];
  const project = references.full.slice(0, references.full.lastIndexOf("#"));
  return [
    {
      uid: `issue-${id}@${host}`,
      day,
      changed: Date.parse(updated_at),
      summary: `${title} (in ${project})`,
      description: `Find out more at ${url}`,
      url,
    },
  ];
}

const allCommits = readAs("/projects/:id/repository/commits", "/:id*/-/commits/:place*.atom", {
  summary: "Get a feed of the commits of a branch, tag or commit, or of those that changed a file",
  without: ["ref_name", "path", "all"],
  answersWith: ATOM,
  reply: (context, shown, hasNext) => {
    const author = ownerOf(context);
    const title = `${author}:${context.input["ref_name"]} commits`;
    const entries = (shown as ShownCommit[]).map(entryOfCommit);
    return replyWith(context, { title, author, entries }, hasNext);
  },
});

const commitFeed: Route = {
  ...allCommits,
  input: { ...allCommits.input, place: param.anyText({ max: 4096 }) },
  prepare: ({ place }, preparing) =>
    openRevision({ ...preparing, source: preparing.source as Source }, place as string),
  handle: async (context) => {
    const { opened, ref, rest } = context.prepared as Revision;
    // There is no such page, where the list is empty.
    await requireCommit(opened, ref);
    const input = { ...given(context.input), ref_name: ref, ...(rest !== "" && { path: rest }) };
    return allCommits.handle({ ...context, prepared: opened, input });
  },
};

const projectFeeds: readonly Route[] = [
  issuableFeed(
    "/projects/:id/merge_requests",
    "/:id*/-/merge_requests",
    "the merge requests of a project",
    "merge requests",
  ),
  readAs("/projects/:id/repository/tags", "/:id*/-/tags.atom", {
    summary: "Get a feed of the tags of a project",
    answersWith: ATOM,
    reply: (context, shown, hasNext) => {
      const author = ownerOf(context);
      const entries = (shown as ShownTag[]).map((tag): Entry => {
        const url = pageOf(context, `tags/${encodeURIComponent(tag.name)}`);
        const { commit, message, release } = tag;
        const updated = tag.created_at ?? commit?.committed_date ?? "1970-01-01T00:00:00Z";
        return {
          id: url,
          title: tag.name,
          url,
          updated,
          author: commit ? writerOf(commit) : undefined,
          summary: message,
          content: release?.description,
        };
      });
      return replyWith(context, { title: `${author} tags`, author, entries }, hasNext);
    },
  }),
  readAs("/projects/:id/releases", "/:id*/-/releases.atom", {
    summary: "Get a feed of the releases of a project",
    without: ["include_html_description"],
    answersWith: ATOM,
    reply: (context, shown, hasNext) => {
      const owner = ownerOf(context);
      const entries = (shown as ShownRelease[]).map((release): Entry => {
        const { tag_name, name, description, released_at, author } = release;
        const url = pageOf(context, `releases/${encodeURIComponent(tag_name)}`);
        return {
          id: url,
          title: name,
          url,
          updated: released_at,
          author: authorOf(author),
          content: description,
        };
      });
      return replyWith(context, { title: `${owner} releases`, author: owner, entries }, hasNext);
    },
  }),
];

/** Feeds and calendars, at the addresses of GitLab's pages with `.atom` or `.ics`. */
export const feedAddresses: readonly Route[] = [
  activityFeed,
  ...activityFeeds,
  ...issueFeeds,
  ...issueCalendars,
  commitFeed,
  ...projectFeeds,
];

/** Whether an address is of a feed or calendar: programs read it that can't sign in on a page. */
export const isFeed = (path: string): boolean => /\.(atom|ics)$/.test(path);
