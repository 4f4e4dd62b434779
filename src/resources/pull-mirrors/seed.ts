import * as v from "valibot";
import { optionsOf } from "../../core/options.ts";
import { type SeededSource, seedPart } from "../../core/seeding.ts";
import { updateRow } from "../../store/update.ts";
import { addressOf } from "../mirrors/address.ts";
import * as mirrors from "./queries.ts";

/** The pull mirror of a project in a seed. */
export interface PullMirrorSeed {
  /** With `http` or `https`, perhaps with a user and a password. */
  url: string;
  /** Whose the changes are: a user name. */
  user: string;
  /** Whether the project is updated. Default true. */
  enabled?: boolean | undefined;
}

const schema = v.optional(
  optionsOf({
    url: v.pipe(v.string(), v.url(), v.regex(/^https?:\/\//)),
    user: v.string(),
    enabled: v.optional(v.boolean()),
  }),
) as unknown as v.GenericSchema<PullMirrorSeed | undefined>;

/** The pull mirror of a project. */
export const pullMirrorPart = seedPart({
  schema,
  counted: "pull_mirrors",
  async insert(
    seeding,
    mirror: PullMirrorSeed | undefined,
    { id: projectId, createdAt }: SeededSource,
  ) {
    if (!mirror) return 0;
    const { db, secrets } = seeding;
    const { url, user, enabled = true } = mirror;
    const address = addressOf(url);
    const id = await mirrors.insert(db, { projectId, url: address.url }, createdAt);
    await mirrors.setAddress(db, secrets, id, address, createdAt);
    const columns = { user_id: seeding.userId(user), enabled: Number(enabled) };
    await updateRow(db, "pull_mirrors", id, columns, createdAt);
    return 1;
  },
});
