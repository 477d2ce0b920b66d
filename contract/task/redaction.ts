import { isAlias, isMap, isPair, isScalar, isSeq, visit } from "yaml";
import { keyOf, parseYaml, type YamlText } from "./yaml-text.ts";

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Keys under which every value is a secret, at any depth. */
const secretKeys = ["secrets", "_docker_login_config"];
const originalKey = "_user_specified_yaml";
const unreadable = "# not shown: the text is not valid YAML, so its secrets cannot be found\n";

/** Whether what a document has at a path, by its keys, is a secret too. */
type Hides = (path: readonly string[]) => boolean;

/**
 * The text of a task with the values of its secrets, and what `hides` says, replaced by `[secret]`,
 * also inside the copy of the original text that existing clients send along. References to stored
 * secrets stay.
 */
export function redactSecrets(text: string, hides: Hides = () => false): string {
  const yaml = parseYaml(text);
  if (yaml.issues.length > 0) return unreadable;
  const shown: string[] = [];
  let done = 0;
  for (const edit of editsOf(yaml, text, hides).toSorted((a, b) => a.from - b.from)) {
    shown.push(text.slice(done, edit.from), edit.text);
    done = edit.to;
  }
  return [...shown, text.slice(done)].join("");
}

function editsOf(yaml: YamlText, text: string, hides: Hides): Edit[] {
  const edits = new Map<number, Edit>();
  for (const document of yaml.documents) {
    const anchors = anchorsOf(document);
    visit(document, {
      Pair(_, { key, value }, above) {
        const name = keyOf(key) ?? "";
        const path = [...above.filter(isPair).map((pair) => keyOf(pair.key) ?? ""), name];
        if (secretKeys.includes(name) || hides(path)) hide(value, text, anchors, edits);
        if (name === originalKey && isScalar(value))
          add(edits, text, value, redacted(value.value, hides));
      },
    });
  }
  return [...edits.values()];
}

const redacted = (value: unknown, hides: Hides) =>
  redactSecrets(typeof value === "string" ? value : "", hides);

function anchorsOf(document: YamlText["documents"][number]): Map<string, unknown> {
  const anchors = new Map<string, unknown>();
  visit(document, {
    Node(_, node) {
      if ("anchor" in node && node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return anchors;
}

/** Marks every scalar below a node; an alias hides what it stands for. */
function hide(
  node: unknown,
  text: string,
  anchors: Map<string, unknown>,
  edits: Map<number, Edit>,
): void {
  if (isMap(node)) for (const { value } of node.items) hide(value, text, anchors, edits);
  if (isSeq(node)) for (const item of node.items) hide(item, text, anchors, edits);
  if (isAlias(node)) {
    const target = anchors.get(node.source);
    anchors.delete(node.source);
    hide(target, text, anchors, edits);
  }
  if (isScalar(node) && node.value !== null && !String(node.value).startsWith("secrets:"))
    add(edits, text, node, "[secret]");
}

function add(
  edits: Map<number, Edit>,
  text: string,
  node: { range?: unknown },
  value: string,
): void {
  const [from = 0, to = 0] = Array.isArray(node.range) ? node.range : [];
  const lineEnd = text.slice(from, to).endsWith("\n") ? "\n" : "";
  edits.set(from, { from, to, text: JSON.stringify(value) + lineEnd });
}
