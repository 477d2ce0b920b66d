import type { Connection, Queries } from "../../control/db/open.ts";

/** The database of a control plane under test, to write to it behind its back. */
export const writable = ({ db }: { readonly db: Queries }): Connection =>
  db as unknown as Connection;
