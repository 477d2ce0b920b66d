import { spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Cleaner {
  after(clean: () => void): void;
}

/** A pipe that nobody reads until the test does. */
export interface UnreadPipe {
  /** Its end for a process to write to; as a shell makes it, a write waits for room. */
  readonly fd: number;
  /** Whether processes that share this end have had it made non-blocking for all of them. */
  isNonBlocking(): boolean;
  /** Fills it, so that not another byte fits. */
  fill(): void;
  /** Empties it; what was in there. */
  read(): string;
}

export function unreadPipe(t: Cleaner): UnreadPipe {
  const folder = mkdtempSync(join(tmpdir(), "pipe-"));
  const file = join(folder, "pipe");
  spawnSync("mkfifo", [file]);
  const reading = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
  const fd = openSync(file, constants.O_WRONLY);
  const filling = openSync(file, constants.O_WRONLY | constants.O_NONBLOCK);
  t.after(() => {
    for (const one of [reading, fd, filling]) closeSync(one);
    rmSync(folder, { recursive: true });
  });
  const untilRefused = (act: () => void) => {
    try {
      for (;;) act();
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    }
  };
  return {
    fd,
    isNonBlocking() {
      const flags = /^flags:\s+([0-7]+)$/m.exec(
        readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"),
      )?.[1];
      return (Number.parseInt(flags ?? "", 8) & constants.O_NONBLOCK) !== 0;
    },
    fill: () => untilRefused(() => writeSync(filling, "x".repeat(4_095).concat("\n"))),
    read() {
      const parts: Buffer[] = [];
      const buffer = Buffer.alloc(65_536);
      untilRefused(() => parts.push(Buffer.from(buffer.subarray(0, readSync(reading, buffer)))));
      return Buffer.concat(parts).toString();
    },
  };
}
