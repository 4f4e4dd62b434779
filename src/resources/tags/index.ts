import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { AfterCommit, Json, type Resource, routes } from "../../core/resource.ts";
import {
  commitNumber,
  readCommit,
  readSignedTag,
  readTag,
  tagTime,
  timeOf,
} from "../../git/commits.ts";
import { Lru } from "../../git/lru.ts";
import { type Ref, TAGS } from "../../git/refs.ts";
import type { Reader, Value } from "../../store/port.ts";
import { SIGNATURE_EXAMPLES, signatureJson } from "../gpg-keys/json.ts";
import { verify } from "../gpg-keys/verify.ts";
import { type RefRights, rightsOf } from "../protected-refs/abilities.ts";
import { removeOf } from "../releases/followers.ts";
import { notesOf } from "../releases/queries.ts";
import { commitFields, commitValues } from "../repositories/json.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";
import { pageByName, pageOfChosen, searched } from "../repositories/refs.ts";
import { stageTag } from "../repositories/tag.ts";
import { applyAll, applyDeletion, openToChange, stageDeletion } from "../repositories/write.ts";

/** A tag. */
const tag = presenter({
  name: field.text("tag_name"),
  message: field.text("tag_message"),
  target: field.text("target"),
  commit: field.nested(commitFields),
  release: field.nested({
    tag_name: field.text("released_tag"),
    description: field.text("release_description"),
  }),
  protected: field.flag("protected"),
  created_at: field.zoned("tagged_at"),
});
const tagRow = rowMaker(tag);

async function rowOf(
  opened: OpenRepository,
  { name, oid, peeled }: Ref,
  rights: RefRights,
  notes: ReadonlyMap<string, string | null>,
): Promise<Value[]> {
  const { repository } = opened;
  const annotated = await readTag(repository, repository.findHex(oid));
  const number = commitNumber(repository, peeled ?? oid);
  const tagName = name.slice(TAGS.length);
  const values = {
    tag_name: tagName,
    tag_message: annotated?.message.trimEnd() ?? "",
    target: oid,
    protected: Number(rights.isProtectedTag(tagName)),
    tagged_at: annotated?.tagger ? timeOf(annotated.tagger) : null,
    released_tag: notes.has(tagName) ? tagName : null,
    release_description: notes.get(tagName) ?? null,
  };
  return number === undefined
    ? tagRow(values)
    : tagRow(values, commitValues(opened, await readCommit(repository, number)));
}

/** Makes the rows of tags. */
async function rowsOf(
  db: Reader,
  opened: OpenRepository,
  refs: readonly Ref[],
): Promise<Value[][]> {
  const names = refs.map(({ name }) => name);
  const rights = await rightsOf(db, opened.project, names);
  const notes = await notesOf(
    db,
    opened.project.id,
    names.map((name) => name.slice(TAGS.length)),
  );
  const rows: Value[][] = [];
  for (const ref of refs) rows.push(await rowOf(opened, ref, rights, notes));
  return rows;
}

/** When annotated tags were made, by their names. */
const taggedAt = new Lru<string, number>(4 * 1024 * 1024);

/** {@link tagTime}, remembered of those that must be read for it. */
async function createdAt({ repository }: OpenRepository, { oid, peeled }: Ref): Promise<number> {
  const known = taggedAt.get(oid);
  if (known !== undefined) return known;
  const time = await tagTime(repository, { oid, peeled });
  if (peeled) taggedAt.set(oid, time, 150);
  return time;
}

async function byTime(refs: readonly Ref[], opened: OpenRepository): Promise<Ref[]> {
  const timed: { ref: Ref; time: number }[] = [];
  for (const ref of refs) timed.push({ ref, time: await createdAt(opened, ref) });
  return timed.sort((a, b) => a.time - b.time).map(({ ref }) => ref);
}

/** Sorts versions by their numbers: 1.9 before 1.10. */
function byVersion(refs: readonly Ref[]): Ref[] {
  return refs
    .map((ref) => ({ ref, parts: ref.name.split(/(\d+)/) }))
    .sort((a, b) => compareVersions(a.parts, b.parts))
    .map(({ ref }) => ref);
}

