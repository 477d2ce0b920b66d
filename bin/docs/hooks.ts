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

const intro = `A hook is a script that runs on a cluster before it is stopped, deleted or taken away: the last
chance to save work. Hooks stand under \`config.hooks\` of a [task](task.md); \`examples/hooks.yaml\` can be tried
on any machine.

\`\`\`yaml
config:
  hooks:
    - run: ./save-checkpoint.sh
      events: [stop, down]         # all three when left out
      timeout: 600                 # seconds; ${hookLimits.timeoutSeconds} when left out
\`\`\`

They belong to the cluster. A launch on a running cluster without \`config.hooks\` keeps them, \`hooks: []\` clears
them, another list replaces them from the next event on; \`exec\` never touches them. The older \`autostop.hook\` is
a first entry for \`stop\`, or for \`down\` where autostop takes the cluster down: a list clears or replaces it, too,
unless the same document has both. A launch says which hooks are set or kept; so does \`outrigger status -o json\`.`;

const surroundings = `Hooks run under bash where jobs do, in \`~/outrigger_workdir\` (before the first job in the home), with the
\`envs\` and \`secrets\` of the launch that brought them, the variables of the node (rank, addresses) and those below.
Their input is empty. Jobs run on while hooks do, so that a hook can ask them to save; new jobs are refused.`;

const orderAndTime = `- Hooks of an event run one after another, in the order in which they are declared.
- One that fails or takes too long holds nothing up: the next one runs, then the event proceeds. Log and events of
  the cluster (\`outrigger events --debug\`) say so.
- One that takes too long gets TERM, ten seconds later KILL, with every process it started; its code is told as 124.
- A hook ends when its script does. What it left in the background does not hold it; the log counts it.
- Each entry runs once at most before a stop, teardown or preemption, also when the agent is killed meanwhile, and
  when the event turns into another. A provider call that has to be repeated does not repeat hooks.
- After the hooks jobs get TERM, ten seconds later KILL. The cluster costs what it costs until its nodes are off.
- A head that does not answer for about ten seconds is left alone: the hooks are skipped, and an event says so. One
  whose hook was seen running is waited for until that has had its time, unless its node is gone.
- A stop or teardown also waits for what other nodes save that are being taken away, until their notice is over.
- A cluster that is stopped runs no hooks when it is taken down: no node is on. An event says so; start it first.
- While control is away the idle timer of the head goes on: hooks run, and ten minutes later the head turns itself off
  where it can. Other nodes stay on until control is back, which ends them at once; events say so.
- A hook that stops its own cluster waits for itself, until its time is over: leave that to autostop.
- \`stop --skip-hooks\` and \`down --skip-hooks\` end the hook that runs and begin no other; so does \`--purge\`.`;

const meetings = table(
  ["While hooks run for", "comes", "and so"],
  [
    ["stop", "stop", "both wait for the same one"],
    ["down", "down", "both wait for the same one"],
    [
      "stop",
      "down",
      "it becomes a teardown: the running hook goes on, those for stop alone are dropped, those for down that did not run yet run",
    ],
    ["down", "stop", "refused"],
    [
      "stop, down",
      "preemption",
      "hooks for preemption that did not run yet come next, all within the notice; a running one that is not for preemption is ended",
    ],
    ["preemption", "stop, down", "their hooks come after, while time remains"],
    [
      "stop, down by the idle timer",
      "`autostop --cancel`, or `launch` or `exec` with `--cancel-stop`",
      "no further hook begins, the running one ends by itself, the cluster stays up",
    ],
    ["stop, down", "its request is cancelled", "the same, until the provider is asked"],
    ["any", "a launch or start", "it waits for a stop, then starts the cluster again"],
  ],
);

const preemption = `A node hears from the metadata endpoint of AWS, GCP or Azure, from a file (\`OUTRIGGER_NOTICE_FILE\`), or from a
SIGTERM while its machine shuts down that it is taken away; [settings](settings.md#agent) say how, and are set where
the agent is started: in its systemd unit or its pod. A node on control's own machine is told of no notice, a SIGTERM
means its agent alone, and it takes no settings. Hooks for preemption can be tried there by telling the node of its
end, from a shell on its machine; a local node's home is \`~/.outrigger/nodes/<cluster_hash>-<rank>\`, and
\`outrigger status -o json\` has the \`cluster_hash\`:

\`\`\`sh
curl --unix-socket <node home>/.outrigger/agent/agent.sock -X POST http://agent/preempt \\
  -H 'content-type: application/json' -d '{"because":"a try"}'
\`\`\`

Hooks for preemption run on each node that was told, each with its own time-out but never beyond the notice less
five seconds, which are for the logs. Providers give half a minute to two minutes: a launch whose hooks may take
longer is warned where the provider's notice is known.
Jobs get TERM after the hooks, or when 40 % of the time is left, at most 20 seconds. A node that is still there a
minute after it should have gone takes jobs again.`;

const logs = `- \`outrigger logs --hook dev\` follows the hooks that run, or shows those that ran last; \`--hook down\` chooses the
  event, \`--tail\` and \`--no-follow\` work as with jobs. It works while they run, and once the cluster is stopped,
  gone or taken away: control copies what hooks write while they write it.
- Lines of a preemption on several nodes begin with \`(rank 1)\`.
- On the node the log is \`~/.outrigger/hooks/<event>.log\`, earlier ones end in \`.1\` to \`.5\`, and \`<event>.json\`
  beside it says how each hook fared. Control's copy has the values of secrets with at least six letters as
  asterisks, as many as letters; a part of a value, or one that was encoded, is shown as it was printed.
- While hooks are under way \`outrigger status\` shows the one that runs, \`-o json\` also those that ran; afterwards
  \`outrigger events --debug\` tells of them. [Statuses](statuses.md) lists the words.`;

const hours = hookLimits.timeoutAtMostSeconds / 3600;

const limits = [
  ["hooks of a task", String(hookLimits.hooks)],
  ["`run` of a hook", `${hookLimits.runBytes / 1024} KiB`],
  ["`timeout` of a hook", `${hours} hours`],
  ["log of an event", "its first MiB and its last nine; a line tells what was left out"],
];
