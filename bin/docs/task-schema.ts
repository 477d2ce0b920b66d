import { headerReaders } from "../../contract/task/header.ts";
import { resourcesSchema } from "../../contract/task/resources.ts";
import { mapping } from "../../contract/task/schema.ts";
import { taskReaders } from "../../contract/task/task-fields.ts";
import { descriptionsOf } from "./task-page.ts";

/** A JSON Schema, as far as its fields are described here. */
interface Schema {
  readonly properties?: Record<string, Schema>;
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: Schema;
}

/** A JSON Schema of task files, for editors: each part of a document is a task or the header. */
export function taskSchema(): object {
  const { name: _, ...header } = headerReaders;
  const schema = {
    ...mapping({ ...taskReaders, ...header }),
    definitions: { resources: resourcesSchema },
  };
  const task: Schema & { definitions: { resources: Schema } } = structuredClone(schema);
  const { service, file_mounts: mounts } = task.properties ?? {};
  const [, probe] = service?.properties?.["readiness_probe"]?.anyOf ?? [];
  const [, storage] = mounts?.additionalProperties?.anyOf ?? [];
  describe(service, "`service`");
  describe(probe, "`service`");
  describe(storage, "Storage: a mapping under `file_mounts`", ["config"]);
  describe(task.definitions.resources, "`resources`");
  describe(task, "Several tasks in one document", Object.keys(taskReaders));
  describe(task, "Top level", Object.keys(header));
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    $comment: "Made from contract/task and docs/task.md by npm run docs.",
    title: "Outrigger task",
    ...task,
  };
}

/** Adds to the fields of a mapping, but for some, what a section of docs/task.md says about them. */
function describe(
  { properties = {} }: Schema = {},
  heading: string,
  but: readonly string[] = [],
): void {
  const names = Object.keys(properties).filter((name) => !but.includes(name));
  for (const [name, description] of Object.entries(descriptionsOf(heading, names)))
    properties[name] = { description, ...properties[name] } as Schema;
}
