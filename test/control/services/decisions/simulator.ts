import assert from "node:assert/strict";
import { arrivalSeconds } from "../../../../contract/balancer-api.ts";
import type { ReplicaPolicy } from "../../../../contract/task/replica-policy.ts";
import type { Service as ServiceSpec } from "../../../../contract/task/service.ts";
import {
  type Decision,
  goalOf,
  isLive,
  planService,
} from "../../../../control/services/decisions/plan.ts";
import { firstScaling, scale } from "../../../../control/services/decisions/scale.ts";
import type { Replica, Scaling, Version } from "../../../../control/services/schema.ts";
import { aReplica } from "../rows.ts";
import { aVersion } from "./versions.ts";

/** What becomes of a replica by itself: ready so long after it was added, and its end after that. */
export interface Life {
  readonly readyAfterMs: number;
  readonly failsAfterMs?: number;
}

/** What a version runs. */
export interface Document {
  readonly mode?: Version["mode"];
  readonly policy: ReplicaPolicy;
  readonly update?: ServiceSpec["update"];
  readonly usesSpot?: boolean;
  /** Of each replica. */
  readonly life?: (replica: Replica) => Life;
}

/** A service as it was right after a decision. */
export interface Moment {
  readonly atMs: number;
  readonly goal: number;
  readonly target: number;
  readonly decision: Decision;
  /** Those that get requests. */
  readonly serving: number;
  readonly live: number;
  readonly replicas: readonly Replica[];
}

const tickMs = 1_000;
const drainMs = 3_000;
const failedAtMost = 10;
/** A day is no instant since 1970 that anything could be confused with. */
const beginMs = 1_000_000_000;

/** A service whose replicas live by the clock of the simulation; a decision is taken each second. */
export class Simulator {
  readonly trace: Moment[] = [];
  readonly #documents: Document[] = [];
  #versions: Version[] = [];
  #replicas: Replica[] = [];
  #scaling: Scaling;
  #now = beginMs;
  #added = 0;
  #arrivals: number[] = [];
  #awayUntil = 0;
  /** Requests a second that arrive now. */
  rate = 0;

  constructor(document: Document) {
    this.#scaling = firstScaling(document.policy);
    this.update(document);
  }

  get now(): Moment {
    const last = this.trace.at(-1);
    if (last === undefined) throw new Error("nothing was decided yet");
    return last;
  }

  get versions(): readonly Version[] {
    return this.#versions;
  }

  /** Another version is wanted from now on. */
  update(document: Document): void {
    this.#documents.push(document);
    const version = this.#documents.length;
    this.#versions.push(aVersion(version, { mode: document.mode ?? "rolling" }));
  }

