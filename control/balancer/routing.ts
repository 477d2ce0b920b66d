import type { Address, Choose, DeadEnd, Route } from "../../sidecar/forward/route.ts";
import type { Arrivals } from "./arrivals.ts";
import type { Hold } from "./hold.ts";
import { pick } from "./policies.ts";
import type { Replica } from "./replica.ts";
import type { Replicas } from "./replicas.ts";

export type Choice = Exclude<ReturnType<Choose>, () => void>;

const triesAtMost = 3;
/** A request that two replicas broke off at may be what breaks them: no third one gets it. */
const sentAtMost = 2;

/** Requests on their way, wherever they go. */
export interface Tally {
  open: number;
}

/** What the way of a request depends on. */
export interface Routing {
  readonly replicas: Replicas;
  readonly arrivals: Arrivals;
  readonly hold: Hold<Choice>;
  readonly tally: Tally;
  now(): number;
  changed(): void;
}

/**
 * Chooses a replica for each request: one that is ready, by the plan's policy. While none is, the
 * request waits. It goes to another one only when nothing of it was sent, and not for ever.
 */
export function chooseBy(routing: Routing): Choose {
  const { replicas, arrivals, hold, now } = routing;
  return (_request, deadEnds, tell) => {
    const last = deadEnds.at(-1);
    if (last === undefined) arrivals.count(now());
    else replicas.lost(last);
    if (last !== undefined && isSpent(deadEnds)) return last.why;
    const route = nextRoute(routing, deadEnds);
    if (route !== undefined) return route;
    if (last !== undefined && replicas.ready.length > 0) return last.why;
    const forget = hold.add(replicas.plan.hold, tell);
    // Whoever scales from zero waits for this.
    if (hold.count === 1) routing.changed();
    return forget ?? refusalToHold(routing) ?? "noUpstream";
  };
}

/** What those are answered who would wait for what will not come; undefined where they may wait. */
export const refusalToHold = ({ replicas }: Pick<Routing, "replicas">): "noneToCome" | undefined =>
  replicas.plan.hold.requests === 0 ? "noneToCome" : undefined;

const isSpent = (deadEnds: readonly DeadEnd[]): boolean =>
  deadEnds.length >= triesAtMost ||
  deadEnds.filter(({ wasConnected }) => wasConnected).length >= sentAtMost;

/** The next replica's turn; undefined when none is ready, or each was tried. */
export function nextRoute(
  { replicas, tally, changed }: Routing,
  deadEnds: readonly DeadEnd[] = [],
): Route | undefined {
  const { plan, ready } = replicas;
  const isUntried = ({ to }: Replica) => deadEnds.every((end) => end.to !== to);
  const candidates = deadEnds.length === 0 ? ready : ready.filter(isUntried);
  const replica = pick(plan.policy, candidates, replicas.lastId);
  if (replica === undefined) return undefined;
  replicas.lastId = replica.id;
  return new Trip(replica, tally, changed);
}

/** A request at a replica: counted from its making until it is done, once. */
class Trip implements Route {
  readonly to: Address;
  readonly name: string;
  readonly #tally: Tally;
  readonly #drained: () => void;
  #replica: Replica | undefined;

  constructor(replica: Replica, tally: Tally, drained: () => void) {
    this.to = replica.to;
    this.name = String(replica.id);
    this.#replica = replica;
    this.#tally = tally;
    this.#drained = drained;
    replica.open += 1;
    tally.open += 1;
  }

  get isLost(): boolean {
    return this.#replica?.isGone === true;
  }

  done(): void {
    const replica = this.#replica;
    if (replica === undefined) return;
    this.#replica = undefined;
    replica.open -= 1;
    this.#tally.open -= 1;
    if (replica.open === 0 && replica.isDraining) this.#drained();
  }
}
