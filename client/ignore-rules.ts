import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import ignore, { type Ignore } from "ignore";
import { readNamed } from "../common/files.ts";
import { product, protocol } from "../common/product.ts";

/** Which things below a folder stay behind. */
export interface IgnoreRules {
  /** Whether a file or folder stays behind; paths are absolute. */
  isLeftOut(path: string, isFolder: boolean): boolean;
  /** The rules within a folder below: its own ignore file joins in. */
  within(folder: string): IgnoreRules;
}

/** Files that take the place of git's rules for the folder they lie in. */
const ownNames = [product.word, protocol.requestPrefix].map((word) => `.${word}ignore`);
const gitName = ".gitignore";

/** An ignore file, and where it lies. */
interface Layer {
  readonly folder: string;
  readonly rules: Ignore;
}

/**
 * The rules of a folder: its own ignore file's where it has one, git's otherwise, the files that git
 * tracks excepted. A folder that git ignores as a whole has none.
 */
export async function rulesOf(folder: string): Promise<IgnoreRules> {
  const own = ownNames.map((name) => join(folder, name)).find(existsSync);
  if (own !== undefined) return only({ folder, rules: ignore().add(anywhere(own)) });
  const repository = findRepository(folder);
  const above = repository === undefined ? [] : gitLayersAbove(folder, repository);
  const isWhollyIgnored = isIgnoredBy(above, folder, true);
  const tracked = repository === undefined ? new Set<string>() : await trackedIn(folder);
  return gitRules(isWhollyIgnored ? [] : above, tracked).within(folder);
}

function only(layer: Layer): IgnoreRules {
  const rules: IgnoreRules = {
    isLeftOut: (path, isFolder) => isIgnoredBy([layer], path, isFolder),
    within: () => rules,
  };
  return rules;
}

const largestBytes = 1024 * 1024;
const rulesIn = (file: string): string => readNamed(file, { mostBytes: largestBytes }).toString();

/** Unlike in git, a pattern of several parts is meant at any depth unless it begins with a slash. */
const anywhere = (file: string): string[] =>
  rulesIn(file)
    .split("\n")
    .map((line) => (/^[^/!#].*\/./.test(line.trim()) ? `**/${line.trim()}` : line));

const gitRules = (layers: readonly Layer[], tracked: ReadonlySet<string>): IgnoreRules => ({
  isLeftOut: (path, isFolder) => !tracked.has(path) && isIgnoredBy(layers, path, isFolder),
  within: (folder) => gitRules([...layersIn(folder, gitName), ...layers], tracked),
});

/** The deepest file that has a rule for a path decides; all lie above it. */
function isIgnoredBy(layers: readonly Layer[], path: string, isFolder: boolean): boolean {
  for (const { folder, rules } of layers) {
    const name = path.slice(folder.length).replace(/^\/+/, "");
    // No rule is about the folder that it lies in.
    if (name === "") continue;
    const { ignored, unignored } = rules.test(isFolder ? `${name}/` : name);
    if (ignored || unignored) return ignored;
  }
  return false;
}

const layersIn = (folder: string, name: string, where = folder): Layer[] => {
  const file = join(where, name);
  return existsSync(file) ? [{ folder, rules: ignore().add(rulesIn(file)) }] : [];
};

/** From the folder above up to the repository, the deepest first. */
function gitLayersAbove(folder: string, repository: string): Layer[] {
  const layers: Layer[] = [];
  for (let at = folder; at !== repository; ) {
    at = dirname(at);
    layers.push(...layersIn(at, gitName));
  }
  return [...layers, ...layersIn(repository, "exclude", join(repository, ".git/info"))];
}

function findRepository(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return undefined;
  }
}

/** What git tracks although a rule says to ignore it, with the folders above; nothing without git. */
async function trackedIn(folder: string): Promise<Set<string>> {
  const words = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
  const { stdout } = await promisify(execFile)("git", ["-C", folder, ...words], {
    maxBuffer: 256 * 1024 * 1024,
  }).catch(() => ({ stdout: "" }));
  const paths = new Set<string>();
  for (const name of stdout.split("\0").filter(Boolean))
    for (let path = join(folder, name); path !== folder; path = dirname(path)) paths.add(path);
  return paths;
}
