import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, beforeEach, test } from "node:test";
import { type FetchedContent, FetchNews } from "../../../contract/files-api.ts";
import { linesOf as readLines } from "../../../contract/frames.ts";
import { startAgent, until } from "../../helpers/agent.ts";
import { linesOf, sha256Of } from "../../helpers/files.ts";
import { startSource } from "../../helpers/source-server.ts";

const agent = await startAgent({ after });
const source = await startSource({ after });
const mebibyte = 2 ** 20;
const contents = join(agent.home, ".outrigger/agent/files/contents");
const read = (sha256: string) => readFileSync(join(contents, sha256));

beforeEach(() => {
  source.intercept = () => false;
  source.hasRanges = true;
  source.asked.splice(0);
  source.sent = 0;
});

/** Serves bytes at a path of their own; how a node is told of them. */
function serve(bytes: Buffer, more: Partial<FetchedContent> = {}): FetchedContent {
  const path = `/${source.files.size}`;
  const etag = `"v${path}"`;
  source.files.set(path, { bytes, etag });
  return {
    ...{ sha256: sha256Of(`${path} ${etag}`), size: bytes.length, name: `the file ${path}` },
    ...{ url: `${source.url}${path}`, headers: {}, version: etag, hasRanges: true, digest: null },
    ...more,
  };
}

/** Has the agent fetch; how it ended. */
async function fetched(...wanted: FetchedContent[]) {
  const { body } = await agent.open("fetchContents", {}, Readable.from([linesOf(wanted)]));
  let end: FetchNews | undefined;
  for await (const line of readLines(body)) end = FetchNews.parse(JSON.parse(line));
  assert.ok(end !== undefined && "problem" in end, "it does not say how it ended");
  return end.problem;
}

test("contents are fetched side by side and in parts, and are retained", async () => {
  const large = randomBytes(40 * mebibyte);
  const wanted = [serve(large), serve(Buffer.from("small")), serve(Buffer.alloc(0))];

  assert.equal(await fetched(...wanted), null);

  assert.ok(read(wanted[0]?.sha256 ?? "").equals(large));
  assert.equal(read(wanted[1]?.sha256 ?? "").toString(), "small");
  assert.equal(read(wanted[2]?.sha256 ?? "").length, 0);
  assert.equal(source.asked.filter(({ path }) => path === "/0").length, 3);
  assert.deepEqual(
    readdirSync(contents).filter((name) => name.includes(".")),
    [],
  );
  assert.equal(await fetched(...wanted), null);
  assert.equal(source.asked.length, 4);
});

test("after a kill only the parts that are not there are fetched", async () => {
  const bytes = randomBytes(64 * mebibyte);
  const content = serve(bytes);
  // The first two parts come; the others begin and stall.
  source.intercept = (req, res) => {
    const [, first] = /=(\d+)-/.exec(req.headers.range ?? "") ?? [];
    if (Number(first) < 32 * mebibyte) return false;
    res.writeHead(206, {
      "content-range": `bytes ${first}-${bytes.length - 1}/${bytes.length}`,
      etag: `${content.version}`,
    });
    res.write(Buffer.alloc(1_000));
    return true;
  };
  const broken = fetched(content).catch(() => "broken");
  const notes = join(contents, `${content.sha256}.done`);
  await until(
    () => (existsSync(notes) && readFileSync(notes, "utf8").split("\n").length === 4) || undefined,
  );

  await agent.end("SIGKILL");
  assert.equal(await broken, "broken");
  await agent.start();
  source.intercept = () => false;
  source.sent = 0;

  assert.equal(await fetched(content), null);
  assert.equal(source.sent, 32 * mebibyte);
  assert.ok(read(content.sha256).equals(bytes));
});

