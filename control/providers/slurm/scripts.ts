import { product } from "../../../common/product.ts";
import { inheritedVariables } from "../../../contract/variables.ts";

/** What runs on the login node and in allocations, as bash. A cluster has a folder on the shared file system. */

const upper = product.word.toUpperCase();

/** What `submitScript` adds to the complaint of a Slurm that does not answer, if no job of the cluster can be there. */
export const unsubmitted = "; nothing was submitted";

/**
 * Notes the epoch $2 of a control plane, so that all that an earlier one still sends fails. $1 is how the names of its
 * notes begin, beside the folders of clusters. Fails where it cannot be noted, but for an empty home: that of a new user,
 * or one that is away.
 */
const noteEpoch = `
[ -e "$1$2" ] || (
  umask 077
  [ -d "\${1%/*}" ] || { [ -n "$(ls -A "$HOME")" ] && mkdir -p "\${1%/*}"; }
  : > "$1$2" && for one in "$1"*; do [ "\${one#"$1"}" -ge "$2" ] || rm -f "$one"; done
) 2> /dev/null || true
[ -e "$1$2" ] || [ -z "$(ls -A "$HOME")" ] || { echo "$1$2 cannot be written; is the home away, or its disk full?" >&2; exit 1; }`;

/** Removes the folder $1, whose lock is held. NFS keeps a file that is open, and its folder, until it is closed. */
const remove = 'rm -rf "$1" 2> /dev/null || { exec 9>&-; rmdir "$1"; }';

/** Fails once a control plane has noted a later epoch than $4, where $3 is how the names of its notes begin. */
const fence = `
for one in "$3"*; do
  [ -e "$one" ] && [ "\${one#"$3"}" -gt "$4" ] || continue
  [ ! -d "$1" ] || [ -e "$1/batch" ] || { ${remove} || true; }
  echo "another control plane has taken over; if this one is the right one, end the other and remove $one" >&2
  exit 1
done`;

/** Takes the lock of the folder $1. A lock that was removed meanwhile would hold up no other submission. */
const lock = `
exec 9> "$1/lock"
flock --timeout 60 9
[ "$1/lock" -ef /dev/fd/9 ] || { echo "the folder of the cluster was removed meanwhile" >&2; exit 1; }
${fence}`;

/**
 * Submits the job $2 of the cluster with the folder $1, unless it has one, even one that ends: it may be requeued. $5 is
 * the build and the command of the agent, $6 and $7 are the scripts below, and the rest is for sbatch(1). The lock holds
 * while another submission is still under way, even one of a control plane that was killed.
 *
 * The file `batch` is written under the lock and before sbatch(1), so a folder without it says that nothing was ever
 * submitted, by any control plane. The folder is removed then where Slurm does not answer.
 */
export const submitScript = `
set -euo pipefail
umask 077
mkdir -p "$1"
cd "$1"
${lock}
if ! jobs=$(squeue --me --noheader --format=%j 2> said); then
  said=$(tail -n 1 said)
  [ -e batch ] || { ${remove} || true; said+="${unsubmitted}"; }
  echo "\${said#*error: }" >&2
  exit 1
fi
rm said
printf '%s\\n' "$5" > program.new
mv program.new program
[ -s key ] || { head --bytes=32 /dev/urandom | base64 > key.new; mv key.new key; }
if grep -qx "$2" <<< "$jobs"; then exit 0; fi
printf '%s' "$6" > batch
printf '%s' "$7" > node
name=$2
shift 7
# With names for --export, slurmd has the user log in first, which takes a second.
kept=()
for one in HOME PATH USER SHELL LD_LIBRARY_PATH SLURM_CONF ${inheritedVariables.join(" ")} {APPTAINER,SINGULARITY}_CACHEDIR; do kept+=(\${!one+"$one=\${!one}"}); done
env -i "\${kept[@]}" sbatch --parsable --job-name="$name" "$@" > job.new
mv job.new job`;

/**
 * The clusters with a folder beside the notes $1. Nothing was submitted for any other, nor is that under way. Fails where
 * the file system of the home may be away.
 */
export const foldersScript = `set -e${noteEpoch}
ls "\${1%/*}"`;

/** Removes the folder $1 of a cluster for which no job was submitted, named $2. */
export const forgetScript = `
set -euo pipefail
cd "$1"
${lock}
jobs=$(squeue --me --noheader --format=%j)
[ -e job ] || grep -qx "$2" <<< "$jobs" || ${remove}`;

