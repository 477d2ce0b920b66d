import { testRefused } from "./task-cases.ts";

testRefused("services", [
  [
    "service: {}",
    "line 1, column 1: service: needs exactly one port, in `resources.ports` or `service.ports`; none is given",
  ],
  [
    "resources: {ports: 80-81}\nservice: {}",
    "line 2, column 1: service: needs exactly one port, in `resources.ports` or `service.ports`; 80-81 are given",
  ],
  [
    "resources: {any_of: [{ports: 80}, {ports: 81}]}\nservice: {}",
    "line 2, column 1: service: needs the same port in every candidate of `resources`",
  ],
  [
    "service: {ports: 70000}",
    "line 1, column 11: service.ports: must be a whole number from 1 to 65535",
  ],
  [
    "service:\n  ports: 80\n  isolation: docker",
    "line 3, column 3: service.isolation: must be one of auto, none, netns",
  ],
  [
    "service: {ports: 80, max_surge: 0}",
    "line 1, column 22: service.max_surge: cannot be 0 together with `max_unavailable`",
  ],
  [
    "service: {ports: 80, readiness_probe: health}",
    "line 1, column 22: service.readiness_probe: must begin with `/`",
  ],
  [
    "service: {ports: 80, readiness_probe: {headers: {a: b}}}",
    "line 1, column 22: service.readiness_probe: needs `path`",
  ],
  [
    "service: {ports: 80, readiness_probe: {path: health, timeout_seconds: 0, initial_delay_seconds: -1}}",
    "line 1, column 40: service.readiness_probe.path: must begin with `/`",
    "line 1, column 54: service.readiness_probe.timeout_seconds: must be a number greater than 0",
    "line 1, column 74: service.readiness_probe.initial_delay_seconds: must be a number of at least 0",
  ],
  [
    "service: {ports: 80, readiness_probe: {path: /, post_data: '{'}}",
    "line 1, column 49: service.readiness_probe.post_data: must be a mapping, or text that is JSON",
  ],
  [
    "service: {ports: 80, readiness_probe: {path: /, headers: [a]}}",
    "line 1, column 49: service.readiness_probe.headers: must be a mapping of names to values",
  ],
  [
    "service: {ports: 80, readiness_probe: {path: /, expected_status: 299-200, method: FETCH, interval: 5}}",
    "line 1, column 49: service.readiness_probe.expected_status: must be a status or a range of them: 200 or 200-299",
    "line 1, column 75: service.readiness_probe.method: must be one of GET, HEAD, POST, PUT",
    "line 1, column 90: service.readiness_probe.interval: unknown field `interval`; did you mean `interval_seconds`?",
  ],
  [
    "service: {ports: 80, readiness_probe: {path: /, scheme: https}, auth: {api_key: k}}",
    "line 1, column 49: service.readiness_probe.scheme: cannot be https together with `auth`: the sidecar before each replica speaks HTTP",
  ],
  [
    "service: {ports: 80, replicas: 1, replica_policy: {min_replicas: 1}}",
    "line 1, column 1: service: cannot have both `replicas` and `replica_policy`; keep one of them",
  ],
  [
    "service: {ports: 80, replicas: 1, workers: 1}",
    "line 1, column 1: service: cannot have both `replicas` and `workers`; keep one of them",
  ],
  [
    "service: {ports: 80, replicas: -1}",
    "line 1, column 22: service.replicas: must be a whole number from 0 to 10000",
  ],
  [
    "service: {ports: 80, replica_policy: {}}",
    "line 1, column 22: service.replica_policy: needs `min_replicas`",
  ],
  [
    "service: {ports: 80, replica_policy: {min_replicas: 2, max_replicas: 1}}",
    "line 1, column 56: service.replica_policy.max_replicas: must be at least `min_replicas`, which is 2",
  ],
  [
    "service: {ports: 80, replica_policy: {min_replicas: 1, max_replicas: 2}}",
    "line 1, column 22: service.replica_policy: needs `target_qps_per_replica` when `max_replicas` is more than `min_replicas`",
  ],
  [
    "service: {ports: 80, replica_policy: {min_replicas: 1, target_qps_per_replica: 1}}",
    "line 1, column 56: service.replica_policy.target_qps_per_replica: needs `max_replicas`",
  ],
  [
    "service: {ports: 80, replica_policy: {min_replicas: 1, max_replicas: 2, target_qps_per_replica: 0}}",
    "line 1, column 73: service.replica_policy.target_qps_per_replica: must be a number greater than 0",
  ],
  [
    "service: {ports: 80, replica_policy: {min_replicas: 1, max_replicas: 2, target_qps_per_replica: {'A100:8': 1}}}",
    "line 1, column 73: service.replica_policy.target_qps_per_replica: by accelerator needs `load_balancing_policy: instance_aware_least_load`",
  ],
  [
    "service: {ports: 80, load_balancing_policy: instance_aware_least_load, replica_policy: {min_replicas: 1, max_replicas: 2, target_qps_per_replica: {'A 1': 1}}}",
    'line 1, column 148: service.replica_policy.target_qps_per_replica["A 1"]: must be a kind of accelerator with an optional count: `A100:8`',
  ],
  [
    "service: {ports: 80, load_balancing_policy: instance_aware_least_load}",
    "line 1, column 22: service.load_balancing_policy: needs `replica_policy.target_qps_per_replica` as a mapping of accelerators",
  ],
  [
    "service: {ports: 80, load_balancing_policy: random}",
    "line 1, column 22: service.load_balancing_policy: must be one of round_robin, least_load, instance_aware_least_load",
  ],
  [
    "service: {ports: 80, replica_policy: {min_replicas: 1, dynamic_ondemand_fallback: true, spot_placer: dynamic_fallback}}",
    "line 1, column 56: service.replica_policy.dynamic_ondemand_fallback: needs `resources.use_spot: true`",
    "line 1, column 89: service.replica_policy.spot_placer: needs `resources.use_spot: true`",
  ],
  [
    "service: {ports: 80, replica_policy: {min_replicas: 1, num_overprovision: -1, base_ondemand_fallback_replicas: 2}}\nresources: {use_spot: true}",
    "line 1, column 56: service.replica_policy.num_overprovision: must be a whole number from 0 to 10000",
    "line 1, column 79: service.replica_policy.base_ondemand_fallback_replicas: must not exceed `min_replicas`, which is 1",
  ],
  [
    "service: {ports: 80, replica_policy: {min_replicas: 1, spot_placer: best}}\nresources: {use_spot: true}",
    "line 1, column 56: service.replica_policy.spot_placer: must be dynamic_fallback",
  ],
  [
    "service: {ports: 80}\nresources: {any_of: [{use_spot: true}, {cpus: 1}]}",
    "line 1, column 1: service: needs `use_spot` in all candidates of `resources` or in none, or a fallback",
  ],
  ["service: {ports: 80, tls: {keyfile: a}}", "line 1, column 22: service.tls: needs `certfile`"],
  ["service: {ports: 80, auth: {}}", "line 1, column 22: service.auth: needs `api_key`"],
  [
    "service: {ports: 80, auth: {api_key: ''}}",
    "line 1, column 29: service.auth.api_key: must not be empty",
  ],
  [
    "service: {ports: 80, auth: {key: x, api_key: y}}",
    "line 1, column 29: service.auth.key: unknown field `key`; did you mean `api_key`?",
  ],
  ["service: 5", "line 1, column 1: service: must be a mapping of names to values"],
]);

