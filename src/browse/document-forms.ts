import { UploadedFile } from "../core/http/upload.ts";
import * as param from "../core/input.ts";
import type { RawReply, Route } from "../core/resource.ts";
import { field, form, formText, oneOf } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { mayUpdateSnippet } from "../resources/snippets/abilities.ts";
import {
  type ActionSpec,
  actionIn,
  type PageKind,
  type Showing,
  type Shown,
  type Visit,
} from "./declare.ts";
import { deleteButton, type FormField, formPage } from "./forms.ts";
import type { PlaceKind } from "./lists.ts";
import { placeOf } from "./parts.ts";

const DESCRIPTION: FormField = {
  ...{ name: "description", label: "Description", kind: "lines", isOptional: true },
  isMarkdown: true,
};

/** The path of a page of a wiki, below the address of its group or project. */
export const pathOfPage = (slug: string) =>
  `/-/wikis/${slug.split("/").map(encodeURIComponent).join("/")}`;

const WIKI_FIELDS: readonly FormField[] = [
  { name: "title", label: "Title", hint: "With slashes, it is in folders" },
  { name: "content", label: "Content", kind: "code", isMarkdown: true, hint: "In its format" },
  {
    ...{ name: "format", label: "Format", kind: "one" },
    among: () => [
      ["markdown", "Markdown"],
      ["rdoc", "RDoc"],
      ["asciidoc", "AsciiDoc"],
    ],
  },
];

const ATTACHED: FormField = {
  ...{ name: "file", label: "Attach a file", kind: "file", isOptional: true },
  hint: "It is shown or linked at the end of the page",
};

/** What is sent of a page, with the file that was attached to it. */
const attached =
  (of: PlaceKind): NonNullable<ActionSpec["sends"]> =>
  async ({ file, ...sent }, { perform }, source) => {
    // Browsers send an empty file where none was chosen.
    if (!(file instanceof UploadedFile) || file.size === 0) return sent;
    const { value } = await perform(`POST /${of}s/:id/wikis/attachments`, { id: source?.id, file });
    const { link } = value as Shown;
    return { ...sent, content: `${sent["content"] ?? ""}\n\n${link.markdown}\n` };
  };

/** Forms of wikis. @param again a page of one */
export const wikiForms = (of: PlaceKind, again: Showing<string>): readonly Route[] => {
  const at = `/${of}s/:id/wikis`;
  const input = { slug: param.anyText({ max: 4096 }) };
  return [
    ...formPage({
      ...{ of, path: "/-/wikis/new", summary: `Create a page of the wiki of a ${of}` },
      performs: `POST ${at}`,
      fields: [...WIKI_FIELDS, ATTACHED],
      upload: { part: "file" },
      sends: attached(of),
      title: () => "New page",
      steps: () => [["Wiki", "/-/wikis"]],
      button: "Create page",
      to: ({ slug }) => pathOfPage(slug),
    }),
    ...formPage({
      ...{ of, path: "/-/wikis/:slug*/edit", summary: `Change a page of the wiki of a ${of}` },
      input,
      shows: { found: `GET ${at}/:slug*` },
      performs: `PUT ${at}/:slug*`,
      fields: [...WIKI_FIELDS, ATTACHED],
      upload: { part: "file" },
      sends: attached(of),
      title: ({ found }) => `Edit ${found.title}`,
      steps: ({ found }) => [
        ["Wiki", "/-/wikis"],
        [found.title, pathOfPage(found.slug)],
      ],
      button: "Save changes",
      to: ({ slug }) => pathOfPage(slug),
      below: ({ place, found }, visit) =>
        visit.offers(`DELETE ${at}/:slug*`) &&
        deleteButton(
          visit,
          `${placeOf(place).address}${pathOfPage(found.slug)}/delete`,
          "Delete this page? Its repository keeps what it was.",
        ),
    }),
    actionIn(of, {
      path: "/-/wikis/:slug*/delete",
      summary: `Delete a page of the wiki of a ${of}`,
      ...{ input, performs: `DELETE ${at}/:slug*`, again, to: () => "/-/wikis" },
    }),
  ];
};

const MILESTONES: FormField = {
  ...{ name: "milestones", label: "Milestones", kind: "many", isOptional: true },
  among: {
    from: "GET /projects/:id/milestones",
    with: { include_ancestors: true },
    as: ({ title }) => [title, title],
  },
  value: ({ found }) => (found?.milestones ?? []).map(({ title }: Shown) => [title, title]),
};

