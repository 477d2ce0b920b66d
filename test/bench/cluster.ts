import type { Client } from "../../client/sdk.ts";
import { endTree } from "../../common/end-processes.ts";
import { findTree } from "../../common/process-tree.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { type Control, nodeHomes } from "./lab.ts";

/** A task as YAML, which JSON is too. */
const taskOf = (run: string | null, infra?: string): string =>
  JSON.stringify({ ...(run !== null && { run }), ...(infra && { resources: { infra } }) });

/** Launches a cluster of one node, with a job on it when there is something to run; the job's id. */
export async function launch(client: Client, name: string, run: string | null, infra?: string) {
  const input = { cluster_name: name, task: taskOf(run, infra) };
  return (await client.callAndGet(clusterOperations.launch, input)).job_id;
}

/** Runs a job on a cluster; its id. */
export async function exec(client: Client, name: string, run: string) {
  const input = { cluster_name: name, task: taskOf(run) };
  return (await client.callAndGet(clusterOperations.exec, input)).job_id;
}

/** Takes a cluster down; resolves once nothing is left of it. */
export async function down(client: Client, name: string): Promise<void> {
  await client.callAndGet(clusterOperations.down, { cluster_name: name });
}

/** Follows a job's log to its end. */
export function follow(
  client: Client,
  name: string,
  job: number | null,
  write: (bytes: Uint8Array) => void,
): Promise<number> {
  const input = { cluster_name: name, job_id: job };
  return client.logs(clusterOperations.logs, input, { write, control() {} });
}

/** The home of the only node that control has made, and the pid of its idle agent. */
export function onlyNode(control: Control): { home: string; agentPid: number } {
  const [home = ""] = nodeHomes(control.home);
  const [agent] = findTree(markOf(home));
  if (agent === undefined) throw new Error(`no agent runs in ${home}`);
  return { home, agentPid: agent.pid };
}

/** Ends an agent and whatever else runs on its node. */
export async function endNode(home: string): Promise<void> {
  await endTree(markOf(home), 2_000);
}

/** A node's processes are known by their HOME. */
const markOf = (home: string) => ({ roots: [], mark: `HOME=${home}` });
