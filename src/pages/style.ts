import { Html } from "./html.ts";

/** The style sheet of all pages: system fonts, light and dark, one column on a phone. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f5f6f8, #15171c);
  --card: light-dark(#fff, #1e2128);
  --sunken: light-dark(#f5f6f8, #15171c);
  --ink: light-dark(#1a1d24, #e9ebf0);
  --soft: light-dark(#565d6b, #a3abba);
  --line: light-dark(#dcdfe6, #363b46);
  --edge: light-dark(#868d9b, #737b8b);
  --accent: light-dark(#1c5bbf, #8bb6ff);
  --on-accent: light-dark(#fff, #0d1526);
  --bad: light-dark(#b3261e, #ff9d94);
  --bad-page: light-dark(#fdf1f0, #331c1c);
  --good: light-dark(#176639, #7fd8a2);
  --good-page: light-dark(#eef8f1, #15291d);
}
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; background: var(--page); color: var(--ink); overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .25rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .75rem; z-index: 1; padding: .25rem .5rem; background: var(--card); }

header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 1rem; min-height: 3.5rem; padding: .5rem clamp(1rem, 4vw, 2rem); background: var(--card); border-bottom: 1px solid var(--line); }
.brand { flex: none; color: inherit; font-weight: 700; letter-spacing: -.01em; text-decoration: none; }
.who { display: flex; align-items: center; gap: .75rem; min-width: 0; color: var(--soft); }
.who span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.who form { flex: none; }

.frame { max-width: 64rem; margin: 0 auto; padding: 1rem clamp(1rem, 4vw, 2rem) 4rem; }
.narrow { max-width: 28rem; padding-top: 6vh; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem; margin: 0 0 1.5rem; padding: 0; list-style: none; }
nav a { display: block; padding: .375rem .75rem; border-radius: .5rem; color: var(--soft); text-decoration: none; }
nav a:hover { background: var(--line); color: var(--ink); }
nav a[aria-current] { background: var(--line); color: var(--ink); }
@media (max-width: 51.99rem) {
  nav ul { flex-wrap: nowrap; gap: .125rem; margin: 0 -.25rem 1rem; padding: .25rem; overflow-x: auto; overflow-wrap: normal; white-space: nowrap; scrollbar-width: thin; }
  nav a { padding: .25rem .5rem; font-size: .9375rem; }
  nav li:has([aria-current]) { order: -1; }
}
@media (min-width: 52rem) {
  .frame:not(.narrow, .broad) { display: grid; grid-template-columns: 11rem minmax(0, 44rem); gap: 2.5rem; padding-top: 2rem; }
  nav ul { flex-direction: column; }
}

.broad { max-width: 75rem; }
.way ol { display: flex; flex-wrap: wrap; gap: .25rem .5rem; margin: 0 0 .75rem; padding: 0; list-style: none; color: var(--soft); font-size: .875rem; }
.way li + li::before { content: "/"; margin-right: .5rem; color: var(--soft); }
.way a { display: inline; padding: 0; }
.beside { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.5rem; }
@media (min-width: 60rem) { .beside { grid-template-columns: minmax(0, 1fr) 16rem; } }
aside dl { display: block; }
aside dd { margin: 0 0 1rem; }
aside ul { margin: 0; padding: 0; list-style: none; }
.filter { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin: 0 0 1rem; }
.filter input[type=search], select { min-height: 2.5rem; padding: .375rem .75rem; font: inherit; color: inherit; background: var(--sunken); border: 1px solid var(--edge); border-radius: .5rem; }
.files summary { cursor: pointer; }
.files .rows > li { display: block; }
.rows h2 { margin: 0; font-size: 1rem; line-height: 1.5; }
.scrolled { overflow-x: auto; }
.scrolled th, .scrolled td { padding: .25rem .75rem .25rem 0; text-align: start; white-space: nowrap; }
.calendar { display: block; max-width: 100%; margin: 0 0 1rem; }
.level0 { fill: var(--line); }
.level1 { fill: light-dark(#9fc3f7, #22406e); }
.level2 { fill: light-dark(#6ba1ec, #3563a5); }
.level3 { fill: light-dark(#3674cf, #5a92e0); }
.level4 { fill: light-dark(#174a99, #a9cbff); }
.avatar { display: block; margin: 0 0 1rem; border-radius: .5rem; }
.rows h2 a { display: inline-block; }
.columns { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); }
.columns .rows > .card { display: block; padding: .75rem 0; }
.card h3 { font-size: 1rem; font-weight: 500; }
.card .button { min-height: 2rem; padding: .125rem .75rem; font-size: .875rem; }
.card form { margin-top: .75rem; }
[draggable=true] { cursor: grab; }
header nav { flex: 1 1 auto; min-width: 0; }
header nav ul { flex-direction: row; margin: 0; }
@media (max-width: 51.99rem) {
  header { gap: .25rem 1rem; }
  header nav { order: 1; flex: 0 0 100%; }
  header nav ul { margin: 0 -.75rem; }
}
.items ul { flex-direction: row; gap: .125rem; }
.items a { padding: .25rem .5rem; font-size: .9375rem; }
.diff { position: relative; margin: .5rem 0 0; padding: .5rem 0; overflow-x: auto; background: var(--sunken); border-radius: .5rem; }
.diff table { width: 100%; border-collapse: collapse; }
.diff td { padding: 0 .375rem; vertical-align: top; }
.diff td:has(> a) { width: 1%; text-align: end; user-select: none; }
.diff a { display: inline-block; min-width: 1.5rem; color: var(--soft); font-size: .8125rem; text-decoration: none; line-height: 1.5rem; }
.diff td:has(+ td > code) { width: 1%; user-select: none; }
.diff td > code { white-space: pre; font-size: .875rem; }
.diff .parallel { table-layout: fixed; min-width: 44rem; }
.diff .parallel td > code { white-space: pre-wrap; }
.parallel th:nth-child(3n + 1) { width: 3rem; }
.parallel th:nth-child(3n + 2) { width: 1.5rem; }
.added, .changed td:nth-child(n + 4) { background: var(--good-page); }
.removed, .changed td:nth-child(-n + 3) { background: var(--bad-page); }
.parallel .added td:nth-child(-n + 3), .parallel .removed td:nth-child(n + 4) { background: var(--sunken); }
.diff ins { text-decoration: none; background: light-dark(#b9e6c8, #23603c); }
.diff del { text-decoration: none; background: light-dark(#f8cdc9, #7a2d28); }
.diff :is(.place, .end) td { color: var(--soft); font-size: .875rem; }
.diff .talk td { padding: .75rem; white-space: normal; }
.preview { margin: -.5rem 0 1.25rem; }
.talk .thread, .talk form { position: sticky; left: .75rem; max-width: min(44rem, 75vw); }
.diff .talk a { min-width: 0; color: var(--accent); font-size: inherit; text-decoration: underline; }
tr:target, td:target { outline: 2px solid var(--accent); outline-offset: -2px; }
.log { overflow-x: auto; max-height: 40rem; padding: .75rem; background: var(--sunken); border-radius: .5rem; }
.lines { display: flex; overflow-x: auto; margin: 0 0 1rem; background: var(--sunken); border-radius: .5rem; }
.lines pre { flex: 1; margin: 0; padding: .75rem; line-height: 1.5rem; overflow-wrap: normal; tab-size: 4; }
.lines .numbers { flex: none; padding-right: 0; text-align: end; user-select: none; }
.numbers a { display: inline-block; min-width: 1.5rem; color: var(--soft); text-decoration: none; }
.numbers a:target { color: var(--ink); font-weight: 700; background: var(--line); }
.c, .cp { color: var(--soft); }
.k { color: light-dark(#8a2c9b, #dfa6f0); }
.s, .gi { color: light-dark(#176639, #8fdcae); }
.m { color: light-dark(#1c5bbf, #9cc3ff); }
.nf { color: light-dark(#7c4a03, #eecb8b); }
.kt, .nt { color: light-dark(#0b6070, #86d6e2); }
.na { color: light-dark(#8f3a1d, #f5b59b); }
.gd { color: var(--bad); }
:is(ins, del) span { color: inherit; }
pre { margin: 0 0 1rem; font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; }
pre code { font: inherit; }
.log, .lines pre, .text pre { white-space: pre; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: start; margin: .5rem 0 1rem; }
:is(section, form, li, article) > .actions:last-child { margin-bottom: 0; }
:is(.actions, .rows > li > div) > .actions, .actions > form > .actions { margin: 0; }
.actions details[open] { flex: 1 0 100%; }
.actions summary { list-style: none; }
.actions summary::-webkit-details-marker { display: none; }
.actions details form { margin-top: .75rem; }
[aria-pressed=true] { background: var(--line); border-color: var(--accent); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.discussions { padding: 0; background: none; border: 0; }
.lead > .tag:first-child, [role=status] > .tag:first-child { margin-left: 0; }
.filter label { display: flex; gap: .5rem; align-items: center; }
.discussions .rows > li { display: block; padding: 0 0 1rem; border: 0; }
.said { padding: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
.said + .said { margin-top: .5rem; }
.done { padding: 0 1rem; color: var(--soft); font-size: .9375rem; }
article header { display: block; min-height: 0; padding: 0 0 .5rem; background: none; border: 0; font-size: .9375rem; }
.text > :last-child { margin-bottom: 0; }
.rows .text.text > p { margin: 0 0 1rem; color: inherit; font-size: inherit; }
.rows .text.text > p:last-child { margin: 0; }
.text .task-list-item { list-style: none; }
.task { min-width: 1.5rem; min-height: 1.5rem; margin-right: .375rem; padding: 0; color: inherit; font-weight: 400; background: none; border: 0; }
.text img, .text video { max-width: 100%; height: auto; }
.text pre { overflow-x: auto; padding: .75rem; background: var(--sunken); border-radius: .5rem; }
.text blockquote { margin: 0 0 1rem; padding-left: 1rem; border-left: .25rem solid var(--line); color: var(--soft); }
.text table { border-collapse: collapse; }
.text th, .text td { padding: .375rem .75rem; border: 1px solid var(--line); }
.gl-label-text { display: inline-block; padding: 0 .5rem; border-radius: 1rem; color: #000; }
.gl-label-text-light { color: #fff; }
.gl-label-link { text-decoration: none; }

h1 { margin: 0 0 1.25rem; font-size: 1.625rem; line-height: 1.25; letter-spacing: -.015em; }
h2 { margin: 0 0 .75rem; font-size: 1.125rem; line-height: 1.3; }
h3 { margin: 0; font-size: 1rem; line-height: 1.5; }
p { margin: 0 0 1rem; }
.lead { color: var(--soft); }
section { margin: 0 0 1.5rem; padding: clamp(1rem, 4vw, 1.5rem); background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
section > :last-child, form > :last-child, .question > :last-child { margin-bottom: 0; }

.field, fieldset { margin: 0 0 1.25rem; }
fieldset { padding: 0; border: 0; }
label, legend { padding: 0; font-weight: 600; }
.optional { color: var(--soft); font-weight: 400; }
.hint { margin: 0; color: var(--soft); font-size: .875rem; font-weight: 400; }
.error { margin: .375rem 0 0; color: var(--bad); font-size: .875rem; }
.field input:not([type=checkbox]), textarea { display: block; width: 100%; min-height: 2.75rem; margin-top: .375rem; padding: .5rem .75rem; font: inherit; color: inherit; background: var(--sunken); border: 1px solid var(--edge); border-radius: .5rem; }
[aria-invalid] { border-color: var(--bad) !important; }
.field select { display: block; width: 100%; margin-top: .375rem; }
textarea { resize: vertical; }
.code { font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; tab-size: 4; white-space: pre; overflow-x: auto; }
.broad .boxes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); gap: 0 1rem; }
.many { max-height: 15rem; overflow-y: auto; padding: 0 .75rem .5rem; border: 1px solid var(--line); border-radius: .5rem; }
.choice { display: flex; gap: .75rem; align-items: start; margin-top: .625rem; }
.choice input { flex: none; width: 1.125rem; height: 1.125rem; margin: .1875rem 0 0; accent-color: var(--accent); }
.choice label { font-weight: 500; }
.choice .hint { display: block; }

button, .button { display: inline-block; min-height: 2.5rem; padding: .4375rem 1rem; font: inherit; font-weight: 600; line-height: 1.5; color: var(--on-accent); background: var(--accent); border: 1px solid transparent; border-radius: .5rem; text-decoration: none; cursor: pointer; }
button:hover, .button:hover { filter: brightness(1.08); }
.quiet { color: var(--ink); background: none; border-color: var(--edge); font-weight: 500; }
.quiet:hover { background: var(--line); }
.danger { color: var(--page); background: var(--bad); }
.wide button { width: 100%; }

.confirm summary { list-style: none; }
.confirm summary::-webkit-details-marker { display: none; }
.confirm[open] summary { background: var(--line); }
.question { margin-top: .75rem; padding: 1rem; background: var(--bad-page); border-radius: .5rem; }
.question p { margin: 0 0 .75rem; color: inherit; font-size: 1rem; }

.rows { margin: 0; padding: 0; list-style: none; scroll-margin: 4rem; }
.rows > li { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: start; gap: .5rem 1rem; padding: 1rem 0; border-top: 1px solid var(--line); }
.rows > li:first-child { padding-top: 0; border-top: 0; }
.rows > li:last-child { padding-bottom: 0; }
.rows > li > :first-child { flex: 1 1 16rem; min-width: 0; }
.rows div:not(.question) > p { margin: 0; color: var(--soft); font-size: .875rem; }
.rows .confirm[open] { flex: 1 0 100%; }
.ends { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: baseline; justify-content: end; }
.pager { display: flex; align-items: center; gap: .5rem; margin-top: 1rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft); }
.pager a { background: var(--line); color: var(--ink); }
.tag { display: inline-block; margin-left: .375rem; padding: 0 .5rem; font-size: .8125rem; font-weight: 500; color: var(--good); background: var(--good-page); border-radius: 1rem; }
.tag:is(.merged, .running) { color: var(--accent); background: light-dark(#e8f0fc, #1a2942); }
.tag:is(.failed, .blocked) { color: var(--bad); background: var(--bad-page); }
.tag:is(.closed, .canceled, .skipped, .created, .pending, .preparing, .manual, .scheduled, .locked, .stopped) { color: var(--soft); background: var(--line); }
.ends > .tag:first-child, .rows > li > :not(:first-child) > .tag:first-child, .rows > li > .tag { margin-left: 0; }
.text + p { margin-top: 1rem; }
.links li + li { margin-top: .5rem; }

.note { margin: 0 0 1.5rem; padding: .75rem 1rem; border-left: 4px solid; border-radius: .25rem .5rem .5rem .25rem; }
.note > :last-child { margin: 0; }
.note.bad { color: var(--bad); background: var(--bad-page); }
.note.good { color: var(--good); background: var(--good-page); }

code, .codes { font: .9375rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.secret { display: block; margin: 0 0 1rem; padding: .625rem .75rem; color: var(--ink); background: var(--sunken); border: 1px solid var(--line); border-radius: .5rem; user-select: all; }
.codes { display: grid; grid-template-columns: repeat(auto-fill, minmax(12.5rem, 1fr)); gap: .25rem 1rem; margin: 0 0 1rem; padding: .75rem; list-style: none; background: var(--sunken); border: 1px solid var(--line); border-radius: .5rem; }
.qr { width: 12.5rem; max-width: 100%; margin: 0 0 1rem; padding: .5rem; background: #fff; border: 1px solid var(--line); border-radius: .5rem; }
.qr svg { display: block; width: 100%; height: auto; }
dl { display: grid; grid-template-columns: minmax(6rem, auto) 1fr; gap: .375rem 1.5rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; }
dl.long { display: block; }
dl.long .secret { margin: .25rem 0 1rem; }
dl.long dd:last-child .secret { margin-bottom: 0; }
`;

/** The style sheet as inlined in a page. */
export const STYLE_MARKUP = new Html(STYLE);
