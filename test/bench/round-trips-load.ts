import { Client } from "undici";
import { headerNames, protocol } from "../../common/product.ts";

const [endpoint = "", clients, warmUpMs, measureMs] = process.argv.slice(2);
const begin = performance.now() + Number(warmUpMs);
const end = begin + Number(measureMs);

const [versionHeader = ""] = headerNames("API-Version");
const [idHeader = ""] = headerNames("Request-ID").map((name) => name.toLowerCase());
const own = { [versionHeader]: String(protocol.apiVersion) };
const posted = { ...own, "content-type": "application/json" };
const question = JSON.stringify({
  env_vars: { OUTRIGGER_USER_ID: "bench", OUTRIGGER_USER: "bench" },
});

setTimeout(() => process.send?.("warm"), Number(warmUpMs));
const times = await Promise.all(Array.from({ length: Number(clients) }, askAgainAndAgain));
process.send?.(times.flat(), () => process.disconnect());

/** One client on a connection of its own; the times of its measured round trips in ms. */
async function askAgainAndAgain(): Promise<number[]> {
  const client = new Client(endpoint);
  const times: number[] = [];
  for (let since = performance.now(); since < end; ) {
    await roundTrip(client);
    const now = performance.now();
    if (since >= begin && now <= end) times.push(now - since);
    since = now;
  }
  await client.close();
  return times;
}

async function roundTrip(client: Client): Promise<void> {
  const stored = await client.request({
    ...{ method: "POST", path: "/status", headers: posted, body: question },
  });
  await stored.body.dump();
  const id = stored.headers[idHeader];
  const answer = await client.request({
    ...{ method: "GET", path: `/api/get?request_id=${id}`, headers: own },
  });
  const { status } = (await answer.body.json()) as { status: string };
  if (status !== "SUCCEEDED") throw new Error(`request ${id} is ${status}`);
}
