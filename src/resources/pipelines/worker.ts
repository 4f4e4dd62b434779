import type { Secrets } from "../../core/secrets.ts";
import { dayOf } from "../../core/time.ts";
import type { Edition } from "../../core/version.ts";
import { valuesOf } from "../../git/push-options.ts";
import { BRANCHES } from "../../git/refs.ts";
import {
  startWorker,
  type Worker,
  type WorkerSettings,
  type Working,
  workOff,
} from "../../jobs/worker.ts";
import type { IncludeSources } from "../../outgoing/includes.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { type Headed, requestsHeadedBy } from "../ci/heads.ts";
import type { PipelineInputs } from "../ci/inputs.ts";
import { PIPELINE_WORKER, type PipelineTask, queueTask } from "../ci/progress.ts";
import type { GivenVariable } from "../ci/records.ts";
import { reportedDependencies } from "../dependencies/reported.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { readers } from "../issuables/queries.ts";
import * as todos from "../issuables/todos.ts";
import { derail, FAILED, type MergingLater, mergeWaiting } from "../merge-requests/waiting.ts";
import { publish } from "../sites/deploy.ts";
import type { OfMergeRequest } from "./circumstances.ts";
import {
  type Creation,
  PipelineRefusal,
  type Place,
  planCreation,
  storeFailed,
  storePipeline,
  type Wanted,
} from "./create.ts";
import { planDeployed } from "./deployed.ts";
import { endMirrors, endUpstream, isMirrored, startDownstream } from "./downstream.ts";
import { projectFor } from "./rules.ts";
import { planStops } from "./stops.ts";

/** What the worker of pipelines needs. */
export interface PipelineWorkerSettings extends Working, MergingLater {
  readonly secrets: Secrets;
  readonly edition: Edition;
  readonly includes: IncludeSources;
}

/** Does something of a task in its last transaction. */
type Follow = (db: Database) => Promise<unknown>;

/** How the worker does its tasks. */
function workerOf(settings: PipelineWorkerSettings): WorkerSettings {
  const { store, now, leases, onError } = settings;
  return {
    ...{ store, now, leases, onError },
    name: PIPELINE_WORKER,
    announced: false,
    interval: 300,
    lanes: 2,
    work: async ({ payload }) => {
      const follows = await plan(settings, JSON.parse(payload) as PipelineTask);
      return {
        done: true,
        follow: async (db) => {
          for (const follow of follows) await follow(db);
        },
      };
    },
  };
}

/** Starts the worker that makes pipelines of pushes, merge requests and jobs that start others. */
export function startPipelines(settings: PipelineWorkerSettings): Promise<Worker> {
  return startWorker(workerOf(settings));
}

/** Does what there is to do for that worker, and returns how many tasks it was. */
export function makePipelines(settings: PipelineWorkerSettings): Promise<number> {
  return workOff(workerOf(settings));
}

async function plan(settings: PipelineWorkerSettings, task: PipelineTask): Promise<Follow[]> {
  const { store, now, tier } = settings;
  const db = store.reader();
  if ("finished" in task) {
    const ended = await afterEnd(settings, task.finished);
    const above = await endUpstream(db, task.finished, now);
    const mirrored: Follow[] = (await isMirrored(db, task.finished))
      ? [(writing) => queueTask(writing, { mirrored: task.finished }, now())]
      : [];
    const depending = tier === "ultimate" ? await reportedDependencies(db, task.finished) : [];
    return [...ended, ...above, ...mirrored, ...depending];
  }
  if ("mirrored" in task) return endMirrors(db, task.mirrored, now);
  if ("deployed" in task) return [await planDeployed(store, task.deployed, now())];
  if ("site" in task) return [await publish(store, task, now())];
  if ("bridge" in task) return startDownstream({ ...settings, db }, task.bridge);
  if ("ready" in task) {
    await mergeWaiting(settings, task.ready);
    return [];
  }
  if ("opened" in task) {
    const request = await findRequest(db, task.opened);
    return request ? ofRequest(settings, request, task.user) : [];
  }
  if ("ended" in task || "deleted" in task) return planStops(db, task, now);
  const { pushed, before, sha, options } = task;
  const place = await placeOf(settings, task.project, task.user);
  if (!place) return [];
  const wanted: Wanted = {
    ref: pushed,
    sha,
    source: "push",
    ...(before !== null && { before }),
    variables: variablesIn(options),
    inputs: inputsIn(options),
    areTexts: true,
    mayBeSkipped: true,
    isSkipped: valuesOf(options, "ci", "skip").length > 0,
  };
  const follows = await follow(settings, place, wanted);
  for (const id of task.requests) {
    const request = await findRequest(db, id);
    if (request) follows.push(...(await ofRequest(settings, request, task.user, wanted)));
  }
  return follows;
}

