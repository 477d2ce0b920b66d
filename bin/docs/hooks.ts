import { envNames } from "../../common/product.ts";
import { hookEventMeanings } from "../../contract/hooks.ts";
import { hookLimits } from "../../contract/task/hooks.ts";
import { hookVariables } from "../../contract/variables.ts";
import { code, page, table } from "./markdown.ts";

/** What hooks are, see and may do, and what happens when events meet. */
export const hooksPage = (): string =>
  page(
    "Hooks",
    "bin/docs/hooks.ts, contract/hooks.ts, contract/variables.ts and contract/task/hooks.ts",
    intro,
    "## Events",
    table(
      ["Event", "When", "Runs on"],
      Object.entries(hookEventMeanings).map(([event, means]) => [
        code(event),
        means,
        event === "preemption" ? "each node that gets a notice" : "the head",
      ]),
    ),
    "## What a hook sees",
    surroundings,
    table(
      ["Variable", "Means"],
      Object.entries(hookVariables).map(([name, means]) => [
        code(envNames(name)[0] ?? name),
        means,
      ]),
    ),
    "## Order and time",
    orderAndTime,
    "## When events meet",
    meetings,
    "## Preemption",
    preemption,
    "## Logs",
    logs,
    "## Limits",
    table(["What", "At most"], limits),
  );

const intro = `A hook is a script that runs on a cluster before the cluster is stopped, deleted or taken away: the last chance to
save work. Hooks are in \`config.hooks\` of a [task](task.md). The [tutorial](tutorial.md) uses one; \`examples/hooks.yaml\`
runs on any machine.

\`\`\`yaml
config:
  hooks:
    - run: ./save-checkpoint.sh
      events: [stop, down]         # default: all three (stop, preemption, down)
      timeout: 600                 # seconds; ${hookLimits.timeoutSeconds} by default
\`\`\`

Hooks belong to the cluster. If you launch on a running cluster and the task has no \`config.hooks\`, the existing hooks
are kept. \`hooks: []\` removes them; any other list replaces them, starting with the next event. \`exec\` never changes
hooks. The older field \`autostop.hook\` is treated as the first entry of the list. It runs on \`stop\`, or on \`down\`
if autostop is set to delete the cluster. A new \`config.hooks\` removes it, unless the same document sets both. A
launch prints which hooks are set or retained; \`outrigger status -o json\` shows them.`;

const surroundings = `Hooks run under bash in \`~/outrigger_workdir\`, like jobs, or in the node's home if there was no
job yet. They see the \`envs\` and \`secrets\` of the launch that defined them, the variables of the node (rank,
addresses), and the variables below. Standard input is empty. Jobs continue while hooks run, so that a hook can ask them
to save; new jobs are refused.`;

const orderAndTime = `- Hooks of an event run one after another, in the order in which they are declared.
- If a hook fails or exceeds its timeout, the next one runs, and the event proceeds after the last one. The log and the
  cluster's events (\`outrigger events --debug\`) record the failure.
- If a hook exceeds its timeout, it and every process it started get SIGTERM, then SIGKILL ten seconds later. Its exit
  code is reported as 124.
- A hook ends when its script does. Processes that it left in the background do not delay the event; the log counts them.
- Each hook runs at most once per stop, teardown or preemption, even if the agent is killed, a stop turns into a
  teardown, or control has to repeat the call to the provider.
- After the hooks, jobs get SIGTERM, then SIGKILL ten seconds later. The cluster costs money until its nodes are off.
- If the head does not answer for about ten seconds, the hooks are skipped, and an event records this. If control knows
  that a hook is running there, it first waits until the hook's time is over or the node is gone.
- If other nodes of the cluster are being preempted, a stop or teardown waits for their hooks, at most until their
  deadlines.
- Deleting a stopped cluster runs no hooks, because no node is on. An event records this; to run them, start the cluster
  first.
- The idle timer runs on the head and works even while control is away. When it fires, the hooks run; ten minutes later,
  the head turns itself off if its machine permits this. Control turns off the other nodes once it is back, and records
  events.
- Do not stop the cluster from its own hook: the stop and the hook would wait for each other until the hook times out.
  Use autostop instead.
- \`stop --skip-hooks\` and \`down --skip-hooks\` end the running hook and start no other; so does \`--purge\`.`;

