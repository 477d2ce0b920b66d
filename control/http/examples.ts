import type { Schema } from "./schemas.ts";

/** What stands in a field, by its name: enough to try an operation out. */
const examples: Readonly<Record<string, unknown>> = {
  cluster: "dev",
  cluster_name: "dev",
  cluster_names: ["dev"],
  service_name: "hello",
  service_names: ["hello"],
  pool_name: "lab",
  job_id: 1,
  replica_id: 1,
  idle_minutes: 10,
  command: "echo hello",
};

/** What stands in a text of this format. */
const ofFormats: Readonly<Record<string, string>> = {
  task: "run: echo hello\n",
  "service-task": "service: {readiness_probe: /, ports: 8080}\nrun: python3 -m http.server $PORT\n",
  "pool-task": "pool: {workers: 1}\nsetup: pip install torch\n",
};

/** A schema with an example for each field that has one. */
export function withExamples(schema: Schema): Schema {
  if (schema.properties === undefined) return schema;
  const fields = Object.entries(schema.properties).map(([name, field]) => [
    name,
    withExample(name, field),
  ]);
  return { ...schema, properties: Object.fromEntries(fields) };
}

/** The schema of one field, with an example where there is one. */
export function withExample(name: string, field: Schema): Schema {
  const example = ofFormats[field.format ?? ""] ?? examples[name];
  return example === undefined || field.enum !== undefined
    ? field
    : { ...field, examples: [example] };
}
