import { extname } from "node:path/posix";
import * as audit from "../../audit/log.ts";
import type { Source } from "../../core/access/source.ts";
import { invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import { dispositionOf } from "../../core/http/file-reply.ts";
import { file } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { RawReply, type Resource, routes } from "../../core/resource.ts";
import { sealerFor } from "../../core/sealed.ts";
import { readFile } from "../../files/read.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader, Value } from "../../store/port.ts";
import { migrations, purposeOf, SECURE_FILES } from "./table.ts";

/** Bytes of a file: fewer than 5 MiB, as in GitLab. */
const MOST_BYTES = 5 * 1024 * 1024 - 1;
/** Files of a project. */
const MOST_FILES = 100;

/** The file's name, if it has an extension. */
const WITH_EXTENSION = "case when sf.name like '_%._%' then sf.name end";

const secureFile = presenter({
  id: field.integer("sf.id"),
  name: field.text("sf.name"),
  checksum: field.text("sf.checksum"),
  checksum_algorithm: field.constant("sha256"),
  created_at: field.instant("sf.created_at"),
  // Certificates are not read.
  expires_at: field.constant(null),
  metadata: field.constant(null),
  file_extension: field.derived([WITH_EXTENSION], "string or null", ([name]) =>
    name === null ? null : extname(String(name)).slice(1),
  ),
});

const one = { secure_file_id: param.recordId() };
const name = param.checked(
  param.text(),
  (sent) => !/^\.\.?$|[\\/]/.test(sent),
  "should be a valid file path",
);

/** Tokens of jobs may read and write them, with the rights of who started the job. */
const reading = { jobTokens: true, role: "developer" } as const;
const writing = { jobTokens: true, role: "maintainer", whenArchived: "refuse" } as const;

interface Found {
  readonly id: number;
  readonly name: string;
  readonly created_at: number;
}

/** A file of a project, without its content. @throws ApiError 404 */
async function find(db: Reader, { id }: Source, fileId: number): Promise<Found> {
  const found = await db.one<Found>(
    "select id, name, created_at from secure_files where project_id = ? and id = ?",
    [id, fileId],
  );
  if (!found) throw notFound();
  return found;
}

async function rowOf(db: Reader, fileId: number): Promise<Value[]> {
  const [found] = await db.rows(
    `select ${secureFile.columns} from secure_files sf where sf.id = ?`,
    [fileId],
  );
  return found as Value[];
}

/** Checks that a project may have one more file of this name. @throws ApiError 400 */
async function requireRoom(db: Reader, { id }: Source, wanted: string): Promise<void> {
  const names = await db.rows("select name from secure_files where project_id = ?", [id]);
  if (names.some(([taken]) => taken === wanted)) {
    throw invalid({ name: ["has already been taken"] });
  }
  if (names.length >= MOST_FILES) {
    throw invalid({ base: [`Maximum number of ci secure files (${MOST_FILES}) exceeded`] });
  }
}

const targetOf = ({ fullPath }: Source, of: string) => ({ target: `${of} of ${fullPath}` });

const { del, get, list, post } = routes({ source: "project", path: "/secure_files" });

/** Files that jobs need and nobody else should see. */
export const secureFileResource: Resource = {
  name: "Secure files",
  migrations,
  sealed: [SECURE_FILES],
  routes: [
    list("", {
      summary: "List the secure files of a project",
      ...reading,
      presenter: secureFile,
      handle: ({ db, presenter: shown, page, source }) =>
        paginate(db, shown, page, {
          from: "secure_files sf where sf.project_id = ?",
          values: [source.id],
          order: "sf.id",
        }),
    }),
    get("/:secure_file_id", {
      summary: "Get a secure file, without its content",
      ...reading,
      input: one,
      presenter: secureFile,
      handle: async ({ db, source, input }) =>
        rowOf(db, (await find(db, source, input.secure_file_id)).id),
    }),
    get("/:secure_file_id/download", {
      answersWith: "application/octet-stream",
      summary: "Download a secure file",
      ...reading,
      input: one,
      handle: async ({ db, source, secrets, input }) => {
        const found = await find(db, source, input.secure_file_id);
        const [row] = await db.rows("select content from secure_files where id = ?", [found.id]);
        const content = secrets.open(String(row?.[0]), purposeOf(source.id, found.name));
        const headers = {
          "content-type": "application/octet-stream",
          "content-disposition": dispositionOf("attachment", found.name),
          "cache-control": "no-store",
        };
        return new RawReply(200, headers, Buffer.from(content, "base64"));
      },
    }),
    post("", {
      summary: "Add a secure file (multipart/form-data), of less than 5 MiB",
      ...writing,
      input: { name, file: file() },
      upload: { part: "file", maxBytes: MOST_BYTES },
      presenter: secureFile,
      handle: async (context) => {
        const { db, source, secrets, input, now } = context;
        await requireRoom(db, source, input.name);
        const pieces: Uint8Array[] = [];
        // What was received is not kept: no record refers to it.
        for await (const piece of readFile(db, input.file)) pieces.push(piece);
        const seal = await sealerFor(db, secrets);
        const content = Buffer.concat(pieces).toString("base64");
        const id = await insertRow(db, "secure_files", {
          project_id: source.id,
          name: input.name,
          checksum: input.file.sha256,
          content: seal(content, purposeOf(source.id, input.name)),
          created_at: now,
        });
        await audit.log(context, "secure file added", targetOf(source, input.name));
        return rowOf(db, id);
      },
    }),
    del("/:secure_file_id", {
      summary: "Remove a secure file",
      ...writing,
      input: one,
      handle: async (context) => {
        const { db, source, input, requireUnmodified } = context;
        const found = await find(db, source, input.secure_file_id);
        requireUnmodified(found.created_at);
        await db.run("delete from secure_files where id = ?", [found.id]);
        await audit.log(context, "secure file removed", targetOf(source, found.name));
        return undefined;
      },
    }),
  ],
};
