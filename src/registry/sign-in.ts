import { tokensForImages } from "../auth/authenticators/basic.ts";
import type { Caller } from "../core/access/caller.ts";
import { findVisible } from "../core/access/source.ts";
import type { Mount } from "../core/http/mount.ts";
import * as param from "../core/input.ts";
import { storedIn } from "../core/kept.ts";
import { type PrepareContext, RawReply, routes } from "../core/resource.ts";
import { answerableFor, identify } from "../git-http/access.ts";
import { keptSettings } from "../resources/application-settings/kept.ts";
import {
  ACTIONS,
  type Action,
  allowed,
  isPushProtected,
  viewerOf,
} from "../resources/container-registry/abilities.ts";
import { isName, projectPathsOf, withinProject } from "../resources/container-registry/names.ts";
import { FORBIDDEN, registryError, showError } from "./errors.ts";
import { type Access, SERVICE, signToken } from "./tokens.ts";

/** Scopes that one request may ask for. */
const SCOPES = 20;

const denied = (message: string) => registryError(403, "DENIED", message);

/** Who answers for a caller, as a text. */
const personOf = async (preparing: PrepareContext, caller: Caller | undefined) => {
  if (!caller) return "";
  const { by } = caller;
  return by.kind === "deploy" ? `deploy token ${by.id}` : answerableFor(preparing.db, caller);
};

/** What a scope asks for, as in `repository:acme/site:pull,push`; `undefined` if it names no repository. */
function readScope(scope: string): { name: string; actions: Action[] } | undefined {
  const [type, name, actions, ...others] = scope.split(":");
  if (type !== "repository" || !name || !actions || others.length > 0) return undefined;
  const asked = actions.split(",");
  return isName(name) ? { name, actions: ACTIONS.filter((one) => asked.includes(one)) } : undefined;
}

/** What of a scope the caller may have: less than it asks for is no error. */
async function accessTo(
  { db, viewer }: PrepareContext,
  caller: Caller | undefined,
  scope: string,
): Promise<Access | undefined> {
  const asked = readScope(scope);
  if (!asked) return undefined;
  for (const path of projectPathsOf(asked.name)) {
    const known = await findVisible(db, "project", path, { ...viewer, caller });
    if (!known) continue;
    const seen = await viewerOf(db, known, { ...viewer, caller });
    const isNobody = caller !== undefined && seen.caller === undefined;
    const source = isNobody ? await findVisible(db, "project", path, seen) : known;
    const own = source && withinProject(asked.name, source.fullPath);
    if (!source || own === undefined) return undefined;
    const actor = isNobody ? undefined : caller;
    const actions = await allowed(db, source, actor, own, asked.actions);
    const isRefused = asked.actions.includes("push") && !actions.includes("push");
    if (isRefused && actor && (await isPushProtected(db, source, actor, own))) {
      throw denied("Pushing to protected repository path forbidden");
    }
    if (actions.length === 0) return undefined;
    const meta = { project_id: source.id, project_path: source.fullPath };
    return { type: "repository", name: asked.name, actions, meta };
  }
  return undefined;
}

const { get } = routes();

const tokenRoute = get("/auth", {
  summary: "Get a token for the container registry, as clients of images do",
  access: "anyone",
  scopes: ["api", "read_api", "read_registry", "write_registry"],
  input: {
    service: param.optional(param.anyText()),
    scope: param.optional(param.anyText()),
    account: param.optional(param.anyText()),
    client_id: param.optional(param.anyText()),
    offline_token: param.optional(param.anyText()),
  },
  examples: [{ token: "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.e30.c2ln", expires_in: 300 }],
  prepare: async ({ service }, preparing) => {
    if (service !== SERVICE) throw registryError(404, "UNAVAILABLE", "registry not enabled");
    const caller = await identify(preparing);
    const { db, request, view } = preparing;
    // The pipeline reads the last of several.
    const given = new URLSearchParams(request.query).getAll("scope");
    const scopes = given.flatMap((one) => one.split(" ")).filter((one) => one !== "");
    if (scopes.length > SCOPES) throw registryError(400, "UNKNOWN", "too many scopes");
    if (!caller && scopes.length === 0) throw denied(FORBIDDEN);
    const access: Access[] = [];
    for (const scope of scopes) {
      const found = await accessTo(preparing, caller, scope);
      if (found) access.push(found);
    }
    const claims = {
      sub: caller?.username ?? "",
      auth_type: caller?.by.kind ?? "none",
      person: await personOf(preparing, caller),
      access,
    };
    const stored = await storedIn(db, "application_settings", 1);
    const seconds = 60 * (keptSettings.read(stored).container_registry_token_expire_delay || 5);
    return { token: await signToken(preparing, view.base, claims, seconds), expires_in: seconds };
  },
  handle: ({ prepared }) => {
    const headers = { "content-type": "application/json", "cache-control": "no-store" };
    return new RawReply(200, headers, JSON.stringify(prepared));
  },
});

/** The token service of the container registry. */
export const REGISTRY_TOKENS: Mount = {
  name: "Tokens of the container registry",
  base: "/jwt",
  owns: (path) => path === "/jwt/auth",
  authenticators: tokensForImages,
  countsRequests: true,
  showError,
  resources: [
    {
      name: "Tokens of the container registry",
      migrations: [],
      routes: [tokenRoute],
    },
  ],
};
