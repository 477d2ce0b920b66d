import { hookEvents } from "../../contract/hooks.ts";
import { groups } from "../../contract/task/config.ts";
import type { readers as headerReaders } from "../../contract/task/header.ts";
import { hookLimits } from "../../contract/task/hooks.ts";
import type { taskReaders } from "../../contract/task/task-fields.ts";
import { descriptionsOf } from "./task/page.ts";
import { resourceRows } from "./task/resources.ts";
import { poolRows, serviceFields } from "./task/service.ts";
import {
  anything,
  choice,
  either,
  fields,
  flag,
  integer,
  listOf,
  mapOf,
  number,
  type Schema,
  script,
  text,
  type Written,
} from "./task/shapes.ts";
import { storageRows, volume } from "./task/storage.ts";

const variables = mapOf({ type: ["string", "number", "boolean", "null"] });
const data: Schema = {
  ...mapOf(number({ minimum: 0 })),
  minProperties: 1,
  maxProperties: 1,
};
const hook = fields(
  {
    run: text,
    events: { ...listOf({ enum: hookEvents }), minItems: 1, uniqueItems: true },
    timeout: integer(1, hookLimits.timeoutAtMostSeconds),
  },
  ["run"],
);
const config = fields({
  ...Object.fromEntries(
    Object.entries(groups).map(([group, keys]) => [
      group,
      fields(Object.fromEntries(keys.map((key) => [key, anything]))),
    ]),
  ),
  active_workspace: text,
  hooks: { ...listOf(hook), maxItems: hookLimits.hooks },
});
const storage = fields(
  storageRows,
  [],
  descriptionsOf(
    "Storage: a mapping under `file_mounts`",
    Object.keys(storageRows).filter((name) => name !== "config"),
  ),
);

/** The fields of a task. One that is read and has no row here does not compile. */
const taskRows = {
  name: { type: "string", pattern: "^[\\w.-]+$" },
  workdir: either(text, fields({ url: text, ref: text }, ["url"])),
  num_nodes: integer(1, 10_000),
  resources: { $ref: "#/definitions/resources" },
  file_mounts: mapOf(either(text, storage)),
  volumes: mapOf(either(text, volume)),
  envs: variables,
  secrets: either(variables, listOf(text)),
  managed_secrets: listOf(either(text, mapOf(fields({ mount_path: text }, ["mount_path"])))),
  setup: script,
  run: script,
  service: serviceFields,
  pool: either(text, fields(poolRows)),
  config,
  event_callback: text,
  inputs: data,
  outputs: data,
  api_server_access: flag,
} satisfies Record<
  Written<typeof taskReaders, "hooks" | "file_mounts_mapping" | "volume_mounts">,
  Schema
>;

const delay: Schema = { type: ["integer", "string"] };
const headerRows = {
  execution: choice("serial", "parallel"),
  primary_tasks: listOf(text),
  termination_delay: either(delay, mapOf(delay)),
} satisfies Record<Written<typeof headerReaders, "name">, Schema>;

/** A JSON Schema of task files, for editors: each part of a document is a task or the header. */
export function taskSchema(): Schema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    $comment: "Made from contract/task and docs/task.md by npm run docs.",
    title: "Outrigger task",
    ...fields({ ...taskRows, ...headerRows }, [], {
      ...descriptionsOf("Top level", Object.keys(taskRows)),
      ...descriptionsOf("Several tasks in one document", Object.keys(headerRows)),
    }),
    definitions: {
      resources: fields(resourceRows, [], descriptionsOf("`resources`", Object.keys(resourceRows))),
    },
  };
}
