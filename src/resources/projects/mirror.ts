import { forbidden } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { type Context, hasTier, type PrepareContext } from "../../core/resource.ts";
import type { Database } from "../../store/port.ts";
import type { MirrorAddress } from "../mirrors/address.ts";
import { type Preparing, prepareMirror, setUp } from "../pull-mirrors/changes.ts";
import { find } from "../pull-mirrors/queries.ts";

const flag = param.optional(param.boolean());

/** How the pull mirror of a project was set up before it had routes of its own. */
export const mirrorAttributes = {
  import_url: param.unlessBlank(param.anyText({ max: 2048 })),
  mirror: flag,
  mirror_trigger_builds: flag,
  only_mirror_protected_branches: flag,
  mirror_overwrites_diverged_branches: flag,
  mirror_branch_regex: param.clearable(param.anyText()),
  mirror_user_id: unsupported(param.integer(), 0),
};
type Given = param.Input<typeof mirrorAttributes>;

/** Those that archives of projects have among what is kept, where they are false. */
export const NO_MIRROR_SETTINGS = {
  mirror: undefined,
  mirror_trigger_builds: undefined,
  only_mirror_protected_branches: undefined,
  mirror_overwrites_diverged_branches: undefined,
};

const settingsOf = ({ mirror: enabled, ...given }: Given) => ({
  ...{ enabled, mirror_trigger_builds: given.mirror_trigger_builds },
  only_mirror_protected_branches: given.only_mirror_protected_branches,
  mirror_overwrites_diverged_branches: given.mirror_overwrites_diverged_branches,
  mirror_branch_regex: given.mirror_branch_regex,
});

/** Whether something is asked for that only a mirror has. */
const asks = (given: Given) =>
  [given.import_url, ...Object.values(settingsOf(given))].some((value) => Boolean(value));

/** Checks what is set of a project's mirror. @returns its address, if it gets another one. @throws ApiError 400, 403 */
export async function prepareProjectMirror(
  given: Given,
  preparing: Preparing & Pick<PrepareContext, "tier">,
): Promise<MirrorAddress | undefined> {
  if (asks(given) && !hasTier(preparing.tier, "premium")) throw forbidden();
  const address = { url: given.import_url, attribute: "import_url" };
  return prepareMirror(settingsOf(given), address, preparing);
}

/** Sets up the mirror of a project, if something is set of it. @throws ApiError 400 if it has no address */
export async function setUpProjectMirror(
  context: Pick<Context, "secrets" | "now"> & {
    readonly db: Database;
    readonly source: { readonly id: number };
    readonly caller: { readonly id: number };
  },
  given: Given,
  address: MirrorAddress | undefined,
): Promise<void> {
  const settings = settingsOf(given);
  const isGiven = address || Object.values(settings).some((value) => value !== undefined);
  if (!isGiven || (!asks(given) && !(await find(context.db, context.source.id)))) return;
  await setUp(context, settings, address, "import_url");
}
