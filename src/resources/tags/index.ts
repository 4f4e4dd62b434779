import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { AfterCommit, type Resource, routes } from "../../core/resource.ts";
import { commitId, commitNumber, readCommit, readTag, timeOf } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { Lru } from "../../git/lru.ts";
import { type Ref, TAGS } from "../../git/refs.ts";
import { findCommit } from "../../git/revisions.ts";
import type { Reader, Value } from "../../store/port.ts";
import { type RefRights, rightsOf } from "../protected-refs/rights.ts";
import { commitFields, commitValues } from "../repositories/json.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";
import { pageByName, pageOfChosen, searched } from "../repositories/refs.ts";
import { impossible, isShortName } from "../repositories/rules.ts";
import { applyAll, openToChange, type Place, signatureOf, stage } from "../repositories/write.ts";

/** A tag. */
const tag = presenter({
  name: field.text("tag_name"),
  message: field.text("tag_message"),
  target: field.text("target"),
  commit: field.nested(commitFields),
  release: field.constant(null),
  protected: field.flag("protected"),
  created_at: field.zoned("tagged_at"),
});
const tagRow = rowMaker(tag);

async function rowOf(
  opened: OpenRepository,
  { name, oid, peeled }: Ref,
  rights: RefRights,
): Promise<Value[]> {
  const { repository } = opened;
  const annotated = await readTag(repository, repository.findHex(oid));
  const number = commitNumber(repository, peeled ?? oid);
  const values = {
    tag_name: name.slice(TAGS.length),
    tag_message: annotated?.message.trimEnd() ?? "",
    target: oid,
    protected: Number(rights.isProtectedTag(name.slice(TAGS.length))),
    tagged_at: annotated?.tagger ? timeOf(annotated.tagger) : null,
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
  const rows: Value[][] = [];
  for (const ref of refs) rows.push(await rowOf(opened, ref, rights));
  return rows;
}

/** When annotated tags were made, by their names. */
const taggedAt = new Lru<string, number>(4 * 1024 * 1024);

/** When a tag was made, in seconds of the epoch: if it is not annotated, when its commit was. */
async function createdAt({ repository }: OpenRepository, { oid, peeled }: Ref): Promise<number> {
  const known = taggedAt.get(oid);
  if (known !== undefined) return known;
  const tagger = peeled && (await readTag(repository, repository.findHex(oid)))?.tagger;
  const number = commitNumber(repository, peeled ?? oid);
  const { times } = repository.graph;
  const time = tagger ? tagger.time : number === undefined ? 0 : (times[number] as number);
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

const writing = { access: "anyone", role: "developer", beside: "others" } as const;

/** A tag by its name. @throws ApiError 404 */
function requireTag({ refs }: OpenRepository, name: string): Ref {
  const ref = refs.get(TAGS + name);
  if (!ref) throw notFound("Tag");
  return ref;
}

/**
 * Stages a new tag: annotated, if it has a message.
 *
 * @param place opened with the tag and `target`
 * @throws ApiError 400 if there can't be such a tag
 */
async function stageTag(place: Place, name: string, target: string, message: string) {
  const { repository, refs, store, caller, now } = place;
  if (!isShortName(name)) throw impossible("Tag name invalid");
  if (refs.has(TAGS + name)) throw impossible(`Tag ${name} already exists`);
  const number = await findCommit(place, target);
  if (number === undefined) throw impossible(`Target ${target} is invalid`);
  const commit = commitId(repository, number);
  const draft = new Draft(repository);
  const tagger = message === "" ? undefined : await signatureOf(store.reader(), caller.id, now);
  const oid = tagger ? draft.addTag({ commit, name, tagger, message }) : commit;
  const received = await stage(place, draft, [{ name: TAGS + name, from: undefined, to: oid }]);
  const ref = { name: TAGS + name, oid, peeled: tagger ? commit : null };
  return { received, ref, place: { ...place, repository: received.push.repository } };
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
      summary: "Delete a tag",
      ...writing,
      input: { tag_name: param.anyText({ max: 1024 }) },
      prepare: async ({ tag_name: name }, preparing) => {
        const place = await openToChange(preparing, [TAGS + name]);
        const { repository } = place;
        const { name: fullName, oid: from, peeled } = requireTag(place, name);
        const number = commitNumber(repository, peeled ?? from);
        const commit = number === undefined ? undefined : await readCommit(repository, number);
        const change = { name: fullName, from, to: undefined };
        const received = await stage(place, new Draft(repository), [change]);
        return { received, authoredAt: 1000 * (commit?.author.time ?? 0) };
      },
      handle: async ({ db, prepared: { received, authoredAt }, requireUnmodified, now }) => {
        requireUnmodified(authoredAt);
        await applyAll(db, received, now);
        return undefined;
      },
    }),
  ],
};
