import { testRefused } from "./task-cases.ts";

testRefused("config and hooks", [
  ["config: []", "line 1, column 1: config: must be a mapping of names to values"],
  [
    "config: {docker: {run_option: []}}",
    "line 1, column 19: config.docker.run_option: unknown field `run_option`; did you mean `run_options`?",
  ],
  [
    "config: {jobs: {}}",
    "line 1, column 10: config.jobs: unknown field `jobs`; expected one of docker, nvidia_gpus, kubernetes, ssh, azure, gcp, slurm, vast, active_workspace, hooks",
  ],
  [
    "config: {kubernetes: 5}",
    "line 1, column 10: config.kubernetes: must be a mapping of names to values",
  ],
  [
    "config: {hooks: null}",
    "line 1, column 10: config.hooks: must be a list of hooks; write `[]` for none, or leave it out",
  ],
  [
    "config: {hooks: {run: a}}",
    "line 1, column 10: config.hooks: must be a list of hooks; write `[]` for none, or leave it out",
  ],
  [
    "config: {hooks: [a]}",
    "line 1, column 18: config.hooks[0]: must be a mapping with `run` and, optionally, `events` and `timeout`",
  ],
  ["config: {hooks: [{}]}", "line 1, column 18: config.hooks[0]: needs `run`"],
  ["config: {hooks: [{run: null}]}", "line 1, column 19: config.hooks[0].run: must be text"],
  [
    "config: {hooks: [{run: ' '}]}",
    "line 1, column 19: config.hooks[0].run: must not be empty; it is the script of the hook",
  ],
  [
    "config: {hooks: [{run: 5}]}",
    'line 1, column 19: config.hooks[0].run: must be text; write it in quotes: "5"',
  ],
  [
    "config: {hooks: [{run: a, events: []}]}",
    "line 1, column 27: config.hooks[0].events: must name at least one event; leave it out for all three",
  ],
  [
    "config: {hooks: [{run: a, events: stop}]}",
    "line 1, column 27: config.hooks[0].events: must be a list of stop, preemption, down",
  ],
  [
    "config: {hooks: [{run: a, events: [stop, start, stop]}]}",
    "line 1, column 42: config.hooks[0].events[1]: must be one of stop, preemption, down",
    "line 1, column 49: config.hooks[0].events[2]: is given twice; keep one of them",
  ],
  [
    "config: {hooks: [{run: a, events: [Stop]}]}",
    "line 1, column 36: config.hooks[0].events[0]: must be one of stop, preemption, down",
  ],
  [
    "config: {hooks: [{run: a, events: null}]}",
    "line 1, column 27: config.hooks[0].events: must be a list of stop, preemption, down",
  ],
  [
    "config: {hooks: [{run: a, timeout: 0}]}",
    "line 1, column 27: config.hooks[0].timeout: must be a whole number from 1 to 86400",
  ],
  [
    "config: {hooks: [{run: a, timeout: 86401}]}",
    "line 1, column 27: config.hooks[0].timeout: must be a whole number from 1 to 86400",
  ],
  [
    "config: {hooks: [{run: a, timeout: 1.5}]}",
    "line 1, column 27: config.hooks[0].timeout: must be a whole number from 1 to 86400",
  ],
  [
    "config: {hooks: [{run: a, timeout: true}]}",
    "line 1, column 27: config.hooks[0].timeout: must be a whole number from 1 to 86400",
  ],
  [
    "config: {hooks: [{run: a, timeot: 5}]}",
    "line 1, column 27: config.hooks[0].timeot: unknown field `timeot`; did you mean `timeout`?",
  ],
  [
    "resources: {_cluster_config_overrides: {hooks: [{}]}}",
    "line 1, column 49: resources._cluster_config_overrides.hooks[0]: needs `run`",
  ],
]);
