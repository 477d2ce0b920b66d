/** What clients read from their environment, by the name after `OUTRIGGER_`. */
export const clientVariables = {
  ENDPOINT:
    "Address of the control plane; by default that of the context in use, or of the control plane of your home.",
  CONTEXT: "Which context to use instead of the one that `outrigger context use` chose.",
  WORKSPACE: "Workspace of launches; by default that of the context in use.",
  TOKEN:
    "Token that callers other than the control plane's own user send: the content of `token` in its home.",
  AUTOSTART:
    "Whether launches and other commands start the control plane of your home if none runs: `on` or `off`; `off` by default in a job and where `CI` is set.",
  USER: "User name used in generated cluster names; by default that of the operating system.",
} as const;

/** What our programs set for each other, and what a task may take from a user's environment. */
export const internalVariables = [
  ...["WORKER", "WRAPPED", "REPLICA_KEY"],
  ...["DOCKER_USERNAME", "DOCKER_PASSWORD", "DOCKER_SERVER", "SERVICE_ACCOUNT_TOKEN"],
] as const;

/** What an agent sets for the scripts of a job, by the name after `OUTRIGGER_`. */
export const taskVariables = {
  NODE_RANK: "This node's rank; 0 is the head.",
  NODE_IPS: "Addresses of the nodes by rank, one per line.",
  NUM_NODES: "How many nodes the job takes.",
  NUM_GPUS_PER_NODE: "Accelerators of the job on each node, rounded up.",
  SETUP_NODE_RANK: "As NODE_RANK, in `setup`.",
  SETUP_NODE_IPS: "As NODE_IPS, in `setup`.",
  SETUP_NUM_GPUS_PER_NODE: "As NUM_GPUS_PER_NODE, in `setup`.",
  TASK_ID: "Submission time, cluster and job in one text.",
  INTERNAL_JOB_ID: "The job's number on its cluster.",
  CLUSTER_INFO: "JSON: cluster_name, cloud, region, zone.",
  USER: "Who submitted the job.",
  JOB_FOLDER: "Folder of the job's scripts and log on the node; also identifies its processes.",
} as const;

/** What a replica of a service sees besides, by the name after `OUTRIGGER_`. */
export const replicaVariables = {
  REPLICA_PORT: "What its server must listen on. Also as plain `PORT`.",
  SERVE_REPLICA_ID: "Number of the replica; the first is 1, and no number is reused.",
} as const;

/** What a managed job sees besides, by the name after `OUTRIGGER_`. Its TASK_ID is the same in every attempt. */
export const managedJobVariables = {
  MANAGED_JOB_ID: "The number of the managed job.",
  JOB_RANK: "Index of this copy of the job; the first is 0.",
  NUM_JOBS: "Number of copies of the job that were submitted together.",
  RECOVERY_COUNT: "How many times the job was recovered; 0 in its first attempt.",
  TASK_IDS: "In a pipeline: the TASK_ID of each of its tasks, a line each.",
  ROOT_JOB_ID: "In a job group and a job that has joined it: the number of the group.",
  JOBGROUP_NAME: "The name of that job group.",
  JOBGROUP_TASKS:
    "The names of the tasks of the job group and of jobs that have joined it, a line each.",
  JOBGROUP_HOSTS:
    "Where the nodes of the job group were when this attempt began, as in `/etc/hosts`: an address and `TASK-RANK.GROUP`, a line each.",
} as const;

/** What a hook sees besides the variables of its task, by the name after `OUTRIGGER_`. */
export const hookVariables = {
  HOOK_EVENT: "What is about to happen: stop, preemption or down. Also as plain `HOOK_EVENT`.",
  HOOK_INDEX: "Which entry of `config.hooks` this is; the first is 0.",
  HOOK_TIMEOUT: "The hook's time limit in whole seconds, counted from its start.",
  HOOK_DEADLINE: "When the hook will be ended, as a Unix timestamp in seconds.",
  LIFECYCLE_ID: "Which stop, preemption or teardown this is.",
  HOOK_FOLDER:
    "The folder on the node that holds the hook's script and exit code. Also identifies the hook's processes.",
} as const;

/** What jobs on this machine see as control does, where it is set there and no task says otherwise. */
export const inheritedVariables = [
  "LANG",
  "TZ",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
] as const;
