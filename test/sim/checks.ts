import { DatabaseSync, type StatementSync } from "node:sqlite";
import { clusterMachine } from "../../contract/statuses.ts";

/** Something that must never be, or did not come in time. */
export class Violation extends Error {
  /** Seeds whose violations have the same words have, most likely, the same cause. */
  readonly detail: string;

  constructor(words: string, detail = "") {
    super(words);
    this.detail = detail;
  }
}

/** A cluster as its row has it. */
interface Row {
  id: string;
  name: string;
  status: string;
  wanted: string;
}

interface Move {
  seq: number;
  subject_id: string;
  from_status: string;
  to_status: string;
}

interface Request {
  id: string;
  name: string;
  status: string;
  error: string | null;
}

/** Looks at what is on disk, past the program that writes it. */
export interface Checks {
  /** What holds after each commit. */
  committed(clustersWithMachines: string[]): void;
  /** What holds when a node is about to be stopped or deleted. */
  ending(how: "stop" | "destroy", clusterId: string): void;
  /** What is not yet as it will be: requests that have not ended, clusters that are not what is wanted. */
  unsettled(): string[];
  /** Live clusters. */
  live(): Row[];
  /** No request met a bug. */
  requests(): void;
  close(): void;
}

/** Which wishes let control end a node in each way. */
const endsFor = { stop: ["STOPPED", "GONE"], destroy: ["GONE"] };

export function openChecks(file: string): Checks {
  const db = new DatabaseSync(file, { readOnly: true });
  const events = db.prepare(
    "SELECT seq, subject_id, from_status, to_status FROM events WHERE seq > ? AND noun = 'cluster' AND to_status IS NOT NULL ORDER BY seq",
  );
  const clusters = db.prepare("SELECT id, name, status, wanted FROM clusters");
  const cluster = db.prepare("SELECT id, name, status, wanted FROM clusters WHERE id = ?");
  const live = db.prepare("SELECT id, name, status, wanted FROM clusters WHERE status <> 'GONE'");
  const requests = db.prepare("SELECT id, name, status, error FROM requests");
  const unended = db.prepare(
    "SELECT id, name, status FROM requests WHERE status IN ('PENDING', 'RUNNING')",
  );
  const replayed = new Map<string, string>();
  let seen = 0;

  function replay(): void {
    for (const event of rows<Move>(events, seen)) {
      const { seq, subject_id: id, from_status: from, to_status: to } = event;
      const before = replayed.get(id) ?? clusterMachine.initial;
      if (from !== before)
        throw new Violation("events do not follow each other", `${from} after ${before}`);
      replayed.set(id, to);
      seen = seq;
    }
  }

  return {
    committed(clustersWithMachines) {
      replay();
      for (const { id, name, status, wanted } of rows<Row>(clusters)) {
        const told = replayed.get(id) ?? clusterMachine.initial;
        if (told !== status)
          throw new Violation("status and events differ", `${name} is ${status}, not ${told}`);
        if (status !== "GONE") continue;
        if (wanted !== "GONE") throw new Violation("GONE is not wanted", `${name}: ${wanted}`);
        if (clustersWithMachines.includes(id))
          throw new Violation("a machine outlives its cluster", name);
      }
    },
    ending(how, clusterId) {
      const { name, wanted } = cluster.get(clusterId) as unknown as Row;
      if (!endsFor[how].includes(wanted))
        throw new Violation(`${how} while something else is wanted`, `${name}: ${wanted}`);
    },
    unsettled() {
      const open = rows<Request>(unended).map(({ name, id }) => `${name} ${id} has not ended`);
      const found = rows<Row>(live).filter(({ status, wanted }) => status !== wanted);
      return [
        ...open,
        ...found.map(({ name, status, wanted }) => `${name} is ${status}, wanted ${wanted}`),
      ];
    },
    live: () => rows<Row>(live),
    requests() {
      for (const { name, error } of rows<Request>(requests))
        if (error?.includes('"InternalError"'))
          throw new Violation("a request met a bug", `${name}: ${error}`);
    },
    close: () => db.close(),
  };
}

/** All rows; by another way than the program's statements, which the simulation counts. */
const rows = <T>(statement: StatementSync, ...given: number[]): T[] =>
  [...statement.iterate(...given)] as unknown as T[];
