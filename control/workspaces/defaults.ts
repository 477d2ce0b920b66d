import { type Document, isMap, parseAllDocuments } from "yaml";
import { tasksOf } from "../../contract/task/header.ts";
import type { Ground } from "../ground.ts";
import { policyOf } from "./schema.ts";

/** Keys that say the same thing in different ways: whoever names one has said it. */
const sameThing: readonly (readonly string[])[] = [
  ["infra", "cloud", "region", "zone"],
  ["accelerators", "instance_type"],
  ["use_spot", "spot_recovery"],
];

/**
 * The text of a task with the resources that its workspace gives to tasks which do not name them. What
 * one of its alternatives names is the task's own as well. A text that cannot be read stays as it is.
 */
export async function withDefaults(ctx: Ground, workspace: string, yaml: string): Promise<string> {
  const { document } = await ctx.configurations.current();
  const defaults = Object.entries(policyOf(document, workspace).resources);
  if (defaults.length === 0) return yaml;
  const documents = [...parseAllDocuments(yaml, { merge: true })] as Document[];
  if (documents.length === 0 || documents.some(({ errors }) => errors.length > 0)) return yaml;
  for (const task of tasksOf(documents)) addTo(task, defaults);
  return documents.map(String).join("---\n");
}

function addTo(task: Document, defaults: readonly (readonly [string, unknown])[]): void {
  const { resources } = (task.toJS() ?? {}) as { resources?: Readonly<Record<string, unknown>> };
  const has = namedIn(resources ?? {});
  if (!isMap(task.get("resources"))) task.set("resources", task.createNode(resources ?? {}));
  for (const [key, value] of defaults) {
    const twins = sameThing.find((keys) => keys.includes(key)) ?? [key];
    if (!twins.some((one) => has.includes(one))) task.setIn(["resources", key], value);
  }
}

/** The keys of resources and of their alternatives. */
function namedIn({ any_of, ordered, ...own }: Readonly<Record<string, unknown>>): string[] {
  const alternatives = [any_of ?? [], ordered ?? []].flat();
  return [...Object.keys(own), ...alternatives.flatMap((one) => Object.keys(one ?? {}))];
}
