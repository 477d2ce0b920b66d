import { homedir } from "node:os";
import { join, resolve } from "node:path";
import * as z from "zod";
import { pickSet, readSettings } from "../common/config.ts";
import { engineVariables } from "../common/containers.ts";
import { envNames } from "../common/product.ts";
import { systemUser } from "../common/system-user.ts";
import { usualLogBytes } from "../contract/job-log.ts";
import {
  clientVariables,
  inheritedVariables,
  managedJobVariables,
  replicaVariables,
  taskVariables,
} from "../contract/variables.ts";
import { kubernetesSettings } from "./kubernetes-settings.ts";
import { checkExposure, loginSettings } from "./login-settings.ts";
import { areSiteNames, readSiteNames } from "./providers/slurm/site-names.ts";
import { AtOnce, Whole } from "./setting-shapes.ts";
import { storeSettings } from "./store-settings.ts";

const Port = Whole.min(0).max(65_535);
const portsHint = "write the first and the last port: 20000-29999";
const Ports = z.templateLiteral([z.int(), "-", z.int()], portsHint).refine((text) => {
  const [first = 0, last = 0] = text.split("-").map(Number);
  return first > 0 && first <= last && last <= 65_535;
}, portsHint);
const Seconds = z.coerce.number().min(0.1).max(86_400);
/** How long something is kept, in hours or days; forever where it is negative. */
const Kept = z.coerce.number().min(-1);

