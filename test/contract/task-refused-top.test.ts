import { testRefused } from "./task-cases.ts";

testRefused("the top level", [
  ["hello", "line 1, column 1: the task is plain text; write it as fields, such as `run: ...`"],
  ["[a, b]", "line 1, column 1: the task must be a mapping of fields, such as `run: ...`"],
  [
    "a: 1\na: 2\nrun: x",
    "line 1, column 1: a: unknown field `a`; check its place and spelling",
    "line 2, column 1: a: `a` is given on lines 1 and 2; keep one of them",
  ],
  ["{run: a, run: b}", "line 1, column 10: run: `run` is given twice on line 1; keep one of them"],
  [
    "name: a b",
    "line 1, column 1: name: must be letters and digits, with one or two of `.`, `_`, `-` between them",
  ],
  ["name: 12", 'line 1, column 1: name: must be text; write it in quotes: "12"'],
  [
    "name: a---b",
    "line 1, column 1: name: must be letters and digits, with one or two of `.`, `_`, `-` between them",
  ],
  ["workdri: .", "line 1, column 1: workdri: unknown field `workdri`; did you mean `workdir`?"],
  [
    "qqqqqqqqq: 1",
    "line 1, column 1: qqqqqqqqq: unknown field `qqqqqqqqq`; check its place and spelling",
  ],
  ["num_nodes: 0", "line 1, column 1: num_nodes: must be a whole number from 1 to 10000"],
  ["num_nodes: 10001", "line 1, column 1: num_nodes: must be a whole number from 1 to 10000"],
  ["num_nodes: 1.5", "line 1, column 1: num_nodes: must be a whole number from 1 to 10000"],
  ["num_nodes: two", "line 1, column 1: num_nodes: must be a whole number from 1 to 10000"],
  ["setup: {a: b}", "line 1, column 1: setup: must be text"],
  ["run: 5", 'line 1, column 1: run: must be text; write it in quotes: "5"'],
  ["run: [echo, 5]", 'line 1, column 13: run[1]: must be text; write it in quotes: "5"'],
  ["event_callback: ''", "line 1, column 1: event_callback: must not be empty"],
  [
    "inputs: {s3://a: 1, s3://b: 2}",
    "line 1, column 1: inputs: must have exactly one entry: an address and its gigabytes",
  ],
  [
    "outputs: {}",
    "line 1, column 1: outputs: must have exactly one entry: an address and its gigabytes",
  ],
  ["outputs: {s3://a: -1}", 'line 1, column 11: outputs["s3://a"]: must be a number of at least 0'],
  ["api_server_access: maybe", "line 1, column 1: api_server_access: must be true or false"],
  ["hooks: []", "line 1, column 1: hooks: does not belong here; write it as `config.hooks`"],
  ["cpus: 4", "line 1, column 1: cpus: does not belong here; write it as `resources.cpus`"],
  ["resources: 5", "line 1, column 1: resources: must be a mapping of names to values"],
  ["resources: [a]", "line 1, column 1: resources: must be a mapping of names to values"],
  ["? [a]\n: 1", "line 1, column 3: a key must be plain text"],
  ["run: *x", "line 1, column 6: run: nothing above is marked `&x`"],
  ["_other: 1", "line 1, column 1: _other: unknown field `_other`; check its place and spelling"],
  [
    "service: {ports: 80}\npool: {workers: 1}",
    "line 2, column 1: pool: cannot stand beside `service`; a task is one or the other",
  ],
  ["pool: ''", "line 1, column 1: pool: must not be empty"],
]);

testRefused("workdir", [
  ["workdir: ''", "line 1, column 1: workdir: must not be empty"],
  ["workdir: {ref: main}", "line 1, column 1: workdir: needs `url`"],
  [
    "workdir: {url: ftp://a/b}",
    "line 1, column 11: workdir.url: must be an https, ssh or scp-like address: git@host:owner/repository.git",
  ],
  [
    "workdir: {url: 'https://host', branch: main}",
    "line 1, column 11: workdir.url: must be an https, ssh or scp-like address: git@host:owner/repository.git",
    "line 1, column 32: workdir.branch: unknown field `branch`; expected one of url, ref",
  ],
  ["workdir: 5", 'line 1, column 1: workdir: must be text; write it in quotes: "5"'],
]);

