/** Buckets and volumes, as Kysely sees their columns. Instants are epoch milliseconds. */
export interface KeptTables {
  storages: {
    name: string;
    id: string;
    workspace: string;
    user_id: string;
    user_name: string;
    status: string;
    created_at: number;
    last_use: string;
    cluster_id: string | null;
  };
  volumes: {
    name: string;
    id: string;
    workspace: string;
    user_id: string;
    user_name: string;
    document: string;
    creation_yaml: string | null;
    path: string | null;
    problem: string | null;
    created_at: number;
    last_attached_at: number | null;
    last_use: string | null;
  };
  volume_uses: { volume_id: string; cluster_id: string };
}
