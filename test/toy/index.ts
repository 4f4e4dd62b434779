import type { Mount } from "../../src/core/http/mount.ts";
import { API } from "../../src/resources/mount.ts";
import { TOY, TOY_FORMS } from "./mount.ts";
import { topicResource } from "./topics.ts";

/** Mounts that only tests have, with every kind of route. */
export const toys: readonly Mount[] = [{ ...API, resources: [topicResource] }, TOY, TOY_FORMS];
