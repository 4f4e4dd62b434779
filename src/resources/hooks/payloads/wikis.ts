import { BRANCHES } from "../../../git/refs.ts";
import { openRecord } from "../../repositories/open.ts";
import { findWikiRecord } from "../../wikis/record.ts";
import { projectOf, userOf } from "./blocks.ts";
import { commitBlock } from "./commits.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

/** The payload about a page of a wiki. */
export async function wikiEvent(
  making: Making,
  { data, userId }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const project = await projectOf(making, data.id);
  if (!project) return undefined;
  const { store, view } = making;
  const slug = data["slug"] as string;
  const [page] = await store.rows(
    "select content from wiki_pages where project_id = ? and slug = ?",
    [data.id, slug],
  );
  const { head, row } = await findWikiRecord(store, data.id);
  const code = { repository: await openRecord(store, row), url: project["web_url"] as string };
  const version = data["version"] as string | undefined;
  const commit = version === undefined ? null : await commitBlock(code, version);
  const path = project["path_with_namespace"];
  const url = `${project["web_url"]}/-/wikis/${encodeURI(slug)}`;
  return {
    event: "wiki_page",
    title: "Wiki Page Hook",
    body: {
      object_kind: "wiki_page",
      user: await userOf(making, userId),
      project,
      wiki: {
        web_url: `${project["web_url"]}/-/wikis/home`,
        git_ssh_url: view.sshUrl(`${path}.wiki`),
        git_http_url: `${view.base}/${path}.wiki.git`,
        path_with_namespace: `${path}.wiki`,
        default_branch: head.slice(BRANCHES.length),
      },
      object_attributes: {
        slug,
        title: data["title"],
        format: data["format"],
        message: commit?.["message"] ?? null,
        content: page?.[0] ?? "",
        version_id: version ?? null,
        action: data.action,
        url,
        diff_url: `${url}/diff?version_id=${version}`,
      },
    },
  };
}
