import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Call } from "../../../../control/bind.ts";
import type { Context } from "../../../../control/context.ts";
import { versionTaskOf } from "../../../../control/services/versions/files.ts";
import { readServiceTask } from "../../../../control/services/versions/task.ts";
import { aPair } from "../../balancer/certificates.ts";

/** A control plane whose uploads hold these files, by the paths that they have in the archive. */
function withUploads(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  now: () => Date = () => new Date(),
) {
  const folder = mkdtempSync(join(tmpdir(), "version-files-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const entries = Object.keys(files).map((path, at) => ({
    ...{ kind: "file", path, size: 1, mode: 0o600, mtimeMs: 1 },
    sha256: String(at),
  }));
  for (const [at, text] of Object.values(files).entries())
    writeFileSync(join(folder, String(at)), text);
  const uploads = {
    open: async () => ({ entries: async () => entries }),
    contentOf: (_user: string, sha256: string) => join(folder, sha256),
  };
  return { uploads, now } as unknown as Context;
}

const printed: string[] = [];
const call = {
  user: { id: "u1", name: "ana" },
  print: (text: string) => void printed.push(text),
} as Call;
const yaml = `service: { ports: 8080, tls: { keyfile: /certs/key.pem, certfile: /certs/cert.pem } }
file_mounts_mapping: { /certs/key.pem: /certs/key.pem, /certs/cert.pem: certs/cert.pem }
run: serve
`;
const open = readServiceTask(yaml, "serve.up");
const [pair, other] = [aPair(), aPair()];

test("key and certificate of a service are read from the upload, wherever a client puts slashes", async (t) => {
  const { key, cert } = aPair();
  const ctx = withUploads(t, { "certs/key.pem": key, "certs/cert.pem": cert });

  const { tls } = await versionTaskOf(ctx, { task: yaml, file_mounts_blob_id: "b" }, open, call);

  assert.deepEqual(tls, { key, cert });
});

/** Days from now, and what is said then of a certificate that was made for one day. */
const days: readonly [number, RegExp][] = [
  [
    -2,
    /^service\.tls: \/certs\/cert\.pem is not valid before 2\S+Z; clients refuse it until then\n$/,
  ],
  [0, /^$/],
  [
    2,
    /^service\.tls: \/certs\/cert\.pem expired at 2\S+Z; clients refuse it until an update brings another\n$/,
  ],
];

for (const [after, remark] of days)
  test(`a certificate is accepted, and remarked on where clients refuse it: after ${after} days`, async (t) => {
    const { key, cert } = pair;
    const at = new Date(Date.now() + after * 86_400_000);
    const ctx = withUploads(t, { "certs/key.pem": key, "certs/cert.pem": cert }, () => at);
    printed.length = 0;

    const { tls } = await versionTaskOf(ctx, { task: yaml, file_mounts_blob_id: "b" }, open, call);

    assert.deepEqual(tls, { key, cert });
    assert.match(printed.join(""), remark);
  });

test("a key that did not come is named", async (t) => {
  const ctx = withUploads(t, { "certs/cert.pem": "" });

  await assert.rejects(versionTaskOf(ctx, { task: yaml, file_mounts_blob_id: "b" }, open, call), {
    name: "ValueError",
    message: "service.tls: /certs/key.pem was not uploaded",
  });
});

const locked = execFileSync("openssl", ["pkey", "-aes256", "-passout", "pass:open-4711"], {
  input: pair.key,
  encoding: "utf8",
});

/** What cannot be used, and what is said of it. */
const wrong: Readonly<Record<string, [typeof pair, string]>> = {
  "empty certificate": [{ ...pair, cert: "" }, "/certs/cert.pem is not a PEM certificate"],
  "key of another": [
    { ...pair, key: other.key },
    "/certs/key.pem is not the key of /certs/cert.pem",
  ],
  "key with a passphrase": [
    { ...pair, key: locked },
    "/certs/key.pem is not a PEM private key without a passphrase",
  ],
  "certificate in the place of a key": [
    { ...pair, key: pair.cert },
    "/certs/key.pem is not a PEM private key without a passphrase",
  ],
};

for (const [name, [{ key, cert }, problem]] of Object.entries(wrong))
  test(`what clients could not be met with is refused, and which file it is: ${name}`, async (t) => {
    const ctx = withUploads(t, { "certs/key.pem": key, "certs/cert.pem": cert });

    await assert.rejects(versionTaskOf(ctx, { task: yaml, file_mounts_blob_id: "b" }, open, call), {
      name: "ValueError",
      message: `service.tls: ${problem}`,
    });
  });
