import * as z from "zod";
import { readSettings } from "../../common/config.ts";
import type { ForwardLimits } from "../../sidecar/forward/front.ts";

const address = /^(?<host>\[[^\]]+\]|[^:]+):(?<port>\d{1,5})$/;

/** Every setting of the balancer, which control sets when it starts one. */
export const BalancerSettings = z.object({
  socket: z
    .string()
    .describe("Unix socket to listen on for control; a path of fewer than 108 bytes."),
  listen: z
    .string()
    .regex(address, "write HOST:PORT")
    .default("127.0.0.1:0")
    .describe("Where clients connect, once there is a plan; port 0 takes a free one."),
  listeners: z.coerce
    .number()
    .int()
    .min(0)
    .default(0)
    .describe("Listening sockets inherited from the balancer that this one replaces; set by that."),
  build: z.string().default("unknown").describe("Build that the balancer reports; set by control."),
  connections: z.coerce
    .number()
    .int()
    .min(1)
    .default(10_000)
    .describe("Client connections open at the same time; further ones get 503."),
  drainSeconds: z.coerce
    .number()
    .min(0)
    .default(120)
    .describe(
      "How long requests in progress may take after a SIGTERM; control sets its own limit.",
    ),
  accessLog: z
    .enum(["on", "off"])
    .default("on")
    .describe("Whether each request is logged, one line per request."),
  logLevel: z
    .enum(["debug", "info", "warn", "error"])
    .default("info")
    .describe("Minimum level that is logged."),
  logFile: z.string().optional().describe("Log file; stderr by default."),
  logFileBytes: z.coerce
    .number()
    .int()
    .min(1)
    .default(50_000_000)
    .describe("Size at which the log file is rotated; one earlier file is retained."),
});

type Settings = z.output<typeof BalancerSettings>;

/** What a balancer is to do. */
export interface Config extends Pick<Settings, "socket" | "build"> {
  readonly logs: {
    readonly level: Settings["logLevel"];
    readonly access: Settings["accessLog"];
    readonly file: string | undefined;
    readonly fileBytes: number;
  };
  readonly listen: {
    readonly host: string;
    readonly port: number;
    readonly inherited: number;
  };
  readonly limits: ForwardLimits;
  readonly drainMs: number;
}

/** The same as the defaults of the sidecar, which may stand behind it. */
const limits: Omit<ForwardLimits, "connections"> = {
  headBytes: 16_384,
  headCount: 100,
  stripAuthorization: false,
  trustForwarded: false,
  breaksOff: false,
  headMs: 10_000,
  idleMs: 75_000,
  stalledMs: 60_000,
  connectMs: 5_000,
  upstreamMs: 600_000,
};

/** Reads the settings; throws `ConfigError` naming the variable that is wrong. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const settings = readSettings(BalancerSettings, env);
  const { socket, build, connections, drainSeconds, listeners } = settings;
  const { logLevel: level, accessLog: access, logFile: file, logFileBytes: fileBytes } = settings;
  const { host = "", port } = address.exec(settings.listen)?.groups ?? {};
  return {
    ...{ socket, build },
    logs: { level, access, file, fileBytes },
    listen: { host: host.replace(/^\[|\]$/g, ""), port: Number(port), inherited: listeners },
    limits: { ...limits, connections },
    drainMs: drainSeconds * 1_000,
  };
}
