import type { Config } from "./config.ts";
import type { ForwardLimits } from "./forward/front.ts";

const inMs = (seconds: number): number => Math.ceil(seconds * 1_000);

/** What the connections must keep to, by the settings. */
export const limitsOf = (config: Config): ForwardLimits => ({
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
