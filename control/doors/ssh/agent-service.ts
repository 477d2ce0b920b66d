import type { ClientChannel } from "ssh2";
import type { Dispatcher } from "undici";
import { settingName } from "../../../common/config.ts";
import { product, protocol } from "../../../common/product.ts";
import { programArgs } from "../../../common/programs.ts";
import { exportsFolder } from "../../../contract/files-api.ts";
import { endNodeGroups } from "../node-groups.ts";
import { openChannelDoor } from "./door.ts";
import { runOn } from "./exec.ts";
import type { Installed } from "./install.ts";
import { lingerNoMore } from "./linger.ts";
import { type Occupant, writeOccupant } from "./occupant.ts";
import { agentUnit, type HostFacts, ourDropIn } from "./probe.ts";
import type { ReachedHost } from "./reached-host.ts";

/** Starting or ending an agent with all that it started takes no longer. */
const scriptMs = 15_000;
const word = product.word;
const unit = agentUnit;
const variable = { socket: settingName("socket"), build: settingName("build") };
const powerOff = settingName("powerOffCommand");
const markOf = (kind: string) => `${word.toUpperCase()}_${kind}_FOLDER`;

/** Where the agent of a host listens. */
const socketOf = ({ home }: HostFacts): string => `${home}/.${word}/agent/agent.sock`;

/** The door to the agent of a host, which `reach` finds for each connection. */
export const openHostDoor = (reach: () => Promise<ReachedHost>): Dispatcher =>
  openChannelDoor(async () => {
    const { ssh, target, facts } = await reach();
    return ssh.channel<ClientChannel>(target, (client, done) =>
      client.openssh_forwardOutStreamLocal(socketOf(facts), done as never),
    );
  });

/** Whose systemd; and where its units and what we add to them lie. */
const systemd = (user: string) => `
export XDG_RUNTIME_DIR=\${XDG_RUNTIME_DIR:-/run/user/$(id -u)}
if [ "${user}" = user ]; then units=~/.config/systemd/user scope=--user; else units=/etc/systemd/system scope=--system; fi
added=$units/${unit}.service.d
ctl() { systemctl $scope "$@"; }
if [ -e "$units/${unit}.service" ] && [ ! -e "$added/${ourDropIn}" ]; then
  echo "$units/${unit}.service was installed by hand, and stays with all that it runs" >&2
  exit 1
fi`;

/**
 * Without systemd a loop starts the agent again whenever it crashes. The lock is held for as long as
 * the loop runs, and is not handed on. $1 is Node.js, $2 the agent's folder, $3 its build, the rest
 * what Node.js is told.
 */
const startPlain = `
set -eu
root=~/.${word}
node=$1 folder=$2 build=$3
shift 3
mkdir -p -m 700 "$root" "$root/agent"
rm -f "$root/stopped"
unset SSH_CONNECTION SSH_CLIENT SSH_TTY
export ${variable.socket}=$root/agent/agent.sock ${variable.build}=$build
export ${powerOff}="touch '$root/stopped'" NODE_COMPILE_CACHE=$root/cache
cd
setsid flock -n -o "$root/agent/loop.lock" bash -c '
  while :; do
    "$@" < /dev/null >> ~/.${word}/agent/agent.log 2>&1
    case $? in 0 | 2) exit ;; esac
    sleep 0.2
  done' loop "$node" "$@" "$folder/agent.mjs" < /dev/null > /dev/null 2>&1 &`;

const startUnit = (manager: string) => `${systemd(manager)}
set -eu
root=~/.${word}
node=$1 folder=$2 build=$3
mkdir -p -m 700 "$root" "$root/agent"
rm -f "$root/stopped"
if ctl is-active -q ${unit} && grep -qF "$folder/" "$units/${unit}.service" && grep -qsF "=$build" "$added/${ourDropIn}"; then exit; fi
mkdir -p "$added"
cat > "$added/${ourDropIn}" <<END
[Unit]
ConditionPathExists=!$root/stopped
[Service]
CacheDirectory=
Environment=NODE_COMPILE_CACHE=$root/cache
Environment=${variable.build}=$build
Environment="${powerOff}=touch $root/stopped"
END
"$node" "$folder/${word}.mjs" agent install ${manager === "user" ? "--user" : ""}`;

