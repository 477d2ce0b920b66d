/** How pages for people look: one column beside a list of groups, one column on a phone. */
export const style = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#fcfbf8, #15171b);
  --raised: light-dark(#ffffff, #1c1f25);
  --ink: light-dark(#1d2025, #e4e3de);
  --faint: light-dark(#646a73, #989ea8);
  --line: light-dark(#e6e3da, #2b2f37);
  --accent: light-dark(#0b6e63, #5cc8b8);
  --get: light-dark(#1b62a5, #7db6ee);
  --post: light-dark(#0b6e63, #5cc8b8);
  --delete: light-dark(#ab2f2f, #f08c84);
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, monospace;
}
* { box-sizing: border-box; }
html { scroll-padding-top: 5rem; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
a { color: inherit; text-decoration: none; }
a:hover { color: var(--accent); }
code, .path { font-family: var(--mono); font-size: .875em; }
header { position: sticky; top: 0; z-index: 1; display: flex; gap: 1rem; align-items: baseline;
  padding: .75rem 1.5rem; background: var(--paper); border-bottom: 1px solid var(--line); }
h1 { margin: 0; font-size: 1.1rem; }
header small { color: var(--faint); }
input { flex: 1; max-width: 28rem; margin-left: auto; padding: .45rem .8rem; font: inherit;
  color: inherit; background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.columns { display: grid; grid-template-columns: 13rem minmax(0, 54rem); gap: 3rem;
  padding: 1.5rem 1.5rem 6rem; }
nav { position: sticky; top: 5rem; align-self: start; max-height: calc(100vh - 6rem);
  overflow: auto; font-size: .925rem; }
nav a { display: flex; justify-content: space-between; padding: .15rem 0; color: var(--faint); }
nav a:hover { color: var(--accent); }
nav span { font-variant-numeric: tabular-nums; opacity: .6; }
section { margin-bottom: 2.5rem; }
h2 { margin: 0 0 .6rem; font-size: 1.25rem; }
details { border-top: 1px solid var(--line); }
details:last-of-type { border-bottom: 1px solid var(--line); }
summary { display: grid; grid-template-columns: 4.2rem minmax(0, 1fr) minmax(0, 1.1fr);
  gap: .75rem; align-items: baseline; padding: .55rem .25rem; cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary:hover { background: var(--raised); }
.method { font: 600 .75rem var(--mono); letter-spacing: .03em; }
.get { color: var(--get); } .post { color: var(--post); } .put { color: var(--post); }
.delete { color: var(--delete); }
.path { overflow-wrap: anywhere; }
.says { color: var(--faint); font-size: .925rem; }
.more { padding: .5rem .25rem 1.75rem 5.2rem; font-size: .925rem; }
.more p { display: grid; grid-template-columns: 4.5rem minmax(0, 1fr); margin: .2rem 0; }
.more p.says { display: block; margin-top: .8rem; }
.more p.says a, .type a { text-decoration: underline; text-underline-offset: .2em;
  text-decoration-color: color-mix(in srgb, currentColor 40%, transparent); }
.more b { font-weight: 500; color: var(--faint); }
#shapes summary { display: block; }
#shapes .more { padding-left: .25rem; }
h3 { margin: 1.1rem 0 .3rem; font-size: .925rem; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; overflow-wrap: break-word; }
th, td { padding: .35rem .9rem .35rem 0; border-top: 1px solid var(--line);
  text-align: left; vertical-align: top; }
th { border: 0; font-size: .8rem; font-weight: 500; color: var(--faint); }
th { width: 38%; }
th:nth-child(2) { width: 24%; }
.type { color: var(--accent); }
.needed { color: var(--delete); font-size: .8em; }
.none { color: var(--faint); }
[hidden] { display: none !important; }
@media (max-width: 48rem) {
  header { flex-wrap: wrap; padding: .6rem 1rem; }
  input { flex-basis: 100%; max-width: none; }
  html { scroll-padding-top: 7rem; }
  .columns { display: block; padding: 1rem 1rem 4rem; }
  nav { display: none; }
  summary { grid-template-columns: 3.6rem minmax(0, 1fr); gap: .1rem .5rem; }
  .says { grid-column: 2; }
  .more { padding-left: .25rem; }
  table, tbody, td { display: block; }
  tr { display: flex; flex-wrap: wrap; gap: 0 .8rem; padding: .4rem 0;
    border-top: 1px solid var(--line); }
  tr:first-child { display: none; }
  td { padding: 0; border: 0; }
  td:last-child { flex-basis: 100%; }
}
`;

/** Filters operations while one types, "/" goes to the search, and a link opens what it names. */
export const script = `
const search = document.querySelector("input");
const none = document.querySelector(".none");
const groups = [...document.querySelectorAll("section[data-group]")];
const filter = () => {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  for (const group of groups) {
    const rows = [...group.querySelectorAll("details")];
    for (const row of rows) row.hidden = !words.every((word) => row.dataset.find.includes(word));
    group.hidden = rows.every((row) => row.hidden);
    shown += rows.filter((row) => !row.hidden).length;
  }
  none.hidden = shown > 0;
};
const open = () => {
  const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (row instanceof HTMLDetailsElement) row.open = true;
};
search.addEventListener("input", filter);
addEventListener("hashchange", open);
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === search) return;
  event.preventDefault();
  search.focus();
});
filter();
open();
`;