test("a part goes on where its connection broke off, and after a source was busy", async () => {
  const bytes = randomBytes(4 * mebibyte);
  const content = serve(bytes);
  let calls = 0;
  source.intercept = (_req, res) => {
    calls += 1;
    if (calls === 1) res.writeHead(503, { "retry-after": "0.01" }).end("<Code>SlowDown</Code>");
    if (calls === 2) res.writeHead(429).end();
    if (calls === 3) {
      const range = `bytes 0-${bytes.length - 1}/${bytes.length}`;
      res.writeHead(206, { "content-range": range, etag: `${content.version}` });
      res.write(bytes.subarray(0, mebibyte), () => res.destroy());
    }
    return calls <= 3;
  };

  assert.equal(await fetched(content), null);
  assert.ok(read(content.sha256).equals(bytes));
  const [, , , last] = source.asked;
  assert.ok((last?.offset ?? 0) > 0, "it began again");
});

const refusals = [
  [
    403,
    "<Code>AccessDenied</Code>",
    "PermissionDeniedError",
    /refuses access.*\(403 AccessDenied\)/,
  ],
  [404, "<Code>NoSuchBucket</Code>", "NotFoundError", /is not there \(404 NoSuchBucket\)/],
  [418, "", "StorageError", /cannot be read \(418\)/],
] as const;

for (const [status, text, type, message] of refusals)
  test(`a source that answers ${status} is told of as ${type}, and nothing is tried again`, async () => {
    const content = serve(Buffer.from("text"));
    source.intercept = (_req, res) => Boolean(res.writeHead(status).end(text));

    const problem = await fetched(content);

    assert.equal(problem?.type, type);
    assert.match(problem.message, message);
    assert.match(problem.message, /^the file \/\d+ /);
    assert.equal(source.asked.length, 1);
  });

test("another version, or other bytes than the digest says, are refused", async () => {
  const content = serve(Buffer.from("text"));
  const other = { ...content, version: '"earlier"' };
  assert.equal((await fetched(other))?.type, "ConflictError");

  const digest = { algorithm: "md5", hex: "0".repeat(32) } as const;
  const problem = await fetched({ ...content, digest });
  assert.equal(problem?.type, "StorageError");
  assert.match(problem.message, /came with other bytes/);
  assert.equal(await fetched(content), null);
});

test("an ETag of an encrypted object is taken for no digest", async () => {
  const digest = { algorithm: "md5", hex: "0".repeat(32) } as const;
  const content = serve(Buffer.from("text"), { digest });
  source.intercept = (_req, res) => {
    res.setHeader("x-amz-server-side-encryption", "aws:kms");
    return false;
  };

  assert.equal(await fetched(content), null);
});

test("a digest that a user gave is checked also where a server says that it encrypts", async () => {
  const digest = { algorithm: "sha256", hex: "0".repeat(64) } as const;
  const content = serve(Buffer.from("text"), { digest });
  source.intercept = (_req, res) => {
    res.setHeader("x-amz-server-side-encryption", "aws:kms");
    return false;
  };

  assert.equal((await fetched(content))?.type, "StorageError");
});

test("a server without ranges is read from the start to the end", async () => {
  source.hasRanges = false;
  const bytes = randomBytes(20 * mebibyte);
  const content = serve(bytes);
  const { name, url, version } = content;

  const probed = await agent.call("probeSource", { name, url });
  assert.deepEqual(probed, { size: bytes.length, version, hasRanges: false });
  assert.equal(await fetched({ ...content, hasRanges: false }), null);
  assert.ok(read(content.sha256).equals(bytes));
});

test("a redirect to another server takes no key along", async (t) => {
  const other = await startSource(t);
  other.files.set("/there", { bytes: Buffer.from("text"), etag: '"1"' });
  const content = serve(Buffer.from("text"));
  source.intercept = (_req, res) =>
    Boolean(res.writeHead(302, { location: `${other.url}/there` }).end());
  const headers = { authorization: "Bearer secret" };

  assert.equal(await fetched({ ...content, version: '"1"', headers }), null);
  assert.equal(source.asked[0]?.authorization, "Bearer secret");
  assert.equal(other.asked[0]?.authorization, undefined);
});
