import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { request } from "undici";
import { encode, type Keys, presign } from "../../control/buckets/sigv4.ts";
import { until } from "./agent.ts";
import { claimPorts } from "./ports.ts";

/** A real server that speaks S3 over a folder: https://github.com/versity/versitygw. */
export interface S3Store {
  readonly endpoint: `http${string}`;
  readonly keys: Keys;
  /** A folder for each bucket. */
  readonly folder: string;
  makeBucket(name: string): void;
  put(path: string, bytes: Buffer | string): Promise<void>;
  /** Uploads an object in parts of this size. */
  putInParts(path: string, parts: Iterable<Buffer>): Promise<void>;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const version = "v1.8.0";
const module = `github.com/versity/versitygw/cmd/versitygw@${version}`;
const keys: Keys = { id: "test-key", secret: "secret-of-the-store" };
const places = ["versitygw", join(homedir(), "go/bin/versitygw")];
const found = places.find((place) => spawnSync(place, ["--version"]).status === 0);

/** Why no test can have such a server; false where it is installed. */
export const whyNoS3: string | false =
  found === undefined && `versitygw is not installed: go install ${module}`;

/** Starts a store that ends with the test; GCS calls its region `auto`. */
export async function startS3(t: Cleaner, region = "us-east-1"): Promise<S3Store> {
  const root = mkdtempSync(join(tmpdir(), "s3-"));
  const folder = join(root, "buckets");
  mkdirSync(folder);
  const { document: port } = await claimPorts(t);
  const address = `127.0.0.1:${port}`;
  const env = { ...process.env, ROOT_ACCESS_KEY: keys.id, ROOT_SECRET_KEY: keys.secret };
  const args = ["--port", address, "--region", region, "--quiet", "posix", folder];
  const server = spawn(found ?? "", args, { stdio: "ignore", env });
  t.after(async () => {
    await endOf(server);
    rmSync(root, { recursive: true, force: true });
  });
  const endpoint = `http://${address}` as const;
  await until(async () => {
    const answer = await request(endpoint).catch(() => undefined);
    await answer?.body.dump();
    return answer;
  });

  async function call(method: "PUT" | "POST", path: string, body: Buffer | string = "") {
    const url = new URL(`${endpoint}/${path}`);
    const signed = presign({ method, url, region, seconds: 60, at: new Date() }, keys);
    const answer = await request(signed, { method, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${method} ${path}: ${text}`);
    return { text, etag: String(answer.headers["etag"]) };
  }

  return {
    ...{ endpoint, keys, folder },
    makeBucket: (name) => void mkdirSync(join(folder, name)),
    put: async (path, bytes) =>
      void (await call("PUT", path.split("/").map(encode).join("/"), bytes)),
    async putInParts(path, parts) {
      const { text } = await call("POST", `${path}?uploads=`);
      const id = /<UploadId>(.*?)<\/UploadId>/.exec(text)?.[1];
      let list = "";
      let number = 0;
      for (const part of parts) {
        number += 1;
        const { etag } = await call("PUT", `${path}?partNumber=${number}&uploadId=${id}`, part);
        list += `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`;
      }
      const whole = `<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`;
      await call("POST", `${path}?uploadId=${id}`, whole);
    },
  };
}

async function endOf(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const exit = once(server, "exit");
  server.kill("SIGKILL");
  await exit;
}
