import { spawnSync } from "node:child_process";

const script = `
import base64, json, pickle, pickletools, sys, types
for name, source in json.loads(sys.argv[1]).items():
    parts = name.split(".")
    for length in range(1, len(parts)):
        sys.modules.setdefault(".".join(parts[:length]), types.ModuleType(name))
    module = types.ModuleType(name)
    exec(source, module.__dict__)
    sys.modules[name] = module
data = base64.b64decode(sys.stdin.read())
pickletools.dis(data, out=open("/dev/null", "w"))
value = pickle.loads(data)
print(eval(sys.argv[2]))
`;

/** Why a test with Python is left out, or false. */
export const noPython: string | false =
  spawnSync("python3", ["-c", ""]).status === 0 ? false : "there is no python3 here";

/** What an expression on the unpickled `value` prints; `modules` stand in for the client's own. */
export function askPython(
  base64: string,
  expression = "repr(value)",
  modules: Record<string, string> = {},
): string {
  const args = ["-c", script, JSON.stringify(modules), expression];
  const { status, stdout, stderr } = spawnSync("python3", args, {
    input: base64,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout.trimEnd();
}