testRefused("variables", [
  ["envs: [A=b]", "line 1, column 1: envs: must be a mapping of names to values"],
  [
    "envs: {1A: b}",
    "line 1, column 8: envs.1A: must be a valid name of a shell variable: letters, digits and _, not starting with a digit",
  ],
  [
    "envs: {A: null}",
    "line 1, column 8: envs.A: has no value; pass `--env A=VALUE`, or `--env A` to use the value in your environment",
  ],
  ["envs: {A: [1]}", "line 1, column 8: envs.A: must be text"],
  [
    "secrets: {A: null}",
    "line 1, column 11: secrets.A: has no value; pass `--secret A` to use the value in your environment, or store it with `outrigger secrets set A` and write `secrets:A` here",
  ],
  [
    "secrets: {'a b': c}",
    'line 1, column 11: secrets["a b"]: must be a valid name of a shell variable: letters, digits and _, not starting with a digit',
  ],
  [
    "secrets: {'secrets:TOKEN': x}",
    'line 1, column 11: secrets["secrets:TOKEN"]: refers to a stored secret; leave its value empty',
  ],
  [
    "secrets: {'secrets:1': null}",
    'line 1, column 11: secrets["secrets:1"]: must be a valid name of a shell variable: letters, digits and _, not starting with a digit',
  ],
  [
    "secrets: [TOKEN, 'secrets:OK']",
    "line 1, column 11: secrets[0]: must refer to a stored secret, `secrets:NAME`; or write a mapping",
  ],
  [
    "envs: {SKYPILOT_DOCKER_USERNAME: u}",
    "line 1, column 1: envs: needs all of SKYPILOT_DOCKER_USERNAME, SKYPILOT_DOCKER_PASSWORD, SKYPILOT_DOCKER_SERVER, in the same section, to log in to a registry",
  ],
  [
    "envs: {SKYPILOT_DOCKER_USERNAME: u, SKYPILOT_DOCKER_SERVER: s}\nsecrets: {SKYPILOT_DOCKER_PASSWORD: p}",
    "line 2, column 1: secrets: needs all of SKYPILOT_DOCKER_USERNAME, SKYPILOT_DOCKER_PASSWORD, SKYPILOT_DOCKER_SERVER, in the same section, to log in to a registry",
  ],
  ["managed_secrets: TOKEN", "line 1, column 1: managed_secrets: must be a list"],
  [
    "managed_secrets: [{A: {mount_path: /a}, B: {mount_path: /b}}]",
    "line 1, column 19: managed_secrets[0]: must be one name, or one name with its `mount_path`",
  ],
  [
    "managed_secrets: [{A: {}}, {B: {path: /x}}]",
    "line 1, column 20: managed_secrets[0].A: needs `mount_path`, where the file is to lie",
    "line 1, column 29: managed_secrets[1].B: needs `mount_path`, where the file is to lie",
    "line 1, column 33: managed_secrets[1].B.path: unknown field `path`; did you mean `mount_path`?",
  ],
]);

testRefused("documents of several parts", [
  [
    "name: g\nexecution: parallel",
    "line 1, column 1: is a header without tasks; add each task below it, after a line `---`",
  ],
  [
    "name: g\nexecution: parallel\n---\nname: a",
    "line 1, column 1: a job group needs at least two tasks; add one, or drop `execution`",
  ],
  [
    "execution: parallel\n---\nname: a\n---\nname: b",
    "line 1, column 1: a job group needs a `name`",
  ],
  [
    "name: g\nexecution: parallel\nprimary_task: [a]\n---\nname: a\n---\nname: b",
    "line 3, column 1: primary_task: unknown field `primary_task`; did you mean `primary_tasks`?",
  ],
  [
    "name: g\nexecution: parallel\nprimary_tasks: [c]\ntermination_delay: {d: 5, a: soon}\n---\nname: a\n---\nname: b",
    "line 3, column 17: primary_tasks[0]: no task below is named `c`",
    "line 4, column 21: termination_delay.d: no task below is named `d`",
    "line 4, column 27: termination_delay.a: must be seconds, or a number with one of s, m, h, d, w: `10m`",
  ],
  [
    "name: g\nexecution: parallel\n---\nname: a\n---\nname: a\n---\nrun: x\n---\nname: a.b",
    "line 6, column 1: tasks[1].name: is the name of another task above",
    "line 8, column 1: tasks[2]: needs a `name`; it is part of a job group",
    "line 10, column 1: tasks[3].name: must be letters, digits, `-` and `_`",
  ],
  [
    "name: g\nexecution: sideways\n---\nname: a\n---\nname: b",
    "line 2, column 1: execution: must be one of serial, parallel",
  ],
  [
    "name: p\nexecution: serial\nprimary_tasks: [a]\n---\nname: a\n---\nname: b",
    "line 3, column 1: primary_tasks: is for `execution: parallel` only",
  ],
  [
    "name: p\n---\nrun: a\n---\nnum_nodes: 0\nresources:\n  ports: 0",
    "line 5, column 1: tasks[1].num_nodes: must be a whole number from 1 to 10000",
    "line 7, column 3: tasks[1].resources.ports: must be between 1 and 65535",
  ],
  [
    "name: p\n---\nrun: a\n---\nservice: {ports: 80}\n---\npool: {workers: 1}",
    "line 5, column 1: tasks[1].service: a service takes one task only; move it to its own document",
    "line 7, column 1: tasks[2].pool: a pool takes one task only; move it to its own document",
  ],
  [
    "name: p\nexecution: parallel\n---\nname: a\npool: warm\n---\nname: b",
    "line 5, column 1: tasks[0].pool: a job group has clusters of its own; leave it out",
  ],
  [
    "name: p\n---\nrun: a\n---\njust text",
    "line 5, column 1: tasks[1]: the task is plain text; write it as fields, such as `run: ...`",
  ],
  [
    "run: a\n---\nrun: a\nrun: b",
    "line 4, column 1: tasks[1].run: `run` is given on lines 3 and 4; keep one of them",
  ],
]);

testRefused("text that is not YAML", [
  ["run: [a", "line 1, column 8: not valid YAML: the list is not closed; end it with ]"],
  [
    "a: b: c",
    "line 1, column 4: not valid YAML: a value holds `: `, or the line below is indented too far; put the value in quotes, or fix the indentation",
  ],
  ["run: 'a", "line 1, column 8: not valid YAML: the text is not closed; end it with '"],
  ["\trun: a", "line 1, column 1: not valid YAML: the line is indented with a tab; use spaces"],
  ["run: @a", "line 1, column 6: not valid YAML: a value cannot begin with `@`; put it in quotes"],
  [
    "run: !python/name:os.system x",
    "line 1, column 6: not valid YAML: unknown tag `!python/name:os.system`; put the value in quotes if it is text",
  ],
]);
