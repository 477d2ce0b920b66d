import { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { type Bound, bind } from "../bind.ts";
import { checkLaunch, launch } from "./launch.ts";

/** Managed jobs: each on clusters that are made, replaced and deleted for it. */
export const jobOperations: Bound[] = [bind(rows.launch, launch, checkLaunch)];
