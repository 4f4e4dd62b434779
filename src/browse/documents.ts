import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { WIKI_ACTIONS } from "../resources/wikis/actions.ts";
import { coloredText } from "./code-lines.ts";
import { pageOf, projectPage, type Showing, type Shown, sitePage, type Visit } from "./declare.ts";
import { changed, viewInput } from "./diffs.ts";
import {
  linkForm,
  mayChangeSnippet,
  OWN_SNIPPETS,
  pathOfPage,
  releaseForms,
  snippetForms,
  wikiForms,
} from "./document-forms.ts";
import { listOf, type PlaceKind } from "./lists.ts";
import {
  about,
  at,
  commitLink,
  fact,
  facts,
  listed,
  placeOf,
  refused,
  row,
  text,
  who,
} from "./parts.ts";

const PROJECT = "GET /projects/:id";

const baseOf = (place: Shown, { view }: Visit) => mountOf(view) + placeOf(place).address;

const files = (links: readonly Html[]): Html =>
  html`<section><h2>Files</h2><ul class="links">${links.map((link) => html`<li>${link}</li>`)}</ul></section>`;

/** A link to the form in which something is changed, for those who may. */
const editLink = (may: boolean, path: string, { view }: Visit): Html =>
  html`${may && html`<div class="actions"><a class="button quiet" href="${mountOf(view)}${path}/edit">Edit</a></div>`}`;

const releaseShown: Showing<"project" | "release"> = {
  shows: { project: PROJECT, release: "GET /projects/:id/releases/:tag_name" },
  view: async ({ project, release }, visit) => {
    const [description] = await visit.texts([release.description]);
    const { links, sources = [] } = release.assets;
    const path = `/-/releases/${encodeURIComponent(release.tag_name)}`;
    const mayChange = release._links.edit_url !== undefined;
    return about(project, visit, {
      of: ["Releases", "/-/releases"],
      title: release.name,
      path,
      lead: html`${who(release.author, visit)} released it ${at(release.released_at)}`,
      facts: [
        fact("Tag", html`<code>${release.tag_name}</code>`),
        fact("Commit", release.commit && commitLink(release.commit.id, project, visit)),
        facts(
          "Milestones",
          (release.milestones ?? []).map(
            ({ web_url, title }: Shown) => html`<a href="${web_url}">${title}</a>`,
          ),
        ),
      ],
      body: html`${refused(visit)}${editLink(mayChange, placeOf(project).address + path, visit)}${text(description)}
${files([
  ...links.map(
    (link: Shown) =>
      html`<a href="${link.direct_asset_url}">${link.name}</a>${mayChange && html` <a class="button quiet" href="${mountOf(visit.view)}${placeOf(project).address}${path}/links/${link.id}/edit">Edit<span class="unseen"> ${link.name}</span></a>`}`,
  ),
  ...sources.map(({ url, format }: Shown) => html`<a href="${url}">The code as ${format}</a>`),
])}${mayChange && linkForm(placeOf(project).address + path, visit)}`,
    });
  },
};

const releases: readonly Route[] = [
  listOf("project", {
    ...{ kind: "Releases", path: "/-/releases", list: "/releases", makes: "release" },
    none: "There are no releases.",
    row: ({ _links, name, tag_name, released_at }) =>
      row(html`<a href="${_links.self}">${name}</a>`, html`${tag_name} · ${at(released_at)}`),
  }),
  projectPage({
    ...releaseShown,
    path: "/-/releases/:tag_name",
    summary: "Show a release",
    input: { tag_name: param.anyText({ max: 1024 }) },
  }),
  ...releaseForms(releaseShown),
];

/** As many pages are beside one that has no sidebar of its own. */
const MOST_BESIDE = 20;

