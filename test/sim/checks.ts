import { join } from "node:path";
import {
  clusterMachine,
  managedJobMachine,
  replicaMachine,
  serviceMachine,
} from "../../contract/statuses.ts";
import type { Noun } from "../../control/nouns.ts";
import { prepare, reading, rows } from "./database.ts";
import { type EndChecks, openEndChecks } from "./end-checks.ts";
import { checkGone, type Existing } from "./gone-checks.ts";
import { type JobChecks, openJobChecks } from "./job-checks.ts";
import { openPoolChecks } from "./pool-checks.ts";
import type { WorkerBounds } from "./pool-wishes.ts";
import type { Watched } from "./reads.ts";
import { openServiceChecks } from "./service-checks.ts";
import { openWishChecks, type WishChecks } from "./wish-checks.ts";

/** Something that must never be, or did not come in time. */
export class Violation extends Error {
  /** Seeds whose violations have the same words have, most likely, the same cause. */
  readonly detail: string;

  constructor(words: string, detail = "") {
    super(words);
    this.detail = detail;
  }
}

/** A cluster, service, replica or task of a managed job as its row has it. */
export interface Row {
  noun: Noun;
  id: string;
  name: string;
  status: string;
  wanted: string;
  /** Nothing is left of it. */
  isOver: number;
}

/** A move of one of them, as its event has it. */
export interface Move {
  seq: number;
  noun: Noun;
  subject_id: string;
  from_status: string;
  to_status: string;
}

interface Request {
  id: string;
  name: string;
  status: string;
}

interface Ended {
  name: string;
  wanted: string;
  refused: number | null;
}

/** Looks at what is on disk, past the program that writes it. */
export interface Checks {
  /** What holds after each commit; without the tables that were written to, everything is looked at. */
  committed(existing: Existing, written?: ReadonlySet<string>): void;
  /** What holds when a node is about to be stopped or deleted. */
  ending(how: "stop" | "destroy", clusterId: string): void;
  /** What holds when a node is about to be made or turned on. */
  readonly making: WishChecks["making"];
  /** Sees each status of the live cluster of a name from now on. */
  watch(clusterName: string): Watched;
  /** Once what is old has been forgotten, nothing is left of what is over. */
  forgotten(): void;
  /** What is not yet as it will be: requests that have not ended, rows that are not what is wanted. */
  unsettled(): string[];
  /** The live cluster of a name. */
  clusterOf(name: string): string | undefined;
  /** The live service of a name. */
  serviceOf(name: string): string | undefined;
  /** Live clusters and services, without what belongs to another row. */
  live(): (Pick<Row, "name"> & { noun: "cluster" | "service" | "pool" })[];
  readonly atEnd: EndChecks;
  readonly jobs: JobChecks;
}

/** Which wishes let control end a node in each way. */
const endsFor = { stop: ["STOPPED", "GONE"], destroy: ["GONE"] };

const firstOf: Record<Noun, string> = {
  cluster: clusterMachine.initial,
  service: serviceMachine.initial,
  replica: replicaMachine.initial,
  managed_job: managedJobMachine.initial,
};

const columns = "id, name, status, wanted, status = 'GONE' AS isOver";
/** The rows of each noun, with the tables whose rows have it change. */
const everything = [
  [`SELECT 'cluster' AS noun, ${columns} FROM clusters`, "clusters"],
  [`SELECT 'service' AS noun, ${columns} FROM services`, "services"],
  [
    "SELECT 'replica' AS noun, id, cluster_name AS name, status, wanted, status = 'GONE' AS isOver FROM replicas",
    ...["replicas", "services"],
  ],
  [
    "SELECT 'managed_job' AS noun, id, name, status, wanted, settled_at IS NOT NULL AS isOver FROM job_tasks",
    ...["job_tasks", "managed_jobs"],
  ],
] as const;
const own = `SELECT 'cluster' AS noun, ${columns} FROM clusters WHERE status <> 'GONE' AND made_for IS NULL
  UNION ALL SELECT iif(pool, 'pool', 'service'), ${columns} FROM services WHERE status <> 'GONE'`;
const moves = `SELECT seq, noun, subject_id, from_status, to_status FROM events
  WHERE seq > ? AND to_status IS NOT NULL
    AND noun IN ('cluster', 'service', 'replica', 'managed_job') ORDER BY seq`;

const remains = `SELECT 'cluster ' || name AS what FROM clusters WHERE status = 'GONE'
  UNION ALL SELECT 'service ' || name FROM services WHERE status = 'GONE'
  UNION ALL SELECT 'managed job ' || name FROM managed_jobs
  UNION ALL SELECT 'request ' || name FROM requests WHERE status NOT IN ('PENDING', 'RUNNING')`;

