import { join } from "node:path";

/** Where a home has the database of its control plane. */
export const databaseOf = (home: string): string => join(home, "control", "state.db");
