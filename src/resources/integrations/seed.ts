import * as v from "valibot";
import type { ApiError } from "../../core/errors.ts";
import { oneOf, SeedError, type SeededSource, seedList, type Word } from "../../core/seeding.ts";
import {
  INITIAL_EVENTS,
  INTEGRATION_EVENTS,
  INTEGRATIONS,
  type IntegrationEvent,
  switchable,
} from "../../hooks/integrations/catalogue.ts";
import { eventsAfter, requireGiven } from "./input.ts";
import { store } from "./queries.ts";

/** An integration of a group or project of a seed. */
export interface IntegrationSeed {
  /** Such as `slack`. */
  slug: string;
  /** Its settings, with its secrets, as requests give them. */
  properties?: Record<string, string | number | boolean | string[]> | undefined;
  /** What it is told of, as attributes name it: `push_events`. Default: all that it can be told of by default. */
  events?: Word<IntegrationEvent>[] | undefined;
}

/** The integrations of a group or project. */
export const integrationsPart = seedList({
  entries: {
    slug: v.picklist(Object.keys(INTEGRATIONS), "must be the slug of an integration"),
    properties: v.optional(
      v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.array(v.string())])),
      {},
    ),
    events: v.optional(v.array(oneOf(INTEGRATION_EVENTS))),
  },
  counted: "integrations",
  async insert({ db, secrets }, { slug, properties, events }, source: SeededSource) {
    const integration = INTEGRATIONS[slug];
    const isThere = integration && !integration.unavailable;
    if (!isThere || (source.column === "namespace_id" && integration.onlyProjects)) {
      throw new SeedError(`${source.fullPath} can't have the integration ${slug}`);
    }
    const unknown = Object.keys(properties).find((name) => !integration.properties[name]);
    if (unknown) throw new SeedError(`the integration ${slug} has no ${unknown}`);
    const kind = source.column === "namespace_id" ? "group" : "project";
    const { column, id, namespaceId } = source;
    const owner = { kind, column, id, namespaceId } as const;
    const told = events?.map((name) => [name, true]) ?? [];
    const silent = switchable(integration).map((name) => [
      name,
      events === undefined ? undefined : false,
    ]);
    const sent = { ...Object.fromEntries(silent), ...Object.fromEntries(told) };
    try {
      requireGiven(integration, properties);
    } catch (error) {
      const reason = JSON.stringify((error as ApiError).body);
      throw new SeedError(`the integration ${slug} of ${source.fullPath}: ${reason}`);
    }
    await store(
      db,
      secrets,
      owner,
      undefined,
      {
        ...{ slug, integration, isActive: true, settings: properties },
        events: eventsAfter(integration, sent, INITIAL_EVENTS),
        // Links in messages need the server's own address.
        base: "http://localhost",
      },
      source.createdAt,
    );
  },
});
