import { notFound } from "../core/errors.ts";
import { file } from "../core/http/upload.ts";
import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { choices, confirmButton, field, flag, form, oneOf } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import type { Awaitable } from "../store/port.ts";
import { adminPage } from "./admin-parts.ts";
import {
  type ActionSpec,
  actionIn,
  isOfPlace,
  isPreview,
  type PageKind,
  type PageSpec,
  pageOf,
  previewButton,
  type Renamed,
  type Showing,
  type Shown,
  type Visit,
} from "./declare.ts";
import { pageIn, placeOf, type Step } from "./parts.ts";

/** A value that can be chosen, and what people read of it. */
type Choice = readonly [value: string, label: string];

/** The rows of a list of the API that can be chosen: the first hundred, and what is chosen already. */
export interface Found {
  readonly from: string;
  readonly with?: object;
  /** Whether its value is typed if there are more. */
  readonly isName?: true;
  readonly as: (row: Shown) => Choice;
}

/** A field of a form. */
export interface FormField {
  /** As the API has it. */
  readonly name: string;
  readonly label: string;
  /**
   * Default `"text"`: a line. A `"flag"` is yes or no; `"one"` and `"many"` are chosen among others; what is `"hidden"` is
   * only sent back.
   */
  readonly kind?:
    | "text"
    | "lines"
    | "code"
    | "date"
    | "file"
    | "password"
    | "flag"
    | "one"
    | "many"
    | "hidden";
  readonly hint?: string;
  /** Whether it is a text in Markdown: there is a preview of it. */
  readonly isMarkdown?: true;
  readonly isOptional?: boolean;
  /** What `"one"` and `"many"` are chosen among. */
  readonly among?: Found | ((shown: Shown, visit: Visit) => readonly Choice[]);
  /** What it holds before anybody has typed: of `"many"`, those that are chosen. Default: what is found by its name. */
  readonly value?: (shown: Shown, visit: Visit) => unknown;
  /** Whether it is what is found even if something else was sent. */
  readonly isFound?: true;
  /** Whether the visitor may say it. Default: whoever may open the form. */
  readonly when?: (shown: Shown, visit: Visit) => boolean;
}

/** A page that is a form. */
export interface FormSpec {
  /** What has it. */
  readonly of: PageKind;
  /** Below the address of its place: there it is shown, and sent to. */
  readonly path: string;
  /** What it does, for the reference. */
  readonly summary: string;
  /** The parameters of its path. */
  readonly input?: param.Attributes;
  readonly find?: PageSpec<string>["find"];
  /** What it needs besides its place: what is changed is `found`. */
  readonly shows?: Showing<string>["shows"];
  readonly one?: "found";
  readonly performs: string | Renamed | Route;
  readonly sends?: ActionSpec["sends"];
  readonly to: ActionSpec["to"];
  readonly upload?: ActionSpec["upload"];
  /** Default: the limit of all forms. */
  readonly maxBodyBytes?: number;
  readonly fields: readonly FormField[];
  /** The word in whose brackets GitLab's links have its fields: `issue[title]=…`. */
  readonly word?: string;
  /** Who may open it, besides what the route says that is performed. */
  readonly may?: (shown: Shown, visit: Visit) => boolean;
  readonly title: (shown: Shown, visit: Visit) => string;
  /** The way to it. */
  readonly steps?: (shown: Shown, visit: Visit) => readonly Step[];
  readonly button: string;
  /** What is shown once of what was made, in place of the form. */
  readonly shown?: (made: Shown, visit: Visit) => Html;
  /** Whether what is below the form is there without it, too: for places that are archived. */
  readonly isOfArchived?: true;
  /** What is below the form, such as a button that deletes. */
  readonly below?: (shown: Shown, visit: Visit) => Awaitable<Html | false | undefined>;
}

/**
 * As much as the API takes of any text: what is too long for an attribute, it says itself. Browsers end lines with a
 * carriage return, too, which nobody has typed.
 */
const typed = param.optional(
  param.readAs(param.anyText({ max: param.LONG_TEXT }), (text) => text.replaceAll("\r\n", "\n")),
);
const typedList = param.optional(param.arrayOf(typed, { max: 1000 }));

/** How fields of some kinds are taken. */
const TAKEN: Partial<Record<NonNullable<FormField["kind"]>, param.Attribute<unknown>>> = {
  many: typedList,
  file: param.optional(file()),
};

