import { usualRecovery } from "../../control/jobs/recovery.ts";
import { jobOf } from "./job-wishes.ts";
import type { Step } from "./script.ts";

/** A script that failed once. Its steps are written out, as scripts of seeds change. */
interface Regression {
  /** What was wrong. */
  readonly showed: string;
  /** Determines all delays. */
  readonly seed: number;
  readonly steps: readonly Step[];
}

const service = (how: string, replicas: number): string => `
resources: {ports: 8080}
service:
  replicas: ${replicas}
  readiness_probe: {path: /, initial_delay_seconds: 30, failure_window_seconds: 30}
run: serve ${how}
`;

const hooked = `
run: sleep 16
config:
  hooks:
    - {run: sleep 2, events: [down], timeout: 32}
    - {run: sleep 11, events: [stop, down], timeout: 18}
`;

const up = (at: number, replicas: number): Step => ({
  ...{ at, do: "call", user: "ann", operation: "serve.up" },
  input: { service_name: "s", task: service("well", replicas) },
});

const update = (at: number, how: string, mode: "rolling" | "blue_green"): Step => ({
  ...{ at, do: "call", user: "bob", operation: "serve.update" },
  input: { service_name: "s", task: service(how, 2), mode },
});

const launch = (at: number, task: string, minutes: number, down: boolean): Step => ({
  ...{ at, do: "call", user: "ann", operation: "launch" },
  input: { cluster_name: "c", task, idle_minutes_to_autostop: minutes, down },
});

const autostop = (at: number, minutes: number): Step => ({
  ...{ at, do: "call", user: "bob", operation: "autostop" },
  input: { cluster_name: "c", idle_minutes: minutes, down: true },
});

const jobLaunch = (at: number, run: string): Step => ({
  ...{ at, do: "call", user: "ann", operation: "jobs.launch" },
  input: { name: null, task: jobOf("j", usualRecovery, {}, [`run: ${run}`]) },
});

const poolApply = (at: number, task: string): Step => ({
  ...{ at, do: "call", user: "ann", operation: "jobs.pool_apply" },
  input: { pool_name: "w", task, mode: "rolling" },
});

export const regressions: readonly Regression[] = [
  {
    showed: "a replica that was terminated while its cluster was made left the cluster behind",
    seed: 11,
    steps: [
      up(0, 1),
      {
        ...{ at: 48, do: "call", user: "ann", operation: "serve.terminate_replica" },
        input: { service_name: "s", replica_id: 1 },
      },
    ],
  },
  {
    showed: "with the clock set back by hours, a version that fails was not given up for as long",
    seed: 1441,
    steps: [
      up(774, 3),
      { at: 19_209, do: "step clock", whose: "control", byMs: -14_400_000 },
      update(27_617, "mute", "blue_green"),
    ],
  },
  {
    showed:
      "a replica failed as its provider's answer was not read in time: control had been paused",
    seed: 9038,
    steps: [up(24, 2), { at: 89, do: "freeze", how: "paused", forMs: 480_172 }],
  },
  {
    showed: "a head that was silent when its autostop was set kept the one before",
    seed: 437,
    steps: [
      launch(0, "num_nodes: 2\nrun: sleep 27\n", 1, false),
      { at: 40_013, do: "silence", name: "c", rank: 0, forMs: 52_398 },
      autostop(40_036, 2),
    ],
  },
  {
    showed: "a head that was asked what it knows while its autostop was cancelled got it back",
    seed: 1682,
    steps: [
      launch(0, "num_nodes: 1\nrun: sleep 22\n", 1, false),
      launch(98, "num_nodes: 1\nrun: sleep 7\n", 1, true),
      { at: 20_014, do: "freeze", how: "asleep", forMs: 385_796 },
      autostop(45_498, -1),
    ],
  },
  {
    showed: "of two autostops at a time, a head kept the one that the row does not have",
    seed: 4,
    steps: [
      launch(0, "num_nodes: 1\nrun: sleep 9\n", 5, true),
      { at: 20_060, do: "freeze", how: "asleep", forMs: 60_000 },
      autostop(40_012, 2),
      autostop(40_964, 1),
    ],
  },
  {
    showed: "a control plane that was overtaken started a balancer for a service that was gone",
    seed: 2619,
    steps: [
      {
        ...{ at: 0, do: "call", user: "cyd", operation: "launch" },
        input: { cluster_name: "a", task: hooked, retry_until_up: true },
      },
      up(0, 1),
      {
        ...{ at: 40, do: "call", user: "cyd", operation: "serve.down" },
        input: { service_names: ["s"] },
      },
      { at: 62, do: "overtake", forMs: 159 },
    ],
  },
  {
    showed: "a node that an overtaken control plane had asked for outlived its cluster",
    seed: 4480,
    steps: [
      {
        ...{ at: 0, do: "call", user: "ann", operation: "launch" },
        input: { cluster_name: "a", task: "run: sleep 36\n", retry_until_up: false },
      },
      { at: 945, do: "overtake", forMs: 584 },
      {
        ...{ at: 1_575, do: "call", user: "ann", operation: "down" },
        input: { cluster_name: "a", skip_hooks: true },
      },
    ],
  },
  {
    showed: "a managed job waited for ever for a cluster that was lost before its task was there",
    seed: 5,
    steps: [
      jobLaunch(0, "sleep 5"),
      { at: 3_000, do: "preempt", name: "job 1", rank: 0, inMs: 2_000 },
    ],
  },
  {
    showed: "control waited for itself when a pool was applied twice in one transaction",
    seed: 647,
    steps: [
      poolApply(0, "pool: {min_workers: 1, max_workers: 3}\nsetup: sleep 3\n"),
      { at: 42, do: "freeze", how: "asleep", forMs: 19_230 },
      poolApply(7_455, "pool: {workers: 1}\nsetup: sleep 6\n"),
      poolApply(20_072, "pool: {workers: 1}\nsetup: sleep 10\n"),
    ],
  },
  {
    showed:
      "the end of a job's log was lost when its connection was silent for longer than its machine",
    seed: 1463,
    steps: [
      jobLaunch(0, "sleep 13"),
      { at: 12_000, do: "silence", name: "job 1", rank: 0, forMs: 48_379 },
    ],
  },
  {
    showed:
      "the follower of a log heard no end from a control plane that had nothing more to write",
    seed: 829,
    steps: [
      jobLaunch(0, "sleep 60"),
      {
        ...{ at: 10_000, do: "read", user: "ann", operation: "jobs.logs", name: "j" },
        input: { job_id: 1, follow: true, controller: false },
      },
      { at: 20_000, do: "overtake", forMs: 30_000 },
      {
        ...{ at: 25_000, do: "call", user: "ann", operation: "jobs.cancel" },
        input: { all_users: true },
      },
    ],
  },
];
