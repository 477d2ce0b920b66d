import { machine, type StateOf } from "../common/machine.ts";

/** A stored request, from the moment it was answered with its id. */
export const requestMachine = machine("request", "PENDING", {
  PENDING: { to: ["RUNNING", "FAILED", "CANCELLED"], means: "waits in its queue" },
  RUNNING: {
    to: ["SUCCEEDED", "FAILED", "CANCELLED"],
    means: "is being worked on; continues after a restart of control",
  },
  SUCCEEDED: { to: [], means: "done; its result can be fetched" },
  FAILED: { to: [], means: "ended with an error" },
  CANCELLED: { to: [], means: "stopped by a user" },
});
export type RequestStatus = StateOf<typeof requestMachine>;

/** A cluster. The wire shows no cluster that is GONE. */
export const clusterMachine = machine("cluster", "INIT", {
  INIT: { to: ["UP", "STOPPED", "GONE"], means: "being set up, or something is missing" },
  UP: { to: ["INIT", "AUTOSTOPPING", "STOPPED", "GONE"], means: "every node and agent is healthy" },
  AUTOSTOPPING: {
    to: ["INIT", "UP", "STOPPED", "GONE"],
    means: "idle: hooks run, then the cluster stops",
  },
  STOPPED: { to: ["INIT", "GONE"], means: "every node is off; disks are kept" },
  GONE: { to: [], means: "the cluster has been removed; the API no longer shows it" },
});
export type ClusterStatus = StateOf<typeof clusterMachine>;

/** A job on a cluster, as its head agent tells it. */
export const jobMachine = machine("job", "INIT", {
  INIT: {
    to: ["PENDING", "FAILED_DRIVER", "CANCELLED"],
    means: "has an id, but is not queued yet",
  },
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
  FAILED_DRIVER: { to: [], means: "its processes ended without an exit code" },
  SUCCEEDED: { to: [], means: "every rank exited with 0" },
  FAILED: { to: [], means: "the run script of a rank exited with another code" },
  FAILED_SETUP: { to: [], means: "the setup script of a rank failed" },
  CANCELLED: { to: [], means: "stopped by a user; none of its processes is left" },
});
export type JobStatus = StateOf<typeof jobMachine>;

/** One rank of a job, on its node. */
export const partMachine = machine("part", "WAITING", {
  WAITING: {
    to: ["SETTING_UP", "READY", "ENDED"],
    means: "known to the node, but nothing runs yet",
  },
  SETTING_UP: { to: ["READY", "ENDED"], means: "the setup script runs" },
  READY: { to: ["RUNNING", "ENDED"], means: "set up; waits for the other ranks" },
  RUNNING: { to: ["ENDED"], means: "the run script runs" },
  ENDED: { to: [], means: "none of its processes is left; the exit code is known or lost" },
});
export type PartStatus = StateOf<typeof partMachine>;

/**
 * The way of a cluster to its stop or teardown, or of one node to its preemption. The agent leads it
 * to READY, control from there.
 */
export const lifecycleMachine = machine("lifecycle", "HOOKS", {
  HOOKS: {
    to: ["JOBS", "CANCELLED"],
    means: "new jobs are refused; hooks run one after another while jobs continue",
  },
  JOBS: {
    to: ["HOOKS", "READY", "CANCELLED"],
    means:
      "jobs that still run are being ended, but a replica that is preempted serves until it is drained; if a stop becomes a teardown, hooks may run again",
  },
  READY: {
    to: ["HOOKS", "LEAVING", "DONE", "CANCELLED"],
    means: "the node may go away; the last logs are fetched",
  },
  LEAVING: {
    to: ["DONE", "CANCELLED"],
    means: "the provider is asked to stop or delete the nodes, until it succeeds",
  },
  DONE: { to: [], means: "the stop, teardown or preemption is complete" },
  CANCELLED: { to: [], means: "cancelled, or it did not happen: the cluster continues" },
});
export type LifecycleStatus = StateOf<typeof lifecycleMachine>;

/** One entry of `config.hooks` in one lifecycle; it is begun once at most. */
export const hookRunMachine = machine("hook run", ["RUNNING", "SKIPPED"], {
  RUNNING: { to: ["SUCCEEDED", "FAILED", "TIMED_OUT", "INTERRUPTED"], means: "the script runs" },
  SUCCEEDED: { to: [], means: "the script exited with 0" },
  FAILED: { to: [], means: "the script exited with another code, or could not be started" },
  TIMED_OUT: {
    to: [],
    means: "the script exceeded its timeout and was ended; its exit code is reported as 124",
  },
  INTERRUPTED: {
    to: [],
    means: "the script was ended for another reason, or its exit code was lost",
  },
  SKIPPED: { to: [], means: "the script was not started; the `reason` says why" },
});
export type HookRunStatus = StateOf<typeof hookRunMachine>;

