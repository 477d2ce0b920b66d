import { fail } from "../../common/errors.ts";
import type { Offer } from "../../control/providers/provider.ts";
import type { Clock } from "./clock.ts";
import { type Zone, zones } from "./script.ts";

/** Where the cloud has machines, and when. */
export interface Zones {
  readonly offers: readonly Offer[];
  /** Throws where a zone has no machine for anyone. */
  refuseFull(zone: string | null): void;
  /** Does something once a zone has a machine; false, and nothing is done, where it has one now. */
  wait(zone: string | null, run: () => void): boolean;
  /** A zone has no machine for anyone for a while, and says so. */
  fill(zone: Zone, forMs: number): void;
  /** Whoever asks a zone for a machine has to wait for a while. */
  queue(zone: Zone, forMs: number): void;
  /** All of them have machines. */
  calm(): void;
}

/** How many processors each machine has. */
export const cpusOfMachine = 4;

const offers: readonly Offer[] = zones.map((zone, index) => ({
  ...{ provider: "sim", infra: `sim/here/${zone}`, region: "here", zone, instanceType: "small" },
  ...{ cpus: cpusOfMachine, memoryGb: 16, accelerators: null, dollarsPerHour: 2 + index },
}));

export function openZones(clock: Clock): Zones {
  const fullUntil = new Map<string, number>();
  const busyUntil = new Map<string, number>();
  let waiting: { readonly zone: string; readonly run: () => void }[] = [];
  const isIn = (until: Map<string, number>, zone: string) => (until.get(zone) ?? 0) > clock.now();

  function release(): void {
    const free = waiting.filter(({ zone }) => !isIn(busyUntil, zone));
    waiting = waiting.filter((one) => !free.includes(one));
    for (const { run } of free) run();
  }

  return {
    offers,
    refuseFull(zone) {
      if (!isIn(fullUntil, zone ?? "")) return;
      fail("ResourcesUnavailableError", `zone ${zone} is full`, { refusal: "capacity" });
    },
    wait(zone, run) {
      const isBusy = isIn(busyUntil, zone ?? "");
      if (isBusy) waiting.push({ zone: zone ?? "", run });
      return isBusy;
    },
    fill: (zone, forMs) => void fullUntil.set(zone, clock.now() + forMs),
    queue(zone, forMs) {
      busyUntil.set(zone, clock.now() + forMs);
      clock.after(forMs, release);
    },
    calm() {
      fullUntil.clear();
      busyUntil.clear();
      release();
    },
  };
}