/**
 * Kills whatever has one of the texts in its environment: $signal, then KILL after $grace tenths. What
 * no signal ends has what it holds, so nothing is done after that.
 */
const endMarked = `
end_marked() {
  for ((n = 0; n < 100; n += 1)); do
    found=$(grep -lzsF "$@" /proc/[0-9]*/environ || true)
    if [ -z "$found" ]; then return 0; fi
    if [ $n -ge $grace ]; then signal=KILL; fi
    if [ $n = 0 ] || [ $signal = KILL ]; then
      for file in $found; do pid=\${file%/environ}; kill -$signal "\${pid#/proc/}" 2> /dev/null || true; done
    fi
    sleep 0.1
  done
  echo "processes cannot be ended: $found" >&2
  exit 1
}`;

/** Programs of earlier versions go, once nothing runs on them; $node and $folder stay. */
const prune = `
for old in ~/.${word}/bundles/*/; do
  case "$node $folder/" in *"$old"*) continue ;; esac
  grep -qzsF "$old" /proc/[0-9]*/cmdline || rm -rf "$old"
done`;

const endPlain = `${endMarked}
signal=KILL grace=0
end_marked -e "${variable.socket}=$HOME/.${word}/agent/agent.sock"`;

/** An agent that does not leave within a second hangs. */
const endUnit = (manager: string) => `${systemd(manager)}
if [ -e "$units/${unit}.service" ]; then
  ctl stop --no-block ${unit}
  for ((n = 0; n < 20; n += 1)); do
    case $(ctl is-active ${unit}) in inactive | failed) break ;; esac
    if [ $n = 10 ]; then ctl kill -s KILL --kill-who=main ${unit}; fi
    sleep 0.1
  done
fi`;

/** A unit that is stopped stays so when the machine boots. */
const endWork = `${endMarked}
[ ! -d ~/.${word} ] || touch ~/.${word}/stopped
signal=TERM grace=20
end_marked -e "${markOf("JOB")}=$HOME/.${word}/" -e "${markOf("HOOK")}=$HOME/.${word}/" -e "${markOf("MOUNT")}=$HOME/.${word}/" -e "${markOf("CONTAINER")}=$HOME/.${word}/"
${endNodeGroups}`;

/**
 * Unmounts everything below the folders that are deleted next, and buckets wherever the agent mounted them; the
 * newest first. The list is read whole before anything is unmounted: it shrinks meanwhile.
 */
const unmountAll = `
list_mounts() {
  home=$(cd && pwd -P) root=$(cd .${word} 2> /dev/null && pwd -P || true)
  mounts=$(cat /proc/self/mounts) && mounts=$(tac <<< "$mounts") || exit 1
  while read -r _ written _; do
    printf -v where %b "$written"
    case $where in
      "\${root:-$home/.${word}}"/* | "$home/${word}_workdir" | "$home/${word}_workdir"/*) ;;
      *) grep -qzsxF -e "$where" .${word}/agent/mounts/*/root || continue ;;
    esac
    printf '%s\\n' "$written"
  done <<< "$mounts"
}
unmount_all() {
  found=$(list_mounts)
  while read -r written; do
    if [ -z "$written" ]; then continue; fi
    printf -v where %b "$written"
    fusermount3 -u -z "$where" 2> /dev/null || fusermount -u -z "$where" 2> /dev/null || umount -l "$where" || true
  done <<< "$found"
  left=$(list_mounts)
  if [ -n "$left" ]; then echo "cannot be unmounted: $left" >&2; exit 1; fi
}`;

