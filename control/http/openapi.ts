import { type ErrorType, errorTypes } from "../../common/errors.ts";
import { accesses, isStored, modes, type Operation, routeOf } from "../../common/operation.ts";
import { headerNames, product } from "../../common/product.ts";
import { groupOf } from "../../contract/api.ts";
import { type RowShapes, type Schema, shapesOf } from "./schemas.ts";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Answer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly schema: Schema }>>;
  readonly content?: Content;
}

/** One operation of the document; our own keys begin with `x-`. */
export interface DocumentedOperation {
  readonly operationId: string;
  readonly tags?: readonly string[];
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
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const tags = [
  { name: "jobs", description: "Managed jobs and the pools they run on." },
  { name: "serve", description: "Services and their replicas." },
  { name: "users", description: "Users, service accounts and their tokens." },
  { name: "workspaces", description: "Workspaces and the configuration of control." },
  { name: "volumes", description: "Volumes." },
  { name: "ssh_node_pools", description: "Machines that are reached over SSH." },
  { name: "recipes", description: "Tasks that users keep and share." },
];

const schemaRef = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const text: Schema = { type: "string" };

const problems: Record<string, Schema> = {
  ErrorDetail: { type: "object", properties: { detail: text }, required: ["detail"] },
  EncodedError: {
    type: "object",
    properties: {
      detail: {
        type: "object",
        properties: {
          type: text,
          own_type: text,
          message: text,
          args: { type: "array" },
          attributes: { type: "object" },
          stacktrace: { type: "null" },
        },
        required: ["type", "message", "args", "attributes"],
      },
    },
    required: ["detail"],
  },
  HTTPValidationError: {
    type: "object",
    properties: { detail: { type: "array", items: schemaRef("ValidationError") } },
    required: ["detail"],
  },
  ValidationError: {
    type: "object",
    properties: {
      type: text,
      loc: { type: "array", items: { type: ["string", "integer"] } },
      msg: text,
      input: {},
      ctx: { type: "object" },
    },
    required: ["type", "loc", "msg"],
  },
};

/** Describes operations as OpenAPI 3.1.0; named shapes stand under components. */
export function openApiDocument(rows: readonly Operation[]): OpenApiDocument {
  const shapes = shapesOf(rows);
  const paths: Record<string, Record<string, DocumentedOperation>> = {};
  for (const row of rows) {
    const { method, path } = routeOf(row);
    paths[path] = { ...paths[path], [method.toLowerCase()]: documented(row, shapes.of(row)) };
  }
  return {
    openapi: "3.1.0",
    info: { title: product.title, version: product.version },
    tags: tags.filter(({ name }) => rows.some(({ tag }) => tag === name)),
    paths,
    components: { schemas: { ...shapes.named, ...problems } },
  };
}

function documented(row: Operation, shapes: RowShapes): DocumentedOperation {
  const parameters = [...parametersIn("path", shapes.path), ...parametersIn("query", shapes.query)];
  const body = bodyOf(row, shapes);
  return {
    operationId: row.name,
    ...(row.tag === undefined ? {} : { tags: [row.tag] }),
    summary: row.summary,
    description: `Answer: ${modes[row.mode]}. Access: ${accesses[row.access]}.`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      [row.mode === "socket" ? "101" : "200"]: successOf(row, shapes),
      ...refusalsOf(row),
      ...(parameters.length > 0 || body !== undefined ? { "422": invalid } : {}),
    },
    "x-group": groupOf(row),
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
    schema,
  }));

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

const requestId = {
  headers: Object.fromEntries(headerNames("Request-ID").map((name) => [name, { schema: text }])),
};

/** What each mode answers when all is well. */
const successes: Record<Operation["mode"], (shapes: RowShapes) => Answer> = {
  sync: ({ output }) => ({ description: "The result.", content: json(output) }),
  async: () => ({
    description: "Stored. The header has the id with which /api/get gives the result.",
    ...requestId,
    content: json({ type: "null" }),
  }),
  receipt: ({ receipt }) => ({
    description: "Stored. Header and body have the id with which /api/get gives the result.",
    ...requestId,
    content: json(receipt),
  }),
  log: () => ({
    description: "The log, as it is written; /api/get gives the result.",
    ...requestId,
    content: { "text/plain": { schema: text } },
  }),
  stream: () => ({ description: "Text.", content: { "text/plain": { schema: text } } }),
  file: () => ({ description: "A zip.", content: { "application/zip": { schema: {} } } }),
  page: () => ({ description: "A page.", content: { "text/html": { schema: text } } }),
  socket: () => ({ description: "The connection is a WebSocket from here on." }),
};

const successOf = (row: Operation, shapes: RowShapes): Answer => successes[row.mode](shapes);

const json = (schema: Schema): Content => ({ "application/json": { schema } });

const invalid: Answer = {
  description: "The input does not fit.",
  content: json(schemaRef("HTTPValidationError")),
};

/** Errors that are answered at once; those of a stored request come with its result. */
function refusalsOf(row: Operation): Record<string, Answer> {
  const { errors = [], encodesErrors = false } = row;
  if (isStored(row)) return {};
  if (encodesErrors)
    return { "400": { description: errors.join(", "), content: json(schemaRef("EncodedError")) } };
  const byStatus = Object.groupBy(errors, (type) => String(errorTypes[type].http));
  const answers = Object.entries(byStatus).map(([status, types = []]) => [
    status,
    { description: types.join(", "), content: json(schemaRef("ErrorDetail")) },
  ]);
  return Object.fromEntries(answers);
}
