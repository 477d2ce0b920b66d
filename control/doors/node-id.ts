/** The id of node `rank` of a cluster, which its provider opens the door by. */
export const nodeIdOf = ({ id }: { readonly id: string }, rank: number): string => `${id}-${rank}`;
