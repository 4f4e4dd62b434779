import type { Ability } from "../core/access/abilities.ts";
import type { Source } from "../core/access/source.ts";
import { ApiError, type AttributeErrors, notFound } from "../core/errors.ts";
import type { UploadSpec } from "../core/http/upload.ts";
import type { Attributes } from "../core/input.ts";
import * as param from "../core/input.ts";
import type { Page } from "../core/pagination.ts";
import {
  AfterRoutes,
  type Called,
  type Context,
  type PageContext,
  type PrepareContext,
  type Route,
  type RouteRunner,
  routes,
} from "../core/resource.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { type PageContent, page, redirect } from "../pages/page.ts";
import type { Awaitable, Store } from "../store/port.ts";
import { textsOf } from "./texts.ts";

/** An answer of the API, as its JSON is parsed. */
// biome-ignore lint/suspicious/noExplicitAny: the presenters of the routes say what it is, and the tests of pages read it
export type Shown = any;

/** What a page is shown with. */
export interface Visit extends PageContext {
  /** The page's group or project. */
  readonly source: Source | undefined;
  /** The parameters of the routes of the API. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The page of its list that was asked for. */
  readonly page: Page;
  /** The lists that go on after what is shown. */
  readonly unfinished: Set<string>;
  /** What is left for the work of the request. */
  readonly budget: Visited["budget"];
  /** Renders texts in Markdown, all of them at once: what they refer to is looked up together. */
  readonly texts: ReturnType<typeof textsOf>;
  /** Performs another route of the API for the visitor: `undefined` if it shows them nothing. */
  readonly ask: (route: string | Route, parameters: object) => Promise<Called | undefined>;
  /** Whether a route of the API is open to the visitor in the page's group or project. */
  readonly offers: (route: string) => boolean;
  /** The same, whether or not it is archived. */
  readonly mayCall: Visited["mayCall"];
  /** Whether the visitor has a right in the page's group or project, with the record that it depends on. */
  readonly may: <Subject>(ability: Ability<Subject>, subject: Subject) => boolean;
  /** Why what a form of the page asked for was refused; what was typed is among the parameters. */
  readonly refusal: Refusal | undefined;
  /** What a form of the page has made, if that is shown once, in place of the form. */
  readonly made: Shown;
}

/** What the API says of what it refuses: in a line, and of each attribute if it is about these. */
export interface Refusal {
  readonly text: string;
  readonly errors: AttributeErrors;
}

/** A route, with the names of its parameters that the page has by other names. */
export type Renamed = readonly [route: string, names: Readonly<Record<string, string>>];

/** A route, and the names of its parameters that a page has by other names. */
const partsOfRoute = (given: string | Renamed | Route) =>
  Array.isArray(given) ? (given as unknown as Renamed) : ([given as string | Route, {}] as const);

/** What a page shows. */
export interface Showing<Names extends string> {
  /** The answer that must be a list with one row: else there is no such page. */
  readonly one?: NoInfer<Names>;
  /** Values of parameters that its address leaves out. */
  readonly defaults?: object;
  /**
   * The routes of the API whose answers the page shows. They are performed for the visitor with the page's parameters, so
   * that everybody sees what the API tells them.
   */
  readonly shows: Readonly<Record<Names, string | Renamed | Route>>;
  /** Where those who may make what there is not yet are led, and the route of the API that makes it. */
  readonly absent?: {
    readonly route: string;
    /** Below the address of the place. */
    readonly to: (parameters: Readonly<Record<string, unknown>>) => string;
  };
  readonly view: (shown: Readonly<Record<Names, Shown>>, visit: Visit) => Promise<PageContent>;
}

/** A page. */
export interface PageSpec<Names extends string> extends Showing<Names> {
  /** Below that of its group or project. The names of its parameters are those of the routes of the API. */
  readonly path: string;
  readonly summary: string;
  /** The parameters of its path and query. */
  readonly input?: Attributes;
  /** What its form can begin with, which says nothing to the routes that are shown. */
  readonly fields?: Attributes;
  /** Who may open it, whatever its routes say. Default `"anyone"`. */
  readonly access?: "anyone" | "user";
  /** Finds out what the parameters of the API are, if the address only hints at them. */
  readonly find?: (
    input: Readonly<Record<string, unknown>>,
    preparing: PrepareContext & { readonly source: Source },
  ) => Promise<object>;
}

/** What a page needs of its request. */
type Visited = Pick<
  Context<Attributes>,
  "mayCall" | "page" | "request" | "caller" | "view" | "csrfToken" | "site"
> &
  Omit<Parameters<typeof textsOf>[0], "db">;

/** What a group or project does not have, or does not show to a caller. */
const isHidden = (error: unknown): boolean =>
  error instanceof ApiError && [401, 403, 404].includes(error.status);

