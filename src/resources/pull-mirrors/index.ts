import { ApiError } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { prepareMirror, setUp } from "./changes.ts";
import * as mirrors from "./queries.ts";
import { MIRROR_CREDENTIALS, migrations } from "./table.ts";

const pullMirror = presenter({
  id: field.integer("pum.id"),
  enabled: field.flag("pum.enabled"),
  url: field.text("pum.url"),
  update_status: field.text("pum.update_status"),
  last_error: field.text("pum.last_error"),
  last_update_at: field.instant("pum.last_update_at"),
  last_update_started_at: field.instant("pum.last_update_started_at"),
  last_successful_update_at: field.instant("pum.last_successful_update_at"),
  mirror_trigger_builds: field.flag("pum.mirror_trigger_builds"),
  only_mirror_protected_branches: field.flag("pum.only_mirror_protected_branches"),
  mirror_overwrites_diverged_branches: field.flag("pum.mirror_overwrites_diverged_branches"),
  mirror_branch_regex: field.text("pum.mirror_branch_regex"),
});

const flag = param.optional(param.boolean());

const attributes = {
  enabled: flag,
  url: param.unlessBlank(param.anyText({ max: 2048 })),
  auth_user: param.optional(param.anyText({ max: 1024 })),
  auth_password: param.optional(param.anyText({ max: 1024 })),
  mirror_trigger_builds: flag,
  only_mirror_protected_branches: flag,
  mirror_overwrites_diverged_branches: flag,
  mirror_branch_regex: param.clearable(param.anyText()),
};
const { get, post, put } = routes({ source: "project", path: "/mirror/pull" });
const common = { role: "maintainer", tier: "premium" } as const;
const missing = () => new ApiError(400, { message: "The project is not mirrored" });

const mirrorRoutes = [
  get("", {
    ...common,
    summary: "Get the pull mirror of a project",
    presenter: pullMirror,
    handle: async ({ db, presenter, source }) => {
      const found = await mirrors.row(db, presenter, source.id);
      if (!found) throw missing();
      return found;
    },
  }),
  put("", {
    ...common,
    summary: "Have a project updated from another repository, or no longer",
    input: attributes,
    atLeastOne: Object.keys(attributes) as (keyof typeof attributes)[],
    presenter: pullMirror,
    prepare: (input, preparing) => {
      const { url, auth_user: user, auth_password: password } = input;
      return prepareMirror(input, { url, user, password }, preparing);
    },
    handle: async (context) => {
      const { db, source, input, presenter, prepared } = context;
      await setUp(context, input, prepared);
      return mirrors.row(db, presenter, source.id);
    },
  }),
  post("", {
    ...common,
    summary: "Update a project from its pull mirror now, or five minutes after the last update",
    status: 200,
    handle: async ({ db, source, now }) => {
      const found = await mirrors.find(db, source.id);
      if (found?.enabled !== 1) throw missing();
      await mirrors.request(db, found, now);
      return undefined;
    },
  }),
];

/** Pull mirrors of projects (docs/mirrors.md). */
export const pullMirrorResource: Resource = {
  name: "Pull mirrors",
  migrations,
  sealed: [MIRROR_CREDENTIALS],
  routes: mirrorRoutes,
};
