/**
 * Why a request is answered by the sidecar itself: the status, whether it is known where the next
 * request begins, and what it means. The name stands in the access log and in the metrics.
 */
export const refusals = {
  unauthorized: { status: 401, canFollow: true, means: "no key, or an unknown one" },
  badRequestLine: {
    status: 400,
    canFollow: false,
    means: "the request line is not `METHOD target HTTP/1.x`",
  },
  badTarget: {
    status: 400,
    canFollow: false,
    means: "the target is neither a path, `*` for OPTIONS, nor a whole URL",
  },
  badLineEnd: {
    status: 400,
    canFollow: false,
    means: "a line ends with a bare LF, or has a CR inside",
  },
  badName: {
    status: 400,
    canFollow: false,
    means: "a header name is empty, folded, or not followed by a colon",
  },
  badValue: { status: 400, canFollow: false, means: "a header value holds a control byte" },
  badHost: { status: 400, canFollow: false, means: "not exactly one valid Host header" },
  badLength: { status: 400, canFollow: false, means: "Content-Length is not one plain number" },
  badCoding: {
    status: 400,
    canFollow: false,
    means: "Transfer-Encoding is not one `chunked` of HTTP/1.1",
  },
  badFraming: { status: 400, canFollow: false, means: "both Content-Length and Transfer-Encoding" },
  badConnection: {
    status: 400,
    canFollow: false,
    means: "Connection names a header that must arrive, or too many",
  },
  badChunk: {
    status: 400,
    canFollow: false,
    means: "a chunk's size, its end, or a trailer is not valid",
  },
  twoKeys: { status: 400, canFollow: false, means: "more than one Authorization header" },
  connect: { status: 405, canFollow: false, means: "CONNECT is not offered" },
  headTooLarge: { status: 431, canFollow: false, means: "the head has too many bytes" },
  tooManyHeaders: { status: 431, canFollow: false, means: "the head has too many headers" },
  tooSlow: { status: 408, canFollow: false, means: "the head or body did not come in time" },
  tooManyConnections: { status: 503, canFollow: false, means: "no further connection is taken" },
  upstreamRefused: {
    status: 502,
    canFollow: true,
    means: "the upstream cannot be reached, or broke off",
  },
  noUpstream: { status: 503, canFollow: true, means: "there is no upstream to choose" },
  noneToCome: {
    status: 503,
    canFollow: true,
    means: "no replica is ready, and none will be brought up",
  },
  upstreamInvalid: { status: 502, canFollow: true, means: "the upstream's answer is not valid" },
  unsupported: { status: 501, canFollow: false, means: "this engine cannot carry the request" },
  upstreamTimeout: { status: 504, canFollow: true, means: "the upstream did not answer in time" },
} as const satisfies Record<string, { status: number; canFollow: boolean; means: string }>;

export type Refusal = keyof typeof refusals;
