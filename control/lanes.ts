/** A place for long work, of those that its lane has. */
interface Place {
  readonly user: string;
  take(): void;
}

interface Lane {
  /** The user of each place that is taken. */
  readonly taken: string[];
  readonly waiting: Place[];
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

  const isLetIn = ({ taken }: Lane, user: string) => countOf(taken, user) < placesOfUser;

  /** The next place goes to the user with the fewest, then to the longest wait. */
  function giveAway(lane: Lane): void {
    const { taken, waiting } = lane;
    while (taken.length < placesOfLane) {
      const [first, ...others] = waiting.filter(({ user }) => isLetIn(lane, user));
      if (first === undefined) return;
      const next = others.reduce(
        (best, one) => (countOf(taken, one.user) < countOf(taken, best.user) ? one : best),
        first,
      );
      waiting.splice(waiting.indexOf(next), 1);
      taken.push(next.user);
      next.take();
    }
  }

  async function untilPlace(lane: Lane, user: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const place = { user, take: resolve };
    const abort = () => {
      const at = lane.waiting.indexOf(place);
      if (at >= 0) lane.waiting.splice(at, 1);
      if (at >= 0) reject(signal.reason);
    };
    lane.waiting.push(place);
    signal.addEventListener("abort", abort);
    giveAway(lane);
    await promise.finally(() => signal.removeEventListener("abort", abort));
  }

  return {
    async run(name, user, work, signal) {
      const lane = lanes.get(name) ?? { taken: [], waiting: [] };
      lanes.set(name, lane);
      await untilPlace(lane, user, signal);
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        lane.taken.splice(lane.taken.indexOf(user), 1);
        giveAway(lane);
      }
    },
  };
}

const countOf = (users: readonly string[], user: string): number =>
  users.filter((one) => one === user).length;
