import { ISSUE } from "../../issuables/issue.ts";
import { MERGE_REQUEST } from "../../issuables/merge-request.ts";
import { STATE_IDS } from "../../issuables/told.ts";
import { type Block, labelsOf, projectOf, repositoryOf, userOf, usersOf } from "./blocks.ts";
import { issuableOf } from "./issuables.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

/** The states that follow from actions, whatever the state is when the payload is made. */
const STATE_AFTER: Readonly<Record<string, string>> = {
  open: "opened",
  reopen: "opened",
  close: "closed",
  merge: "merged",
};

/** The payload about a change of an issue: its own kind of hooks if the issue is confidential. */
export async function issueEvent(
  making: Making,
  moment: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const found = await issuableOf(making, ISSUE, moment.data.id);
  if (!found) return undefined;
  const { attributes, labels, assignees } = found;
  const isConfidential = attributes["confidential"] === true;
  // GitLab calls all but plain issues work items.
  const kind = attributes["type"] === "Issue" ? "issue" : "work_item";
  const project = await projectOf(making, attributes["project_id"] as number);
  if (!project) return undefined;
  return {
    event: isConfidential ? "confidential_issues" : "issues",
    title: isConfidential ? "Confidential Issue Hook" : "Issue Hook",
    body: {
      object_kind: kind,
      event_type: isConfidential ? `confidential_${kind}` : kind,
      user: await userOf(making, moment.userId),
      project,
      object_attributes: { ...attributes, ...after(moment) },
      labels,
      changes: await changesOf(making, moment),
      repository: repositoryOf(project),
      ...(assignees.length > 0 && { assignees }),
    },
  };
}

/** The payload about a change of a merge request. */
export async function mergeRequestEvent(
  making: Making,
  moment: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const found = await issuableOf(making, MERGE_REQUEST, moment.data.id);
  if (!found) return undefined;
  const { attributes, labels, assignees, reviewers } = found;
  const { target: project, target_branch: branch } = attributes;
  if (!project) return undefined;
  const { oldrev } = moment.data;
  return {
    event: "merge_requests",
    title: "Merge Request Hook",
    branch: branch as string,
    body: {
      object_kind: "merge_request",
      event_type: "merge_request",
      user: await userOf(making, moment.userId),
      project,
      object_attributes: {
        ...attributes,
        ...after(moment),
        ...(oldrev !== undefined && { oldrev }),
      },
      labels,
      changes: await changesOf(making, moment),
      repository: repositoryOf(project as Block),
      ...(assignees.length > 0 && { assignees }),
      ...(reviewers.length > 0 && { reviewers }),
    },
  };
}

/** What the moment itself says of the issuable. */
function after({ data: { action = "" } }: ToldHookEvent): Block {
  const state = STATE_AFTER[action];
  return { ...(state !== undefined && { state, state_id: STATE_IDS[state] }), action };
}

/** The changes of a moment, with labels and people instead of their ids. */
async function changesOf(making: Making, { data }: ToldHookEvent): Promise<Block> {
  const changes = (data["changes"] ?? {}) as Record<
    string,
    { previous: unknown; current: unknown }
  >;
  const shown: Record<string, unknown> = {};
  for (const [name, { previous, current }] of Object.entries(changes)) {
    const read =
      name === "labels" ? labelsOf : NAMES_OF_PEOPLE.includes(name) ? usersOf : undefined;
    shown[name] = read
      ? {
          previous: await read(making, previous as unknown[]),
          current: await read(making, current as unknown[]),
        }
      : { previous, current };
  }
  return shown;
}

const NAMES_OF_PEOPLE = ["assignees", "reviewers"];
