import { findMoved, findVisible, type Source } from "../core/access/source.ts";
import { notFound, unknownRoute } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { isReserved } from "../core/paths.ts";
import { AfterRoutes, RawReply, type Route, routes } from "../core/resource.ts";
import { type Html, html } from "../pages/html.ts";
import { list } from "../pages/list.ts";
import { mountOf } from "../pages/navigation.ts";
import type { PageContent } from "../pages/page.ts";
import { redirect } from "../pages/page.ts";
import { calendarOf, projectActivity } from "./activity.ts";
import { contentOf, folder, writing } from "./code.ts";
import { groupPage, type Showing, type Shown, show, sitePage, type Visit } from "./declare.ts";
import {
  asked,
  at,
  fact,
  facts,
  filterOf,
  listed,
  pageIn,
  placeOf,
  row,
  state,
  tag,
} from "./parts.ts";

/** Projects as rows of a list. */
const projectRow = (project: Shown, { view }: Visit): Html =>
  row(
    html`<a href="${mountOf(view)}/${project.path_with_namespace}">${project.name_with_namespace}</a>${tag(project.archived, "archived")}`,
    project.description,
    project.visibility,
  );

/** Groups as rows of a list. */
const groupRow = (group: Shown, { view }: Visit): Html =>
  row(
    html`<a href="${mountOf(view)}/groups/${group.full_path}">${group.full_name}</a>`,
    group.description,
    group.visibility,
  );

const picture = (url: string | null): Html | false =>
  url !== null && html`<img class="avatar" src="${url}" alt="" width="64" height="64">`;

/** The code of a project at a glance: its folder, and its README. */
async function codeAtAGlance(project: Shown, visit: Visit): Promise<Html> {
  const { default_branch: ref, http_url_to_repo: url } = project;
  if (!visit.offers("GET /projects/:id/repository/tree")) return html``;
  const tree =
    ref && (await visit.ask("GET /projects/:id/repository/tree", { ref, per_page: 100 }));
  if (!tree) {
    return html`<section><h2>This repository is empty</h2><p>Push to it:</p><pre>git clone ${url}</pre>${await writing(project, visit, "main", "", ["new", "upload"])}</section>`;
  }
  const readme = (tree.value as readonly Shown[]).find(
    ({ type, name }) => type === "blob" && /^readme\b/i.test(name),
  );
  const file =
    readme &&
    (await visit.ask("GET /projects/:id/repository/files/:file_path", {
      ref,
      file_path: readme.path,
    }));
  const base = mountOf(visit.view) + placeOf(project).address;
  const path = `/-/tree/${ref}`;
  const entries = tree.value as Shown[];
  const forms = await writing(project, visit, ref, "", ["new", "upload"]);
  return html`${forms}<section><h2>Files</h2>${folder(project, visit, { ref, name: "entries", entries, path })}
${tree.hasNext && html`<p><a href="${base}${path}">All files</a></p>`}</section>
${file && html`<section aria-label="${readme.name}">${await contentOf(file.value, `${base}/-/raw/${ref}/${readme.path}`, visit)}</section>`}`;
}

/** What becomes of an import; why it failed is for maintainers. */
function importOf({ import_status: status, import_error: reason }: Shown): Html | false {
  if (status === "scheduled" || status === "started") {
    return html`<p class="note">This project is being imported: what it brings is here once it has ended.</p>`;
  }
  if (status === "failed") {
    return html`<p class="note bad">${reason ?? "The import of this project has failed."}</p>`;
  }
  return Boolean(reason) && html`<p class="note">${reason}</p>`;
}

const projectOverview: Showing<"project"> = {
  shows: { project: "GET /projects/:id" },
  view: async ({ project }, visit) => {
    const [description] = await visit.texts([project.description]);
    const code = await codeAtAGlance(project, visit);
    const { forked_from_project: origin, topics = [] } = project;
    const known = [
      fact("Visibility", project.visibility),
      fact("Clone", project.http_url_to_repo && html`<code>${project.http_url_to_repo}</code>`),
      fact(
        "Clone by SSH",
        visit.view.servesSsh &&
          project.ssh_url_to_repo &&
          html`<code>${project.ssh_url_to_repo}</code>`,
      ),
      fact(
        "Default branch",
        project.default_branch && html`<code>${project.default_branch}</code>`,
      ),
      fact("Stars", String(project.star_count)),
      fact("Forks", project.forks_count !== undefined && String(project.forks_count)),
      fact(
        "Fork of",
        origin && html`<a href="${origin.web_url}">${origin.name_with_namespace}</a>`,
      ),
      facts(
        "Topics",
        topics.map((topic: string) => html`${topic}`),
      ),
      fact("Active last", project.last_activity_at && at(project.last_activity_at)),
    ];
    return pageIn(project, visit, {
      title: project.name_with_namespace,
      steps: [],
      body: html`${project.archived && html`<p class="note">This project is archived: nothing in it can be changed.</p>`}${importOf(project)}
<div class="beside"><div>${picture(project.avatar_url)}<div class="lead text">${description}</div>${code}</div>
<aside aria-label="Facts"><dl>${known}</dl></aside></div>`,
    });
  },
};

