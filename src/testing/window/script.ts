import { Html } from "../../pages/html.ts";

/**
 * The script of the window: it shows what is new every second, unless somebody has selected text, and keeps open what is
 * open; it gives the orders of forms without leaving the page, and copies. Without it the page is the same when it is loaded again.
 */
export const SCRIPT = `
const live = document.getElementById("live");
let shown = live.innerHTML;
document.documentElement.classList.add("scripted");
async function refresh() {
  const response = await fetch(location.href, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  document.getElementById("now").replaceWith(page.getElementById("now"));
  const next = page.getElementById("live");
  if (next.innerHTML === shown) return;
  shown = next.innerHTML;
  const open = new Set([...live.querySelectorAll("details[open][id]")].map(({ id }) => id));
  for (const one of next.querySelectorAll("details[id]")) one.open = open.has(one.id) || one.open;
  const focused = document.activeElement?.closest("[id]")?.id;
  live.replaceChildren(...next.childNodes);
  if (focused && live.querySelector("#" + CSS.escape(focused))) {
    const again = document.getElementById(focused);
    (again.querySelector("summary") ?? again).focus();
  }
}
setInterval(() => {
  if (!document.hidden && String(getSelection()) === "") refresh().catch(() => {});
}, 1000);
document.addEventListener("submit", async (event) => {
  event.preventDefault();
  await fetch(event.target.action, { method: "POST" });
  await refresh();
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  const { textContent } = button;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = textContent; }, 1500);
});
`;

/** {@link SCRIPT} as inlined in a page. */
export const SCRIPT_MARKUP = new Html(SCRIPT);
