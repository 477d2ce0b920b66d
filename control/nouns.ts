/** The nouns that have a status and a wish, and the tables of their rows. */
export const tableOf = {
  cluster: "clusters",
  service: "services",
  replica: "replicas",
  managed_job: "job_tasks",
} as const;

export type Noun = keyof typeof tableOf;

/** Makes something for the table of each noun. */
export const forTables = <Made>(
  make: (table: (typeof tableOf)[Noun]) => Made,
): Readonly<Record<Noun, Made>> => ({
  cluster: make(tableOf.cluster),
  service: make(tableOf.service),
  replica: make(tableOf.replica),
  managed_job: make(tableOf.managed_job),
});
