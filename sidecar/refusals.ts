interface Means {
  readonly status: number;
  /** Whether it is known where the next request begins. */
  readonly canFollow: boolean;
  readonly means: string;
}

const next = (status: number, means: string): Means => ({ status, canFollow: true, means });
const last = (status: number, means: string): Means => ({ status, canFollow: false, means });

/**
 * Why a request is answered by the sidecar itself, with what status: as the last one of its
 * connection, or so that a next one can follow. The name stands in the access log and in the metrics.
 */
export const refusals = {
  unauthorized: next(401, "no key, or an unknown one"),
  badRequestLine: last(400, "the request line is not `METHOD target HTTP/1.x`"),
  badTarget: last(400, "the target is neither a path, `*` for OPTIONS, nor a whole URL"),
  badLineEnd: last(400, "a line ends with a bare LF, or has a CR inside"),
  badName: last(400, "a header name is empty, folded, or not followed by a colon"),
  badValue: last(400, "a header value holds a control byte"),
  badHost: last(400, "not exactly one valid Host header"),
  badLength: last(400, "Content-Length is not one plain number"),
  badCoding: last(400, "Transfer-Encoding is not one `chunked` of HTTP/1.1"),
  badFraming: last(400, "both Content-Length and Transfer-Encoding"),
  badConnection: last(400, "Connection names a header that must arrive, or too many"),
  badChunk: last(400, "a chunk's size, its end, or a trailer is not valid"),
  twoKeys: last(400, "more than one Authorization header"),
  connect: last(405, "CONNECT is not offered"),
  headTooLarge: last(431, "the head has too many bytes"),
  tooManyHeaders: last(431, "the head has too many headers"),
  tooSlow: last(408, "the head or body did not come in time"),
  tooManyConnections: last(503, "no further connection is taken"),
  upstreamRefused: next(502, "the upstream cannot be reached, or broke off"),
  noUpstream: next(503, "there is no upstream to choose"),
  noneToCome: next(503, "no replica is ready, and none will be brought up"),
  upstreamInvalid: next(502, "the upstream's answer is not valid"),
  unsupported: last(501, "this engine cannot carry the request"),
  upstreamTimeout: next(504, "the upstream did not answer in time"),
};

export type Refusal = keyof typeof refusals;
