import * as audit from "../../audit/log.ts";
import { confirmPerson } from "../../auth/confirm.ts";
import { invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, routes } from "../../core/resource.ts";
import { updateRow } from "../../store/update.ts";
import * as users from "../users/queries.ts";
import { requireChangeable } from "../users/rules.ts";
import { changeAccount } from "./changes.ts";
import { columnsOf, requireOwn, SAID } from "./index.ts";
import * as emails from "./queries.ts";

// What people change of their own accounts: GitLab has it on pages and in no API, so these routes have no address.

const { put } = routes({ path: "/user" });

/** Changes what others see of the caller. */
export const CHANGE_PROFILE = put("/profile", {
  summary: "Change the caller's profile",
  input: {
    name: param.optional(param.text()),
    ...SAID,
    private_profile: param.optional(param.boolean()),
  },
  handle: async (context) => {
    const { db, caller, input, now } = context;
    const found = await requireChangeable(db, caller.id);
    await changeAccount(db, audit.actorOf(context), found, { name: input.name }, now);
    await requireOwn(db, caller.id, input);
    await updateRow(db, "users", caller.id, columnsOf(input), now);
    return new Json({});
  },
});

/** Makes a confirmed address of the caller that of their account; the one it was stays theirs. */
export const MAKE_PRIMARY = put("/emails/:email_id/primary", {
  summary: "Make one of the caller's addresses that of their account",
  input: { email_id: param.recordId(), current_password: param.anyText({ max: 16_384 }) },
  prepare: (input, preparing) => confirmPerson(preparing, input.current_password),
  handle: async (context) => {
    const { db, caller, input, prepared, now } = context;
    const address = await emails.find(db, caller.id, input.email_id);
    if (!address) throw notFound("Email");
    if (!prepared) throw invalid({ current_password: ["is wrong"] });
    if (!(await users.hasAddress(db, caller.id, address.email)))
      throw invalid({ base: ["It must be confirmed first"] });
    const found = await requireChangeable(db, caller.id);
    await changeAccount(db, audit.actorOf(context), found, { email: address.email }, now);
    const id = await emails.insert(db, caller.id, found.email, now);
    await emails.setConfirmed(db, id, now);
    const about = { userId: caller.id, target: `from ${found.email}` };
    await audit.log(context, "e-mail address changed", about);
    return new Json({});
  },
});

/** How a form takes the caller's picture. */
export { AVATAR_PART } from "../avatars/input.ts";
