import { workspaceOperations as rows } from "../../contract/operations/workspaces.ts";
import { type Bound, bind } from "../bind.ts";

/** Workspaces; there is one, which everyone may use. */
export const workspaceOperations: Bound[] = [bind(rows.get, async () => ({ default: {} }))];
