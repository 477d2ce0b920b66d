/** A place for long work that somebody waits for. */
interface Place {
  /** Places are numbered as they are asked for. */
  readonly number: number;
  take(): void;
}

interface Lane {
  /** How many places are taken, and how many of them by each user who has one. */
  taken: number;
  readonly takenBy: Map<string, number>;
  /** Who waits, in their order, by user. */
  readonly waiting: Map<string, Set<Place>>;
}

/** Limits long work: so much at a time in each lane, shared fairly among users. */
export interface Lanes {
  /** Runs the work once its lane has a place for the user. Rejects on abort while it waits. */
  run<T>(lane: string, user: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/**
 * Opens lanes with so many places each; a lane is there once it is named. A quarter of the places is
 * always for other users than the one who has the most.
 */
export function openLanes(placesOfLane: number): Lanes {
  const lanes = new Map<string, Lane>();
  const placesOfUser = Math.ceil((placesOfLane * 3) / 4);
  let asked = 0;

  /** The next place goes to the user with the fewest, then to the longest wait. */
  function nextUser({ takenBy, waiting }: Lane): string | undefined {
    let best: { user: string; has: number; number: number } | undefined;
    for (const [user, [first]] of waiting) {
      const has = takenBy.get(user) ?? 0;
      if (first === undefined || has >= placesOfUser) continue;
      const isBefore =
        best === undefined || has < best.has || (has === best.has && first.number < best.number);
      if (isBefore) best = { user, has, number: first.number };
    }
    return best?.user;
  }

  function giveAway(lane: Lane): void {
    while (lane.taken < placesOfLane) {
      const user = nextUser(lane);
      const [place] = lane.waiting.get(user ?? "") ?? [];
      if (user === undefined || place === undefined) return;
      leave(lane, user, place);
      count(lane, user, 1);
      place.take();
    }
  }

  const isFree = ({ taken, takenBy, waiting }: Lane, user: string): boolean =>
    taken < placesOfLane && waiting.size === 0 && (takenBy.get(user) ?? 0) < placesOfUser;

  async function untilPlace(lane: Lane, user: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (isFree(lane, user)) return count(lane, user, 1);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    asked += 1;
    const place = { number: asked, take: resolve };
    const abort = () => {
      if (leave(lane, user, place)) reject(signal.reason);
    };
    const places = lane.waiting.get(user) ?? new Set();
    lane.waiting.set(user, places.add(place));
    signal.addEventListener("abort", abort);
    giveAway(lane);
    await promise.finally(() => signal.removeEventListener("abort", abort));
  }

  return {
    async run(name, user, work, signal) {
      const lane = lanes.get(name) ?? { taken: 0, takenBy: new Map(), waiting: new Map() };
      lanes.set(name, lane);
      await untilPlace(lane, user, signal);
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        count(lane, user, -1);
        giveAway(lane);
      }
    },
  };
}

function count(lane: Lane, user: string, by: 1 | -1): void {
  lane.taken += by;
  const has = (lane.takenBy.get(user) ?? 0) + by;
  if (has > 0) lane.takenBy.set(user, has);
  else lane.takenBy.delete(user);
}

/** Waits no longer; false where the place does not wait. */
function leave({ waiting }: Lane, user: string, place: Place): boolean {
  const places = waiting.get(user);
  const isLeft = places?.delete(place) ?? false;
  if (places?.size === 0) waiting.delete(user);
  return isLeft;
}
