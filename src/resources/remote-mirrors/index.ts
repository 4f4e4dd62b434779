import { ApiError, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import { updateRow } from "../../store/update.ts";
import { addressOf, requirePublic } from "../mirrors/address.ts";
import { choiceColumns, requireChoice } from "../mirrors/branches.ts";
import * as mirrors from "./queries.ts";
import { MIRROR_CREDENTIALS, migrations } from "./table.ts";

const remoteMirror = presenter({
  id: field.integer("mir.id"),
  enabled: field.flag("mir.enabled"),
  url: field.text("mir.url"),
  auth_method: field.constant("password"),
  update_status: field.text("mir.update_status"),
  last_update_at: field.instant("mir.last_update_at"),
  last_update_started_at: field.instant("mir.last_update_started_at"),
  last_successful_update_at: field.instant("mir.last_successful_update_at"),
  last_error: field.text("mir.last_error"),
  only_protected_branches: field.flag("mir.only_protected_branches"),
  keep_divergent_refs: field.flag("mir.keep_divergent_refs"),
  mirror_branch_regex: field.text("mir.mirror_branch_regex"),
  host_keys: field.embedded("host_keys", "array of object", "[]"),
});

/** Mirrors that a project may have. */
const MOST_MIRRORS = 10;

const id = { mirror_id: param.recordId() };
const flag = param.optional(param.boolean());

const attributes = {
  enabled: flag,
  only_protected_branches: flag,
  keep_divergent_refs: flag,
  mirror_branch_regex: param.clearable(param.anyText()),
  auth_method: unsupported(param.choice(["password", "ssh_public_key"]), "password"),
  host_keys: unsupported(param.arrayOf(param.anyText())),
};

interface Given {
  readonly enabled?: boolean | undefined;
  readonly only_protected_branches?: boolean | undefined;
  readonly keep_divergent_refs?: boolean | undefined;
  readonly mirror_branch_regex?: string | null | undefined;
}

const bit = (given: boolean | undefined) => (given === undefined ? undefined : Number(given));

/** The columns that are set. */
function columnsOf(given: Given) {
  const choice = choiceColumns(given.only_protected_branches, given.mirror_branch_regex);
  return {
    enabled: bit(given.enabled),
    only_protected_branches: choice.onlyProtected,
    keep_divergent_refs: bit(given.keep_divergent_refs),
    mirror_branch_regex: choice.pattern,
  };
}

async function findOne({
  db,
  source,
  input,
}: Pick<Context, "db" | "source"> & { input: { mirror_id: number } }): Promise<mirrors.Mirror> {
  const found = await mirrors.find(db, source.id, input.mirror_id);
  if (!found) throw notFound();
  return found;
}

const { del, get, list, post, put } = routes({
  source: "project",
  path: "/remote_mirrors",
});

const mirrorRoutes = [
  list("", {
    summary: "List the push mirrors of a project",
    role: "maintainer",
    presenter: remoteMirror,
    handle: ({ db, presenter, page, source }) => mirrors.list(db, presenter, page, source.id),
  }),
  get("/:mirror_id", {
    summary: "Get a push mirror",
    role: "maintainer",
    input: id,
    presenter: remoteMirror,
    handle: async (context) =>
      mirrors.row(context.db, context.presenter, (await findOne(context)).id),
  }),
  get("/:mirror_id/public_key", {
    summary: "Get the SSH key of a push mirror: there is none, since they sign in with a password",
    role: "maintainer",
    input: id,
    handle: async (context) => {
      await findOne(context);
      throw notFound();
    },
  }),
  post("", {
    summary: "Have the pushes to a project pushed on to another repository",
    role: "maintainer",
    input: { url: param.anyText({ max: 2048 }), ...attributes },
    presenter: remoteMirror,
    prepare: async (input, { outgoing }) => {
      await requireChoice(input, "only_protected_branches");
      const address = addressOf(input.url);
      await requirePublic(address, outgoing.allowLocal);
      return address;
    },
    handle: async ({ db, source, input, secrets, presenter, now, prepared }) => {
      if ((await mirrors.count(db, source.id)) >= MOST_MIRRORS) {
        const base = `Maximum number of push mirrors (${MOST_MIRRORS}) exceeded for this project.`;
        throw invalid({ base: [base] });
      }
      const added = { ...prepared, projectId: source.id, enabled: false };
      const mirrorId = await mirrors.insert(db, secrets, added, now);
      await updateRow(db, "remote_mirrors", mirrorId, columnsOf(input), now);
      return mirrors.row(db, presenter, mirrorId);
    },
  }),
  put("/:mirror_id", {
    summary: "Change a push mirror",
    role: "maintainer",
    input: { ...id, ...attributes },
    atLeastOne: [
      "enabled",
      "only_protected_branches",
      "keep_divergent_refs",
      "mirror_branch_regex",
    ],
    presenter: remoteMirror,
    prepare: (input) => requireChoice(input, "only_protected_branches"),
    handle: async (context) => {
      const { db, input, presenter, now } = context;
      const found = await findOne(context);
      await updateRow(db, "remote_mirrors", found.id, columnsOf(input), now);
      return mirrors.row(db, presenter, found.id);
    },
  }),
  post("/:mirror_id/sync", {
    summary: "Update a push mirror now",
    role: "maintainer",
    input: id,
    status: 204,
    handle: async (context) => {
      const { db, now } = context;
      const found = await findOne(context);
      if (!found.enabled) {
        const message =
          "Cannot proceed with the push mirroring. Please verify your mirror configuration.";
        throw new ApiError(400, { message });
      }
      if (found.update_status === "started") await mirrors.hurry(db, found.id);
      else await mirrors.queue(db, found.id, now);
      return undefined;
    },
  }),
  del("/:mirror_id", {
    summary: "Remove a push mirror; what it has of the project stays there",
    role: "maintainer",
    input: id,
    handle: async (context) => {
      const found = await findOne(context);
      context.requireUnmodified(found.updated_at);
      await context.db.run("delete from remote_mirrors where id = ?", [found.id]);
      return undefined;
    },
  }),
];

/** Push mirrors of projects (docs/mirrors.md). */
export const remoteMirrorResource: Resource = {
  name: "Push mirrors",
  migrations,
  sealed: [MIRROR_CREDENTIALS],
  routes: mirrorRoutes,
};
