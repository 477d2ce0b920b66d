import type { LeaseRenewal } from "../../contract/agent-shapes.ts";
import { endingMsOf } from "../../contract/lease.ts";
import { isOver } from "../helpers/fake-node.ts";
import type { Watcher } from "./cloud-shapes.ts";
import type { Network } from "./network.ts";
import { answers, loseRank, type Machine, type NodeLease } from "./nodes.ts";

/** What leases need of the cloud. */
interface World extends Pick<Watcher, "leaseEnds" | "hurt" | "isControlWell"> {
  headOf(machine: Machine): Machine | undefined;
  tend(machine: Machine): void;
}

const lookEveryMs = 1_000;
const because = "the lease runs out";

/** The leases of nodes, each by a clock of its own: as `agent/lease.ts`. */
export function openLeases(network: Network, world: World) {
  const { clock } = network;
  const uptimeOf = ({ steady }: Machine) => steady.fromMs + clock.now() * steady.rate;
  const clusterOf = ({ node }: Machine) => node.id.split("-")[0] ?? "";
  const liveOn = (machine: Machine) =>
    (world.headOf(machine)?.node.jobs ?? []).filter(
      ({ status, nodes }) => !isOver(status) && nodes > machine.rank,
    );

  function renew(machine: Machine, { leaseMs, heard }: LeaseRenewal): { at: number | null } {
    const now = uptimeOf(machine);
    const { lease } = machine;
    if (lease !== undefined) check(machine, lease);
    if (lease?.isOver) return { at: null };
    if (lease === undefined) put(machine, { leaseMs, fromMs: now });
    else if (heard !== null && heard > lease.fromMs) lease.fromMs = heard;
    return { at: now };
  }

  function put(machine: Machine, given: Pick<NodeLease, "leaseMs" | "fromMs">): void {
    const lease = { ...given, isOver: false, apartAt: clock.now() };
    machine.lease = lease;
    watch(machine, lease);
  }

  function watch(machine: Machine, lease: NodeLease): void {
    if (machine.state !== "running") return;
    if (!isInTouch(machine)) lease.apartAt = clock.now();
    check(machine, lease);
    if (!lease.isOver || liveOn(machine).length > 0)
      clock.after(lookEveryMs, () => watch(machine, lease));
  }

  const isInTouch = (machine: Machine): boolean =>
    answers(machine, clock.now()) && world.isControlWell();

  /** Nothing is done without the agent; it is as late as that. */
  function check(machine: Machine, lease: NodeLease): void {
    const leftMs = lease.fromMs + lease.leaseMs - uptimeOf(machine);
    if (machine.agent === undefined || leftMs > endingMsOf(lease.leaseMs)) return;
    // Also what succeeded is lost where control cannot hear of it in time.
    if (!lease.isOver) world.hurt(clusterOf(machine), true);
    if (liveOn(machine).length > 0 && !lease.isOver) {
      const apartAt = Math.max(lease.apartAt, network.troubledAt());
      world.leaseEnds(clusterOf(machine), lease.leaseMs, clock.now() - apartAt);
      clock.onNode(() =>
        machine.agent?.preempt(because, Date.now() + Math.max(0, Math.round(leftMs))),
      );
      world.tend(machine);
    }
    lease.isOver = true;
    if (leftMs <= 0) endAttempt(machine);
  }

  function endAttempt(machine: Machine): void {
    const head = world.headOf(machine);
    if (head !== undefined && head !== machine) loseRank(head, machine.rank);
    else for (const job of liveOn(machine)) machine.agent?.end(job.id, "CANCELLED");
  }

  return { renew };
}