/** Compares texts whose odd parts are digits. */
function compareVersions(a: readonly string[], b: readonly string[]): number {
  for (const [at, part] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    if (part === other) continue;
    const [one, two] = at % 2 === 1 ? [withoutZeros(part), withoutZeros(other)] : [part, other];
    if (at % 2 === 1 && one.length !== two.length) return one.length - two.length;
    if (one !== two) return one < two ? -1 : 1;
  }
  return a.length - b.length;
}

const withoutZeros = (digits: string) => digits.replace(/^0+/, "");

const { del, get, list, post } = routes({
  source: "project",
  path: "/repository/tags",
  repository: true,
});

const writing = { access: "anyone", role: "developer", concurrency: "per project" } as const;

/** A tag by its name. @throws ApiError 404 */
function requireTag({ refs }: OpenRepository, name: string): Ref {
  const ref = refs.get(TAGS + name);
  if (!ref) throw notFound("Tag");
  return ref;
}

/** Tags of projects' repositories. */
export const tagResource: Resource = {
  name: "Tags",
  migrations: [],
  routes: [
    list("", {
      summary: "List the tags of a project",
      access: "anyone",
      input: {
        order_by: param.optional(param.choice(["name", "updated", "version"])),
        sort: param.optional(param.choice(["asc", "desc"])),
        search: param.optional(param.anyText()),
      },
      presenter: tag,
      prepare: (_, preparing) => openRepository(preparing),
      handle: ({ db, input, page, prepared: opened }) => {
        const { order_by = "updated", sort = "desc", search } = input;
        const show = (current: OpenRepository, refs: readonly Ref[]) => rowsOf(db, current, refs);
        if (!search && order_by === "name" && sort === "asc") {
          return pageByName(db, opened, TAGS, page, show);
        }
        const choose = async (refs: readonly Ref[], current: OpenRepository) => {
          const found = search ? searched(refs, TAGS, search) : [...refs];
          const sorted =
            order_by === "name"
              ? found
              : order_by === "version"
                ? byVersion(found)
                : await byTime(found, current);
          return sort === "asc" ? sorted : sorted.reverse();
        };
        return pageOfChosen(db, opened, TAGS, page, choose, show);
      },
    }),
    get("/:tag_name", {
      summary: "Get a tag",
      access: "anyone",
      input: { tag_name: param.anyText({ max: 1024 }) },
      presenter: tag,
      prepare: ({ tag_name }, preparing) => openRepository(preparing, [TAGS + tag_name]),
      handle: async ({ db, input, prepared: opened }) =>
        (await rowsOf(db, opened, [requireTag(opened, input.tag_name)]))[0],
    }),
    get("/:tag_name/signature", {
      summary: "Get the signature of an annotated tag, and by whom it is",
      access: "anyone",
      input: { tag_name: param.anyText({ max: 1024 }) },
      examples: SIGNATURE_EXAMPLES,
      prepare: ({ tag_name }, preparing) => openRepository(preparing, [TAGS + tag_name]),
      handle: async ({ db, input, prepared: opened }) => {
        const { repository } = opened;
        const { oid } = requireTag(opened, input.tag_name);
        const signed = await readSignedTag(repository, repository.findHex(oid));
        if (!signed) throw notFound("Signature");
        return new Json(signatureJson(await verify(db, signed)));
      },
    }),
    post("", {
      summary: "Create a tag; with a message, an annotated one",
      ...writing,
      input: {
        tag_name: param.text({ max: 1024 }),
        ref: param.text({ max: 1024 }),
        message: param.optional(param.trimmed({ max: param.LONG_TEXT })),
      },
      presenter: tag,
      prepare: async ({ tag_name: name, ref, message = "" }, preparing) =>
        stageTag(await openToChange(preparing, [TAGS + name], [ref]), name, ref, message),
      handle: async ({ db, prepared: { received, place, ref }, now }) => {
        await applyAll(db, received, now);
        return new AfterCommit(async (read) => (await rowsOf(read, place, [ref]))[0], "repository");
      },
    }),
    del("/:tag_name", {
      summary: "Delete a tag with its release",
      ...writing,
      input: { tag_name: param.anyText({ max: 1024 }) },
      prepare: async ({ tag_name: name }, preparing) => {
        const place = await openToChange(preparing, [TAGS + name]);
        return stageDeletion(place, requireTag(place, name));
      },
      handle: async (context) => {
        await applyDeletion(context);
        await removeOf(context, context.input.tag_name);
        return undefined;
      },
    }),
  ],
};
