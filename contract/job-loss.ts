/** Why a rank of a job ended that will never have an exit code, as its machine did not stay. */
export const rebooted = "the machine was rebooted";
export const nodeLost = (rank: number): string => `node ${rank} was lost`;

const losses = new RegExp(`(^|: )(${rebooted}|node \\d+ was lost)(;|$)`);

/** Whether the reason of a job says that it ended with its machine, and not by itself. */
export const isLoss = (reason: string | null): boolean => losses.test(reason ?? "");

/** How the reason of a managed job ends that lost its machine, and whose task has it not recovered. */
export const notRecovered = "it is not recovered, as its task says job_recovery: none";
