import { actorOf } from "../../audit/log.ts";
import { hashPassword } from "../../auth/passwords.ts";
import type { Caller } from "../../core/access/caller.ts";
import { atLeastOne, invalid, missing, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import { webAddressProblem } from "../../core/web-addresses.ts";
import { normalizedUid } from "../../providers/dn.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { AVATAR_PART, avatar } from "../avatars/input.ts";
import * as avatars from "../avatars/queries.ts";
import * as changes from "../users/changes.ts";
import { adminUser } from "../users/json.ts";
import * as queries from "../users/queries.ts";
import { requireChangeable, requireUser } from "../users/rules.ts";
import { changeAccount, createAccount } from "./changes.ts";
import { removeIdentity, setIdentity } from "./identities.ts";

export { emailResource } from "./emails.ts";

/** What GitLab's users have beside: ways to look at pages, compute minutes, and auditors. */
const NOT_HERE = {
  group_id_for_saml: unsupported(param.integer()),
  auditor: unsupported(param.boolean(), false),
  color_scheme_id: unsupported(param.integer(), 1),
  theme_id: unsupported(param.integer(), 1),
  view_diffs_file_by_file: unsupported(param.boolean(), false),
  shared_runners_minutes_limit: unsupported(param.integer(), 0),
  extra_shared_runners_minutes_limit: unsupported(param.integer(), 0),
};

/** What users say of themselves. */
export const SAID = {
  bio: param.clearable(param.anyText()),
  location: param.clearable(param.anyText({ max: 500 })),
  public_email: param.clearable(param.anyText()),
  commit_email: param.clearable(param.anyText()),
  skype: param.clearable(param.anyText({ max: 500 })),
  linkedin: param.clearable(param.anyText({ max: 500 })),
  twitter: param.clearable(param.anyText({ max: 500 })),
  website_url: param.clearable(param.anyText({ max: 500 })),
  organization: param.clearable(param.anyText({ max: 500 })),
  job_title: param.clearable(param.anyText()),
  pronouns: param.clearable(param.anyText({ max: 50 })),
  discord: param.clearable(param.anyText({ max: 500 })),
  github: param.clearable(param.anyText({ max: 500 })),
};
const profile = {
  avatar: param.clearable(avatar()),
  ...SAID,
  projects_limit: param.optional(param.integer({ min: 0, max: 2 ** 31 - 1 })),
  can_create_group: param.optional(param.boolean()),
  private_profile: param.optional(param.boolean()),
  external: param.optional(param.boolean()),
  note: param.clearable(param.anyText({ max: 65_535 })),
  provider: param.unlessBlank(param.anyText({ max: 63 })),
  extern_uid: param.unlessBlank(param.anyText({ max: 4096 })),
  ...NOT_HERE,
};

const id = { user_id: param.untypedId() };

type Profile = Partial<param.Input<typeof profile>>;

const flag = (value: boolean | undefined) => (value === undefined ? undefined : Number(value));

/** The columns that are set from a profile's attributes. @throws ApiError 400 for a website that is none */
export function columnsOf(input: Profile) {
  const problem = input.website_url ? webAddressProblem(input.website_url) : undefined;
  if (problem !== undefined) throw invalid({ website_url: [problem] });
  return {
    bio: input.bio,
    location: input.location,
    public_email: input.public_email,
    commit_email: input.commit_email,
    skype: input.skype,
    linkedin: input.linkedin,
    twitter: input.twitter,
    website_url: input.website_url,
    organization: input.organization,
    job_title: input.job_title,
    pronouns: input.pronouns,
    discord: input.discord,
    github: input.github,
    projects_limit: input.projects_limit,
    can_create_group: flag(input.can_create_group),
    private_profile: flag(input.private_profile),
    external: flag(input.external),
    note: input.note,
  };
}

/** Checks that addresses a user is to show are theirs. @throws ApiError 400 */
export async function requireOwn(db: Reader, userId: number, input: Profile): Promise<void> {
  for (const name of ["public_email", "commit_email"] as const) {
    const email = input[name];
    if (email && !(await queries.hasAddress(db, userId, email))) {
      throw invalid({ [name]: ["is not an email you own"] });
    }
  }
}

/** Says who a user is at a provider, if that is sent. @throws ApiError 400 for half of it, 409 if it is somebody else */
async function identify(
  context: Pick<Context, "now" | "request"> & { db: Database; caller: Caller },
  userId: number,
  { provider, extern_uid }: Profile,
): Promise<void> {
  if (provider === undefined && extern_uid === undefined) return;
  if (provider === undefined) throw missing("provider");
  if (extern_uid === undefined) throw missing("extern_uid");
  const identity = { provider, extern_uid: normalizedUid(provider, extern_uid) };
  await setIdentity(context.db, actorOf(context), userId, identity, context.now);
}

const users = routes({ path: "/users" });

/** One of them has to be sent for a new user. */
const WAYS_TO_PASSWORDS = ["password", "reset_password", "force_random_password"] as const;

/** How accounts are created and changed. */
export const accountResource: Resource = {
  name: "Accounts",
  migrations: [],
  routes: [
    users.post("", {
      summary: "Create a user",
      access: "admin",
      input: {
        ...changes.newUserInput,
        password: param.optional(param.anyText()),
        reset_password: param.optional(param.boolean()),
        force_random_password: param.optional(param.boolean()),
        admin: param.optional(param.boolean()),
        skip_confirmation: param.optional(param.boolean()),
        ...profile,
      },
      upload: AVATAR_PART,
      atLeastOne: [...WAYS_TO_PASSWORDS],
      presenter: adminUser,
      prepare: async ({ password, reset_password, force_random_password }, { store }) => {
        // As in GitLab, a password that is sent does not count beside another way to one.
        if (reset_password || force_random_password) return { password_hash: null };
        if (!password) throw atLeastOne(WAYS_TO_PASSWORDS);
        return { password_hash: await hashPassword(password, store) };
      },
      handle: async (context) => {
        const { db, presenter, input, prepared, now } = context;
        const { email, name, username, admin } = input;
        const user = { email, name, username, admin, ...prepared };
        const created = await createAccount(db, actorOf(context), user, now);
        await requireOwn(db, created, input);
        await updateRow(db, "users", created, columnsOf(input), now);
        await identify(context, created, input);
        await avatars.change(db, { kind: "user", id: created }, input.avatar, now);
        return queries.row(db, presenter, created);
      },
    }),
    users.del("/:user_id/identities/:provider", {
      summary: "Remove a user's identity at a provider: they no longer sign in with it",
      access: "admin",
      input: { ...id, provider: param.text() },
      handle: async (context) => {
        const { db, input, now } = context;
        const found = await requireUser(db, input.user_id);
        const isGone = await removeIdentity(db, actorOf(context), found.id, input.provider, now);
        if (!isGone) throw notFound("Identity");
        return undefined;
      },
    }),
    users.put("/:user_id", {
      summary: "Change a user",
      access: "admin",
      input: {
        ...id,
        ...changes.userInput,
        password: param.optional(param.anyText()),
        skip_reconfirmation: param.optional(param.boolean()),
        ...profile,
      },
      upload: AVATAR_PART,
      presenter: adminUser,
      prepare: ({ password }, { store }) => (password ? hashPassword(password, store) : undefined),
      handle: async (context) => {
        const { db, presenter, input, prepared, now } = context;
        const found = await requireChangeable(db, input.user_id);
        const by = actorOf(context);
        await changeAccount(db, by, found, input, now);
        await requireOwn(db, found.id, input);
        await updateRow(db, "users", found.id, columnsOf(input), now);
        await identify(context, found.id, input);
        await avatars.change(db, { kind: "user", id: found.id }, input.avatar, now);
        if (prepared !== undefined) await changes.changePassword(db, by, found, prepared, now);
        return queries.row(db, presenter, found.id);
      },
    }),
  ],
};