/** What is beside the pages of a wiki: the page that is named for it, or links to the first ones. */
async function sidebarOf(of: PlaceKind, wikiPath: string, visit: Visit): Promise<Html> {
  const at = `GET /${of}s/:id/wikis`;
  const slug = "_sidebar";
  const own = (await visit.ask(`${at}/:slug*`, { slug }))?.value as Shown | undefined;
  if (own?.format === "markdown") {
    const [rendered] = await visit.texts([own.content], {
      wikiPage: { slug, wikiPath: wikiPath.slice(1) },
    });
    return html`<aside aria-label="Sidebar" class="text">${rendered}</aside>`;
  }
  const found = await visit.ask(at, { per_page: MOST_BESIDE });
  const links = ((found?.value ?? []) as readonly Shown[]).map(
    (one) =>
      html`<li><a href="${mountOf(visit.view)}${wikiPath}/${pathOfPage(one.slug).slice("/-/wikis/".length)}">${one.title}</a></li>`,
  );
  return html`<aside aria-label="Pages"><ul class="links">${links}</ul><p><a href="${mountOf(visit.view)}${wikiPath}">All pages</a></p></aside>`;
}

/** As GitLab's links name a version of a page. */
const version = { version_id: param.optional(param.anyText({ max: 64 })) };

const wikiShown = (of: PlaceKind): Showing<"place" | "found"> => ({
  shows: {
    place: `GET /${of}s/:id`,
    found: [`GET /${of}s/:id/wikis/:slug*`, { version: "version_id" }],
  },
  absent: {
    route: `POST /${of}s/:id/wikis`,
    to: ({ slug }) => `/-/wikis/new?${new URLSearchParams({ title: String(slug) })}`,
  },
  view: async ({ place, found }, visit) => {
    const { slug, content, format, title } = found;
    const wikiPath = `${placeOf(place).address}/-/wikis`;
    const isMarkdown = format === "markdown";
    const [rendered] = isMarkdown
      ? await visit.texts([content], { wikiPage: { slug, wikiPath: wikiPath.slice(1) } })
      : [];
    const own = mountOf(visit.view) + placeOf(place).address + pathOfPage(slug);
    const isOld = visit.parameters["version_id"] !== undefined;
    const mayChange = !isOld && visit.offers(`PUT /${of}s/:id/wikis/:slug*`);
    const note =
      isOld &&
      html`<p class="note">This is what the page was once. <a href="${own}">What it is now</a></p>`;
    return about(place, visit, {
      of: ["Wiki", "/-/wikis"],
      title,
      path: pathOfPage(slug),
      facts: [],
      aside: await sidebarOf(of, wikiPath, visit),
      body: html`${refused(visit)}${note}<div class="actions">${mayChange && html`<a class="button quiet" href="${own}/edit">Edit</a>`}<a class="button quiet" href="${own}/history">History</a></div>${rendered ? text(rendered) : html`<section><pre>${content}</pre></section>`}`,
    });
  },
});

const slugInput = { slug: param.anyText({ max: 4096 }) };

