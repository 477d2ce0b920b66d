import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { ifPossible } from "../../common/errors.ts";
import { findTree } from "../../common/process-tree.ts";
import type { Agent } from "../context.ts";
import { getJob } from "./jobs.ts";
import { treeOf } from "./parts.ts";

/** The state of a socket that takes connections. Source: include/net/tcp_states.h. */
const listening = "0A";

/** The TCP ports that processes of a job listen on at this node, in rising order; throws `JobNotFoundError`. */
export function listPorts(agent: Agent, jobId: number): number[] {
  getJob(agent, jobId);
  const pids = findTree(treeOf(agent, jobId)).map(({ pid }) => pid);
  const theirs = new Set(pids.flatMap(socketsOf));
  const sockets = onePerNetwork(pids).flatMap(listeningIn);
  const ports = sockets.filter(({ inode }) => theirs.has(inode)).map(({ port }) => port);
  return [...new Set(ports)].toSorted((a, b) => a - b);
}

/** The inodes of the sockets that a process has open. */
function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  const names = ifPossible(() => readdirSync(folder)) ?? [];
  const links = names.map((name) => ifPossible(() => readlinkSync(`${folder}/${name}`)) ?? "");
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}

/** One process of each network that they are in. */
function onePerNetwork(pids: readonly number[]): number[] {
  const networkOf = (pid: number) => ifPossible(() => readlinkSync(`/proc/${pid}/ns/net`)) ?? pid;
  return [...new Map(pids.map((pid) => [networkOf(pid), pid])).values()];
}

interface Listening {
  readonly inode: string;
  readonly port: number;
}

/** Every socket that listens in the network of a process. Source: proc_net_tcp in the kernel's documentation. */
function listeningIn(pid: number): Listening[] {
  const tables = ["tcp", "tcp6"].map((name) =>
    ifPossible(() => readFileSync(`/proc/${pid}/net/${name}`, "latin1")),
  );
  const rows = tables.flatMap((table) => table?.trim().split("\n").slice(1) ?? []);
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode = ""] = row.trim().split(/\s+/);
    const port = Number.parseInt(local.slice(local.lastIndexOf(":") + 1), 16);
    return state === listening ? [{ inode, port }] : [];
  });
}