/** Opens them for control with this home; `now` is simulated time, `bounds` what pools may have. */
export function openChecks(home: string, now: () => number, bounds: WorkerBounds): Checks {
  const events = prepare(moves);
  const present = everything.map(([text, ...tables]) => reading<Row>(text, ...tables));
  const live = prepare(own);
  const cluster = prepare(
    "SELECT name, wanted, placement ->> 'isRefused' AS refused FROM clusters WHERE id = ?",
  );
  const unlike = prepare(
    "SELECT name, status, wanted FROM clusters WHERE status <> 'GONE' AND status <> wanted",
  );
  const named = (table: string) =>
    prepare(`SELECT id FROM ${table} WHERE name = ? AND status <> 'GONE'`);
  const [clusterNamed, serviceNamed] = [named("clusters"), named("services")];
  const requests = reading<Request>("SELECT id, name, status FROM requests", "requests");
  const ended = new Map<string, string>();
  const services = openServiceChecks(bounds.fewest);
  const pools = openPoolChecks(bounds.most);
  const jobs = openJobChecks(join(home, "control", "jobs"));
  const replayed = new Map<string, string>();
  const wishes = openWishChecks(now);
  const old = prepare(remains);
  const watches = new Map<string, Set<Set<string | null>>>();
  /** What was not over at the commit before. */
  let goingOn = new Map<string, string>();
  let found: readonly Row[] = [];
  let listed: readonly (readonly Row[])[] = [];
  let asked: readonly Request[] = [];
  let seen = 0;

  function replay(): Move[] {
    const moved: Move[] = [];
    for (const event of rows<Move>(events, seen)) {
      const { seq, noun, subject_id: id, from_status: from, to_status: to } = event;
      const key = `${noun} ${id}`;
      const before = replayed.get(key) ?? firstOf[noun];
      if (from !== before)
        throw new Violation("events do not follow each other", `${key}: ${from} after ${before}`);
      replayed.set(key, to);
      moved.push(event);
      seen = seq;
    }
    return moved;
  }

  /** Nothing is forgotten before it is over. */
  function checkKept(): void {
    const present = new Set([...found.map(keyOf), ...asked.map(({ id }) => id)]);
    for (const [key, what] of goingOn)
      if (!present.has(key)) throw new Violation("what is not over was forgotten", what);
    const live = found.filter(({ isOver }) => isOver === 0);
    goingOn = new Map([
      ...live.map((row): [string, string] => [keyOf(row), `${row.noun} ${row.name}`]),
      ...asked.filter(isOpen).map(({ id, name }): [string, string] => [id, name]),
    ]);
  }

  /** What a reader may have seen. */
  function look(): void {
    for (const [name, watching] of watches) {
      const row = found.find(
        (one) => one.noun === "cluster" && one.name === name && one.status !== "GONE",
      );
      for (const statuses of watching) statuses.add(row?.status ?? null);
    }
  }

  /** What became of a request stays what it is. */
  function checkEnded(): void {
    for (const request of asked) {
      const { id, name, status } = request;
      const before = ended.get(id);
      if (before !== undefined && before !== status)
        throw new Violation("a request that ended changes", `${name}: ${before}, ${status}`);
      if (!isOpen(request)) ended.set(id, status);
    }
  }

  /** Rows, their wishes and their events agree. */
  function checkRows(written?: ReadonlySet<string>): void {
    const moved = written?.has("events") === false ? [] : replay();
    const lists = present.map((read) => read(written));
    const isChanged = lists.some((list, index) => list !== listed[index]);
    if (isChanged) found = lists.flat();
    listed = lists;
    wishes.committed(moved, found, written);
    jobs.committed(moved, written);
    pools.committed(written);
    if (!isChanged) return;
    look();
    for (const { noun, id, name, status } of found) {
      const told = replayed.get(`${noun} ${id}`) ?? firstOf[noun];
      if (told !== status)
        throw new Violation("status and events differ", `${noun} ${name}: ${status}, ${told}`);
    }
  }

  return {
    committed(existing, written) {
      const [rowsBefore, askedBefore] = [found, asked];
      checkRows(written);
      asked = requests(written);
      if (asked !== askedBefore) checkEnded();
      if (found !== rowsBefore || asked !== askedBefore) checkKept();
      checkGone(found, existing);
    },
    ending(how, clusterId) {
      const { name, wanted, refused } = cluster.get(clusterId) as unknown as Ended;
      // What was begun at an offer that was refused does not stay there.
      if (how === "destroy" && refused === 1) return;
      if (!endsFor[how].includes(wanted))
        throw new Violation(`${how} while something else is wanted`, `${name}: ${wanted}`);
    },
    making: wishes.making,
    watch(name) {
      const statuses = new Set<string | null>();
      const watching = watches.get(name) ?? new Set();
      watches.set(name, watching.add(statuses));
      look();
      return { statuses, end: () => void watching.delete(statuses) };
    },
    forgotten() {
      const left = rows<{ what: string }>(old);
      if (left.length > 0)
        throw new Violation(
          "what is over is not forgotten",
          left.map(({ what }) => what).join("; "),
        );
    },
    unsettled() {
      const open = requests()
        .filter(isOpen)
        .map(({ name, id }) => `${name} ${id} has not ended`);
      const found = rows<Row>(unlike).map(
        ({ name, status, wanted }) => `${name} is ${status}, wanted ${wanted}`,
      );
      return [...open, ...found, ...services.unsettled(), ...jobs.unsettled()];
    },
    clusterOf: (name) => clusterNamed.get(name)?.id as string | undefined,
    serviceOf: (name) => serviceNamed.get(name)?.id as string | undefined,
    live: () => rows(live),
    atEnd: openEndChecks(),
    jobs,
  };
}

const isOpen = ({ status }: Request): boolean => status === "PENDING" || status === "RUNNING";

const keyOf = ({ noun, id }: Row): string => `${noun} ${id}`;
