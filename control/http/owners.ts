import { createReadStream } from "node:fs";
import { endianness } from "node:os";
import { errorCodeOf } from "../../common/errors.ts";

/** A TCP connection on this machine, as the process at its far end sees it: where from, where to. */
export interface Connection {
  readonly from: Address;
  readonly to: Address;
}

interface Address {
  readonly ip: string;
  readonly port: number;
}

/** Finds the user at the far end of a connection on this machine. */
export interface Owners {
  /** The user whose process made the connection; undefined when the system does not say. */
  of(connection: Connection): Promise<number | undefined>;
}

type Settle = (uid: number | undefined) => void;

/** What a pass over the tables looks for: rows by their addresses, as the kernel writes them. */
type Wanted = Map<string, Settle>;

/** A row may be missed when another one before it goes away between two reads. */
const passes = 2;

/**
 * Reads the kernel's tables of connections. They may be megabytes long, so all who ask while they are
 * being read share the next pass, which begins after they asked: what it finds is as it is now.
 * Source: proc(5), /proc/pid/net/tcp.
 */
export function openOwners(folder = "/proc/self/net"): Owners {
  let waiting: Wanted = new Map();
  let isReading = false;

  async function readAll(): Promise<void> {
    isReading = true;
    while (waiting.size > 0) {
      const wanted = waiting;
      waiting = new Map();
      for (let pass = 0; pass < passes && wanted.size > 0; pass += 1)
        for (const table of ["tcp", "tcp6"]) await readTable(`${folder}/${table}`, wanted);
      for (const settle of wanted.values()) settle(undefined);
    }
    isReading = false;
  }

  return {
    of: (connection) =>
      new Promise((resolve) => {
        for (const row of rowsOf(connection)) waiting.set(row, resolve);
        if (!isReading) void readAll();
      }),
  };
}

/** Settles what it finds; where there is no such table it finds nothing. */
async function readTable(file: string, wanted: Wanted): Promise<void> {
  if (wanted.size === 0) return;
  let rest = "";
  try {
    for await (const chunk of createReadStream(file, "latin1")) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) settleRow(line, wanted);
      if (wanted.size === 0) return;
    }
  } catch (error) {
    if (errorCodeOf(error) === undefined) throw error;
  }
}

/** The fields of a row: number, addresses, state, queues, timer, retries, user, timeout, inode. */
const rowPattern = /^ *\d+: (\S+ \S+)(?: +\S+){4} +(\d+) +\d+ +(\d+) /;

/**
 * A row without an inode is of a connection that no process has any more, or not yet; the kernel then
 * names root, whose it need not have been.
 */
function settleRow(line: string, wanted: Wanted): void {
  const start = line.indexOf(": ") + 2;
  const settle = wanted.get(line.slice(start, line.indexOf(" ", line.indexOf(" ", start) + 1)));
  if (settle === undefined) return;
  const [, row = "", uid, inode] = rowPattern.exec(line) ?? [];
  if (inode === undefined || inode === "0") return;
  for (const [other, one] of wanted) if (other === row || one === settle) wanted.delete(other);
  settle(Number(uid));
}

/** How the tables write a connection; one over IPv4 may be made by a socket of IPv6. */
function rowsOf({ from, to }: Connection): string[] {
  const write = (address: (ip: string) => string) =>
    [from, to].map(({ ip, port }) => `${address(ip)}:${hex(port, 4)}`).join(" ");
  return from.ip.includes(":") ? [write(ipv6)] : [write(ipv4), write((ip) => mapped + ipv4(ip))];
}

const isLittle = endianness() === "LE";
const hex = (number: number, digits: number) =>
  number.toString(16).toUpperCase().padStart(digits, "0");
/** Four bytes as the number that the processor takes them for. */
const word = (bytes: readonly number[]) =>
  (isLittle ? bytes.toReversed() : bytes).map((byte) => hex(byte, 2)).join("");
const ipv4 = (ip: string) => word(ip.split(".").map(Number));
const zeros = word([0, 0, 0, 0]);
const mapped = zeros + zeros + word([0, 0, 0xff, 0xff]);

/** Eight groups, those that `::` stands for included. */
function ipv6(ip: string): string {
  const [before = [], after = []] = ip.split("::").map((half) =>
    half
      .split(":")
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16)),
  );
  const between = Array<number>(8 - before.length - after.length).fill(0);
  const bytes = [...before, ...between, ...after].flatMap((group) => [group >> 8, group & 0xff]);
  return [0, 4, 8, 12].map((at) => word(bytes.slice(at, at + 4))).join("");
}
