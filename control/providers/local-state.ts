import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unlessMissing } from "../../common/files.ts";
import type { ClusterRef, FoundNode, NodeState } from "./provider.ts";

/** Where a node's folder says which cluster it belongs to. */
const clusterFile = "cluster.json";

/** Where a node's folder says whether it is on. */
export const stateFile = "node.json";

/** How a node says in its folder whether it is on. */
export const stateText = (state: NodeState["state"]): string => JSON.stringify({ state });

/** Says whether a node is on. */
export function writeState(home: string, state: NodeState["state"]): void {
  const file = join(home, stateFile);
  writeFileSync(`${file}.new`, stateText(state), { flush: true });
  renameSync(`${file}.new`, file);
}

/** Whether a node is on. A folder whose creation was cut off counts as stopped: creating it again completes it. */
export function readState(home: string): NodeState["state"] {
  return unlessMissing(
    () => JSON.parse(readFileSync(join(home, stateFile), "utf8")).state,
    "stopped",
  );
}

/** Says which cluster a node belongs to, for a control plane that has lost its database. */
export function writeCluster(home: string, { name, nodes, offer }: ClusterRef): void {
  const file = join(home, clusterFile);
  if (existsSync(file)) return;
  writeFileSync(`${file}.new`, JSON.stringify({ name, nodes, offer }), { flush: true });
  renameSync(`${file}.new`, file);
}

/** Which cluster a node belongs to; null where it does not say. */
export function readCluster(home: string): FoundNode["cluster"] {
  try {
    return JSON.parse(readFileSync(join(home, clusterFile), "utf8"));
  } catch {
    return null;
  }
}
