import * as field from "../../../core/field.ts";
import { presenter } from "../../../core/presenter.ts";
import { blockOf, projectOf, userOf } from "./blocks.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

const flag = presenter({
  id: field.integer("ff.id"),
  name: field.text("ff.name"),
  description: field.text("ff.description"),
  active: field.flag("ff.active"),
  project_id: field.integer("ff.project_id"),
});

/** The payload about a feature flag that was switched on or off. */
export async function featureFlagEvent(
  making: Making,
  { data, userId }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const found = await blockOf(making, flag, "feature_flags ff where ff.id = ?", [data.id]);
  if (!found) return undefined;
  const { project_id: projectId, ...attributes } = found;
  const [project, user] = [
    await projectOf(making, projectId as number),
    await userOf(making, userId),
  ];
  if (!project) return undefined;
  return {
    event: "feature_flag",
    title: "Feature Flag Hook",
    body: {
      object_kind: "feature_flag",
      project,
      user,
      user_url: `${making.view.base}/${user?.["username"]}`,
      object_attributes: attributes,
    },
  };
}
