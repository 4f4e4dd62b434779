import { ApiError, type AttributeErrors } from "../core/errors.ts";
import type { Parameters } from "../core/http/parameters.ts";
import { type Attributes, anyText, type Input, inputReader } from "../core/input.ts";
import type { PageContext } from "../core/resource.ts";
import type { Awaitable } from "../store/port.ts";
import { type Html, html } from "./html.ts";
import { mountOf } from "./navigation.ts";
import { csrf } from "./page.ts";

/** A form field's text. Shorter bounds are checked by the page, which shows the form again. */
export const formText = anyText({ max: 16_384 });

/** A form of this site. @param action a path below the mount */
export function form(
  { csrfToken, view }: Pick<PageContext, "csrfToken" | "view">,
  action: string,
  body: Html,
  { hasFile = false, id }: { hasFile?: boolean; id?: string } = {},
): Html {
  return html`<form method="post" action="${mountOf(view)}${action}"${id !== undefined && html` id="${id}"`}${hasFile && html` enctype="multipart/form-data"`}>${csrf(csrfToken)}
${body}
</form>`;
}

/** A field with one line or several. */
interface FieldSpec {
  name: string;
  /** Default: its name, which must be unique on the page. */
  id?: string;
  label: string;
  /** Default `"text"`; `"lines"` is a text area, and `"code"` a large one whose lines are not wrapped. */
  type?: "text" | "password" | "date" | "file" | "lines" | "code";
  value?: string | undefined;
  hint?: string;
  /** What is wrong with the submitted value. */
  error?: readonly string[] | undefined;
  /** Default true. */
  required?: boolean;
  /** What the browser may fill in (`autocomplete`). Default `"off"`. */
  autocomplete?: string;
  /** Has the focus when the page opens. */
  autofocus?: boolean;
  /** Accepts digits only. */
  numeric?: boolean;
  /** The first day that can be chosen. */
  min?: string;
  /** The lines of a text area. Default 3. */
  rows?: number;
}

/** A field with its label, hint and error. */
export function field(spec: FieldSpec): Html {
  const { name, id = name, label, type = "text", value, hint, error, required = true } = spec;
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const attributes = html` id="${id}" name="${name}"${required && html` required`}${
    spec.autofocus === true && html` autofocus`
  }${error && html` aria-invalid="true"`}${
    describedBy !== "" && html` aria-describedby="${describedBy}"`
  } autocomplete="${spec.autocomplete ?? "off"}"${type !== "lines" && html` autocapitalize="none" spellcheck="false"`}`;
  const control =
    type === "lines" || type === "code"
      ? html`<textarea rows="${type === "code" ? 20 : (spec.rows ?? 3)}"${type === "code" && html` class="code" wrap="off"`}${attributes}>
${value ?? ""}</textarea>`
      : html`<input type="${type}"${attributes}${value !== undefined && html` value="${value}"`}${
          spec.numeric === true && html` inputmode="numeric"`
        }${spec.min !== undefined && html` min="${spec.min}"`}>`;
  return html`<div class="field">
<label for="${id}">${label}${!required && html` <span class="optional">(optional)</span>`}</label>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${control}
${problem(id, label, error)}
</div>`;
}

/** More checkboxes than these are scrolled. */
const MOST_IN_SIGHT = 20;

/** Checkboxes under one name. */
interface ChoicesSpec {
  name: string;
  /** What their own begin with. Default: their name. */
  id?: string;
  legend: string;
  choices: readonly { value: string; label: string; about?: string; checked: boolean }[];
  hint?: string | undefined;
  error?: readonly string[] | undefined;
}

/** Checkboxes, each with its meaning. */
export function choices({
  name,
  id: own = name,
  legend,
  choices: all,
  hint,
  error,
}: ChoicesSpec): Html {
  const boxes = all.map(({ value, label, about, checked }, index) => {
    const id = `${own}-${/^\w+$/.test(value) ? value : `at-${index}`}`;
    return html`<div class="choice">
<input type="checkbox" id="${id}" name="${name}[]" value="${value}"${checked && html` checked`}>
<label for="${id}">${label}${about && html`<span class="hint">${about}</span>`}</label>
</div>`;
  });
  return html`<fieldset id="${own}"${error && html` aria-describedby="${own}-error"`}>
<legend>${legend}</legend>
${hint && html`<p class="hint">${hint}</p>`}
<div class="boxes${boxes.length > MOST_IN_SIGHT && " many"}">${boxes}</div>
${problem(own, legend, error)}
</fieldset>`;
}

/** A checkbox that says yes or no: it is sent either way. */
export const flag = ({
  name,
  id = name,
  label,
  hint,
  checked,
}: Pick<FieldSpec, "name" | "id" | "label" | "hint"> & {
  checked: boolean;
}): Html => html`<div class="field choice">
<input type="hidden" name="${name}" value="false">
<input type="checkbox" id="${id}" name="${name}" value="true"${checked && html` checked`}>
<label for="${id}">${label}${hint && html`<span class="hint">${hint}</span>`}</label>
</div>`;

/** A field that takes one of some values. */
export function oneOf({
  name,
  id = name,
  label,
  hint,
  value,
  error,
  options,
}: Pick<FieldSpec, "name" | "id" | "label" | "hint" | "value" | "error"> & {
  options: readonly (readonly [value: string, label: string])[];
}): Html {
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const shown = options.map(
    ([one, text]) =>
      html`<option value="${one}"${one === value && html` selected`}>${text}</option>`,
  );
  return html`<div class="field">
<label for="${id}">${label}</label>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
<select id="${id}" name="${name}"${error && html` aria-invalid="true"`}${describedBy !== "" && html` aria-describedby="${describedBy}"`}>${shown}</select>
${problem(id, label, error)}
</div>`;
}

/** `New password` and `is too short` → `New password is too short.` */
function problem(id: string, label: string, error: readonly string[] | undefined) {
  return (
    error &&
    html`<p class="error" id="${id}-error">${label} ${error.join(", ").replace(/\.?$/, ".")}</p>`
  );
}

/** A button that asks for confirmation, without a script. */
export function confirmButton(
  visit: Pick<PageContext, "csrfToken" | "view">,
  {
    label,
    of,
    question,
    action,
    body,
  }: { label: string; of?: string; question: string; action: string; body?: Html },
): Html {
  return html`<details class="confirm"><summary class="button quiet"${of !== undefined && html` aria-label="${label} ${of}"`}>${label}</summary>
<div class="question"><p>${question}</p>
${form(visit, action, html`${body}<button class="danger">${label}</button>`)}</div></details>`;
}

/** A result, or the errors of each attribute. */
export type Validated<T> =
  | { value: T; errors?: undefined }
  | { value?: undefined; errors: AttributeErrors };

/** Runs work that may refuse attributes, so that a form can show the errors. Other errors are rethrown. */
export async function validated<T>(work: () => Awaitable<T>): Promise<Validated<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    const message = error instanceof ApiError && (error.body as { message?: unknown }).message;
    if (typeof message !== "object" || message === null) throw error;
    return { errors: message as AttributeErrors };
  }
}

/** Reads a form by schemas. Missing fields count as empty. */
export function readForm<A extends Attributes>(
  attributes: A,
  sent: Readonly<Record<string, unknown>>,
): Promise<Validated<Input<A>>> {
  const read = inputReader(attributes);
  const empty = Object.fromEntries(Object.keys(attributes).map((name) => [name, ""]));
  return validated(() => read({ ...empty, ...sent } as Parameters));
}
