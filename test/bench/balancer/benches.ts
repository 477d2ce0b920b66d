import { type Bulk, bulk } from "../sidecar/bulk.ts";
import { requests, type Scenario } from "../sidecar/requests.ts";
import { type Bench, benchesOf } from "../sidecar/rows.ts";
import { tokenStreams } from "../sidecar/streams.ts";

const ours = "balancer";
const theirs = "nginx round robin";
const small = { ours, bodyBytes: 0, answerBytes: 2 } as const;
const large = { ours, bodyBytes: 2_048, answerBytes: 16_384 } as const;

/** The targets are those of the sidecar to nginx. */
const scenarios: Record<string, Scenario> = {
  "balancer-get": {
    ...{ what: "balanced small GET, 32 in flight", inFlight: 32, ...small, compared: "rate" },
    others: { [theirs]: { atLeast: 0.95 } },
  },
  "balancer-delay": {
    ...{ what: "balanced small GET, 1 in flight", inFlight: 1, ...small, compared: "delay" },
    others: { [theirs]: { atMost: 1 } },
  },
  "balancer-post-32": {
    ...{ what: "balanced 2 KB POST, 16 KB back, 32 in flight", inFlight: 32, ...large },
    compared: "rate",
    others: { [theirs]: { atLeast: 2 } },
  },
  "balancer-post-256": {
    ...{ what: "balanced 2 KB POST, 16 KB back, 256 in flight", inFlight: 256, ...large },
    compared: "rate",
    others: { [theirs]: { atLeast: 2 } },
  },
};

const much = 209_715_200;

const bulks: Record<string, Bulk> = {
  "balancer-download": {
    ...{ what: "balanced 200 MB download", ours, bodyBytes: 0, answerBytes: much },
    others: { [theirs]: undefined },
  },
  "balancer-upload": {
    ...{ what: "balanced 200 MB upload", ours, bodyBytes: much, answerBytes: 2 },
    others: { [theirs]: { atLeast: 1 } },
  },
};

/** The benches of the balancer, over two upstreams, side by side with nginx. */
export const balancerBenches: Record<string, Bench> = {
  ...benchesOf(scenarios, requests),
  "balancer-streams": (lab) => tokenStreams(lab, [ours, theirs]),
  ...benchesOf(bulks, bulk),
};
