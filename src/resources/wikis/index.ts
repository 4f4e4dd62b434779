import { randomBytes } from "node:crypto";
import { invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import { file } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, RawReply, type Resource, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import * as wikis from "./queries.ts";
import {
  attachmentName,
  directoryOf,
  headersOf,
  markdownOf,
  nameOf,
  type PageName,
} from "./rules.ts";
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

const slug = { slug: param.anyText() };
const content = param.text({ max: param.LONG_TEXT });
const format = param.optional(param.choice(wikis.FORMATS));

type In = Pick<Context, "source"> & { db: Reader };

const noSuchPage = () => notFound("Wiki Page");

async function findPage({ db, source, input }: In & { input: { slug: string } }) {
  const found = await wikis.find(db, source.id, input.slug);
  if (!found) throw noSuchPage();
  return found;
}

/** Clients that send the displayed title back do not rename the page, although another one may follow from its slug. */
function renamed(page: PageName, title: string | undefined): PageName | undefined {
  if (title === undefined || title === page.title) return undefined;
  const name = nameOf(title, directoryOf(page.slug));
  return name.title === page.title ? undefined : name;
}

const { del, get, list, post, put } = routes({
  source: "project",
  path: "/wikis",
  features: ["wiki"],
});

/** Subscribes the caller to a page, or unsubscribes: GitLab has this in GraphQL only. */
export const subscribePage = put("/:slug*/subscription", {
  summary: "Subscribe to a wiki page, or unsubscribe",
  whenArchived: "allow",
  input: { ...slug, subscribed: param.boolean() },
  handle: async (context) => {
    const { db, caller, input } = context;
    const { id } = await findPage(context);
    await wikis.subscribe(db, id, caller.id, input.subscribed);
    return undefined;
  },
});

const wikiRoutes = [
  list("", {
    summary: "List the wiki pages of a project by title",
    access: "anyone",
    input: { with_content: param.optional(param.boolean()) },
    presenter: ({ input }) => (input.with_content ? wikiPage : listedPage),
    handle: ({ db, presenter, page, source }) => wikis.list(db, presenter, page, source.id),
  }),
  get("/:slug*", {
    summary: "Get a wiki page",
    access: "anyone",
    input: slug,
    presenter: wikiPage,
    handle: async ({ db, presenter, source, input }) => {
      const found = await wikis.row(db, presenter, source.id, input.slug);
      if (!found) throw noSuchPage();
      return found;
    },
  }),
  post("", {
    summary: "Create a wiki page",
    access: "anyone",
    role: "developer",
    input: { title: param.text(), content, format },
    presenter: wikiPage,
    handle: async ({ db, presenter, source, input, caller, now }) => {
      const { content, format = wikis.FORMATS[0] } = input;
      const name = nameOf(input.title);
      if (await wikis.isTaken(db, source.id, name.slug)) {
        throw invalid({ base: ["Duplicate page: A page with that title already exists"] });
      }
      await wikis.insert(db, source.id, { ...name, content, format }, caller, now);
      return wikis.row(db, presenter, source.id, name.slug);
    },
  }),
  put("/:slug*", {
    summary: "Change or rename a wiki page",
    access: "anyone",
    role: "developer",
    input: {
      ...slug,
      title: param.optional(param.text()),
      content: param.optional(content),
      format,
    },
    atLeastOne: ["content", "title"],
    presenter: wikiPage,
    handle: async (context) => {
      const { db, presenter, source, input, caller, now } = context;
      const found = await findPage(context);
      const changed = {
        ...found,
        ...renamed(found, input.title),
        content: input.content ?? found.content,
        format: input.format ?? found.format,
      };
      const moves = changed.slug !== found.slug;
      if (moves && (await wikis.isTaken(db, source.id, changed.slug))) {
        throw invalid({ base: ["There is already a page with the same title in that path."] });
      }
      if (moves || changed.content !== found.content || changed.format !== found.format) {
        await wikis.update(db, source.id, changed, caller, now);
      }
      return wikis.row(db, presenter, source.id, changed.slug);
    },
  }),
  del("/:slug*", {
    summary: "Delete a wiki page; its versions remain",
    access: "anyone",
    role: "maintainer",
    input: slug,
    handle: async (context) => {
      const { db, source, caller, now } = context;
      await wikis.remove(db, source.id, await findPage(context), caller, now);
      return undefined;
    },
  }),
  post("/attachments", {
    summary: "Attach a file to the wiki (multipart/form-data)",
    access: "anyone",
    role: "developer",
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
    upload: {
      part: "file",
      begin: (db, source, now) => wikis.beginBlob(db, source.id, now),
      append: wikis.appendToBlob,
      discard: wikis.discardBlob,
    },
    handle: async ({ db, source, input, caller, now }) => {
      const file_name = attachmentName(input.file.name);
      const secret = randomBytes(16).toString("hex");
      const branch = input.branch ?? "master";
      const blob_id = await wikis.finishBlob(db, source.id, input.file);
      const attachment = { blob_id, secret, file_name, branch };
      await wikis.insertAttachment(db, source.id, attachment, caller, now);
      const file_path = `uploads/${secret}/${file_name}`;
      const link = { url: file_path, markdown: markdownOf(file_name, file_path) };
      return new Json({ file_name, file_path, branch, link });
    },
  }),
  get("/uploads/:secret/:file_name", {
    summary: "Download an attachment of the wiki",
    access: "anyone",
    input: { secret: param.anyText(), file_name: param.anyText() },
    handle: async ({ db, source, input }) => {
      const { secret, file_name } = input;
      const blob = await wikis.findAttachment(db, source.id, secret, file_name);
      if (!blob) throw notFound();
      return new RawReply(
        200,
        { ...headersOf(file_name), etag: `"${blob.sha256}"` },
        { length: blob.size, chunks: () => wikis.bytesOf(db, blob) },
      );
    },
  }),
];

/** Wikis of projects (docs/wikis.md). */
export const wikiResource: Resource = {
  name: "Wikis",
  migrations,
  routes: wikiRoutes,
};
