import { mayReadCode, type Source } from "../../core/access/source.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import { ApiError, forbidden, notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { withoutCredentials } from "../../core/pagination.ts";
import {
  AfterCommit,
  type Context,
  type PrepareContext,
  RawReply,
  type Resource,
  routes,
} from "../../core/resource.ts";
import { commitNumber, readCommit } from "../../git/commits.ts";
import { TAGS } from "../../git/refs.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import type { Budget } from "../../turns/budget.ts";
import { renderAll } from "../markdown/render.ts";
import { findFor } from "../milestones/queries.ts";
import { commitValues } from "../repositories/json.ts";
import { type OpenRepository, openRepository, withRefs } from "../repositories/open.ts";
import { stageTag } from "../repositories/tag.ts";
import { applyAll, openToChange, orDiscard } from "../repositories/write.ts";
import { writableReleases } from "./abilities.ts";
import { collect } from "./evidences.ts";
import { changed, removeOf } from "./followers.ts";
import {
  basicRelease,
  evidence,
  link,
  milestone,
  release,
  releaseRow,
  SOURCES,
  storedRelease,
} from "./json.ts";
import * as releases from "./queries.ts";
import { LINK_TYPES, MAX_URL, readLinks, requireLink } from "./rules.ts";
import { migrations } from "./table.ts";

const { del, list, post, put } = routes({
  source: "project",
  path: "/releases",
  features: ["releases"],
});
const group = routes({ source: "group", path: "/releases" });
/** What only those may read who may read the code. */
const code = routes({
  source: "project",
  path: "/releases",
  repository: true,
  features: ["releases"],
});

const reading = { access: "anyone", jobTokens: true } as const;
const writing = {
  access: "anyone",
  role: "developer",
  jobTokens: true,
  concurrency: "per project",
  whenArchived: "refuse",
} as const;

const tag = { tag_name: param.anyText({ max: 1024 }) };
const html = { include_html_description: param.optional(param.boolean()) };
const about = {
  name: param.optional(param.text()),
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  released_at: param.optional(param.instant()),
  milestones: param.optional(param.arrayOf(param.anyText())),
  milestone_ids: param.optional(param.arrayOf(param.integer())),
};

/** Who sees releases, and how. */
interface Sight {
  readonly source: Source;
  readonly viewer: Viewer;
  readonly view: View;
}

/** The repository, if the caller may read it. */
const openReadable = (preparing: PrepareContext & { source: Source }) =>
  mayReadCode(preparing.source) ? openRepository(preparing) : undefined;

/** The values of a stored release by column. */
const valuesOf = (row: readonly Value[]): Record<string, Value> =>
  Object.fromEntries(
    storedRelease.columns.split(", ").map((column, at) => [column, row[at] as Value]),
  );

/** How releases are shown: with their descriptions as HTML only if that is asked for. */
type Showing = Pick<Sight, "source" | "view"> & {
  readonly html?: { readonly viewer: Viewer; readonly budget: Budget } | undefined;
};

/** Makes rows of releases of a project. @param opened the repository, if the caller may read it */
const rowsOf = (
  db: Reader,
  { source, view, html }: Showing,
  opened: OpenRepository | undefined,
  stored: readonly Value[][],
): Promise<Value[][]> =>
  shownRows(db, { source, view, html, code: opened !== undefined }, opened, stored);

