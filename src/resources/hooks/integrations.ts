import type { Secrets } from "../../core/secrets.ts";
import type { HookTrigger } from "../../hooks/events.ts";
import { INTEGRATIONS, type Integration } from "../../hooks/integrations/catalogue.ts";
import { mailAbout, recipientsOf } from "../../hooks/integrations/mails.ts";
import type { Told } from "../../hooks/integrations/messages.ts";
import { type Sending, type Settings, senderOf } from "../../hooks/integrations/senders.ts";
import type { Reader } from "../../store/port.ts";
import type { HookPayload } from "./payloads/making.ts";

/** What the secrets of an integration belong to, as `INTEGRATION_SECRETS` says it in SQL. */
export const purposeOfIntegration = (id: number) => `integration ${id}`;

/** An integration as it is stored. */
export interface StoredIntegration {
  readonly id: number;
  readonly project_id: number | null;
  readonly namespace_id: number | null;
  readonly slug: string;
  readonly active: number;
  /** See `INTEGRATION_EVENTS`. */
  readonly events: number;
  /** The settings that were given, as JSON. */
  readonly properties: string;
  /** Those that are encrypted. */
  readonly secrets: string | null;
  readonly updated_at: number;
}

/** The columns of {@link StoredIntegration}, of `integrations ig`. */
export const INTEGRATION_COLUMNS = `ig.id, ig.project_id, ig.namespace_id, ig.slug, ig.active, ig.events, ig.properties,
  ig.secrets, ig.updated_at`;

/** The settings that were given to an integration, with its secrets. @throws SecretKeyError if their key is missing */
export function givenSettings(
  { id, properties, secrets: sealed }: StoredIntegration,
  secrets: Pick<Secrets, "open">,
): Settings {
  const hidden = sealed === null ? {} : JSON.parse(secrets.open(sealed, purposeOfIntegration(id)));
  return { ...JSON.parse(properties), ...hidden };
}

/** The settings of an integration until they are given. */
export const initialSettings = ({ properties }: Integration): Settings =>
  Object.fromEntries(
    Object.entries(properties).map(([name, { initial, type }]) => [
      name,
      initial ?? (type === "flag" ? false : null),
    ]),
  );

/** The integration that a hook belongs to. */
export interface HookedIntegration {
  readonly stored: StoredIntegration;
  readonly integration: Integration;
  readonly settings: Settings;
}

/** The integration with this id, or `undefined`. @throws SecretKeyError if its secrets can't be read */
export async function openIntegration(
  db: Reader,
  secrets: Pick<Secrets, "open">,
  id: number,
): Promise<HookedIntegration | undefined> {
  const stored = await db.one<StoredIntegration>(
    `select ${INTEGRATION_COLUMNS} from integrations ig where ig.id = ?`,
    [id],
  );
  const integration = stored && INTEGRATIONS[stored.slug];
  if (!integration) return undefined;
  const settings = { ...initialSettings(integration), ...givenSettings(stored, secrets) };
  return { stored, integration, settings };
}

/** Whether an integration is told of something: of its branch, labels and status, in a project that has no other one. */
export async function isToldOf(
  db: Reader,
  { stored, integration, settings }: HookedIntegration,
  { event, body }: HookPayload,
): Promise<boolean> {
  if (stored.active === 0) return false;
  const told: Told["body"] = body;
  if (integration.builds && told["push_options"]?.integrations?.skip_ci !== undefined) return false;
  if (!isStatusTold(settings, event, told)) return false;
  if (!isBranchTold(settings, event, told)) return false;
  if (!areLabelsTold(settings, event, told)) return false;
  return stored.project_id !== null || isNearest(db, stored, told["project"].id);
}

/** Whether a project has none nearer than one of a group above it. */
async function isNearest(
  db: Reader,
  { namespace_id: groupId, slug }: StoredIntegration,
  projectId: number,
): Promise<boolean> {
  const nearer = await db.rows(
    `select 1 from integrations ig where ig.slug = ? and (ig.project_id = ? or ig.namespace_id in (
       select o.ancestor_id from projects p
       join namespace_ancestors a on a.namespace_id = p.namespace_id and a.ancestor_id = ?
       join namespace_ancestors o on o.namespace_id = p.namespace_id and o.depth < a.depth
       where p.id = ?)) limit 1`,
    [slug, projectId, groupId, projectId],
  );
  return nearer.length === 0;
}

/** Whether it is told that a pipeline has ended as it did; others than messengers are told of every status. */
function isStatusTold(settings: Settings, event: HookTrigger, body: Told["body"]): boolean {
  const only = settings["notify_only_broken_pipelines"];
  if (event !== "pipeline" || only === undefined) return true;
  const { status } = body["object_attributes"];
  return status === "failed" || (status === "success" && only !== true);
}

function isBranchTold(settings: Settings, event: HookTrigger, body: Told["body"]): boolean {
  const which = settings["branches_to_be_notified"];
  const attributes = body["object_attributes"];
  if (event !== "push" && (event !== "pipeline" || attributes.tag)) return true;
  const name = event === "push" ? String(body["ref"]).slice("refs/heads/".length) : attributes.ref;
  const isDefault = name === body["project"].default_branch;
  const isProtected = event === "push" ? body["ref_protected"] : attributes.protected_ref;
  if (which === "default") return isDefault;
  if (which === "protected") return isProtected === true;
  return which !== "default_and_protected" || isDefault || isProtected === true;
}

/** The events that have labels. */
const LABELLED: readonly HookTrigger[] = [
  "issues",
  "confidential_issues",
  "merge_requests",
  "note",
  "confidential_note",
];

function areLabelsTold(settings: Settings, event: HookTrigger, body: Told["body"]): boolean {
  const wanted = String(settings["labels_to_be_notified"] ?? "")
    .split(",")
    .map((name) =>
      name
        .trim()
        .replace(/^~/, "")
        .replace(/^"(.*)"$/, "$1"),
    )
    .filter((name) => name !== "");
  if (wanted.length === 0 || !LABELLED.includes(event)) return true;
  const about = body["labels"] ?? (body["issue"] ?? body["merge_request"])?.labels ?? [];
  const names = new Set((about as { title: string }[]).map(({ title }) => title));
  return settings["labels_to_be_notified_behavior"] === "match_all"
    ? wanted.every((name) => names.has(name))
    : wanted.some((name) => names.has(name));
}

/** What an integration sends of something, without secrets; `undefined` for nothing. */
export function sentBody(
  { integration, settings }: HookedIntegration,
  payload: HookPayload,
): string | undefined {
  if (!recipientsOf(integration, settings)) return senderOf(integration)?.bodyOf(payload, settings);
  const mail = mailAbout(payload);
  return mail && JSON.stringify(mail);
}

/** Who gets mails from an integration; `undefined` if it sends none. */
export const recipientsFor = ({ integration, settings }: HookedIntegration) =>
  recipientsOf(integration, settings);

/** Where an integration sends a body. @param key the same for every attempt */
export function sendingOf(
  { integration, settings }: HookedIntegration,
  trigger: string,
  body: string,
  key: string,
): Sending | undefined {
  const event = trigger.replace(/_events$/, "") as HookTrigger;
  return senderOf(integration)?.sending(settings, event, body, key);
}
