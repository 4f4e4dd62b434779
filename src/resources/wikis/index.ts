import { randomBytes } from "node:crypto";
import type { Caller } from "../../core/access/caller.ts";
import { findSource, type Source } from "../../core/access/source.ts";
import { type ApiError, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import { attachmentName, markdownOf } from "../../core/http/attachments.ts";
import { uploadHeaders } from "../../core/http/file-reply.ts";
import { file, type UploadedFile } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { escaped } from "../../core/markup.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import {
  type Context,
  Json,
  type PrepareContext,
  RawReply,
  type Resource,
  type Route,
  routes,
} from "../../core/resource.ts";
import { readFile } from "../../files/read.ts";
import { isRegular } from "../../git/changes.ts";
import { commitNumber } from "../../git/commits.ts";
import { treeNameOf } from "../../git/contents.ts";
import { BLOB } from "../../git/objects.ts";
import { BRANCHES, isShortName } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { entryAt } from "../../git/trees.ts";
import { FILE } from "../../git/work-tree.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { Queue } from "../../store/queue.ts";
import { mostAttachmentBytes } from "../application-settings/sizes.ts";
import { renderAll } from "../markdown/render.ts";
import { ensureHome } from "../namespaces/home.ts";
import { WIKI_WRITER } from "./abilities.ts";
import { openWiki } from "./open.ts";
import { type PageFile, PageTree, placePage, textOfPage } from "./pages.ts";
import { applyCommit, stageWikiCommit, type WikiPush } from "./pushes.ts";
import * as wikis from "./queries.ts";
import { ATTACHMENT, directoryOf, FORMATS, nameOf, type PageName, titleOf } from "./rules.ts";
import { migrations } from "./table.ts";

const fields = {
  format: field.text("w.format"),
  slug: field.text("w.slug"),
  title: field.text("w.title"),
};
/** A wiki page in a list. */
const listedPage = presenter(fields);
/** A wiki page with its content. */
const wikiPage = presenter({ content: field.text("w.content"), ...fields });
const wikiPageRow = rowMaker(wikiPage);

const slug = { slug: param.anyText() };
const content = param.text({ max: param.LONG_TEXT });
const format = param.optional(param.choice(FORMATS));

/** 404 for a page that a wiki does not have. */
export const noSuchPage = (): ApiError => notFound("Wiki Page");

type Preparing = PrepareContext<Caller | undefined> & { source: Source };

/** The wiki of a request that changes it, its pages, and who changes it. */
async function openToChange(preparing: Preparing) {
  const wiki = await openWiki(preparing);
  const pages = new PageTree(wiki.repository, wiki.main?.tree);
  // Routes that change wikis need a role.
  const by = { caller: preparing.caller as Caller, now: preparing.now };
  return { wiki, pages, by };
}

/** A page's file, and the wiki it is in. @throws ApiError 404 if there is none */
async function openPage(preparing: Preparing, slug: string) {
  const opened = await openToChange(preparing);
  const page = await opened.pages.find(slug);
  if (!page) throw noSuchPage();
  return { ...opened, page };
}

/** A commit of a wiki's default branch, by its name or the beginning of it; `undefined` if there is none. */
export function commitNamed(repository: Repository, tip: string, name: string): number | undefined {
  if (!/^[\da-f]{4,40}$/i.test(name)) return undefined;
  const { graph } = repository;
  const found = graph.withPrefix(name.toLowerCase(), 2);
  const last = commitNumber(repository, tip) as number;
  const [commit = -1] = found.length === 1 ? found : [];
  return commit >= 0 && graph.isAncestor(commit, last) ? commit : undefined;
}

/** The row of a page as a commit of the wiki has it. @throws ApiError 404 if it has none */
async function pageAt(preparing: Preparing, slug: string, version: string): Promise<Value[]> {
  const { repository, tip } = await openWiki(preparing);
  const commit = tip && commitNamed(repository, tip.commit, version);
  if (commit === undefined) throw noSuchPage();
  const page = await new PageTree(repository, treeNameOf(repository, commit)).find(slug);
  if (!page) throw noSuchPage();
  return wikiPageRow({
    "w.content": await textOfPage(repository, page),
    "w.format": page.format,
    "w.slug": page.slug,
    "w.title": titleOf(page.slug),
  });
}

/** The content of a page as HTML. What is not Markdown is shown as it is. */
async function htmlOf(
  {
    db,
    viewer,
    view,
    budget,
    source,
  }: Pick<Context, "viewer" | "view" | "budget" | "source"> & {
    db: Reader;
  },
  { content, format, slug }: Pick<wikis.WikiPage, "content" | "slug"> & { format: string },
): Promise<string> {
  if (format !== "markdown") return `<pre>${escaped(content)}</pre>`;
  // In a group, a number without a path refers to nothing.
  const group = source.isHome && (await findSource(db, "group", source.fullPath, viewer));
  const place = group ? { group } : { project: source };
  const wikiPage = { slug, wikiPath: `${group ? "groups/" : ""}${source.fullPath}/-/wikis` };
  const [html = ""] = await renderAll({ db, viewer, view, budget, wikiPage, ...place }, [content]);
  return html;
}

