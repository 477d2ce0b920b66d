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
        event === "preemption" ? "each node that was told" : "the head",
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
      events: [stop, down]         # all three when left out
      timeout: 600                 # seconds; ${hookLimits.timeoutSeconds} when left out
\`\`\`

Hooks belong to the cluster. A launch on a running cluster without \`config.hooks\` retains them, \`hooks: []\` removes
them, and another list replaces them from the next event on; \`exec\` never changes them. The older \`autostop.hook\` is
a first entry for \`stop\`, or for \`down\` if autostop deletes the cluster; a list removes or replaces it too, unless the
same document has both. A launch prints which hooks are set or retained; \`outrigger status -o json\` shows them.`;

const surroundings = `Hooks run under bash in the same folder as jobs, \`~/outrigger_workdir\` (in the home before the first job), with the
\`envs\` and \`secrets\` of the launch that set them, the variables of the node (rank, addresses) and those below. Their
input is empty. Jobs continue while hooks run, so that a hook can ask them to save; new jobs are refused.`;

const orderAndTime = `- Hooks of an event run one after another, in the order in which they are declared.
- A hook that fails or takes too long delays nothing: the next one runs, then the event proceeds. The log and the
  cluster's events (\`outrigger events --debug\`) say so.
- A hook that exceeds its time gets TERM, and KILL ten seconds later, with every process it started; its exit code is
  shown as 124.
- A hook ends when its script does. Processes that it left in the background do not delay the event; the log counts them.
- Each entry runs at most once before a stop, teardown or preemption, even if the agent is killed meanwhile or the event
  turns into another one. Repeating a provider call does not repeat hooks.
- After the hooks, jobs get TERM, and KILL ten seconds later. The cluster costs money until its nodes are off.
- If the head does not answer for about ten seconds, the hooks are skipped, and an event says so. If a hook was seen
  running there, control waits until its time is over, unless the node is gone.
- A stop or teardown also waits while other nodes that are being taken away save their work, until their notice ends.
- Deleting a stopped cluster runs no hooks, because no node is on. An event says so; start the cluster first.
- While control is away, the idle timer of the head continues: hooks run, and ten minutes later the head turns itself
  off where it can. Other nodes stay on until control is back and ends them; events say so.
- A hook that stops its own cluster waits for itself until its time is over: leave that to autostop.
- \`stop --skip-hooks\` and \`down --skip-hooks\` end the running hook and start no other; so does \`--purge\`.`;

const meetings = table(
  ["While hooks run for", "this happens", "result"],
  [
    ["stop", "stop", "both wait for the same stop"],
    ["down", "down", "both wait for the same teardown"],
    [
      "stop",
      "down",
      "becomes a teardown: the running hook continues, hooks for stop alone are dropped, hooks for down that have not run yet run",
    ],
    ["down", "stop", "refused"],
    [
      "stop, down",
      "preemption",
      "hooks for preemption that have not run yet run next, all within the notice; a running hook that is not for preemption is ended",
    ],
    ["preemption", "stop, down", "their hooks run afterwards, while time remains"],
    [
      "stop, down by the idle timer",
      "`autostop --cancel`, or `launch` or `exec` with `--cancel-stop`",
      "no further hook starts, the running one finishes, the cluster stays up",
    ],
    ["stop, down", "its request is cancelled", "the same, until the provider has been asked"],
    ["any", "a launch or start", "waits for a stop, then starts the cluster again"],
  ],
);

const preemption = `A node learns that it is taken away from the metadata endpoint of AWS, GCP or Azure, from a file
(\`OUTRIGGER_NOTICE_FILE\`), or from a SIGTERM while its machine shuts down. The agent's [settings](settings.md#agent)
control this; set them where the agent is started, in its systemd unit or its pod. A node on control's own machine gets
no notices and takes no settings; a SIGTERM there means its agent alone.

To try hooks for preemption there, tell the node that it is taken away, from a shell on its machine. The home of a local
node is \`~/.outrigger/nodes/<cluster_hash>-<rank>\`; \`outrigger status -o json\` shows the \`cluster_hash\` as \`id\`.

\`\`\`sh
curl --unix-socket <node home>/.outrigger/agent/agent.sock -X POST http://agent/preempt \\
  -H 'content-type: application/json' -d '{"because":"a try"}'
\`\`\`

Hooks for preemption run on each node that got a notice. Each has its own time-out, but none runs longer than the notice
minus five seconds, which are reserved for the logs. Providers give 30 seconds to two minutes; where a provider's notice
is known, a launch warns if its hooks may take longer.

Jobs get TERM after the hooks, or when 40 % of the time is left, at most 20 seconds. A node that still exists a minute
after its deadline accepts jobs again.`;

const logs = `- \`outrigger logs --hook dev\` follows the running hooks, or shows those that ran last. \`--hook down\` selects the
  event; \`--tail\` and \`--no-follow\` work as with jobs. This works while hooks run and after the cluster is stopped or
  gone, because control copies the output while it is written.
- Lines of a preemption on several nodes begin with \`(rank 1)\`.
- On the node the log is \`~/.outrigger/hooks/<event>.log\`; earlier ones end in \`.1\` to \`.5\`. \`<event>.json\` beside it
  has the results. In control's copy, values of secrets with at least six letters are replaced by as many asterisks; a
  part of a value, or an encoded one, is shown as it was printed.
- While hooks run, \`outrigger status\` shows the current one, and \`-o json\` also those that ran. Afterwards
  \`outrigger events --debug\` lists them, with the words of [statuses](statuses.md#hook-run).`;

const hours = hookLimits.timeoutAtMostSeconds / 3600;

const limits = [
  ["hooks of a task", String(hookLimits.hooks)],
  ["`run` of a hook", `${hookLimits.runBytes / 1024} KiB`],
  ["`timeout` of a hook", `${hours} hours`],
  ["log of an event", "its first MiB and its last nine; a line says what was left out"],
];