/** Ends the job $2 and everything that its cluster has on the shared file system, the folder $1. */
export const endScript = `
set -euo pipefail
if [ -d "$1" ]; then${lock}
else${fence}
fi
scancel --name="$2" --user="$(id --user --name)"
while squeue --me --noheader --name="$2" --format=%i | grep -q .; do sleep 0.2; done
${remove}`;

/**
 * Runs on the first node: $1 is the folder, $2 the scratch folder of nodes. Slurm sends it USR1 before the end, which it
 * tells the agents by a file; an idle head sends it USR2.
 */
export const batchScript = `#!/bin/bash
cd "$1" || exit 1
rm -f notice.json port-*
job() { scontrol --oneliner show job "$SLURM_JOB_ID"; }
notice() {
  local shown preempted end grace at="" why="the allocation reaches its time limit"
  shown=$(job) || shown=\${first-}
  preempted=$(of PreemptTime) end=$(of EndTime)
  [ -z "$preempted" ] || why="Slurm preempts the allocation"
  if [ -n "$end" ]; then
    at=$(date --date="$end" +%s)
  elif [ -n "$preempted" ]; then
    # Without a time limit it has no end, not even then.
    shown=$(scontrol --oneliner show partition "$SLURM_JOB_PARTITION")
    grace=$(of GraceTime)
    [ "\${grace:-0}" = 0 ] || at=$(($(date --date="$preempted" +%s) + grace))
  fi
  printf '{"because": "%s"%s}' "$why" "\${at:+$(printf ', "deadlineAt": %s000' "$at")}" > notice.new
  mv notice.new notice.json
}
of() { sed -n "s/.* $1=\\([0-9T:-]*\\) .*/\\1/p" <<< " $shown "; }
trap notice USR1
trap 'exit 0' USR2
trap : TERM
first=$(job)
grace=$(scontrol show config | sed -n 's/^KillWait *= *\\([0-9]*\\).*/\\1/p')
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --cpus-per-task="\${SLURM_CPUS_PER_TASK:-1}" \\
  --overlap --mem=0 --kill-on-bad-exit=0 --export=ALL bash node "$1" "$2" "\${grace:-30}" < /dev/null &
step=$!
while kill -0 "$step" 2> /dev/null; do wait "$step"; done
exit 1
`;

/** Who has the key of a cluster may reach its agents, and nobody listens. Source: RFC 7905. */
export const relayTls = { ciphers: "ECDHE-PSK-CHACHA20-POLY1305", maxVersion: "TLSv1.2" } as const;

/**
 * Leads connections to the agent's socket, $3, and tells its port in the folder $1; it ends with the process $4. Slurm
 * sends TERM to every process of a step, and the hooks that run then are followed through here.
 */
export const relayScript = `
const { readFileSync, renameSync, writeFileSync } = require("node:fs");
const [folder, rank, agent, main] = process.argv.slice(1);
const psk = Buffer.from(readFileSync(folder + "/key", "utf8").trim());
process.on("SIGTERM", () => {});
setInterval(() => { try { process.kill(main, 0); } catch { process.exit(); } }, 1000);
const keepAlive = { keepAlive: true, keepAliveInitialDelay: 15000 };
const options = { ...${JSON.stringify(relayTls)}, ...keepAlive, pskCallback: () => psk };
const server = require("node:tls").createServer(options, (from) => {
  const to = require("node:net").connect(agent);
  to.on("error", () => from.destroy());
  from.on("error", () => {}).on("close", () => to.destroy());
  from.pipe(to).pipe(from);
});
server.listen(0, () => {
  const file = folder + "/port-" + rank;
  writeFileSync(file + ".new", server.address().port + "\\n");
  renameSync(file + ".new", file);
});`;

/**
 * Runs on each node: $1 is the folder, $2 the scratch folder, $3 how long Slurm waits between TERM and KILL. With
 * \`end\` for $3, ends the agent of rank $4 alone.
 */
