import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { until } from "../helpers/agent.ts";
import { aPodTask, leavesLine, outFolder, startKubeControl } from "./lab.ts";

/** A managed job with hooks, which goes on until it is let go. */
export async function startJob(t: Parameters<typeof outFolder>[0], nodes = 1) {
  const lab = await startKubeControl(t);
  const { control, kubectl, namespace } = lab;
  const out = outFolder(t);
  const config = {
    hooks: [leavesLine("preemption"), leavesLine("down")],
    kubernetes: out.kubernetes,
  };
  const resources = { infra: "k8s", cpus: 0.25, memory: 0.5 };
  const run = `began=/out/began-$OUTRIGGER_RECOVERY_COUNT
echo attempt $OUTRIGGER_RECOVERY_COUNT | tee $began-$OUTRIGGER_NODE_RANK
until [ -e /out/go ]; do sleep 0.1; done; echo done`;
  const more = { name: "train", num_nodes: nodes, resources, config };
  await control.client.callAndGet(rows.launch, { task: aPodTask(run, more), name: null });
  const running = ["--field-selector=status.phase=Running", "--sort-by=.metadata.name"];
  return {
    ...lab,
    out,
    /** The pods that run, by rank. */
    async pods() {
      const found = await kubectl("get", "pods", ...running, "--output=name");
      return found.split("\n").map((pod) => pod.replace("pod/", ""));
    },
    async evict(pod = "") {
      const eviction = join(control.home, `eviction-${pod}.json`);
      const kind = { apiVersion: "policy/v1", kind: "Eviction" };
      writeFileSync(eviction, JSON.stringify({ ...kind, metadata: { name: pod, namespace } }));
      const path = `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`;
      await kubectl("create", "--raw", path, `--filename=${eviction}`);
    },
    /** Waits until an attempt runs on all nodes, and no pod of one before it is left. */
    untilAttempt: (recoveries: number) =>
      until(async () => {
        const { jobs } = await control.client.callAndGet(rows.queueV2, {});
        const isRunning = jobs[0]?.status === "RUNNING" && jobs[0].recovery_count === recoveries;
        const ranks = [...Array(nodes).keys()];
        const haveBegun = ranks.every((rank) => out.read(`began-${recoveries}-${rank}`) !== "");
        if (!isRunning || !haveBegun) return undefined;
        const pods = await kubectl("get", "pods", "--output=name");
        return pods.split("\n").length === nodes || undefined;
      }),
    /** What is told about it. */
    narrated: async () =>
      (await control.cli("jobs", "logs", "1", "--controller", "--no-follow")).stdout,
    /** The lines that preemption hooks have left, without the first ones; a head that has time runs down hooks as well. */
    preemptions: (skipped = 0) =>
      out
        .read("hooks")
        .split("\n")
        .filter((line) => line.startsWith("preemption"))
        .slice(skipped)
        .toSorted(),
    untilNothing: () =>
      until(async () => {
        const left = "--selector=outrigger/control";
        return (await kubectl("get", "pods,services", left, "--output=name")) === "" || undefined;
      }),
  };
}

/** What a preemption hook leaves on a node. */
export const preemptionOf = (rank: number) => `preemption ${rank} as preemption`;