/** The page of the subgroups that was asked for; projects have the other one. */
const SUBGROUPS = "subgroups_page";

const groupOverview: Showing<"group" | "projects"> = {
  shows: { group: "GET /groups/:id", projects: "GET /groups/:id/projects" },
  defaults: { with_shared: false },
  view: async ({ group, projects }, visit) => {
    const [description] = await visit.texts([group.description]);
    const found = await asked(visit, "GET /groups/:id/subgroups", { parameter: SUBGROUPS });
    const path = placeOf(group).address;
    const below = found ?? { rows: [], page: visit.page, hasNext: false };
    return pageIn(group, visit, {
      title: group.full_name,
      steps: [],
      body: html`${picture(group.avatar_url)}<div class="lead text">${description}</div>
<section><h2>Subgroups</h2>${list(visit, below, { path, parameter: SUBGROUPS, none: "There are no subgroups.", row: (one) => groupRow(one, visit) })}</section>
<section><h2>Projects</h2>${listed("projects", projects, visit, { path, none: "There are no projects.", row: (one) => projectRow(one, visit) })}</section>`,
    });
  },
};

const userProfile: Showing<"users"> = {
  shows: { users: "GET /users" },
  one: "users",
  view: async ({ users }, visit): Promise<PageContent> => {
    const { id: user_id, username } = users[0];
    const known = await visit.ask("GET /users/:user_id", { user_id });
    const user = (known?.value ?? users[0]) as Shown;
    const { number: page, size: per_page } = visit.page;
    const found = await visit.ask("GET /users/:user_id/projects", { user_id, page, per_page });
    const projects = {
      rows: (found?.value ?? []) as Shown[],
      page: visit.page,
      hasNext: found?.hasNext ?? false,
    };
    const calendar = await calendarOf(visit, { id: user_id, username });
    const title = `${user.name} (@${username})`;
    return {
      showsTexts: true,
      title,
      body: html`${picture(user.avatar_url)}${visit.caller?.username === username && html`<div class="actions"><a class="button quiet" href="${mountOf(visit.view)}/dashboard/snippets">Your snippets</a></div>`}${user.bio && html`<p class="lead">${user.bio}</p>`}
<div class="beside"><div>${calendar}<section><h2>Projects</h2>${list(visit, projects, {
        path: `/${username}`,
        none: "There are no projects that you may see.",
        row: (one) => projectRow(one, visit),
      })}</section></div>
<aside aria-label="Facts"><dl>${[
        fact("State", user.state !== "active" && state(user.state)),
        fact("Job title", user.job_title),
        fact("Organization", user.organization),
        fact("Location", user.location),
        fact("Pronouns", user.pronouns),
        fact("Here since", user.created_at && at(user.created_at)),
        fact("Followers", user.followers !== undefined && String(user.followers)),
      ]}</dl></aside></div>`,
    };
  },
};

/** Pages of signing in, which are below `/users` as well, and may be switched off. */
const OF_SIGN_IN: readonly string[] = [
  "sign_in",
  "sign_out",
  "sign_up",
  "password",
  "confirmation",
];

/** Pages of the site's groups, projects and people. */
export const sitePages: readonly Route[] = [
  groupPage({ ...groupOverview, path: "", summary: "Show a group" }),
  ...(["projects", "groups"] as const).flatMap((name) => {
    const rowOf = name === "projects" ? projectRow : groupRow;
    const input = { search: param.optional(param.anyText()) };
    const shows = { rows: `GET /${name}` };
    const view =
      (path: string, title: string) =>
      async ({ rows }: { rows: readonly Shown[] }, visit: Visit): Promise<PageContent> => ({
        showsTexts: true,
        title,
        body: html`${filterOf(visit, path)}
<section>${listed("rows", rows, visit, { path, none: `There are no ${name}.`, row: (one) => rowOf(one, visit) })}</section>`,
      });
    const own = name === "projects" ? { membership: true } : { min_access_level: 10 };
    return [
      sitePage({
        path: `/explore/${name}`,
        summary: `Show the ${name} that the caller may see`,
        ...{ input, shows },
        view: view(`/explore/${name}`, `All ${name}`),
      }),
      sitePage({
        path: `/dashboard/${name}`,
        summary: `Show the ${name} of the caller`,
        access: "user",
        ...{ input, shows },
        defaults: own,
        view: view(`/dashboard/${name}`, `Your ${name}`),
      }),
    ];
  }),
  ...(
    [
      ["/explore", "/explore/projects"],
      ["/dashboard", "/dashboard/projects"],
    ] as const
  ).map(([path, to]) =>
    routes().get(path, {
      summary: `Redirect to ${to}`,
      access: "anyone",
      handle: ({ view }) => redirect(mountOf(view) + to),
    }),
  ),
  routes().get("/users/:username", {
    summary: "Redirect to the page of a user",
    access: "anyone",
    input: { username: param.anyText({ max: 255 }) },
    handle: ({ input: { username }, view }) => {
      if (OF_SIGN_IN.includes(username)) throw unknownRoute();
      return redirect(`${mountOf(view)}/${encodeURIComponent(username)}`);
    },
  }),
];

