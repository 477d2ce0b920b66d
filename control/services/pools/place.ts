import type { Share, Way } from "../../jobs/schema.ts";

/** Which task a worker gets. Pure. */

/** A worker that takes tasks, and what it has of them. */
export interface Room extends Omit<Way, "accelerators"> {
  readonly nodes: number;
  readonly accelerators: Way["accelerators"];
  readonly held: readonly Share[];
}

/** The worker with the fewest tasks that has room for one more; undefined where none has. */
export function placeFor<R extends Room>(rooms: readonly R[], share: Share): R | undefined {
  const fitting = rooms.filter((room) => hasRoom(room, share));
  return fitting.toSorted((a, b) => a.held.length - b.held.length)[0];
}

/** Whether a worker with nothing on it could take a task. */
export const couldTake = (room: Room, share: Share): boolean =>
  share.nodes <= room.nodes && wayOn(room, share) !== undefined;

function hasRoom(room: Room, share: Share): boolean {
  if (!couldTake(room, share)) return false;
  const ways = [...room.held, share].flatMap((one) => wayOn(room, one) ?? whole);
  if (ways.length > 1 && ways.some(isWhole)) return false;
  const files = new Set([...room.held, share].flatMap((one) => one.files ?? []));
  if (files.size > 1) return false;
  const takes = (of: (way: Way) => number) => ways.reduce((sum, way) => sum + of(way), 0);
  return (
    takes(({ cpus }) => cpus) <= room.cpus &&
    takes(({ memoryGb }) => memoryGb) <= room.memoryGb &&
    takes(({ accelerators }) => accelerators?.count ?? 0) <= (room.accelerators?.count ?? 0)
  );
}

const whole: Way = { cpus: 0, memoryGb: 0, accelerators: null };

/** A task that does not say what it takes may take everything. */
const isWhole = ({ cpus, memoryGb, accelerators }: Way): boolean =>
  cpus === 0 && memoryGb === 0 && accelerators === null;

/** What a task takes of a worker: the first of its ways that the worker has. */
const wayOn = (room: Room, { ways }: Share): Way | undefined =>
  ways.find(
    ({ cpus, memoryGb, accelerators }) =>
      cpus <= room.cpus && memoryGb <= room.memoryGb && hasKind(room, accelerators),
  );

const hasKind = ({ accelerators: has }: Room, wanted: Way["accelerators"]): boolean =>
  wanted === null ||
  (has !== null &&
    has.name.toLowerCase() === wanted.name.toLowerCase() &&
    has.count >= wanted.count);
