import { globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const sizeOfGroup = 10;
/** Fewer files than this gain nothing by sharing a process. */
const fewestToGroup = 2 * sizeOfGroup;
/** Programs of these tests run for long, or take over the machine: each file has its own process. */
const alone = /^test\/(e2e|systemd)\//;
const folder = join(import.meta.dirname, ".groups");
/**
 * Tests begin once every file of the group is loaded: while one still starts what it needs, the runner
 * would take those before for all that there are, and clean up.
 */
const held = `import { test } from "node:test";
const loaded = Promise.withResolvers();
test("the files of the group are loaded", () => loaded.promise);
`;

for (const file of groupsOf(process.argv.slice(2))) console.log(file);

/**
 * The files to hand to `node --test` for some patterns. Neighbours share a process, because loading
 * control's modules costs more than most test files do: a group is a generated module that imports them.
 */
function groupsOf(patterns: string[]): string[] {
  const files = globSync(patterns).sort();
  if (files.length < fewestToGroup) return files;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const shared = files.filter((file) => !alone.test(file));
  const groups = Array.from({ length: Math.ceil(shared.length / sizeOfGroup) }, (_, index) =>
    writeGroup(index, shared.slice(index * sizeOfGroup, (index + 1) * sizeOfGroup)),
  );
  return [...files.filter((file) => alone.test(file)), ...groups];
}

function writeGroup(index: number, files: string[]): string {
  const path = join(folder, `${String(index + 1).padStart(2, "0")}.test.mjs`);
  const imports = files.map((file) => `await import(${JSON.stringify(resolve(file))});\n`);
  writeFileSync(path, [held, ...imports, "loaded.resolve();\n"].join(""));
  return path;
}
