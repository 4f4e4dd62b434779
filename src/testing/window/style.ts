import { Html } from "../../pages/html.ts";
import { STYLE } from "../../pages/style.ts";

/** The style sheet of the window: that of all pages, and what only it has. */
export const WINDOW_STYLE = `${STYLE}
.window .frame { display: block; max-width: 76rem; }
.window header, .window .bar { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; }
.bar { justify-content: space-between; margin: 0 0 1.5rem; }
.bar p { margin: 0; color: var(--soft); }
.window details { border-top: 1px solid var(--line); }
.window details:first-of-type { border-top: 0; }
.window summary { display: flex; flex-wrap: wrap; gap: .25rem .75rem; padding: .375rem 0; cursor: pointer; list-style-position: outside; }
.window summary::before { content: "▸"; color: var(--soft); }
.window details[open] > summary::before { content: "▾"; }
.window summary code { flex: 1 1 14rem; min-width: 0; }
.window pre { max-height: 24rem; margin: 0 0 .75rem; padding: .625rem .75rem; overflow: auto; font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--sunken); border: 1px solid var(--line); border-radius: .5rem; white-space: pre-wrap; }
.window table { width: 100%; border-collapse: collapse; }
.window th, .window td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
.window .failed { color: var(--bad); }
.window .passed { color: var(--good); }
.copy { display: none; min-height: 0; margin-bottom: .75rem; padding: .125rem .625rem; font-size: .875rem; }
.scripted .copy { display: inline-block; }
`;

/** {@link WINDOW_STYLE} as inlined in a page. */
export const WINDOW_STYLE_MARKUP = new Html(WINDOW_STYLE);
