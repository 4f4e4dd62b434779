import { ApiError, invalid } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type PrepareContext, type Resource, routes } from "../../core/resource.ts";
import { updateRow } from "../../store/update.ts";
import {
  addressOf,
  type MirrorAddress,
  requirePublic,
  withCredentials,
} from "../mirrors/address.ts";
import { choiceColumns, requireChoice } from "../mirrors/branches.ts";
import * as mirrors from "./queries.ts";
import { MIRROR_CREDENTIALS, migrations, purposeOf } from "./table.ts";

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
  url: param.optional(param.anyText({ max: 2048 })),
  auth_user: param.optional(param.anyText({ max: 1024 })),
  auth_password: param.optional(param.anyText({ max: 1024 })),
  mirror_trigger_builds: flag,
  only_mirror_protected_branches: flag,
  mirror_overwrites_diverged_branches: flag,
  mirror_branch_regex: param.clearable(param.anyText()),
};
type Given = param.Input<typeof attributes>;

const bit = (given: boolean | undefined) => (given === undefined ? undefined : Number(given));

/** The columns that are set. */
function columnsOf(given: Given) {
  const flag = given.only_mirror_protected_branches;
  const choice = choiceColumns(flag, given.mirror_branch_regex);
  return {
    enabled: bit(given.enabled),
    mirror_trigger_builds: bit(given.mirror_trigger_builds),
    only_mirror_protected_branches: choice.onlyProtected,
    mirror_overwrites_diverged_branches: bit(given.mirror_overwrites_diverged_branches),
    mirror_branch_regex: choice.pattern,
  };
}

/**
 * The address that is set; `undefined` if it stays as it is. A new URL has no credentials but its own and those that are
 * sent with it: those of another address are not for it.
 *
 * @throws ApiError 400
 */
async function addressIn(
  { url, auth_user: user, auth_password: password }: Given,
  { db, source, secrets }: Pick<PrepareContext, "db" | "secrets"> & { source: { id: number } },
): Promise<MirrorAddress | undefined> {
  if (url !== undefined) return addressOf(url, { user, password });
  if (user === undefined && password === undefined) return undefined;
  const found = await mirrors.find(db, source.id);
  if (!found) return undefined;
  const { href } = withCredentials(found, purposeOf(found.id), secrets);
  return addressOf(href, { user, password });
}

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
    prepare: async (input, preparing) => {
      await requireChoice(input, "only_mirror_protected_branches");
      const address = await addressIn(input, preparing);
      if (address) await requirePublic(address, preparing.outgoing.allowLocal);
      return address;
    },
    handle: async ({ db, source, input, secrets, caller, presenter, now, prepared: address }) => {
      const found = await mirrors.find(db, source.id);
      if (!found && !address) throw invalid({ url: ["can't be blank"] });
      const { url = "" } = address ?? {};
      const id = found?.id ?? (await mirrors.insert(db, { projectId: source.id, url }, now));
      if (address) await mirrors.setAddress(db, secrets, id, address, now);
      await updateRow(db, "pull_mirrors", id, { ...columnsOf(input), user_id: caller.id }, now);
      const wasEnabled = found?.enabled === 1;
      const isEnabled = input.enabled ?? wasEnabled;
      if (isEnabled && (address || !wasEnabled)) await mirrors.queue(db, id, now);
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