  /** What is ready does not answer its probe for so long. */
  blink(seconds: number): void {
    this.#awayUntil = this.#now + seconds * tickMs;
    for (const { number, status } of this.#replicas)
      if (status === "READY") this.#change(number, { status: "NOT_READY" });
  }

  /** Whether what was ready answers. */
  get isThere(): boolean {
    return this.#now >= this.#awayUntil;
  }

  /** The machine of a replica is gone. */
  lose(number: number): void {
    this.#change(number, { status: "PREEMPTED", endedAt: this.#now });
  }

  /** Lets time pass; the moments of that time. */
  pass(seconds: number): Moment[] {
    const from = this.trace.length;
    for (let tick = 0; tick < seconds; tick += 1) this.#tick();
    return this.trace.slice(from);
  }

  #tick(): void {
    this.#now += tickMs;
    for (const replica of this.#replicas) this.#live(replica);
    this.#forget();
    const goal = goalOf(this.#versions).version;
    const {
      policy,
      update = { maxSurge: 1, maxUnavailable: 0 },
      usesSpot = false,
    } = this.#documentOf(goal);
    this.#arrivals = [...this.#arrivals, this.rate].slice(-arrivalSeconds);
    const demand = { arrivals: this.#arrivals, open: Math.ceil(this.rate) };
    const capacities = this.#replicas.filter(isLive).map(() => undefined);
    this.#scaling = scale(
      policy,
      this.#scaling,
      { ...demand, capacities, watchedSince: 0 },
      this.#now,
    );
    const decision = planService({
      service: { scaling: this.#scaling },
      versions: this.#versions,
      replicas: this.#replicas,
      spec: { policy, update, usesSpot },
      busy: new Set(),
      hasMachines: false,
      now: this.#now,
    });
    this.#carryOut(decision);
    this.#remember(decision, goal);
  }

  /** What happens to a replica by itself. */
  #live(replica: Replica): void {
    const { number, version, status, createdAt, wanted, endedAt, drainUntil } = replica;
    const { life } = this.#documentOf(version);
    const { readyAfterMs, failsAfterMs = Infinity } = life?.(replica) ?? { readyAfterMs: 20_000 };
    const ageMs = this.#now - createdAt;
    const crash = { status: "FAILED", reason: "crashed", endedAt: this.#now } as const;
    if (endedAt !== null) return;
    if (wanted === "GONE" && (drainUntil ?? 0) <= this.#now)
      this.#change(number, { status: "GONE" });
    else if (wanted === "UP" && ageMs >= failsAfterMs) this.#change(number, crash);
    else if (wanted !== "UP" || status === "READY") return;
    else if (status === "NOT_READY" ? this.isThere : ageMs >= readyAfterMs)
      this.#greet(number, version);
  }

  /** A replica is ready. */
  #greet(number: number, version: number): void {
    this.#change(number, { status: "READY", readyAt: this.#now });
    this.#versions = this.#versions.map((one) =>
      one.version === version ? { ...one, readyAt: one.readyAt ?? this.#now } : one,
    );
  }

  /** Of what ended only the latest failures stay to be looked at. */
  #forget(): void {
    const failed = this.#replicas.filter(({ status }) => status === "FAILED");
    const old = new Set(failed.slice(0, -failedAtMost));
    this.#replicas = this.#replicas.filter(
      (one) => one.status !== "GONE" && one.status !== "PREEMPTED" && !old.has(one),
    );
  }

  #carryOut({ start, leave, giveUp }: Decision): void {
    for (const { replica } of leave)
      this.#change(replica.number, { wanted: "GONE", drainUntil: this.#now + drainMs });
    this.#versions = this.#versions.map((one) =>
      one.version === giveUp?.version ? { ...one, givenUp: giveUp.because } : one,
    );
    for (const { version, isSpot } of start) {
      this.#added += 1;
      const number = this.#added;
      const at = { createdAt: this.#now, statusChangedAt: this.#now };
      const place = { host: "127.0.0.1", port: number };
      const fresh = { number, version, isSpot, status: "STARTING" } as const;
      this.#replicas.push(aReplica({ ...fresh, ...at, ...place }));
    }
  }

  #remember(decision: Decision, goal: number): void {
    const live = this.#replicas.filter(isLive);
    const serving = live.filter(
      ({ number, status }) => status === "READY" && decision.roles.get(number) === "serving",
    );
    this.trace.push({
      atMs: this.#now - beginMs,
      ...{ goal, target: this.#scaling.target, decision },
      ...{ serving: serving.length, live: live.length, replicas: [...this.#replicas] },
    });
  }

  #change(number: number, change: Partial<Replica>): void {
    this.#replicas = this.#replicas.map((one) =>
      one.number !== number
        ? one
        : { ...one, ...change, ...(change.status && { statusChangedAt: this.#now }) },
    );
  }

  #documentOf(version: number): Document {
    const document = this.#documents[version - 1];
    if (document === undefined) throw new Error(`there is no version ${version}`);
    return document;
  }
}

const numbersOf = (replicas: readonly { number: number }[]) => replicas.map(({ number }) => number);

/** No replica goes in the decision after the one that started it, while the same is wanted. */
export function checkNoFlapping(trace: readonly Moment[]): void {
  for (const [index, moment] of trace.entries()) {
    const before = trace[index - 1];
    if (before === undefined || before.goal !== moment.goal || before.target !== moment.target)
      continue;
    if (moment.decision.leave.length === 0) continue;
    const known = new Set(numbersOf(trace[index - 2]?.replicas ?? before.replicas));
    const left = numbersOf(moment.decision.leave.map(({ replica }) => replica));
    assert.deepEqual(
      left.filter((number) => !known.has(number)),
      [],
      `at ${moment.atMs}`,
    );
  }
}

/** Nothing more happens, and all that is there is of the goal and ready. */
export function checkSettled(trace: readonly Moment[], version: number, target: number): void {
  const last = trace.at(-1);
  for (const { decision } of trace.slice(-30))
    assert.deepEqual([decision.start, decision.leave], [[], []]);
  assert.deepEqual([last?.goal, last?.target], [version, target]);
  const live = last?.replicas.filter(({ endedAt, wanted }) => endedAt === null && wanted === "UP");
  assert.ok(live?.every((one) => one.status === "READY" && one.version === version));
}
