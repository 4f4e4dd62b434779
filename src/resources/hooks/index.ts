import { randomUUID } from "node:crypto";
import type { Source } from "../../core/access/source.ts";
import { ApiError, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import {
  type Context,
  Json,
  type PrepareContext,
  type Resource,
  type Route,
  type RouteBuilder,
  routes,
  type SourceKind,
} from "../../core/resource.ts";
import { maskOf } from "../../hooks/events.ts";
import { updateRow } from "../../store/update.ts";
import { type GivenSecrets, storeSecrets } from "./changes.ts";
import {
  type Attempt,
  attempt,
  type Delivering,
  findDelivery,
  isAccepted,
  problemOf,
  readyPayload,
  recordByHand,
} from "./delivery.ts";
import {
  eventInput,
  eventsAfter,
  hookInput,
  MOST_NAMES,
  pairsOf,
  requireFilter,
  requirePair,
  requireToken,
  requireUrl,
  urlInput,
} from "./input.ts";
import { hookDelivery, hookPresenters } from "./json.ts";
import * as hooks from "./queries.ts";
import { SYSTEM_SAMPLE, sampleOf, TRIGGERS } from "./samples.ts";
import { countOthers, openSecrets, plainUrlOf, removeSecrets, setSecret } from "./secrets.ts";
import { HOOK_SECRETS, migrations } from "./table.ts";

/** Hooks that a project or group, or the instance, has at most. */
const MOST_HOOKS = 100;

/** What a hook listens for if the request does not say. */
const DEFAULT_EVENTS = {
  system: maskOf(["repository_update", "system"]),
  project: maskOf(["push"]),
  group: maskOf(["push"]),
};

const id = { hook_id: param.recordId() };

type HookInput = param.Input<typeof hookInput>;
type Changed = HookInput & { url?: string | undefined };
type At = Pick<PrepareContext, "db"> & { readonly source: hooks.HookOwner };

/** Reads the secrets that a request gives to a hook. @throws ApiError 400, 422 */
function secretsOf({ url, token, custom_headers, url_variables }: Changed): GivenSecrets {
  requireToken(token);
  const headers = pairsOf("header", custom_headers);
  return { url, token, headers, variables: pairsOf("variable", url_variables) };
}

/** The columns that are set from a hook's attributes. */
function columnsOf(input: Changed) {
  const { enable_ssl_verification: verified } = input;
  return {
    url: input.url === undefined ? undefined : plainUrlOf(input.url),
    name: input.name,
    description: input.description,
    enable_ssl_verification: verified === undefined ? undefined : Number(verified),
    push_events_branch_filter: input.push_events_branch_filter,
    branch_filter_strategy: input.branch_filter_strategy,
    custom_webhook_template: input.custom_webhook_template,
  };
}

async function findOwn({ db, source }: At, hookId: number) {
  const found = await hooks.find(db, source, hookId);
  if (!found) throw notFound();
  return found;
}

async function rowOf(
  { db, presenter, source, view }: At & Pick<Context, "presenter" | "view">,
  hookId: number,
) {
  const row = await hooks.row(db, presenter, source, hookId, view);
  if (!row) throw notFound();
  return row;
}

/** Checks the secrets, the filter and the URL of a change. @throws ApiError 404, 422 */
async function planChange(
  input: Changed & { hook_id: number },
  preparing: At & Pick<PrepareContext, "secrets" | "outgoing">,
): Promise<GivenSecrets> {
  const { db, secrets, outgoing } = preparing;
  const found = await findOwn(preparing, input.hook_id);
  const given = secretsOf(input);
  await requireFilter(input, found);
  if (input.url === undefined && given.variables === undefined) return given;
  const open = await openSecrets(db, secrets, found);
  const url = input.url ?? open.url;
  const kept = url === open.url ? open.variables : new Map();
  await requireUrl(url, given.variables ?? kept, outgoing.allowLocal);
  return given;
}

const KINDS = ["project", "group", "system"] as const;

/** Declares routes of hooks of a kind of owner. */
function builderOf(kind: keyof typeof hookPresenters) {
  return (
    kind === "system" ? routes({ path: "/hooks" }) : routes({ source: kind, path: "/hooks" })
  ) as RouteBuilder<"/hooks", Source | undefined>;
}

/** Who may call routes of hooks of a kind of owner. */
function guardOf(kind: keyof typeof hookPresenters): object {
  if (kind === "system") return { access: "admin" };
  return kind === "group" ? { role: "owner", tier: "premium" } : { role: "maintainer" };
}

function routesOf(kind: keyof typeof hookPresenters): Route[] {
  const { del, get, list, post, put } = builderOf(kind);
  const guard = guardOf(kind);
  const of = kind === "system" ? "the instance" : `a ${kind}`;
  const presenter = hookPresenters[kind];
  const attributes = { ...hookInput, ...eventInput(kind) };
  const pairRoutes = (path: "url_variables" | "custom_headers", what: "variable" | "header") => {
    const named = { ...id, key: param.anyText() };
    return [
      put(`/:hook_id/${path}/:key` as "/:hook_id/x/:key", {
        summary: what === "header" ? "Set a header of a hook" : "Set a variable of a hook's URL",
        ...guard,
        input: { ...named, value: param.anyText({ max: 2048 }) },
        status: 204,
        prepare: async (input, preparing) => {
          const { db, secrets, outgoing } = preparing;
          const found = await findOwn(preparing, input.hook_id);
          requirePair(what, input.key, input.value);
          if (what === "header") return;
          const { url, variables } = await openSecrets(db, secrets, found);
          const after = new Map([...variables, [input.key, input.value]]);
          await requireUrl(url, after, outgoing.allowLocal);
        },
        handle: async (context) => {
          const { db, secrets, input } = context;
          const found = await findOwn(context, input.hook_id);
          if ((await countOthers(db, found.id, what, input.key)) >= MOST_NAMES) {
            throw new ApiError(422, { error: `Invalid ${path} given` });
          }
          await setSecret(db, secrets, found.id, what, input.key, input.value);
          return undefined;
        },
      }),
      del(`/:hook_id/${path}/:key` as "/:hook_id/x/:key", {
        summary:
          what === "header" ? "Remove a header of a hook" : "Remove a variable of a hook's URL",
        ...guard,
        input: named,
        handle: async (context) => {
          const { db, input } = context;
          const found = await findOwn(context, input.hook_id);
          if ((await removeSecrets(db, found.id, what, input.key)) === 0) throw notFound();
          return undefined;
        },
      }),
    ];
  };
  return [
    list("", {
      summary: `List the hooks of ${of}`,
      ...guard,
      presenter,
      handle: ({ db, presenter: shown, page, source, view }) =>
        hooks.list(db, shown, page, source, view),
    }),
    get("/:hook_id", {
      summary: "Get a hook",
      ...guard,
      input: id,
      presenter,
      handle: (context) => rowOf(context, context.input.hook_id),
    }),
    post("", {
      summary: `Add a hook to ${of}`,
      ...guard,
      input: { url: urlInput, ...attributes },
      presenter,
      prepare: async (input, { outgoing }) => {
        const given = secretsOf(input);
        await requireFilter(input);
        await requireUrl(input.url, given.variables ?? new Map(), outgoing.allowLocal);
        return given;
      },
      handle: async (context) => {
        const { db, source, input, view, now, prepared } = context;
        if ((await hooks.count(db, source)) >= MOST_HOOKS) {
          const reason = `Maximum number of ${kind} hooks (${MOST_HOOKS}) exceeded`;
          throw new ApiError(422, { message: { base: [reason] } });
        }
        const hookId = await hooks.insert(
          db,
          source,
          {
            ...columnsOf(input),
            events: eventsAfter(DEFAULT_EVENTS[kind], input),
            base: view.base,
          },
          now,
        );
        await storeSecrets(db, context.secrets, hookId, prepared, false);
        return rowOf(context, hookId);
      },
    }),
    put("/:hook_id", {
      summary: "Change a hook",
      ...guard,
      input: { ...id, url: param.optional(urlInput), ...attributes },
      presenter,
      prepare: planChange,
      handle: async (context) => {
        const { db, secrets, input, now, prepared } = context;
        const found = await findOwn(context, input.hook_id);
        if (Object.keys(attributes).every((name) => !(name in input)) && input.url === undefined) {
          throw new ApiError(400, { error: "No parameters provided" });
        }
        const { url } = await openSecrets(db, secrets, found);
        const isMoved = input.url !== undefined && input.url !== url;
        const events = eventsAfter(found.events, input);
        const working = isMoved ? { failures: 0, disabled_until: null } : {};
        await updateRow(db, "hooks", found.id, { ...columnsOf(input), events, ...working }, now);
        await storeSecrets(db, secrets, found.id, prepared, isMoved);
        return rowOf(context, found.id);
      },
    }),
    del("/:hook_id", {
      summary: "Remove a hook",
      ...guard,
      input: id,
      handle: async (context) => {
        const found = await findOwn(context, context.input.hook_id);
        context.requireUnmodified(found.updated_at);
        await hooks.remove(context.db, found.id);
        return undefined;
      },
    }),
    ...pairRoutes("url_variables", "variable"),
    ...pairRoutes("custom_headers", "header"),
  ];
}

const logId = { ...id, hook_log_id: param.recordId() };

/** Refuses what a hook did not accept: nothing is stored of it, since the answer says it all. */
function requireAccepted(made: Attempt): void {
  if (!isAccepted(made)) throw new ApiError(422, { message: problemOf(made) });
}

/** What sending something by hand needs. */
function deliveringOf(preparing: PrepareContext): Delivering {
  const { store, secrets, view, outgoing, edition, now } = preparing;
  return { store, secrets, url: view.base, outgoing, edition, now };
}

/** The log of hooks: what they were sent, and sending it again. */
function logRoutesOf(kind: keyof typeof hookPresenters): Route[] {
  const { list, post } = builderOf(kind);
  return [
    list("/:hook_id/events", {
      summary: "List what a hook was sent within a week, newest first",
      ...guardOf(kind),
      input: { ...id, status: param.optional(param.choice(hooks.LOG_STATUSES)) },
      presenter: hookDelivery,
      handle: async (context) => {
        const { db, presenter, page, input } = context;
        const found = await findOwn(context, input.hook_id);
        return hooks.log(db, presenter, page, found.id, input.status);
      },
    }),
    post("/:hook_id/events/:hook_log_id/resend", {
      summary: "Send a hook again what it was sent",
      ...guardOf(kind),
      input: logId,
      examples: [{ response_status: 200 }],
      prepare: async (input, preparing) => {
        const hook = await findOwn(preparing, input.hook_id);
        const delivery = await findDelivery(preparing.db, input.hook_log_id);
        if (delivery?.hook_id !== hook.id) throw notFound();
        const delivering = deliveringOf(preparing);
        const payload = await readyPayload(delivering, hook, delivery, true);
        if (!payload) throw new ApiError(422, { message: "What it is about is gone." });
        const made = await attempt(delivering, hook, payload, delivery.event_uuid, NEVER);
        return { hook, delivery, made };
      },
      handle: async ({ db, now, prepared: { hook, delivery, made } }) => {
        requireAccepted(made);
        await recordByHand(db, hook, delivery, made, now);
        return new Json({ response_status: made.answer?.status });
      },
    }),
  ];
}

/** Sending by hand ends with the request's own limit of time. */
const NEVER = new AbortController().signal;

/** Trying out hooks of a project or group. */
function testRouteOf(kind: SourceKind): Route {
  const { post } = routes({ source: kind, path: "/hooks" });
  return post("/:hook_id/test/:trigger", {
    summary: "Try out a hook with the newest record that there is",
    ...guardOf(kind),
    input: { ...id, trigger: param.choice(TRIGGERS) },
    examples: [{ message: "201 Created" }],
    prepare: async ({ hook_id, trigger }, preparing) => {
      const { db, source, caller, now } = preparing;
      const hook = await findOwn(preparing, hook_id);
      const delivery = await sampleOf(db, source, trigger, { userId: caller.id, now });
      const delivering = deliveringOf(preparing);
      const payload = await readyPayload(delivering, hook, delivery, true);
      if (!payload) throw new ApiError(422, { message: "What it is about is gone." });
      return {
        hook,
        delivery,
        made: await attempt(delivering, hook, payload, delivery.event_uuid, NEVER),
      };
    },
    handle: async ({ db, now, prepared: { hook, delivery, made } }) => {
      requireAccepted(made);
      await recordByHand(db, hook, delivery, made, now);
      return new Json({ message: "201 Created" });
    },
  });
}

/** Trying out a system hook. */
const systemTest = routes({ path: "/hooks" }).post("/:hook_id", {
  summary: "Try out a hook of the instance with an example",
  access: "admin",
  input: id,
  examples: [SYSTEM_SAMPLE],
  prepare: async ({ hook_id }, preparing) => {
    const hook = await findOwn(preparing, hook_id);
    const delivering = deliveringOf(preparing);
    const body = JSON.stringify(SYSTEM_SAMPLE);
    const payload = { title: "System Hook", trigger: "system_hooks", body };
    const delivery = {
      event_uuid: randomUUID(),
      kind: "project" as const,
      user_id: preparing.caller.id,
      data: "{}",
      created_at: preparing.now,
      request_data: null,
      request_headers: null,
      trigger_name: null,
      pending: 0,
    };
    const made = await attempt(delivering, hook, payload, delivery.event_uuid, NEVER);
    return { hook, delivery, made };
  },
  handle: async ({ db, now, prepared: { hook, delivery, made } }) => {
    await recordByHand(db, hook, delivery, made, now);
    return new Json(SYSTEM_SAMPLE);
  },
});

/** Webhooks of projects, of groups and of the instance. */
export const hookResource: Resource = {
  name: "Webhooks",
  migrations,
  sealed: [HOOK_SECRETS],
  routes: [
    ...KINDS.flatMap((kind) => [...routesOf(kind), ...logRoutesOf(kind)]),
    testRouteOf("project"),
    testRouteOf("group"),
    systemTest,
  ],
};