/** Clients that send the displayed title back do not rename the page, although another one may follow from its slug. */
function renamed({ slug }: PageFile, title: string | undefined): PageName | undefined {
  if (title === undefined || title === titleOf(slug)) return undefined;
  const name = nameOf(title, directoryOf(slug));
  return name.title === titleOf(slug) ? undefined : name;
}

/** 400 for a page whose folder would have the path of a file. */
const noRoom = () => invalid({ base: ["There is a file where the page's folder would be."] });

const messageOf = ({ username }: Caller, action: string, slug: string) =>
  `${username} ${action} page: ${titleOf(slug)}`;

type Applying = Pick<Context, "source" | "caller" | "now"> & { readonly db: Database };

/** Makes a commit that was staged, if there is one. @returns the id of the project that has the wiki */
const apply = async ({ db, source, caller, now }: Applying, staged: WikiPush | undefined) => {
  if (!staged) return source.id;
  const id = await ensureHome(db, source, now);
  // The role was checked, so there is a caller.
  await applyCommit(db, { ...source, id }, staged, { userId: (caller as Caller).id, now });
  return id;
};

/** Attachments of which a process makes commits, one after another: each is in memory then. */
const attaching = new Queue();

/** Stages the commit of an attachment. @param branch default: the default branch */
function attach(preparing: Preparing, file: UploadedFile, path: string, branch?: string) {
  return attaching.add(async () => {
    const { store, caller, now } = preparing;
    const wiki = await openWiki(preparing, branch);
    const pieces: Uint8Array[] = [];
    for await (const piece of readFile(store, file)) pieces.push(piece);
    const message = `Upload attachment ${path.slice(path.lastIndexOf("/") + 1)}`;
    const by = { caller: caller as Caller, now };
    const staged = await stageWikiCommit(wiki, by, { message }, async (tree, draft) => {
      const entry = { mode: FILE, oid: draft.add(BLOB, Buffer.concat(pieces)) };
      if (!(await tree.set(path, entry))) throw noRoom();
    });
    return { branch: wiki.branch.slice(BRANCHES.length), staged };
  });
}

/** Subscribes the caller to a page, or unsubscribes: GitLab has this in GraphQL only. */
export const subscribePage = routes({
  source: "project",
  path: "/wikis",
  features: ["wiki"],
}).put("/:slug*/subscription", {
  summary: "Subscribe to a wiki page, or unsubscribe",
  whenArchived: "allow",
  input: { ...slug, subscribed: param.boolean() },
  handle: async (context) => {
    const { db, caller, source, input } = context;
    const page = await wikis.find(db, source.id, input.slug);
    if (!page) throw noSuchPage();
    await wikis.subscribe(db, page.id, caller.id, input.subscribed);
    return undefined;
  },
});

/** Declares routes of the wikis of projects, or of groups. */
export function wikiRoutes(kind: Source["kind"]) {
  const shared = { path: "/wikis", features: ["wiki"] } as const;
  return kind === "project"
    ? routes({ ...shared, source: kind })
    : routes({ ...shared, source: kind, isHome: true });
}

