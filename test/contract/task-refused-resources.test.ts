import { testRefused } from "./task-cases.ts";

testRefused("where and what machine", [
  [
    "resources: {infra: aws//zone}",
    "line 1, column 13: resources.infra: has an empty part; write `*` for any cloud, region or zone",
  ],
  [
    "resources: {infra: aws/a/b/c}",
    "line 1, column 13: resources.infra: has more than three parts; write `cloud/region/zone`",
  ],
  [
    "resources: {infra: /aws}",
    "line 1, column 13: resources.infra: has an empty part; write `*` for any cloud, region or zone",
  ],
  [
    "resources: {infra: 12aws}",
    "line 1, column 13: resources.infra: must begin with the name of a cloud, such as `aws` or `kubernetes`",
  ],
  [
    "resources: {infra: aws, region: us-east-1}",
    "line 1, column 25: resources.region: cannot specify both `infra` and `region`; write `infra: cloud/region/zone`",
  ],
  [
    "resources: {infra: aws, zone: a, cloud: gcp}",
    "line 1, column 34: resources.cloud: cannot specify both `infra` and `cloud`; write `infra: cloud/region/zone`",
  ],
  [
    "resources: {cloud: 'a b'}",
    "line 1, column 13: resources.cloud: must begin with the name of a cloud, such as `aws` or `kubernetes`",
  ],
  [
    "resources: {instance_type: ''}",
    "line 1, column 13: resources.instance_type: must not be empty",
  ],
  [
    "resources: {cpus: four}",
    'line 1, column 13: resources.cpus: must be a positive number, or one with a plus: 4 or "4+"',
  ],
  [
    "resources: {cpus: -1}",
    'line 1, column 13: resources.cpus: must be a positive number, or one with a plus: 4 or "4+"',
  ],
  ["resources: {cpus: 0}", "line 1, column 13: resources.cpus: must be greater than 0"],
  [
    "resources: {cpus: 4++}",
    'line 1, column 13: resources.cpus: must be a positive number, or one with a plus: 4 or "4+"',
  ],
  [
    "resources: {memory: lots}",
    'line 1, column 13: resources.memory: must be a positive amount of memory: 16, "16+" or "16GB+"',
  ],
  [
    "resources: {memory: 0}",
    'line 1, column 13: resources.memory: must be a positive amount of memory: 16, "16+" or "16GB+"',
  ],
  [
    "resources: {memory: 4XB}",
    'line 1, column 13: resources.memory: must be a positive amount of memory: 16, "16+" or "16GB+"',
  ],
  [
    "resources: {memory: 8x}",
    'line 1, column 13: resources.memory: must be a positive amount of memory: 16, "16+" or "16GB+"',
  ],
  [
    "resources: {disk_size: 0}",
    'line 1, column 13: resources.disk_size: must be a positive size of a disk: 100, "100GB" or "1TB"',
  ],
  [
    "resources: {disk_size: 100MB}",
    "line 1, column 13: resources.disk_size: must be a whole number of gigabytes",
  ],
  [
    "resources: {disk_size: big}",
    'line 1, column 13: resources.disk_size: must be a positive size of a disk: 100, "100GB" or "1TB"',
  ],
  [
    "resources: {ephemeral_storage: -1}",
    'line 1, column 13: resources.ephemeral_storage: must be a positive size of a disk: 100, "100GB" or "1TB"',
  ],
  [
    "resources: {disk_tier: huge}",
    "line 1, column 13: resources.disk_tier: must be one of low, medium, high, ultra, best, none",
  ],
  [
    "resources: {network_tier: fast}",
    "line 1, column 13: resources.network_tier: must be one of standard, best",
  ],
  [
    "resources: {local_disk: tape}",
    "line 1, column 13: resources.local_disk: must be nvme or ssd, a size, or both: `nvme:500GB+`",
  ],
  [
    "resources: {local_disk: 'nvme:big'}",
    "line 1, column 13: resources.local_disk: must be nvme or ssd, a size, or both: `nvme:500GB+`",
  ],
  [
    "resources: {use_spot: perhaps}",
    "line 1, column 13: resources.use_spot: must be true or false",
  ],
  [
    "resources: {labels: [a]}",
    "line 1, column 13: resources.labels: must be a mapping of names to values",
  ],
  [
    "resources: {labels: {a: 1.10}}",
    'line 1, column 22: resources.labels.a: must be text; write it in quotes: "1.10"',
  ],
  [
    "resources: {image_id: ami-1}",
    "line 1, column 13: resources.image_id: needs a cloud: add `infra`, or name a container with the prefix `docker:`",
  ],
  [
    "resources: {image_id: ami-1, infra: aws}",
    "line 1, column 13: resources.image_id: needs a region on aws: write `infra: aws/<region>`, or a mapping of region to image",
  ],
  [
    "resources: {image_id: {us-east-1: ami-1}, infra: aws/us-west-2}",
    "line 1, column 13: resources.image_id: has no image for the region us-west-2; it names us-east-1",
  ],
  [
    "resources: {image_id: {}, infra: aws}",
    "line 1, column 13: resources.image_id: must name an image for at least one region",
  ],
  [
    "resources: {image_id: {a: ami-1, b: 'docker:x'}, infra: aws}",
    "line 1, column 13: resources.image_id: cannot mix containers and machine images by region",
  ],
  [
    "resources: {max_hourly_cost: 0}",
    "line 1, column 13: resources.max_hourly_cost: must be a number greater than 0",
  ],
  [
    "resources: {max_hourly_cost: cheap}",
    "line 1, column 13: resources.max_hourly_cost: must be a number greater than 0",
  ],
  [
    "resources: {priority: 1001}",
    "line 1, column 13: resources.priority: must be a whole number from -1000 to 1000",
  ],
  [
    "resources: {priority: 0.5}",
    "line 1, column 13: resources.priority: must be a whole number from -1000 to 1000",
  ],
  [
    "resources: {hooks: [{run: a}]}",
    "line 1, column 13: resources.hooks: does not belong here; write it as `config.hooks`",
  ],
  [
    "resources: {_secret: 1}",
    "line 1, column 13: resources._secret: unknown field `_secret`; check its place and spelling",
  ],
  [
    "resources: {accelerator_args: {tpu_vm: 3, tpus: 1}}",
    "line 1, column 32: resources.accelerator_args.tpu_vm: must be true or false",
    "line 1, column 43: resources.accelerator_args.tpus: unknown field `tpus`; expected one of runtime_version, tpu_name, tpu_vm, gcp_queued_resource",
  ],
]);