const pathOfRelease = (tag: unknown) => `/-/releases/${encodeURIComponent(String(tag))}`;

const toRelease = (_: Shown, { tag_name }: Readonly<Record<string, unknown>>) =>
  pathOfRelease(tag_name);

const LINK = { name: param.optional(formText), url: param.optional(formText) };
const LINK_KINDS = [
  ["other", "Something else"],
  ["package", "Package"],
  ["image", "Image"],
  ["runbook", "Runbook"],
] as const;

/** What adds a link to a release, for those who may. @param path of its page, below the mount */
export function linkForm(path: string, visit: Visit): Html {
  const { parameters: typed, refusal } = visit;
  const text = (name: "name" | "url", label: string) =>
    field({
      ...{ name, id: `link-${name}`, label, value: String(typed[name] ?? "") },
      error: refusal?.errors[name],
    });
  return html`<section><h2>Add a link</h2>${form(
    visit,
    `${path}/links`,
    html`${text("name", "Name")}${text("url", "URL")}${oneOf({
      ...{ name: "link_type", id: "link-type", label: "Kind", options: LINK_KINDS },
      value: String(typed["link_type"] ?? "other"),
    })}<button>Add link</button>`,
  )}</section>`;
}

/** Forms of releases. @param again the page of one */
export const releaseForms = (again: Showing<string>): readonly Route[] => {
  const at = "/projects/:id/releases";
  const input = { tag_name: param.anyText({ max: 1024 }) };
  const RELEASE = `${at}/:tag_name`;
  return [
    ...formPage({
      ...{ of: "project", path: "/-/releases/new", summary: "Create a release" },
      performs: `POST ${at}`,
      fields: [
        { name: "tag_name", label: "Tag", hint: "One that there is not is made" },
        {
          ...{ name: "ref", label: "Of", hint: "A branch, a tag or a commit, for a new tag" },
          value: ({ place }) => place.default_branch,
        },
        { name: "name", label: "Name", isOptional: true },
        DESCRIPTION,
        MILESTONES,
      ],
      sends: ({ name, ...sent }) => ({ ...sent, ...(name !== "" && { name }) }),
      title: () => "New release",
      steps: () => [["Releases", "/-/releases"]],
      button: "Create release",
      to: ({ tag_name }) => pathOfRelease(tag_name),
    }),
    ...formPage({
      ...{ of: "project", path: "/-/releases/:tag_name/edit", summary: "Change a release", input },
      shows: { found: `GET ${RELEASE}` },
      performs: `PUT ${RELEASE}`,
      fields: [{ name: "name", label: "Name" }, DESCRIPTION, MILESTONES],
      may: ({ found }) => found._links.edit_url !== undefined,
      title: ({ found }) => `Edit ${found.name}`,
      steps: ({ found }) => [
        ["Releases", "/-/releases"],
        [found.name, pathOfRelease(found.tag_name)],
      ],
      button: "Save changes",
      to: ({ tag_name }) => pathOfRelease(tag_name),
      below: ({ place, found }, visit) =>
        deleteButton(
          visit,
          `${placeOf(place).address}${pathOfRelease(found.tag_name)}/delete`,
          "Delete this release? Its tag stays.",
        ),
    }),
    actionIn("project", {
      path: "/-/releases/:tag_name/links",
      summary: "Add a link to a release",
      fields: { ...LINK, link_type: param.optional(formText) },
      ...{ input, performs: `POST ${RELEASE}/assets/links`, again, to: toRelease },
    }),
    ...formPage({
      ...{ of: "project", path: "/-/releases/:tag_name/links/:link_id/edit" },
      ...{ summary: "Change a link of a release", input: { ...input, link_id: param.recordId() } },
      shows: { found: `GET ${RELEASE}/assets/links/:link_id` },
      performs: `PUT ${RELEASE}/assets/links/:link_id`,
      fields: [
        { name: "name", label: "Name" },
        { name: "url", label: "URL" },
        { name: "link_type", label: "Kind", kind: "one", among: () => LINK_KINDS },
      ],
      title: ({ found }) => `Edit ${found.name}`,
      steps: (_, { parameters: { tag_name } }) => [
        ["Releases", "/-/releases"],
        [String(tag_name), pathOfRelease(tag_name)],
      ],
      button: "Save changes",
      to: toRelease,
      below: ({ place, found }, visit) =>
        deleteButton(
          visit,
          `${placeOf(place).address}${pathOfRelease(visit.parameters["tag_name"])}/links/${found.id}/delete`,
          "Remove this link from the release?",
        ),
    }),
    actionIn("project", {
      path: "/-/releases/:tag_name/links/:link_id/delete",
      summary: "Remove a link from a release",
      ...{ input: { ...input, link_id: param.recordId() }, again, to: toRelease },
      performs: `DELETE ${RELEASE}/assets/links/:link_id`,
    }),
    actionIn("project", {
      path: "/-/releases/:tag_name/delete",
      summary: "Delete a release",
      ...{ input, performs: `DELETE ${RELEASE}`, again, to: () => "/-/releases" },
    }),
  ];
};

