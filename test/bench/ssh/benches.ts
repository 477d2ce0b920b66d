import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { sshDeploy } from "./deploy.ts";
import { sshDoor } from "./door.ts";
import { sshIdle } from "./idle.ts";

/** Machines over SSH; as root, with the Debian package openssh-server. */
export const sshBenches: Record<string, (lab: Lab) => Promise<Figure[]>> = {
  "ssh-deploy": sshDeploy,
  "ssh-door": sshDoor,
  "ssh-idle": sshIdle,
};