/** Makes rows of releases. @param opened the repository, if commits are shown */
async function shownRows(
  db: Reader,
  shown: Omit<Showing, "source"> & {
    readonly source: Source | undefined;
    /** Whether the caller may read the code. */
    readonly code: boolean;
  },
  opened: OpenRepository | undefined,
  stored: readonly Value[][],
): Promise<Value[][]> {
  const { source, view, html } = shown;
  const found = stored.map(valuesOf);
  const ids = found.map((values) => values["r.id"] as number);
  const tags = found.map((values) => values["r.tag"] as string);
  const isWritable = source && (await writableReleases(db, source, tags));
  const links = await releases.linksOf(db, link.columns, ids);
  const milestones = await releases.milestonesOf(db, milestone.columns, ids);
  const evidences = shown.code
    ? await releases.evidencesOf(db, evidence.columns, ids)
    : new Map<number, Value[][]>();
  const refs = found.flatMap((values) =>
    values["r.sha"] ? [{ name: "", oid: values["r.sha"] as string, peeled: null }] : [],
  );
  const current = opened && (await withRefs(opened, refs));
  const descriptions = found.map((values) => String(values["r.description"] ?? ""));
  const rendered =
    html &&
    source &&
    (await renderAll(
      {
        ...{ db, view, project: source, viewer: html.viewer, budget: html.budget },
        store: current?.store,
      },
      descriptions,
    ));
  const rows: Value[][] = [];
  for (const [index, values] of found.entries()) {
    const id = values["r.id"] as number;
    const own = links.get(id) as Value[][];
    const of = milestones.get(id) as Value[][];
    const written = {
      ...values,
      code: Number(shown.code),
      changeable: Number(isWritable?.(tags[index] as string) ?? false),
      asset_count: own.length + (shown.code ? SOURCES : 0),
      description_html: rendered?.[index] ?? null,
      evidences: `[${(evidences.get(id) ?? []).map((row) => evidence.write(row, view)).join(",")}]`,
      links: `[${own.map((row) => link.write(row, view)).join(",")}]`,
      milestones:
        of.length > 0 ? `[${of.map((row) => milestone.write(row, view)).join(",")}]` : null,
    };
    const sha = values["r.sha"] as string | null;
    const number = current && sha ? commitNumber(current.repository, sha) : undefined;
    rows.push(
      current === undefined || number === undefined
        ? releaseRow(written)
        : releaseRow(written, commitValues(current, await readCommit(current.repository, number))),
    );
  }
  return rows;
}

/** The row of a release. */
async function rowOf(
  db: Reader,
  sight: Showing,
  opened: OpenRepository | undefined,
  id: number,
): Promise<Value[]> {
  const rows = await rowsOf(db, sight, opened, [(await releases.stored(db, id)) as Value[]]);
  return rows[0] as Value[];
}

const alreadyThere = () => new ApiError(409, { message: "Release already exists" });

/** A release that is to be changed. @throws ApiError 403 for an unknown one, as in GitLab */
async function findToChange(db: Reader, { id }: Source, tagName: string) {
  const found = await releases.find(db, id, tagName);
  if (!found) throw forbidden();
  return found;
}

/** The milestones of a release, by titles or ids; `undefined` if none were given. @throws ApiError 400 */
async function milestonesFor(
  db: Reader,
  source: Source,
  titles: readonly string[] | undefined,
  ids: readonly number[] | undefined,
): Promise<number[] | undefined> {
  const wanted = [
    ...(titles ?? []).filter((title) => title !== "").map((title) => ({ title })),
    ...(ids ?? []).map((id) => ({ id })),
  ];
  if (!titles && !ids) return undefined;
  const found: number[] = [];
  const unknown: string[] = [];
  for (const by of wanted) {
    const milestone = await findFor(db, source, by);
    if (milestone) found.push(milestone.id);
    else unknown.push("title" in by ? by.title : String(by.id));
  }
  if (unknown.length > 0) {
    throw new ApiError(400, { message: `Milestone(s) not found: ${unknown.join(", ")}` });
  }
  return found;
}

/** Checks that the caller may create or change what belongs to a tag. @throws ApiError 403 */
async function requireTagRight(db: Reader, source: Source, tagName: string): Promise<void> {
  if (!(await writableReleases(db, source, [tagName]))(tagName)) {
    const message = "You are not allowed to create this tag as it is protected.";
    throw new ApiError(403, { message });
  }
}

/** Adds a link to a release. @throws ApiError 400 */
async function addLink(db: Database, releaseId: number, given: releases.Link, now: number) {
  requireLink(given, await releases.takenBy(db, releaseId, given, 0));
  return releases.insertLink(db, releaseId, given, now);
}

