"""What the fuzzer writes where the schema asks for a task, and what it must not wait for."""

import schemathesis
from hypothesis import strategies as st
from schemathesis.specs.openapi import stateful

TASKS = [
    "run: 'true'",
    "name: fuzzed\nrun: echo a",
    "num_nodes: 2\nrun: 'false'",
    "envs: {A: a}\nsetup: 'true'\nrun: echo $A",
    "resources: {cpus: 1}\nrun: 'true'",
    "resources: {accelerators: 'H100:99'}\nrun: 'true'",
]
SERVICES = ["service: {readiness_probe: /, ports: 8080}\nrun: 'true'"]
POOLS = ["pool: {workers: 1}\nsetup: 'true'"]

for name, texts in {"task": TASKS, "service-task": SERVICES, "pool-task": POOLS}.items():
    schemathesis.openapi.format(name, st.sampled_from(texts))


LONG = 4096
NO_NUL = "^[^\\u0000]*$"


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Texts as long as their caps, and by a pattern, cost most of the time; tests of our own send those."""
    left = [raw_schema]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            if node.get("pattern") == NO_NUL:
                del node["pattern"]
            for cap in ("maxLength", "maxItems", "maxProperties"):
                if isinstance(node.get(cap), int) and node[cap] >= (LONG if cap == "maxLength" else 100):
                    del node[cap]
        left.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else [])


@schemathesis.hook
def before_call(context, case, kwargs):
    """A log that is followed ends with its job, as a wait for a job does, and nobody ends the jobs here."""
    if case.operation.path == "/jobs/wait" and isinstance(case.body, dict):
        timeout = case.body.get("timeout")
        if timeout is None or type(timeout) is int and 0 < timeout < 2**31:
            case.body["timeout"] = 0
    if case.operation.path.endswith("logs") and isinstance(case.body, dict):
        if case.body.get("follow", True) is True:
            case.body["follow"] = False
    if case.operation.path in ("/api/stream", "/events") and str((case.query or {}).get("follow", True)) in ("True", "true", "1"):
        case.query = {**(case.query or {}), "follow": "false"}


@schemathesis.hook
def filter_case(context, case):
    """A task that cannot be read is refused by the stored request, not at once: no format of ours is one of HTTP."""
    mutations = getattr(case.meta.phase.data, "mutations", ()) if case.meta else ()
    return not any(mutation.keywords == ("format",) for mutation in mutations)


def is_root(operation, *_):
    """Whether a scenario may begin with an operation: also one that names what it makes, such as a launch."""
    return not operation.path_parameters


stateful.is_likely_root_transition = is_root
