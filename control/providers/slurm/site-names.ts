/** Where to log in, and as whom; otherwise as the SSH configuration of control's user says. */
export interface LoginName {
  readonly name: string;
  readonly user?: string;
  readonly port?: number;
}

/** A Slurm cluster by the name that it has in `infra`. */
export interface SiteName {
  readonly name: string;
  readonly login: LoginName | "local";
}

/** A list of `[NAME=]LOGIN`: `local`, or `[USER@]HOST[:PORT]`. `off` is none. */
export function readSiteNames(list: string): SiteName[] {
  if (list === "off") return [];
  return list.split(",").map((text) => {
    const [, own, user, host = text, port] = form.exec(text) ?? [];
    if (host === "local" && !user && !port) return { name: own ?? host, login: host };
    const login = { name: host, ...(user && { user }), ...(port && { port: Number(port) }) };
    return { name: own ?? host, login };
  });
}

const form = /^(?:([\w.-]+)=)?(?:([\w.-]+)@)?([\w.-]+)(?::(\d+))?$/;

/** Whether each of a list is of this form, and has a name of its own. */
export function areSiteNames(list: string): boolean {
  const names = readSiteNames(list).map(({ name }) => name);
  const areNames = list.split(",").every((one) => form.test(one)) && !names.includes("off");
  return areNames && new Set(names).size === names.length;
}
