import type { Duplex } from "node:stream";
import { AppError, fail } from "../common/errors.ts";
import {
  type GivenInputOf,
  isRead,
  isStored,
  type Operation,
  type OutputOf,
  routeOf,
  type StoredMode,
  toHttpCall,
} from "../common/operation.ts";
import { product } from "../common/product.ts";
import type { Secret } from "../common/secret.ts";
import type { EventRecord } from "../contract/records/events.ts";
import { isLocal } from "./endpoint.ts";
import { type EventsInput, type EventsOptions, followEvents } from "./events.ts";
import { failureOfRecord } from "./failures.ts";
import {
  type FollowOptions,
  follow,
  mayPass,
  patiently,
  reconnectDelaysMs,
  type Sink,
} from "./follow.ts";
import { patient } from "./patience.ts";
import { type CallerFields, questionOf } from "./question.ts";
import { type Answer, openTransport, type Question, type Transport } from "./transport.ts";

/** The id of a stored request, or a prefix of it; remembers what the request will answer. */
export type RequestId<T> = string & { readonly answers?: T };

type Submitted<Op extends Operation> = Op["mode"] extends StoredMode
  ? RequestId<OutputOf<Op>>
  : OutputOf<Op>;

/** The part of the health record that clients look at. */
export interface Health {
  readonly status: string;
  readonly api_version: string;
  readonly version: string;
  /** Of the product; absent from control planes of others. */
  readonly release?: string;
  readonly commit: string;
  readonly user?: { readonly id: string; readonly name?: string | null } | null;
}

export interface ClientOptions {
  readonly endpoint: string;
  /** Lets in callers that are not the control plane's own user. */
  readonly token?: Secret | undefined;
  /** Where launches go; undefined lets control choose. */
  readonly workspace?: string | undefined;
  /** The command line, shown to people as the origin of a request; must hold no secret. */
  readonly origin: string;
  readonly signal?: AbortSignal;
  readonly delaysMs?: readonly number[];
  /** Hears of each wait because calls came too often. */
  readonly onWait?: (seconds: number) => void;
}

/** Speaks to one control plane in the words of the operation rows. Every failure is an AppError. */
export interface Client {
  /** Sends an operation: the id of a stored request, else the result itself. */
  call<Op extends Operation>(row: Op, input: GivenInputOf<Op>): Promise<Submitted<Op>>;
  /** Waits for a request; its result. */
  get<T>(id: RequestId<T>): Promise<T>;
  /** Sends a form to a row that takes one; its result. */
  upload<Op extends Operation>(row: Op, form: FormData): Promise<OutputOf<Op>>;
  /** Sends bytes to a row that takes them; its result. Sent again when the connection is lost. */
  uploadBytes<Op extends Operation>(
    row: Op,
    input: GivenInputOf<Op>,
    content: Uint8Array,
  ): Promise<OutputOf<Op>>;
  /** Follows the text of a request until it ends. */
  stream(id: string, sink: Sink, options?: StreamOptions): Promise<void>;
  /** Sends an operation, follows its text, waits for its result. */
  callAndStream<Op extends Operation>(
    row: Op,
    input: GivenInputOf<Op>,
    sink: Sink,
  ): Promise<OutputOf<Op>>;
  /** Sends an operation and waits for its result; its text goes nowhere. */
  callAndGet<Op extends Operation>(row: Op, input: GivenInputOf<Op>): Promise<OutputOf<Op>>;
  /** Follows an operation that streams in its own answer; the exit code of a `log` one, else 0. */
  logs<Op extends Operation>(row: Op, input: GivenInputOf<Op>, sink: Sink): Promise<number>;
  /** The bytes of a `file` row as they come; read them to their end. */
  open<Op extends Operation>(row: Op, input: GivenInputOf<Op>): Promise<AsyncIterable<Uint8Array>>;
  /** What happens to clusters, services and replicas, without end and without gaps. */
  events(input: EventsInput, options?: Partial<EventsOptions>): AsyncGenerator<EventRecord>;
  /** The bytes of a `socket` row, both ways. */
  connect<Op extends Operation>(row: Op, input: GivenInputOf<Op>): Promise<Duplex>;
  /** Whether control answers, and as whom it knows us. */
  health(timeoutMs?: number): Promise<Health>;
  /** A plain GET of a path that no row is needed for. */
  read<T>(path: string, query?: Record<string, unknown>): Promise<T>;
  close(): Promise<void>;
}

