import type { Readable } from "node:stream";
import type { WebSocket } from "ws";
import { fail } from "../common/errors.ts";
import type { InputOf, Operation, OutputOf } from "../common/operation.ts";
import type { Identity } from "./access/identity.ts";
import type { Wish } from "./clusters/schema.ts";
import type { Context } from "./context.ts";
import type { Connection } from "./db/open.ts";
import type { Reader } from "./wire/wording.ts";

/** What a request must know when it is worked on again after a restart. */
export interface Progress {
  readonly wish?: Wish;
  /** The nodes that a request takes away, and when; in epoch milliseconds. */
  readonly preemption?: {
    readonly clusterId: string;
    readonly ranks: readonly number[];
    /** How the nodes call what they were told, in the order of `ranks`; none where they were told nothing. */
    readonly lifecycles?: readonly string[];
    readonly at: number;
  };
  /** The service that a request made, or has changed. */
  readonly serviceId?: string;
  /** The services that a request takes down. */
  readonly serviceIds?: readonly string[];
  /** The local Kubernetes that a request began to make. */
  readonly kubernetes?: string;
}

/** A body that is no JSON, as it comes. */
export interface RawBody {
  /** Its content type. */
  readonly type: string;
  readonly stream: Readable;
}

/** Where a call came from. */
export interface Origin {
  /** The address of the client, also behind a proxy that is trusted. */
  readonly address: string;
  /** The address that the client called control by, such as https://control.example. */
  site(): string;
  /** The secret of the session that came along. */
  readonly session: string | null;
  /** What control had the browser keep when it sent it to the identity provider. */
  readonly login: string | null;
  /** Whether a browser asks for a page. */
  readonly wantsPage: boolean;
}

/** One call of an operation: who asks, what it may print, when to give up. */
export interface Call extends Reader, Identity {
  /** Id of the request; also names the work at the agent, so that a repeated call does it once. */
  readonly id: string;
  /** Where what it makes is created. */
  readonly workspace: string;
  /** Null for a request that waited in a queue. */
  readonly origin: Origin | null;
  /** The command line that made the call. */
  readonly command: string;
  readonly signal: AbortSignal;
  /** The body of a row whose input is one; null for all others. */
  readonly body: RawBody | null;
  /** Adds text to the request's log, worded for the caller; a line ends with a newline of its own. */
  print(text: string): void;
  /** What an earlier attempt at this request kept before control was restarted. */
  readonly progress: Progress;
  /** Keeps something for a later attempt, in one transaction with `also`; durable when it resolves. */
  remember(progress: Progress, also?: (tx: Connection) => Promise<void>): Promise<void>;
  /** Waits without keeping others from their turn. */
  aside<T>(wait: Promise<T>): Promise<T>;
  /** Says in the request's record why it waits; null takes it back. */
  note(text: string | null): Promise<void>;
}

/** An answer that is not JSON. */
export interface Reply {
  status?: number;
  headers?: Record<string, string | string[]>;
  body: Readable | string | null;
}

/** The answer of a `log` operation: its text, and its exit code, asked once the text is out. */
export interface LogReply extends Reply {
  exitCode(): Promise<number>;
}

/** The answer of a `socket` operation: what to do with the connection once it is accepted. */
export interface SocketReply {
  lead(socket: WebSocket): void;
}

type AnswerOf<Op extends Operation> = Op["mode"] extends "log"
  ? LogReply
  : Op["mode"] extends "socket"
    ? SocketReply
    : Op["mode"] extends "stream" | "events" | "file" | "page"
      ? Reply
      : OutputOf<Op>;

/** A row and the code that runs it. */
export interface Bound {
  readonly row: Operation;
  run(ctx: Context, input: never, call: Call): Promise<unknown>;
  /**
   * Throws for an input whose shape is right and whose meaning is not. A call that would be stored is
   * stored as a request that FAILED with this error; only `InvalidTaskError` is answered 422.
   */
  check?(input: never): void;
  /** The HTTP status of an answer that was given at once; 200 where it says nothing. */
  statusOf?(answer: never): number;
}

/** Binds a row to its code. */
export const bind = <Op extends Operation>(
  row: Op,
  run: (ctx: Context, input: InputOf<Op>, call: Call) => Promise<AnswerOf<Op>>,
  check?: (input: InputOf<Op>) => void,
): Bound => (check === undefined ? { row, run } : { row, run, check });

/** Binds a row without code: each of its calls is refused. */
export function bindUnbuilt(row: Operation): Bound {
  const check = () => fail("NotImplementedError", `${row.name} is not built yet in this version`);
  return { row, run: async () => check(), check };
}
