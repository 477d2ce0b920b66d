import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { pickSet, readSettings } from "../common/config.ts";
import { engineVariables } from "../common/containers.ts";
import { fail } from "../common/errors.ts";
import { logLevels } from "../common/log.ts";
import { product, protocol } from "../common/product.ts";
import { systemUser } from "../common/system-user.ts";
import { inheritedVariables } from "../contract/variables.ts";

/**
 * What Slurm sets for an allocation, and not for a step of it: programs take a count of tasks for a sign that `srun`
 * started them. Source: sbatch(1), "output environment variables".
 */
const ofAllocation =
  /^SLURM_(CLUSTER_NAME|CONF|CPUS_ON_NODE|CPUS_PER_TASK|GPUS_ON_NODE|JOBID|JOB_\w+|MEM_PER_(CPU|GPU|NODE)|NNODES|NODEID|NODELIST|SUBMIT_\w+)$/;

/**
 * What scripts within an allocation see beside that. Steps share it: by default each waits for the one before. Open MPI
 * does not run without this count, and starts so many ranks on a node at most; only our own step has one task a node.
 */
const slurmVariables = ({ SLURM_JOB_ID: id, SLURM_JOB_CPUS_PER_NODE: cpus }: Env) => ({
  ...(id && { SLURM_OVERLAP: "1" }),
  ...(cpus && { SLURM_TASKS_PER_NODE: cpus }),
});

const Seconds = z.coerce.number().min(0).max(86_400);

/** Every setting of the agent. */
export const AgentSettings = z.object({
  socket: z
    .string()
    .optional()
    .describe("Unix socket to listen on; a path of fewer than 108 bytes."),
  build: z.string().default("unknown").describe("Build that the agent reports; set by control."),
  onTerm: z
    .enum(["auto", "leave", "preemption"])
    .default("auto")
    .describe(
      "What SIGTERM does: `leave` exits and keeps jobs running; `preemption` runs hooks and ends jobs first. `auto` means `preemption`, but under systemd only while the machine shuts down.",
    ),
  graceSeconds: Seconds.default(30).describe(
    "How long a node exists after SIGTERM, or after a preemption notice without a time.",
  ),
  notices: z
    .enum(["auto", "none", "aws", "gcp", "azure"])
    .default("auto")
    .describe(
      "Provider whose metadata endpoint announces preemptions. `auto` detects it from the machine's DMI data.",
    ),
  metadataUrl: z
    .url({ protocol: /^http$/ })
    .default("http://169.254.169.254")
    .describe("Address of the metadata endpoint."),
  noticeFile: z
    .string()
    .optional()
    .describe(
      'File that announces a preemption when it appears. It may contain JSON: `{"because": "...", "seconds": 60}`, or `deadlineAt` in ms since 1970. Rename it into place.',
    ),
  powerOffCommand: z
    .string()
    .optional()
    .describe(
      "Shell command that turns this node off; without it, the node cannot turn itself off. If a supervisor restarts the agent when it exits, the command must not return before the node is off.",
    ),
  selfStopAfterSeconds: Seconds.default(600).describe(
    "How long an idle node that is ready to stop waits for control before it turns itself off.",
  ),
  devices: z
    .string()
    .optional()
    .describe("Accelerators that jobs may use, as in `CUDA_VISIBLE_DEVICES`; all by default."),
  containerOptions: z
    .string()
    .optional()
    .describe(
      "Options of every container of this node, as `docker run` takes them, between spaces; Apptainer does not get them.",
    ),
  logLevel: z.enum(logLevels).default("info").describe("Minimum level that is logged."),
});

type Settings = z.output<typeof AgentSettings>;
type Env = Readonly<Record<string, string | undefined>>;

/** Where the agent works and what the processes that it starts inherit. */
export interface Config extends Pick<Settings, "logLevel" | "onTerm" | "notices" | "metadataUrl"> {
  readonly graceMs: number;
  readonly selfStopAfterMs: number;
  readonly noticeFile: string | null;
  readonly powerOffCommand: string | null;
  /** Whether systemd started this very process as a service's. */
  readonly isService: boolean;
  readonly socket: string;
  /** Which code it runs, as whoever started it says. */
  readonly build: string;
  /** Journal and key. */
  readonly agentFolder: string;
  /** A folder a job. */
  readonly jobsFolder: string;
  /** Where scripts start, and the second name it has. */
  readonly workdir: string;
  readonly workdirLink: string;
  /** What every script sees before the task's own variables. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** Variables of docker, podman and Apptainer; no script sees them. */
  readonly engineEnv: Readonly<Record<string, string>>;
  /** Options of every container. */
  readonly containerOptions: readonly string[];
}

/** Reads the settings; throws `ConfigError` naming the variable that is wrong. */
export function readConfig(env: Env): Config {
  const settings = readSettings(AgentSettings, env);
  const home = env["HOME"] ?? fail("ConfigError", "HOME is not set; set it to the node's home");
  const root = join(home, `.${product.word}`);
  const socket = settings.socket ?? join(root, "agent", "agent.sock");
  if (Buffer.byteLength(socket) > 107)
    fail(
      "ConfigError",
      `the socket path ${socket} is too long; set OUTRIGGER_SOCKET to a shorter one`,
    );
  const { logLevel, onTerm, notices, metadataUrl, build } = settings;
  return {
    ...{ logLevel, onTerm, notices, metadataUrl, build, socket },
    graceMs: settings.graceSeconds * 1_000,
    selfStopAfterMs: settings.selfStopAfterSeconds * 1_000,
    noticeFile: settings.noticeFile ?? null,
    powerOffCommand: settings.powerOffCommand ?? null,
    isService: isService(env),
    agentFolder: join(root, "agent"),
    jobsFolder: join(root, "jobs"),
    workdir: join(home, `${product.word}_workdir`),
    workdirLink: join(home, `${protocol.requestPrefix}_workdir`),
    baseEnv: {
      ...baseEnv(home, env),
      ...(settings.devices && { CUDA_VISIBLE_DEVICES: settings.devices }),
    },
    engineEnv: pickSet(env, engineVariables),
    containerOptions: settings.containerOptions?.split(" ").filter(Boolean) ?? [],
  };
}

/** A process of a service inherits its variables, but hardly ever the channel to systemd too. */
const isService = (env: Env): boolean =>
  env["SYSTEMD_EXEC_PID"] === String(process.pid) ||
  (env["INVOCATION_ID"] !== undefined && env["NOTIFY_SOCKET"] !== undefined);

function baseEnv(home: string, env: Env) {
  const user = env["USER"] ?? systemUser().name;
  return {
    HOME: home,
    USER: user,
    LOGNAME: user,
    SHELL: existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh",
    PATH: env["PATH"] ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    LANG: "C.UTF-8",
    ...pickSet(env, inheritedVariables),
    ...pickSet(
      env,
      Object.keys(env).filter((name) => ofAllocation.test(name)),
    ),
    ...slurmVariables(env),
    TERM: "dumb",
    PYTHONUNBUFFERED: "1",
  };
}
