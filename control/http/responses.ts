import { type ErrorType, errorTypes } from "../../common/errors.ts";
import { isStored, type Operation } from "../../common/operation.ts";
import { headerNames } from "../../common/product.ts";
import { type Link, linksOf } from "./links.ts";
import type { RowShapes, Schema } from "./schemas.ts";

export type Content = Readonly<Record<string, { readonly schema: Schema }>>;

/** One answer of an operation, as OpenAPI describes it. */
export interface Answer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly schema: Schema }>>;
  readonly content?: Content;
  readonly links?: Readonly<Record<string, Link>>;
}

const schemaRef = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const text: Schema = { type: "string" };
const objectOf = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});

/** The shapes of errors. */
export const problems: Readonly<Record<string, Schema>> = {
  ErrorDetail: objectOf({ detail: text }),
  VersionMismatch: objectOf({ error: { const: "version_mismatch" }, message: text }),
  EncodedError: objectOf({ detail: { type: "object" } }),
  HTTPValidationError: objectOf({
    detail: { type: "array", items: schemaRef("ValidationError") },
  }),
  ValidationError: objectOf({
    type: text,
    loc: { type: "array", items: { type: ["string", "integer"] } },
    msg: text,
  }),
};

/** Every answer that an operation gives, by HTTP status. */
export function responsesOf(
  row: Operation,
  shapes: RowShapes,
  all: readonly Operation[],
  isBuilt: boolean,
): Record<string, Answer> {
  const success = { ...successes[row.mode](shapes), ...linksOf(row, all) };
  const { otherAnswers = {} } = row;
  const others = Object.entries(otherAnswers).map(([status, description]) => [
    status,
    { ...success, description },
  ]);
  return {
    [row.mode === "socket" ? "101" : "200"]: success,
    ...(row.mode === "page" ? withPages(refusalsOf(row, isBuilt)) : refusalsOf(row, isBuilt)),
    ...Object.fromEntries(others),
  };
}

const json = (schema: Schema): Content => ({ "application/json": { schema } });

const requestId = {
  headers: Object.fromEntries(headerNames("Request-ID").map((name) => [name, { schema: text }])),
};

const pages: Content = { "text/html": { schema: text }, "text/plain": { schema: text } };

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
  events: ({ output }) => ({
    description: "Events: the data of each is JSON of this shape, its id resumes the stream.",
    content: { "text/event-stream": { schema: eventOf(output) } },
  }),
  file: () => ({ description: "A zip.", content: { "application/zip": { schema: {} } } }),
  socket: () => ({ description: "The connection is a WebSocket from here on." }),
  page: () => ({
    description: "A page for browsers, or a line of text for programs.",
    content: pages,
  }),
};

/** An event as its fields are in the stream. Source: html.spec.whatwg.org, server-sent events. */
const eventOf = (data: Schema): Schema => ({
  type: "object",
  properties: {
    id: { type: "string" },
    data: { type: "string", contentMediaType: "application/json", contentSchema: data },
  },
});

/** What any operation may be refused for, whatever it does. */
const usual: readonly ErrorType[] = ["ValueError", "AuthenticationError", "PermissionDeniedError"];

/** Refusals at once; errors of a stored request come with its result. */
function refusalsOf(row: Operation, isBuilt: boolean): Record<string, Answer> {
  const { input, errors = [], encodesErrors = false } = row;
  const hasInput = [input.path, input.query, input.header, input.body, input.rawBody].some(Boolean);
  const hasBody = input.body !== undefined || input.rawBody !== undefined;
  const types = new Set([
    ...usual,
    ...(hasBody ? (["TooLargeError"] as const) : []),
    ...(isStored(row) || encodesErrors ? [] : errors),
    ...(isBuilt || isStored(row) ? [] : (["NotImplementedError"] as const)),
  ]);
  const byStatus = Object.groupBy([...types], (type) => String(errorTypes[type].http));
  const answers = Object.entries(byStatus).map(([status, types = []]) => [
    status,
    { ...refusal(types.join(", ")), ...(status === "401" && challenge) },
  ]);
  return {
    ...Object.fromEntries(answers),
    "400": {
      description: (encodesErrors ? errors : [...new Set(byStatus["400"])]).join(", "),
      content: json({
        anyOf: [
          schemaRef(encodesErrors ? "EncodedError" : "ErrorDetail"),
          schemaRef("VersionMismatch"),
        ],
      }),
    },
    ...(hasBody ? { "408": refusal("The body did not arrive in time.") } : {}),
    "431": refusal("The address and the headers are too long."),
    "503": refusal("Too many requests, or no capacity; try again later."),
    ...(hasInput ? { "422": invalid } : {}),
  };
}

/** Browsers are shown refusals as pages. */
const withPages = (answers: Record<string, Answer>): Record<string, Answer> =>
  Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [
      status,
      { ...answer, content: { ...answer.content, ...pages } },
    ]),
  );

const challenge = { headers: { "WWW-Authenticate": { schema: text } } };

const refusal = (description: string): Answer => ({
  description,
  content: json(schemaRef("ErrorDetail")),
});

const invalid: Answer = {
  description: "The input does not fit.",
  content: json(schemaRef("HTTPValidationError")),
};
