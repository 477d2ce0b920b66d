import { AppError } from "../../../common/errors.ts";
import { unsubmitted } from "./scripts.ts";

/** What the errors of a submission mean. */

/** Whether a site is away and has nothing of the cluster, which goes elsewhere then. */
export const isUnsubmitted = (error: unknown): error is AppError =>
  error instanceof AppError && error.message.endsWith(unsubmitted);

/** Whether Slurm does not take a job, which is tried at another offer then. */
export const refuses = (error: unknown): error is AppError =>
  error instanceof AppError &&
  /allocation failure|batch job submission failed|invalid|violates|not available/i.test(
    error.message,
  ) &&
  !/contact|authentication|socket|timed out/i.test(error.message);
