import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Engine } from "../../common/containers.ts";
import { fail, toAppError } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { openTurnsByKey } from "../../common/turns.ts";
import type { ContainerOrder, ContainerSettings } from "../../contract/containers-api.ts";
import type { Agent } from "../context.ts";
import { setLastSetup } from "../jobs/last-setup.ts";
import { type Building, openSandbox, renewSandbox } from "./apptainer.ts";
import { bindsOf, lacksMounts } from "./binds.ts";
import {
  anyEngineOf,
  ask,
  type Container,
  engineOf,
  findSettings,
  removalFile,
  saveSettings,
} from "./engine.ts";
import { isInUse } from "./use.ts";
import { firstProcess, gpuWords, prepare, removal } from "./words.ts";

/** One that runs now, and its first process. */
export interface Running extends Container {
  readonly pid: number;
}

const removalMs = 60_000;
const specLabel = `${product.word}.spec`;
/** One at a time: two would make it twice. */
const inTurn = openTurnsByKey<Agent>();

/**
 * Has the container run as it is, or makes it anew where it is gone. Answers what `enter` does, which
 * notes that something is about to begin there: from then on it is not started again.
 */
export const openContainer = <T>(
  agent: Agent,
  given: ContainerSettings,
  enter: (container: Running) => T,
  signal: AbortSignal,
): Promise<T> =>
  inTurn(
    agent,
    async () => {
      const engine = engineOf(agent);
      // A launch may have had its turn meanwhile.
      const settings = findSettings(agent) ?? given;
      if (engine.name === "apptainer") {
        const options = await openSandbox(agent, engine, settings, signal);
        return enter({ engine, id: nameOf(agent), pid: 0, options });
      }
      const found = await findFinished(agent, engine);
      const id = found?.id ?? (await make(agent, engine, settings)).id;
      finish(agent);
      const isAsFound = found !== undefined && !(await refresh(agent, engine, found));
      const now = isAsFound ? found : await inspect(engine, id);
      return enter({ engine, id, pid: 0, ...now });
    },
    signal,
  );

/**
 * Has the container run as it is to be now; answers what had to be done. `refuse` is called before one that runs
 * is replaced, with why.
 */
export const renewContainer = (
  agent: Agent,
  order: ContainerOrder,
  refuse: (why: string) => void,
  asked: Building,
): Promise<string> =>
  inTurn(
    agent,
    async () => {
      const engine = anyEngineOf(agent);
      await leaveOther(agent, engine, refuse);
      const { login: _, ...settings } = order;
      const done =
        engine.name === "apptainer"
          ? await renewSandbox(agent, engine, order, { ...asked, refuse })
          : await renew(agent, engine, settings, refuse);
      saveSettings(agent, settings, engine);
      finish(agent);
      return done;
    },
    asked.signal,
  );

/** Removes the container of a program that cannot be used any more. */
async function leaveOther(agent: Agent, { name }: Engine, refuse: (why: string) => void) {
  const kept = findSettings(agent)?.engine ?? name;
  if (kept === name) return;
  refuse(`it is in ${kept}, which cannot be used any more`);
  await promisify(execFile)("sh", [removalFile(agent)], { timeout: removalMs }).catch(() =>
    fail("CloudError", `the container cannot be removed, as ${kept} does not answer; start it`),
  );
}

async function renew(
  agent: Agent,
  engine: Engine,
  settings: ContainerSettings,
  refuse: (why: string) => void,
): Promise<string> {
  const found = await findFinished(agent, engine);
  const spec = specOf(await wordsOf(agent, engine, settings));
  if (found?.spec === spec) {
    await refresh(agent, engine, found);
    return `its container runs in ${engine.name}`;
  }
  if (found !== undefined) {
    refuse("its image, options, file mounts or volumes are other ones");
    await ask(engine, ["rm", "-f", found.id]);
  }
  await make(agent, engine, settings);
  return `its container was started by ${engine.name}`;
}

/**
 * Starts a container unless it runs, and starts it again where it does not see a bucket that was mounted since; false
 * where it stays as it is, as one does that is in use. `docker top` cannot tell that: it does not list processes in
 * other control groups, and nothing of what is about to begin.
 */
async function refresh(agent: Agent, engine: Engine, { id, pid, isRunning }: Found) {
  if (isRunning && (isInUse(agent, id) || !(await lacksMounts(agent, pid)))) return false;
  await ask(engine, ["restart", "-t", "0", id]);
  return true;
}

/** Docker and podman learn of the end of a container after its processes have ended. */
const learnMs = 10_000;

/** Why a container in which a script was lost does not run any more; undefined where it still does after a while. */
export async function whyEnded(
  { engine, id }: Container,
  signal: AbortSignal,
  patienceMs = learnMs,
): Promise<string | undefined> {
  if (engine.name === "apptainer") return undefined;
  const until = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  await ask(engine, ["wait", id], { signal: until }).catch(() => {});
  signal.throwIfAborted();
  const found = await inspect(engine, id).catch((error: unknown) => toAppError(error).message);
  if (typeof found === "string") return `its container may have ended: ${found}`;
  if (found?.isRunning) return undefined;
  return found?.isOutOfMemory ? "its container ran out of memory" : "its container ended";
}

