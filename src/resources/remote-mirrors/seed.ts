import * as v from "valibot";
import { type SeededSource, seedList } from "../../core/seeding.ts";
import { addressOf } from "../mirrors/address.ts";
import * as mirrors from "./queries.ts";

/** A push mirror of a seed. */
export interface RemoteMirrorSeed {
  /** With `http` or `https`, perhaps with a user and a password. */
  url: string;
  /** Whether it is pushed to. Default true. */
  enabled?: boolean | undefined;
}

/** The push mirrors of a project. */
export const remoteMirrorsPart = seedList({
  entries: {
    url: v.pipe(v.string(), v.url(), v.regex(/^https?:\/\//)),
    enabled: v.optional(v.boolean(), true),
  },
  counted: "remote_mirrors",
  async insert({ db, secrets }, { url, enabled }, { id: projectId, createdAt }: SeededSource) {
    await mirrors.insert(db, secrets, { ...addressOf(url), projectId, enabled }, createdAt);
  },
});
