import type { ErrorType } from "../../common/errors.ts";
import { accesses, modes, type Operation, routeOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { groupOf } from "../../contract/api.ts";
import { type Answer, type Content, problems, responsesOf } from "./responses.ts";
import { type RowShapes, type Schema, shapesOf } from "./schemas.ts";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Schema;
}

/** One operation of the document; our own keys begin with `x-`. */
export interface DocumentedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly "x-group": string;
  readonly "x-mode": Operation["mode"];
  readonly "x-access": Operation["access"];
  readonly "x-result": Schema;
  readonly "x-errors": readonly ErrorType[];
}

export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** What the tags of the protocol mean. */
const tags: Readonly<Record<string, string>> = {
  jobs: "Managed jobs and the pools they run on.",
  serve: "Services and their replicas.",
  users: "Users, service accounts and their tokens.",
  workspaces: "Workspaces and the configuration of control.",
  volumes: "Volumes.",
  ssh_node_pools: "Machines that are reached over SSH.",
  recipes: "Tasks that users keep and share.",
};
const tagOf = (row: Operation): string => groupOf(row).tag;
const describe = (tag: string): string => tags[tag] ?? `${tag}.`;

const defaultServer = "http://127.0.0.1:46580";

/** Describes operations as OpenAPI 3.1.0; named shapes stand under components. */
export function openApiDocument(
  rows: readonly Operation[],
  isBuilt: (row: Operation) => boolean = () => true,
): OpenApiDocument {
  const shapes = shapesOf(rows);
  const bodies = Object.entries(shapes.named).map(([name, shape]) => [name, withExamples(shape)]);
  const named: Record<string, Schema> = Object.fromEntries(bodies);
  const paths: Record<string, Record<string, DocumentedOperation>> = {};
  for (const row of rows) {
    const { method, path } = routeOf(row);
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: {
        ...documented(row, shapes.of(row)),
        responses: responsesOf(row, shapes.of(row), rows, isBuilt(row)),
      },
    };
  }
  return {
    openapi: "3.1.0",
    info: { title: product.title, version: product.version },
    servers: [{ url: defaultServer, description: "Where control listens if not told otherwise." }],
    tags: [...new Set(rows.map(tagOf))].map((name) => ({ name, description: describe(name) })),
    paths,
    components: { schemas: { ...named, ...problems } },
  };
}

function documented(row: Operation, shapes: RowShapes): Omit<DocumentedOperation, "responses"> {
  const places = ["path", "query", "header"] as const;
  const parameters = places.flatMap((place) => parametersIn(place, shapes[place]));
  const body = bodyOf(row, shapes);
  return {
    operationId: row.name,
    tags: [tagOf(row)],
    summary: row.summary,
    description: `Answer: ${modes[row.mode]}. Access: ${accesses[row.access]}.`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    "x-group": groupOf(row).title,
    "x-mode": row.mode,
    "x-access": row.access,
    "x-result": shapes.output,
    "x-errors": row.errors ?? [],
  };
}

const parametersIn = (place: Parameter["in"], fields: Schema = {}): Parameter[] =>
  Object.entries(fields.properties ?? {}).map(([name, schema]) => ({
    name,
    in: place,
    required: fields.required?.includes(name) ?? false,
    schema: withExample(name, withoutNull(schema)),
  }));

/** What is not given in a path, query or header is not there: null cannot be sent. */
function withoutNull({ anyOf, default: fallback, ...schema }: Schema): Schema {
  const [only, ...others] = (anyOf ?? []).filter(({ type }) => type !== "null");
  const kinds = others.length > 0 ? { anyOf: [only as Schema, ...others] } : only;
  return {
    ...kinds,
    ...schema,
    ...(fallback !== undefined && fallback !== null && { default: fallback }),
  };
}

function bodyOf(
  { input }: Operation,
  shapes: RowShapes,
): DocumentedOperation["requestBody"] | undefined {
  if (input.rawBody !== undefined)
    return { required: true, content: { [input.rawBody]: { schema: {} } } };
  if (shapes.body === undefined) return undefined;
  const content = { "application/json": { schema: shapes.body } };
  return { required: input.bodyOptional !== true, content };
}

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
function withExamples(schema: Schema): Schema {
  if (schema.properties === undefined) return schema;
  const fields = Object.entries(schema.properties).map(([name, field]) => [
    name,
    withExample(name, field),
  ]);
  return { ...schema, properties: Object.fromEntries(fields) };
}

/** The schema of one field, with an example where there is one. */
function withExample(name: string, field: Schema): Schema {
  const example = ofFormats[field.format ?? ""] ?? examples[name];
  return example === undefined || field.enum !== undefined
    ? field
    : { ...field, examples: [example] };
}
