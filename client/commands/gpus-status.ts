import { cloudOperations as rows } from "../../contract/operations/clouds.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { type GpuUse, gpuUseForm } from "../output/control.ts";
import { infraOf } from "../output/shapes.ts";
import type { Column } from "../rendering.ts";
import type { Client } from "../sdk.ts";
import { listing } from "./answers.ts";

/** `outrigger gpus`: the accelerators of all infrastructure, what is free of them, and which clusters have them. */
export const status = listing<GpuUse>({
  read: async (client) => {
    const [there, used] = await Promise.all([listThere(client), listUsed(client)]);
    const all = [...there, ...used.map((one) => ({ ...one, total: null, free: null }))];
    const kinds = Map.groupBy(all, (one) => `${one.infra} ${one.accelerator}`);
    return [...kinds]
      .sort(([a], [b]) => a.localeCompare(b))
      .flatMap(([key, [first]]) => {
        const own = used.filter((one) => `${one.infra} ${one.accelerator}` === key);
        return first === undefined ? [] : [{ ...first, used_by: own.map(({ by }) => by) }];
      })
      .map(freeHere);
  },
  form: gpuUseForm,
  columns: (): Column<GpuUse>[] => [
    { title: "INFRA", text: ({ infra }) => infra },
    { title: "GPU", text: ({ accelerator }) => accelerator },
    { title: "TOTAL", text: ({ total }) => `${total ?? "-"}`, right: true },
    { title: "FREE", text: ({ free }) => `${free ?? "-"}`, right: true },
    { title: "USED BY", text: usersOf, least: 12 },
  ],
  empty: "No accelerators are here, and no cluster has any; outrigger gpus list shows prices.",
});

type Kind = Omit<GpuUse, "used_by">;

/** What pools, Kubernetes, Slurm and the machine of control have; one that cannot tell now is left out. */
async function listThere(client: Client): Promise<Kind[]> {
  const asked = [
    client
      .callAndGet(rows.kubernetesGpuAvailability, {})
      .then((all) => all.map(([place, kinds]) => [contextOf(place), kinds] as const)),
    client
      .callAndGet(rows.slurmGpuAvailability, {})
      .then((all) => all.map(([name, kinds]) => [`slurm/${name}`, kinds] as const)),
  ];
  const found = await Promise.all(asked.map((one) => one.catch(() => [])));
  const shared = found.flat().flatMap(([infra, kinds]) =>
    kinds.map(([accelerator, , total, free]) => ({
      ...{ infra, accelerator, total },
      free: free < 0 ? null : free,
    })),
  );
  const machines = await client.callAndGet(rows.listAcceleratorCounts, { clouds: [here] });
  const own = Object.entries(machines).map(([accelerator, counts]) => ({
    ...{ infra: here, accelerator, total: Math.max(...counts), free: null },
  }));
  return [...own, ...shared];
}

/** The machine that control runs on. */
const here = "local";

const contextOf = (place: string): string =>
  place.startsWith("ssh-") ? place.replace("-", "/") : `kubernetes/${place}`;

/** The accelerators of each cluster that is on. */
async function listUsed(client: Client) {
  const clusters = await client.callAndGet(clusterOperations.status, {
    ...{ all_users: true, summary_response: true },
  });
  return clusters
    .filter((one) => one.status !== "STOPPED")
    .flatMap(({ name, user_name: user, nodes, cloud, region, accelerators }) => {
      const kinds: Record<string, number> = JSON.parse(accelerators ?? "{}");
      return Object.entries(kinds).map(([accelerator, count]) => ({
        ...{ infra: infraOf(cloud, region) ?? "-", accelerator },
        by: { cluster: name, user, count: nodes * count },
      }));
    });
}

/** Nobody else takes what this machine has. */
function freeHere(row: GpuUse): GpuUse {
  if (row.infra !== here || row.total === null) return row;
  const used = row.used_by.reduce((sum, { count }) => sum + count, 0);
  return { ...row, free: Math.max(0, row.total - used) };
}

const usersOf = ({ used_by: users }: GpuUse): string =>
  users.map(({ cluster, user, count }) => `${cluster} (${user}): ${count}`).join(", ") || "-";
