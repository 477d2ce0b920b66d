import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config.ts";
import { findFree } from "../forward/listen.ts";
import type { Forwarder } from "../forwarder.ts";
import type { Key } from "../keys.ts";
import type { Logs } from "../log.ts";
import { type Samples, single } from "../metrics.ts";
import { addSamples, withoutGauges } from "../metrics-page.ts";
import { type Env, startWorker, type Where, type Worker } from "./start-worker.ts";

/** A worker that ends sooner counts as one more failure in a row. */
const soundMs = 10_000;
const firstWaitMs = 100;
const longestWaitMs = 30_000;

/** How long to wait before a worker is replaced, after so many that ended soon. */
const waitAfter = (failures: number): number =>
  failures === 0 ? 0 : Math.min(firstWaitMs * 2 ** (failures - 1), longestWaitMs);

/** A forwarder of several processes that share a port. A worker that ends is replaced until the drain. */
export function openWorkers(config: Config, logs: Logs, env: Env): Forwarder {
  const { log } = logs;
  const connections = Math.ceil(config.connections / config.workers);
  const settings: Config = { ...config, connections, key: [] };
  const workers = new Set<Worker>();
  let keys: readonly Key[] = [];
  let past: Samples = {};
  let replaced = 0;
  let isDraining = false;

  const ofAll = <T>(act: (worker: Worker) => Promise<T>) =>
    Promise.allSettled([...workers].map(act));

  function start(where: Where): Worker {
    const worker = startWorker(settings, env, keys, where);
    workers.add(worker);
    return worker;
  }

  /** Replaces a worker, and what replaces it, whenever it ends. */
  async function keep(first: Worker, where: Where): Promise<void> {
    let failures = 0;
    for (let worker = first; ; worker = replace(where)) {
      const { pid, ended } = worker;
      const { lastedMs, ...how } = await ended;
      workers.delete(worker);
      past = addSamples([past, withoutGauges(worker.samples)]);
      if (isDraining) return;
      failures = lastedMs < soundMs ? failures + 1 : 0;
      const waitMs = waitAfter(failures);
      log.warn({ worker: pid, ...how, waitMs }, "a worker ended and is replaced");
      await sleep(waitMs);
      if (isDraining) return;
    }
  }

  function replace(where: Where): Worker {
    replaced += 1;
    const worker = start(where);
    worker.opened.then(
      () => log.info({ worker: worker.pid }, "a worker listens"),
      ({ message }) => log.warn({ worker: worker.pid, reason: message }, "a worker did not start"),
    );
    return worker;
  }

  return {
    async use(next) {
      keys = next;
      // Those that fail have ended: no worker accepts other keys.
      await ofAll((worker) => worker.use(next));
    },
    async listen(place, upstream) {
      const port = await findFree(place);
      const where: Where = [{ ...place, port, isShared: true }, upstream];
      const started = Array.from({ length: config.workers }, () => start(where));
      const [address] = await Promise.all(started.map(({ opened }) => opened));
      if (address === undefined) throw new Error("no worker was started");
      for (const worker of started) void keep(worker, where);
      return address;
    },
    async samples() {
      await ofAll((worker) => worker.refreshSamples());
      const own = {
        log_lines_dropped_total: single(logs.dropped),
        workers_replaced_total: single(replaced),
      };
      return addSamples([past, ...[...workers].map(({ samples }) => samples), own]);
    },
    async drain(deadlineMs) {
      isDraining = true;
      const cut = await ofAll((worker) => worker.drain(deadlineMs));
      await ofAll((worker) => worker.refreshSamples());
      await ofAll((worker) => worker.close());
      return cut.reduce((sum, one) => sum + (one.status === "fulfilled" ? one.value : 0), 0);
    },
    isServing: () => !isDraining && [...workers].some(({ isOpen }) => isOpen),
  };
}
