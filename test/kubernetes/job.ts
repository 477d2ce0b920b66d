import { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { until } from "../helpers/agent.ts";
import { aPodTask, evict, leavesLine, outFolder, startKubeControl } from "./lab.ts";

/** A managed job which goes on until it is let go; with several nodes, so do its preemption hooks. */
export async function startJob(t: Parameters<typeof outFolder>[0], nodes = 1) {
  const lab = await startKubeControl(t);
  const { control, kubectl } = lab;
  const out = outFolder(t);
  const config = {
    hooks: [
      leavesLine("preemption", { does: nodes > 1 ? untilSaved : ":", timeout: 60 }),
      leavesLine("down"),
    ],
    kubernetes: out.kubernetes,
  };
  const resources = { infra: "k8s", cpus: 0.25, memory: 0.5 };
  const run = `trap 'echo $HOSTNAME >> /out/terms; exit 143' TERM
began=/out/began-$OUTRIGGER_RECOVERY_COUNT
echo attempt $OUTRIGGER_RECOVERY_COUNT | tee $began-$OUTRIGGER_NODE_RANK
until [ -e /out/go ]; do sleep 0.1; done; echo done`;
  const more = { name: "train", num_nodes: nodes, resources, config };
  await control.client.callAndGet(rows.launch, { task: aPodTask(run, more), name: null });
  return {
    ...lab,
    out,
    /** The pod of a rank that runs, and what its hooks have written, also once it is gone. */
    async pod(rank = 0) {
      const label = (name: string) => `{.items[0].metadata.${name}}`;
      const words = `--output=jsonpath=${label("name")} ${label("labels.outrigger/cluster-id")}`;
      const found = await kubectl("get", "pods", `--selector=outrigger/rank=${rank}`, words);
      const [name = "", cluster = ""] = found.split(" ");
      return {
        name,
        whole: `${name} saving\n${name} saved\n`,
        async log(event: string) {
          const { stdout, stderr } = await control.cli("logs", "--hook", event, cluster);
          return stdout + stderr;
        },
      };
    },
    evict: (pod: string) => evict(lab, pod),
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
    /** Lets the preemption hook of a pod go. */
    save: (pod: string) => out.write(`saved-${pod}`),
    /** The pods whose processes were told to end, in the order of their names. */
    terms: () => out.read("terms").trimEnd().split("\n").toSorted(),
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

const untilSaved = "until [ -e /out/saved-$HOSTNAME ]; do sleep 0.1; done";

/** What a preemption hook leaves on a node. */
export const preemptionOf = (rank: number) => `preemption ${rank} as preemption`;
