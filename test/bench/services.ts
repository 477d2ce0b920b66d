import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { serveOperations as rows } from "../../contract/operations/serve.ts";
import type { ReplicaInfo } from "../../contract/records/services.ts";
import type { Answers } from "../helpers/model-load.ts";
import type { Figure } from "./figures.ts";
import type { Control, Lab } from "./lab.ts";
import { quantile } from "./measure.ts";
import { freePort } from "./sidecar/ports.ts";

const perSecond = 200;
/** How long nothing happens before and after what is measured. */
const calmMs = 2_000;
const lookEveryMs = 100;
const key = "bench-key";
const server = join(import.meta.dirname, "../fixtures/model-server.mjs");
const of = { service_name: "bench" };

/** A service under steady load. */
interface Loaded extends AsyncDisposable {
  update(service: object, mode: "rolling" | "blue_green"): Promise<void>;
  /** Kills its control and starts another. */
  killControl(): Promise<void>;
  untilReady(count: number, version: number): Promise<void>;
  /** Has so many requests a second come from now on; what came of those before. */
  ask(perSecond: number): Promise<Answers>;
}

/** The benches of services, by name. */
export const serviceBenches: Record<string, (lab: Lab) => Promise<Figure[]>> = {
  "services-updated": updated,
  "services-scaled": scaled,
};

/** Updates, and the death of control, under load. */
async function updated(lab: Lab): Promise<Figure[]> {
  await using service = await openLoaded(lab, { replicas: 2 });
  await service.untilReady(2, 1);
  const change = (version: number, mode: "rolling" | "blue_green") => async () => {
    await service.update({ replicas: 2 }, mode);
    await service.untilReady(2, version);
  };
  return [
    ...(await during(lab, service, "no change", async () => {})),
    ...(await during(lab, service, "rolling update", change(2, "rolling"))),
    ...(await during(lab, service, "blue-green update", change(3, "blue_green"))),
    ...(await during(lab, service, "kill -9 of control", () => service.killControl())),
  ];
}

/** More replicas as the last minute fills, and one fewer once what came at first is a minute old. */
async function scaled(lab: Lab): Promise<Figure[]> {
  const replica_policy = {
    ...{ min_replicas: 1, max_replicas: 4, target_qps_per_replica: 75 },
    ...{ upscale_delay_seconds: 0, downscale_delay_seconds: 0 },
  };
  await using service = await openLoaded(lab, { replica_policy });
  await service.untilReady(1, 1);
  await service.ask(3 * perSecond);
  await sleep(7_000, undefined, { signal: lab.signal });
  return [
    ...(await during(lab, service, "scaled up to 4", () => service.untilReady(4, 1))),
    ...(await during(lab, service, "scaled down to 3", () => service.untilReady(3, 1))),
  ];
}

/** What came of the load while something happened. */
async function during(
  { signal }: Lab,
  service: Loaded,
  what: string,
  happens: () => Promise<void>,
): Promise<Figure[]> {
  await service.ask(perSecond);
  await sleep(calmMs, undefined, { signal });
  await happens();
  await sleep(calmMs, undefined, { signal });
  return figuresOf(what, await service.ask(perSecond));
}

function figuresOf(what: string, { failed, answered }: Answers): Figure[] {
  for (const failure of failed.slice(0, 5)) console.error(`  ${what}: ${failure}`);
  const times = answered.map(({ beganMs, endedMs }) => endedMs - beganMs);
  const under = `service at ${perSecond} requests/s: ${what}`;
  return [
    { what: `${under}: requests`, measured: failed.length + answered.length, unit: "" },
    { what: `${under}: failed`, measured: failed.length, unit: "", target: { atMost: 0 } },
    { what: `${under}: whole answer p50`, measured: quantile(times, 0.5), unit: "ms" },
    { what: `${under}: whole answer p99`, measured: quantile(times, 0.99), unit: "ms" },
  ];
}

async function openLoaded(lab: Lab, first: object): Promise<Loaded> {
  let control: Control = await lab.control("bundle");
  const port = await freePort();
  const taskOf = (service: object) => JSON.stringify(documentOf(port, service));
  const [, endpoint] = await control.client.callAndGet(rows.up, { ...of, task: taskOf(first) });
  const load = lab.load("services-load.ts", endpoint, key);
  return {
    async update(service, mode) {
      await control.client.callAndGet(rows.update, { ...of, task: taskOf(service), mode });
    },
    async killControl() {
      process.kill(control.pid, "SIGKILL");
      control = await lab.control("bundle", control.home);
    },
    async untilReady(count, version) {
      const isReady = (one: ReplicaInfo) => one.status === "READY" && one.version === version;
      for (;;) {
        const [record] = await control.client.callAndGet(rows.status, { service_names: null });
        const replicas = record?.replica_info ?? [];
        if (replicas.length === count && replicas.every(isReady)) return;
        await sleep(lookEveryMs, undefined, { signal: lab.signal });
      }
    },
    async ask(rate) {
      load.send(rate);
      return (await once(load, "message", { signal: lab.signal }))[0];
    },
    async [Symbol.asyncDispose]() {
      load.disconnect();
      await control.client.callAndGet(rows.down, { service_names: "bench" });
    },
  };
}

const documentOf = (port: number, service: object) => ({
  resources: { infra: "local", ports: port },
  secrets: { API_KEY: key },
  service: {
    readiness_probe: {
      path: "/health",
      headers: { Authorization: "Bearer $API_KEY" },
      interval_seconds: 0.5,
    },
    ...service,
  },
  run: `exec ${process.execPath} ${server}`,
});
