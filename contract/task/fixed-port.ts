import type { Task } from "./task-fields.ts";

/** Variables that tell the server of a replica where to listen. */
const givenPort = /\b(?:\w+_REPLICA_)?PORT\b/;

/**
 * Whether `run` starts a server on the service's port by its number, in the text or through a variable
 * of the task, and not on `$PORT`. False where nobody can tell, as when a program has a default port.
 */
export function hasFixedPort({
  run = "",
  envs,
  service,
}: Pick<Task, "run" | "envs" | "service">): boolean {
  if (service === undefined || givenPort.test(run)) return false;
  const port = String(service.port);
  return new RegExp(`\\b${port}\\b`).test(run) || Object.values(envs).includes(port);
}

/**
 * Whether each replica needs ports of its own, also where replicas share a machine: the task says so,
 * or there may be several replicas whose port is fixed.
 */
export function needsOwnPorts(task: Pick<Task, "run" | "envs" | "service">): boolean {
  const { service } = task;
  if (service === undefined) return false;
  if (service.isolation !== "auto") return service.isolation === "netns";
  return service.replicas.max > 1 && hasFixedPort(task);
}
