import { userInfo } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { pickSet, readSettings } from "../common/config.ts";
import { fail } from "../common/errors.ts";
import { product, protocol } from "../common/product.ts";
import { inheritedVariables } from "../contract/variables.ts";
import { logLevels } from "./log.ts";

/** Every setting of the agent. */
export const AgentSettings = z.object({
  socket: z.string().optional().describe("Where it listens; a Unix socket path of < 108 bytes."),
  build: z.string().default("unknown").describe("What control is told it runs; set by control."),
  logLevel: z.enum(logLevels).default("info").describe("Least level that is logged."),
});

/** Where the agent works and what the processes that it starts inherit. */
export interface Config {
  readonly logLevel: z.output<typeof AgentSettings>["logLevel"];
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
}

/** Reads the settings; throws `ConfigError` naming the variable that is wrong. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const settings = readSettings(AgentSettings, env);
  const home = env["HOME"] ?? fail("ConfigError", "HOME is not set; set it to the node's home");
  const root = join(home, `.${product.word}`);
  const socket = settings.socket ?? join(root, "agent", "agent.sock");
  if (Buffer.byteLength(socket) > 107)
    fail(
      "ConfigError",
      `the socket path ${socket} is too long; set OUTRIGGER_SOCKET to a shorter one`,
    );
  return {
    logLevel: settings.logLevel,
    socket,
    build: settings.build,
    agentFolder: join(root, "agent"),
    jobsFolder: join(root, "jobs"),
    workdir: join(home, `${product.word}_workdir`),
    workdirLink: join(home, `${protocol.requestPrefix}_workdir`),
    baseEnv: baseEnv(home, env),
  };
}

function baseEnv(home: string, env: Readonly<Record<string, string | undefined>>) {
  const user = env["USER"] ?? findUserName();
  return {
    HOME: home,
    USER: user,
    LOGNAME: user,
    SHELL: "/bin/bash",
    PATH: env["PATH"] ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    LANG: "C.UTF-8",
    ...pickSet(env, inheritedVariables),
    TERM: "dumb",
    PYTHONUNBUFFERED: "1",
  };
}

/** Containers may run under a user id that has no name. */
function findUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "");
  }
}