/** Shows a page. @param sent the parameters of its address */
export async function show<Names extends string>(
  { shows, one, defaults, absent, view }: Showing<Names>,
  visited: Visited & { readonly store: Store; readonly source: Source | undefined },
  { perform, reader }: RouteRunner,
  sent: Readonly<Record<string, unknown>>,
  { typed, refusal, made }: { typed?: object; refusal?: Refusal; made?: Shown } = {},
): Promise<ReturnType<typeof page>> {
  const { source, page: asked } = visited;
  const parameters: Record<string, unknown> = {
    ...{ page: asked.number, per_page: asked.size },
    ...defaults,
    ...sent,
    ...(source && { id: source.id }),
  };
  const unfinished = new Set<string>();
  const shown = {} as Record<Names, Shown>;
  for (const [name, given] of Object.entries<string | Renamed | Route>(shows)) {
    const [route, names] = partsOfRoute(given);
    const renamed = Object.entries(names).map(([theirs, ours]) => [theirs, parameters[ours]]);
    let called: Called;
    try {
      called = await perform(route, { ...parameters, ...Object.fromEntries(renamed) });
    } catch (error) {
      const isAbsent = error instanceof ApiError && error.status === 404 && absent && source;
      if (!isAbsent || !visited.caller || !visited.mayCall(absent.route, source)) throw error;
      return redirect(addressOf(source, visited.view) + absent.to(parameters));
    }
    shown[name as Names] = called.value;
    if (called.hasNext) unfinished.add(name);
  }
  if (one && shown[one].length !== 1) throw notFound();
  const texts = textsOf({ ...visited, db: reader() }, source);
  const ask: Visit["ask"] = async (route, others) => {
    try {
      return await perform(route, { ...(source && { id: source.id }), ...others });
    } catch (error) {
      if (isHidden(error)) return undefined;
      throw error;
    }
  };
  // Nothing is changed in what is archived: nor is it asked for.
  const offers: Visit["offers"] = (route) =>
    source !== undefined &&
    (route.startsWith("GET ") || !source.archived) &&
    visited.mayCall(route, source);
  const may: Visit["may"] = (ability, subject) =>
    source !== undefined && ability(subject, { source, caller: visited.caller });
  const known = { ...visited, parameters: { ...parameters, ...typed }, unfinished, texts, ask };
  const visit: Visit = { ...known, offers, may, refusal, made };
  const content = await view(shown, visit);
  return page(visited, refusal === undefined ? content : { ...content, status: 422 });
}

/** What was typed into the fields of a form, and what else was sent. */
function parted(input: object, fields: Attributes = {}) {
  const isField = ([name]: [string, unknown]) => name in fields;
  const entries = Object.entries(input);
  return {
    typed: Object.fromEntries(entries.filter(isField)),
    sent: Object.fromEntries(entries.filter((one) => !isField(one))),
  };
}

/** Declares a page as a route. */
const declaring =
  ({ get }: Pick<ReturnType<typeof routes>, "get">) =>
  <Names extends string>(spec: PageSpec<Names>): Route =>
    get(spec.path, {
      summary: spec.summary,
      access: spec.access ?? "anyone",
      input: { ...spec.fields, ...spec.input },
      prepare: async (input, preparing) => {
        const found = await spec.find?.(input, preparing as never);
        return { store: preparing.store, found };
      },
      handle: (context) =>
        new AfterRoutes((runner) => {
          const { store, found } = context.prepared;
          const { typed, sent } = parted(context.input, spec.fields);
          return show(spec, { ...context, store }, runner, { ...sent, ...found }, { typed });
        }),
    });

/** What has pages: their addresses are below those of a project or group, of the whole site, or of the caller's account. */
export type PageKind = "project" | "group" | "site" | "account";

/** Whether pages are below the address of a group or project. */
export const isOfPlace = (of: PageKind): of is "project" | "group" =>
  of === "project" || of === "group";

const BUILDERS = {
  project: routes({ source: "project", isAddress: true }),
  group: routes({ source: "group", isAddress: true }),
  site: routes(),
  account: routes(),
} as unknown as Readonly<Record<PageKind, ReturnType<typeof routes>>>;

/** What a form of a page does. */
export interface ActionSpec {
  /** Below the address of its place. The names of its parameters are those of the route of the API. */
  readonly path: string;
  readonly summary: string;
  /** The parameters of its path. */
  readonly input: Attributes;
  /** The fields of the form. */
  readonly fields?: Attributes;
  /** The route of the API that does it; or one that has no address, of which `sends` says the place. */
  readonly performs: string | Renamed | Route;
  readonly find?: PageSpec<string>["find"];
  /** What the API gets of what was typed. Default: all of it. */
  readonly sends?: (
    typed: Readonly<Record<string, unknown>>,
    runner: RouteRunner,
    source: Source | undefined,
  ) => Awaitable<object>;
  /** Where it leads then: below the address of its place, or an address of an answer. @param done what the route answered */
  readonly to: (
    done: Shown,
    parameters: Readonly<Record<string, unknown>>,
    view: Visit["view"],
  ) => string;
  /** Whether the page of the form shows what was made, in place of leading anywhere. */
  readonly isShown?: boolean;
  /** The page of the form, which is shown again if the API refuses what was typed. */
  readonly again: Showing<string>;
  /** Whether that page knows itself who may not open it, so that nobody who may loses what they typed. */
  readonly isAsked?: true;
  /** Whether that page shows what the texts of the form look like: see {@link isPreview}. */
  readonly hasPreview?: boolean;
  readonly upload?: UploadSpec;
  /** Maximum bytes of the form. Default: the limit of all. */
  readonly maxBodyBytes?: number;
}

