import type { ChildProcess } from "node:child_process";
import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import type { Dispatcher } from "undici";
import { openChannelDoor } from "./ssh/door.ts";

/**
 * The door to an agent on whose node commands can be run, and nothing else. `run` starts `agent pipe`
 * there, with pipes for all three streams; each run is one connection.
 */
export const openExecDoor = (run: () => ChildProcess): Dispatcher =>
  openChannelDoor(async () => connectionOver(run()));

/** What a command reads and writes, as a connection; that ends once it is known how the command ended. */
function connectionOver(child: ChildProcess): Duplex {
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null)
    throw new TypeError("a door needs the streams of its command");
  const said = text(stderr).catch(() => "");
  const way = new Duplex({
    read: () => void stdout.resume(),
    write: (chunk, _encoding, done) => void stdin.write(chunk, done),
    final: (done) => void stdin.end(done),
    destroy: (error, done) => {
      child.kill();
      done(error);
    },
  });
  stdin.on("error", (error) => way.destroy(error));
  stdout.on("data", (chunk) => void (way.push(chunk) || stdout.pause()));
  child.once("error", (error) => way.destroy(error));
  child.once("close", async (code) => {
    if (code === 0) return void way.push(null);
    way.destroy(new Error((await said).trim() || `its command ended with ${code}`));
  });
  return way;
}
