import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { confirmButton, formText } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { list } from "../pages/list.ts";
import { mountOf } from "../pages/navigation.ts";
import type { PageContent } from "../pages/page.ts";
import { adminPage } from "./admin-parts.ts";
import {
  actionIn,
  isOfPlace,
  type PageKind,
  type PageSpec,
  pageOf,
  type Showing,
  type Shown,
  type Visit,
} from "./declare.ts";
import { type FormField, type FormSpec, formPage, formShown } from "./forms.ts";
import { asked, filterOf, pageIn, placeOf, refused, row, type Step } from "./parts.ts";

/** Something of which a group, a project or the site has several, which a page of settings lists. */
export interface SettingKind {
  /** What one is called. */
  readonly what: string;
  /** Their heading. */
  readonly title: string;
  /** The list of the API, below that of the place. */
  readonly at: string;
  /** Where its forms are, below the address of the place. Default: below the page. */
  readonly path?: string;
  /** The parameter of the API that names one, and what that is. Default: the id. */
  readonly key: string;
  readonly nameOf?: (row: Shown) => string;
  /** Fields that name it besides: they are fields of its forms as well, from which `find` makes parameters. */
  readonly also?: (row: Shown) => Readonly<Record<string, string>>;
  readonly find?: PageSpec<string>["find"];
  /** What chooses among the rows of the list. */
  readonly with?: object | ((visit: Visit) => object);
  readonly none: string;
  readonly row: (row: Shown, visit: Visit) => readonly [name: Html | string, more?: Html | string];
  /** The fields of a new one, and what makes it. Default: the list's route. */
  readonly fields?: readonly FormField[];
  readonly makes?: string;
  /** Throws for what the API says to have refused in an answer of success. */
  readonly check?: (made: Shown) => void;
  /** The fields of a new one that may be empty; what else is empty was not said. */
  readonly empties?: readonly string[];
  /** What is shown once of a new one. */
  readonly secret?: (made: Shown, visit: Visit) => Html;
  /** The fields of one that there is, and those of them that stay what they are if they are left empty. */
  readonly changes?: readonly FormField[];
  readonly keeps?: readonly string[];
  /** What else is needed to change one, and shown below its form. */
  readonly shows?: FormSpec["shows"];
  readonly below?: FormSpec["below"];
  /** What taking one away is called, and what is asked before. */
  readonly removal?: readonly [label: string, question: string];
  /** What else is done with one on its row. @param path of one, below the mount */
  readonly buttons?: (row: Shown, visit: Visit, path: string) => Html;
  /** The route of one, if it is not below the list. */
  readonly one?: string;
  /** Whether one can be changed and taken away here. */
  readonly isOwn?: (row: Shown, visit: Visit) => boolean;
  /** What the API gets of the fields of a new one, and of one that there is. */
  readonly asks?: SettingKind["sends"];
  readonly sends?: (sent: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** What else is done with one: below its page, and below its route, by default by POST to the same path. */
  readonly acts?: readonly {
    readonly path: string;
    readonly summary: string;
    /** The parameters of the path, and the fields of its form. */
    readonly input: param.Attributes;
    readonly fields?: param.Attributes;
    readonly performs?: readonly [method: string, path: string];
  }[];
}

/** A page of settings. */
interface SettingsPage {
  readonly of: PageKind;
  readonly path: string;
  readonly title: string;
  /** The route of the API that is open to whoever may see it; pages of the site are for administrators. */
  readonly needs?: string;
  readonly kinds: readonly SettingKind[];
  /** What its lists can be searched for, and narrowed to. */
  readonly filter?: readonly string[];
  /** What it shows above the lists. */
  readonly above?: (place: Shown, visit: Visit) => Promise<Html>;
}

const API: Readonly<Record<PageKind, string>> = {
  project: "/projects/:id",
  group: "/groups/:id",
  site: "",
  account: "/user",
};

/** Whether a route is open to the visitor of a page of settings: of the site, all are for administrators; of an account, for its user. */
const offers = (of: PageKind, route: string, visit: Visit): boolean =>
  isOfPlace(of) ? visit.offers(route) : of === "account" || visit.caller?.admin === true;

/** What settings are of, in summaries. */
const OWNERS: Readonly<Record<PageKind, string>> = {
  project: "a project",
  group: "a group",
  site: "the site",
  account: "the caller",
};

/** Nobody else is told of pages of the administration. */
export const onlyAdmins: NonNullable<PageSpec<string>["find"]> = async (_, { caller }) => {
  if (caller?.admin !== true) throw notFound();
  return {};
};

/** What fields hold, without what is empty and was not said thereby. */
export const saidOf = (
  sent: Readonly<Record<string, unknown>>,
  isDropped: (name: string) => boolean,
) =>
  Object.fromEntries(
    Object.entries(sent)
      .map(([name, value]) => [
        name,
        Array.isArray(value) ? value.filter((one) => one !== "") : value,
      ])
      .filter(([name, value]) => value !== "" || !isDropped(name as string)),
  );

/** The route of one, without its method. */
const oneOf = (of: PageKind, { at, key, one }: SettingKind): string =>
  one ?? `${API[of]}${at}/:${key}`;

/** The page that a kind is listed on, and where its own forms are. */
const pathOf = (page: Pick<SettingsPage, "path">, { path, at }: SettingKind): string =>
  path ?? `${page.path}${at}`;

/** The way to a page of settings. */
const waysTo = ({ of, path, title }: Pick<SettingsPage, "of" | "path" | "title">): Step[] =>
  of === "site" || title === "Members" || title === "Pipeline schedules"
    ? [[title, path]]
    : [
        ["Settings", "/-/edit"],
        [title, path],
      ];

/** A list on a page of settings. */
export async function sectionOf(
  page: SettingsPage,
  kind: SettingKind,
  place: Shown,
  visit: Visit,
): Promise<Html> {
  const { of } = page;
  const { title, what, at, none, removal, with: chosen } = kind;
  const api = API[of] + at;
  const base = isOfPlace(of) ? placeOf(place).address : "";
  const own = base + pathOf(page, kind);
  const parameter = `${at.slice(at.lastIndexOf("/") + 1)}_page`;
  const found = await asked(visit, `GET ${api}`, {
    parameter,
    with: typeof chosen === "function" ? chosen(visit) : chosen,
  });
  if (!found) return html``;
  const makes = kind.makes ?? `POST ${api}`;
  const route = oneOf(of, kind);
  const one = (each: Shown) => {
    const name = encodeURIComponent(kind.nameOf?.(each) ?? each.id);
    const also = Object.entries(kind.also?.(each) ?? {});
    const [shown, more] = kind.row(each, visit);
    const called = typeof shown === "string" ? shown : shown.text.replace(/<[^>]*>/g, "");
    const query = also.length > 0 ? `?${new URLSearchParams(also)}` : "";
    const isOwn = kind.isOwn?.(each, visit) ?? true;
    const edit =
      kind.changes &&
      isOwn &&
      offers(of, `PUT ${route}`, visit) &&
      html`<a class="button quiet" href="${mountOf(visit.view)}${own}/${name}/edit${query}" aria-label="Edit ${called}">Edit</a>`;
    const body = html`${also.map(([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`)}`;
    const remove =
      removal &&
      isOwn &&
      offers(of, `DELETE ${route}`, visit) &&
      confirmButton(visit, {
        label: removal[0],
        of: called,
        question: removal[1],
        action: `${own}/${name}/delete`,
        body,
      });
    return row(
      html`${shown}`,
      more,
      html`<div class="actions">${isOwn && kind.buttons?.(each, visit, `${own}/${name}`)}${edit}${remove}</div>`,
    );
  };
  const make =
    kind.fields &&
    offers(of, makes, visit) &&
    html`<p><a class="button" href="${mountOf(visit.view)}${own}/new">New ${what}</a></p>`;
  return html`<section><h2>${title}</h2>${make}${list(visit, found, { path: base + page.path, parameter, none, row: one })}</section>`;
}

/** The content of a page of settings, where it belongs. */
const framed = (
  { of, path, title }: Pick<SettingsPage, "of" | "path" | "title">,
  place: Shown,
  visit: Visit,
  body: Html,
): PageContent => {
  if (of === "account") return { title, body };
  return of === "site"
    ? adminPage(visit, { title, body })
    : pageIn(place, visit, { title, steps: waysTo({ of, path, title }), body });
};

/** What something new is shown with: only this answer has it. */
const onceShown = (secret: Html): Html =>
  html`<div class="note good" role="status"><p>Keep this now: it is not shown again.</p>${secret}</div>`;

/** A secret, on a line of its own. */
export const secretOf = (text: string): Html => html`<code class="secret">${text}</code>`;

/** The pages of one kind: of a new one, of one that there is, and what takes one away. */
export function formsOf(
  page: SettingsPage,
  kind: SettingKind,
  again: Showing<string>,
): readonly Route[] {
  const { of, needs = "" } = page;
  const { what, at, key, changes, fields, secret, keeps = [], empties = [] } = kind;
  const api = API[of] + at;
  const own = pathOf(page, kind);
  const owner = OWNERS[of];
  const names = Object.keys(kind.also?.({}) ?? {});
  const input = { [key]: kind.nameOf ? param.anyText({ max: 4096 }) : param.recordId() };
  const find = of === "site" ? onlyAdmins : kind.find;
  const found = find && { find };
  const shared = {
    of,
    may: (_: Shown, visit: Visit) => offers(of, needs, visit),
    steps: () => waysTo(page),
  } as const;
  const route = oneOf(of, kind);
  const changing: FormSpec | undefined = changes && {
    ...{ ...shared, ...found, input },
    path: `${own}/:${key}/edit`,
    summary: `Change a ${what} of ${owner}`,
    shows: { found: `GET ${route}`, ...kind.shows },
    performs: `PUT ${route}`,
    fields: [
      ...changes,
      ...names.map(
        (name): FormField => ({
          ...{ name, label: name, kind: "hidden" },
          value: (shown) => kind.also?.(shown.found)[name],
        }),
      ),
    ],
    sends: (sent) => saidOf(kind.sends?.(sent) ?? sent, (name) => keeps.includes(name)),
    title: () => `Edit ${what}`,
    button: "Save changes",
    to: () => page.path,
    ...(kind.below && { below: kind.below }),
  };
  return [
    ...(fields
      ? formPage({
          ...{ ...shared, ...(of === "site" && found) },
          path: `${own}/new`,
          summary: `Create a ${what} of ${owner}`,
          performs: kind.makes ?? `POST ${api}`,
          fields,
          sends: (sent) => saidOf(kind.asks?.(sent) ?? sent, (name) => !empties.includes(name)),
          title: () => `New ${what}`,
          button: `Create ${what}`,
          to: (made) => {
            kind.check?.(made);
            return page.path;
          },
          ...(secret && {
            shown: (made: Shown, visit: Visit) => onceShown(secret(made, visit)),
          }),
        })
      : []),
    ...(changing ? formPage(changing) : []),
    ...(kind.acts ?? []).map(({ path, summary, fields, performs = ["POST", path], ...act }) =>
      actionIn(of, {
        ...{ path: `${own}/:${key}${path}`, summary, ...(fields && { fields }) },
        ...{ ...found, input: { ...input, ...act.input } },
        performs: `${performs[0]} ${route}${performs[1]}`,
        ...(changing && kind.below
          ? { again: formShown(changing), to: (_, sent) => `${own}/${sent[key]}/edit` }
          : { again, to: () => page.path }),
      }),
    ),
    ...(kind.removal
      ? [
          actionIn(of, {
            ...{ ...found, input },
            path: `${own}/:${key}/delete`,
            summary: `${kind.removal[0]} a ${what} of ${owner}`,
            fields: Object.fromEntries(names.map((name) => [name, param.optional(formText)])),
            ...{ performs: `DELETE ${route}`, again, to: () => page.path },
          }),
        ]
      : []),
  ];
}

/** What a page of settings shows. */
const shownOn = (page: SettingsPage): Showing<string> => ({
  shows: isOfPlace(page.of) ? { place: `GET ${API[page.of]}` } : {},
  view: async ({ place }, visit) => {
    const { of, path, filter, needs = "" } = page;
    if (!offers(of, needs, visit)) throw notFound();
    const above = await page.above?.(place, visit);
    const sections: Html[] = [];
    for (const kind of page.kinds) sections.push(await sectionOf(page, kind, place, visit));
    return framed(
      page,
      place,
      visit,
      html`${refused(visit)}${above}${filter && filterOf(visit, path, { states: filter.length > 0 ? filter : undefined, wanted: String(visit.parameters["state"] ?? filter[0]) })}${sections}`,
    );
  },
});

/** Declares a page of settings, and the forms of what it lists. */
export function settingsPages(page: SettingsPage): readonly Route[] {
  const { of, path, title, filter } = page;
  const showing = shownOn(page);
  return [
    pageOf(of)({
      ...{ ...showing, path, access: "user" },
      ...(of === "site" && { find: onlyAdmins }),
      summary: `Show ${title} of ${OWNERS[of]}`,
      input: filter ? { search: param.optional(formText), state: param.optional(formText) } : {},
    }),
    ...page.kinds.flatMap((kind) => formsOf(page, kind, showing)),
  ];
}