testRefused("accelerators", [
  [
    "resources: {accelerators: 'A100:0'}",
    "line 1, column 13: resources.accelerators: must ask for more than 0 accelerators",
  ],
  [
    "resources: {accelerators: 'A100:x'}",
    "line 1, column 13: resources.accelerators: must be a kind of accelerator with an optional count: `A100` or `A100:8`",
  ],
  [
    "resources: {accelerators: {A100: 0}}",
    "line 1, column 28: resources.accelerators.A100: must be a count of accelerators greater than 0",
  ],
  [
    "resources: {accelerators: {A100: many}}",
    "line 1, column 28: resources.accelerators.A100: must be a count of accelerators greater than 0",
  ],
  [
    "resources: {accelerators: []}",
    "line 1, column 13: resources.accelerators: must name at least one kind of accelerator",
  ],
  [
    "resources: {accelerators: {}}",
    "line 1, column 13: resources.accelerators: must name at least one kind of accelerator",
  ],
  [
    "resources: {accelerators: 8}",
    "line 1, column 13: resources.accelerators: must be a kind of accelerator with an optional count: `A100` or `A100:8`",
  ],
  [
    "resources: {accelerators: [A100, '!']}",
    "line 1, column 34: resources.accelerators[1]: must be a kind of accelerator with an optional count: `A100` or `A100:8`",
  ],
  [
    "resources: {accelerators: A100, gpus: A100}",
    "line 1, column 1: resources: `gpus` and `accelerators` mean the same; keep `accelerators`",
  ],
]);

testRefused("ports", [
  ["resources: {ports: 0}", "line 1, column 13: resources.ports: must be between 1 and 65535"],
  ["resources: {ports: 70000}", "line 1, column 13: resources.ports: must be between 1 and 65535"],
  [
    "resources: {ports: 80-70}",
    "line 1, column 13: resources.ports: must be a range that begins with its lower port",
  ],
  [
    "resources: {ports: [80, http, 1-99999]}",
    "line 1, column 25: resources.ports[1]: must be a port or a range of ports: 8080 or 8000-8010",
    "line 1, column 31: resources.ports[2]: must be between 1 and 65535",
  ],
  [
    "resources: {ports: 80.5}",
    "line 1, column 13: resources.ports: must be a port or a range of ports: 8080 or 8000-8010",
  ],
]);
