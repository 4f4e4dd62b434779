import { createHash } from "node:crypto";
import * as v from "valibot";
import { optionsOf } from "../../core/options.ts";
import {
  type InstantSeed,
  instant,
  oneOf,
  SeedError,
  type SeededSource,
  type Seeding,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import * as wikis from "./queries.ts";
import { attachmentName, nameOf } from "./rules.ts";

/** A wiki page of a seed. */
export interface WikiPageSeed {
  /** With its directory, if it has one. */
  title: string;
  content: string;
  format?: Word<wikis.Format> | undefined;
  /** A user name. Default: none, as for pages that an operator wrote. */
  author?: string | undefined;
  created_at?: InstantSeed;
  /** Its later versions, in order. */
  edits?: { content: string; author?: string | undefined; created_at?: InstantSeed }[] | undefined;
}

/** A file that pages link to as `uploads/FOLDER/FILE_NAME`. */
export interface WikiAttachmentSeed {
  /** 32 hexadecimal digits. */
  folder: string;
  file_name: string;
  content: string;
  /** The encoding of `content`. Default `"text"`. */
  encoding?: Word<"text" | "base64"> | undefined;
  author?: string | undefined;
  created_at?: InstantSeed;
}

/** The pages of a project's wiki. */
export const wikiPart = seedList({
  entries: {
    title: v.string(),
    content: v.string(),
    format: v.optional(oneOf(wikis.FORMATS), wikis.FORMATS[0]),
    author: v.optional(v.string()),
    created_at: instant,
    edits: v.optional(
      v.array(
        optionsOf({ content: v.string(), author: v.optional(v.string()), created_at: instant }),
      ),
      [],
    ),
  },
  counted: "wiki_pages",
  async insert(seeding, given, project: SeededSource) {
    const { db } = seeding;
    const { title, content, format, created_at: at = seeding.now, edits } = given;
    const name = nameOf(title);
    if (await wikis.isTaken(db, project.id, name.slug)) {
      throw new SeedError(`${project.fullPath} has two wiki pages ${name.slug}`);
    }
    const author = authorOf(seeding, given.author);
    await wikis.insert(db, project.id, { ...name, content, format }, author, at);
    if (edits.length === 0) return;
    const page = (await wikis.find(db, project.id, name.slug)) as wikis.WikiPage;
    for (const edit of edits) {
      const changed = { ...page, content: edit.content };
      const editor = authorOf(seeding, edit.author);
      await wikis.update(db, project.id, changed, editor, edit.created_at ?? at);
    }
  },
});

/** The attachments of a project's wiki. */
export const wikiAttachmentsPart = seedList({
  entries: {
    folder: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/, "Invalid folder: 32 hexadecimal digits")),
    file_name: v.string(),
    content: v.string(),
    encoding: v.optional(oneOf(["text", "base64"]), "text"),
    author: v.optional(v.string()),
    created_at: instant,
  },
  async insert(seeding, given, { id: projectId }: SeededSource) {
    const { db } = seeding;
    const { folder: secret, content, encoding, created_at: at = seeding.now } = given;
    const bytes = Buffer.from(content, encoding === "text" ? "utf8" : encoding);
    const id = await wikis.beginBlob(db, projectId, at);
    await wikis.appendToBlob(db, id, 0, bytes);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const blob_id = await wikis.finishBlob(db, projectId, { id, sha256, size: bytes.length });
    const file_name = attachmentName(given.file_name);
    await wikis.insertAttachment(
      db,
      projectId,
      { blob_id, secret, file_name, branch: "master" },
      authorOf(seeding, given.author),
      at,
    );
  },
});

function authorOf(seeding: Seeding, username: string | undefined): wikis.Author {
  return username === undefined ? undefined : { id: seeding.userId(username), username };
}
