import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { capacityOf } from "./nodes.ts";
import { listNodes } from "./pods.ts";

const knownMs = 60_000;
const lookMs = 10_000;

/** Tells whether any context has nodes that its cloud may take back: looked for once a minute, and only when asked. */
export function openSpots(apis: () => Promise<readonly KubeApi[]>): () => Promise<boolean> {
  let known = { has: false, until: 0 };
  const isAt = async (api: KubeApi, signal: AbortSignal) =>
    (await listNodes(api, signal)).some((node) => capacityOf(node).isSpot);
  return async () => {
    if (performance.now() < known.until) return known.has;
    const signal = AbortSignal.timeout(lookMs);
    // A context that does not answer now has what was there before.
    const all = (await apis().catch(() => [])).map((api) =>
      isAt(api, signal).catch(() => known.has),
    );
    known = { has: (await Promise.all(all)).includes(true), until: performance.now() + knownMs };
    return known.has;
  };
}
