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

interface Machines {
  pool: string;
  /** Workers that are not over, those that drain among them. */
  workers: number;
  target: number;
  /** How the newest version takes the place of the one before. */
  mode: string | null;
}

const liveWorkers = `SELECT service_id || services.name AS pool, replicas.version, count(*) AS workers,
    scaling ->> 'target' AS target FROM replicas JOIN services ON services.id = service_id
  WHERE pool = 1 AND replicas.wanted = 'UP' AND ended_at IS NULL GROUP BY service_id, replicas.version`;

const machines = `SELECT service_id || services.name AS pool, count(*) AS workers, scaling ->> 'target' AS target,
    (SELECT mode FROM service_versions WHERE service_id = services.id AND given_up IS NULL
      ORDER BY version DESC LIMIT 1) AS mode
  FROM replicas JOIN services ON services.id = service_id WHERE pool = 1 AND ended_at IS NULL GROUP BY service_id`;
/** A rolling update may have so many more. */
const surge = 1;

/** No pool has more workers of a version than anybody asked for, and it grows only up to its present or previous target. */
export function openPoolChecks(mostWorkers: number) {
  const workers = reading<Worker>(liveWorkers, "replicas", "services");
  const all = reading<Machines>(machines, "replicas", "services", "service_versions");
  let last: readonly Worker[] = [];
  let lastAll: readonly Machines[] = [];

  /** A worker that drains has its machine: it counts, but where a new set is made beside the old one. */
  function checkAll(written?: ReadonlySet<string>): void {
    const found = all(written);
    if (found === lastAll) return;
    for (const one of found) {
      const before = lastAll.find(({ pool }) => pool === one.pool)?.workers ?? 0;
      const isMore = one.workers > before && one.mode !== "blue_green";
      if (isMore && one.workers > one.target + surge)
        throw new Violation("a pool grows beside workers that drain", JSON.stringify(one));
    }
    lastAll = found;
  }

  return {
    committed(written?: ReadonlySet<string>): void {
      checkAll(written);
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
