import { exec, follow, launch, onlyNode } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { settledMib } from "./measure.ts";

const cluster = "memory";

/** The memory of an agent without work, as control starts it: new, and after its first job. */
export async function agentMemory(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  const { client } = control;
  await launch(client, cluster, null);
  const { agentPid } = onlyNode(control);
  const fresh = await settledMib(agentPid, lab.signal);
  await follow(client, cluster, await exec(client, cluster, "echo hello"), () => {});
  const later = await settledMib(agentPid, lab.signal);
  return [
    { what: "agent idle", measured: fresh, unit: "MiB", target: { atMost: 64 } },
    { what: "agent idle, after a job", measured: later, unit: "MiB", target: { atMost: 64 } },
  ];
}