const MORE = "The first hundred are here; quick actions in comments know all.";

/** Where a field is: other parts of pages have ids, too. */
const idOf = (name: string) => `field-${name}`;

/** A field as it is shown. */
async function fieldOf(spec: FormField, shown: Shown, visit: Visit): Promise<Html> {
  const { name, label, kind = "text", isOptional = false, among } = spec;
  const { hint = spec.isMarkdown && "In Markdown" } = spec;
  const sent = spec.isFound ? undefined : visit.parameters[name];
  const held = spec.value ? await spec.value(shown, visit) : shown.found?.[name];
  const value = sent ?? held ?? "";
  const error = visit.refusal?.errors[name];
  const about: Pick<Parameters<typeof field>[0], "name" | "id" | "label" | "hint" | "error"> = {
    ...{ name, id: idOf(name), label, error },
    ...(hint !== undefined && { hint }),
  };
  if (kind === "hidden") return html`<input type="hidden" name="${name}" value="${String(value)}">`;
  if (kind === "flag") return flag({ ...about, checked: String(value) === "true" });
  if (kind !== "one" && kind !== "many") {
    // What must not be read again is typed again.
    const text = kind === "file" || kind === "password" ? undefined : String(value);
    const shown = field({ ...about, type: kind, value: text, rows: 8, required: !isOptional });
    return html`${shown}${spec.isMarkdown && (await preview(visit, String(value), label))}`;
  }
  const present = kind === "many" ? ((held ?? []) as readonly Choice[]) : [];
  const isFew = typeof among === "function";
  const { known, hasMore } = isFew
    ? { known: among(shown, visit), hasMore: false }
    : await choicesOf(among, visit);
  if (hasMore && !isFew && among?.isName) {
    return field({ ...about, value: String(value), required: !isOptional });
  }
  if (hasMore) about.hint = MORE;
  if (kind === "one") {
    const none: readonly Choice[] = isOptional ? [["", "None"]] : [];
    const there = [...none, ...known];
    // Among a few, the first one is meant unless another one is; in a list, nobody has chosen yet.
    const isFirst = value === "" && isFew;
    const isThere = isFirst || there.some(([one]) => one === String(value));
    const options = isThere ? there : [...there, [String(value), String(value)] as const];
    return oneOf({ ...about, value: String(value), options });
  }
  const all = new Map([...known, ...present]);
  const chosen = new Set(
    Array.isArray(sent) ? sent.map(String) : present.map(([one]) => String(one)),
  );
  const boxes = [...all].map(([one, text]) => ({
    value: one,
    label: text,
    checked: chosen.has(one),
  }));
  // Of checkboxes browsers send only those that are checked.
  return html`<input type="hidden" name="${name}[]" value="">${boxes.length > 0 && choices({ ...about, legend: label, choices: boxes })}`;
}

/** What a text looks like, if the visitor asks for it. @param label of its field */
export async function preview(
  visit: Visit,
  text: string,
  label: string,
): Promise<Html | undefined> {
  if (!isPreview(visit)) return undefined;
  const [rendered] = await visit.texts([text]);
  return html`<section class="text preview" aria-label="Preview: ${label}" tabindex="-1" autofocus>${rendered}</section>`;
}

async function choicesOf(among: Found | undefined, visit: Visit) {
  const asked = among && (await visit.ask(among.from, { per_page: 100, ...among.with }));
  const rows = (asked?.value ?? []) as readonly Shown[];
  return { known: among ? rows.map(among.as) : [], hasMore: asked?.hasNext ?? false };
}

/** What is wrong, with links to the fields. */
function problems(fields: readonly FormField[], { refusal }: Visit): Html | undefined {
  if (!refusal) return undefined;
  const labels = new Map(fields.map(({ name, label }) => [name, label]));
  const known = Object.entries(refusal.errors).map(([name, texts]) => {
    const label = labels.get(name);
    const text = texts.join(", ");
    return label === undefined
      ? html`<li>${name === "base" ? "" : `${name} `}${text}</li>`
      : html`<li><a href="#${idOf(name)}">${label}</a> ${text}</li>`;
  });
  const list = known.length > 0 ? html`<ul>${known}</ul>` : html`${refusal.text}`;
  return html`<div class="note bad" role="alert" tabindex="-1" autofocus>This was refused: ${list}</div>`;
}

const hasPreview = ({ fields }: FormSpec) => fields.some(({ isMarkdown }) => isMarkdown);

