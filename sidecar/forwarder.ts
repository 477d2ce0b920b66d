import type { AddressInfo } from "node:net";
import { authorizeBy } from "./authorize.ts";
import type { Config } from "./config.ts";
import { engines } from "./forward/engines.ts";
import type { ForwardLimits, Observer } from "./forward/front.ts";
import type { Place } from "./forward/listen.ts";
import { always } from "./forward/route.ts";
import { type Serving, serve } from "./forward/serve.ts";
import { type Key, openKeys } from "./keys.ts";
import type { Logs } from "./log.ts";
import { type Metrics, openMetrics, type Samples, single } from "./metrics.ts";
import type { Address } from "./settings.ts";

/** What forwards requests: this process, or workers that share its port. */
export interface Forwarder {
  /** Accepts these keys and no others, from the moment that it resolves. */
  use(keys: readonly Key[]): Promise<void>;
  /** Starts to forward to the upstream; returns where. Throws `ConfigError` when it cannot listen. */
  listen(place: Place, upstream: Address): Promise<AddressInfo>;
  /** What it has counted, and what there is now. */
  samples(): Promise<Samples>;
  /** Takes nothing new, answers what is under way, and cuts the rest at the deadline; returns how many requests. */
  drain(deadlineMs: number): Promise<number>;
  /** Whether it takes requests. */
  isServing(): boolean;
}

/** A forwarder in this process. */
export function openForwarder(config: Config, logs: Logs): Forwarder {
  const keys = openKeys();
  const metrics = openMetrics();
  let serving: Serving | undefined;
  return {
    async use(next) {
      keys.replace(next);
    },
    async listen(place, upstream) {
      const parts = {
        limits: limitsOf(config),
        authorize: authorizeBy(keys, config.allowPath),
        observer: observeBy(metrics, logs.access),
        choose: always(upstream),
        errorStyle: config.errorStyle,
        engine: await engines[config.engine](),
      };
      serving = await serve(parts, place);
      return serving.address;
    },
    async samples() {
      const { connections, open_requests } = serving?.gauges() ?? {
        connections: 0,
        open_requests: 0,
      };
      return {
        ...metrics.samples(),
        log_lines_dropped_total: single(logs.dropped),
        workers_replaced_total: single(0),
        workers: single(1),
        connections: single(connections),
        open_requests: single(open_requests),
      };
    },
    drain: async (deadlineMs) => serving?.drain(deadlineMs) ?? 0,
    isServing: () => serving?.isDraining === false,
  };
}

const inMs = (seconds: number): number => Math.ceil(seconds * 1_000);

/** What the connections must keep to, by the settings. */
const limitsOf = (config: Config): ForwardLimits => ({
  connections: config.connections,
  headBytes: config.headBytes,
  headCount: config.headCount,
  stripAuthorization: config.stripAuthorization,
  trustForwarded: config.trustForwarded,
  breaksOff: config.breakOff,
  headMs: inMs(config.headSeconds),
  idleMs: inMs(config.idleSeconds),
  stalledMs: inMs(config.stalledSeconds),
  connectMs: inMs(config.connectSeconds),
  upstreamMs: inMs(config.upstreamSeconds),
});

/** Counts each request when it has ended, and logs it if there is a log. */
const observeBy = (metrics: Metrics, access: Logs["access"]): Observer => ({
  wantsPath: access !== undefined,
  ended(passage) {
    metrics.count(passage);
    access?.(passage);
  },
});
