import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");
const pages = globSync("**/*.md", {
  cwd: root,
  exclude: (path) => /(^|\/)(node_modules|dist|release|\.git)(\/|$)/.test(path),
});

/** The text of a page without its code, where brackets are no links. */
const proseOf = (page: string): string =>
  readFileSync(join(root, page), "utf8")
    .replaceAll(/^```[\s\S]*?^```$/gm, "")
    .replaceAll(/`[^`\n]*`/g, (code) => code.slice(1, -1).replaceAll(/[[\]]/g, " "));

/** The names that links to a page may end with, as GitHub makes them from headings. */
const anchorsOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .replaceAll(/\]\([^)]*\)/g, "")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

interface Link {
  readonly from: string;
  readonly path: string;
  readonly anchor: string;
}

const links: Link[] = pages.flatMap((from) =>
  [...proseOf(from).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [file = "", anchor = ""] = target.split("#");
    const path = file === "" ? from : relative(root, join(root, dirname(from), file));
    return [{ from, path, anchor }];
  }),
);

test("links between pages lead to files that are there", () => {
  assert.ok(links.length > 40, "no links were found");
  const dead = links.filter(({ path }) => !existsSync(join(root, path)));
  assert.deepEqual(dead, []);
});

test("links to a part of a page name one of its headings", () => {
  const dead = links.filter(
    ({ path, anchor }) => anchor !== "" && !anchorsOf(path).includes(anchor),
  );
  assert.deepEqual(dead, []);
});

test("a reader of the README finds every page of docs/ by links", () => {
  const found = new Set(["README.md"]);
  for (const from of found) for (const link of links) if (link.from === from) found.add(link.path);
  const lost = pages.filter((page) => page.startsWith("docs/") && !found.has(page));
  assert.deepEqual(lost, []);
});