const meetings = table(
  ["While hooks run for", "this happens", "result"],
  [
    ["stop", "stop", "both wait for the same stop"],
    ["down", "down", "both wait for the same teardown"],
    [
      "stop",
      "down",
      "the stop becomes a teardown: the running hook finishes, then the remaining hooks for down run; hooks that are only for stop are skipped",
    ],
    ["down", "stop", "refused"],
    [
      "stop, down",
      "preemption",
      "the remaining hooks for preemption run next, before the deadline; a running hook that is not for preemption is ended",
    ],
    ["preemption", "stop, down", "their hooks run afterwards, while time remains"],
    [
      "stop, down by the idle timer",
      "`autostop --cancel`, or `launch` or `exec` with `--cancel-stop`",
      "no further hook starts, the running one finishes, and the cluster stays up",
    ],
    [
      "stop, down",
      "its request is cancelled",
      "no further hook starts, the running one finishes, and the cluster stays up, unless control has already called the provider",
    ],
    ["any", "a launch or start", "waits for a stop, then starts the cluster again"],
  ],
);

const preemption = `The agent detects in one of three ways that its node will be taken away: from the metadata endpoint
of AWS, GCP or Azure, from a file (\`OUTRIGGER_NOTICE_FILE\`), or by a SIGTERM while its machine shuts down. The agent's
[settings](settings.md#agent) control this; set them where the agent is started, in its systemd unit or its pod. Local
nodes (those on control's own machine) ignore these settings; a SIGTERM ends only their agent.

To try hooks for preemption, have \`outrigger preempt\` play the cloud on a local cluster:

\`\`\`sh
outrigger preempt dev                      # a notice; 30 seconds later, the nodes are gone
outrigger preempt dev --node 1 --notice 2m # one node, with more time
outrigger preempt dev --lose               # gone immediately, without a notice
\`\`\`

Nodes that were taken away are replaced by new, empty ones. On other infrastructure the command is refused, because only
the provider takes machines away there.

Hooks for preemption run on each node that got a notice. Each hook has its own timeout, but none may run during the last
five seconds before the deadline (or the last quarter of a notice shorter than 20 seconds), which are reserved for
collecting the logs. Providers give 30 seconds to two minutes; where a provider's notice is known, a launch warns if its
hooks may take longer.

Jobs get SIGTERM when the hooks are done, or earlier, when 40 % of the notice or 20 seconds remain, whichever is less. A
node that still exists a minute after its deadline accepts jobs again.`;

const logs = `- \`outrigger logs --hook dev\` follows the running hooks, or shows those that ran last. \`--hook down\` selects the
  event; \`--tail\` and \`--no-follow\` work as with jobs. This works while hooks run and after the cluster is stopped or
  gone, because control copies the output while it is written.
- Lines of a preemption on several nodes begin with \`(rank 1)\`.
- On the node the log is \`~/.outrigger/hooks/<event>.log\`; earlier ones end in \`.1\` to \`.5\`. \`<event>.json\` beside it
  has the results. In control's copy, the values of secrets are masked with asterisks if they have at least six characters.
  Partial or encoded values are not recognized.
- While hooks run, \`outrigger status\` shows the current one; with \`-o json\` it also lists those that have finished.
  Afterwards, \`outrigger events --debug\` lists each hook with its [status](statuses.md#hook-run).`;

const hours = hookLimits.timeoutAtMostSeconds / 3600;

const limits = [
  ["hooks of a task", String(hookLimits.hooks)],
  ["`run` of a hook", `${hookLimits.runBytes / 1024} KiB`],
  ["`timeout` of a hook", `${hours} hours`],
  [
    "log of an event",
    "10 MiB: the first 1 MiB and the last 9 MiB; a line says how much was left out",
  ],
];
