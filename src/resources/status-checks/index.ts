import * as audit from "../../audit/log.ts";
import { ApiError, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { pageOf } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import { maskOf, tellHook } from "../../hooks/events.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { branchesAmong } from "../approvals/queries.ts";
import { type CheckState, checksOf, STATUSES } from "../check-state/state.ts";
import { queueReady } from "../ci/progress.ts";
import { storeSecrets } from "../hooks/changes.ts";
import { requireToken, requireUrl, urlInput } from "../hooks/input.ts";
import * as hooks from "../hooks/queries.ts";
import { plainUrlOf } from "../hooks/secrets.ts";
import { plainFields } from "../issuables/fields.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { findIssuable } from "../issuables/rules.ts";
import * as checks from "./queries.ts";
import { migrations } from "./table.ts";

/** Checks of a project, at most. */
const MOST = 100;

const checkFields = {
  id: field.integer("h.id"),
  name: field.text("h.check_name"),
  project_id: field.integer("h.project_id"),
  external_url: field.text("h.url"),
  hmac: field.flag(
    "case when exists (select 1 from hook_secrets s where s.hook_id = h.id and s.kind = 'token') then 1 else 0 end",
  ),
  protected_branches: field.embedded("protected_branches", "array of protected branch", "[]", {
    items: checks.BRANCH.fields,
  }),
};
const check = presenter(checkFields);

const checkOfRequest = presenter({
  id: field.integer("id"),
  name: field.text("name"),
  external_url: field.text("external_url"),
  status: field.text("status"),
});

const request = presenter(plainFields(MERGE_REQUEST));

const attributes = {
  shared_secret: param.clearable(param.anyText()),
  protected_branch_ids: param.optional(param.arrayOf(param.integer())),
};

type Sent = param.Input<typeof attributes> & {
  readonly name?: string | undefined;
  readonly external_url?: string | undefined;
};

const refuse = (...messages: string[]) => new ApiError(422, { message: messages });

type In = Pick<Context, "source" | "view"> & { readonly db: Reader };

/** Checks what a check is to be. @param exceptId the check itself @throws ApiError 400, 422 */
async function requireFit({ db, source, view }: In, sent: Sent, exceptId = 0): Promise<void> {
  const ids = await checks.idsOf(db, source.id);
  const others = ids.filter((id) => id !== exceptId);
  if (others.length >= MOST)
    throw refuse(`Maximum number of external status checks (${MOST}) exceeded`);
  const taken: string[] = [];
  if (others.length > 0) {
    const names = await db.rows(
      "select 1 from hooks where project_id = ? and check_name = ? and id <> ?",
      [source.id, sent.name ?? "", exceptId],
    );
    const urls = await checks.addressesOf(db, others, view.open);
    if (names.length > 0) taken.push("Name has already been taken");
    if ([...urls.values()].includes(sent.external_url ?? "")) {
      taken.push("External url has already been taken");
    }
  }
  if (taken.length > 0) throw refuse(...taken);
  const { protected_branch_ids: branches = [] } = sent;
  if (branches.length === 0) return;
  const found = new Set(await branchesAmong(db, source, branches));
  if (branches.some((id) => !found.has(id))) {
    throw invalid({ protected_branch_ids: ["must be those of protected branches of the project"] });
  }
}

async function writeSecrets(
  { db, secrets }: Pick<Context, "secrets"> & { readonly db: Database },
  checkId: number,
  { external_url: url, shared_secret: token }: Sent,
  isMoved: boolean,
): Promise<void> {
  const others = { headers: undefined, variables: undefined };
  await storeSecrets(db, secrets, checkId, { url, token, ...others }, isMoved);
}

async function rowOf(context: In & Pick<Context, "presenter">, checkId: number) {
  return (await checks.rowsOf(context, [checkId]))[0] as Value[];
}

/** Finds a check of the project. @throws ApiError 404 */
async function findCheck({ db, source }: In, checkId: number): Promise<hooks.Hook> {
  const found = await hooks.findCheck(db, source.id, checkId);
  if (!found) throw notFound();
  return found;
}

/** Checks the address, and that the secret can be used. @throws ApiError 422 */
async function requireAddress(
  { external_url: url, shared_secret: secret }: Sent,
  { outgoing }: { readonly outgoing: { readonly allowLocal: boolean } },
): Promise<void> {
  requireToken(secret);
  if (url !== undefined) await requireUrl(url, new Map(), outgoing.allowLocal);
}

const managing = { role: "maintainer", tier: "ultimate" } as const;
const responding = { role: "developer", tier: "ultimate" } as const;
const checkId = { check_id: param.recordId() };
const number = { merge_request_iid: param.recordId() };

const ofProject = routes({
  source: "project",
  path: "/external_status_checks",
  features: ["merge_requests"],
});
const ofRequest = routes({
  source: "project",
  path: "/merge_requests/:merge_request_iid",
  features: ["merge_requests"],
});

/** The checks of the path's merge request. */
async function checksHere(
  context: Omit<In, "view"> & Pick<Context, "viewer"> & { input: { merge_request_iid: number } },
) {
  const { db, input } = context;
  const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
  const [row] = await db.rows("select sha from merge_requests where id = ?", [found.id]);
  const list = (await checksOf(db, [found.id])).get(found.id) as readonly CheckState[];
  return { found, list, sha: (row as [string | null])[0] };
}

/** Checks of merge requests by services elsewhere. */
export const statusCheckResource: Resource = {
  name: "External status checks",
  migrations,
  routes: [
    ofProject.list("", {
      ...managing,
      summary: "List the external status checks of a project",
      presenter: check,
      handle: (context) => checks.list(context, context.page),
    }),
    ofProject.post("", {
      ...managing,
      summary: "Add an external status check, which is told of merge requests",
      input: { name: param.text(), external_url: urlInput, ...attributes },
      presenter: check,
      prepare: requireAddress,
      handle: async (context) => {
        const { db, source, input, view, now } = context;
        await requireFit(context, input);
        const { name, external_url: url, protected_branch_ids: branches = [] } = input;
        const events = maskOf(["merge_requests"]);
        const columns = { check_name: name, url: plainUrlOf(url), events, base: view.base };
        const id = await hooks.insert(db, source, columns, now);
        await writeSecrets(context, id, input, false);
        await checks.setBranches(db, id, branches);
        await audit.log(context, "status check added", { target: `${name} of ${source.fullPath}` });
        return rowOf(context, id);
      },
    }),
    ofProject.put("/:check_id", {
      ...managing,
      summary: "Change an external status check",
      input: {
        ...checkId,
        name: param.optional(param.text()),
        external_url: param.optional(urlInput),
        ...attributes,
      },
      atLeastOne: ["name", "external_url", "shared_secret", "protected_branch_ids"],
      presenter: check,
      prepare: requireAddress,
      handle: async (context) => {
        const { db, source, input, view, now } = context;
        const { id } = await findCheck(context, input.check_id);
        await requireFit(context, input, id);
        const { name, external_url: url, protected_branch_ids: branches } = input;
        const before = (await checks.addressesOf(db, [id], view.open)).get(id);
        const isMoved = url !== undefined && url !== before;
        const columns = {
          check_name: name,
          ...(isMoved && { url: plainUrlOf(url), failures: 0, disabled_until: null }),
        };
        await updateRow(db, "hooks", id, columns, now);
        await writeSecrets(context, id, input, isMoved);
        if (branches) await checks.setBranches(db, id, branches);
        const target = `${name ?? id} of ${source.fullPath}`;
        await audit.log(context, "status check changed", { target });
        return rowOf(context, id);
      },
    }),
    ofProject.del("/:check_id", {
      ...managing,
      summary: "Remove an external status check",
      input: checkId,
      handle: async (context) => {
        const { db, source, input, requireUnmodified } = context;
        const found = await findCheck(context, input.check_id);
        requireUnmodified(found.updated_at);
        await hooks.remove(db, found.id);
        const target = `${found.check_name} of ${source.fullPath}`;
        await audit.log(context, "status check removed", { target });
        return undefined;
      },
    }),
    ofRequest.list("/status_checks", {
      ...responding,
      summary:
        "List the external status checks of a merge request, with what they say of its newest commit",
      input: number,
      presenter: checkOfRequest,
      handle: async (context) => {
        const { db, page, view } = context;
        const { list } = await checksHere(context);
        const urls = await checks.addressesOf(
          db,
          list.map(({ id }) => id),
          view.open,
        );
        return pageOf(page, list.length, async (from, to) =>
          list
            .slice(from, to)
            .map(({ id, name, status }) => [id, name, urls.get(id) as string, status]),
        );
      },
    }),
    ofRequest.post("/status_check_responses", {
      ...responding,
      summary:
        "Say whether a merge request has passed an external status check; 409 if `sha` is not its head",
      input: {
        ...number,
        sha: param.text(),
        external_status_check_id: param.integer(),
        status: param.optional(param.choice(STATUSES)),
      },
      examples: [{ id: 1, merge_request: {}, external_status_check: {} }],
      handle: async (context) => {
        const { db, input, view, now } = context;
        const { found, list, sha } = await checksHere(context);
        const asked = list.find(({ id }) => id === input.external_status_check_id);
        if (!asked) throw notFound();
        if (sha === null || input.sha !== sha) {
          const message = `SHA does not match HEAD of source branch: ${sha ?? "unknown"}`;
          throw new ApiError(409, { message });
        }
        const { status = "passed" } = input;
        const response = { requestId: found.id, checkId: asked.id, sha, status };
        const id = await checks.respond(db, response, now);
        // It may have been the last thing that was missing.
        await queueReady(db, found.id, now);
        const [row] = await db.rows(
          `select ${request.columns} from merge_requests mr join projects p on p.id = mr.project_id where mr.id = ?`,
          [found.id],
        );
        const [shown] = await checks.rowsOf({ ...context, presenter: check }, [asked.id]);
        return new Json({
          id,
          merge_request: request.value(row as Value[], view),
          external_status_check: check.value(shown as Value[], view),
        });
      },
    }),
    ofRequest.post("/status_checks/:external_status_check_id/retry", {
      ...responding,
      summary: "Ask an external status check that failed once more",
      input: { ...number, external_status_check_id: param.recordId() },
      status: 202,
      examples: [{ message: "202 Accepted" }],
      handle: async (context) => {
        const { db, caller, input, now } = context;
        const { found, list, sha } = await checksHere(context);
        const asked = list.find(({ id }) => id === input.external_status_check_id);
        if (!asked) throw notFound();
        if (asked.status !== "failed" || sha === null) {
          throw new ApiError(422, { message: "External status check must be failed" });
        }
        const response = { requestId: found.id, checkId: asked.id, sha, status: "pending" };
        await checks.respond(db, response, now);
        await hooks.setFailures(db, asked.id, 0, null);
        const moment = { kind: "merge_request", userId: caller.id, id: found.id } as const;
        await tellHook(context, asked.id, { ...moment, action: "update" });
        return new Json({ message: "202 Accepted" });
      },
    }),
  ],
};
