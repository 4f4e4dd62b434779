import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { groupPage, projectPage, type Shown, sitePage, type Visit } from "./declare.ts";
import { about, at, commitLink, fact, facts, listPage, placeOf, row, text, who } from "./parts.ts";

const PROJECT = "GET /projects/:id";

const baseOf = (place: Shown, { view }: Visit) => mountOf(view) + placeOf(place).address;

const files = (links: readonly Html[]): Html =>
  html`<section><h2>Files</h2><ul>${links.map((link) => html`<li>${link}</li>`)}</ul></section>`;

const releases: readonly Route[] = [
  projectPage({
    path: "/-/releases",
    summary: "Show the releases of a project",
    shows: { project: PROJECT, rows: "GET /projects/:id/releases" },
    view: async ({ project, rows }, visit) =>
      listPage(project, visit, {
        ...{ kind: "Releases", path: "/-/releases", name: "rows", rows },
        none: "There are no releases.",
        row: (one) =>
          row(
            html`<a href="${one._links.self}">${one.name}</a>`,
            html`${one.tag_name} · ${at(one.released_at)}`,
          ),
      }),
  }),
  projectPage({
    path: "/-/releases/:tag_name",
    summary: "Show a release",
    input: { tag_name: param.anyText({ max: 1024 }) },
    shows: { project: PROJECT, release: "GET /projects/:id/releases/:tag_name" },
    view: async ({ project, release }, visit) => {
      const [description] = await visit.texts([release.description]);
      const { links, sources = [] } = release.assets;
      return about(project, visit, {
        of: ["Releases", "/-/releases"],
        title: release.name,
        path: `/-/releases/${encodeURIComponent(release.tag_name)}`,
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
        body: html`${text(description)}
${files([
  ...links.map((link: Shown) => html`<a href="${link.direct_asset_url}">${link.name}</a>`),
  ...sources.map(({ url, format }: Shown) => html`<a href="${url}">The code as ${format}</a>`),
])}`,
      });
    },
  }),
];

/** The path of a page of a wiki, below the address of its group or project. */
const pathOfPage = (slug: string) =>
  `/-/wikis/${slug.split("/").map(encodeURIComponent).join("/")}`;

const wikis: readonly Route[] = (
  [
    [projectPage, "project", "/projects/:id"],
    [groupPage, "group", "/groups/:id"],
  ] as const
).flatMap(([page, of, at]) => [
  page({
    path: "/-/wikis",
    summary: `Show the pages of the wiki of a ${of}`,
    shows: { place: `GET ${at}`, rows: `GET ${at}/wikis` },
    view: async ({ place, rows }, visit) =>
      listPage(place, visit, {
        ...{ kind: "Wiki", path: "/-/wikis", name: "rows", rows },
        none: "This wiki has no pages.",
        row: ({ slug, title }) =>
          row(html`<a href="${baseOf(place, visit)}${pathOfPage(slug)}">${title}</a>`, slug),
      }),
  }),
  page({
    path: "/-/wikis/:slug*",
    summary: `Show a page of the wiki of a ${of}`,
    input: { slug: param.anyText({ max: 4096 }) },
    shows: { place: `GET ${at}`, found: `GET ${at}/wikis/:slug*` },
    view: async ({ place, found }, visit) => {
      const { slug, content, format, title } = found;
      const wikiPath = `${placeOf(place).address}/-/wikis`;
      const isMarkdown = format === "markdown";
      const [rendered] = isMarkdown
        ? await visit.texts([content], { wikiPage: { slug, wikiPath } })
        : [];
      return about(place, visit, {
        of: ["Wiki", "/-/wikis"],
        title,
        path: pathOfPage(slug),
        facts: [],
        body: rendered ? text(rendered) : html`<section><pre>${content}</pre></section>`,
      });
    },
  }),
]);

/** What is on the page of a snippet. */
async function snippetParts(snippet: Shown, visit: Visit) {
  const [description] = await visit.texts([snippet.description]);
  const { title, id, visibility, author, created_at: created } = snippet;
  const links = snippet.files.map(
    ({ path, raw_url }: Shown) => html`<a href="${raw_url}">${path}</a>`,
  );
  return {
    title,
    titled: `${title} ($${id})`,
    lead: html`${who(author, visit)} made it ${at(created)}`,
    facts: [fact("Visibility", visibility)],
    body: html`${text(description)}
${files(links)}`,
  };
}

const snippets: readonly Route[] = [
  projectPage({
    path: "/-/snippets",
    summary: "Show the snippets of a project",
    shows: { project: PROJECT, rows: "GET /projects/:id/snippets" },
    view: async ({ project, rows }, visit) =>
      listPage(project, visit, {
        ...{ kind: "Snippets", path: "/-/snippets", name: "rows", rows },
        none: "There are no snippets.",
        row: (one) =>
          row(
            html`<a href="${baseOf(project, visit)}/-/snippets/${one.id}">${one.title}</a>`,
            html`${who(one.author, visit)} made it ${at(one.created_at)}`,
          ),
      }),
  }),
  projectPage({
    path: "/-/snippets/:snippet_id",
    summary: "Show a snippet of a project",
    input: { snippet_id: param.recordId() },
    shows: { project: PROJECT, snippet: "GET /projects/:id/snippets/:snippet_id" },
    view: async ({ project, snippet }, visit) =>
      about(project, visit, {
        of: ["Snippets", "/-/snippets"],
        path: `/-/snippets/${snippet.id}`,
        ...(await snippetParts(snippet, visit)),
      }),
  }),
];

/** Pages of snippets that belong to people, not to projects. */
export const personalSnippetPages: readonly Route[] = [
  sitePage({
    path: "/-/snippets/:snippet_id",
    summary: "Show a personal snippet",
    input: { snippet_id: param.recordId() },
    shows: { snippet: "GET /snippets/:snippet_id" },
    view: async ({ snippet }, visit) => {
      const { title, titled, ...parts } = await snippetParts(snippet, visit);
      return {
        showsTexts: true,
        title,
        titles: [titled, "Snippets"],
        body: html`<p class="lead">${parts.lead}</p>
${parts.body}<aside aria-label="Facts"><dl>${parts.facts}</dl></aside>`,
      };
    },
  }),
];

const packages: readonly Route[] = [
  projectPage({
    path: "/-/packages",
    summary: "Show the packages of a project",
    shows: { project: PROJECT, rows: "GET /projects/:id/packages" },
    view: async ({ project, rows }, visit) =>
      listPage(project, visit, {
        ...{ kind: "Packages", path: "/-/packages", name: "rows", rows },
        none: "There are no packages.",
        row: (one) =>
          row(
            html`<a href="${mountOf(visit.view)}${one._links.web_path}">${one.name}</a>`,
            html`${one.version} · ${one.package_type} · ${at(one.created_at)}`,
          ),
      }),
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

/** Pages of releases, wikis, snippets and packages. */
export const documentPages: readonly Route[] = [...releases, ...wikis, ...snippets, ...packages];
