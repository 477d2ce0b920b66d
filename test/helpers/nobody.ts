import { spawn } from "node:child_process";
import { join } from "node:path";
import { json } from "node:stream/consumers";

/** A user without rights. */
export const nobody = 65_534;

/** Whether we may do things as another user. */
export const canBeNobody = process.getuid?.() === 0;

const root = join(import.meta.dirname, "../..");

/**
 * What a function body returns when `nobody` runs it; `imports` says which exports of which of our
 * files it uses. An error is answered as its name and message.
 */
export async function asNobody(
  imports: Readonly<Record<string, string>>,
  body: string,
): Promise<unknown> {
  const lines = Object.entries(imports).map(
    ([names, file]) => `import { ${names} } from ${JSON.stringify(join(root, file))};`,
  );
  const program = `
    ${lines.join("\n")}
    const run = async () => {${body}};
    const told = ({ name, message }) => ({ name, message });
    console.log(JSON.stringify(await run().catch(told) ?? null));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    uid: nobody,
    gid: nobody,
    stdio: ["ignore", "pipe", "inherit"],
  });
  return json(child.stdout);
}
