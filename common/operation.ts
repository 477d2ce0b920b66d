import type * as z from "zod";
import type { ErrorType } from "./errors.ts";

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** How an operation answers. */
export const modes = {
  sync: "the answer is the result",
  async: "stored as a request and answered at once with its id; /api/get has the result",
  receipt: "as async, and the body repeats the id",
  log: "stored as a request whose text is streamed in the answer; /api/get has its exit code",
  stream: "text, streamed; nothing is stored",
  events: "server-sent events; the data of each is a result",
  file: "bytes",
  page: "a page for browsers",
  socket: "a WebSocket",
} as const;
export type Mode = keyof typeof modes;

/** The protocol that a caller of a `stream` row may upgrade to: what is streamed, without HTTP around it. */
export const bareStream = "stream";

/** Modes whose calls are stored as requests, which other calls find by their id. */
export const storedModes = ["async", "receipt", "log"] as const satisfies Mode[];
export type StoredMode = (typeof storedModes)[number];

/** Whether the requests of a row only read: they live in memory, and a restart of control forgets them. */
export const isRead = ({ mode, reads }: Pick<Operation, "mode" | "reads">): boolean =>
  reads === true || mode === "log";

/** Whether calls of a row are stored as requests. */
export const isStored = ({ mode }: Pick<Operation, "mode">): boolean =>
  (storedModes as readonly Mode[]).includes(mode);

/** The least role that a caller needs to call an operation. */
export const accesses = {
  open: "everyone, without logging in",
  viewer: "viewers, users and admins",
  user: "users and admins",
  admin: "admins",
} as const;
export type Access = keyof typeof accesses;

/** Whether calls of a row are in the audit log; those that are refused always are. */
export const isAudited = ({ access, audited }: Pick<Operation, "access" | "audited">): boolean =>
  audited ?? (access === "user" || access === "admin");

/** Where the fields of an input travel. A handler sees them as one flat object. */
export interface Input {
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Headers by their names in lower case; our clients send none of them. */
  readonly header?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** The body may be left out altogether. */
  readonly bodyOptional?: boolean;
  /** The body is not JSON but this content type, handed over as a stream. */
  readonly rawBody?: string;
}

/** One operation of an HTTP API; routes, checks, documents and clients derive from such rows. */
export interface Operation {
  /** Its name, dotted and unique: `jobs.launch`. */
  readonly name: string;
  /** The name its stored requests carry on the wire, where two rows share one. */
  readonly requestName?: string;
  readonly route: `${Method} /${string}`;
  readonly mode: Mode;
  /** Which queue a stored request waits in: `short`, unless the work is slow. */
  readonly queue?: "long" | "short";
  readonly summary: string;
  readonly access: Access;
  /**
   * The objects that a call is about: by their noun, the field of the input that names one. What its
   * owner or workspace adds to `access` is a rule of the noun.
   */
  readonly about?: Readonly<Record<string, string>>;
  /** Whether calls are in the audit log; absent, they are where viewers may not make them. */
  readonly audited?: boolean;
  readonly input: Input;
  readonly output: z.ZodType;
  readonly errors?: readonly ErrorType[];
  /** Existing clients read the result of this log only if they follow it; an error is text to the others. */
  readonly resultNeedsFollow?: true;
  /** It changes nothing, as a log never does: see `isRead`. */
  readonly reads?: true;
  /** Its answer stays open: callers upgrade to `bareStream`, which takes a fifth of the memory. */
  readonly staysOpen?: true;
  /** Its errors are answered 400, encoded as those of stored requests are. */
  readonly encodesErrors?: true;
  /** Existing clients print the body of its refusals as it is. */
  readonly printsErrors?: true;
  /** What it answers with another HTTP status than 200 and is no refusal, by that status. */
  readonly otherAnswers?: Readonly<Record<number, string>>;
}

type FieldsOf<T> = T extends z.ZodObject ? z.output<T> : unknown;
type GivenOf<T> = T extends z.ZodObject ? z.input<T> : unknown;
type Part<I, K extends string> = K extends keyof I ? I[K] : undefined;

/** The checked input of an operation, as its handler sees it. */
export type InputOf<Op extends Operation> = FieldsOf<Part<Op["input"], "path">> &
  FieldsOf<Part<Op["input"], "query">> &
  FieldsOf<Part<Op["input"], "header">> &
  FieldsOf<Part<Op["input"], "body">>;

