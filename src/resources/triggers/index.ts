import * as audit from "../../audit/log.ts";
import { newSecret } from "../../auth/token-secrets.ts";
import { ApiError, forbidden, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import type { Parameter } from "../../core/http/parameters.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { pipelineInputs, readInputs } from "../ci/inputs.ts";
import { changedPipeline, PIPELINES } from "../ci/json.ts";
import type { GivenVariable } from "../ci/records.ts";
import { PipelineRefusal, placeIn, planCreation, storePipeline } from "../pipelines/create.ts";
import { isTreeFull, noteDownstream } from "../pipelines/downstream.ts";
import { projectFor } from "../pipelines/rules.ts";
import { userSummaryFields } from "../users/json.ts";
import { keyErrors } from "../variables/rules.ts";
import * as triggers from "./queries.ts";
import { migrations, purposeOf, TRIGGER_TOKENS } from "./table.ts";

/** Characters of a token that others see, after its prefix. */
const SHOWN = 4;

const trigger = presenter({
  id: field.integer("tr.id"),
  token: field.derived(
    ["tr.token", purposeOf("tr."), "own.id"],
    "string",
    ([sealed, of, own], { open }) => {
      const token = open(String(sealed), String(of));
      const start = triggers.PREFIX.length + 1;
      return own === null ? token.slice(start, start + SHOWN) : token;
    },
  ),
  description: field.text("tr.description"),
  created_at: field.instant("tr.created_at"),
  updated_at: field.instant("tr.updated_at"),
  last_used: field.instant("tr.last_used_at"),
  expires_at: field.instant("tr.expires_at"),
  owner: field.nested(userSummaryFields),
});

const id = { trigger_id: param.recordId() };
const description = param.text();

/** Variables that one request gives a pipeline, at most. */
const MAX_VARIABLES = 100;
const MAX_VALUE = 65_536;

/** @throws ApiError 404 */
async function findOne({
  db,
  source,
  input,
}: Pick<Context, "source"> & {
  db: Reader;
  input: { trigger_id: number };
}): Promise<triggers.Trigger> {
  const found = await triggers.find(db, source.id, input.trigger_id);
  if (!found) throw notFound("Trigger");
  return found;
}

const targetOf = ({ source }: Pick<Context, "source">, triggerId: number) => ({
  target: `trigger ${triggerId} of ${source.fullPath}`,
});

/** Reads variables that are sent as texts by key. @throws ApiError 400 */
function readVariables(sent: Parameter | undefined): GivenVariable[] {
  if (sent === undefined) return [];
  if (typeof sent !== "object" || sent === null || Array.isArray(sent)) {
    throw invalid({ variables: ["is invalid"] });
  }
  const entries = Object.entries(sent);
  if (entries.some(([, value]) => typeof value !== "string")) {
    throw new ApiError(400, { message: "variables needs to be a map of key-valued strings" });
  }
  const texts = entries as [string, string][];
  const isFine = texts.every(
    ([key, value]) => keyErrors(key).length === 0 && key.length <= 255 && value.length <= MAX_VALUE,
  );
  if (!isFine || texts.length > MAX_VARIABLES) throw invalid({ variables: ["is invalid"] });
  return texts.map(([key, value]) => ({ key, value, variable_type: "env_var" }));
}

const { del, get, list, post, put } = routes({
  source: "project",
  path: "/triggers",
  features: ["jobs"],
});
const { post: start } = routes();

/** What both ways to start a pipeline share. */
const starting = {
  summary: "Run a pipeline with the token of a trigger, or of a job of the project",
  access: "anyone",
  presenter: changedPipeline,
} as const;
const startInput = {
  id: param.text(),
  ref: param.text({ max: 1024 }),
  token: param.text(),
  variables: param.optional(param.json("texts by key")),
  inputs: pipelineInputs,
};

interface StartInput {
  id: string;
  ref: string;
  token: string;
  variables?: Parameter | undefined;
  inputs?: Parameter | undefined;
}

type Preparing = Parameters<NonNullable<Parameters<typeof start>[1]["prepare"]>>[1];

/** Plans the pipeline that somebody with a token asks for, as the trigger's owner. */
async function prepare(input: StartInput, preparing: Preparing) {
  const { db, request, now } = preparing;
  // A webhook of a pipeline that starts a pipeline would go on for ever.
  if (request.header("x-gitlab-event") === "Pipeline Hook") throw forbidden();
  const variables = readVariables(input.variables);
  const found = await triggers.findByToken(db, input.token, now);
  const names = found ? [String(found.project_id), found.full_path.toLowerCase()] : [];
  if (!found || !names.includes(input.id.toLowerCase())) throw notFound();
  const project = await projectFor(db, found.project_id, found.owner_id, now);
  if (!project) throw new PipelineRefusal(["Insufficient permissions to create a new pipeline"]);
  if (found.pipeline_id !== null && (await isTreeFull(db, found.pipeline_id))) {
    throw new PipelineRefusal(["Too many pipelines have started each other"]);
  }
  const payload: GivenVariable = {
    key: "TRIGGER_PAYLOAD",
    value: JSON.stringify({ ref: input.ref, variables: input.variables ?? {} }),
    variable_type: "file",
  };
  const creation = await planCreation(placeIn(preparing, project, found.owner_id), {
    ref: input.ref,
    ...(found.id === null
      ? { source: "pipeline" }
      : { source: "trigger", shortToken: triggers.shortTokenOf(input.token) }),
    variables: [...variables, payload],
    inputs: readInputs(input.inputs),
  });
  return { creation, found };
}

type Starting = Pick<Context, "presenter" | "secrets" | "now"> & {
  db: Parameters<typeof storePipeline>[0];
  prepared: Awaited<ReturnType<typeof prepare>>;
};

async function handle({ db, prepared, presenter: shown, secrets, now }: Starting) {
  const pipelineId = await storePipeline(db, secrets, prepared.creation, now);
  const { id: triggerId, job_id: jobId, pipeline_id: above } = prepared.found;
  if (triggerId !== null) await triggers.noteUse(db, triggerId, now);
  if (jobId !== null && above !== null) await noteDownstream(db, pipelineId, jobId, above);
  const rows = await db.rows(`select ${shown.columns} from ${PIPELINES} where pl.id = ?`, [
    pipelineId,
  ]);
  return rows[0];
}

/** Tokens that start pipelines. */
export const triggerResource: Resource = {
  name: "Pipeline triggers",
  migrations,
  sealed: [TRIGGER_TOKENS],
  routes: [
    list("", {
      summary: "List the triggers of a project",
      role: "maintainer",
      presenter: trigger,
      handle: ({ db, presenter: shown, page, source, caller }) =>
        triggers.list(db, shown, page, source.id, caller.id),
    }),
    get("/:trigger_id", {
      summary: "Get a trigger",
      role: "maintainer",
      input: id,
      presenter: trigger,
      handle: async (context) => {
        const found = await findOne(context);
        return triggers.row(context.db, context.presenter, found.id, context.caller.id);
      },
    }),
    post("", {
      summary: "Add a trigger, with a new token",
      role: "maintainer",
      input: { description, expires_at: param.optional(param.instant()) },
      presenter: trigger,
      handle: async (context) => {
        const { db, source, caller, secrets, input, presenter: shown, now } = context;
        const made = await triggers.insert(
          db,
          secrets,
          {
            project_id: source.id,
            owner_id: caller.id,
            description: input.description,
            expires_at: input.expires_at ?? null,
            secret: newSecret(triggers.PREFIX).secret,
          },
          now,
        );
        await audit.log(context, "trigger added", targetOf(context, made));
        return triggers.row(db, shown, made, caller.id);
      },
    }),
    put("/:trigger_id", {
      summary: "Change the description of one's own trigger",
      role: "maintainer",
      input: { ...id, description: param.optional(description) },
      presenter: trigger,
      handle: async (context) => {
        const { db, caller, input, presenter: shown, now } = context;
        const found = await findOne(context);
        if (found.owner_id !== caller.id) throw forbidden();
        const changes = { description: input.description };
        await updateRow(db, "pipeline_triggers", found.id, changes, now);
        return triggers.row(db, shown, found.id, caller.id);
      },
    }),
    del("/:trigger_id", {
      summary: "Remove a trigger: its token stops working",
      role: "maintainer",
      input: id,
      handle: async (context) => {
        const found = await findOne(context);
        context.requireUnmodified(found.updated_at);
        await triggers.remove(context.db, found.id);
        await audit.log(context, "trigger removed", targetOf(context, found.id));
        return undefined;
      },
    }),
    start("/projects/:id/trigger/pipeline", { ...starting, input: startInput, prepare, handle }),
    start("/projects/:id/ref/:ref*/trigger/pipeline", {
      ...starting,
      input: startInput,
      prepare,
      handle,
    }),
  ],
};
