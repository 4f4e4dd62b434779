import type { Source } from "../../core/access/source.ts";
import * as param from "../../core/input.ts";
import { pageOf } from "../../core/pagination.ts";
import { textOf } from "../../git/changes.ts";
import { commitNumber } from "../../git/commits.ts";
import { changesOf, diff, readDiffs } from "../repositories/diffs.ts";
import { commit } from "../repositories/json.ts";
import { pageOfLog } from "../repositories/log.ts";
import { commitNamed, noSuchPage, wikiRoutes } from "./index.ts";
import { openWiki } from "./open.ts";
import { PageTree } from "./pages.ts";
import { pageNameOf } from "./rules.ts";

// What GitLab has on pages and in no API: what a page of a wiki was. These routes have no address.

const slug = { slug: param.anyText({ max: 4096 }) };

function actionsOf(kind: Source["kind"]) {
  const { list } = wikiRoutes(kind);
  return {
    versions: list("/:slug*/versions", {
      summary: "List the commits that changed a wiki page, the newest first",
      access: "anyone",
      input: slug,
      presenter: commit,
      prepare: async (input, preparing) => {
        const wiki = await openWiki(preparing);
        const page = await new PageTree(wiki.repository, wiki.main?.tree).find(input.slug);
        if (!page || !wiki.main) throw noSuchPage();
        return { repository: wiki.repository, tip: wiki.main.commit, path: page.path };
      },
      handle: ({ page, source: project, budget, prepared: { repository, tip, path } }) => {
        const from = [commitNumber(repository, tip) as number];
        return pageOfLog({ repository, project, budget }, page, { from, path });
      },
    }),
    changes: list("/:slug*/changes", {
      summary: "List what a commit changed of a wiki page",
      access: "anyone",
      input: { ...slug, version_id: param.anyText({ max: 64 }) },
      presenter: diff,
      prepare: (_, preparing) => openWiki(preparing),
      handle: async ({ page, input, budget, prepared: { repository, main } }) => {
        const commit = main && commitNamed(repository, main.commit, input.version_id);
        if (commit === undefined) throw noSuchPage();
        const isPage = (file: { readonly path: string } | undefined) =>
          file !== undefined && pageNameOf(textOf(file.path))?.slug === input.slug;
        const changes = (await changesOf(repository, commit, budget)).filter(
          ({ from, to }) => isPage(from) || isPage(to),
        );
        if (changes.length === 0) throw noSuchPage();
        return pageOf(page, changes.length, (from, to) =>
          readDiffs(repository, changes.slice(from, to), undefined, budget),
        );
      },
    }),
  };
}

/** What a page of a wiki was, by whose wiki it is. */
export const WIKI_ACTIONS = { project: actionsOf("project"), group: actionsOf("group") };
