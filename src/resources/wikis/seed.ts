import * as v from "valibot";
import { attachmentName } from "../../core/http/attachments.ts";
import { optionsOf } from "../../core/options.ts";
import {
  type InstantSeed,
  instant,
  oneOf,
  SeedError,
  type SeededSource,
  type Seeding,
  type SeedPart,
  type Word,
} from "../../core/seeding.ts";
import { Packs } from "../../git/packs.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import { seededHome } from "../namespaces/home.ts";
import { type Edit, WikiHistory } from "./history.ts";
import { placePage } from "./pages.ts";
import { FORMATS, type Format, nameOf } from "./rules.ts";

/** A wiki page of a seed. */
export interface WikiPageSeed {
  /** With its directory, if it has one. */
  title: string;
  content: string;
  format?: Word<Format> | undefined;
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

const PagesSchema = v.optional(
  v.array(
    optionsOf({
      title: v.string(),
      content: v.string(),
      format: v.optional(oneOf(FORMATS), FORMATS[0]),
      author: v.optional(v.string()),
      created_at: instant,
      edits: v.optional(
        v.array(
          optionsOf({ content: v.string(), author: v.optional(v.string()), created_at: instant }),
        ),
        [],
      ),
    }),
  ),
  [],
);
type Page = v.InferOutput<typeof PagesSchema>[number];

const AttachmentsSchema = v.optional(
  v.array(
    optionsOf({
      folder: v.pipe(
        v.string(),
        v.regex(/^[0-9a-f]{32}$/, "Invalid folder: 32 hexadecimal digits"),
      ),
      file_name: v.string(),
      content: v.string(),
      encoding: v.optional(oneOf(["text", "base64"]), "text"),
      author: v.optional(v.string()),
      created_at: instant,
    }),
  ),
  [],
);
type Attachment = v.InferOutput<typeof AttachmentsSchema>[number];

/** A commit of a seeded wiki. */
interface Change {
  readonly author: string | undefined;
  readonly at: number;
  /** What was done to what, as messages say it. */
  readonly action: string;
  readonly edit: Edit;
}

/** What the pages of wikis are made of, until the attachments are known, too. */
const pending = new WeakMap<SeededSource, Change[]>();

/** The id of the project that has a wiki: that of a group is in the hidden one. */
const placeOf = ({ db }: Seeding, source: SeededSource): Promise<number> =>
  source.column === "namespace_id" ? seededHome(db, source) : Promise.resolve(source.id);

/** Does something at once, or for a group at the end: no other project gets an id after that of a hidden one. */
async function whenThere(seeding: Seeding, { column }: SeededSource, work: () => Promise<void>) {
  if (column === "project_id") await work();
  else seeding.atEnd(work);
}

/** The pages of the wiki of a project or group. */
export const wikiPart: SeedPart<SeededSource, WikiPageSeed[] | undefined> = {
  schema: PagesSchema,
  sizeOf: (pages) => (pages as Page[]).length,
  insert: (seeding, value, source) =>
    whenThere(seeding, source, () => insertPages(seeding, value as Page[], source)),
};

async function insertPages(
  seeding: Seeding,
  pages: readonly Page[],
  project: SeededSource,
): Promise<void> {
  const slugs = new Set<string>();
  const changes: Change[] = [];
  const projectId = pages.length > 0 ? await placeOf(seeding, project) : 0;
  for (const page of pages) {
    const name = nameOf(page.title);
    if (slugs.has(name.slug)) {
      throw new SeedError(`${project.fullPath} has two wiki pages ${name.slug}`);
    }
    slugs.add(name.slug);
    const versions = versionsOf(page, name, seeding.now, project);
    changes.push(...versions);
    await insertRow(seeding.db, "wiki_pages", {
      project_id: projectId,
      ...name,
      format: page.format,
      created_at: page.created_at ?? seeding.now,
      updated_at: (versions.at(-1) as Change).at,
      content: page.edits.at(-1)?.content ?? page.content,
    });
    seeding.count("wiki_pages", 1);
    seeding.inserted();
  }
  pending.set(project, changes);
}

/** The versions of a page. None is earlier than the one before. */
function versionsOf(
  page: Page,
  { slug, title }: ReturnType<typeof nameOf>,
  now: number,
  { fullPath }: SeededSource,
): Change[] {
  const { format, edits, ...first } = page;
  let at = first.created_at ?? now;
  let path: string | undefined;
  return [first, ...edits].map(({ content, author, created_at }, index) => {
    at = Math.max(at, created_at ?? at);
    const edit: Edit = async (tree, add) => {
      const entry = add(Buffer.from(content));
      if (path !== undefined) await tree.set(path, entry);
      else path = await placePage(tree, { slug, format }, entry);
      if (path === undefined) throw new SeedError(`the wiki of ${fullPath} can't have ${slug}`);
    };
    return { author, at, action: `${index === 0 ? "created" : "updated"} page: ${title}`, edit };
  });
}

/** The attachments of the wiki of a project or group. With them, its repository is made. */
export const wikiAttachmentsPart: SeedPart<SeededSource, WikiAttachmentSeed[] | undefined> = {
  schema: AttachmentsSchema,
  sizeOf: (attachments) => (attachments as Attachment[]).length,
  insert: (seeding, value, source) =>
    whenThere(seeding, source, () => insertAttachments(seeding, value as Attachment[], source)),
};

async function insertAttachments(
  seeding: Seeding,
  attachments: readonly Attachment[],
  project: SeededSource,
): Promise<void> {
  const changes = pending.get(project) ?? [];
  pending.delete(project);
  for (const attachment of attachments) {
    const { folder, content, encoding, author, created_at: at = seeding.now } = attachment;
    const name = attachmentName(attachment.file_name);
    const bytes = Buffer.from(content, encoding === "text" ? "utf8" : encoding);
    const edit: Edit = async (tree, add) => {
      await tree.set(`uploads/${folder}/${name}`, add(bytes));
    };
    changes.push({ author, at, action: `Upload attachment ${name}`, edit });
    seeding.inserted();
  }
  if (changes.length > 0) await store(seeding, project, changes);
}

/** Makes a wiki's repository, with a commit of each change. */
async function store(
  seeding: Seeding,
  project: SeededSource,
  changes: readonly Change[],
): Promise<void> {
  const { db, now } = seeding;
  const people = await peopleOf(seeding, changes);
  const history = new WikiHistory(Packs.within(db), now);
  for (const { author, at, action, edit } of [...changes].sort((a, b) => a.at - b.at)) {
    const person = author === undefined ? undefined : people.get(author);
    const isPage = !action.startsWith("Upload");
    const message = author !== undefined && isPage ? `${author} ${action}` : action;
    const time = Math.floor(at / 1000);
    await history.commit({ name: "", email: "", ...person, time, zone: 0 }, message, edit);
  }
  await history.store();
  await history.apply(db, await placeOf(seeding, project));
}

/** The names and addresses of authors, by user name. @throws SeedError if the seed does not have one of them */
async function peopleOf(seeding: Seeding, changes: readonly Change[]) {
  const ids = new Set(
    changes.flatMap(({ author = [] }) => author).map((name) => seeding.userId(name)),
  );
  const people = new Map<string, { name: string; email: string }>();
  if (ids.size === 0) return people;
  const among = placeholders([...ids]);
  const rows = await seeding.db.rows(
    `select username, name, email from users where id in (${among.sql})`,
    among.values,
  );
  for (const [username, name, email] of rows as [string, string, string][]) {
    people.set(username, { name, email });
  }
  return people;
}
