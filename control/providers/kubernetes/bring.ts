import { createReadStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { settingName } from "../../../common/config.ts";
import { AppError } from "../../../common/errors.ts";
import { programArgs } from "../../../common/programs.ts";
import { shellWord } from "../../../common/shell-word.ts";
import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { findRoot, runIn, runtimeFolder } from "../../doors/kubernetes/exec.ts";
import { settleScript, unsettledCode } from "../../doors/runtime.ts";
import type { Bundle, Bundles } from "../../doors/ssh/bundles.ts";

/** Brings the agent, and Node.js, into a pod, whatever its image has. */

const leastNode = 24;
const hashLength = 16;
const quickMs = 15_000;
const uploadMs = 10 * 60_000;
/** Each piece of an upload is handled by the API server, the node and the container's runtime. */
const frameBytes = 2 ** 18;
/** How often an upload is sent at most, where its stream breaks. */
const uploadsAtMost = 3;
const brokenPauseMs = 500;

/** The kind of machine, the first Node.js of the pod or its image that starts, and which bundles are there. */
const lookScript = `
${findRoot}
cd "$root" && uname -m
for node in ${runtimeFolder}/lib/node ${runtimeFolder}/bin/node "$(command -v node)"; do
  version=$("$node" --version 2> /dev/null) && break
done
echo "$node $version"
ls bundles`;

/**
 * Takes a bundle of $2 bytes in as $1, whole or not at all. Also when it fails, all bytes are read: containerd tells
 * only then that it has ended.
 */
const unpackScript = `${settleScript}
set -eu
${findRoot}
cd "$root/bundles"
part=.$1.$$
trap 'rm -rf "$part"' EXIT
mkdir "$part"
head -c "$2" | { tar -xzf - -C "$part" || { code=$?; cat > /dev/null; exit "$code"; }; }
[ ! -e "$part/bin/node" ] || settle "$part"
[ -d "$1" ] || mv "$part" "$1"`;

/** Ends what has the agent's mark in its environment, and nothing that it started. */
const endScript = `
for file in /proc/[0-9]*/environ; do
  pid=\${file%/environ}
  if tr '\\0' '\\n' < "$file" 2> /dev/null | grep -q '^${settingName("socket")}='; then
    kill -KILL "\${pid#/proc/}" 2> /dev/null || true
  fi
done`;

/** Writes down how the agent is started; an agent of another build is ended, and started anew by the pod. */
const startScript = `
set -eu
${findRoot}
cd "$root/agent"
[ "$1" != "$(cat program 2> /dev/null)" ] || exit 0
printf '%s\\n' "$1" > program.new
mv program.new program
${endScript}`;

/** Has the agent of a pod run; it takes a moment until it listens. */
export async function bringAgent(
  api: KubeApi,
  pod: string,
  bundles: Bundles,
  build: string,
  signal: AbortSignal,
): Promise<void> {
  const look = { what: "looking for the agent", text: lookScript, timeoutMs: quickMs };
  const [arch = "", own = "", ...there] = (await runIn(api, pod, look, signal)).split("\n");
  const [ownNode = "", version = ""] = own.split(" ");
  const isNew = Number(/^v(\d+)/.exec(version)?.[1] ?? 0) >= leastNode;
  const runtime = isNew ? undefined : await bundles.runtime(arch);
  const agent = await bundles.agent();
  const missing = [agent, ...(runtime ? [runtime] : [])].filter(
    (one) => !there.includes(placeOf(one)),
  );
  await Promise.all(missing.map((one) => bundles.inTurn(() => upload(api, pod, one, signal))));
  const folder = (bundle: Bundle) => `$root/bundles/${placeOf(bundle)}`;
  const node = runtime ? `"${folder(runtime)}/bin/node"` : shellWord(ownNode);
  const program =
    `node=${node}\n${settingName("socket")}="$root/agent/agent.sock" ${settingName("build")}=${build} ` +
    `NODE_COMPILE_CACHE="$root/cache" exec "$node" ` +
    `${programArgs("agent").slice(0, -1).join(" ")} "${folder(agent)}/agent.mjs"`;
  const start = {
    what: "starting the agent",
    text: startScript,
    args: [program],
    timeoutMs: quickMs,
  };
  await runIn(api, pod, start, signal);
}

/** The image has no `tar`, or Node.js does not start in it: no other node would help. */
const lasting: readonly unknown[] = [127, unsettledCode];

const placeOf = ({ hash }: Bundle): string => hash.slice(0, hashLength);

async function upload(
  api: KubeApi,
  pod: string,
  bundle: Bundle,
  signal: AbortSignal,
): Promise<void> {
  for (let sent = 1; ; sent += 1) {
    const script = {
      what: "unpacking the agent",
      text: unpackScript,
      args: [placeOf(bundle), String(bundle.bytes)],
      input: createReadStream(bundle.file, { highWaterMark: frameBytes }),
      timeoutMs: uploadMs,
    };
    try {
      return void (await runIn(api, pod, script, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AppError)) throw error;
      const { exitCode } = error.details;
      if (lasting.includes(exitCode))
        throw new AppError("ResourcesUnavailableError", error.message, {}, error);
      if (exitCode !== undefined || sent === uploadsAtMost) throw error;
      await sleep(sent * brokenPauseMs, undefined, { signal });
    }
  }
}

/** Ends the agent of a pod, hung or not; the pod starts it again. */
export const endAgentIn = async (api: KubeApi, pod: string, signal: AbortSignal): Promise<void> =>
  void (await runIn(
    api,
    pod,
    { what: "ending the agent", text: endScript, timeoutMs: quickMs },
    signal,
  ));

/** Tells a pod that what ends it next is our own deletion; one that cannot be told is deleted all the same. */
export const announceDeletion = (
  api: KubeApi,
  pod: string,
  signal: AbortSignal,
): Promise<unknown> =>
  runIn(
    api,
    pod,
    { what: "announcing the end", text: `${findRoot}\n: > "$root/deleted"`, timeoutMs: 3_000 },
    signal,
  );

/**
 * What `agent pipe` does, in a third of the time: each connection to an agent begins with it, and ends with it, also where
 * the agent was killed.
 */
const pipeScript = `
const way = require("node:net").connect({ path: process.argv[1] });
way.on("error", ({ message }) => { console.error(message); process.exit(1); });
way.on("close", () => process.exit(0));
process.stdin.pipe(way).pipe(process.stdout);`;

/** Waits for an agent that has just been started for a second and a half. */
const pipeShell = `
${findRoot}
[ -e "$root/agent/program" ] || { echo "no agent was brought yet" >&2; exit 7; }
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do [ ! -S "$root/agent/agent.sock" ] || break; sleep 0.1; done
eval "$(head -n 1 "$root/agent/program")"
exec "$node" --max-semi-space-size=1 --no-maglev -e "$1" "$root/agent/agent.sock"`;

/** The command that connects its standard streams with the agent of the pod. */
export const pipeCommand = ["sh", "-c", pipeShell, "sh", pipeScript];
