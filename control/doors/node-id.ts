/** The id of node `rank` of a cluster, which its provider opens the door by. */
export const nodeIdOf = ({ id }: { readonly id: string }, rank: number): string => `${id}-${rank}`;

/** The cluster and the rank in the id of a node. */
export function partsOfNodeId(nodeId: string): { clusterId: string; rank: number } {
  const at = nodeId.lastIndexOf("-");
  return { clusterId: nodeId.slice(0, at), rank: Number(nodeId.slice(at + 1)) };
}