/**
 * Does what the end of a pipeline means for the merge requests whose newest one it is: they are merged if they wait for
 * it, or those who wait are told that it failed.
 */
async function afterEnd(settings: PipelineWorkerSettings, pipelineId: number): Promise<Follow[]> {
  const { store, now } = settings;
  const requests = await requestsHeadedBy(store.reader(), pipelineId);
  for (const { id, project_id, status, auto_merge } of requests) {
    if (auto_merge !== 1) continue;
    if (status === "success") await mergeWaiting(settings, id);
    else await derail(settings, { id, project_id }, FAILED);
  }
  return requests.map((request) => async (db) => {
    db.lock(request.project_id);
    if (request.status === "failed") await tellOfFailure(db, request, now());
    if (request.status === "success") {
      todos.settle(db, MERGE_REQUEST, request.id, "build_failed", now());
    }
  });
}

/** Gives a todo to the author of a merge request, and to whoever waits to merge it. */
async function tellOfFailure(
  db: Database,
  { id, project_id: projectId, author_id, auto_merge, auto_merge_user_id }: Headed,
  now: number,
): Promise<void> {
  const waiting = auto_merge === 1 ? [auto_merge_user_id] : [];
  const ids = [...new Set([author_id, ...waiting])].filter((userId) => userId !== null);
  for (const userId of await readers(db, MERGE_REQUEST, { id }, { ids }, dayOf(now))) {
    await todos.add(db, MERGE_REQUEST, { projectId, id }, [userId], "build_failed", userId, now);
  }
}

interface FoundRequest extends OfMergeRequest {
  readonly source_project_id: number;
}

const REQUEST = `select mr.id, mr.iid, mr.source_branch, mr.target_branch, mr.source_project_id
  from merge_requests mr`;

/** Finds an open merge request. */
function findRequest(db: Reader, id: number): Awaitable<FoundRequest | undefined> {
  return db.one<FoundRequest>(`${REQUEST} where mr.id = ? and mr.state = 'opened'`, [id]);
}

async function ofRequest(
  settings: PipelineWorkerSettings,
  request: FoundRequest,
  userId: number,
  after: Pick<Wanted, "sha" | "isSkipped" | "variables" | "inputs" | "areTexts"> = {},
): Promise<Follow[]> {
  const place = await placeOf(settings, request.source_project_id, userId);
  if (!place) return [];
  return follow(settings, place, {
    ...after,
    ref: BRANCHES + request.source_branch,
    source: "merge_request_event",
    request,
    mayBeSkipped: true,
  });
}

/** Where a user makes a pipeline; `undefined` if they may not run any there. */
async function placeOf(
  { store, secrets, base, edition, includes, now }: PipelineWorkerSettings,
  projectId: number,
  userId: number,
): Promise<Place | undefined> {
  const db = store.reader();
  const project = await projectFor(db, projectId, userId, now());
  return project && { store, db, project, userId, base, edition, includes, secrets, at: now() };
}

/** Plans a pipeline, and returns what stores it: with mistakes in the configuration, a failed one. */
async function follow(
  { secrets, now }: PipelineWorkerSettings,
  place: Place,
  wanted: Wanted,
): Promise<Follow[]> {
  const { project } = place;
  const inProject = (work: Follow): Follow[] => [
    async (db) => {
      db.lock(project.id);
      return work(db);
    },
  ];
  try {
    const creation: Creation = await planCreation(place, wanted);
    // Nobody wants a second pipeline that does nothing.
    if (!creation.plan && wanted.request) return [];
    return inProject((db) => storePipeline(db, secrets, creation, now()));
  } catch (error) {
    if (!(error instanceof PipelineRefusal)) throw error;
    const { target, reasons } = error;
    if (!target || wanted.request) return [];
    return inProject((db) => storeFailed(db, place, target, reasons, now()));
  }
}

/** The inputs that a push gives, as in `git push -o ci.input="name=value"`. */
function inputsIn(options: readonly string[]): PipelineInputs | undefined {
  const inputs = valuesOf(options, "ci", "input").flatMap((option) => {
    const [, name, value] = /^"?([\w-]{1,255})=(.*?)"?$/s.exec(String(option)) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
  return inputs.length > 0 ? Object.fromEntries(inputs) : undefined;
}

/** The variables that a push gives, as in `git push -o ci.variable="KEY=value"`. */
function variablesIn(options: readonly string[]): GivenVariable[] {
  return valuesOf(options, "ci", "variable").flatMap((option) => {
    const [, key, value] = /^"?([A-Za-z0-9_]{1,255})=(.*?)"?$/s.exec(String(option)) ?? [];
    return key === undefined || value === undefined
      ? []
      : [{ key, value, variable_type: "env_var" as const }];
  });
}
