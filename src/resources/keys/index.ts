import * as audit from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import { forbidden, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import { USER_SCOPES } from "../../core/scopes.ts";
import { recordKey } from "../../hooks/records.ts";
import { all } from "../../store/conditions.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { publicUserFields } from "../users/json.ts";
import { requireUser, requireUserNamed } from "../users/rules.ts";
import * as keys from "./queries.ts";
import { readSshKey, type SshKey } from "./ssh-key.ts";
import { migrations } from "./table.ts";

const USAGES = ["auth_and_signing", "auth", "signing"] as const;

const shared = {
  id: field.integer("k.id"),
  title: field.text("k.title"),
  created_at: field.instant("k.created_at"),
  expires_at: field.instant("k.expires_at"),
  last_used_at: field.instant("k.last_used_at"),
  usage_type: field.text("k.usage_type"),
};

/** A key, with whose it is as its comment; those that deploy have none. */
const shownKey = field.derived(["k.key", "u.name"], "string", ([key, name], { host }) =>
  name === null ? String(key) : `${key} ${name} (${host})`,
);

const sshKey = presenter({
  ...shared,
  key: shownKey,
});

const deployKeyFields = {
  ...shared,
  key: field.text("k.key"),
  fingerprint: field.text("k.fingerprint"),
  fingerprint_sha256: field.text("k.fingerprint_sha256"),
};
const projectKey = presenter({ ...deployKeyFields, can_push: field.flag("dk.can_push") });

const projectIdentity = {
  id: field.integer("p.id"),
  description: field.text("p.description"),
  name: field.text("p.name"),
  name_with_namespace: field.text("n.full_name || ' / ' || p.name"),
  path: field.text("p.path"),
  path_with_namespace: field.text("p.full_path"),
  created_at: field.instant("p.created_at"),
};
const using = (name: string) =>
  field.embedded(name, "array of Project", "[]", { items: projectIdentity });
const deployKey = presenter({
  ...deployKeyFields,
  projects_with_write_access: using("writing"),
  projects_with_readonly_access: using("reading"),
});

/** A key as administrators find it: with its user, or with the projects that use it. */
const foundKey = presenter({
  ...shared,
  key: shownKey,
  user: field.onlyIf(
    "case when k.user_id is not null then 1 else 0 end",
    field.nested(publicUserFields),
  ),
  deploy_keys_projects: field.omittedIfNull(
    field.embedded("deploy_keys_projects", "array of Project's use", "null", {
      items: {
        project_id: field.integer("dk.project_id"),
        can_push: field.flag("dk.can_push"),
      },
    }),
  ),
});

const newKey = {
  title: param.text(),
  key: param.text({ max: 5000 }),
  expires_at: param.optional(param.instant()),
};
const newUserKey = { ...newKey, usage_type: param.optional(param.choice(USAGES)) };
const keyId = { key_id: param.recordId() };
const userId = { user_id: param.recordId() };

/** Reads a key. @throws ApiError 400 if it is none */
function requireKey(text: string, attribute = "key"): SshKey {
  const key = readSshKey(text);
  if (!key) throw invalid({ [attribute]: ["is invalid"] });
  return key;
}

const taken = (attribute = "fingerprint_sha256") =>
  invalid({ [attribute]: ["has already been taken"] });

/** The key with the same fingerprint. One that was left behind by a deleted project is removed. */
async function findSame(db: Database, key: SshKey): Promise<keys.Key | undefined> {
  const found = await keys.findSame(db, key);
  return found && (await keys.removeUnused(db, found.id)) ? undefined : found;
}

/** A user's key by its id. @throws ApiError 404 */
async function keyOf(db: Reader, ownerId: number, id: number): Promise<keys.Key> {
  const found = await keys.find(db, id);
  if (!found || found.user_id !== ownerId) throw notFound("Key");
  return found;
}

type Changing = Pick<Context, "now" | "request" | "presenter"> & { db: Database; caller: Caller };

async function addKey(
  context: Changing & { input: param.Input<typeof newUserKey> },
  ownerId: number,
) {
  const { db, input, presenter, now } = context;
  const { title, usage_type, expires_at } = input;
  const key = requireKey(input.key);
  if (await findSame(db, key)) throw taken();
  const values = { user_id: ownerId, title: title.trim(), usage_type, expires_at };
  const id = await keys.insert(db, key, values, now);
  await audit.log(context, "SSH key added", { userId: ownerId, target: title });
  await recordKey(context, "create", { id, userId: context.caller.id });
  return keys.rowOfUser(db, presenter, id);
}

async function removeKey(
  context: Omit<Changing, "presenter"> & Pick<Context, "requireUnmodified">,
  ownerId: number,
  id: number,
) {
  const found = await keyOf(context.db, ownerId, id);
  context.requireUnmodified(found.updated_at);
  await recordKey(context, "destroy", { id: found.id, userId: context.caller.id });
  await keys.remove(context.db, found.id);
  await audit.log(context, "SSH key removed", { userId: ownerId, target: found.title });
  return undefined;
}

/** A key as a row for its presenter. @throws ApiError 404 */
async function rowOfAny(
  { db, presenter }: Pick<Context, "presenter"> & { db: Reader },
  key: keys.Key | undefined,
) {
  const row = key && (await keys.rowOfAny(db, presenter, key));
  if (!row) throw notFound("Key");
  return row;
}

const any = routes({ path: "/keys" });
const own = routes({ path: "/user/keys" });
const ofUser = routes({ path: "/users/:user_id/keys" });

/** SSH keys of users. */
export const sshKeyResource: Resource = {
  name: "SSH keys",
  migrations,
  routes: [
    any.get("", {
      summary: "Find the SSH key or deploy key with a fingerprint",
      access: "admin",
      input: { fingerprint: param.text() },
      presenter: foundKey,
      handle: async (context) =>
        rowOfAny(context, await keys.findByFingerprint(context.db, context.input.fingerprint)),
    }),
    any.get("/:key_id", {
      summary: "Get an SSH key or deploy key by its id",
      access: "admin",
      input: keyId,
      presenter: foundKey,
      handle: async (context) =>
        rowOfAny(context, await keys.find(context.db, context.input.key_id)),
    }),
    own.list("", {
      summary: "List the caller's SSH keys",
      scopes: USER_SCOPES,
      presenter: sshKey,
      handle: ({ db, presenter, page, caller }) => keys.listOfUser(db, presenter, page, caller.id),
    }),
    own.get("/:key_id", {
      summary: "Get an SSH key of the caller",
      scopes: USER_SCOPES,
      input: keyId,
      presenter: sshKey,
      handle: async ({ db, presenter, caller, input }) => {
        const { id } = await keyOf(db, caller.id, input.key_id);
        return keys.rowOfUser(db, presenter, id);
      },
    }),
    own.post("", {
      summary: "Add an SSH key of the caller",
      input: newUserKey,
      presenter: sshKey,
      handle: (context) => addKey(context, context.caller.id),
    }),
    own.del("/:key_id", {
      summary: "Remove an SSH key of the caller",
      input: keyId,
      handle: (context) => removeKey(context, context.caller.id, context.input.key_id),
    }),
    ofUser.list("", {
      summary: "List the SSH keys of a user",
      access: "anyone",
      scopes: USER_SCOPES,
      input: userId,
      presenter: sshKey,
      handle: async ({ db, presenter, page, input }) => {
        const { id } = await requireUser(db, input.user_id);
        return keys.listOfUser(db, presenter, page, id);
      },
    }),
    ofUser.get("/:key_id", {
      summary: "Get an SSH key of a user",
      access: "anyone",
      scopes: USER_SCOPES,
      input: { ...userId, ...keyId },
      presenter: sshKey,
      handle: async ({ db, presenter, input }) => {
        const user = await requireUser(db, input.user_id);
        const { id } = await keyOf(db, user.id, input.key_id);
        return keys.rowOfUser(db, presenter, id);
      },
    }),
    ofUser.post("", {
      summary: "Add an SSH key of a user",
      access: "admin",
      input: { ...userId, ...newUserKey },
      presenter: sshKey,
      handle: async (context) => {
        const { id } = await requireUser(context.db, context.input.user_id);
        return addKey(context, id);
      },
    }),
    ofUser.del("/:key_id", {
      summary: "Remove an SSH key of a user",
      access: "admin",
      input: { ...userId, ...keyId },
      handle: async (context) => {
        const { db, input } = context;
        const { id } = await requireUser(db, input.user_id);
        return removeKey(context, id, input.key_id);
      },
    }),
  ],
};

type InProject = Pick<Context, "source"> & { input: { key_id: number } };

/** A deploy key of the project. @throws ApiError 404 */
async function projectKeyOf({ db, source, input }: InProject & { db: Reader }): Promise<keys.Key> {
  const found = await keys.find(db, input.key_id);
  const isUsed = found && (await keys.isInProject(db, source.id, found.id));
  if (!isUsed) throw notFound();
  return found;
}

const rowInProject = (
  { db, presenter, source }: Pick<Context, "presenter" | "source"> & { db: Reader },
  id: number,
) => keys.rowInProject(db, presenter, source.id, id);

const instance = routes({ path: "/deploy_keys" });
const project = routes({ source: "project", path: "/deploy_keys" });
const keyTaken = "deploy_key.fingerprint_sha256";

/** Deploy keys of projects. */
export const deployKeyResource: Resource = {
  name: "Deploy keys",
  migrations: [],
  routes: [
    routes().list("/users/:user_id/project_deploy_keys", {
      summary:
        "List the deploy keys of the projects that a user maintains; of another user, those that the caller maintains, too",
      input: { user_id: param.text() },
      presenter: presenter(deployKeyFields),
      handle: async ({ db, presenter, page, viewer, caller, input }) => {
        const { id, username, admin } = await requireUserNamed(db, input.user_id);
        const user = { ...caller, id, username, admin: admin === 1 };
        const both = [viewer, { ...viewer, caller: user }].map((one) => keys.maintained(one));
        return keys.listOfProjects(db, presenter, page, all(both));
      },
    }),
    instance.list("", {
      summary: "List all deploy keys, with the projects that use them",
      access: "admin",
      input: { public: param.optional(param.boolean()) },
      presenter: deployKey,
      handle: ({ db, presenter, page, viewer, input }) =>
        keys.listDeployKeys(db, presenter, page, viewer, input.public),
    }),
    instance.post("", {
      summary: "Add a deploy key that any project can use",
      access: "admin",
      input: newKey,
      presenter: deployKey,
      handle: async (context) => {
        const { db, input, presenter, now } = context;
        const key = requireKey(input.key);
        if (await findSame(db, key)) throw taken();
        const { title, expires_at } = input;
        const creator_id = context.caller.id;
        const values = {
          ...{ user_id: null, creator_id, title: title.trim() },
          ...{ is_public: true, expires_at },
        };
        const id = await keys.insert(db, key, values, now);
        await audit.log(context, "deploy key added", { target: title });
        return keys.deployKeyRow(db, presenter, id);
      },
    }),
    project.list("", {
      summary: "List the deploy keys of a project",
      role: "maintainer",
      presenter: projectKey,
      handle: ({ db, presenter, page, source }) =>
        keys.listInProject(db, presenter, page, source.id),
    }),
    project.get("/:key_id", {
      summary: "Get a deploy key of a project",
      role: "maintainer",
      input: keyId,
      presenter: projectKey,
      handle: async (context) => rowInProject(context, (await projectKeyOf(context)).id),
    }),
    project.post("", {
      summary:
        "Add a deploy key to a project; one that the project has already is answered as it is",
      role: "maintainer",
      input: { ...newKey, can_push: param.optional(param.boolean()) },
      presenter: projectKey,
      handle: async (context) => {
        const { db, source, viewer, input, now } = context;
        const key = requireKey(input.key, "deploy_key.key");
        const found = await findSame(db, key);
        if (found && (await keys.isInProject(db, source.id, found.id))) {
          return rowInProject(context, found.id);
        }
        if (found && !(await keys.isAvailable(db, found.id, viewer))) throw taken(keyTaken);
        const { title, expires_at } = input;
        const creator_id = context.caller.id;
        const values = { user_id: null, creator_id, title: title.trim(), expires_at };
        const id = found?.id ?? (await keys.insert(db, key, values, now));
        await keys.addToProject(db, source.id, id, input.can_push ?? false);
        const target = `${found?.title ?? title} in ${source.fullPath}`;
        await audit.log(context, "deploy key added", { target });
        return rowInProject(context, id);
      },
    }),
    project.put("/:key_id", {
      summary: "Change a deploy key of a project; only administrators rename public ones",
      role: "maintainer",
      input: {
        ...keyId,
        title: param.optional(param.text()),
        can_push: param.optional(param.boolean()),
      },
      atLeastOne: ["title", "can_push"],
      presenter: projectKey,
      handle: async (context) => {
        const { db, source, caller, input, now } = context;
        const found = await projectKeyOf(context);
        const { title, can_push } = input;
        if (title !== undefined && found.is_public === 1 && !caller.admin) throw forbidden();
        await updateRow(db, "ssh_keys", found.id, { title: title?.trim() }, now);
        if (can_push !== undefined) await keys.setCanPush(db, source.id, found.id, can_push);
        const target = `${title ?? found.title} in ${source.fullPath}`;
        await audit.log(context, "deploy key changed", { target });
        return rowInProject(context, found.id);
      },
    }),
    project.post("/:key_id/enable", {
      summary: "Add a deploy key of another project, or a public one, to a project",
      role: "maintainer",
      input: keyId,
      presenter: projectKey,
      handle: async (context) => {
        const { db, source, viewer, input } = context;
        if (!(await keys.isAvailable(db, input.key_id, viewer))) throw notFound("Deploy key");
        if (!(await keys.isInProject(db, source.id, input.key_id))) {
          await keys.addToProject(db, source.id, input.key_id, false);
          const target = `${(await keys.find(db, input.key_id))?.title} in ${source.fullPath}`;
          await audit.log(context, "deploy key added", { target });
        }
        return rowInProject(context, input.key_id);
      },
    }),
    project.del("/:key_id", {
      summary:
        "Remove a deploy key from a project; it is deleted with its last project unless it is public",
      role: "maintainer",
      input: keyId,
      handle: async (context) => {
        const { db, source } = context;
        const found = await projectKeyOf(context);
        context.requireUnmodified(found.updated_at);
        await keys.removeFromProject(db, source.id, found.id);
        await keys.removeUnused(db, found.id);
        const target = `${found.title} in ${source.fullPath}`;
        await audit.log(context, "deploy key removed", { target });
        return undefined;
      },
    }),
  ],
};
