import { isAlias, isMap, isScalar, isSeq, type ParsedNode } from "yaml";
import { maxIssues, type Path, type TaskIssue } from "./issues.ts";
import { keyOf, offsetOf, type YamlText } from "./yaml-text.ts";

/** Aliases are counted as often as they are used, so no small text grows without end. */
const maxNodes = 20_000;
const maxDepth = 100;

interface Walk {
  readonly yaml: YamlText;
  readonly issues: TaskIssue[];
  readonly anchors: Map<string, unknown>;
  /** What all documents of the text have taken. */
  readonly spent: { nodes: number };
}

/**
 * Gives the plain data of parsed YAML documents, aliases and merge keys resolved. What it finds wrong
 * (keys given twice, unknown aliases, too much data in all) it adds to `issues` and goes on.
 */
export function openPlain(yaml: YamlText, issues: TaskIssue[]) {
  const spent = { nodes: 0 };
  return (root: ParsedNode | null, path: Path): unknown =>
    plainOf({ yaml, issues, anchors: new Map(), spent }, root, path, 0);
}

function plainOf(walk: Walk, node: unknown, path: Path, depth: number): unknown {
  walk.spent.nodes += 1;
  if (isSpent(walk, node, depth)) return undefined;
  if (isAlias(node)) return aliased(walk, node.source, node, path, depth);
  const value = ownValue(walk, node, path, depth);
  if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined)
    walk.anchors.set(node.anchor, node);
  return value;
}

function ownValue(walk: Walk, node: unknown, path: Path, depth: number): unknown {
  if (isMap(node)) return mappingOf(walk, node.items, path, depth);
  if (isSeq(node))
    return node.items.map((item, at) => plainOf(walk, item, [...path, at], depth + 1));
  if (!isScalar(node)) return null;
  const { value } = node;
  const isPlain = value === null || ["string", "number", "boolean"].includes(typeof value);
  const plain = isPlain ? value : (node.source ?? "");
  if (typeof plain === "string") refuseUnwritable(walk, plain, node, path);
  return plain;
}

/** Neither a file name, a variable nor a script can hold these; nor can a log show them. */
function refuseUnwritable(walk: Walk, text: string, node: unknown, path: Path): void {
  const what = text.includes("\0")
    ? "a NUL character"
    : text.isWellFormed()
      ? ""
      : "half a character";
  if (what !== "") note(walk, node, path, `holds ${what}; leave it out`, "value_error");
}

/** Says once that there is too much, and from then on stops every branch. */
function isSpent(walk: Walk, node: unknown, depth: number): boolean {
  if (walk.spent.nodes <= maxNodes && depth <= maxDepth) return false;
  if (walk.spent.nodes !== Number.POSITIVE_INFINITY)
    note(walk, node, [], "the task holds too much data; move data into files", "too_large");
  walk.spent.nodes = Number.POSITIVE_INFINITY;
  return true;
}

function aliased(walk: Walk, name: string, node: unknown, path: Path, depth: number): unknown {
  if (walk.anchors.has(name)) return plainOf(walk, walk.anchors.get(name), path, depth + 1);
  note(walk, node, path, `nothing above is marked \`&${name.slice(0, 40)}\``, "value_error");
  return undefined;
}

function mappingOf(
  walk: Walk,
  pairs: readonly { key: unknown; value: unknown }[],
  path: Path,
  depth: number,
): Record<string, unknown> {
  const own = new Map<string, unknown>();
  const merged = new Map<string, unknown>();
  const firstAt = new Map<string, unknown>();
  for (const { key, value } of pairs) {
    if (walk.issues.length >= maxIssues) break;
    const name = keyOf(key);
    if (name === undefined) note(walk, key, path, "a key must be plain text", "type_error");
    else if (/\0/.test(name) || !name.isWellFormed()) refuseUnwritable(walk, name, key, path);
    else if (isMerge(key)) mergeInto(walk, merged, value, path, depth);
    else if (own.has(name)) noteTwice(walk, name, firstAt.get(name), key, path);
    else {
      firstAt.set(name, key);
      own.set(name, plainOf(walk, value, [...path, name], depth + 1));
    }
  }
  // From entries, a key `__proto__` becomes a key like any other.
  return Object.fromEntries(new Map([...merged, ...own]));
}

const isMerge = (key: unknown) => isScalar(key) && key.value === "<<" && key.type === "PLAIN";

/** The first of several merged mappings wins. Source: YAML merge key, draft of 2005-01-18. */
function mergeInto(
  walk: Walk,
  merged: Map<string, unknown>,
  node: unknown,
  path: Path,
  depth: number,
): void {
  const value = plainOf(walk, node, path, depth + 1);
  for (const mapping of Array.isArray(value) ? value : [value]) {
    if (mapping === undefined) continue;
    if (typeof mapping !== "object" || mapping === null || Array.isArray(mapping)) {
      note(walk, node, path, "`<<` takes a mapping, or a list of them", "type_error");
      return;
    }
    for (const [name, item] of Object.entries(mapping))
      if (!merged.has(name)) merged.set(name, item);
  }
}

function noteTwice(walk: Walk, name: string, first: unknown, second: unknown, path: Path): void {
  const lines = [first, second].map((key) => walk.yaml.lineAt(offsetOf(key) ?? 0));
  const where =
    lines[0] === lines[1] ? `twice on line ${lines[0]}` : `on lines ${lines.join(" and ")}`;
  const message = `\`${name.slice(0, 40)}\` is given ${where}; keep one of them`;
  note(walk, second, [...path, name], message, "duplicate_key");
}

function note(walk: Walk, node: unknown, path: Path, message: string, type: TaskIssue["type"]) {
  if (walk.issues.length < maxIssues)
    walk.issues.push(walk.yaml.issueAt(offsetOf(node) ?? 0, path, message, type));
}