/** There from before a container is made until it is ready and the settings of the node are its own. */
const unfinishedFile = ({ config }: Pick<Agent, "config">): string =>
  join(config.agentFolder, "container.unfinished");

const finish = (agent: Agent): void => rmSync(unfinishedFile(agent), { force: true });

/** What there is of the container of the node; one that an earlier agent left unfinished is removed. */
async function findFinished(agent: Agent, engine: Engine): Promise<Found | undefined> {
  const found = await inspect(engine, nameOf(agent));
  if (found === undefined || !existsSync(unfinishedFile(agent))) return found;
  await ask(engine, ["rm", "-f", found.id]);
  return undefined;
}

async function make(agent: Agent, engine: Engine, settings: ContainerSettings): Promise<Container> {
  const { uid, gid, baseEnv, home } = userOf(agent);
  const name = nameOf(agent);
  const words = await wordsOf(agent, engine, settings);
  // First: whatever happens from here on, the container does not outlive the node.
  writeFileSync(removalFile(agent), removal(engine, name), { mode: 0o600 });
  writeFileSync(unfinishedFile(agent), "");
  setLastSetup(agent.journal, null);
  // Behind the options of the task: of two names the last one counts.
  const ours = ["--name", name, "--label", `${specLabel}=${specOf(words)}`];
  const run = ["run", "-d", ...words.options, ...ours, ...words.command];
  try {
    const id = await ask(engine, run);
    const asRoot = ["exec", "-u", "0", "-e", `HOME=${home}`, id, "/bin/sh", "-c", prepare, "sh"];
    await ask(engine, [...asRoot, String(uid), String(gid), baseEnv["USER"] ?? "user"]);
    agent.log.info({ image: settings.image, container: id, engine: engine.name }, "container made");
    return { engine, id };
  } catch (error) {
    await ask(engine, ["rm", "-f", name]).catch(() => {});
    throw error;
  }
}

const specOf = (words: Words): string =>
  createHash("sha256").update(JSON.stringify(words)).digest("hex").slice(0, 16);

const nameOf = ({ config }: Pick<Agent, "config">): string =>
  `${product.word}-${createHash("sha256").update(config.agentFolder).digest("hex").slice(0, 12)}`;

/** Whose the node is. In a user's own docker or podman that user is root. */
function userOf({ config }: Pick<Agent, "config">) {
  const { baseEnv } = config;
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return { uid, gid, baseEnv, home: baseEnv["HOME"] ?? "/" };
}

interface Words {
  readonly options: readonly string[];
  /** The image, and what runs in it. */
  readonly command: readonly string[];
}

/** What the container is made of, besides its name. */
async function wordsOf(
  agent: Agent,
  engine: Engine,
  { clusterId, image, runOptions }: ContainerSettings,
): Promise<Words> {
  const { uid, gid, home } = userOf(agent);
  const isUsersDocker = uid !== 0 && engine.name === "docker";
  const isOwn = isUsersDocker && (await isRootless(engine));
  const mark = `${product.word.toUpperCase()}_CONTAINER_FOLDER=${home}/.${product.word}/`;
  const first = firstProcess(agent.config.onTerm === "preemption");
  const options = [
    ...["--network", "host", "--pull", "never", ...first.options],
    // A docker of the user's own may share no more.
    ...(isOwn ? ["-v", "/dev/shm:/dev/shm"] : ["--ipc", "host"]),
    ...["--label", `${product.word}.cluster=${clusterId}`, "-e", `HOME=${home}`, "-e", mark],
    ...(await bindsOf(agent)).flatMap((bind) => ["-v", bind]),
    ...(isUsersDocker && !isOwn ? ["--user", `${uid}:${gid}`] : []),
    ...gpuWords(engine, existsSync),
    ...agent.config.containerOptions,
    ...runOptions,
  ];
  return { options, command: [image, ...first.command] };
}

const isRootless = async (engine: Engine): Promise<boolean> =>
  (await ask(engine, ["info", "-f", "{{.SecurityOptions}}"])).includes("name=rootless");

const format = `{{.Id}} {{.State.Pid}} {{.State.Running}} {{.State.OOMKilled}} {{index .Config.Labels "${specLabel}"}}`;

interface Found {
  readonly id: string;
  /** Its first process. */
  readonly pid: number;
  readonly isRunning: boolean;
  readonly isOutOfMemory: boolean;
  readonly spec: string | undefined;
}

/** What there is of this name or id; undefined where there is none. */
async function inspect(engine: Engine, name: string): Promise<Found | undefined> {
  const text = await ask(engine, ["container", "inspect", "-f", format, name]).catch((error) => {
    if (/no such (container|object)/i.test(error.message)) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const [id = "", pid, running, oom, spec] = text.split(" ");
  return {
    id,
    pid: Number(pid),
    isRunning: running === "true",
    isOutOfMemory: oom === "true",
    spec,
  };
}