/** What a caller passes: as `InputOf`, but fields with defaults may be left out. */
export type GivenInputOf<Op extends Operation> = GivenOf<Part<Op["input"], "path">> &
  GivenOf<Part<Op["input"], "query">> &
  GivenOf<Part<Op["input"], "body">>;

/** What an operation answers. */
export type OutputOf<Op extends Operation> = z.output<Op["output"]>;

/** What a row is that says nothing else. */
const usual = { mode: "sync", input: {} } as const;
type Usual = typeof usual;
type Declared = Omit<Operation, keyof Usual> & Partial<Pick<Operation, keyof Usual>>;

type With<Row, More> = Row extends object ? Row & Omit<More, keyof Row> : never;
type Named<Row, More> = With<Row, With<More, Usual>>;
type Rows = Record<string, Omit<Declared, "name"> & Partial<Declared>>;

/** Declares the rows of an API, keeping their exact types. The name of one that has none is its key in snake case, after the prefix. */
export const operationsOf = <const Own extends Rows>(prefix: string, rows: Own) =>
  namedBy(rows, (key) => ({ name: nameOf(prefix, key) })) as {
    readonly [Key in keyof Own]: Named<Own[Key], { readonly name: string }>;
  };

/** The same for rows that are stored as requests: `async` unless they say otherwise. */
export const requestsOf = <const Own extends Rows>(prefix: string, rows: Own) =>
  namedBy(rows, (key) => ({ name: nameOf(prefix, key), mode: "async" })) as {
    readonly [Key in keyof Own]: Named<Own[Key], { readonly name: string; readonly mode: "async" }>;
  };

const nameOf = (prefix: string, key: string): string =>
  prefix + key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type Open<Name> = { readonly name: Name; readonly access: "open" };

/** Declares the rows of an API that only programs of ours can reach: the name of each is its key. */
export const innerOperations = <
  const Rows extends Record<string, Omit<Declared, "name" | "access">>,
>(
  rows: Rows,
) =>
  namedBy(rows, (name) => ({ name, access: "open" })) as {
    readonly [Key in keyof Rows]: Named<Rows[Key], Open<Key>>;
  };

const namedBy = (rows: Readonly<Record<string, object>>, sharedOf: (key: string) => object) =>
  Object.fromEntries(
    Object.entries(rows).map(([key, row]) => [key, { ...usual, ...sharedOf(key), ...row }]),
  ) as unknown;

/** Method and path of a row. */
export function routeOf(row: Operation): { method: Method; path: string } {
  const [method, path] = row.route.split(" ") as [Method, string];
  return { method, path };
}

/** A call of a row as HTTP carries it. */
export interface HttpCall {
  method: Method;
  /** With its query. */
  path: string;
  /** The JSON body, undefined for a row without one. */
  body: Record<string, unknown> | undefined;
}

/** Sorts the flat input of a call into path, query and body, as its row says. */
export function toHttpCall(row: Operation, input: Readonly<Record<string, unknown>>): HttpCall {
  const { method, path } = routeOf(row);
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(input[name])));
  const asked = Object.keys(row.input.query?.shape ?? {}).map((name) => [name, input[name]]);
  const query = queryOf(Object.fromEntries(asked));
  const given = bodyFields(row, input).filter((name) => input[name] !== undefined);
  return {
    method,
    path: query.size === 0 ? filled : `${filled}?${query}`,
    body: row.input.body && Object.fromEntries(given.map((name) => [name, input[name]])),
  };
}

/** A query as HTTP carries it: lists are repeated, and what is null or undefined is left out. */
export function queryOf(fields: Readonly<Record<string, unknown>>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(fields))
    for (const value of [values].flat())
      if (value !== undefined && value !== null) query.append(name, String(value));
  return query;
}

/** A body with names of its own, such as pools by name, has all that travels nowhere else. */
export const hasOpenBody = ({ input: { body } }: Operation): boolean =>
  body?.def.catchall !== undefined;

function bodyFields(row: Operation, input: object): string[] {
  const { path, query, body } = row.input;
  if (!hasOpenBody(row)) return Object.keys(body?.shape ?? {});
  const elsewhere = { ...path?.shape, ...query?.shape };
  return Object.keys(input).filter((name) => !Object.hasOwn(elsewhere, name));
}