/** The routes of the wikis of projects, or of groups. */
function routesOf(kind: Source["kind"]): Route[] {
  const { del, get, list, post, put } = wikiRoutes(kind);
  return [
    list("", {
      summary: `List the wiki pages of a ${kind} by title`,
      access: "anyone",
      input: { with_content: param.optional(param.boolean()) },
      presenter: ({ input }) => (input.with_content ? wikiPage : listedPage),
      handle: ({ db, presenter, page, source }) => wikis.list(db, presenter, page, source.id),
    }),
    get("/:slug*", {
      summary: "Get a wiki page, as it is or as a commit has it",
      access: "anyone",
      input: {
        ...slug,
        render_html: param.optional(param.boolean()),
        version: param.optional(param.anyText({ max: 4096 })),
      },
      presenter: wikiPage,
      prepare: async ({ slug, version }, preparing) =>
        version ? pageAt(preparing, slug, version) : undefined,
      handle: async (context) => {
        const { db, presenter, source, input, prepared } = context;
        const found = prepared ?? (await wikis.row(db, presenter, source.id, input.slug));
        if (!found) throw noSuchPage();
        if (!input.render_html) return found;
        const [content, format, slug] = (["content", "format", "slug"] as const).map((name) =>
          String(found[presenter.at(name)]),
        ) as [string, string, string];
        const shown = [...found];
        shown[presenter.at("content")] = await htmlOf(context, { content, format, slug });
        return shown;
      },
    }),
    post("", {
      summary: "Create a wiki page",
      access: "anyone",
      role: WIKI_WRITER,
      input: { title: param.text(), content, format },
      presenter: wikiPage,
      prepare: async ({ title, content, format = FORMATS[0] }, preparing) => {
        const { slug } = nameOf(title);
        const { wiki, pages, by } = await openToChange(preparing);
        if (await pages.find(slug)) {
          throw invalid({ base: ["Duplicate page: A page with that title already exists"] });
        }
        const message = messageOf(by.caller, "created", slug);
        const staged = await stageWikiCommit(wiki, by, { message }, async (tree, draft) => {
          const entry = { mode: FILE, oid: draft.add(BLOB, Buffer.from(content)) };
          if (!(await placePage(tree, { slug, format }, entry))) throw noRoom();
        });
        return { slug, staged };
      },
      handle: async (context) => {
        const { db, presenter, prepared } = context;
        const id = await apply(context, prepared.staged);
        return wikis.row(db, presenter, id, prepared.slug);
      },
    }),
    put("/:slug*", {
      summary: "Change or rename a wiki page",
      access: "anyone",
      role: WIKI_WRITER,
      input: {
        ...slug,
        title: param.optional(param.text()),
        content: param.optional(content),
        format,
      },
      atLeastOne: ["content", "title"],
      presenter: wikiPage,
      prepare: async ({ slug: given, title, content, format }, preparing) => {
        const { wiki, pages, by, page } = await openPage(preparing, given);
        const changed = { ...page, ...renamed(page, title), ...(format && { format }) };
        const { slug } = changed;
        if (slug !== given && (await pages.find(slug))) {
          throw invalid({ base: ["There is already a page with the same title in that path."] });
        }
        const message = messageOf(by.caller, "updated", slug);
        const commit = { message, renamed: [given, slug] } as const;
        const staged = await stageWikiCommit(wiki, by, commit, async (tree, draft) => {
          const oid = content === undefined ? page.oid : draft.add(BLOB, Buffer.from(content));
          const entry = { mode: FILE, oid };
          if (slug === given && changed.format === page.format) {
            await tree.set(page.path, entry);
            return;
          }
          await tree.remove(page.path);
          if (!(await placePage(tree, changed, entry))) throw noRoom();
        });
        return { slug, staged };
      },
      handle: async (context) => {
        const { db, presenter, prepared } = context;
        const id = await apply(context, prepared.staged);
        return wikis.row(db, presenter, id, prepared.slug);
      },
    }),
    del("/:slug*", {
      summary: "Delete a wiki page; the repository keeps its versions",
      access: "anyone",
      role: "maintainer",
      input: slug,
      prepare: async (input, preparing) => {
        const { wiki, by, page } = await openPage(preparing, input.slug);
        const message = messageOf(by.caller, "deleted", input.slug);
        return stageWikiCommit(wiki, by, { message }, (tree) => tree.remove(page.path));
      },
      handle: async (context) => {
        await apply(context, context.prepared);
        return undefined;
      },
    }),
    post("/attachments", {
      summary: "Attach a file to the wiki (multipart/form-data)",
      access: "anyone",
      role: WIKI_WRITER,
      input: { file: file(), branch: param.clearable(param.text()) },
      examples: [
        {
          file_name: "notes.txt",
          file_path: "uploads/00112233445566778899aabbccddeeff/notes.txt",
          branch: "master",
          link: {
            url: "uploads/00112233445566778899aabbccddeeff/notes.txt",
            markdown: "[notes](uploads/00112233445566778899aabbccddeeff/notes.txt)",
          },
        },
      ],
      upload: { part: "file", admit: mostAttachmentBytes },
      prepare: async ({ file, branch }, preparing) => {
        const name = attachmentName(file.name);
        if (branch && !isShortName(branch)) throw invalid({ branch: ["is invalid"] });
        const path = `uploads/${randomBytes(16).toString("hex")}/${name}`;
        return { name, path, ...(await attach(preparing, file, path, branch ?? undefined)) };
      },
      handle: async (context) => {
        const { name: file_name, path: file_path, branch, staged } = context.prepared;
        await apply(context, staged);
        const link = { url: file_path, markdown: markdownOf(file_name, file_path) };
        return new Json({ file_name, file_path, branch, link });
      },
    }),
    get("/uploads/:secret/:file_name", {
      answersWith: "application/octet-stream",
      summary: "Download an attachment of the wiki",
      access: "anyone",
      input: {
        secret: param.anyText(),
        file_name: param.anyText(),
        branch: param.optional(param.anyText()),
      },
      prepare: ({ branch }, preparing) => openWiki(preparing, branch),
      handle: async ({ input, prepared: { repository, tip } }) => {
        const { secret, file_name } = input;
        const root = tip ? repository.findHex(tip.tree) : undefined;
        const path = `uploads/${secret}/${file_name}`;
        const isAttachment = ATTACHMENT.test(path);
        const found =
          root === undefined || !isAttachment ? undefined : await entryAt(repository, root, path);
        if (!found || !isRegular(found.mode)) throw notFound();
        const object = repository.findHex(found.oid);
        return new RawReply(
          200,
          { ...uploadHeaders(file_name), etag: `"${found.oid}"` },
          { length: repository.sizeOf(object), chunks: () => repository.stream(object) },
        );
      },
    }),
  ];
}

/** Wikis of projects and groups (docs/wikis.md). */
export const wikiResource: Resource = {
  name: "Wikis",
  migrations,
  routes: [...routesOf("project"), ...routesOf("group")],
};
