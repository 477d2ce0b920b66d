import { Secret } from "../../common/secret.ts";
import { fillTemplate } from "../../contract/task/substitution.ts";
import { redactSecrets, type Task } from "../../contract/task.ts";
import { secretsOf, withoutValues } from "../task.ts";
import type { OpenVersion } from "./versions/task.ts";

/**
 * What must not be shown of a service although it may stand in `envs`, or in a header: the keys that
 * its probe carries and that its sidecar asks for.
 */

type Open = Pick<OpenVersion, "task" | "spec">;

/** What these say is no key. */
const harmlessHeaders = /^(accept(-\w+)*|cache-control|connection|content-type|host|user-agent)$/i;
/** The word before a key. Source: RFC 9110 section 11.4. */
const scheme = /^(basic|bearer|digest|negotiate|token)\s+/i;
/** Shorter ones are hidden where they are given, but they may well be words elsewhere. */
const tellingLength = 6;

/** The document as the user wrote it, without its secrets and keys. */
export function shownTask({ yaml, ...open }: Open & Pick<OpenVersion, "yaml">): string {
  const keys = keysOf(open);
  const envs = Object.entries(open.task.envs)
    .filter(([, value]) => isPartOf(value, keys))
    .map(([name]) => name);
  const text = redactSecrets(yaml, (path) => givesKey(path, envs));
  return withoutWords(text, [...keys, ...Object.values(secretsOf(open.task))]);
}

/** The task with what is a key among its secrets: so a node keeps it sealed, too. */
export function withSealedKeys({ task, spec }: Open): Task {
  const keys = keysOf({ task, spec });
  const isKey = ([, value]: [string, string]) => isPartOf(value, keys);
  const envs = Object.entries(task.envs);
  const sealed = envs.filter(isKey).map(([name, value]) => [name, new Secret(value)]);
  return {
    ...task,
    envs: Object.fromEntries(envs.filter((entry) => !isKey(entry))),
    secrets: { ...task.secrets, ...Object.fromEntries(sealed) },
  };
}

/** A text about a service as others may see it, without the values of secrets and keys. */
export const withoutKeys = (text: string, open: Open): string =>
  withoutWords(withoutValues(text, secretsOf(open.task)), keysOf(open));

/** The values of headers as they are and without their scheme, and the sidecar's key; longest first. */
function keysOf({ task, spec }: Open): string[] {
  const { headers } = fillTemplate(spec.probe.request, task.secrets);
  const values = Object.entries(headers)
    .filter(([name]) => !harmlessHeaders.test(name))
    .flatMap(([, value]) => [value, value.replace(scheme, "")]);
  const sidecar = spec.auth ? [fillTemplate(spec.auth, task.secrets).apiKey] : [];
  const keys = [...values, ...sidecar].map((key) => key.trim()).filter((key) => key !== "");
  return [...new Set(keys)].toSorted((a, b) => b.length - a.length);
}

/** Whether a variable is a key, or a telling part of one. */
const isPartOf = (value: string, keys: readonly string[]): boolean =>
  keys.some((key) => key === value || (value.length >= tellingLength && key.includes(value)));

/** Whether a place of the document gives a key, or what one is made of. */
function givesKey(path: readonly string[], envs: readonly string[]): boolean {
  const [room = "", part = "", field = "", header = ""] = path;
  if (room === "envs") return envs.includes(part);
  if (room !== "service") return false;
  if (part === "auth") return true;
  const isHeader = part === "readiness_probe" && field === "headers" && path.length === 4;
  return isHeader && !harmlessHeaders.test(header);
}

/** Without words that tell something, wherever they stand by themselves. */
const withoutWords = (text: string, words: readonly string[]): string =>
  words
    .filter(({ length }) => length >= tellingLength)
    .reduce((rest, word) => rest.replace(standingAlone(word), "[secret]"), text);

const standingAlone = (word: string): RegExp =>
  new RegExp(`(?<!\\w)${word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}(?!\\w)`, "g");
