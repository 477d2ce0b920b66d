import { machine, type StateOf } from "../common/machine.ts";

/** A stored request, from the moment it was answered with its id. */
export const requestMachine = machine("request", "PENDING", {
  PENDING: { to: ["RUNNING", "FAILED", "CANCELLED"], means: "waits in its queue" },
  RUNNING: {
    to: ["SUCCEEDED", "FAILED", "CANCELLED"],
    means: "is worked on; goes on after a restart of control",
  },
  SUCCEEDED: { to: [], means: "done; its result can be fetched" },
  FAILED: { to: [], means: "ended with an error" },
  CANCELLED: { to: [], means: "stopped by a user" },
});
export type RequestStatus = StateOf<typeof requestMachine>;

/** A cluster. The wire shows no cluster that is GONE. */
export const clusterMachine = machine("cluster", "INIT", {
  INIT: { to: ["UP", "STOPPED", "GONE"], means: "being set up, or something is missing" },
  UP: { to: ["INIT", "AUTOSTOPPING", "STOPPED", "GONE"], means: "every node and agent is well" },
  AUTOSTOPPING: {
    to: ["INIT", "UP", "STOPPED", "GONE"],
    means: "idle: hooks and stop are under way",
  },
  STOPPED: { to: ["INIT", "GONE"], means: "every node is off, disks are kept" },
  GONE: { to: [], means: "nothing is left; the wire shows no such cluster" },
});
export type ClusterStatus = StateOf<typeof clusterMachine>;

/** A job on a cluster, as its head agent tells it. */
export const jobMachine = machine("job", "INIT", {
  INIT: { to: ["PENDING", "FAILED_DRIVER", "CANCELLED"], means: "has a number, is not queued yet" },
  PENDING: {
    to: ["SETTING_UP", "RUNNING", "SUCCEEDED", "FAILED_DRIVER", "CANCELLED"],
    means: "waits for its turn and its resources",
  },
  SETTING_UP: {
    to: ["RUNNING", "SUCCEEDED", "FAILED_SETUP", "FAILED_DRIVER", "CANCELLED"],
    means: "the setup script runs",
  },
  RUNNING: {
    to: ["SUCCEEDED", "FAILED", "FAILED_DRIVER", "CANCELLED"],
    means: "the run script runs",
  },
  FAILED_DRIVER: { to: [], means: "its processes are gone and left no exit code" },
  SUCCEEDED: { to: [], means: "every rank returned 0" },
  FAILED: { to: [], means: "the run script of a rank returned something else" },
  FAILED_SETUP: { to: [], means: "the setup script of a rank failed" },
  CANCELLED: { to: [], means: "stopped by a user; no process of it is left" },
});
export type JobStatus = StateOf<typeof jobMachine>;

/** One rank of a job, on its node. */
export const partMachine = machine("part", "WAITING", {
  WAITING: { to: ["SETTING_UP", "READY", "ENDED"], means: "known to the node, nothing runs" },
  SETTING_UP: { to: ["READY", "ENDED"], means: "the setup script runs" },
  READY: { to: ["RUNNING", "ENDED"], means: "set up; waits for the other ranks" },
  RUNNING: { to: ["ENDED"], means: "the run script runs" },
  ENDED: { to: [], means: "no process of it is left; the exit code is known or was lost" },
});
export type PartStatus = StateOf<typeof partMachine>;

/** Exit values of calls that follow a job: what `/logs` leaves as its result. */
export const jobExitCodes = {
  SUCCEEDED: 0,
  FAILED: 100,
  NOT_FINISHED: 101,
  NOT_FOUND: 102,
  CANCELLED: 103,
} as const;
