import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../../common/containers.ts";
import { fail, toAppError } from "../../common/errors.ts";
import type { ContainerNews, ContainerOrder } from "../../contract/containers-api.ts";
import type { Agent } from "../context.ts";
import { activeJobs, countActivity } from "../idle.ts";
import { refuseWhileLeaving } from "../lifecycles/lifecycles.ts";
import { renewContainer } from "./container.ts";
import { anyEngineOf, ask, findSettings, saveSettings, toFetch } from "./engine.ts";

const newsEveryMs = 1_000;

/** Has all scripts run in a container from now on; yields what happens, and how it ended. */
export async function* putContainer(
  agent: Agent,
  order: ContainerOrder,
  signal: AbortSignal,
): AsyncGenerator<ContainerNews> {
  refuseWhileLeaving(agent);
  const until = AbortSignal.any([signal, agent.stopping]);
  let line: string | null = null;
  const tell = (text: string) => {
    line = text;
  };
  const ending = put(agent, order, tell, until).then(
    (done): ContainerNews => ({ done }),
    (error: unknown): ContainerNews => {
      const { type, message } = toAppError(error);
      return { problem: { type, message } };
    },
  );
  for (;;) {
    const end = await Promise.race([ending, sleep(newsEveryMs, undefined, { ref: false })]);
    countActivity(agent);
    yield end ?? { line };
    line = null;
    if (end !== undefined) return;
  }
}

async function put(
  agent: Agent,
  order: ContainerOrder,
  tell: (line: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const engine = anyEngineOf(agent);
  const { image } = order;
  // Nothing runs on the node itself from now on, also if there never is a container.
  if (findSettings(agent) === undefined) saveSettings(agent, order, engine);
  const refuse = (why: string) => {
    const [job] = activeJobs(agent);
    if (job === undefined) return;
    fail(
      "ConflictError",
      `the container of the node cannot be replaced while ${job} runs in it: ${why}; wait for the job, or launch under another name`,
    );
  };
  if (engine.name !== "apptainer" && !(await hasImage(engine, image)))
    await pull(agent, toFetch(agent, engine), order, tell, signal);
  const done = await renewContainer(agent, order, refuse, { heard: tell, signal });
  return `${image} is there, and ${done}`;
}

const hasImage = async (engine: Engine, image: string): Promise<boolean> =>
  (await ask(engine, ["images", "-q", image])) !== "";

/** The login lies in a folder of its own meanwhile: nobody else's is used or changed. */
async function pull(
  { config }: Agent,
  engine: Engine,
  { image, login }: Pick<ContainerOrder, "image" | "login">,
  heard: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const folder = mkdtempSync(join(config.agentFolder, "login-"));
  const file = join(folder, "auth.json");
  const isDocker = engine.name === "docker";
  const global = isDocker && login !== null ? ["--config", folder] : [];
  const own = isDocker || login === null ? [] : ["--authfile", file];
  try {
    if (login !== null) {
      const { server, user, password } = login;
      const words = [...global, "login", ...own, "--username", user, "--password-stdin", server];
      await ask(engine, words, { input: password, signal });
    }
    await ask(engine, [...global, "pull", ...own, image], { heard, signal });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
