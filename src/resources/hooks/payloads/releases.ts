import type { Value } from "../../../store/port.ts";
import { link, SOURCES, sourcesOf, storedRelease } from "../../releases/json.ts";
import { type ToldRelease, told } from "../../releases/queries.ts";
import { type Block, projectOf } from "./blocks.ts";
import { commitBlock, openCode } from "./commits.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

/** The payload about a release. */
export async function releaseEvent(
  making: Making,
  { data }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const { store, view } = making;
  const known = "row" in data ? (data as unknown as ToldRelease) : await told(store, data.id);
  if (!known) return undefined;
  const found = storedRelease.value(known.row as Value[], view) as Block;
  const { id, tag_name: tag, project_id: projectId, sha } = found;
  const project = await projectOf(making, projectId as number);
  if (!project) return undefined;
  const links = known.links.map((row) => link.value(row as Value[], view) as Block);
  const code = await openCode(making, projectId as number);
  return {
    event: "releases",
    title: "Release Hook",
    body: {
      object_kind: "release",
      id,
      created_at: found["created_at"],
      description: found["description"],
      name: found["name"] ?? tag,
      released_at: found["released_at"],
      tag,
      project,
      url: `${project["web_url"]}/-/releases/${encodeURIComponent(tag as string)}`,
      action: data.action,
      assets: {
        count: links.length + SOURCES,
        links: links.map(({ id, link_type, name, url }) => ({ id, link_type, name, url })),
        sources: sourcesOf(view.base, projectId, tag),
      },
      commit: typeof sha === "string" ? await commitBlock(code, sha) : null,
    },
  };
}
