import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { median, settledMib, timesOf } from "../measure.ts";
import { startUpstream } from "./companions.ts";
import { pin } from "./machine.ts";
import { freePort, untilAnswering } from "./ports.ts";
import { key, startProxy, startSidecar } from "./proxies.ts";

const samples = { warmUps: 3, samples: 15 };
const request = `GET /answer/2/0 HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** From the start of the sidecar to its first answer, and the memory that it then has. */
export async function sidecarStart(lab: Lab): Promise<Figure[]> {
  const upstream = await startUpstream(lab);
  const startMs = median(await timesOf(() => startOnce(lab, upstream), samples));
  const { pid } = await startProxy(lab, "sidecar", upstream);
  const idleMib = await settledMib(pid, lab.signal);
  return [
    {
      what: "sidecar, bundled: start to first answer",
      ...{ measured: startMs, unit: "ms", target: { atMost: 60 } },
    },
    {
      what: "sidecar, bundled: idle",
      ...{ measured: idleMib, unit: "MiB", target: { atMost: 55 } },
    },
  ];
}

async function startOnce(lab: Lab, upstream: number): Promise<void> {
  const own = await freePort();
  const child = startSidecar(lab, { own, upstream });
  pin(child.pid ?? 0, "measured");
  const answer = await untilAnswering(own, lab.signal, request);
  child.kill("SIGKILL");
  if (!answer.startsWith("HTTP/1.1 200")) throw new Error(`the sidecar answered ${answer}`);
}
