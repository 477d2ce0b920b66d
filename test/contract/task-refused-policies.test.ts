import { testRefused } from "./task-cases.ts";

testRefused("autostop", [
  [
    "resources: {autostop: soon}",
    "line 1, column 13: resources.autostop: must be true, false, minutes, a time such as `2h`, or a mapping",
  ],
  [
    "resources: {autostop: 1.5}",
    "line 1, column 13: resources.autostop: must be true, false, minutes, a time such as `2h`, or a mapping",
  ],
  [
    "resources: {autostop: 10y}",
    "line 1, column 13: resources.autostop: must be true, false, minutes, a time such as `2h`, or a mapping",
  ],
  [
    "resources: {autostop: {idle_minutes: -1, wait_for: ssh, downn: true}}",
    "line 1, column 24: resources.autostop.idle_minutes: must be a whole number of at least 0",
    "line 1, column 42: resources.autostop.wait_for: must be one of jobs_and_ssh, jobs, none",
    "line 1, column 57: resources.autostop.downn: unknown field `downn`; did you mean `down`?",
  ],
  [
    "resources: {autostop: {hook_timeout: 5}}",
    "line 1, column 13: resources.autostop: has a `hook_timeout` without a `hook`",
  ],
  [
    "resources: {autostop: {hook: a, hook_timeout: 0}}",
    "line 1, column 33: resources.autostop.hook_timeout: must be a whole number from 1 to 86400",
  ],
]);

testRefused("job recovery", [
  [
    "resources: {job_recovery: SOMETIMES}",
    "line 1, column 13: resources.job_recovery: must be one of FAILOVER, EAGER_NEXT_REGION, none",
  ],
  [
    "resources: {job_recovery: {max_restarts_on_errors: -1, recover_on_exit_codes: [1, 256, 1]}}",
    "line 1, column 28: resources.job_recovery.max_restarts_on_errors: must be a whole number of at least 0",
    "line 1, column 83: resources.job_recovery.recover_on_exit_codes[1]: must be a whole number from 0 to 255",
    "line 1, column 88: resources.job_recovery.recover_on_exit_codes[2]: is given twice; keep one of them",
  ],
  [
    "resources: {job_recovery: {lease: 9s}}",
    "line 1, column 28: resources.job_recovery.lease: must be from 10s to 7d, a number with one of s, m, h, d, w: `10m`",
  ],
  [
    "resources: {job_recovery: {strategy: none, lease: 10m}}",
    "line 1, column 44: resources.job_recovery.lease: goes only with recovery: a lease is what the next attempt waits for, and with `strategy: none` there is none",
  ],
  [
    "resources: {job_recovery: none, spot_recovery: none}",
    "line 1, column 1: resources: `spot_recovery` and `job_recovery` mean the same; keep `job_recovery`",
  ],
  [
    "resources: {ports: 80, job_recovery: none}\nservice: {}",
    "line 1, column 24: resources.job_recovery: is for managed jobs only",
  ],
  [
    "resources: {job_recovery: none}\npool: {workers: 1}",
    "line 1, column 13: resources.job_recovery: is for managed jobs only",
  ],
]);

testRefused("any_of and ordered", [
  [
    "resources: {any_of: [{cpus: 1}], ordered: [{cpus: 1}]}",
    "line 1, column 1: resources: cannot have both `any_of` and `ordered`; keep one of them",
  ],
  [
    "resources: {any_of: []}",
    "line 1, column 13: resources.any_of: must be a list of at least one mapping of resources",
  ],
  [
    "resources: {any_of: {cpus: 1}}",
    "line 1, column 13: resources.any_of: must be a list of at least one mapping of resources",
  ],
  [
    "resources: {any_of: [5]}",
    "line 1, column 22: resources.any_of[0]: must be a mapping of names to values",
  ],
  [
    "resources: {any_of: [{any_of: [{cpus: 1}]}]}",
    "line 1, column 23: resources.any_of[0].any_of: cannot be nested; write one flat list",
  ],
  [
    "resources: {any_of: [{accelerators: {A100: 1, V100: 1}}]}",
    "line 1, column 22: resources.any_of[0]: can name one kind of accelerator only; write one item for each kind",
  ],
  [
    "resources: {accelerators: [A100, V100], any_of: [{cpus: 1}]}",
    "line 1, column 41: resources.any_of: cannot be combined with a list of accelerators; put them into the items",
  ],
  [
    "resources: {accelerators: {A100: 1, V100: 1}, ordered: [{cpus: 1}]}",
    "line 1, column 47: resources.ordered: cannot be combined with several kinds of accelerators; put them into the items",
  ],
  [
    "resources: {any_of: [{priority: 1}, {priority: 2}]}",
    "line 1, column 38: resources.any_of[1].priority: `priority` must be the same in every candidate",
  ],
  [
    "resources: {any_of: [{autostop: 5}, {autostop: 6}]}",
    "line 1, column 38: resources.any_of[1].autostop: `autostop` must be the same in every candidate",
  ],
  [
    "resources: {ordered: [{job_recovery: none}, {cpus: 1}]}",
    "line 1, column 45: resources.ordered[1].job_recovery: `job_recovery` must be the same in every candidate",
  ],
  [
    "resources: {infra: aws, any_of: [{region: a}, {ports: 0}]}",
    "line 1, column 35: resources.any_of[0].region: cannot specify both `infra` and `region`; write `infra: cloud/region/zone`",
    "line 1, column 48: resources.any_of[1].ports: must be between 1 and 65535",
  ],
  [
    "resources: {any_of: [{hooks: []}]}",
    "line 1, column 23: resources.any_of[0].hooks: does not belong here; write it as `config.hooks`",
  ],
]);

testRefused("network disks", [
  ["resources: {volumes: [{name: a}]}", "line 1, column 23: resources.volumes[0]: needs `path`"],
  [
    "resources: {volumes: [{path: /a}]}",
    "line 1, column 23: resources.volumes[0]: needs `name`, the name of the network disk",
  ],
  [
    "resources: {volumes: [{path: /a, storage_type: instance, attach_mode: read, size: 3}]}",
    "line 1, column 58: resources.volumes[0].attach_mode: must be one of read_only, read_write",
    "line 1, column 77: resources.volumes[0].size: unknown field `size`; did you mean `disk_size`?",
  ],
]);