const releaseRoutes = [
  list("", {
    summary: "List the releases of a project, the latest first",
    ...reading,
    input: {
      order_by: param.optional(param.choice(releases.ORDERS)),
      sort: param.optional(param.choice(["desc", "asc"])),
      updated_after: param.optional(param.looseInstant()),
      updated_before: param.optional(param.looseInstant()),
      ...html,
    },
    presenter: release,
    prepare: (_, preparing) => openReadable(preparing),
    handle: async (context) => {
      const { db, source, view, page, input, prepared: opened } = context;
      const html = input.include_html_description ? context : undefined;
      const { order_by = "released_at", sort = "desc" } = input;
      const listed = await releases.list(db, page, source.id, { ...input, order_by, sort });
      return { ...listed, rows: await rowsOf(db, { source, view, html }, opened, listed.rows) };
    },
  }),
  group.list("", {
    summary: "List the releases of the projects in a group and below it, the latest first",
    access: "anyone",
    input: {
      sort: param.optional(param.choice(["desc", "asc"])),
      simple: param.optional(param.boolean()),
    },
    presenter: ({ input }) => (input.simple ? basicRelease : release),
    handle: async ({ db, source, viewer, view, page, input }) => {
      const { sort = "desc", simple } = input;
      if (simple) return releases.listInGroup(db, page, source.id, viewer, sort, basicRelease);
      const listed = await releases.listInGroup(db, page, source.id, viewer, sort);
      // Their commits would be in as many repositories.
      const shown = { source: undefined, view, code: true };
      return { ...listed, rows: await shownRows(db, shown, undefined, listed.rows) };
    },
  }),
  code.get("/permalink/latest", {
    status: 302,
    summary: "Go to the latest release",
    ...reading,
    handle: (context) => toLatest(context, ""),
  }),
  code.get("/permalink/latest/:suffix_path*", {
    status: 302,
    summary: "Go to what belongs to the latest release, such as a download",
    ...reading,
    input: { suffix_path: param.anyText({ max: MAX_URL }) },
    handle: (context) => toLatest(context, `/${context.input.suffix_path}`),
  }),
  code.get("/:tag_name", {
    summary: "Get the release of a tag",
    ...reading,
    input: { ...tag, ...html },
    presenter: release,
    prepare: (_, preparing) => openRepository(preparing),
    handle: async (context) => {
      const { db, source, view, input, prepared: opened } = context;
      const html = input.include_html_description ? context : undefined;
      const found = await releases.find(db, source.id, input.tag_name);
      if (!found) throw new ApiError(404, { message: "404 Not Found" });
      return rowOf(db, { source, view, html }, opened, found.id);
    },
  }),
  code.get("/:tag_name/downloads/:direct_asset_path*", {
    status: 302,
    summary: "Go to an asset of a release, by the path of its link",
    ...reading,
    input: { ...tag, direct_asset_path: param.anyText({ max: MAX_URL }) },
    handle: async ({ db, source, input }) => {
      const found = await releases.find(db, source.id, input.tag_name);
      const [row] = found
        ? await db.rows("select url from release_links where release_id = ? and filepath = ?", [
            found.id,
            `/${input.direct_asset_path}`,
          ])
        : [];
      if (!row) throw notFound();
      return new RawReply(302, { location: String(row[0]) });
    },
  }),
  post("", {
    summary: "Release a tag, which is created if it does not exist",
    ...writing,
    input: {
      tag_name: param.text({ max: 1024 }),
      tag_message: param.optional(param.trimmed({ max: param.LONG_TEXT })),
      ref: param.unlessBlank(param.text({ max: 1024 })),
      ...about,
      assets: param.optional(param.json("`links`, each with `name` and `url`")),
    },
    presenter: release,
    prepare: async ({ tag_name: name, tag_message = "", ref }, preparing) => {
      const { db, source } = preparing;
      const place = await openToChange(preparing, [TAGS + name], ref ? [ref] : []);
      await requireTagRight(db, source, name);
      if (await releases.find(db, source.id, name)) throw alreadyThere();
      const existing = place.refs.get(TAGS + name);
      if (existing) return { place, sha: existing.peeled ?? existing.oid, received: undefined };
      if (!ref) throw new ApiError(422, { message: "Ref is not specified" });
      const staged = await stageTag(place, name, ref, tag_message);
      const { oid, peeled } = staged.ref;
      return { place: staged.place, sha: peeled ?? oid, received: staged.received };
    },
    handle: (context) =>
      orDiscard(context.prepared.received, async () => {
        const { db, source, input, caller, view, prepared, now } = context;
        const { tag_name, name = null, description = null, released_at = now } = input;
        const links = readLinks(input.assets);
        if (await releases.find(db, source.id, tag_name)) throw alreadyThere();
        const { milestones, milestone_ids } = input;
        const chosen = await milestonesFor(db, source, milestones, milestone_ids);
        if (prepared.received) await applyAll(db, prepared.received, now);
        const id = await releases.insert(
          db,
          {
            project_id: source.id,
            tag: tag_name,
            name,
            description,
            sha: prepared.sha,
            author_id: caller?.id ?? null,
            released_at,
          },
          now,
        );
        await releases.setMilestones(db, id, chosen ?? []);
        for (const given of links) await addLink(db, id, given, now);
        await changed(context, id, "create");
        const sight = { source, view };
        return new AfterCommit((read) => rowOf(read, sight, prepared.place, id), "repository");
      }),
  }),
  put("/:tag_name", {
    summary: "Change a release",
    ...writing,
    input: { ...tag, ...about },
    presenter: release,
    prepare: (_, preparing) => openRepository(preparing),
    handle: async (context) => {
      const { db, source, input, view, prepared: opened, now } = context;
      const { tag_name, name, description, released_at, milestones, milestone_ids } = input;
      const { id } = await findToChange(db, source, tag_name);
      await requireTagRight(db, source, tag_name);
      const isEmpty = [name, description, released_at, milestones, milestone_ids].every(
        (value) => value === undefined,
      );
      if (isEmpty) throw new ApiError(400, { message: "params is empty" });
      const chosen = await milestonesFor(db, source, milestones, milestone_ids);
      await updateRow(db, "releases", id, { name, description, released_at }, now);
      if (chosen) await releases.setMilestones(db, id, chosen);
      await changed(context, id, "update");
      const sight = { source, view };
      return new AfterCommit((read) => rowOf(read, sight, opened, id), "repository");
    },
  }),
  post("/:tag_name/evidence", {
    summary: "Collect what a release is now as evidence",
    role: "maintainer",
    tier: "premium",
    concurrency: "per project",
    whenArchived: "refuse",
    input: tag,
    presenter: release,
    prepare: (_, preparing) => openRepository(preparing),
    handle: async (context) => {
      const { db, source, input, view, prepared: opened, now } = context;
      const { id } = await findRelease(db, source, input.tag_name);
      await collect(db, id, view, now);
      return new AfterCommit((read) => rowOf(read, { source, view }, opened, id), "repository");
    },
  }),
  del("/:tag_name", {
    summary: "Delete a release; its tag stays",
    ...writing,
    input: tag,
    presenter: release,
    status: 200,
    prepare: async ({ tag_name: name }, preparing) => {
      const { db, source, view } = preparing;
      const opened = await openRepository(preparing);
      // Reads its commit, which the transaction can't: a database in memory has one connection.
      const found = await releases.find(db, source.id, name);
      if (found) await rowOf(db, { source, view }, opened, found.id);
      return opened;
    },
    handle: async (context) => {
      const { db, source, input, view, prepared: opened } = context;
      const { id } = await findToChange(db, source, input.tag_name);
      await requireTagRight(db, source, input.tag_name);
      const row = await rowOf(db, { source, view }, opened, id);
      await removeOf(context, input.tag_name);
      return row;
    },
  }),
];