const wikis: readonly Route[] = (["project", "group"] as const).flatMap((of) => [
  listOf(of, {
    ...{ kind: "Wiki", path: "/-/wikis", list: "/wikis", makes: "page" },
    none: "This wiki has no pages.",
    row: ({ slug, title }, visit, place) =>
      row(html`<a href="${baseOf(place, visit)}${pathOfPage(slug)}">${title}</a>`, slug),
  }),
  pageOf(of)({
    ...wikiShown(of),
    path: "/-/wikis/:slug*",
    summary: `Show a page of the wiki of a ${of}`,
    input: { ...slugInput, ...version },
  }),
  pageOf(of)({
    path: "/-/wikis/:slug*/history",
    summary: `Show what a page of the wiki of a ${of} was`,
    input: slugInput,
    shows: { place: `GET /${of}s/:id`, versions: WIKI_ACTIONS[of].versions },
    view: async ({ place, versions }, visit) => {
      const slug = String(visit.parameters["slug"]);
      const path = `${pathOfPage(slug)}/history`;
      const own = baseOf(place, visit) + pathOfPage(slug);
      return about(place, visit, {
        ...{ of: ["Wiki", "/-/wikis"], within: [[slug, pathOfPage(slug)]], name: "History" },
        ...{ title: `History of ${slug}`, path, facts: [] },
        body: html`<section>${listed("versions", versions, visit, {
          ...{ path: placeOf(place).address + path, none: "There is nothing." },
          row: ({ id, short_id, title, author_name, authored_date }) =>
            row(
              html`<a href="${own}?version_id=${id}">${title}</a>`,
              html`${author_name} wrote it ${at(authored_date)}`,
              html`<a href="${own}/diff?version_id=${id}">Changes<span class="unseen"> of ${short_id}</span></a>`,
            ),
        })}</section>`,
      });
    },
  }),
  pageOf(of)({
    path: "/-/wikis/:slug*/diff",
    summary: `Show what a commit changed of a page of the wiki of a ${of}`,
    input: { ...slugInput, version_id: param.anyText({ max: 64 }), ...viewInput },
    shows: { place: `GET /${of}s/:id`, files: WIKI_ACTIONS[of].changes },
    view: async ({ place, files: changes }, visit) => {
      const slug = String(visit.parameters["slug"]);
      const path = `${pathOfPage(slug)}/diff`;
      return about(place, visit, {
        ...{ of: ["Wiki", "/-/wikis"], within: [[slug, pathOfPage(slug)]], name: "Changes" },
        ...{
          title: `Changes of ${slug}`,
          path: `${path}${visit.request.query && `?${visit.request.query}`}`,
          facts: [],
        },
        body: await changed("files", changes, visit, placeOf(place).address + path),
      });
    },
  }),
  ...wikiForms(of, wikiShown(of)),
]);

/** As many characters of a snippet's files are on its page. */
const MOST_SHOWN = 64 * 1024;

/** The files of a snippet: what is in them, as far as that is not too long. @param at the routes of snippets */
async function snippetFiles(snippet: Shown, at: string, visit: Visit): Promise<readonly Html[]> {
  let left = MOST_SHOWN;
  const shown: Html[] = [];
  for (const { path, raw_url } of snippet.files as readonly Shown[]) {
    const one = { snippet_id: snippet.id, ref: "main", file_path: path };
    const asked =
      left > 0
        ? await visit.ask(`GET ${at}/:snippet_id/files/:ref/:file_path/raw`, one)
        : undefined;
    const content = typeof asked?.body === "string" ? asked.body : undefined;
    left -= content?.length ?? 0;
    const lines =
      content !== undefined &&
      left >= 0 &&
      html`<pre class="log" tabindex="0" role="region" aria-label="Text of ${path}">${await coloredText(path, content, visit)}</pre>`;
    shown.push(
      html`<section><h2>${path}</h2>${lines}<p><a href="${raw_url}">${path}, as it is</a></p></section>`,
    );
  }
  return shown;
}

/** What is on the page of a snippet. @param route of it in the API */
async function snippetParts(snippet: Shown, route: string, visit: Visit) {
  const [description] = await visit.texts([snippet.description]);
  const { title, id, visibility, author, created_at: created } = snippet;
  return {
    title,
    titled: `${title} ($${id})`,
    lead: html`${who(author, visit)} made it ${at(created)}`,
    facts: [fact("Visibility", visibility)],
    body: html`${text(description)}
${await snippetFiles(snippet, route, visit)}`,
  };
}

const projectSnippet: Showing<"project" | "snippet"> = {
  shows: { project: PROJECT, snippet: "GET /projects/:id/snippets/:snippet_id" },
  view: async ({ project, snippet }, visit) => {
    const path = `/-/snippets/${snippet.id}`;
    const { body, ...parts } = await snippetParts(snippet, "/projects/:id/snippets", visit);
    const mayChange = mayChangeSnippet(snippet, visit);
    return about(project, visit, {
      ...{ of: ["Snippets", "/-/snippets"], path, ...parts },
      body: html`${editLink(mayChange, placeOf(project).address + path, visit)}${body}`,
    });
  },
};