/** What a page that is a form shows. */
export function formShown(spec: FormSpec): Showing<string> {
  const { of, fields, performs, title, steps, word } = spec;
  // Routes without an address are for places that have other rules.
  const route = String(Array.isArray(performs) ? performs[0] : performs);
  return {
    ...(spec.one && { one: spec.one }),
    shows: {
      ...(isOfPlace(of) && { place: of === "group" ? "GET /groups/:id" : "GET /projects/:id" }),
      ...spec.shows,
    },
    view: async (answers, visit) => {
      const shown: Shown = spec.one ? { ...answers, found: answers["found"][0] } : answers;
      const isOpen = !isOfPlace(of) || visit.offers(route);
      const { source } = visit;
      const isBare = spec.isOfArchived && !isOpen && source && visit.mayCall(route, source);
      if (!(isOpen || isBare) || spec.may?.(shown, visit) === false) throw notFound();
      const inBrackets = word === undefined ? {} : (visit.parameters[word] as object | undefined);
      const filled = { ...visit, parameters: { ...inBrackets, ...visit.parameters } };
      const parts: Html[] = [];
      for (const one of isBare || visit.made ? [] : fields) {
        if (one.when?.(shown, filled) ?? true) parts.push(await fieldOf(one, shown, filled));
      }
      // What precedes it may be written in several ways.
      const { path } = visit.request;
      const asked = isOfPlace(of) ? path.slice(path.indexOf("/-/")) : path;
      // What a button below it does is refused at an address of its own.
      const last = spec.path.slice(spec.path.lastIndexOf("/"));
      const own =
        last.startsWith("/:") || asked.endsWith(last)
          ? asked
          : spec.path.replace(/:(\w+)/g, (_, name: string) => String(visit.parameters[name]));
      const action = (isOfPlace(of) ? placeOf(shown.place).address : "") + own;
      const asks =
        parts.length > 0 &&
        html`<section>${problems(fields, visit)}
${form(visit, action, html`${parts}<div class="actions"><button>${spec.button}</button>${hasPreview(spec) && previewButton}</div>`, { hasFile: spec.upload !== undefined })}
</section>`;
      const body = html`${visit.made && spec.shown?.(visit.made, visit)}${asks}${await spec.below?.(shown, visit)}`;
      const named = title(shown, visit);
      if (of === "site" && own.startsWith("/admin"))
        return adminPage(visit, { title: named, body });
      if (of === "account") return { title: named, body, hasPictures: true };
      return of === "site"
        ? { showsTexts: true, title: named, body }
        : pageIn(shown.place, visit, {
            ...{ title: named, body },
            steps: [...(steps?.(shown, visit) ?? []), [named, own]],
          });
    },
  };
}

/** Declares a page that is a form, and what sending it does. */
export function formPage(spec: FormSpec): readonly Route[] {
  const { of, path, fields, performs, word } = spec;
  const taken = Object.fromEntries(
    fields.map(({ name, kind }) => [name, (kind && TAKEN[kind]) ?? typed]),
  );
  const showing = formShown(spec);
  const found = spec.find && { find: spec.find };
  return [
    pageOf(of)({
      ...{ ...showing, ...found, path, access: "user" },
      summary: `Ask what is needed to ${spec.summary.charAt(0).toLowerCase()}${spec.summary.slice(1)}`,
      fields: {
        ...taken,
        ...(word !== undefined && { [word]: param.optional(param.object(taken)) }),
      },
      input: spec.input ?? {},
    }),
    actionIn(of, {
      ...{ path, summary: spec.summary, performs, again: showing, isAsked: true, to: spec.to },
      ...{ isShown: spec.shown !== undefined, hasPreview: hasPreview(spec) },
      ...found,
      ...(spec.upload && { upload: spec.upload }),
      ...(spec.maxBodyBytes !== undefined && { maxBodyBytes: spec.maxBodyBytes }),
      ...{ fields: taken, input: spec.input ?? {} },
      ...(spec.sends && { sends: spec.sends }),
    }),
  ];
}

/**
 * A button that deletes something, after a question.
 *
 * @param action a path below the mount
 * @param more `of`: what it deletes, where there are several of them; `body`: what the form sends
 */
export const deleteButton = (
  visit: Visit,
  action: string,
  question: string,
  more: { of?: string; body?: Html } = {},
): Html => confirmButton(visit, { label: "Delete", question, action, ...more });
