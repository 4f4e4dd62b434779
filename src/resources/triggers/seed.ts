import * as v from "valibot";
import { newSecret } from "../../auth/token-secrets.ts";
import { type InstantSeed, instant, type SeededSource, seedList } from "../../core/seeding.ts";
import * as triggers from "./queries.ts";

/** A pipeline trigger of a seed. */
export interface TriggerSeed {
  /** A user name. */
  owner: string;
  description: string;
  /** Its secret, which is encrypted, for which the secret key is needed. Default: a random one. */
  token?: string | undefined;
  created_at?: InstantSeed;
}

/** The pipeline triggers of a project. */
export const triggersPart = seedList({
  entries: {
    owner: v.string(),
    description: v.string(),
    token: v.optional(v.pipe(v.string(), v.minLength(1))),
    created_at: instant,
  },
  counted: "triggers",
  async insert(seeding, { owner, description, token, created_at }, project: SeededSource) {
    const trigger = {
      project_id: project.id,
      owner_id: seeding.userId(owner),
      description,
      expires_at: null,
    };
    const secret = token ?? newSecret(triggers.PREFIX).secret;
    const at = created_at ?? project.createdAt;
    await triggers.insert(seeding.db, seeding.secrets, { ...trigger, secret }, at);
  },
});
