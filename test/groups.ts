import { globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Fewer files than this gain nothing by sharing a process. */
const fewestToGroup = 20;
/** Programs of these tests run for long, or take over the machine: each file has its own process. */
const alone = /^test\/(e2e|systemd|kubernetes|slurm)\//;
const startsProcesses = /\.process\.test\./;
const folder = resolve("test/.groups");

interface Kind {
  readonly name: string;
  readonly has: (file: string) => boolean;
  readonly intoGroups: (files: string[]) => string[][];
  /** What each of its groups imports first. */
  readonly first: readonly string[];
}

const helper = (name: string) => join(import.meta.dirname, `helpers/${name}.ts`);

/** Neighbours together, because they load the same modules. */
const bySize = (size: number) => (files: string[]) =>
  Array.from({ length: Math.ceil(files.length / size) }, (_, at) =>
    files.slice(at * size, (at + 1) * size),
  );

/** Neighbours apart, because they take equally long, so that all groups do: none is left at the end alone. */
const byNumber = (number: number) => (files: string[]) =>
  Array.from({ length: Math.min(number, files.length) }, (_, at) =>
    files.filter((_, index) => index % number === at),
  );

/** Files that share processes. */
const kinds: readonly Kind[] = [
  {
    name: "process",
    has: (file) => startsProcesses.test(file) && !alone.test(file),
    intoGroups: bySize(10),
    first: [helper("untracked")],
  },
  {
    name: "unit",
    has: (file) => !startsProcesses.test(file) && !alone.test(file),
    // Tests wait about as long as they compute: with so many, two cores have work all the time.
    intoGroups: byNumber(6),
    first: [helper("untracked"), helper("no-processes")],
  },
];
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
 * The files to hand to `node --test` for some patterns. Files share a process, because loading control's
 * modules costs more than most test files do: a group is a generated module that imports them.
 */
function groupsOf(patterns: string[]): string[] {
  // The rooms that take longest begin first.
  const files = globSync(patterns).sort().reverse();
  if (files.length < fewestToGroup) return files;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const groups = kinds.flatMap((kind) => writeGroups(kind, files.filter(kind.has)));
  return [...files.filter((file) => alone.test(file)), ...groups];
}

function writeGroups({ name, intoGroups, first }: Kind, files: string[]): string[] {
  return intoGroups(files).map((members, at) => {
    const path = join(folder, `${name}-${String(at + 1).padStart(2, "0")}.test.mjs`);
    const prelude = first.map((module) => `import ${JSON.stringify(module)};\n`);
    const imports = members.map((file) => `await import(${JSON.stringify(resolve(file))});\n`);
    writeFileSync(path, [...prelude, held, ...imports, "loaded.resolve();\n"].join(""));
    return path;
  });
}
