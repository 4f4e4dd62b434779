import type { Source } from "../core/access/source.ts";
import { notFound } from "../core/errors.ts";
import type { Attributes } from "../core/input.ts";
import type { Page } from "../core/pagination.ts";
import {
  AfterRoutes,
  type PageContext,
  type PrepareContext,
  type Route,
  routes,
} from "../core/resource.ts";
import type { Html } from "../pages/html.ts";
import { type PageContent, page } from "../pages/page.ts";
import { textsOf } from "./texts.ts";

/** An answer of the API, as its JSON is parsed. */
// biome-ignore lint/suspicious/noExplicitAny: the presenters of the routes say what it is, and the tests of pages read it
export type Shown = any;

/** What a page is shown with. */
export interface Visit extends PageContext {
  /** The parameters of the routes of the API. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The page of its list that was asked for. */
  readonly page: Page;
  /** The lists that go on after what is shown. */
  readonly unfinished: ReadonlySet<string>;
  /** Renders texts in Markdown, all of them at once: what they refer to is looked up together. */
  readonly texts: (texts: readonly (string | null)[]) => Promise<Html[]>;
}

/** A route, with the names of its parameters that the page has by other names. */
type Renamed = readonly [route: string, names: Readonly<Record<string, string>>];

/** A page of a project. */
export interface PageSpec<Names extends string> {
  /** Below that of the project. The names of its parameters are those of the routes of the API. */
  readonly path: string;
  readonly summary: string;
  /** The parameters of its path and query. */
  readonly input: Attributes;
  /** The answer that must be a list with one row: else there is no such page. */
  readonly one?: NoInfer<Names>;
  /** Values of parameters that its address leaves out. */
  readonly defaults?: object;
  /**
   * The routes of the API whose answers the page shows. They are performed for the visitor with the page's parameters, so
   * that everybody sees what the API tells them.
   */
  readonly shows: Readonly<Record<Names, string | Renamed>>;
  /** Finds out what the parameters of the API are, if the address only hints at them. */
  readonly find?: (
    input: Readonly<Record<string, unknown>>,
    preparing: PrepareContext & { readonly source: Source },
  ) => Promise<object>;
  readonly view: (shown: Readonly<Record<Names, Shown>>, visit: Visit) => Promise<PageContent>;
}

const { get } = routes({ source: "project", isAddress: true });

/** Declares a page of a project as a route. */
export const pageOf = <Names extends string>(spec: PageSpec<Names>): Route =>
  get(spec.path, {
    summary: spec.summary,
    access: "anyone",
    input: spec.input,
    prepare: async (input, preparing) => {
      const found = await spec.find?.(input, preparing);
      return { store: preparing.store, found };
    },
    handle: (context) => {
      const { source, page: asked, prepared } = context;
      const { store, found } = prepared;
      return new AfterRoutes(async ({ perform, reader }) => {
        const sent: Record<string, unknown> = {
          ...{ page: asked.number, per_page: asked.size },
          ...spec.defaults,
          ...context.input,
          ...found,
          id: source.id,
        };
        const unfinished = new Set<string>();
        const shown = {} as Record<Names, Shown>;
        for (const [name, given] of Object.entries<string | Renamed>(spec.shows)) {
          const [route, names] = typeof given === "string" ? [given, {}] : given;
          const renamed = Object.entries(names).map(([theirs, ours]) => [theirs, sent[ours]]);
          const called = await perform(route, { ...sent, ...Object.fromEntries(renamed) });
          shown[name as Names] = called.value;
          if (called.hasNext) unfinished.add(name);
        }
        if (spec.one && shown[spec.one].length !== 1) throw notFound();
        const texts = textsOf({ ...context, db: reader(), store, project: source });
        return page(
          context,
          await spec.view(shown, {
            ...{ ...context, parameters: sent, unfinished, texts },
          }),
        );
      });
    },
  });