async function toLatest(
  {
    db,
    source,
    view,
    now,
    request,
  }: Pick<Context, "source" | "view" | "now" | "request"> & { db: Reader },
  suffix: string,
): Promise<RawReply> {
  const latest = await releases.latestTag(db, source.id, now);
  if (latest === undefined) throw notFound();
  const path = suffix.split("/").map(encodeURIComponent).join("/");
  const query = String(new URLSearchParams(withoutCredentials(new URLSearchParams(request.query))));
  const tag = encodeURIComponent(latest);
  const releasesPath = request.path.slice(0, request.path.indexOf("/permalink/latest"));
  const location = `${view.base}${releasesPath}/${tag}${path}${query && `?${query}`}`;
  return new RawReply(302, { location });
}

const links = routes({
  source: "project",
  path: "/releases/:tag_name/assets/links",
  features: ["releases"],
});
const readableLinks = routes({
  source: "project",
  path: "/releases/:tag_name/assets/links",
  repository: true,
  features: ["releases"],
});

const linkText = param.text({ max: MAX_URL });
const linkPath = param.clearable(linkText);
const linkType = param.optional(param.choice(LINK_TYPES));
const one = { ...tag, link_id: param.recordId() };

/** The release whose links are shown. @throws ApiError 404 */
async function findRelease(db: Reader, { id }: Source, tagName: string) {
  const found = await releases.find(db, id, tagName);
  if (!found) throw notFound();
  return found;
}

