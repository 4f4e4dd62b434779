import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import {
  INTEGRATION_EVENTS,
  INTEGRATIONS,
  type IntegrationEvent,
} from "../../hooks/integrations/catalogue.ts";
import { initialSettings } from "../hooks/integrations.ts";

const LAST: readonly IntegrationEvent[] = ["vulnerability_events"];

const events = (names: readonly IntegrationEvent[]) =>
  Object.fromEntries(
    names.map((name) => [
      name,
      field.flag(`(ig.events >> ${INTEGRATION_EVENTS.indexOf(name)}) & 1`),
    ]),
  );

const basic = {
  id: field.integer("ig.id"),
  title: field.derived(
    ["ig.slug"],
    "string",
    ([slug]) => INTEGRATIONS[String(slug)]?.title ?? null,
  ),
  slug: field.text("ig.slug"),
  created_at: field.instant("ig.created_at"),
  updated_at: field.instant("ig.updated_at"),
  active: field.flag("ig.active"),
  ...events(INTEGRATION_EVENTS.filter((name) => !LAST.includes(name))),
  // Whether it is that of a group above: filled in by `queries.ts`.
  inherited: field.flag("0"),
  ...events(LAST),
};

/** An integration in lists. */
export const basicIntegration = presenter(basic);

/** What is shown of the settings of an integration: all that are no secrets. */
function shownProperties(slug: string, stored: string): Readonly<Record<string, unknown>> {
  const integration = INTEGRATIONS[slug];
  if (!integration) return {};
  const { properties } = integration;
  const settings = { ...initialSettings(integration), ...JSON.parse(stored) };
  return Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) => {
      const property = properties[name];
      if (!property || property.secret) return [];
      return [[name, property.asText && value !== null ? String(value) : value]];
    }),
  );
}

/** An integration with its settings; never its secrets. */
export const fullIntegration = presenter({
  ...basic,
  properties: field.derived(["ig.slug", "ig.properties"], "object", ([slug, stored]) =>
    shownProperties(String(slug), String(stored)),
  ),
});
