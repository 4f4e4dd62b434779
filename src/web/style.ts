import { Html } from "./html.ts";

/** The look of all pages: system fonts, one column, light and dark. */
export const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d5d7de, #3d3f47); --accent: light-dark(#1f5fbf, #7fb0ff); --warn: light-dark(#b3261e, #ff8a80); }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#f6f7f9, #17181c); color: light-dark(#1b1c20, #e8e9ee); }
header { display: flex; justify-content: space-between; align-items: center; padding: .75rem 1rem; border-bottom: 1px solid var(--line); background: light-dark(#fff, #1f2026); }
main { max-width: 40rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 1rem; }
label { display: block; margin: 0 0 1rem; font-weight: 600; }
input:not([type=hidden], [type=checkbox]) { display: block; width: 100%; margin-top: .25rem; padding: .5rem .6rem; font: inherit; color: inherit; background: light-dark(#fff, #101114); border: 1px solid var(--line); border-radius: .375rem; }
button { padding: .5rem 1rem; font: inherit; font-weight: 600; color: light-dark(#fff, #101114); background: var(--accent); border: 1px solid transparent; border-radius: .375rem; cursor: pointer; }
button.quiet { color: inherit; background: none; border-color: var(--line); font-weight: 400; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.alert { padding: .6rem .8rem; border: 1px solid var(--warn); border-radius: .375rem; color: var(--warn); }
`;

/** The style sheet as it stands in a page. */
export const STYLE_MARKUP = new Html(STYLE);
