import { test } from "node:test";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { playLines } from "../interop/play.ts";
import { addGpus, startKubeControl } from "./lab.ts";

test(
  "the existing client sees what Kubernetes has, labels it and launches there",
  {
    skip: whyNoLab(),
    timeout: 600_000,
  },
  (t) =>
    playLines(t, "kubernetes.txt", async () => {
      const lab = await startKubeControl(t, { OUTRIGGER_KUBERNETES_IMAGE: "docker.io/lab/gpu:1" });
      await addGpus(t, lab, { label: null });
      return lab.control;
    }),
);
