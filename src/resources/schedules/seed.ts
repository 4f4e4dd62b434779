import * as v from "valibot";
import { isCron, isTimeZone } from "../../ci/index.ts";
import { optionsOf } from "../../core/options.ts";
import {
  type InstantSeed,
  instant,
  oneOf,
  SeedError,
  type SeededSource,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { GivenVariable } from "../ci/records.ts";
import * as schedules from "./queries.ts";

/** A pipeline schedule of a seed. */
export interface ScheduleSeed {
  /** A user name. */
  owner: string;
  description: string;
  /** A branch. */
  ref: string;
  cron: string;
  cron_timezone?: string | undefined;
  active?: boolean | undefined;
  /** Its variables. Their values are encrypted, which needs the secret key. */
  variables?:
    | {
        key: string;
        value: string;
        variable_type?: Word<GivenVariable["variable_type"]> | undefined;
      }[]
    | undefined;
  /** The `iid`s of the pipelines that it has started. */
  runs?: number[] | undefined;
  created_at?: InstantSeed;
}

/** The pipeline schedules of a project. */
export const schedulesPart = seedList({
  entries: {
    owner: v.string(),
    description: v.string(),
    ref: v.string(),
    cron: v.string(),
    cron_timezone: v.optional(v.string(), "UTC"),
    active: v.optional(v.boolean(), true),
    variables: v.optional(
      v.array(
        optionsOf({
          key: v.string(),
          value: v.string(),
          variable_type: v.optional(oneOf(["env_var", "file"]), "env_var"),
        }),
      ),
      [],
    ),
    runs: v.optional(v.array(v.number()), []),
    created_at: instant,
  },
  counted: "schedules",
  async insert(seeding, schedule, project: SeededSource) {
    const { db, secrets, now } = seeding;
    const { owner, ref, runs, variables, created_at, ...told } = schedule;
    const { description, cron, cron_timezone, active } = told;
    if (!isCron(cron)) throw new SeedError(`${cron} is no expression of cron`);
    if (!isTimeZone(cron_timezone)) throw new SeedError(`${cron_timezone} is no time zone`);
    const place = { project_id: project.id, owner_id: seeding.userId(owner) };
    const id = await schedules.insert(
      db,
      { ...place, ref: BRANCHES + ref, description, cron, cron_timezone, active },
      now,
      created_at ?? project.createdAt,
    );
    for (const variable of variables) await schedules.setVariable(db, secrets, id, variable);
    for (const iid of runs) {
      const [pipeline] = await db.rows(
        "select id from pipelines where project_id = ? and iid = ?",
        [project.id, iid],
      );
      if (!pipeline) throw new SeedError(`${project.fullPath} has no pipeline ${iid}`);
      await schedules.noteRun(db, id, pipeline[0] as number);
    }
  },
});