/** What the button of a form sends that only asks what a text looks like. */
const PREVIEW = "preview";
const PREVIEWING = { [PREVIEW]: param.optional(param.choice(["true"])) };
/** That button. */
export const previewButton: Html = html`<button class="quiet" name="${PREVIEW}" value="true" formnovalidate>Preview</button>`;
/** Whether the visitor asked what a text that they have typed looks like. */
export const isPreview = ({ parameters }: Pick<Visit, "parameters">): boolean =>
  parameters[PREVIEW] === "true";

/** Declares what a form of a page does as a route. */
export const actionIn = (of: PageKind, spec: ActionSpec): Route => {
  const fields = { ...spec.fields, ...(spec.hasPreview && PREVIEWING) };
  return BUILDERS[of].post(spec.path, {
    summary: spec.summary,
    access: "user",
    input: { ...fields, ...spec.input },
    ...(spec.upload && { upload: spec.upload }),
    ...(spec.maxBodyBytes !== undefined && { maxBodyBytes: spec.maxBodyBytes }),
    prepare: async (input, preparing) => {
      const found = await spec.find?.(input, preparing as never);
      return { store: preparing.store, found };
    },
    handle: (context) =>
      new AfterRoutes(async (runner) => {
        const { store, found } = context.prepared;
        const source = context.source as Source | undefined;
        const input: Record<string, unknown> = { ...context.input, ...found };
        const again = { ...context, source, store };
        if (isPreview({ parameters: input })) {
          const { typed, sent } = parted(input, fields);
          return show(spec.again, again, runner, sent, { typed });
        }
        const given = spec.performs;
        const [route, names] = partsOfRoute(given);
        const renamed = Object.entries(names).map(([theirs, ours]) => [theirs, input[ours]]);
        const redirectTo = (done: unknown) => {
          const { view } = context;
          const to = spec.to(done ?? {}, input, view);
          // As a path: an address may have another host than the page, to which no form may lead.
          const isPath = to.startsWith("/");
          return redirect(
            isPath ? addressOf(source, view) + to : mountOf(view) + to.slice(view.base.length),
          );
        };
        try {
          const sent = {
            ...((await spec.sends?.(input, runner, source)) ?? input),
            ...Object.fromEntries(renamed),
            ...(source && (typeof given === "string" || Array.isArray(given)) && { id: source.id }),
          };
          const { value: made } = await runner.perform(route, sent);
          if (!spec.isShown) return redirectTo(made);
          return show(spec.again, again, runner, input, { made });
        } catch (error) {
          // What was to be is so already.
          if (error instanceof ApiError && error.status === 304) return redirectTo(undefined);
          if (!(error instanceof ApiError) || error.status >= 500) throw error;
          // Whoever is signed in already is not asked to sign in.
          if (error.status === 401) throw notFound();
          if (isHidden(error) && !(error.status === 403 && spec.isAsked)) throw error;
          const { typed, sent } = parted(input, fields);
          const refusal = refusalOf(error);
          return show(spec.again, again, runner, sent, { typed, refusal });
        }
      }),
  });
};

/** Declares what a form of a page of a project does as a route. */
export const projectAction = (spec: ActionSpec): Route => actionIn("project", spec);

/** The address of a group or project with its mount; without one, that of the site. */
const addressOf = (source: Source | undefined, view: Visit["view"]): string => {
  const path = source && `${source.kind === "group" ? "/groups" : ""}/${source.fullPath}`;
  return mountOf(view) + (path ?? "");
};

/** What the API says of what it refuses. */
function refusalOf({ body }: ApiError): Refusal {
  const { message, error } = body as { message?: unknown; error?: unknown };
  if (typeof message !== "object" || message === null) {
    const [, absent] = /^400 \(Bad request\) "(\w+)" not given$/.exec(String(message)) ?? [];
    const text = String(message ?? error);
    return { text, errors: absent === undefined ? {} : { [absent]: ["can't be blank"] } };
  }
  const errors = Object.entries(message).map(([name, texts]): [string, string[]] => [
    name,
    [texts].flat().map(String),
  ]);
  const text = errors.map(
    ([name, texts]) => `${name === "base" ? "" : `${name} `}${texts.join(", ")}`,
  );
  return { text: text.join("; "), errors: Object.fromEntries(errors) };
}

/** Declares a page. */
export const pageOf = (of: PageKind) => declaring(BUILDERS[of]);
/** Declares a page of a project: below the project's own address. */
export const projectPage = pageOf("project");
/** Declares a page of a group: below `/groups/` and the group's path. */
export const groupPage = pageOf("group");
/** Declares a page of the whole site. */
export const sitePage = pageOf("site");
