import { mkdirSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { join } from "node:path";
import { settingName } from "../../common/config.ts";
import { product } from "../../common/product.ts";
import { startDetached } from "../../common/start-detached.ts";
import { systemUser } from "../../common/system-user.ts";
import type { Config } from "../config.ts";
import { stateFile, stateText } from "./local-state.ts";

const socketVariable = settingName("socket");

/** What the agent alone has in its environment: it does not hand on where it listens. */
export const markOf = (socket: string): string => `${socketVariable}=${socket}`;

/**
 * A signal to an agent is about that agent alone, and this machine's end is not for a node to tell.
 * A node turns itself off by saying so where we look.
 */
const onThisMachine = {
  [settingName("onTerm")]: "leave",
  [settingName("notices")]: "none",
  [settingName("powerOffCommand")]:
    `cd ~ && echo '${stateText("stopped")}' > ${stateFile}.new && mv ${stateFile}.new ${stateFile}`,
};

/** What it takes to start an agent. */
export interface AgentStart {
  /** The program, and whatever has it run elsewhere. */
  readonly command: readonly string[];
  readonly home: string;
  readonly socket: string;
  readonly build: string;
}

/** Starts a node's agent; one that finds another alive leaves at once. */
export function startAgent(
  { nodeEnv }: Pick<Config, "nodeEnv">,
  { command, home, socket, build }: AgentStart,
  failed: (error: Error) => void,
): void {
  const folder = join(home, `.${product.word}`, "agent");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { name, shell } = systemUser();
  const child = startDetached({
    ...{ command, cwd: home, log: join(folder, "agent.log") },
    env: {
      ...nodeEnv,
      HOME: home,
      USER: name,
      LOGNAME: name,
      SHELL: shell,
      NODE_COMPILE_CACHE: getCompileCacheDir(),
      [socketVariable]: socket,
      [settingName("build")]: build,
      ...onThisMachine,
    },
  });
  // Nobody waits for it: whether the agent runs is seen when it is asked.
  child.once("error", failed);
}