/** What had its place directly below a group or project before GitLab put `/-/` between them. */
const OLD = new RegExp(
  `^(.*)/(${"blame blob boards branches commit commits compare environments group_members issues jobs labels merge_requests milestones packages pipelines project_members raw releases snippets tags tree wikis".replaceAll(" ", "|")})(/.*)?$`,
  "s",
);

/** The address that a page has now, if a path is an older one: `/acme/site/issues/1` is at `/acme/site/-/issues/1`. */
export function newerPath(path: string): string | undefined {
  const [, place, word, rest = ""] = OLD.exec(path) ?? [];
  return place === undefined || path.includes("/-/") ? undefined : `${place}/-/${word}${rest}`;
}

/** Whether a group, a project or a user can have a path. */
export function isName(path: string): boolean {
  const first = path.split("/", 2)[1] ?? "";
  return first !== "" && !isReserved(first) && !path.includes("/-/");
}

/** Moved for good: what is at another address now, or is written with other capitals. @param path below the mount */
export const movedTo = (visit: Pick<Visit, "view" | "request">, path: string): RawReply => {
  const { query } = visit.request;
  const to = `${mountOf(visit.view)}${path}${query && `?${query}`}`;
  return new RawReply(301, { location: to, "cache-control": "no-store" });
};

/** The page at the address of a group, a project or a user: the database decides which it is. */
export const namespacePage: Route = routes().get("", {
  summary: "Show the group, project or user at an address",
  access: "anyone",
  prepare: async (_, { db, store, request, viewer }) => {
    // Names that are reserved may be older than that.
    if (request.path.includes("/-/") || request.path === "/") throw unknownRoute();
    const path = nameIn(decoded(request.path));
    const hasName = (source: Source | undefined) =>
      source?.fullPath.toLowerCase() === path.toLowerCase() ? source : undefined;
    const isBelow = path.includes("/");
    const project = isBelow ? hasName(await findVisible(db, "project", path, viewer)) : undefined;
    const source = project ?? hasName(await findVisible(db, "group", path, viewer));
    const moved = source ?? (isBelow ? await findMoved(db, path, viewer) : undefined);
    const active = isBelow && !moved ? ACTIVITY.exec(path)?.[1] : undefined;
    const of = active?.includes("/") ? await findVisible(db, "project", active, viewer) : undefined;
    if (of) return { store, path: `${of.fullPath}/activity`, source: of, isActivity: true };
    if (isBelow && !moved) throw isName(request.path) ? notFound() : unknownRoute();
    return { store, path, source: moved, isActivity: false };
  },
  handle: (context) => {
    const { store, path, source, isActivity } = context.prepared;
    if (source && isActivity) {
      const event_filter = new URLSearchParams(context.request.query).get("event_filter");
      return new AfterRoutes((runner) =>
        show(projectActivity, { ...context, store, source }, runner, { event_filter }),
      );
    }
    if (source && source.fullPath !== path) return movedTo(context, `/${source.fullPath}`);
    return new AfterRoutes((runner) => {
      const visited = { ...context, store, source };
      if (source?.kind === "project") return show(projectOverview, visited, runner, {});
      if (source) return show(groupOverview, visited, runner, {});
      return show(userProfile, visited, runner, { username: path }).catch((error) => {
        throw isName(context.request.path) ? error : unknownRoute();
      });
    });
  },
});

/** The page of what happened in a project, unless there is a project called so. */
const ACTIVITY = /^(.+)\/activity$/;

/** The path of a group, project or user in that of a request, which may be the address of a repository. */
function nameIn(path: string): string {
  const parts = path.split("/").filter((part) => part !== "");
  return parts.join("/").replace(/\.git$/, "");
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw unknownRoute();
  }
}
