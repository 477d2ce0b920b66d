import { hash } from "node:crypto";
import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type ParsedNode,
  Parser,
  type Tags,
  type YAMLMap,
} from "yaml";
import { fieldOf, type IssueType, maxIssues, type Path, type TaskIssue } from "./issues.ts";
import { inOurWords } from "./yaml-words.ts";

/** No task of a person comes near these. What exceeds them is refused before it costs much. */
export const maxTextBytes = 512 * 1024;
const maxLexemes = 30_000;
const maxDepth = 100;

/** A YAML text, parsed into its documents, with the way back from a path to line and column. */
export interface YamlText {
  readonly documents: readonly Document.Parsed[];
  /** Why it cannot be read; empty when it can. */
  readonly issues: readonly TaskIssue[];
  issueAt(offset: number, path: Path, message: string, type: IssueType): TaskIssue;
  lineAt(offset: number): number;
}

/** More texts are not remembered, nor larger ones. */
const rememberedAtMost = 8;
const rememberedTextAtMost = 256 * 1024;
/** By digest, as texts have secrets. A text is read several times: for its tasks, in each pass over a job. */
const remembered = new Map<string, WeakRef<YamlText>>();

/**
 * Parses a text of one or more YAML documents; never throws, and never goes deeper than is safe. What is
 * returned is read and never changed: a text that was just read is not parsed again.
 */
export function parseYaml(text: string): YamlText {
  if (text.length > rememberedTextAtMost) return parseAnew(text);
  // In UTF-8, halves of characters would all be the same.
  const digest = hash("sha256", Buffer.from(text, "utf16le"));
  const known = remembered.get(digest)?.deref();
  if (known !== undefined) return known;
  const parsed = parseAnew(text);
  if (parsed.issues.length === 0) remember(digest, parsed);
  return parsed;
}

function remember(digest: string, parsed: YamlText): void {
  remembered.delete(digest);
  for (const oldest of remembered.keys()) {
    if (remembered.size < rememberedAtMost) break;
    remembered.delete(oldest);
  }
  remembered.set(digest, new WeakRef(parsed));
}

function parseAnew(text: string): YamlText {
  const lines = new LineCounter();
  const issueAt = (offset: number, path: Path, message: string, type: IssueType): TaskIssue => {
    const { line, col } = lines.linePos(offset);
    return {
      line: Math.max(line, 1),
      column: Math.max(col, 1),
      path,
      field: fieldOf(path),
      message,
      type,
    };
  };
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const refused = (offset: number, message: string): YamlText => ({
    documents: [],
    issues: [issueAt(offset, [], message, "too_large")],
    issueAt,
    lineAt,
  });

  if (Buffer.byteLength(text) > maxTextBytes)
    return refused(0, `the task is larger than ${maxTextBytes / 1024} KiB; move data into files`);
  const { documents, excess } = compose(text, lines);
  if (excess !== undefined) return refused(excess.offset, excess.message);
  const issues = errorsOf(documents).map(({ pos, message }) =>
    issueAt(pos[0], [], `not valid YAML: ${inOurWords(message)}`, "yaml_syntax"),
  );
  return { documents, issues: firstOfEachLine(issues), issueAt, lineAt };
}

interface Excess {
  readonly offset: number;
  readonly message: string;
}

/** The documents, or what the text has too much of: found before anything recurses into it. */
function compose(
  text: string,
  lines: LineCounter,
): { documents: Document.Parsed[]; excess: Excess | undefined } {
  const parser = new Parser(lines.addNewLine);
  let lexemes = 0;
  let excess: Excess | undefined;
  function* tokens() {
    lines.addNewLine(0);
    for (const lexeme of new Lexer().lex(text)) {
      yield* parser.next(lexeme);
      lexemes += 1;
      if (parser.stack.length <= maxDepth && lexemes <= maxLexemes) continue;
      const message = lexemes > maxLexemes ? tooMuch : tooDeep;
      excess = { offset: parser.offset, message };
      return;
    }
    yield* parser.end();
  }
  const documents = [...new Composer(yamlOptions).compose(tokens())];
  return { documents, excess };
}

const tooDeep = `the task is nested more than ${maxDepth} levels deep; make it flatter`;
const tooMuch = "the task has too many entries; move data into files";

const yamlOptions = {
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: "silent",
  customTags: numbersOfYaml11,
} as const;

/** Existing clients write `1e3` and `0o17` unquoted and mean text. Source: YAML 1.1 section 10.2.1. */
function numbersOfYaml11(tags: Tags): Tags {
  return tags.filter(
    (tag) => typeof tag === "string" || (tag.format !== "EXP" && tag.format !== "OCT"),
  );
}

const errorsOf = (documents: readonly Document.Parsed[]) =>
  documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]).slice(0, maxIssues);

/** What else is found on a line follows from the first mistake on it. */
const firstOfEachLine = (issues: readonly TaskIssue[]) =>
  issues.filter(({ line }, at) => issues.findIndex((one) => one.line === line) === at);

/** The entry that a path leads to: where it begins, and its value. Stops where the path ends early. */
export function findEntry(
  root: ParsedNode | null,
  path: Path,
): { offset: number; node: unknown; found: boolean } {
  let node: unknown = root;
  let offset = root?.range[0] ?? 0;
  for (const step of path) {
    const entry = entryOf(node, step);
    if (entry === undefined) return { offset, node, found: false };
    ({ offset, node } = { offset: entry.offset ?? offset, node: entry.node });
  }
  return { offset, node, found: true };
}

function entryOf(
  node: unknown,
  step: string | number,
): { offset: number | undefined; node: unknown } | undefined {
  if (isSeq(node)) {
    const item = typeof step === "number" ? node.items[step] : undefined;
    return item === undefined ? undefined : { offset: offsetOf(item), node: item };
  }
  const pair = isMap(node) ? pairsOf(node).get(step) : undefined;
  return pair && { offset: offsetOf(pair.key), node: pair.value };
}

type Pairs = ReadonlyMap<unknown, { key: unknown; value: unknown }>;

/** The pairs of a mapping by key, worked out once: places in large mappings are looked up one by one. */
const pairsByMap = new WeakMap<YAMLMap, Pairs>();

function pairsOf(map: YAMLMap): Pairs {
  const known = pairsByMap.get(map);
  if (known !== undefined) return known;
  // The first of equal keys counts.
  const pairs = new Map(map.items.toReversed().map((pair) => [keyOf(pair.key), pair]));
  pairsByMap.set(map, pairs);
  return pairs;
}

/** Where a node begins in the text. */
export function offsetOf(node: unknown): number | undefined {
  if (isScalar(node) || isMap(node) || isSeq(node) || isAlias(node)) return node.range?.[0];
  return undefined;
}

/**
 * The key of an entry as text, `null` for one that is null in any spelling; undefined when it has no
 * text: empty, a list, a mapping.
 */
export function keyOf(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined;
  if (key.value === null) return key.source ? String(null) : undefined;
  return typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
}
