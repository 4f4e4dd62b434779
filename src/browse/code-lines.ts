import { coloredHtml, colorsOfFile, type Piece } from "../core/code-colors.ts";
import { Html, html } from "../pages/html.ts";
import type { Visit } from "./declare.ts";

/** Files of more lines have no numbers, which would be longer than what they are about. */
const MOST_NUMBERED = 10_000;

/** The lines of a text in colours, if its language is known, one below the other. @param path of its file */
export async function coloredText(path: string, text: string, { budget }: Visit): Promise<Html> {
  const colors = await colorsOfFile(path, budget);
  if (!colors) return html`${text}`;
  const shown: string[] = [];
  for (const line of text.split("\n")) {
    shown.push(coloredHtml(colors.line(line)));
    if (budget.isDue) await budget.pause();
  }
  return new Html(shown.join("\n"));
}

/** A file as lines with numbers, which are links to them. */
export async function codeLines(path: string, written: string, visit: Visit): Promise<Html> {
  const text = written.replace(/\n$/, "");
  const count = text.split("\n").length;
  const numbers: string[] = [];
  for (let at = 1; count <= MOST_NUMBERED && at <= count; at++) {
    numbers.push(`<a id="L${at}" href="#L${at}">${at}</a>\n`);
  }
  return html`<div class="lines" tabindex="0" role="region" aria-label="Text of ${path}">${
    numbers.length > 0 && html`<pre class="numbers">${new Html(numbers.join(""))}</pre>`
  }<pre>${await coloredText(path, text, visit)}</pre></div>`;
}

/** A part of the parts of a line. */
export function pieceOf(pieces: readonly Piece[], from: number, to: number): Html {
  let at = 0;
  const within: Piece[] = [];
  for (const { text, kind } of pieces) {
    const part = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (part !== "") within.push({ text: part, kind });
    at += text.length;
  }
  return new Html(coloredHtml(within));
}