/** Where people find their own snippets. */
export const OWN_SNIPPETS = "/dashboard/snippets";

/** Whether the visitor may change a snippet. */
export const mayChangeSnippet = (
  { author }: Shown,
  { source, caller }: Pick<Visit, "source" | "caller">,
): boolean => mayUpdateSnippet({ author_id: author?.id ?? 0 }, { source, caller });

/** The text of an answer that is not JSON. */
async function wholeOf(body: RawReply["body"]): Promise<string> {
  if (body === null || typeof body === "string") return body ?? "";
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  const pieces: Uint8Array[] = [];
  for await (const piece of body.chunks()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** Whether a snippet is new, or has one file: several are for the API and `git push`. */
const hasOneFile = ({ found }: Shown): boolean => !found || found.files.length === 1;

/** Forms of snippets of projects, and of those of people. @param again the page of one */
export const snippetForms = (of: PageKind, again: Showing<string>): readonly Route[] => {
  const at = of === "project" ? "/projects/:id/snippets" : "/snippets";
  const input = { snippet_id: param.recordId() };
  const one = `${at}/:snippet_id`;
  const fields: readonly FormField[] = [
    { name: "title", label: "Title" },
    DESCRIPTION,
    {
      ...{ name: "visibility", label: "Who sees it", kind: "one" },
      among: () => [
        ["private", of === "project" ? "Members of the project" : "Only you"],
        ["internal", "Everybody who is signed in"],
        ["public", of === "project" ? "Everybody who may see the project" : "Everybody"],
      ],
    },
    { name: "file_name", label: "Name of the file", when: hasOneFile },
    {
      ...{ name: "content", label: "Content", kind: "code", when: hasOneFile },
      value: async ({ found }, visit) =>
        found &&
        wholeOf((await visit.ask(`GET ${one}/raw`, { snippet_id: found.id }))?.body ?? null),
    },
  ];
  const page = (id: unknown) => `/-/snippets/${id}`;
  return [
    ...formPage({
      ...{ of, path: "/-/snippets/new", performs: `POST ${at}`, fields },
      summary: of === "project" ? "Create a snippet in a project" : "Create a personal snippet",
      title: () => "New snippet",
      steps: () => [["Snippets", "/-/snippets"]],
      button: "Create snippet",
      to: ({ id }) => page(id),
    }),
    ...formPage({
      ...{ of, path: "/-/snippets/:snippet_id/edit", performs: `PUT ${one}`, fields, input },
      summary: of === "project" ? "Change a snippet of a project" : "Change a personal snippet",
      shows: { found: `GET ${one}` },
      may: ({ found }, visit) => mayChangeSnippet(found, visit),
      title: ({ found }) => `Edit ${found.title}`,
      steps: ({ found }) => [
        ["Snippets", "/-/snippets"],
        [found.title, page(found.id)],
      ],
      button: "Save changes",
      to: (_, { snippet_id }) => page(snippet_id),
      below: ({ place, found }, visit) =>
        deleteButton(
          visit,
          `${place ? placeOf(place).address : ""}${page(found.id)}/delete`,
          "Delete this snippet? It can't be brought back.",
        ),
    }),
    actionIn(of, {
      path: "/-/snippets/:snippet_id/delete",
      summary: of === "project" ? "Delete a snippet of a project" : "Delete a personal snippet",
      ...{ input, performs: `DELETE ${one}`, again },
      to: () => (of === "project" ? "/-/snippets" : OWN_SNIPPETS),
    }),
  ];
};
