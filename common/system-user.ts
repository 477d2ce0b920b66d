import { homedir, userInfo } from "node:os";

/** The user of this process. One without an entry in /etc/passwd, as containers may have, is named by its number. */
export function systemUser(): { uid: number; name: string; home: string; shell: string } {
  const usualShell = "/bin/bash";
  try {
    const { uid, username: name, homedir: home, shell } = userInfo();
    return { uid, name, home, shell: shell ?? usualShell };
  } catch {
    const uid = process.getuid?.() ?? -1;
    return { uid, name: String(uid), home: homedir(), shell: usualShell };
  }
}
