/** The nouns that have a status and a wish, and the tables of their rows. */
export const tableOf = {
  cluster: "clusters",
  service: "services",
  replica: "replicas",
  managed_job: "job_tasks",
} as const;

export type Noun = keyof typeof tableOf;
