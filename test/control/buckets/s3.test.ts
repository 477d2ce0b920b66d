import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { openS3 } from "../../../control/buckets/s3.ts";
import { askingS3 } from "../../../control/buckets/s3-asking.ts";
import { presign } from "../../../control/buckets/sigv4.ts";
import { openBucket } from "../../../control/buckets/stores.ts";
import { textIn } from "../../../control/buckets/xml.ts";
import { readConfig } from "../../../control/config.ts";
import { startSource } from "../../helpers/source-server.ts";

const { signal } = new AbortController();
const now = () => new Date();
const toList = <Item>(items: AsyncIterable<Item>): Promise<Item[]> =>
  Readable.from(items).toArray();

/** Source: the example of a presigned address in the documentation of AWS Signature Version 4. */
test("an address is signed as AWS documents it", () => {
  const signed = presign(
    {
      method: "GET",
      url: new URL("https://examplebucket.s3.amazonaws.com/test.txt"),
      region: "us-east-1",
      seconds: 86_400,
      at: new Date("2013-05-24T00:00:00Z"),
    },
    { id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" },
  );

  const signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
  assert.equal(new URL(signed).searchParams.get("X-Amz-Signature"), signature);
});

test("text in XML is read with its entities", () => {
  assert.equal(textIn("<a><Key>&lt;&#65;&#x42;&amp;&nope;</Key></a>", "Key"), "<AB&&nope;");
  assert.equal(textIn("<a/>", "Key"), undefined);
});

test("a busy store is asked again, and one elsewhere in its region", async (t) => {
  const source = await startSource(t);
  const paths: string[] = [];
  source.intercept = (req, res) => {
    paths.push(req.url ?? "");
    if (paths.length === 1) res.writeHead(503).end("<Code>SlowDown</Code>");
    if (paths.length === 2) res.writeHead(301, { "x-amz-bucket-region": "eu-1" }).end();
    if (paths.length === 3)
      res.end("<Contents><Key>k</Key><Size>3</Size><ETag>&quot;e&quot;</ETag></Contents>");
    return true;
  };
  const endpoint = `${source.url}/{region}`;
  const address = { name: "s3://b", endpoint, region: "us-1", bucket: "b", keys: undefined };

  const objects = await toList(openS3(address, now, 1).list("", signal));

  assert.deepEqual(objects, [{ key: "k", size: 3, etag: '"e"' }]);
  assert.deepEqual(
    paths.map((path) => path.split("/")[1]),
    ["us-1", "us-1", "eu-1"],
  );
});

test("no key is an object of another bucket", () => {
  const keys = { id: "id", secret: "secret" };
  const { addressOf } = askingS3(
    { name: "s3://mine", endpoint: "https://s3.example", region: "r", bucket: "mine", keys },
    now,
  );

  for (const key of ["../other/x", "a/../../other", "."])
    assert.throws(() => addressOf({ key }), {
      type: "ValueError",
      message: /s3:\/\/mine: objects/,
    });
  assert.match(addressOf({ key: "a/..b" }), /^https:\/\/s3\.example\/mine\/a\/\.\.b\?/);
});

test("a store that stays busy says so in the end", async (t) => {
  const source = await startSource(t);
  let asked = 0;
  source.intercept = (_req, res) => {
    asked += 1;
    return Boolean(res.writeHead(503).end("<Code>SlowDown</Code>"));
  };
  const address = {
    name: "s3://b",
    endpoint: source.url,
    region: "r",
    bucket: "b",
    keys: undefined,
  };

  await assert.rejects(toList(openS3(address, now, 1).list("", signal)), {
    name: "RateLimitError",
    message: "s3://b is too busy; try again later (503 SlowDown)",
  });

  assert.equal(asked, 6);
});

test("the keys of control are for the buckets that its settings name", (t) => {
  const home = mkdtempSync(join(tmpdir(), "keys-"));
  t.after(() => rmSync(home, { recursive: true }));
  const file = join(home, "keys");
  writeFileSync(file, "[default]\naws_access_key_id = id\naws_secret_access_key = s\n");
  const addressIn = (uri: string, env: Record<string, string> = {}) => {
    const config = readConfig({ OUTRIGGER_HOME: home, OUTRIGGER_S3_KEYS_FILE: file, ...env });
    return openBucket({ config, now }, uri, undefined).bucket.addressOf("k");
  };
  const limited = { OUTRIGGER_S3_BUCKETS: "one, two" };

  assert.match(addressIn("s3://any"), /X-Amz-Signature/);
  assert.match(addressIn("s3://two", limited), /X-Amz-Signature/);
  assert.doesNotMatch(addressIn("s3://any", limited), /X-Amz-/);
});
