import { ApiError, invalid } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { unsupportedFlag, withoutEffect } from "../../core/kept.ts";
import {
  hasEffect,
  INTEGRATION_EVENTS,
  INTEGRATIONS,
  type Integration,
  type Property,
  switchable,
} from "../../hooks/integrations/catalogue.ts";
import { recipientsOf } from "../../hooks/integrations/mails.ts";
import { requireUrl } from "../hooks/input.ts";

/** Characters of a setting: some are keys. */
const LONGEST = 8192;
/** Entries of a setting that is a list. */
const MOST_ENTRIES = 100;
/** Addresses that an integration sends mails to. */
const MOST_RECIPIENTS = 100;

function attributeOf(property: Property): param.Attribute<unknown> {
  if (property.type === "flag") return param.optional(param.boolean());
  if (property.type === "integer") {
    const { largest } = property;
    const bounds = largest === undefined ? {} : { min: 0, max: largest };
    return param.clearable(param.integer(bounds));
  }
  if (property.type === "texts") {
    const entry = param.anyText({ max: 255 });
    return param.clearable(param.arrayOf(entry, { max: MOST_ENTRIES }));
  }
  if (property.values) return param.clearable(param.choice(property.values));
  return param.clearable(param.anyText({ max: LONGEST }));
}

const all = Object.values(INTEGRATIONS);

/** The settings of all integrations by name, each with how it is read and whether it has an effect anywhere. */
function propertyAttributes(): Record<string, param.Attribute<unknown>> {
  const names = [...new Set(all.flatMap(({ properties }) => Object.keys(properties)))].sort();
  return Object.fromEntries(
    names.map((name) => {
      const having = all.filter(({ properties }) => properties[name]);
      const own = (one: Integration) => one.properties[name] as Property;
      const attribute = attributeOf(own(having[0] as Integration));
      const isUsed = having.some((one) => hasEffect(one, own(one)));
      return [name, isUsed ? attribute : withoutEffect(attribute)];
    }),
  );
}

const eventAttributes = Object.fromEntries(
  INTEGRATION_EVENTS.filter((name) => all.some((one) => switchable(one).includes(name))).map(
    (name) => {
      const listened = param.optional(param.boolean());
      const isTold = all.some(({ sender, events }) => sender && events.includes(name));
      return [name, isTold ? listened : withoutEffect(listened)];
    },
  ),
);

/** What integrations are set up with: which of these there are follows from the slug. */
export const integrationInput = {
  ...propertyAttributes(),
  ...eventAttributes,
  // Groups are not told that they are mentioned.
  group_mentions_events: unsupportedFlag(),
  group_confidential_mentions_events: unsupportedFlag(),
  active: param.optional(param.boolean()),
  use_inherited_settings: param.optional(param.boolean()),
};

/** What a request gives to an integration. */
export type Sent = Readonly<Record<string, unknown>>;

const ADDRESS = /^[^\s@<>,]+@[^\s@<>,]+$/;

/** Checks that a request gives what an integration needs. @throws ApiError 400 */
export function requireGiven(integration: Integration, sent: Sent): void {
  const { properties } = integration;
  for (const [name, property] of Object.entries(properties)) {
    if (property.required && (sent[name] === undefined || sent[name] === null)) {
      throw new ApiError(400, { error: `${name} is missing` });
    }
  }
  const errors: Record<string, string[]> = {};
  for (const [name, property] of Object.entries(properties)) {
    const value = sent[name];
    if (typeof value !== "string" || !property.url) continue;
    const isUrl = URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
    if (!isUrl) errors[name] = ["must be a valid URL"];
  }
  const recipients = recipientsOf(integration, sent);
  if (recipients) {
    const isFit = recipients.length > 0 && recipients.every((one) => ADDRESS.test(one));
    if (!isFit) errors["recipients"] ??= ["is invalid"];
    if (recipients.length > MOST_RECIPIENTS) {
      errors["recipients"] = [`can't exceed ${MOST_RECIPIENTS}`];
    }
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/**
 * Checks that the addresses which a request gives may be called, and a host that can't be resolved now is accepted: every
 * delivery checks again.
 *
 * @throws ApiError 400
 */
export async function requireCallable(
  { properties, sender }: Integration,
  sent: Sent,
  allowLocal: boolean,
): Promise<void> {
  for (const [name, property] of Object.entries(properties)) {
    const value = sent[name];
    if (typeof value !== "string" || !property.url || !sender || property.kept) continue;
    try {
      await requireUrl(value, new Map(), allowLocal);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw invalid({ [name]: ["is blocked: it must not be called"] });
    }
  }
}

/** The events of an integration after a request, as the number in its row. @param before the number before it */
export function eventsAfter(integration: Integration, sent: Sent, before: number): number {
  const own = switchable(integration);
  return INTEGRATION_EVENTS.reduce((mask, name, bit) => {
    const wanted = own.includes(name) ? sent[name] : undefined;
    if (wanted === undefined) return mask;
    return wanted ? mask | (1 << bit) : mask & ~(1 << bit);
  }, before);
}

/** The settings of an integration after a request. @param before those that were given before it */
export function settingsAfter({ properties }: Integration, sent: Sent, before: Sent): Sent {
  const names = Object.keys(properties);
  const given = names.filter((name) => sent[name] !== undefined);
  const isMoved = given.some((name) => properties[name]?.url && sent[name] !== before[name]);
  // Nobody can have a secret that they don't know sent to themselves.
  const isKept = (name: string) => !(isMoved && properties[name]?.secret);
  const oldWord = sent["notify_only_default_branch"];
  return Object.fromEntries([
    ...names
      .filter((name) => before[name] !== undefined && isKept(name))
      .map((name) => [name, before[name]]),
    ...(typeof oldWord === "boolean" && "notify_only_default_branch" in properties
      ? [["branches_to_be_notified", oldWord ? "default" : "all"]]
      : []),
    ...given.map((name) => [name, sent[name]]),
  ]);
}
