/** What may happen to a cluster that hooks wait for, and what each means. */
const meaningOf = {
  stop: "The cluster is stopped, disks kept: by `stop`, or by the idle timer.",
  preemption: "The provider or the machine itself takes a node away, and says so beforehand.",
  down: "The cluster is deleted: by `down`, or by the idle timer with `down`.",
} as const;
export type HookEvent = keyof typeof meaningOf;

/** The events, each with its meaning, in the order in which they are told of. */
export const hookEventMeanings: Readonly<Record<HookEvent, string>> = meaningOf;
export const hookEvents = Object.keys(meaningOf) as [HookEvent, ...HookEvent[]];

/** A script that runs on the cluster before an event. */
export interface Hook {
  readonly run: string;
  readonly events: readonly HookEvent[];
  readonly timeoutSeconds: number;
}

/** How long the hooks of an event may take, one after another. */
export const secondsOf = (hooks: readonly Hook[], event: HookEvent): number =>
  hooks
    .filter(({ events }) => events.includes(event))
    .reduce((sum, { timeoutSeconds }) => sum + timeoutSeconds, 0);

/** How people know one of so many hooks; the first is 1. */
export const hookNameOf = (
  { index, event }: { readonly index: number; readonly event: HookEvent },
  of: number,
): string => `hook ${index + 1} of ${of} (${event})`;

/** What the exit code of a hook that took too long is told as; the code of timeout(1). */
export const timeoutExitCode = 124;

const megabyte = 2 ** 20;
const firstBytes = megabyte;
const lastBytes = 9 * megabyte;
const stepBytes = 16 * megabyte;

/** Bytes of a log that are not kept, from the first to the one after the last. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/**
 * What is left out of a hook's log of so many bytes: everything but its first MiB and its last nine.
 * While it grows the gap grows in steps, so that little is moved; less than 32 MiB are on disk.
 */
export function gapOf(sizeBytes: number, isOver: boolean): Gap | undefined {
  const step = isOver ? 1 : stepBytes;
  const to = Math.floor((sizeBytes - lastBytes) / step) * step;
  return to > firstBytes ? { from: firstBytes, to } : undefined;
}

/** The line that stands where bytes were left out. */
export const gapLine = ({ from, to }: Gap): string =>
  `\n[${Math.round((to - from) / megabyte)} MiB of output were left out here]\n`;