/** Every setting of the control plane; each is read from `OUTRIGGER_<NAME>`. */
export const Settings = z.object({
  home: z
    .string()
    .default(join(homedir(), ".outrigger"))
    .describe("Folder in which control keeps all its files."),
  host: z
    .string()
    .default("127.0.0.1")
    // One address: by this name Fastify would open a second server, for IPv6, that nothing limits.
    .transform((host) => (host === "localhost" ? "127.0.0.1" : host))
    .describe(
      "Address to listen on. Any but loopback needs `OUTRIGGER_LOGIN`, and either TLS or a proxy in `OUTRIGGER_PROXY_ADDRESSES`.",
    ),
  port: Port.default(46_580).describe("Port to listen on; 0 picks a free one."),
  longAtOnce: AtOnce.default(32).describe(
    "Slow requests (launch, exec, ...) processed at the same time, not counting those that only wait.",
  ),
  shortAtOnce: AtOnce.default(128).describe(
    "Quick requests (status, queue, ...) processed at the same time.",
  ),
  managedJobsAtMost: AtOnce.default(2_000).describe(
    "Managed jobs that have a cluster, or are getting one, at the same time; further ones wait, by priority, then age.",
  ),
  jobLaunchesAtOnce: AtOnce.default(256).describe(
    "Managed jobs whose cluster is being created at the same time; further ones wait likewise.",
  ),
  connectionsAtMost: Whole.min(1)
    .default(16_384)
    .describe("Client connections open at the same time; further ones get 503."),
  connectionsPerAddress: Whole.min(1)
    .default(12_288)
    .describe(
      "The same limit for one address, such as this machine's own. Connections of callers without access are closed first.",
    ),
  eventStreamsAtMost: AtOnce.default(512).describe(
    "Event streams (`GET /events`) open at the same time; further ones get 503.",
  ),
  headSeconds: Seconds.default(20).describe("Time limit for receiving the head of a request."),
  stalledSeconds: Seconds.default(30).describe(
    "Time limit for a request body, or a reader of events, that makes no progress. Slow but steady ones have no limit.",
  ),
  bodyMemoryMegabytes: Whole.min(4)
    .default(128)
    .describe("Memory for all large request bodies being received; further ones get 503."),
  requestRetentionHours: Kept.default(24).describe(
    "How long ended requests are kept; a negative number keeps them forever.",
  ),
  clusterHistoryDays: Kept.default(30).describe(
    "How long deleted clusters, ended services, and ended managed jobs with their logs are kept; a negative number keeps them forever.",
  ),
  lastLogJobs: Whole.min(0)
    .max(500)
    .default(20)
    .describe(
      "Of how many of its latest jobs the logs are copied before a cluster is stopped or deleted, to be read afterwards.",
    ),
  lastLogLines: Whole.min(1)
    .max(1_000_000)
    .default(10_000)
    .describe("How many of the last lines of such a log are copied."),
  auditDays: Kept.default(365).describe(
    "How long entries of the audit log are kept; a negative number keeps them forever.",
  ),
  headPatienceSeconds: z.coerce
    .number()
    .min(0)
    .default(10)
    .describe(
      "How long a stop or teardown waits for the head to answer before it continues without hooks.",
    ),
  balancerPorts: Ports.default("30001-32767").describe(
    "Ports on which the balancers of services listen.",
  ),
  replicaPorts: Ports.default("20000-29999").describe(
    "Ports for replicas on this machine that cannot all use the port in their task.",
  ),
  jobLimits: z
    .enum(["none", "memory", "all"])
    .default("memory")
    .describe(
      "Which of a job's `resources` are enforced as limits on its node, if the agent may create control groups: `memory`, `all` (memory and CPUs) or `none`. `memory: 16` is a limit, `16+` is not. With control groups v2 only, a systemd unit that runs the agent as another user than root needs systemd 254 or newer; the user's own systemd does not. By default, a job that exceeds its memory is killed instead of its neighbors, and idle CPUs are available to all jobs.",
    ),
  jobProcesses: Whole.min(16)
    .optional()
    .describe(
      "Processes and threads that a job may have on a node; by default three quarters of what the machine allows.",
    ),
  uploadMegabytesPerUser: Whole.min(1)
    .optional()
    .describe(
      "How much the files that a user uploads may take on control's disk; not limited by default.",
    ),
  jobLogMegabytes: Whole.min(64)
    .default(usualLogBytes / 2 ** 20)
    .describe(
      "How much of a job's log is kept on each node, and in the copies that control keeps: the first 16 MiB and the end. The middle of a larger log is discarded.",
    ),
  local: z
    .enum(["on", "off"])
    .default("on")
    .describe(
      "Whether new clusters may be created on this machine (infrastructure `local`). `off` changes nothing for those that exist.",
    ),
  localAccelerators: z
    .string()
    .regex(/^[\w-]+:\d+$/, "write NAME:COUNT, such as H100:8")
    .optional()
    .describe("Accelerators of this machine, such as H100:8, if they are not detected."),
  slurm: z
    .string()
    .refine(areSiteNames, "write off, or a list of [NAME=]local and [NAME=][USER@]HOST[:PORT]")
    .default("off")
    .transform(readSiteNames)
    .describe(
      "Where clusters may be submitted as Slurm jobs: `off`, `local` for this machine, or the login node to reach over SSH, `[USER@]HOST[:PORT]`. Of several, separated by commas, each may be named: `NAME=HOST`.",
    ),
  slurmConf: z.string().optional().describe("The slurm.conf to use, if not the usual one."),
  slurmScratch: z
    .string()
    .regex(/^\/[\w./-]*$/, "write an absolute path")
    .default("/tmp")
    .describe("Folder on each Slurm node for what its jobs write; deleted with the allocation."),
  ...loginSettings,
  ...storeSettings,
  ...kubernetesSettings,
  logLevel: z
    .enum(["debug", "info", "warn", "error"])
    .default("info")
    .describe("Minimum level that is logged."),
});
type Settings = z.output<typeof Settings>;
export interface Config extends Settings {
  /** What the nodes of this machine take over from the environment that control was started in. */
  nodeEnv: Readonly<Record<string, string>>;
  kubeconfig: string;
  /** The name of the user who started control. */
  localUserName: string;
  /** The socket of the SSH agent of whoever started control. */
  sshAgentSocket: string | null;
}

const usualKubeconfig = join(homedir(), ".kube/config");
const nodeDefaults = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

/** Variables of ours that are for others and may be set where control starts, as inside a job. */
const ofOthers = Object.keys({
  ...clientVariables,
  ...taskVariables,
  ...replicaVariables,
  ...managedJobVariables,
}).flatMap(envNames);

/** The settings, checked; throws `ConfigError` naming the variable. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const settings = readSettings(Settings, env, ofOthers);
  const nodeEnv = {
    ...nodeDefaults,
    ...pickSet(env, ["PATH", ...inheritedVariables, ...engineVariables]),
  };
  const config = {
    ...settings,
    // What nodes are told of it holds in their own folders, too.
    home: resolve(settings.home),
    nodeEnv,
    kubeconfig: settings.kubeconfig ?? env["KUBECONFIG"]?.split(":")[0] ?? usualKubeconfig,
    localUserName: env["USER"] || systemUser().name,
    sshAgentSocket: env["SSH_AUTH_SOCK"] ?? null,
  };
  checkExposure(config);
  return config;
}
