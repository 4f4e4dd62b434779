import type { Resource } from "../core/resource.ts";
import { badgeResource } from "./badges/index.ts";
import { boardResource } from "./boards/index.ts";
import { groupResource } from "./groups/index.ts";
import { labelResource } from "./labels/index.ts";
import { memberResource } from "./members/index.ts";
import { metaResource } from "./meta/index.ts";
import { milestoneResource } from "./milestones/index.ts";
import { notificationSettingsResource } from "./notification-settings/index.ts";
import { projectResource } from "./projects/index.ts";
import { tokenResource } from "./tokens/index.ts";
import { userResource } from "./users/index.ts";

/** All there is, by name: adding a resource adds its line here. */
export const resources: readonly Resource[] = [
  badgeResource,
  boardResource,
  groupResource,
  labelResource,
  memberResource,
  metaResource,
  milestoneResource,
  notificationSettingsResource,
  projectResource,
  tokenResource,
  userResource,
];
