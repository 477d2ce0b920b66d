import type { Hops } from "./connection.ts";
import type { Refusal } from "./refusals.ts";

/** The methods that we tell apart; all others are passed on as they are. */
export type Method =
  | "GET"
  | "HEAD"
  | "POST"
  | "PUT"
  | "PATCH"
  | "DELETE"
  | "OPTIONS"
  | "TRACE"
  | "CONNECT"
  | "OTHER";

/** How the bytes after a head are told from those of the next one. */
export type Framing = "none" | "length" | "chunked" | "untilClose";

/** How strict a request's head is read, and what of it is not passed on. */
export interface HeadRules {
  readonly headBytes: number;
  readonly headCount: number;
  readonly stripAuthorization: boolean;
  readonly trustForwarded: boolean;
}

/** A request's head: offsets into the bytes that it was read from, and what they mean. */
export interface RequestHead extends Hops {
  refusal: Refusal | undefined;
  rules: HeadRules;
  method: Method;
  minor: number;
  framing: Framing;
  length: number;
  /** Whether it says that the body may wait for an answer, and then never come. */
  expects: boolean;
  wantsWebSocket: boolean;
  /** Whether the target is a whole URL, whose authority then stands for Host. */
  isAbsolute: boolean;
  from: number;
  methodTo: number;
  targetFrom: number;
  pathFrom: number;
  targetTo: number;
  hostFrom: number;
  hostTo: number;
  /** -1 without an Authorization header. */
  keyFrom: number;
  keyTo: number;
  fieldsFrom: number;
  /** Where the empty line begins that ends the head, and where the head is over. */
  fieldsTo: number;
  to: number;
}
