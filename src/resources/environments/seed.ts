import * as v from "valibot";
import {
  type InsertNested,
  type InstantSeed,
  instant,
  oneOf,
  type SeededSource,
  type SeedParts,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import { type EnvironmentTier, TIERS } from "../ci/environment-names.ts";
import { insertEnvironment, setState } from "../ci/environments.ts";

/** An environment of a seed. */
export interface EnvironmentSeed {
  name: string;
  external_url?: string | undefined;
  description?: string | undefined;
  tier?: Word<EnvironmentTier> | undefined;
  state?: Word<"available" | "stopped"> | undefined;
  created_at?: InstantSeed;
}

/** A seeded environment, as its deployments need it. */
export interface SeededEnvironment {
  readonly id: number;
  readonly project: SeededSource;
}

/** The environments of a project. @param nested what each has */
export const environmentsPart = <Nested extends SeedParts<SeededEnvironment>>(nested: Nested) =>
  seedList({
    entries: {
      name: v.string(),
      external_url: v.optional(v.string()),
      description: v.optional(v.string()),
      tier: v.optional(oneOf(TIERS)),
      state: v.optional(oneOf(["available", "stopped"]), "available"),
      created_at: instant,
    },
    nested,
    counted: "environments",
    async insert(
      { db },
      environment,
      project: SeededSource,
      insertNested: InsertNested<SeededEnvironment>,
    ) {
      const { created_at: at = project.createdAt, state } = environment;
      const id = await insertEnvironment(db, project.id, environment, at);
      await insertNested({ id, project });
      if (state === "stopped") await setState(db, id, state, at);
    },
  });
