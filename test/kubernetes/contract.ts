import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openKubeClusters } from "../../control/doors/kubernetes/clusters.ts";
import { kubernetesProvider } from "../../control/providers/kubernetes/kubernetes.ts";
import { type Bed, testContract } from "../control/providers/contract.ts";
import { labImage, openLab, whyNoLab } from "../helpers/kubernetes.ts";
import { testWorld } from "../helpers/world.ts";

/** Packing Node.js takes seconds; the same pack serves all tests. */
const packed = join(import.meta.dirname, "../../node_modules/.cache/bundles");

testContract(
  "kubernetes",
  async (t): Promise<Bed> => {
    const lab = await openLab(t);
    const { ctx, home } = await testWorld(t);
    mkdirSync(packed, { recursive: true });
    symlinkSync(packed, join(home, "control/bundles"));
    const clusters = openKubeClusters(lab.kubeconfig, []);
    t.after(() => clusters.close());
    const ways = {
      clusters,
      seal: ctx.seal,
      image: labImage,
      ports: "forward" as const,
      graceAtMost: 600,
      provisionMs: 10_000,
      wake() {},
    };
    return {
      provider: kubernetesProvider({ ...ctx.ssh, ...ways }, ctx.log),
      break: async () => void (await lab.kubectl("delete", "namespace", lab.namespace)),
    };
  },
  { skip: whyNoLab() },
);
