// Filters operations while one types, "/" goes to the search, and a link opens what it names.
const search = document.querySelector("input");
const none = document.querySelector(".none");
const groups = [...document.querySelectorAll("section[data-group]")];
const filter = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
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