/** What a cluster leaves on a host; to delete what is mounted would empty a bucket. The agent's files stay for the next one. */
const removeWork = `${unmountAll}
cd
[ ! -e .${word}/agent/remove-container ] || sh .${word}/agent/remove-container
for note in .${word}/agent/exports/*; do
  at=${exportsFolder}/\${note##*/}
  umount -l "$at" 2> /dev/null || true
  rmdir "$at" 2> /dev/null || true
done
unmount_all
cat .${word}/agent/files/placed/*.paths 2> /dev/null | xargs -0 -r rm -df -- 2> /dev/null || true
rm -rf .${word}/{agent,jobs,hooks,shells,stopped} ${word}_workdir
if [ "$(readlink ${protocol.requestPrefix}_workdir)" = "$HOME/${word}_workdir" ]; then rm -f ${protocol.requestPrefix}_workdir; fi`;

const removeUnit = (manager: string) => `${systemd(manager)}
if [ -e "$units/${unit}.service" ]; then
  ctl disable -q ${unit}
  rm -rf "$units/${unit}.service" "$added"
  ctl daemon-reload
fi
if [ "${manager}" = user ]; then (cd && rmdir -p .config/systemd/user 2> /dev/null) || true; fi`;

const removeFiles = `
cd
rm -rf .${word}/{bundles,cache}
${lingerNoMore}
rmdir .${word} 2> /dev/null || true`;

const plain = { start: startPlain, end: endPlain, remove: "" };
const unitScripts = (manager: string) => ({
  start: startUnit(manager),
  end: endUnit(manager) + endPlain,
  remove: removeUnit(manager),
});

/** How the agent is started and ended, by what the host has. */
const services = { plain, system: unitScripts("system"), user: unitScripts("user") };
const serviceOf = ({ systemd: manager }: HostFacts) => services[manager ?? "plain"];

/** Starts the agent of a host, which from then on says which node it is; one that runs already goes on. */
export async function startAgentOn(
  host: ReachedHost,
  { node, folder }: Installed,
  { build, occupant }: { build: string; occupant: Occupant },
  signal?: AbortSignal,
): Promise<void> {
  const args = [node, folder, build, ...programArgs("agent").slice(0, -1)];
  const { start } = serviceOf(host.facts);
  // In a shell of its own, which may end early where the agent runs already.
  const script = ["set -e", "(", start, prune, ")", writeOccupant(occupant)].join("\n");
  await run(host, "starting the agent", script, { args, signal });
}

/** Ends the agent of a host, hung or not, and nothing that it started. */
export const endAgentOn = (host: ReachedHost, signal?: AbortSignal): Promise<void> =>
  run(host, "ending the agent", serviceOf(host.facts).end, { signal });

/** Ends the agent of a host and all that it started; files stay. */
export const stopNodeOn = (host: ReachedHost, signal?: AbortSignal): Promise<void> =>
  run(host, "ending what runs", [serviceOf(host.facts).end, endWork].join("\n"), { signal });

/** As `stopNodeOn`; nothing is left of the node but the agent's program. */
export const removeNodeOn = (host: ReachedHost, signal?: AbortSignal): Promise<void> => {
  const { end, remove } = serviceOf(host.facts);
  const script = [end, endWork, "set -e", remove, removeWork].join("\n");
  return run(host, "cleaning up", script, { signal });
};

/** As `removeNodeOn`; nothing of ours is left. */
export const cleanHost = (host: ReachedHost, signal?: AbortSignal): Promise<void> => {
  const { end, remove } = serviceOf(host.facts);
  const script = [end, endWork, "set -e", remove, removeWork, removeFiles].join("\n");
  return run(host, "cleaning up", script, { signal });
};

/** Whether the node of a host turned itself off. */
export async function hasStopped(host: ReachedHost, signal?: AbortSignal): Promise<boolean> {
  const text = `[ ! -e ~/.${word}/stopped ] || echo stopped`;
  const script = { what: "looking at the node", text, timeoutMs: 3_000 };
  return (await runOn(host.ssh, host.target, script, signal)) !== "";
}

async function run(
  { ssh, target }: ReachedHost,
  what: string,
  text: string,
  { args = [], signal }: { args?: string[]; signal?: AbortSignal | undefined },
): Promise<void> {
  await runOn(ssh, target, { what, text, args, timeoutMs: scriptMs }, signal);
}