/** A link that is to be changed, and its release. @throws ApiError 404 */
async function findLink(
  db: Reader,
  source: Source,
  { tag_name, link_id }: { tag_name: string; link_id: number },
) {
  const { id } = await findRelease(db, source, tag_name);
  const found = await releases.findLink(db, id, link_id);
  if (!found) throw notFound();
  return { releaseId: id, found };
}

const linkRoutes = [
  readableLinks.list("", {
    summary: "List the links of a release",
    ...reading,
    input: tag,
    presenter: link,
    handle: async ({ db, source, presenter, page, input }) => {
      const { id } = await findRelease(db, source, input.tag_name);
      return releases.pageOfLinks(db, presenter, page, id);
    },
  }),
  readableLinks.get("/:link_id", {
    summary: "Get a link of a release",
    ...reading,
    input: one,
    presenter: link,
    handle: async ({ db, source, presenter, input }) => {
      const { id } = await findRelease(db, source, input.tag_name);
      const row = await releases.linkRow(db, presenter.columns, id, input.link_id);
      if (!row) throw notFound();
      return row;
    },
  }),
  links.post("", {
    summary: "Add a link to a release",
    ...writing,
    input: {
      ...tag,
      name: linkText,
      url: linkText,
      direct_asset_path: linkPath,
      filepath: linkPath,
      link_type: linkType,
    },
    presenter: link,
    handle: async ({ db, source, presenter, input, now }) => {
      const { id } = await findRelease(db, source, input.tag_name);
      await requireTagRight(db, source, input.tag_name);
      const { name, url, link_type = "other" } = input;
      const filepath = input.direct_asset_path ?? input.filepath ?? null;
      const added = await addLink(db, id, { name, url, filepath, link_type }, now);
      return releases.linkRow(db, presenter.columns, id, added);
    },
  }),
  links.put("/:link_id", {
    summary: "Change a link of a release",
    ...writing,
    input: {
      ...one,
      name: param.optional(linkText),
      url: param.optional(linkText),
      direct_asset_path: linkPath,
      filepath: linkPath,
      link_type: linkType,
    },
    presenter: link,
    handle: async ({ db, source, presenter, input, now }) => {
      const { releaseId, found } = await findLink(db, source, input);
      await requireTagRight(db, source, input.tag_name);
      const { name, url, link_type } = input;
      const filepath =
        input.direct_asset_path === undefined ? input.filepath : input.direct_asset_path;
      const changes = { name, url, link_type, filepath };
      if (Object.values(changes).every((value) => value === undefined)) {
        throw new ApiError(400, {
          error: "name, url are missing, at least one parameter must be provided",
        });
      }
      const changed = {
        name: name ?? found.name,
        url: url ?? found.url,
        link_type: link_type ?? found.link_type,
        filepath: filepath === undefined ? found.filepath : filepath,
      };
      requireLink(changed, await releases.takenBy(db, releaseId, changed, input.link_id));
      await updateRow(db, "release_links", input.link_id, changes, now);
      return releases.linkRow(db, presenter.columns, releaseId, input.link_id);
    },
  }),
  links.del("/:link_id", {
    summary: "Remove a link from a release",
    ...writing,
    input: one,
    presenter: link,
    status: 200,
    handle: async ({ db, source, presenter, input }) => {
      const { releaseId } = await findLink(db, source, input);
      await requireTagRight(db, source, input.tag_name);
      const row = await releases.linkRow(db, presenter.columns, releaseId, input.link_id);
      await db.run("delete from release_links where id = ?", [input.link_id]);
      return row;
    },
  }),
];

/** Releases of projects and their links. */
export const releaseResource: Resource = {
  name: "Releases",
  migrations,
  routes: [...releaseRoutes, ...linkRoutes],
};
