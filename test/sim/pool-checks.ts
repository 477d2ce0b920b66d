import type { FakeJob } from "../helpers/fake-node.ts";
import { Violation } from "./checks.ts";
import { reading } from "./database.ts";
import { cpusOf } from "./pool-wishes.ts";
import { cpusOfMachine } from "./zones.ts";

interface Worker {
  pool: string;
  version: number;
  workers: number;
}

const liveWorkers = `SELECT services.name AS pool, replicas.version, count(*) AS workers
  FROM replicas JOIN services ON services.id = service_id
  WHERE pool = 1 AND replicas.wanted = 'UP' AND ended_at IS NULL GROUP BY service_id, replicas.version`;

/** No pool has more workers of a version than anybody asked for. */
export function openPoolChecks() {
  const workers = reading<Worker>(liveWorkers, "replicas", "services");
  let last: readonly Worker[] = [];
  return {
    committed(mostWorkers: number, written?: ReadonlySet<string>): void {
      const found = workers(written);
      if (found === last) return;
      last = found;
      for (const one of found)
        if (one.workers > mostWorkers)
          throw new Violation("a pool has more workers than it may", JSON.stringify(one));
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
