import { expect } from "vitest";
import {
  type Circumstances,
  type Elsewhere,
  type Plan,
  planPipeline,
  type Reading,
  readConfiguration,
} from "../../src/ci/index.ts";
import { Pace } from "../../src/turns/pace.ts";

/** The commit that is pushed. */
export const SHA = "6104942438c14ec7bd21c6cd5bd995272b3faff6";

/** A push to the branch `main`, unless stated otherwise. */
export interface Situation extends Partial<Omit<Circumstances, "file" | "paths" | "changes">> {
  /** Files of the commit by path. */
  files?: Readonly<Record<string, string>>;
  changed?: readonly string[] | undefined;
  /** Paths that differ from a branch, by its name. */
  compared?: Readonly<Record<string, readonly string[]>>;
  /** Variables of the project by key. */
  project?: string;
  values?: Readonly<Record<string, string>>;
}

/** Nothing is anywhere else. */
const NOTHING: Elsewhere = {
  project: async () => "project",
  component: async () => "project",
  remote: async () => "of a socket error",
  template: async () => undefined,
};

/** The circumstances of a situation, as a server would state them. */
export function circumstances(situation: Situation = {}): Circumstances {
  const { ref = "main", tag = false, source = "push", files = {}, values = {} } = situation;
  const isRequest = source === "merge_request_event";
  return {
    pace: new Pace(),
    ref,
    tag,
    source,
    project: situation.project ?? "acme/shop",
    sha: SHA,
    elsewhere: situation.elsewhere ?? NOTHING,
    ...(situation.masked && { masked: situation.masked }),
    ...(situation.inputs && { inputs: situation.inputs, areTexts: situation.areTexts }),
    predefined: Object.entries({
      CI_COMMIT_REF_NAME: ref,
      CI_COMMIT_REF_SLUG: ref.replaceAll(/[^a-z0-9]/g, "-"),
      CI_DEFAULT_BRANCH: "main",
      CI_PIPELINE_SOURCE: source,
      ...(tag ? { CI_COMMIT_TAG: ref } : isRequest ? {} : { CI_COMMIT_BRANCH: ref }),
      ...(isRequest ? { CI_MERGE_REQUEST_IID: "1" } : {}),
    }).map(([key, value]) => ({ key, value })),
    variables: Object.entries(values).map(([key, value]) => ({ key, value })),
    file: async (path) => files[path],
    paths: async () => Object.keys(files),
    changes: async (compareTo) =>
      compareTo === undefined ? situation.changed : (situation.compared?.[compareTo] ?? null),
  };
}

/** What reading a configuration finds. */
export function read(text: string, situation: Situation = {}): Promise<Reading> {
  return readConfiguration(text, circumstances(situation));
}

/** The pipeline of a configuration that has no mistakes. */
export async function plan(text: string, situation: Situation = {}): Promise<Plan> {
  const { configuration, errors } = await read(text, situation);
  expect(errors).toEqual([]);
  if (!configuration) throw new Error("There is no configuration");
  return await planPipeline(configuration, circumstances(situation));
}

/** The names of a pipeline's jobs; errors if there are none. */
export async function jobNames(text: string, situation: Situation = {}): Promise<string[]> {
  const { jobs, errors } = await plan(text, situation);
  return errors.length > 0 ? [...errors] : jobs.map(({ name }) => name);
}
