import { fail } from "../common/errors.ts";
import { hintOf } from "../contract/spelling.ts";
import { formatIssues, type TaskIssue } from "../contract/task/issues.ts";
import { child, gives, type Place, refuse } from "../contract/task/place.ts";
import { openPlain } from "../contract/task/plain.ts";
import {
  filledText,
  integer,
  isMapping,
  type Reader,
  writtenText,
} from "../contract/task/readers.ts";
import { parseYaml } from "../contract/task/yaml-text.ts";

/** How to log in. Other fields than these are for control to judge, but for those that are misspelt. */
const login: Readonly<Record<string, Reader<unknown>>> = {
  user: filledText,
  identity_file: filledText,
  password: writtenText,
  port: integer({ min: 1, max: 65_535 }),
  proxy_jump: filledText,
};
const hostFields = { ...login, ip: filledText, host_key: filledText, drain: () => undefined };
const poolFields = { ...login, hosts: readHosts };

/**
 * The pools of a YAML text. Throws `UsageError` that names every mistake by its place in the file, as one of a task
 * is named.
 */
export function readPools(file: string, text: string): Readonly<Record<string, unknown>> {
  const yaml = parseYaml(text);
  const issues: TaskIssue[] = [...yaml.issues];
  const root = yaml.documents[0]?.contents ?? null;
  const value = issues.length > 0 ? {} : openPlain(yaml, issues)(root, []);
  const place: Place = { value, path: [], notes: { yaml, root, from: [], issues, warnings: [] } };
  if (isMapping(value)) for (const name of Object.keys(value)) readPool(child(place, name));
  else refuse(place, "must map names of pools to their fields: `lab: {hosts: [10.0.0.5]}`");
  if (issues.length === 0 && isMapping(value)) return value;
  const places = formatIssues(issues).replace(/^line (\d+), column (\d+)(?=: )/gm, `$1:$2`);
  const lines = places.split("\n").map((line) => `${file}:${line}`);
  return fail("UsageError", [`${file} cannot be used as it is:`, ...lines].join("\n"));
}

function readPool(place: Place): void {
  if (isMapping(place.value)) readKnown(place, poolFields);
  else refuse(place, "must be the fields of a pool: `{user: ana, hosts: [10.0.0.5]}`");
}

function readHosts(place: Place): undefined {
  if (!Array.isArray(place.value)) return refuse(place, "must be a list of hosts: [10.0.0.5]");
  for (const at of place.value.keys()) readHost(child(place, at));
}

function readHost(place: Place): void {
  if (!isMapping(place.value)) filledText(place);
  else if (readKnown(place, hostFields) && !gives(place, "ip")) refuse(place, "needs `ip`");
}

/** Reads the fields that are known; false where one is misspelt. */
function readKnown(place: Place, readers: Readonly<Record<string, Reader<unknown>>>): boolean {
  let isSpelled = true;
  for (const key of Object.keys(place.value ?? {})) {
    const hint = hintOf(key, Object.keys(readers), "");
    const reader = Object.hasOwn(readers, key) ? readers[key] : undefined;
    if (reader !== undefined) {
      if (gives(place, key)) reader(child(place, key));
    } else if (hint !== "") {
      isSpelled = false;
      refuse(child(place, key), `unknown field \`${key.slice(0, 40)}\`; ${hint}`);
    }
  }
  return isSpelled;
}
