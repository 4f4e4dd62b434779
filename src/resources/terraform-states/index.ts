import * as audit from "../../audit/log.ts";
import type { Source } from "../../core/access/source.ts";
import { ApiError, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { RawReply, type Resource, routes } from "../../core/resource.ts";
import { isoInstant } from "../../core/time.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as states from "./queries.ts";
import { migrations, STATE_VERSIONS } from "./table.ts";

/** Bytes of a state. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Characters of what is said of a lock. */
const LONGEST = 1024;

const named = {
  name: param.checked(
    param.anyText(),
    (name) => /^[\w.-]+$/.test(name),
    "may have letters, digits, '-', '_' and '.' only",
  ),
};
const lockId = { ID: param.optional(param.anyText()) };
const versioned = { ...named, serial: param.recordId() };

/** How Terraform's `http` backend signs in: with HTTP Basic, whose password is a token. */
const signIn = { basicAuth: true, jobTokens: true } as const;

const { del, get, post } = routes({ source: "project", path: "/terraform/state" });

/** @throws ApiError 404 */
async function findState(db: Reader, source: Source, name: string): Promise<states.State> {
  const found = await states.find(db, source.id, name);
  if (!found) throw notFound();
  return found;
}

/** The lock of a state, as the backend reads it from a refusal. */
function lockOf({ lock_id, lock_info, locked_by, locked_at }: states.State): object {
  return {
    ID: lock_id,
    ...(JSON.parse(lock_info ?? "{}") as states.LockInfo),
    Who: locked_by,
    Created: locked_at === null ? null : isoInstant(locked_at),
  };
}

/** Refuses what another lock than the caller's prevents. @throws ApiError 409 with the lock */
function requireLock(state: states.State | undefined, id: string | undefined): void {
  if ((state?.lock_id ?? undefined) === id) return;
  throw new ApiError(409, state?.lock_id ? lockOf(state) : { message: "409 Conflict" });
}

/** The serial of a state, which Terraform writes into it. @throws ApiError 422 for what is no state */
function serialIn(text: string): number | undefined {
  try {
    const { serial } = JSON.parse(text) as { serial?: unknown };
    return Number.isSafeInteger(serial) ? (serial as number) : undefined;
  } catch {
    throw new ApiError(422, { message: "The state is no JSON object" });
  }
}

const json = { "content-type": "application/json" };
/** An answer without a body, which says no type of one. */
const done = () => new RawReply(200, {});

const targetOf = (source: Source, name: string) => ({ target: `${name} of ${source.fullPath}` });

const stateRoutes = [
  get("/:name", {
    summary: "Get a state of Terraform or OpenTofu; 204 if there is none yet",
    ...signIn,
    role: "developer",
    input: { ...named, ...lockId },
    answersWith: "application/json",
    alsoAnswers: { 204: [] },
    handle: async ({ db, source, input, secrets }) => {
      const state = await states.find(db, source.id, input.name);
      const version = state && (await states.findVersion(db, secrets, state.id));
      return version ? new RawReply(200, json, version.content) : new RawReply(204, {});
    },
  }),
  post("/:name", {
    summary: "Store a version of a state",
    ...signIn,
    role: "maintainer",
    input: { ...named, ...lockId, serial: param.optional(param.integer({ min: 0 })) },
    body: "bytes",
    maxBodyBytes: MOST_BYTES,
    status: 200,
    alsoAnswers: { 204: [] },
    handle: async ({ db, source, input, body, secrets, now }) => {
      if (body.length === 0) return new RawReply(204, {});
      const found = await states.find(db, source.id, input.name);
      requireLock(found, input.ID);
      const content = Buffer.from(body).toString("utf8");
      const own = serialIn(content);
      const id = await states.make(db, source.id, input.name, now);
      const serial = input.serial ?? own ?? (await states.lastSerial(db, id)) + 1;
      await states.store(db, secrets, id, { serial, content }, now);
      await updateRow(db, "terraform_states", id, {}, now);
      return done();
    },
  }),
  del("/:name", {
    summary: "Delete a state with its versions",
    ...signIn,
    role: "maintainer",
    input: { ...named, ...lockId },
    status: 200,
    handle: async (context) => {
      const { db, source, input } = context;
      const found = await findState(db, source, input.name);
      requireLock(found, input.ID);
      await db.run("delete from terraform_states where id = ?", [found.id]);
      await audit.log(context, "terraform state deleted", targetOf(source, found.name));
      return done();
    },
  }),
  post("/:name/lock", {
    summary: "Lock a state",
    ...signIn,
    role: "maintainer",
    input: {
      ...named,
      ID: param.text(),
      Operation: param.optional(param.anyText({ max: LONGEST })),
      Info: param.optional(param.anyText({ max: LONGEST })),
      Who: param.optional(param.anyText({ max: LONGEST })),
      Version: param.optional(param.anyText({ max: LONGEST })),
      Created: param.optional(param.anyText({ max: LONGEST })),
      Path: param.optional(param.anyText({ max: LONGEST })),
    },
    status: 200,
    handle: async ({ db, source, caller, input, now }) => {
      const found = await states.find(db, source.id, input.name);
      if (found?.lock_id) throw new ApiError(409, lockOf(found));
      const id = await states.make(db, source.id, input.name, now);
      const { Operation = "", Info = "", Version = "", Path = "" } = input;
      const columns = {
        lock_id: input.ID,
        lock_info: JSON.stringify({ Operation, Info, Version, Path }),
        locked_by: caller.username,
        locked_at: now,
      };
      await updateRow(db, "terraform_states", id, columns, now);
      return done();
    },
  }),
  del("/:name/lock", {
    summary: "Unlock a state; without the lock's `ID`, whoever has locked it",
    ...signIn,
    role: "maintainer",
    input: { ...named, ...lockId },
    status: 200,
    handle: async ({ db, source, input, now }) => {
      const found = await findState(db, source, input.name);
      if (input.ID !== undefined) requireLock(found, input.ID);
      const nobody = { lock_id: null, lock_info: null, locked_by: null, locked_at: null };
      await updateRow(db, "terraform_states", found.id, nobody, now);
      return done();
    },
  }),
  get("/:name/versions/:serial", {
    summary: "Get a version of a state",
    ...signIn,
    role: "developer",
    input: versioned,
    answersWith: "application/json",
    handle: async ({ db, source, input, secrets }) => {
      const { id } = await findState(db, source, input.name);
      const version = await states.findVersion(db, secrets, id, input.serial);
      if (!version) throw notFound();
      return new RawReply(200, json, version.content);
    },
  }),
  del("/:name/versions/:serial", {
    summary: "Delete a version of a state",
    ...signIn,
    role: "maintainer",
    input: versioned,
    handle: async (context) => {
      const { db, source, input } = context;
      const { id, name } = await findState(db, source, input.name);
      if (!(await states.removeVersion(db, id, input.serial))) throw notFound();
      await audit.log(
        context,
        "terraform state deleted",
        targetOf(source, `${name} ${input.serial}`),
      );
      return undefined;
    },
  }),
];

/** States of Terraform and OpenTofu, for their `http` backend (docs/terraform.md). */
export const terraformStateResource: Resource = {
  name: "Terraform states",
  migrations,
  sealed: [STATE_VERSIONS],
  routes: stateRoutes,
};
