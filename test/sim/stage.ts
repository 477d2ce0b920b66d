import { type Balancers, openSimBalancers } from "./balancers.ts";
import { openCallbacks } from "./callbacks.ts";
import { type Checks, openChecks, Violation } from "./checks.ts";
import { openClock, type Process } from "./clock.ts";
import { openCloud } from "./cloud.ts";
import type { Cloud } from "./cloud-shapes.ts";
import { type Host, openHost } from "./host.ts";
import { installRandom } from "./machine.ts";
import { type Network, openNetwork } from "./network.ts";
import { workerBoundsIn } from "./pool-wishes.ts";
import { openRandom } from "./random.ts";
import { openReads, type Reads } from "./reads.ts";
import { freezes, type Step } from "./script.ts";
import { waitBoundsMs } from "./wait-checks.ts";
import { breaksDown } from "./workloads.ts";

/** A step with its number in the whole script. */
export type Numbered = readonly [number: number, step: Step];

/** Control, its cloud and its users, as they are while a script is played. */
export interface Stage {
  readonly network: Network;
  readonly cloud: Cloud;
  readonly balancers: Balancers;
  readonly host: Host;
  readonly checks: Checks;
  readonly reads: Reads;
  readonly trace: string[];
  note(line: string): void;
  /** Notes what a check throws. */
  guarded(check: () => void): void;
  failure(): Violation | null;
  /** Whether anything was committed, or has ended, since this was last asked. */
  hasChanged(): boolean;
  change(): void;
  /** Calls that have no answer yet, by the process that they are made to. */
  readonly calls: Set<{ readonly process: Process }>;
  /** How often jobs were begun, by the request that handed them in. */
  readonly begun: Map<string, number>;
  /** The clusters of replicas that do not become ready. */
  readonly brokenIds: Set<string>;
  /** What was asked of the cloud although it was so already. */
  readonly repeated: string[];
  /** Requests by the number of their steps. */
  readonly requests: Map<number, string>;
}

const waitsEveryMs = 5_000;
/** What may have steps of control fail, or end late, as those that wait for a machine which is away. */
const troubles: readonly Step["do"][] = [
  ...(["crash", "restart", "trouble", "fill disk", "freeze", "overtake", "step clock"] as const),
  ...(["slow node", "silence", "preempt", "reboot", "kill agent", "cut off", "isolate"] as const),
];
const isTroubled = ({ do: what }: Step): boolean => troubles.includes(what);

/** Opens the world of a script, without control. */
export function openStage(seed: number, home: string, steps: readonly Numbered[]): Stage {
  const trace: string[] = [];
  const begun = new Map<string, number>();
  const brokenIds = new Set<string>();
  const repeated: string[] = [];
  const isFrozen = steps.some(([, step]) => freezes(step));
  let failure: Violation | null = null;
  let hasChanged = true;
  installRandom(openRandom(seed, "control"));
  const clock = openClock();
  const note = (line: string) => trace.push(`${(clock.now() / 1_000).toFixed(3)} ${line}`);

  function failed(error: unknown): void {
    if (failure !== null) return;
    failure = error instanceof Violation ? error : new Violation("a bug", String(error));
    note(`FAILED: ${failure.message}: ${failure.detail}`);
  }

  function guarded(check: () => void): void {
    try {
      check();
    } catch (error) {
      failed(error);
    }
  }

  const network = openNetwork(clock, openRandom(seed, "network"), note);
  const checks = openChecks(home, clock.now, workerBoundsIn(steps.map(([, step]) => step)));
  const cloud: Cloud = openCloud(network, {
    ending: (how, clusterId) =>
      guarded(() => {
        checks.ending(how, clusterId);
        checks.jobs.ending({ clusterId });
      }),
    making(clusterId) {
      if (!isFrozen) guarded(() => checks.making(clusterId));
    },
    makingNew: (clusterId) => guarded(() => checks.jobs.makingNew(clusterId)),
    repeated: (what) => void repeated.push(what),
    began(job, clusterId, isDoomed) {
      const { submissionId: id } = job;
      begun.set(id, (begun.get(id) ?? 0) + 1);
      if (breaksDown(job)) brokenIds.add(clusterId);
      guarded(() => checks.jobs.began(job, clusterId, isDoomed));
    },
    hurt: checks.jobs.hurt,
    leaseEnds: (...given) => guarded(() => checks.jobs.leaseEnds(...given)),
    abandoned: checks.jobs.abandoned,
    isControlWell: () => host.program() !== undefined && clock.frozenMs() === 0,
    cancelled: (id) => guarded(() => checks.jobs.ending({ id }) || checkCancelled(id, steps)),
    trace: note,
  });
  const balancers = openSimBalancers(network, cloud.probed);
  const { provider } = cloud;
  const clusterIds = () => cloud.clusterIds("in time");
  const { pendingIds } = cloud;
  const { serviceIds, processes } = balancers;
  const changed = (written?: ReadonlySet<string>) => {
    hasChanged = true;
    guarded(() => checks.committed({ clusterIds, pendingIds, serviceIds }, written));
  };
  const runScript = openCallbacks(clock, (told, by, done) =>
    guarded(() => checks.jobs.calledBack(told, by, done, by === clock.newest())),
  );
  const passed = (id: string) => {
    if (clock.frozenMs() === 0) guarded(() => checks.jobs.waits.passed(id));
  };
  const outside = () => ({ provider, processes, runScript });
  const host: Host = openHost(
    home,
    network,
    outside,
    { note, failed, changed, passed },
    openRandom(seed, "disk"),
  );
  const boundMs = waitBoundsMs[steps.some(([, step]) => isTroubled(step)) ? "troubled" : "usual"];
  const lookAtWaits = () => {
    const isWell = host.program() !== undefined && clock.frozenMs() === 0;
    guarded(() => checks.jobs.waits.look(clock.now(), isWell ? cloud.isHeard : undefined, boundMs));
    clock.after(waitsEveryMs, lookAtWaits);
  };
  clock.after(waitsEveryMs, lookAtWaits);
  const change = () => {
    hasChanged = true;
  };
  const reads = openReads({ watch: checks.watch, ...{ failed, note }, ended: change });
  return {
    ...{
      network,
      cloud,
      balancers,
      host,
      checks,
      reads,
      trace,
      note,
      guarded,
      begun,
      brokenIds,
      repeated,
    },
    ...{ change, calls: new Set(), failure: () => failure },
    hasChanged() {
      const had = hasChanged;
      hasChanged = false;
      return had;
    },
    requests: new Map(),
  };
}

/** Only users cancel jobs, or the requests that handed them in. */
function checkCancelled(submissionId: string, steps: readonly Numbered[]): void {
  const isWanted = ([, step]: Numbered) =>
    step.do === "cancel" || (step.do === "call" && step.operation === "cancel");
  if (!steps.some(isWanted)) throw new Violation("a job was cancelled", submissionId);
}
