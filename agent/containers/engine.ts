import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { pickSet } from "../../common/config.ts";
import { type Engine, findEngine, howToRunContainers } from "../../common/containers.ts";
import { AppError, type ErrorType, fail, ifPossible } from "../../common/errors.ts";
import { replaceFile, unlessMissing } from "../../common/files.ts";
import type { ContainerSettings } from "../../contract/containers-api.ts";
import { inheritedVariables } from "../../contract/variables.ts";
import type { Agent } from "../context.ts";

type Configured = Pick<Agent, "config">;

/** What scripts of a node run in, and which program has it. */
export interface KeptSettings extends ContainerSettings {
  readonly engine: Engine["name"];
}

/** Beside the journal, so that a corrupt one does not have scripts run outside. */
const settingsFile = ({ config }: Configured): string => join(config.agentFolder, "container.json");

/** What scripts of this node run in; undefined where they run on the node itself. */
export const findSettings = (agent: Configured): KeptSettings | undefined => {
  const text = unlessMissing(() => readFileSync(settingsFile(agent), "utf8"));
  return text === undefined ? undefined : JSON.parse(text);
};

/** Without the login of an order. */
export function saveSettings(
  agent: Configured,
  { clusterId, image, runOptions }: ContainerSettings,
  { name: engine }: Engine,
): void {
  const settings: KeptSettings = { clusterId, image, runOptions, engine };
  replaceFile(settingsFile(agent), JSON.stringify(settings));
}

/** What has the container of this node; throws `NotSupportedError` where that cannot be used. */
export function engineOf(agent: Configured): Engine {
  const kept = findSettings(agent)?.engine;
  const where = kept === undefined ? "this node has no containers" : `its container is in ${kept}`;
  return find(agent, kept) ?? fail("NotSupportedError", `${where}: ${howToRunContainers}`);
}

/** The same, or another one where that cannot be used any more. */
export const anyEngineOf = (agent: Configured): Engine =>
  find(agent, findSettings(agent)?.engine) ?? find(agent, undefined) ?? engineOf(agent);

const find = ({ config }: Configured, asked: Engine["name"] | undefined): Engine | undefined =>
  findEngine({ ...config.baseEnv, ...config.engineEnv }, config.baseEnv["PATH"] ?? "", asked);

/** The same for what gets images, which goes the way of jobs: through their proxy, with their certificates. */
export const toFetch = ({ config }: Pick<Agent, "config">, engine: Engine): Engine => ({
  ...engine,
  env: { ...pickSet(config.baseEnv, inheritedVariables), ...engine.env },
});

/** A container in which scripts can be started. */
export interface Container {
  readonly engine: Engine;
  readonly id: string;
  /** What each of them is started with where it brings the container with it. */
  readonly options?: readonly string[];
}

/** The script that removes the container when its node is deleted, with or without the agent. */
export const removalFile = ({ config }: Pick<Agent, "config">): string =>
  join(config.agentFolder, "remove-container");

/** Where Apptainer has the files of the container. */
export const sandboxOf = ({ config }: Pick<Agent, "config">): string =>
  join(config.agentFolder, "container");

const graceMs = 5_000;

/** What a program is given besides its words. */
export interface Asked {
  readonly input?: string;
  readonly signal?: AbortSignal;
  /** Takes each line that it prints. */
  readonly heard?: (line: string) => void;
}

/** Has a program for containers do something; answers what it printed. Throws why it could not, in a sentence. */
export async function ask(
  { name, file, env }: Engine,
  words: readonly string[],
  { input = "", signal, heard = () => {} }: Asked = {},
): Promise<string> {
  signal?.throwIfAborted();
  // It has a process group of its own.
  const child = spawn(file, words, { env, detached: true });
  child.stdin.on("error", () => {}).end(input);
  const ended = once(child, "close");
  ended.catch(() => {});
  const end = () => void endGroup(child.pid, ended);
  signal?.addEventListener("abort", end);
  const said: Record<"stdout" | "stderr", string[]> = { stdout: [], stderr: [] };
  const read = (stream: "stdout" | "stderr") =>
    (async () => {
      for await (const line of createInterface({ input: child[stream] })) {
        said[stream].push(line);
        heard(line);
      }
    })();
  await Promise.all([read("stdout"), read("stderr")]);
  const [code] = await ended.finally(() => signal?.removeEventListener("abort", end));
  signal?.throwIfAborted();
  if (code === 0) return said.stdout.join("\n").trim();
  throw errorOf(name, said.stderr.join("\n").trim() || `it exited with ${code}`);
}

/** Ends all processes of a group: what does not heed TERM is killed. */
async function endGroup(group: number | undefined, ended: Promise<unknown>): Promise<void> {
  if (group === undefined) return;
  // It may be gone, or run as another user.
  const tell = (name: "SIGTERM" | "SIGKILL") => ifPossible(() => process.kill(-group, name));
  tell("SIGTERM");
  await Promise.race([ended, sleep(graceMs, undefined, { ref: false })]).catch(() => {});
  tell("SIGKILL");
}

/** What a node can do nothing about, by what these programs say of it. */
const troubles: readonly (readonly [RegExp, ErrorType, string])[] = [
  [
    /no space left|disk quota exceeded/i,
    "StorageError",
    "the disk of the node is full; make room on it",
  ],
  [
    /unauthorized|no basic auth|authentication required|access (to the resource )?is denied|denied:|incorrect username|invalid username/i,
    "PermissionDeniedError",
    "the registry lets nobody in with this login; check the secrets DOCKER_USERNAME, DOCKER_PASSWORD and DOCKER_SERVER of the task, and the name of the image",
  ],
  [
    /manifest unknown|not found|name unknown|repository does not exist/i,
    "NotFoundError",
    "there is no such image; check its name and tag",
  ],
  [
    /could not select device driver|unresolvable CDI devices|nvidia-container/i,
    "NotSupportedError",
    "GPUs of the node cannot be passed to a container; install nvidia-container-toolkit there (for podman with a CDI specification)",
  ],
  [
    /not compatible with NoCgroups/,
    "NotSupportedError",
    "podman can run no container within an allocation of Slurm here; install crun on the nodes",
  ],
  [
    /unknown (shorthand )?flag|invalid argument ".*" for|invalid reference format/i,
    "ValueError",
    "the image or its options are invalid; check image_id and config.docker.run_options of the task",
  ],
  [
    /create user namespace/i,
    "NotSupportedError",
    "this user may run no containers on the node; it needs user namespaces, or an Apptainer that was installed with setuid",
  ],
  [
    /cannot connect to the docker daemon/i,
    "CloudError",
    "the docker daemon of the node does not answer; start it",
  ],
];

function errorOf(name: string, said: string): AppError {
  const [, type = "RuntimeError", what] = troubles.find(([shape]) => shape.test(said)) ?? [];
  const lines = said.split("\n");
  // Apptainer shows all of its options below what it does not like.
  const first = lines.find((line) => /^(FATAL|Error for command)/.test(line));
  const last = first ?? lines.findLast((line) => !/^(Run '|Usage:|\s*$)/.test(line));
  const words = `${name} says: ${last?.trim()}`;
  return new AppError(type, what === undefined ? words : `${what} (${words})`);
}
