/** What is wrong, how it is sent, and what must come of it. */
export interface RefusedCase {
  readonly send: [method: string, path: string, body?: unknown, headers?: Record<string, string>];
  readonly status: number;
  /** The first issue's place in a 422. */
  readonly loc?: readonly (string | number)[];
  /** Words that the answer must have. */
  readonly says: RegExp;
}

type Posted = [method: string, path: string, body: unknown];
const launch = (task: string, cluster_name = "demo", more: object = {}): Posted => [
  "POST",
  "/launch",
  { task, cluster_name, ...more },
];

interface BadTask {
  readonly task: string;
  /** The first issue's place in the task. */
  readonly at: readonly (string | number)[];
  readonly says: RegExp;
}

/** Texts that are no task, by what is wrong with them. */
export const badTasks: Record<string, BadTask> = {
  "YAML that is cut off": { task: "run: 'true\nsetup: x", at: [], says: /line \d+, column \d+/ },
  "an unknown field of a task, with the one that was meant": {
    task: "run: 'true'\nnum_node: 2",
    at: ["num_node"],
    says: /line 2, column 1: (num_node: )?unknown field `num_node`; did you mean `num_nodes`/,
  },
  "a field of the wrong kind": {
    task: "run: 'true'\nnum_nodes: two",
    at: ["num_nodes"],
    says: /line 2, column \d+: /,
  },
  "a negative number of nodes": {
    task: "num_nodes: -1\nrun: 'true'",
    at: ["num_nodes"],
    says: /line 1/,
  },
  "a hook of an event that there is not": {
    task: "config: {hooks: [{run: x, events: [never]}]}",
    at: ["config", "hooks", 0, "events", 0],
    says: /line 1/,
  },
  "a task that is a list": { task: "- a\n- b", at: [], says: /line 1/ },
  "a task with a key of every object": {
    task: "run: 'true'\n__proto__: {polluted: 1}",
    at: ["__proto__"],
    says: /line 2/,
  },
  "YAML that unfolds without end": {
    task: `a: &a [${'"x",'.repeat(9)}]\n${bomb()}`,
    at: ["a"],
    says: /line/,
  },
};

const large = JSON.stringify({ task: "x".repeat(10 * 1024 * 1024), cluster_name: "demo" });
const text = { "content-type": "text/plain" };

