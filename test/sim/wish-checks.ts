import { type Move, type Row, Violation } from "./checks.ts";
import { reading } from "./database.ts";

/** What control does has to be for what is wanted. */
export interface WishChecks {
  /** What holds after each commit. */
  committed(moved: readonly Move[], found: readonly Row[], written?: ReadonlySet<string>): void;
  /** What holds when a node of a cluster is about to be made, or turned on. */
  making(clusterId: string): void;
}

/** What has to be wanted for a move to each status. What is taken down may have been stopped on its way. */
const movesFor: Readonly<Record<string, readonly string[]>> = {
  CANCELLING: ["CANCELLED"],
  CANCELLED: ["CANCELLED"],
  UP: ["UP"],
  STOPPED: ["STOPPED", "GONE"],
  GONE: ["GONE"],
};

/** How long work for a wish that was replaced may go on before it is broken off. */
const breaksOffWithinMs = 5_000;

const leaving = `SELECT id, "rank", cluster_id FROM lifecycles
  WHERE status = 'LEAVING' AND ended_at IS NULL`;

interface Leaving {
  id: string;
  rank: number;
  cluster_id: string;
}

export function openWishChecks(now: () => number): WishChecks {
  const left = reading<Leaving>(leaving, "lifecycles");
  let rows: readonly Row[] = [];
  /** What was wanted of each row at the commit before. */
  let before = new Map<string, string>();
  let wanted = new Map<string, string>();
  const since = new Map<string, number>();
  let leftBefore = new Set<string>();

  /** A wish may be replaced in the same commit in which something is done for it. */
  const wishesOf = (key: string) => [before, wanted].map((wishes) => wishes.get(key) ?? "");

  /** A move acts for a wish; a replica may be GONE by itself. */
  function checkMoves(moved: readonly Move[]): void {
    for (const { noun, subject_id: id, to_status: to } of moved) {
      const wishes = wishesOf(`${noun} ${id}`);
      const fitting = movesFor[to] ?? (noun === "managed_job" ? ["DONE"] : wishes);
      if (noun !== "replica" && !wishes.some((wish) => fitting.includes(wish)))
        throw new Violation("a move that nobody wants", `${noun} ${id} to ${to}, wanted ${wishes}`);
    }
  }

  /** From there on nothing is taken back. */
  function checkLeaving(found: readonly Leaving[]): void {
    for (const { id, rank, cluster_id: clusterId } of found) {
      if (leftBefore.has(`${id} ${rank} ${clusterId}`)) continue;
      const wishes = wishesOf(`cluster ${clusterId}`);
      if (wishes.every((wish) => wish === "UP"))
        throw new Violation("it leaves, which nobody wants", `cluster ${clusterId}`);
    }
    leftBefore = new Set(found.map((one) => `${one.id} ${one.rank} ${one.cluster_id}`));
  }

  return {
    committed(moved, found, written) {
      before = wanted;
      if (found !== rows) {
        rows = found;
        wanted = new Map(found.map((row) => [`${row.noun} ${row.id}`, row.wanted]));
        for (const [key, wish] of wanted) if (before.get(key) !== wish) since.set(key, now());
      }
      checkMoves(moved);
      checkLeaving(left(written));
    },
    making(clusterId) {
      const key = `cluster ${clusterId}`;
      const forMs = now() - (since.get(key) ?? 0);
      if (wanted.get(key) !== "UP" && forMs > breaksOffWithinMs)
        throw new Violation("a node is made that nobody wants", `${clusterId}, for ${forMs} ms`);
    },
  };
}
