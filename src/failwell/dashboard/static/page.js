// What the pages do by themselves: renew while one looks, the theme, and the keyboard. Everything works without it.
"use strict";
const root = document.documentElement;
const kept = (() => { try { return localStorage; } catch { return null; } })();
const theme = kept?.getItem("theme");
if (theme) root.dataset.theme = theme;

function turn() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  kept?.setItem("theme", root.dataset.theme);
}
document.getElementById("theme")?.addEventListener("click", turn);

let row = -1;
const rows = () => [...document.querySelectorAll("tbody tr")];
function go(step) {
  const all = rows();
  if (!all.length) return;
  row = Math.max(0, Math.min(all.length - 1, row + step));
  all.forEach((each, at) => each.classList.toggle("now", at === row));
  all[row].scrollIntoView({ block: "nearest" });
}
addEventListener("keydown", event => {
  if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const views = document.querySelectorAll("nav a");
  const keys = {
    "/": () => document.getElementById("filter")?.focus(), t: turn, j: () => go(1), k: () => go(-1),
    Enter: () => rows()[row]?.querySelector("a")?.click(),
  };
  const act = keys[event.key] ?? (/^[1-9]$/.test(event.key) && views[event.key - 1] ? () => views[event.key - 1].click() : null);
  if (!act || (event.key === "Enter" && row < 0)) return;
  event.preventDefault();
  act();
});

const main = document.getElementById("main"), live = document.getElementById("live");
let busy = false, again = false;
async function renew() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { "X-Part": "main" }, credentials: "same-origin" });
    // What one is typing into, or has marked to copy, stays.
    const held = (main.contains(document.activeElement) && document.activeElement.matches("input, select")) || main.querySelector("details[open]");
    if (answer.ok && !held && getSelection().isCollapsed) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      main.replaceChildren(...fresh.body.childNodes);
      if (row >= 0) go(0);
      main.dataset.renewed = Number(main.dataset.renewed ?? 0) + 1;
    }
  } catch { /* the next one may work */ }
  setTimeout(() => { busy = false; if (again) { again = false; renew(); } }, 1000);
}
if (main && live) {
  const source = new EventSource("/live");
  source.onopen = () => live.classList.add("on");
  source.onerror = () => live.classList.remove("on");
  source.addEventListener("calls", event => {
    live.classList.remove("beat");
    void live.offsetWidth;
    live.classList.add("on", "beat");
    live.textContent = `live, ${JSON.parse(event.data).calls} calls`;
    if (!document.hidden) renew();
  });
}