export interface StreamOptions {
  readonly tail?: number;
  readonly follow?: boolean;
}

/** Opens a client; nothing is connected before the first call. */
export function openClient(options: ClientOptions): Client {
  const transport = openTransport(options.endpoint, options.token);
  const link = linkOf(transport, options);
  const client: Client = {
    call: (row, input) => call(link, row, input),
    upload: async (row, form) =>
      readJson(await (await link.send({ ...routeOf(row), bytes: await bytesOf(form) })).text()),
    uploadBytes(row, input, content) {
      const { method, path } = toHttpCall(row, input as Record<string, unknown>);
      const bytes = { type: row.input.rawBody ?? "", content };
      const sendOnce = async () =>
        readJson(await (await link.send({ method, path, bytes })).text());
      return persist(sendOnce, link.following) as never;
    },
    get: (id) => persist(() => getResult(link, id), link.following),
    stream: (id, sink, how = {}) => streamRequest(link, id, sink, how),
    callAndStream: (row, input, sink) =>
      ask(link, row, input, async (id) => {
        await client.stream(id, sink);
        return client.get(id);
      }),
    callAndGet: (row, input) => ask(link, row, input, client.get),
    logs: (row, input, sink) => streamAnswer(link, row, input as object, sink),
    open: async (row, input) => (await link.submit(row, input as object)).body,
    events: (input, options = {}) =>
      followEvents(link.send, input, { ...link.following, ...options }),
    connect(row, input) {
      const { path } = toHttpCall(row, input as Record<string, unknown>);
      return transport.connect(path, link.following.signal);
    },
    health: (timeoutMs = 2_500) => readPath(link, { path: "/api/health", timeoutMs }),
    read: (path, query = {}) => readPath(link, { path, query }),
    close: () => transport.close(),
  };
  return client;
}

/** What the functions below share: how to ask, and how patiently to follow. */
interface Link {
  readonly send: (question: Question) => Promise<Answer>;
  readonly submit: (row: Operation, input: object) => Promise<Answer>;
  readonly following: FollowOptions;
}

function linkOf(transport: Transport, options: ClientOptions): Link {
  const { endpoint, workspace, origin, delaysMs = reconnectDelaysMs } = options;
  const { signal = new AbortController().signal, onWait = () => {} } = options;
  const caller: CallerFields = {
    entrypoint_command: origin,
    using_remote_api_server: !isLocal(endpoint),
    ...(workspace && { [`override_${product.word}_config`]: { active_workspace: workspace } }),
  };
  const sendPatiently = patient(transport.send, onWait);
  const send = (question: Question) =>
    sendPatiently({
      ...question,
      signal: question.signal ? AbortSignal.any([question.signal, signal]) : signal,
    });
  return {
    send,
    submit: (row, input) => send(questionOf(row, input, caller)),
    following: { signal, delaysMs },
  };
}

/** The id of a stored request, or the result: what the row's mode says. */
async function call<T>(link: Link, row: Operation, input: unknown): Promise<T> {
  const answer = await link.submit(row, input as object);
  const text = await answer.text();
  return isStored(row) ? (requestIdOf(answer) as T) : readJson<T>(text);
}

/** Sends an operation, and again where it only reads and the control plane, started anew, has forgotten it. */
function ask<Op extends Operation>(
  link: Link,
  row: Op,
  input: GivenInputOf<Op>,
  resultOf: (id: RequestId<OutputOf<Op>>) => Promise<OutputOf<Op>>,
): Promise<OutputOf<Op>> {
  let id: RequestId<OutputOf<Op>> = "";
  const run = async () => {
    id = "";
    id = await call(link, row, input);
    return resultOf(id);
  };
  const isLost = (error: unknown) => id !== "" && isForgotten(error, id);
  return patiently(run, link.following, (error) => isRead(row) && isLost(error));
}

