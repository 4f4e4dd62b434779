import { visibleCode, visibleReleases } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { commitNumber } from "../../git/commits.ts";
import {
  arg,
  boolean,
  computed,
  connection,
  costing,
  enumeration,
  first,
  type GraphContext,
  type GraphqlModule,
  gid,
  loaded,
  one,
  property,
  required,
  rowType,
  sortEnum,
  string,
  time,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { listOf, loadedConnection } from "../../graphql/loaded-pages.ts";
import { when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { openAll } from "../repositories/graphql.ts";
import { readCommits } from "../repositories/graphql-commits.ts";
import { linkFields, SOURCES, sourcesOf } from "./json.ts";

const LINK_TYPE = enumeration("ReleaseAssetLinkType", "What a link leads to.", [
  "OTHER",
  "RUNBOOK",
  "PACKAGE",
  "IMAGE",
]);

const link = rowType("ReleaseAssetLink", {
  about: "A link to an asset of a release.",
  from: "release_links rk join releases r on r.id = rk.release_id join projects p on p.id = r.project_id",
  key: "rk.id",
  visible: visibleReleases,
  fields: {
    id: computed("ID!", ["rk.id"], ([id]) => `gid://gitlab/Releases::Link/${id}`),
    name: string("rk.name"),
    url: string("rk.url"),
    directAssetUrl: string(linkFields.direct_asset_url),
    directAssetPath: string("rk.filepath"),
    external: boolean("1"),
    linkType: word(LINK_TYPE, "upper(rk.link_type)"),
  },
});

const source = valueType("ReleaseSource", "An archive of the code of a release.", {
  format: property("String"),
  url: property("String"),
});

/** What is read of releases whose code the caller may read. */
interface CodeOf {
  readonly id: number;
  readonly project_id: number;
  readonly full_path: string;
  readonly tag: string;
  readonly sha: string | null;
}

/** The releases of which the caller may read the code, in one statement. */
function readable(ids: readonly Value[], db: Reader, { viewer }: Pick<GraphContext, "viewer">) {
  const among = placeholders(ids);
  const code = visibleCode(viewer);
  return db.all<CodeOf>(
    `select r.id, r.project_id, p.full_path, r.tag, r.sha from releases r join projects p on p.id = r.project_id
     where r.id in (${among.sql}) and ${code.sql}`,
    [...among.values, ...code.values],
  );
}

const assets = rowType("ReleaseAssets", {
  about: "What can be downloaded of a release.",
  from: "releases r join projects p on p.id = r.project_id",
  key: "r.id",
  visible: visibleReleases,
  fields: {
    count: loaded("Int", async (ids, context) => {
      const among = placeholders(ids);
      const counted = await context.db.rows(
        `select release_id, count(*) from release_links where release_id in (${among.sql}) group by release_id`,
        among.values,
      );
      const links = new Map(counted.map(([id, count]) => [id as Value, Number(count)]));
      const withCode = new Set<Value>(
        (await readable(ids, context.db, context)).map(({ id }) => id),
      );
      return new Map(
        ids.map((id) => [id, (links.get(id) ?? 0) + (withCode.has(id) ? SOURCES : 0)]),
      );
    }),
    links: connection("ReleaseAssetLink", {
      isSmall: true,
      query: () => ({ parent: "rk.release_id", order: [{ sql: "rk.id", descending: true }] }),
    }),
    sources: loadedConnection(source, async (ids, context) => {
      const found = await readable(ids, context.db, context);
      return new Map(
        found.map(({ id, project_id, tag }) => [
          id,
          listOf(sourcesOf(context.view.base, project_id, tag)),
        ]),
      );
    }),
  },
});

const page = (path: (tag: string) => string) =>
  string(field.url(["p.full_path", "r.tag"], (project, tag) => `/${project}/-${path(tag)}`));
const listed = (path: string, state: string) =>
  page((tag) => `/${path}?release_tag=${encodeURIComponent(tag)}&scope=all&state=${state}`);

const links = rowType("ReleaseLinks", {
  about: "Where the pages of a release are.",
  from: "releases r join projects p on p.id = r.project_id",
  key: "r.id",
  visible: visibleReleases,
  fields: {
    selfUrl: page((tag) => `/releases/${encodeURIComponent(tag)}`),
    openedIssuesUrl: listed("issues", "opened"),
    closedIssuesUrl: listed("issues", "closed"),
    openedMergeRequestsUrl: listed("merge_requests", "opened"),
    mergedMergeRequestsUrl: listed("merge_requests", "merged"),
    closedMergeRequestsUrl: listed("merge_requests", "closed"),
  },
});

/** The commits of releases, of which the caller may read the code, each repository opened once. */
async function commitsOf(
  ids: readonly Value[],
  context: GraphContext,
): Promise<Map<Value, unknown>> {
  const found = (await readable(ids, context.db, context)).filter(({ sha }) => sha !== null);
  const projects = [...new Set(found.map(({ project_id }) => project_id))];
  const commits = new Map<Value, unknown>();
  for (const [projectId, { repository, project }] of await openAll(projects, context, [])) {
    const own = found.flatMap(({ id, project_id, sha }) => {
      const number = project_id === projectId && sha ? commitNumber(repository, sha) : undefined;
      return number === undefined ? [] : [{ id, number }];
    });
    const numbers = own.map(({ number }) => number);
    const code = { repository, project };
    const read = await readCommits(context.db, code, numbers);
    for (const [index, { id }] of own.entries()) commits.set(id, read[index]);
  }
  return commits;
}

const isAhead = (at: Value | undefined, now: number) => (at as number) > now;

const release = rowType("Release", {
  about: "A release of a project.",
  from: "releases r join projects p on p.id = r.project_id",
  key: "r.id",
  visible: visibleReleases,
  fields: {
    id: gid("Release", "r.id"),
    tagName: string("r.tag"),
    tagPath: loaded("String", async (ids, context) => {
      const found = await readable(ids, context.db, context);
      const pathOf = ({ full_path, tag }: CodeOf) =>
        `/${full_path}/-/tags/${encodeURIComponent(tag)}`;
      return new Map(found.map((one) => [one.id, pathOf(one)]));
    }),
    name: string("coalesce(r.name, r.tag)"),
    description: string("r.description"),
    createdAt: time("r.created_at"),
    releasedAt: time("r.released_at"),
    upcomingRelease: computed("Boolean", ["r.released_at"], ([at], { now }) => isAhead(at, now)),
    historicalRelease: boolean("case when r.released_at < r.created_at then 1 else 0 end"),
    author: one("UserCore", "r.author_id"),
    assets: one("ReleaseAssets", "r.id"),
    links: required(one("ReleaseLinks", "r.id")),
    commit: costing(5, loaded("Commit", commitsOf)),
    milestones: connection("Milestone", {
      isSmall: true,
      query: () => ({
        join: "join release_milestones rm on rm.milestone_id = m.id",
        parent: "rm.release_id",
      }),
    }),
  },
});

const SORT = sortEnum("ReleaseSort", "The order of a list of releases.", "r.id", {
  CREATED: { sql: "r.created_at" },
  RELEASED_AT: { sql: "r.released_at" },
});

/** Releases. */
export const graphqlModule: GraphqlModule = {
  types: [release, assets, link, links],
  extend: {
    Project: {
      release: first("Release", {
        args: { tagName: arg.required(arg.string) },
        query: ({ tagName }) => ({ parent: "r.project_id", where: when("r.tag = ?", tagName) }),
      }),
      releases: connection("Release", {
        args: { sort: arg.withDefault(arg.choice(SORT), SORT.values["RELEASED_AT_DESC"]) },
        query: ({ sort }) => ({ parent: "r.project_id", order: sort }),
      }),
    },
  },
};
