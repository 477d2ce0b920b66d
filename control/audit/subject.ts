import { hasOpenBody, type InputOf, type Operation } from "../../common/operation.ts";

/** The fields of inputs that say what a call is about, and the word for what they name. */
const nouns: Readonly<Record<string, string>> = {
  cluster_name: "cluster",
  cluster: "cluster",
  cluster_names: "clusters",
  service_name: "service",
  service_names: "services",
  replica_id: "replica",
  pool: "pool",
  pool_name: "pool",
  pool_names: "pools",
  infra: "pool",
  job_ids: "jobs",
  managed_job_ids: "jobs",
  workspace_name: "workspace",
  preferred: "workspace",
  user_id: "user",
  username: "user",
  token_id: "token",
  token_name: "token",
  recipe_name: "recipe",
  request_ids: "requests",
  context: "context",
  dump_filename: "dump",
};

/** What `name` and `names` name, by operation. */
const namedBy: Readonly<Record<string, string>> = {
  "jobs.launch": "job",
  "jobs.cancel": "job",
  "recipes.create": "recipe",
  "secrets.set": "secret",
  "secrets.delete": "secret",
  local_up: "local cluster",
  local_down: "local cluster",
  storage_delete: "storage",
  volume_apply: "volume",
  volume_delete: "volumes",
};

/**
 * What a call is about: `cluster demo`, `user 5f0c3a1e (ana): role admin, password`; null where its input
 * names nothing. `name` is that of an id in it.
 */
export function subjectOf(row: Operation, input: InputOf<Operation>, name?: string): string | null {
  const fields = Object.entries((input ?? {}) as Record<string, unknown>);
  const parts = hasOpenBody(row)
    ? [wordsOf("pools", Object.keys(input ?? {}))]
    : fields.map(([field, value]) => wordsOf(nounOf(row, field), value));
  const words = parts.filter(Boolean).join("; ");
  const named = name === undefined ? words : `${words} (${name})`;
  const given = givenIn((input ?? {}) as Record<string, unknown>);
  return words === "" ? null : [named, ...given].join(": ");
}

/** What a user or a token gets that is worth knowing: its role, and that it has another password. */
function givenIn({ role, password }: Readonly<Record<string, unknown>>): string[] {
  const words = [
    ...(typeof role === "string" ? [`role ${role}`] : []),
    ...(typeof password === "string" ? ["password"] : []),
  ];
  return words.length === 0 ? [] : [words.join(", ")];
}

/** The word for what a field of a row names; undefined where it names nothing. */
export function nounOf({ name }: Operation, field: string): string | undefined {
  if (field === "name" || field === "names") return namedBy[name];
  return Object.hasOwn(nouns, field) ? nouns[field] : undefined;
}

function wordsOf(noun: string | undefined, value: unknown): string {
  const names = [value ?? []]
    .flat()
    .filter((one) => typeof one === "string" || typeof one === "number")
    .filter((one) => one !== "");
  return noun === undefined || names.length === 0 ? "" : `${noun} ${names.join(", ")}`;
}
