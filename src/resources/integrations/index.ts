import * as audit from "../../audit/log.ts";
import { ApiError, notFound, unknownRoute } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Resource, type Route, routes, type SourceKind } from "../../core/resource.ts";
import {
  INITIAL_EVENTS,
  INTEGRATIONS,
  type Integration,
} from "../../hooks/integrations/catalogue.ts";
import { givenSettings } from "../hooks/integrations.ts";
import {
  eventsAfter,
  integrationInput,
  requireCallable,
  requireGiven,
  settingsAfter,
} from "./input.ts";
import { basicIntegration, fullIntegration } from "./json.ts";
import * as integrations from "./queries.ts";
import { INTEGRATION_SECRETS, migrations } from "./table.ts";

/** The integration with this slug. @param unknown what is thrown if there is none */
function definitionOf(slug: string, kind: SourceKind, unknown: ApiError): Integration {
  const integration = Object.hasOwn(INTEGRATIONS, slug) ? INTEGRATIONS[slug] : undefined;
  if (!integration) throw unknown;
  if (kind === "group" && integration.onlyProjects) {
    throw new ApiError(400, { message: "400 Integration not available" });
  }
  return integration;
}

const unknownSlug = () => new ApiError(400, { error: "slug does not have a valid value" });
const missing = () => notFound("Integration");

const slug = { slug: param.anyText() };
const managing = { role: "maintainer" } as const;

/** The routes of integrations of groups or projects. @param path GitLab knows them by two words */
function routesOf(source: SourceKind, path: "/integrations" | "/services"): Route[] {
  const { del, get, list, put } = routes({ source, path });
  const older = path === "/services" ? ", by GitLab's older word" : "";
  return [
    list("", {
      ...managing,
      summary: `List the active integrations of a ${source}, with those of groups above${older}`,
      presenter: basicIntegration,
      handle: ({ db, presenter, page, source: owner }) =>
        integrations.list(db, presenter, page, owner),
    }),
    get("/:slug", {
      ...managing,
      summary: `Get an integration of a ${source}, or of a group above${older}`,
      input: slug,
      presenter: fullIntegration,
      handle: async ({ db, presenter, source: owner, input }) => {
        definitionOf(input.slug, source, unknownSlug());
        const row = await integrations.row(db, presenter, owner, input.slug);
        if (!row) throw missing();
        return row;
      },
    }),
    put("/:slug", {
      ...managing,
      summary: `Set up or change an integration of a ${source}${older}`,
      input: { ...slug, ...integrationInput },
      presenter: fullIntegration,
      prepare: async (input, { outgoing }) => {
        const integration = definitionOf(input.slug, source, unknownRoute());
        if (integration.unavailable) {
          const reason = `You cannot create the ${integration.title} integration from the API`;
          throw new ApiError(422, { message: reason });
        }
        requireGiven(integration, input);
        await requireCallable(integration, input, outgoing.allowLocal);
        return integration;
      },
      handle: async (context) => {
        const { db, secrets, source: owner, input, prepared: integration, view, now } = context;
        const before = await integrations.findOwn(db, owner, input.slug);
        const target = `${input.slug} of ${owner.fullPath}`;
        const settings = settingsAfter(
          integration,
          input,
          before ? givenSettings(before, secrets) : {},
        );
        const events = eventsAfter(integration, input, before?.events ?? INITIAL_EVENTS);
        const isActive = input.active !== false;
        const wanted = {
          slug: input.slug,
          integration,
          isActive,
          events,
          settings,
          base: view.base,
        };
        await integrations.store(db, secrets, owner, before, wanted, now);
        if (input.use_inherited_settings) await integrations.inherit(db, owner, input.slug);
        const action = before ? "integration changed" : "integration set up";
        await audit.log(context, action, { target });
        return integrations.row(db, context.presenter, owner, input.slug);
      },
    }),
    del("/:slug", {
      ...managing,
      summary: `Disable an integration of a ${source}, and forget its settings${older}`,
      input: slug,
      handle: async (context) => {
        const { db, secrets, source: owner, input, view, now, requireUnmodified } = context;
        const integration = definitionOf(input.slug, source, unknownSlug());
        if (!(await integrations.isThere(db, owner, input.slug))) throw missing();
        const before = await integrations.findOwn(db, owner, input.slug);
        if (before) requireUnmodified(before.updated_at);
        await integrations.store(
          db,
          secrets,
          owner,
          before,
          {
            ...{ slug: input.slug, integration, isActive: false, settings: {}, base: view.base },
            events: before?.events ?? INITIAL_EVENTS,
          },
          now,
        );
        await audit.log(context, "integration disabled", {
          target: `${input.slug} of ${owner.fullPath}`,
        });
        return undefined;
      },
    }),
  ];
}

/** Integrations with other programs. */
export const integrationResource: Resource = {
  name: "Integrations",
  migrations,
  sealed: [INTEGRATION_SECRETS],
  routes: [
    ...routesOf("project", "/integrations"),
    ...routesOf("project", "/services"),
    ...routesOf("group", "/integrations"),
  ],
};
