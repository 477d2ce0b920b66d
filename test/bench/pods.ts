import { labImage, openLab, whyNoLab } from "../helpers/kubernetes.ts";
import { launch } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import { timesOfExec, timesOfLaunch } from "./first-line.ts";
import type { Control, Lab } from "./lab.ts";
import { median, quantile } from "./measure.ts";

const nodeImage = "docker.io/lab/node:1";
const launches = 6;
const execs = 40;

/** Pods of a real Kubernetes whose images are there: `npm run test:kubernetes -- bench pods`. */
export async function pods(lab: Lab): Promise<Figure[]> {
  if (whyNoLab()) return [];
  await using cleanings = new AsyncDisposableStack();
  const { kubeconfig } = await openLab({ after: (clean) => cleanings.defer(clean) });
  const env = { OUTRIGGER_KUBECONFIG: kubeconfig };
  const start = (image: string, more = {}) =>
    lab.control("bundle", undefined, { ...env, OUTRIGGER_KUBERNETES_IMAGE: image, ...more });
  const own = await start(nodeImage);
  const figures = [
    await launchFigure(own, "its image"),
    await launchFigure(await start(labImage), "control"),
    await launchFigure(
      await start(labImage, { OUTRIGGER_KUBERNETES_RUNTIME_IMAGE: nodeImage }),
      "the runtime image",
    ),
  ];
  await launch(own.client, "warm", null, "k8s");
  const times = await timesOfExec(own, execs);
  const exec = "exec on a pod to first log line";
  const target = { atMost: 300 };
  return [
    ...figures,
    { what: `${exec}: median`, measured: median(times), unit: "ms", target },
    { what: `${exec}: p95`, measured: quantile(times, 0.95), unit: "ms", target },
  ];
}

/** The first launch of a control plane packs what the others send. */
async function launchFigure(control: Control, from: string): Promise<Figure> {
  const [, ...times] = await timesOfLaunch(control, launches + 1, "k8s");
  const what = `launch on a pod with Node.js of ${from} to first log line: median`;
  return { what, measured: median(times), unit: "ms", target: { atMost: 5_000 } };
}