export const nodeScript = `
folder=$1 own=$HOME rank=\${4:-$SLURM_NODEID} homes=$2/${product.word}-$(id -u)
export HOME=$homes-$SLURM_JOB_ID-$rank
# Others may write to the scratch folder.
owned() { [ -O "$1" ] && [ ! -L "$1" ]; }
if [ "$3" = end ]; then
  owned "$HOME" && kill -KILL "$(cat "$HOME/agent.pid")"
  exit
fi
umask 077
over() {
  cd /
  local remove=$HOME/.${product.word}/agent/remove-container
  [ ! -e "$remove" ] || sh "$remove"
  rm -rf "$HOME"
}
# Slurm may have killed a job before it had removed its home. One that is requeued has the same id; any other is over
# once Slurm does not know it. Another site may use the folder, so only homes of this machine, since it booted, are meant.
read -r boot < /proc/sys/kernel/random/boot_id
! owned "$HOME" || over
for one in "$homes"-*; do
  job=\${one#"$homes-"}
  owned "$one" && [ "$(cat "$one/.boot" 2> /dev/null)" = "$boot" ] || continue
  case $(timeout 10 squeue --noheader --jobs="\${job%-*}" --format=%T 2>&1 || echo "($?)") in
    '' | *'Invalid job id'*) (HOME=$one && over) ;;
    *'('*) break ;;
  esac
done
mkdir -p "$2" && mkdir -m 700 "$HOME" && cd "$HOME" || exit 1
trap over EXIT
echo "$boot" > .boot
ln -s "$own" "$HOME/home"
# Containers are part of the allocation: its limits and its end are theirs. Those of a docker daemon would not be.
export DOCKER_HOST=unix:///nowhere ${upper}_CONTAINER_OPTIONS="--cgroups=disabled -v $own:$own"
export ${upper}_ON_TERM=preemption ${upper}_NOTICES=none ${upper}_NOTICE_FILE="$folder/notice.json"
export ${upper}_GRACE_SECONDS="$3" ${upper}_DEVICES="\${CUDA_VISIBLE_DEVICES-}"
export ${upper}_POWER_OFF_COMMAND="\${SLURM_CONF:+SLURM_CONF=$SLURM_CONF }scancel --batch --signal=USR2 $SLURM_JOB_ID && sleep 50"
read -r _ node _ < "$folder/program"
node=$(eval "set -- $node"; printf %s "$1")
while kill -0 $$ 2> /dev/null; do
  "$node" --max-semi-space-size=1 --no-maglev -e '${relayScript}' \\
    "$folder" "$rank" "$HOME/.${product.word}/agent/agent.sock" $$ < /dev/null
  sleep 1
done &
left=
trap 'left=yes; kill -TERM "$agent"' TERM
until [ "$left" ]; do
  read -r ${upper}_BUILD node arguments < "$folder/program"
  export ${upper}_BUILD
  eval "exec $node $arguments" < /dev/null &
  agent=$!
  echo "$agent" > agent.pid
  while kill -0 "$agent" 2> /dev/null; do wait "$agent"; done
  [ "$left" ] || sleep 1
done
`;

/** When a job with these options of sbatch(1) would start, which is not submitted. */
export const outlookScript = `
said=$(sbatch --test-only --wrap=true "$@" 2>&1) || { echo "$said" >&2; exit 1; }
echo "$said"`;

/** The key of the cluster with the folder $1, and the ports of its relays. */
export const relaysScript = 'cd "$1" && cat key && { grep -Hs . port-*[0-9] || true; }';

/** What the job of the cluster with the folder $1 complained of, as `: WORDS`, if of anything. Agents write JSON. */
export const complaintScript = `
said=$(grep -v -e '^{' -e '^srun: error: .*: Exited with' "$1/slurm.log" 2> /dev/null | tail -n 1 | head -c 300)
printf %s "\${said:+: $said}"`;

/** Runs a step where the node's own has begun, which $1 shows: steps that come earlier would hold that up. */
export const stepScript = `
[ -e "$1" ] || { echo "its agent has not begun yet" >&2; exit 1; }
shift
exec "$@" < /dev/null`;

/** What there is: every job of ours, those of all that wait if one of ours does. */
export const queueScript = `
set -euo pipefail${noteEpoch}
ours=$(squeue --me --noheader --states=all --format='%i|%T|%r|%S|%N|%P|%Q|%k')
echo "$ours"
case $ours in *'|PENDING|'*)
  echo --
  squeue --noheader --states=PENDING --Format='JobID:|,Partition:255|,PriorityLong:|,RestartCnt:|' ;;
esac`;

/** The kinds of nodes by partition, where each node is reached, and what runs containers, if anything. */
export const nodesScript = `
set -euo pipefail
sinfo --noheader --exact --format='%P|%a|%l|%D|%c|%m|%G|%s'
echo --
sinfo --noheader --Node --format='%N|%o'
echo --
command -v podman apptainer singularity || true`;

/** Every node, with what is taken of it. */
export const machinesScript = "scontrol --details --oneliner show node";
