import type { HookEventKind } from "../../../hooks/events.ts";
import { issueEvent, mergeRequestEvent } from "./changes.ts";
import { deploymentEvent } from "./deployments.ts";
import { emojiEvent } from "./emoji.ts";
import { featureFlagEvent } from "./feature-flags.ts";
import type { MakePayload } from "./making.ts";
import { milestoneEvent } from "./milestones.ts";
import { noteEvent } from "./notes.ts";
import { jobEvent, pipelineEvent } from "./pipelines.ts";
import { pushEvent, repositoryUpdate } from "./pushes.ts";
import { groupEvent, keyEvent, memberEvent, projectEvent, userEvent } from "./records.ts";
import { releaseEvent } from "./releases.ts";
import { accessTokenEvent } from "./tokens.ts";
import { wikiEvent } from "./wikis.ts";

/** How payloads are made, by the kind of moment. */
const MAKERS: Readonly<Record<HookEventKind, MakePayload>> = {
  push: pushEvent,
  tag_push: pushEvent,
  repository_update: repositoryUpdate,
  issue: issueEvent,
  merge_request: mergeRequestEvent,
  note: noteEvent,
  wiki_page: wikiEvent,
  pipeline: pipelineEvent,
  build: jobEvent,
  release: releaseEvent,
  deployment: deploymentEvent,
  feature_flag: featureFlagEvent,
  milestone: milestoneEvent,
  emoji: emojiEvent,
  access_token: accessTokenEvent,
  member: memberEvent,
  subgroup: groupEvent,
  project: projectEvent,
  user: userEvent,
  key: keyEvent,
};

/** The payload of a moment, see {@link MakePayload}. */
export const payloadOf: MakePayload = (making, moment) => MAKERS[moment.kind](making, moment);