testRefused("pools", [
  ["pool: {}", "line 1, column 1: pool: needs `workers`, or `min_workers` and `max_workers`"],
  ["pool: {min_workers: 1}", "line 1, column 8: pool.min_workers: needs `max_workers`"],
  [
    "pool: {min_workers: 2, max_workers: 1}",
    "line 1, column 8: pool.min_workers: must not exceed `max_workers`, which is 1",
  ],
  [
    "pool: {workers: 1, max_workers: 2}",
    "line 1, column 8: pool.workers: cannot be combined with `min_workers` and `max_workers`",
  ],
  ["pool: {workers: -1}", "line 1, column 8: pool.workers: must be a whole number from 0 to 10000"],
  [
    "pool: {workers: 1, queue_length_threshold: 2}",
    "line 1, column 20: pool.queue_length_threshold: needs `max_workers`",
  ],
  [
    "pool: {max_workers: 2, queue_length_threshold: 0, upscale_delay_seconds: -1}",
    "line 1, column 24: pool.queue_length_threshold: must be a whole number of at least 1",
    "line 1, column 51: pool.upscale_delay_seconds: must be a number of at least 0",
  ],
  [
    "pool: {workers: 1, replica_policy: {}}",
    "line 1, column 20: pool.replica_policy: unknown field `replica_policy`; expected one of workers, min_workers, max_workers, queue_length_threshold, upscale_delay_seconds, downscale_delay_seconds",
  ],
  [
    "pool: {workers: 1}\nresources: {ports: 80}",
    "line 2, column 13: resources.ports: cannot be opened by a pool; leave it out",
  ],
  [
    "pool: {workers: 1}\nresources: {ordered: [{cpus: 1}]}",
    "line 2, column 13: resources.ordered: cannot be used by a pool; write `any_of`",
  ],
  [
    "service: {pool: {}}",
    "line 1, column 11: service.pool: needs `workers`, or `min_workers` and `max_workers`",
  ],
]);
