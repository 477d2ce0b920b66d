import { type Loop, startLoop } from "../../common/loop.ts";
import type { PlannedReplica, ProbePlan, SeenReplica } from "../../contract/balancer-api.ts";
import type { Address } from "../../sidecar/forward/route.ts";
import type { Candidate } from "./policies.ts";
import { ask, type Place } from "./probe.ts";
import { afterAnswer, afterRefusal, isNews, nothingSeen, type Seen } from "./readiness.ts";
import { withinTls } from "./within-tls.ts";

/** What a replica tells, and by which clock. */
export interface Watch {
  now(): number;
  /** Something is known that was not. */
  changed(replica: Replica): void;
}

const waitAtLeastMs = 10;
/** Nothing listens there, or nothing behind the sidecar that does: it breaks off. */
const awayProblems: ReadonlySet<string | null> = new Set(["refused", "reset"]);
/** A server that is not there is not troubled by being asked. */
const awayAgainMs = 1_000;

/** One replica, which is asked on a timer of its own whether it is ready. */
export class Replica implements Candidate {
  readonly id: number;
  /** Requests under way there. */
  open = 0;
  /** One for all connections since it was last lost, or is reached elsewhere. */
  to: Address;
  /** No plan names it any more: nothing is there. */
  isGone = false;
  #planned: PlannedReplica;
  #probe: ProbePlan;
  #seen: Seen;
  #probing: Loop | undefined;
  /** What another place says, says nothing of this one. */
  #moved = new AbortController();
  readonly #watch: Watch;

  constructor(planned: PlannedReplica, probe: ProbePlan, watch: Watch) {
    this.id = planned.id;
    this.to = addressOf(planned, probe);
    this.#planned = planned;
    this.#probe = probe;
    this.#watch = watch;
    this.#seen = nothingSeen(watch.now());
    this.follow(planned, probe);
  }

  get capacity(): number {
    return this.#planned.capacity;
  }

  /** Whether it may be given requests now. */
  get isChosen(): boolean {
    return this.#planned.role === "serving" && this.#seen.readiness === "ready";
  }

  get isDraining(): boolean {
    return this.#planned.role === "draining";
  }

  /** Is from now on what a plan says; what is known of it stays, also where it is reached elsewhere. */
  follow(planned: PlannedReplica, probe: ProbePlan): void {
    const isSooner = probe.intervalMs < this.#probe.intervalMs;
    const isMoved = !isSamePlace(planned, this.#planned);
    this.#planned = planned;
    this.#probe = probe;
    if (isMoved) this.#move();
    if (this.isDraining) this.stop();
    else if (this.#probing === undefined) this.#probing = this.#start();
    else if (isSooner || isMoved) this.#probing.nudge();
  }

  /** It is gone, and what is under way there is lost. */
  leave(): void {
    this.isGone = true;
    this.stop();
  }

  #move(): void {
    this.to = addressOf(this.#planned, this.#probe);
    this.#moved.abort();
    this.#moved = new AbortController();
  }

  #start(): Loop {
    const tick = (signal: AbortSignal) => this.#ask(signal);
    return startLoop(
      () => this.#waitMs,
      tick,
      () => {},
    );
  }

  /** A connection to it was refused. */
  refused(): void {
    this.#learn(afterRefusal(this.#seen, this.#watch.now()));
    this.#probing?.nudge();
  }

  /** Something is strange: it is asked at once. */
  doubt(): void {
    this.#probing?.nudge();
  }

  stop(): void {
    void this.#probing?.stop();
    this.#probing = undefined;
  }

  report(): SeenReplica {
    const { readiness, since, failingSince, problem } = this.#seen;
    return { id: this.id, readiness, since, failingSince, problem, open: this.open };
  }

  get #waitMs(): number {
    const { readiness, problem } = this.#seen;
    const isAway = readiness !== "ready" && awayProblems.has(problem);
    const { intervalMs } = this.#probe;
    return Math.max(waitAtLeastMs, isAway ? Math.min(intervalMs, awayAgainMs) : intervalMs);
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const probe = this.#probe;
    const stop = AbortSignal.any([signal, this.#moved.signal]);
    const problem = await ask(probe, this.#planned, stop);
    if (stop.aborted) return;
    this.#learn(afterAnswer(this.#seen, problem, probe, this.#watch.now()));
  }

  #learn(seen: Seen): void {
    const before = this.#seen;
    this.#seen = seen;
    if (!isNews(before, seen)) return;
    // No connection outlives the server that it led to.
    if (seen.readiness === "not_ready") this.to = addressOf(this.#planned, this.#probe);
    this.#watch.changed(this);
  }
}

const isSamePlace = (one: Place, other: Place): boolean =>
  one.host === other.host && one.port === other.port;

/** Requests go the way that the probe goes: within TLS where that is asked so. */
const addressOf = (place: Place, { scheme }: ProbePlan): Address =>
  scheme === "https" ? withinTls(place) : { host: place.host, port: place.port };