/** A service. The wire shows no service that is GONE. */
export const serviceMachine = machine("service", "CONTROLLER_INIT", {
  CONTROLLER_INIT: {
    to: ["REPLICA_INIT", "CONTROLLER_FAILED", "SHUTTING_DOWN"],
    means: "its balancer is being started",
  },
  REPLICA_INIT: {
    to: ["READY", "FAILED", "NO_REPLICA", "CONTROLLER_FAILED", "SHUTTING_DOWN"],
    means: "no replica is ready yet",
  },
  READY: {
    to: ["REPLICA_INIT", "FAILED", "NO_REPLICA", "CONTROLLER_FAILED", "SHUTTING_DOWN"],
    means: "at least one replica is ready, or still serves although its machine is being preempted",
  },
  NO_REPLICA: {
    to: ["REPLICA_INIT", "READY", "FAILED", "CONTROLLER_FAILED", "SHUTTING_DOWN"],
    means: "scaled to zero; the next request starts a replica",
  },
  FAILED: {
    to: ["REPLICA_INIT", "READY", "NO_REPLICA", "CONTROLLER_FAILED", "SHUTTING_DOWN"],
    means: "no replica is ready and recent ones failed; control retries with growing delays",
  },
  CONTROLLER_FAILED: {
    to: ["REPLICA_INIT", "READY", "NO_REPLICA", "FAILED", "SHUTTING_DOWN"],
    means: "its balancer cannot be kept running",
  },
  SHUTTING_DOWN: { to: ["GONE", "FAILED_CLEANUP"], means: "replicas are drained and removed" },
  FAILED_CLEANUP: {
    to: ["SHUTTING_DOWN", "GONE"],
    means: "part of it could not be removed and may be left over",
  },
  GONE: { to: [], means: "the service has been removed; the API no longer shows it" },
});
export type ServiceStatus = StateOf<typeof serviceMachine>;

/** A replica of a service, from the decision to have it until nothing is left of it. */
export const replicaMachine = machine("replica", "PENDING", {
  PENDING: {
    to: ["PROVISIONING", "FAILED_PROVISION", "SHUTTING_DOWN"],
    means: "waits for its turn",
  },
  PROVISIONING: {
    to: ["STARTING", "PREEMPTED", "FAILED_PROVISION", "SHUTTING_DOWN"],
    means: "its cluster is being created",
  },
  STARTING: {
    to: ["READY", "PREEMPTED", "FAILED", "FAILED_INITIAL_DELAY", "SHUTTING_DOWN"],
    means: "its task was submitted; it has not been ready yet",
  },
  READY: {
    to: ["NOT_READY", "PREEMPTED", "FAILED", "FAILED_PROBING", "SHUTTING_DOWN"],
    means: "passes its probe and receives requests",
  },
  NOT_READY: {
    to: ["READY", "PREEMPTED", "FAILED", "FAILED_PROBING", "SHUTTING_DOWN"],
    means: "was ready, but fails its probe",
  },
  SHUTTING_DOWN: {
    to: ["FAILED_CLEANUP", "GONE"],
    means: "finishes open requests, then its cluster is deleted",
  },
  PREEMPTED: { to: ["GONE"], means: "its machine was lost, or is about to be" },
  FAILED: { to: ["GONE"], means: "its setup or run failed" },
  FAILED_INITIAL_DELAY: {
    to: ["GONE"],
    means: "was not ready in time, or its run exited with 0 before it was ready",
  },
  FAILED_PROBING: {
    to: ["GONE"],
    means: "was ready, then failed its probe for too long, or its run exited with 0",
  },
  FAILED_PROVISION: { to: ["GONE"], means: "its cluster could not be created" },
  FAILED_CLEANUP: {
    to: ["SHUTTING_DOWN", "GONE"],
    means: "its cluster could not be removed and may be left over",
  },
  GONE: { to: [], means: "the replica has been removed; the API no longer shows it" },
});
export type ReplicaStatus = StateOf<typeof replicaMachine>;

/** A task of a managed job. Each of its attempts runs on a cluster of its own, one after the other. */
export const managedJobMachine = machine("managed_job", "PENDING", {
  PENDING: {
    to: ["STARTING", "CANCELLING", "FAILED_PRECHECKS", "FAILED_CONTROLLER"],
    means: "waits for a machine, or for the task before it",
  },
  STARTING: {
    to: ["RUNNING", "SUCCEEDED", "CANCELLING", "FAILED_PRECHECKS", "FAILED_CONTROLLER"],
    means: "its first cluster is being created",
  },
  RUNNING: {
    to: [
      ...(["RECOVERING", "SUCCEEDED", "CANCELLING"] as const),
      ...(["FAILED", "FAILED_SETUP", "FAILED_CONTROLLER"] as const),
    ],
    means: "was submitted to its cluster, which sets it up or runs it",
  },
  RECOVERING: {
    to: ["RUNNING", "SUCCEEDED", "CANCELLING", "FAILED_PRECHECKS", "FAILED_CONTROLLER"],
    means: "lost its cluster, or failed and may try again; the next cluster is being created",
  },
  CANCELLING: {
    to: ["CANCELLED"],
    means:
      "was cancelled by a user, or by what became of other tasks of its job; its cluster is being deleted",
  },
  SUCCEEDED: { to: [], means: "its run script exited with 0 on every node" },
  CANCELLED: { to: [], means: "was cancelled; nothing of it is left" },
  FAILED: { to: [], means: "its run script failed, or it was lost and must not be recovered" },
  FAILED_SETUP: { to: [], means: "its setup script failed" },
  FAILED_PRECHECKS: { to: [], means: "it can never be launched as it is" },
  FAILED_CONTROLLER: { to: [], means: "this version of the control plane cannot read its task" },
});
export type ManagedJobStatus = StateOf<typeof managedJobMachine>;

/** Exit values of calls that follow a job: what `/logs` leaves as its result. */
export const jobExitCodes = {
  SUCCEEDED: 0,
  FAILED: 100,
  NOT_FINISHED: 101,
  NOT_FOUND: 102,
  CANCELLED: 103,
} as const;
