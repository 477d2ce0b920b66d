import { AppError } from "../../../common/errors.ts";
import { containerName } from "../../doors/kubernetes/exec.ts";
import type { ClusterRef } from "../provider.ts";
import type { KubeEvent, Pod } from "./objects.ts";

/** Why a pod does not run yet. */

/** The image cannot be pulled, or no container can be made from it: another node would not help. */
const lastingReasons = [
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "ImageInspectError",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
];

/** The scheduler learns of a claim before it learns of the disk that the claim has just got, and tries again. */
const unknownDisk = "bound to non-existent pv";

/** A queue such as that of Kueue holds the pod back, which may take days. */
const queued = "SchedulingGated";

/** What the scheduler warned of is over once the pod has a place. */
const failedScheduling = "FailedScheduling";

export interface Pending {
  /** For people. */
  readonly why: string;
  /** `place`: no node has room for it. `pod`: no node could ever run it as it is. */
  readonly lacks: "place" | "pod" | "time";
  /** Something of Kubernetes warns of it, and may try it again. */
  readonly isWarned?: true;
}

/** Another place is tried if there is no room; an image that cannot be pulled fails the launch. */
export function refuse({ why, lacks }: Pending): never {
  const details = lacks === "place" ? { refusal: "capacity" } : {};
  throw new AppError("ResourcesUnavailableError", why, details);
}

/** What keeps a pod from running, by its conditions, else by its newest warning. */
export function pendingOf({ status }: Pod, events: readonly KubeEvent[] = []): Pending {
  const scheduled = status.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False") {
    const why = unschedulable(scheduled.message ?? scheduled.reason);
    const waitsOn = scheduled.reason === queued || why.includes(unknownDisk);
    return { why, lacks: waitsOn ? "time" : "place" };
  }
  const waiting = statesOf(status)
    .map((state) => state?.waiting)
    .find((one) => lastingReasons.includes(one?.reason ?? ""));
  if (waiting !== undefined)
    return { why: `${waiting.reason}: ${waiting.message ?? "no details"}`, lacks: "pod" };
  const isOver = (reason?: string) => scheduled !== undefined && reason === failedScheduling;
  const warning = events.filter(({ type, reason }) => type === "Warning" && !isOver(reason)).at(-1);
  if (warning?.message !== undefined)
    return {
      why: `${warning.reason ?? "warning"}: ${warning.message}`,
      lacks: "time",
      isWarned: true,
    };
  return {
    why:
      scheduled === undefined
        ? "waits for the scheduler"
        : "its image is pulled and its container created",
    lacks: "time",
  };
}

/** Whether a pod has waited for longer than the task, or the settings, allow; negative is for ever. */
export function hasExpired(
  { machine }: Pick<ClusterRef, "machine">,
  { metadata }: Pod,
  { lacks }: Pending,
  { provisionMs }: { readonly provisionMs: number },
): boolean {
  if (lacks === "time") return false;
  const seconds = machine.kubernetes?.provision_timeout;
  const limitMs = seconds === undefined ? provisionMs : seconds * 1_000;
  return limitMs >= 0 && Date.now() - Date.parse(metadata.creationTimestamp ?? "") > limitMs;
}

/** The states of all containers, in the order in which they begin. */
const statesOf = ({ initContainerStatuses = [], containerStatuses = [] }: Pod["status"]) =>
  [...initContainerStatuses, ...containerStatuses].map(({ state }) => state);

/** What the scheduler says, without what it says of preempting other pods. */
const unschedulable = (message = "Unschedulable"): string =>
  message.replace(/ (no new claims to deallocate, )?preemption: .*$/s, "");

const failureIn = (status: Pod["status"]) =>
  statesOf(status)
    .map((state) => state?.terminated)
    .find((one) => one !== undefined && one.exitCode !== 0);

/** Throws why a pod could not begin: its image has no shell, or its machine is at fault. */
export function refuseUnstarted({ status }: Pod): void {
  const failed = failureIn(status);
  const { reason = "", message = "" } = failed ?? {};
  if (!notStarted.includes(reason)) return;
  const own = status.containerStatuses?.find(({ name }) => name === containerName);
  // "No such file" is also said of a runtime or a hook that the machine lacks.
  const lacksShell = own?.state?.terminated === failed && message.includes("/bin/sh");
  refuse({ why: `${reason}: ${message}`, lacks: lacksShell ? "pod" : "place" });
}

/** What containerd says, and what others do. */
const notStarted = ["StartError", "ContainerCannotRun"];

/** Why a pod has ended by itself. */
export const endOf = ({ status }: Pod): string => {
  const terminated = failureIn(status);
  return (
    status.message ??
    status.reason ??
    terminated?.reason ??
    `it ended with ${terminated?.exitCode ?? "an unknown code"}`
  );
};
