import { type Bulk, bulk } from "./bulk.ts";
import { crowdOfClients } from "./crowd.ts";
import { idleStreams } from "./idle-streams.ts";
import { requests, type Scenario } from "./requests.ts";
import { type Bench, benchesOf } from "./rows.ts";
import { sidecarStart } from "./start.ts";
import { streamMemory, tokenStreams } from "./streams.ts";
import { unreadMemory } from "./unread.ts";
import { workers } from "./workers.ts";

const forwarded = { "http-proxy": { atLeast: 5 } };
const small = { bodyBytes: 0, answerBytes: 2 };
const large = { bodyBytes: 2_048, answerBytes: 16_384 };
const largeOthers = {
  nginx: { atLeast: 2 },
  "nginx buffering": undefined,
  haproxy: { atLeast: 1.15 },
  ...forwarded,
};

const scenarios: Record<string, Scenario> = {
  "sidecar-get": {
    ...{ what: "small GET, 32 in flight", inFlight: 32, ...small, compared: "rate" },
    others: { nginx: { atLeast: 0.95 }, haproxy: undefined, ...forwarded },
  },
  "sidecar-delay": {
    ...{ what: "small GET, 1 in flight", inFlight: 1, ...small, compared: "delay" },
    others: { nginx: { atMost: 1 }, haproxy: undefined, "http-proxy": undefined },
  },
  "sidecar-post-32": {
    ...{ what: "2 KB POST, 16 KB back, 32 in flight", inFlight: 32, ...large, compared: "rate" },
    others: largeOthers,
  },
  "sidecar-post-256": {
    ...{ what: "2 KB POST, 16 KB back, 256 in flight", inFlight: 256, ...large, compared: "rate" },
    others: largeOthers,
  },
  "sidecar-refusal": {
    ...{ what: "401 for a wrong key, 32 in flight", inFlight: 32, ...small, compared: "rate" },
    others: { nginx: { atLeast: 0.9 }, haproxy: undefined, "http-proxy": undefined },
    hasWrongKey: true,
  },
};

const much = 209_715_200;

const bulks: Record<string, Bulk> = {
  "sidecar-download": {
    ...{ what: "200 MB download", bodyBytes: 0, answerBytes: much },
    others: { nginx: undefined, "nginx buffering": undefined, haproxy: { atLeast: 1.2 } },
  },
  "sidecar-upload": {
    ...{ what: "200 MB upload", bodyBytes: much, answerBytes: 2 },
    others: { nginx: { atLeast: 1 }, "nginx buffering": undefined, haproxy: undefined },
  },
};

/** The benches of the sidecar, side by side with what people use instead. */
export const sidecarBenches: Record<string, Bench> = {
  ...benchesOf(scenarios, requests),
  "sidecar-streams": tokenStreams,
  "sidecar-stream-memory": streamMemory,
  "sidecar-idle-streams": idleStreams,
  ...benchesOf(bulks, bulk),
  "sidecar-crowd": crowdOfClients,
  "sidecar-workers": workers,
  "sidecar-unread": unreadMemory,
  "sidecar-start": sidecarStart,
};
