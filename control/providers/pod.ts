import { settingName } from "../../common/config.ts";
import { type Hook, secondsOf } from "../../contract/hooks.ts";
import type { Offer } from "./provider.ts";

/** A node that is a pod of Kubernetes: what is asked for, nothing that asks. */

/** What Kubernetes gives a pod that says nothing, in seconds. */
const usualGrace = 30;
/** After the hooks jobs end and logs leave the node. */
const graceAfterHooks = 15;
/** Autoscalers wait no longer by default. */
const defaultMostGrace = 600;
const gibibyte = 2 ** 30;

/** What a pod is made of. */
export interface PodNode {
  readonly name: string;
  readonly image: string;
  /** What starts the agent in it. */
  readonly command: readonly string[];
  readonly offer: Pick<Offer, "cpus" | "memoryGb" | "accelerators">;
  readonly hooks: readonly Hook[];
  /** The most seconds that a pod may take to leave; 600 unless it is said. */
  readonly mostGraceSeconds?: number;
}

/**
 * Seconds from SIGTERM to SIGKILL. Hooks run one after another, so all of them count, and the agent
 * cuts what the limit leaves no time for.
 */
export const graceSecondsOf = ({
  hooks,
  mostGraceSeconds = defaultMostGrace,
}: Pick<PodNode, "hooks" | "mostGraceSeconds">): number =>
  Math.min(
    mostGraceSeconds,
    Math.max(usualGrace, secondsOf(hooks, "preemption") + graceAfterHooks),
  );

/**
 * The pod's specification. The agent is its main process: SIGTERM is the notice that the node goes,
 * and the agent knows how long that takes. Source: core/v1 Pod of the Kubernetes API.
 */
export function podOf(node: PodNode) {
  const grace = graceSecondsOf(node);
  const resources = resourcesOf(node.offer);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: node.name },
    spec: {
      // A node that is gone is replaced by control, not revived without its disk.
      restartPolicy: "Never",
      terminationGracePeriodSeconds: grace,
      containers: [
        {
          name: "node",
          image: node.image,
          command: [...node.command],
          env: [
            { name: settingName("onTerm"), value: "preemption" },
            { name: settingName("graceSeconds"), value: String(grace) },
          ],
          resources: { requests: resources, limits: resources },
        },
      ],
    },
  };
}

const resourcesOf = ({ cpus, memoryGb, accelerators }: PodNode["offer"]) => ({
  cpu: String(cpus),
  memory: String(memoryGb * gibibyte),
  ...(accelerators !== null && { "nvidia.com/gpu": String(accelerators.count) }),
});