/** Bad inputs of every kind, by what is wrong with them. */
export const refusedCases: Record<string, RefusedCase> = {
  "JSON that is cut off": {
    send: ["POST", "/launch", '{"task": "run: true", '],
    status: 422,
    loc: ["body"],
    says: /is not JSON/,
  },
  "JSON with a string of quotes that does not end": {
    send: ["POST", "/launch", `["${'\\"'.repeat(2_000_000)}`],
    status: 422,
    loc: ["body"],
    says: /is not JSON: Unterminated string/,
  },
  "a body that is no object": {
    send: ["POST", "/launch", "[]"],
    status: 422,
    loc: ["body"],
    says: /expected object/,
  },
  "a body that is null": {
    send: ["POST", "/launch", "null"],
    status: 422,
    loc: ["body"],
    says: /JSON body is required/,
  },
  "no body where one is needed": {
    send: ["POST", "/launch"],
    status: 422,
    loc: ["body"],
    says: /a JSON body is required/,
  },
  "another content type": {
    send: ["POST", "/launch", "task: x", text],
    status: 422,
    loc: ["body"],
    says: /send JSON with content-type: application\/json, not text\/plain/,
  },
  "JSON that is nested without end": {
    send: ["POST", "/launch", `{"override_skypilot_config":${'{"a":'.repeat(100_000)}`],
    status: 422,
    loc: ["body"],
    says: /nested deeper than 200 levels/,
  },
  "a web page whose name was pointed at this machine": {
    send: [...launch("run: true"), { host: "evil.example:46580" }],
    status: 403,
    says: /calls to or from http:\/\/evil\.example:46580 are refused/,
  },
  "a web page from elsewhere": {
    send: [...launch("run: true"), { origin: "https://evil.example" }],
    status: 403,
    says: /https:\/\/evil\.example are refused/,
  },
  "a web page of a service on this machine": {
    send: [...launch("run: true"), { host: "127.0.0.1:46580", origin: "http://127.0.0.1:30001" }],
    status: 403,
    says: /http:\/\/127\.0\.0\.1:30001 are refused/,
  },
  "10 MB": { send: ["POST", "/launch", large], status: 413, says: /larger than 4194304 bytes/ },
  "fields that are missing": {
    send: ["POST", "/launch", {}],
    status: 422,
    loc: ["body", "task"],
    says: /is required[\s\S]*cluster_name/,
  },
  "a number for a name": {
    send: ["POST", "/stop", { cluster_name: 7 }],
    status: 422,
    loc: ["body", "cluster_name"],
    says: /expected string/,
  },
  "null for a name": {
    send: ["POST", "/down", { cluster_name: null }],
    status: 422,
    loc: ["body", "cluster_name"],
    says: /expected string/,
  },
  "a word for a flag": {
    send: launch("run: 'true'", "demo", { dryrun: "yes" }),
    status: 422,
    loc: ["body", "dryrun"],
    says: /expected boolean/,
  },
  "a fraction of a minute": {
    send: ["POST", "/autostop", { cluster_name: "demo", idle_minutes: 1.5 }],
    status: 422,
    loc: ["body", "idle_minutes"],
    says: /expected int/,
  },
  "a number beyond all numbers": {
    send: ["POST", "/autostop", '{"cluster_name": "demo", "idle_minutes": 1e999}'],
    status: 422,
    loc: ["body", "idle_minutes"],
    says: /expected/,
  },
  "an enum's unknown word": {
    send: ["POST", "/status", { refresh: "SOMETIMES" }],
    status: 422,
    loc: ["body", "refresh"],
    says: /NONE.*AUTO.*FORCE/,
  },
  "a list's wrong item": {
    send: ["POST", "/job_status", { cluster_name: "demo", job_ids: [1, "two"] }],
    status: 422,
    loc: ["body", "job_ids", 1],
    says: /expected number/,
  },
  "a negative offset": {
    send: ["POST", "/logs", { cluster_name: "demo", job_id: 1, offset: -1 }],
    status: 422,
    loc: ["body", "offset"],
    says: /must be at least 0/,
  },
  "an environment that is no map of texts": {
    send: launch("run: 'true'", "demo", { env_vars: { A: 1 } }),
    status: 422,
    loc: ["body", "env_vars", "A"],
    says: /expected string/,
  },
  "a query that is no number": {
    send: ["GET", "/api/status?limit=many"],
    status: 422,
    loc: ["query", "limit"],
    says: /expected number/,
  },
  "an empty text where a number belongs": {
    send: ["GET", "/api/stream?tail="],
    status: 422,
    loc: ["query", "tail"],
    says: /expected number/,
  },
  "a noun that has no events": {
    send: ["GET", "/events?noun=request"],
    status: 422,
    loc: ["query", "noun"],
    says: /expected one of "cluster"/,
  },
  "a header that is no number": {
    send: ["GET", "/events", undefined, { "last-event-id": "new" }],
    status: 422,
    loc: ["header", "last-event-id"],
    says: /expected the id of an event, a number/,
  },
  "a query that is neither yes nor no": {
    send: ["GET", "/api/status?all_status=perhaps"],
    status: 422,
    loc: ["query", "all_status"],
    says: /expected/,
  },
  "a query that is missing": {
    send: ["GET", "/api/get"],
    status: 422,
    loc: ["query", "request_id"],
    says: /is required/,
  },
  "a query that is given twice": {
    send: ["GET", "/api/get?request_id=a&request_id=b"],
    status: 422,
    loc: ["query", "request_id"],
    says: /expected string/,
  },
  "an API number that is none": {
    send: ["GET", "/api/health", undefined, { "x-skypilot-api-version": "new" }],
    status: 400,
    says: /must be a whole number, not "new"/,
  },
  "a client that is too old": {
    send: ["GET", "/api/health", undefined, { "x-skypilot-api-version": "23" }],
    status: 400,
    says: /version_mismatch.*speaks API version 23.*needs 24 or newer; upgrade the client/,
  },
  "an operation that is not built": {
    send: ["GET", "/debug/dump_download/x"],
    status: 501,
    says: /is not built yet in this version/,
  },
};

for (const [name, { task, at, says }] of Object.entries(badTasks))
  refusedCases[name] = { send: launch(task), status: 422, loc: ["body", "task", ...at], says };

/** Nine times as much in each of nine lines. */
function bomb(): string {
  const names = "abcdefghij";
  return [...names.slice(1)]
    .map((name, at) => `${name}: &${name} [${`*${names[at]},`.repeat(9)}]`)
    .join("\n");
}