/** Whether there is no such request: such an error names the call, while that of a request names the request. */
function isForgotten(error: unknown, id: string): boolean {
  if (!(error instanceof AppError) || error.type !== "NotFoundError") return false;
  const { request_id: named = id } = error.details;
  return named !== id;
}

/** The text of a request: replayed from its start whenever the connection broke. */
function streamRequest(
  { send, following }: Link,
  id: string,
  sink: Sink,
  { tail, follow: follows = true }: StreamOptions,
): Promise<void> {
  const query = { request_id: id, follow: follows, tail, format: "console" };
  const open = async (from: number | undefined) => {
    if (from !== undefined && tail) fail("RuntimeError", "lost the connection half-way");
    const answer = await send({ method: "GET", path: "/api/stream", query });
    return { firstByte: 0, body: answer.body };
  };
  return follow(open, sink, following);
}

/**
 * The text in an operation's own answer, resumed by byte; the result of its request, 0 where it has none. A request that
 * the control plane has forgotten, as it was started anew, is an interruption like any other.
 */
async function streamAnswer(
  link: Link,
  row: Operation,
  input: object,
  sink: Sink,
): Promise<number> {
  const { submit, following } = link;
  let result: Promise<number | null> = Promise.resolve(0);
  let canResume = true;
  const open = async (from: number | undefined) => {
    if (from !== undefined && !canResume) fail("RuntimeError", "lost the connection half-way");
    const resumed = from === undefined ? input : { ...input, tail: 0, offset: from };
    const answer = await submit(row, resumed);
    const offset = answer.header("log-offset");
    canResume = offset !== undefined || !("tail" in resumed && resumed.tail);
    const body = row.mode === "log" ? withResult(answer) : answer.body;
    return { firstByte: Number(offset ?? 0), body };
  };
  async function* withResult(answer: Answer) {
    const id: RequestId<number | null> = requestIdOf(answer);
    yield* answer.body;
    result = persist(() => getResult(link, id), following);
    const error = await result.then(
      () => undefined,
      (failure: unknown) => failure,
    );
    if (isForgotten(error, id)) throw new AppError("UnreachableError", `${error}`, {}, error);
  }
  await follow(open, sink, following);
  return Number((await result) ?? 0);
}

function requestIdOf(answer: Answer): RequestId<never> {
  return answer.named("Request-ID") ?? fail("RuntimeError", "the answer names no request");
}

async function readPath<T>({ send }: Link, question: Omit<Question, "method">): Promise<T> {
  const answer = await send({ method: "GET", ...question });
  return readJson<T>(await answer.text());
}

interface ResultRecord extends Record<string, unknown> {
  readonly return_value?: string;
}

async function getResult<T>(link: Link, id: RequestId<T>): Promise<T> {
  const question = { path: "/api/get", query: { request_id: id } };
  const record = await readPath<ResultRecord>(link, question);
  const failure = failureOfRecord(record);
  if (failure !== undefined) throw failure;
  return readJson<T>(record.return_value ?? "null");
}

/** Tries again what may be repeated, as long as only the connection is to blame. */
const persist = <T>(run: () => Promise<T>, following: FollowOptions): Promise<T> =>
  patiently(run, following, (error, signal) => mayPass(error, signal) && error.cause !== undefined);

async function bytesOf(form: FormData) {
  const sent = new Response(form);
  const type = sent.headers.get("content-type") ?? "";
  return { type, content: new Uint8Array(await sent.arrayBuffer()) };
}

/** The wire's JSON, as the row promises it. */
function readJson<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    return fail("RuntimeError", `the answer is not JSON: ${text.slice(0, 80)}`);
  }
}
