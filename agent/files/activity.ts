import type { Agent } from "../context.ts";
import { countActivity } from "../idle.ts";

/** The timer is told so often. */
const everyMs = 5_000;

/** To be called whenever bytes of files move: a node that gets or gives files is not idle. */
export function openActivity(agent: Agent): () => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (agent.monotonic() - toldAt < everyMs) return;
    toldAt = agent.monotonic();
    countActivity(agent);
  };
}