const snippets: readonly Route[] = [
  listOf("project", {
    ...{ kind: "Snippets", path: "/-/snippets", list: "/snippets", makes: "snippet" },
    none: "There are no snippets.",
    row: ({ id, title, author, created_at }, visit, project) =>
      row(
        html`<a href="${baseOf(project, visit)}/-/snippets/${id}">${title}</a>`,
        html`${who(author, visit)} made it ${at(created_at)}`,
      ),
  }),
  projectPage({
    ...projectSnippet,
    path: "/-/snippets/:snippet_id",
    summary: "Show a snippet of a project",
    input: { snippet_id: param.recordId() },
  }),
  ...snippetForms("project", projectSnippet),
];

const personalSnippet: Showing<"snippet"> = {
  shows: { snippet: "GET /snippets/:snippet_id" },
  view: async ({ snippet }, visit) => {
    const { title, titled, ...parts } = await snippetParts(snippet, "/snippets", visit);
    const mayChange = mayChangeSnippet(snippet, visit);
    return {
      showsTexts: true,
      title,
      titles: [titled, "Snippets"],
      body: html`<p class="lead">${parts.lead}</p>
${editLink(mayChange, `/-/snippets/${snippet.id}`, visit)}${parts.body}<aside aria-label="Facts"><dl>${parts.facts}</dl></aside>`,
    };
  },
};

/** Pages of snippets that belong to people, not to projects. */
export const personalSnippetPages: readonly Route[] = [
  sitePage({
    path: OWN_SNIPPETS,
    summary: "Show the caller's own snippets",
    access: "user",
    shows: { rows: "GET /snippets" },
    view: async ({ rows }, visit) => ({
      showsTexts: true,
      title: "Your snippets",
      body: html`<div class="actions"><a class="button" href="${mountOf(visit.view)}/-/snippets/new">New snippet</a></div>
<section>${listed("rows", rows, visit, {
        path: OWN_SNIPPETS,
        none: "You have no snippets.",
        row: ({ id, title, created_at, visibility }) =>
          row(
            html`<a href="${mountOf(visit.view)}/-/snippets/${id}">${title}</a>`,
            at(created_at),
            visibility,
          ),
      })}</section>`,
    }),
  }),
  sitePage({
    ...personalSnippet,
    path: "/-/snippets/:snippet_id",
    summary: "Show a personal snippet",
    input: { snippet_id: param.recordId() },
  }),
  ...snippetForms("site", personalSnippet),
];

const packages: readonly Route[] = [
  listOf("project", {
    ...{ kind: "Packages", path: "/-/packages", list: "/packages" },
    none: "There are no packages.",
    row: ({ _links, name, version, package_type: type, created_at }, visit) =>
      row(
        html`<a href="${mountOf(visit.view)}${_links.web_path}">${name}</a>`,
        html`${version} · ${type} · ${at(created_at)}`,
      ),
  }),
  projectPage({
    path: "/-/packages/:package_id",
    summary: "Show a package with its files",
    input: { package_id: param.recordId() },
    shows: {
      project: PROJECT,
      found: "GET /projects/:id/packages/:package_id",
      parts: "GET /projects/:id/packages/:package_id/package_files",
    },
    view: async ({ project, found, parts }, visit) =>
      about(project, visit, {
        of: ["Packages", "/-/packages"],
        title: found.name,
        path: `/-/packages/${found.id}`,
        facts: [fact("Version", found.version), fact("Type", found.package_type)],
        body: files(
          parts.map(
            ({ file_name, size, file_sha256 }: Shown) =>
              html`${file_name} (${size} bytes, SHA-256 <code>${file_sha256}</code>)`,
          ),
        ),
      }),
  }),
];

const dependencies = listOf("project", {
  ...{ kind: "Dependencies", path: "/-/dependencies", list: "/dependencies" },
  none: "There are no dependencies.",
  row: ({ name, version, package_manager, dependency_file_path, vulnerabilities }) =>
    row(
      html`${name} ${version}`,
      html`${package_manager} · <code>${dependency_file_path}</code>${(
        vulnerabilities as readonly Shown[]
      ).map((one) => html`<br>${one.severity}: ${one.name}`)}`,
    ),
});

/** Pages of releases, wikis, snippets, packages and dependencies. */
export const documentPages: readonly Route[] = [
  ...releases,
  ...wikis,
  ...snippets,
  ...packages,
  dependencies,
];
