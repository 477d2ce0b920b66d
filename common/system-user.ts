import { homedir, userInfo } from "node:os";

/** The user of this process. One without an entry in /etc/passwd, as containers may have, is named by its number. */
export function systemUser(): { name: string; home: string; shell: string } {
  const usualShell = "/bin/bash";
  try {
    const { username: name, homedir: home, shell } = userInfo();
    return { name, home, shell: shell ?? usualShell };
  } catch {
    return { name: String(process.getuid?.() ?? ""), home: homedir(), shell: usualShell };
  }
}
