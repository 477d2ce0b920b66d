import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import type { Engine } from "../../common/containers.ts";
import { fail } from "../../common/errors.ts";
import { isFolder, unlessMissing } from "../../common/files.ts";
import { product } from "../../common/product.ts";
import { shellWord } from "../../common/shell-word.ts";
import { systemUser } from "../../common/system-user.ts";
import type { ContainerOrder, ContainerSettings } from "../../contract/containers-api.ts";
import type { Agent } from "../context.ts";
import { setLastSetup } from "../jobs/last-setup.ts";
import { seenPaths } from "./binds.ts";
import { type Asked, ask, removalFile, sandboxOf, toFetch } from "./engine.ts";
import { enterContainer, sandboxWords } from "./enter.ts";
import { gpuWords, prepare } from "./words.ts";

/**
 * Containers of Apptainer and of SingularityCE, which has the same command line: a folder with the files of the image,
 * in which each script is started by itself. No process of a container outlives its scripts.
 */

/** Shell text that removes folders. Images have some that cannot be written to, and scripts may make more. */
const removal = (...folders: string[]): string => {
  const all = folders.map(shellWord).join(" ");
  return `chmod -R u+rwX ${all} 2> /dev/null\nrm -rf ${all}\n`;
};

/** The paths that a container was last made ready for. */
const readyFor = new WeakMap<Agent, string>();

/** What the image of the container is written in, beside it: launches that are refused leave one of another image. */
const imageFileOf = (agent: Agent): string => `${sandboxOf(agent)}.image`;

/** Of which image the container is; undefined where there is none. */
const imageOf = (agent: Agent): string | undefined =>
  existsSync(sandboxOf(agent))
    ? unlessMissing(() => readFileSync(imageFileOf(agent), "utf8"))
    : undefined;

/** What `exec` is given for a container that has everything of its node; builds one that is gone, or of another image. */
export async function openSandbox(
  agent: Agent,
  engine: Engine,
  settings: ContainerSettings,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const order = { ...settings, login: null };
  if (imageOf(agent) !== settings.image) await build(agent, engine, order, { signal });
  const paths = await pathsOf(agent);
  const gpus = gpuWords(engine, existsSync);
  const binds = paths.flatMap((path) => ["--bind", path]);
  const options = [...binds, ...gpus, ...settings.runOptions];
  const words = JSON.stringify(options);
  if (readyFor.get(agent) === words) return options;
  await makeReady(agent, engine, { paths, options, signal });
  readyFor.set(agent, words);
  return options;
}

/**
 * Has the container be one of the image that is ordered; answers what had to be done. `refuse` is called before one of
 * another image is replaced, with why.
 */
export async function renewSandbox(
  agent: Agent,
  engine: Engine,
  order: ContainerOrder,
  { refuse, ...asked }: Renewal,
): Promise<string> {
  const isThere = existsSync(sandboxOf(agent));
  const isSame = imageOf(agent) === order.image;
  if (isThere && !isSame) refuse("its image is another one");
  if (!isSame) await build(agent, engine, order, asked);
  readyFor.delete(agent);
  await openSandbox(agent, engine, order, asked.signal);
  return isSame
    ? `its container runs in ${engine.name}`
    : `its container was made by ${engine.name}`;
}

/** What a build takes for hung. */
const buildHours = 4;

export interface Building extends Pick<Asked, "heard"> {
  readonly signal: AbortSignal;
}

interface Renewal extends Building {
  refuse(why: string): void;
}

/** The login is in no command line, and nowhere once the image is there. */
async function build(
  agent: Agent,
  engine: Engine,
  { image, login }: ContainerOrder,
  asked: Building,
): Promise<void> {
  const sandbox = sandboxOf(agent);
  const [fresh, temporary] = [`${sandbox}.new`, `${sandbox}.tmp`];
  const file = removalFile(agent);
  writeFileSync(file, removal(sandbox, fresh, temporary, imageFileOf(agent)), { mode: 0o600 });
  await promisify(execFile)("sh", [file]);
  readyFor.delete(agent);
  setLastSetup(agent.journal, null);
  const logins = ["APPTAINER", "SINGULARITY"].flatMap((program) => [
    [`${program}_DOCKER_USERNAME`, login?.user ?? ""],
    [`${program}_DOCKER_PASSWORD`, login?.password ?? ""],
  ]);
  // What lies on the same disk as the container needs no other one to have room.
  const fetching = toFetch(agent, engine);
  const env = { TMPDIR: temporary, ...fetching.env, ...(login && Object.fromEntries(logins)) };
  mkdirSync(temporary, { mode: 0o700 });
  try {
    const words = ["build", "--sandbox", "--fix-perms", fresh, `docker://${image}`];
    const limit = AbortSignal.timeout(buildHours * 3_600_000);
    const signal = AbortSignal.any([asked.signal, limit]);
    await ask({ ...fetching, env }, words, { ...asked, signal }).catch((error: unknown) => {
      if (!limit.aborted) throw error;
      fail("TimeoutError", `the image was not there within ${buildHours} hours`);
    });
    writeFileSync(imageFileOf(agent), image, { mode: 0o600 });
    renameSync(fresh, sandbox);
    agent.log.info({ image, engine: engine.name }, "container made");
  } finally {
    // What is left is removed with the container.
    await promisify(execFile)("sh", ["-c", removal(fresh, temporary)]).catch(() => {});
  }
}

/** What the container sees of its node. Users of Apptainer expect their home, wherever that of the node is. */
async function pathsOf(agent: Agent): Promise<string[]> {
  const { uid, home } = systemUser();
  const paths = await seenPaths(agent);
  const isOther = uid !== 0 && home !== "/" && existsSync(home) && !paths.includes(home);
  return isOther ? [...paths, home].toSorted() : paths;
}

/** A container that can be written to has no places for what is bound in it but those that it contains. */
const makePlaces = `
[ -z "$1" ] || [ -e /usr/bin/nvidia-smi ] || : > /usr/bin/nvidia-smi
shift
for path; do
  case $path in
  */) mkdir -p "$path" ;;
  *) [ -e "$path" ] || { mkdir -p "\${path%/*}/" && : >> "$path"; } ;;
  esac || exit
done`;

interface Ready {
  readonly paths: readonly string[];
  readonly options: readonly string[];
  readonly signal: AbortSignal;
}

async function makeReady(
  agent: Agent,
  engine: Engine,
  { paths, options, signal }: Ready,
): Promise<void> {
  const named = async (path: string) => ((await isFolder(path)) ? `${path}/` : path);
  const places = [
    "sh",
    options.includes("--nv") ? "nv" : "",
    ...(await Promise.all(paths.map(named))),
  ];
  const bare = [...sandboxWords, "--pwd", "/", sandboxOf(agent), "/bin/sh", "-c", makePlaces];
  await ask(engine, [...bare, ...places], { signal });
  const env = agent.config.baseEnv;
  const { through, env: given } = enterContainer(
    agent,
    { engine, id: product.word, options },
    { env, workdir: "/" },
  );
  const [file = "", ...words] = through;
  const asWhoever = `set -- "$(id -u)" "$(id -g)" "$USER"\n${prepare}`;
  await ask({ ...engine, file, env: given }, [...words, "/bin/sh", "-c", asWhoever], { signal });
}
