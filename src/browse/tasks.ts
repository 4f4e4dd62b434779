import { digest } from "../core/digest.ts";
import { invalid } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { form } from "../pages/form.ts";
import { Html, html } from "../pages/html.ts";
import type { Visit } from "./declare.ts";

/** The boxes of tasks, as pages have them, with the lines of the text that they are on. */
const BOX =
  /<task-button><\/task-button><input type="checkbox" class="task-list-item-checkbox"( checked)? data-line="(\d{1,9})" disabled>/g;

const LINE_END = /\r\n?|\n/g;
const MARK = /\[[ xX]\]/;

/** Where the lines of a text begin. */
const startsOf = (text: string): number[] => [
  0,
  ...[...text.matchAll(LINE_END)].map(({ index, 0: end }) => index + end.length),
];

/** The parameters by which a task is ticked, or is no longer: its line, and the digest of the text that was shown. */
export const ticking = { line: param.integer({ min: 0 }), of: param.anyText({ max: 64 }) };

/**
 * A text whose tasks are buttons, for those who may change it.
 *
 * @param rendered the text as HTML
 * @param action where it is changed, below the mount
 */
export function withTasks(rendered: Html, text: string, visit: Visit, action: string): Html {
  if (!rendered.text.includes("<task-button>")) return rendered;
  const starts = startsOf(text);
  const boxes = rendered.text.replace(BOX, (_, checked: string | undefined, line: string) => {
    const at = Number(line);
    const whole = text.slice(starts[at], starts[at + 1]);
    const label = whole.slice(whole.search(MARK) + 3).trim();
    return html`<button class="task" name="line" value="${line}" role="checkbox" aria-checked="${String(checked !== undefined)}" aria-label="${label}">${checked === undefined ? "☐" : "☑"}</button>`
      .text;
  });
  const of = digest("sha256", text);
  return form(visit, action, html`<input type="hidden" name="of" value="${of}">${new Html(boxes)}`);
}

/**
 * A text with another state of a task.
 *
 * @throws ApiError 400 if it is not the text that was shown, or has no task there
 */
export function toggled(
  text: string,
  { line, of }: { readonly line?: unknown; readonly of?: unknown },
): string {
  if (digest("sha256", text) !== of) {
    throw invalid({ base: ["Somebody has changed the text meanwhile"] });
  }
  const starts = startsOf(text);
  const at = starts[Number(line)];
  const whole = at === undefined ? "" : text.slice(at, starts[Number(line) + 1]);
  const mark = whole.search(MARK);
  if (at === undefined || mark < 0) throw invalid({ base: ["There is no task"] });
  const state = whole[mark + 1] === " " ? "x" : " ";
  return `${text.slice(0, at + mark + 1)}${state}${text.slice(at + mark + 2)}`;
}
