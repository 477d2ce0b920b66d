import type { FakeJob } from "../helpers/fake-node.ts";
import { Violation } from "./checks.ts";
import { reading } from "./database.ts";
import { cpusOf } from "./pool-wishes.ts";
import { cpusOfMachine } from "./zones.ts";

interface Worker {
  pool: string;
  version: number;
  workers: number;
  target: number;
}

const liveWorkers = `SELECT service_id || services.name AS pool, replicas.version, count(*) AS workers,
    scaling ->> 'target' AS target FROM replicas JOIN services ON services.id = service_id
  WHERE pool = 1 AND replicas.wanted = 'UP' AND ended_at IS NULL GROUP BY service_id, replicas.version`;

/** No pool has more workers of a version than anybody asked for, and it grows only up to its present or previous target. */
export function openPoolChecks() {
  const workers = reading<Worker>(liveWorkers, "replicas", "services");
  let last: readonly Worker[] = [];
  return {
    committed(mostWorkers: number, written?: ReadonlySet<string>): void {
      const found = workers(written);
      if (found === last) return;
      for (const one of found) {
        const before = last.find(
          ({ pool, version }) => pool === one.pool && version === one.version,
        );
        const isMore = one.workers > (before?.workers ?? 0);
        const most = isMore ? Math.max(one.target, before?.target ?? 0) : mostWorkers;
        if (one.workers > Math.min(most, mostWorkers))
          throw new Violation("a pool has more workers than it may", JSON.stringify(one));
      }
      last = found;
    },
  };
}

/** The jobs that run on a worker have room there: one that does not say what it takes has it to itself. */
export function checkRoom(jobs: readonly FakeJob[]): void {
  const cpus = jobs.map(cpusOf);
  const isFull = cpus.reduce((sum, count) => sum + count, 0) > cpusOfMachine;
  if (isFull || (jobs.length > 1 && cpus.includes(0)))
    throw new Violation("jobs share a worker that has no room for them", `cpus: ${cpus}`);
}
