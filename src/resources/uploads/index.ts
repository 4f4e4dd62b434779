import { randomBytes } from "node:crypto";
import * as field from "../../core/field.ts";
import { attachmentName, markdownOf } from "../../core/http/attachments.ts";
import { file } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import { mostAttachmentBytes } from "../application-settings/sizes.ts";
import { userFields } from "../users/json.ts";
import { download, requireUpload } from "./download.ts";
import * as uploads from "./queries.ts";
import { migrations } from "./table.ts";

const { del, get, list, post } = routes({ source: "project", path: "/uploads" });

const upload = presenter({
  id: field.integer("up.id"),
  size: field.integer("up.size"),
  filename: field.text("up.file_name"),
  created_at: field.instant("up.created_at"),
  uploaded_by: field.nested({
    id: userFields("u").id,
    name: userFields("u").name,
    username: userFields("u").username,
  }),
});

const id = { upload_id: param.recordId() };
const address = { secret: param.anyText(), file_name: param.anyText() };
const managing = { role: "maintainer" } as const;
const deleting = { ...managing, concurrency: "per project", whenArchived: "refuse" } as const;

const uploadRoutes = [
  post("", {
    summary: "Upload a file that texts can refer to (multipart/form-data)",
    concurrency: "per project",
    whenArchived: "refuse",
    input: { file: file() },
    upload: { part: "file", admit: mostAttachmentBytes },
    examples: [
      {
        id: 5,
        alt: "dk",
        url: "/uploads/66dbcd21ec5d24ed6ea225176098d52b/dk.png",
        full_path: "/-/project/1234/uploads/66dbcd21ec5d24ed6ea225176098d52b/dk.png",
        markdown: "![dk](/uploads/66dbcd21ec5d24ed6ea225176098d52b/dk.png)",
      },
    ],
    handle: async ({ db, source, caller, input, now }) => {
      const secret = randomBytes(16).toString("hex");
      const file_name = attachmentName(input.file.name);
      const row = { secret, file_name, uploader_id: caller.id };
      const id = await uploads.insert(db, source.id, input.file, row, now);
      const url = `/uploads/${secret}/${file_name}`;
      const markdown = markdownOf(file_name, url);
      const alt = markdown.slice(markdown.indexOf("[") + 1, markdown.indexOf("]"));
      return new Json({ id, alt, url, full_path: `/-/project/${source.id}${url}`, markdown });
    },
  }),
  list("", {
    summary: "List the uploads of a project, the newest first",
    ...managing,
    presenter: upload,
    handle: ({ db, source, presenter, page }) => uploads.list(db, presenter, page, source.id),
  }),
  get("/:upload_id", {
    answersWith: "application/octet-stream",
    summary: "Download an upload by its id",
    ...managing,
    input: id,
    handle: (context) => download(context, context.source, context.input),
  }),
  get("/:secret/:file_name", {
    answersWith: "application/octet-stream",
    summary: "Download an upload by its address",
    access: "anyone",
    input: address,
    handle: (context) => download(context, context.source, context.input),
  }),
  del("/:upload_id", {
    summary: "Delete an upload",
    ...deleting,
    input: id,
    handle: async ({ db, source, input, requireUnmodified }) => {
      const found = await requireUpload(db, source, input);
      requireUnmodified(found.created_at);
      await uploads.remove(db, found.upload_id);
      return undefined;
    },
  }),
  del("/:secret/:file_name", {
    summary: "Delete an upload by its address",
    ...deleting,
    input: address,
    handle: async ({ db, source, input, requireUnmodified }) => {
      const found = await requireUpload(db, source, input);
      requireUnmodified(found.created_at);
      await uploads.remove(db, found.upload_id);
      return undefined;
    },
  }),
];

/** Files that were uploaded to projects. */
export const uploadResource: Resource = { name: "Uploads", migrations, routes: uploadRoutes };
