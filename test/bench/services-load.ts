import { openModelClient } from "../helpers/model-client.ts";
import { type Load, startLoad } from "../helpers/model-load.ts";

/**
 * Asks a service for what is listed, for streams, and for whole answers, in turns. A message says how
 * many requests a second come from then on, and is answered with what came of those before.
 */
const [endpoint = "", key = ""] = process.argv.slice(2);
const client = openModelClient(endpoint, key);
let load: Load | undefined;

process.on("message", async (perSecond: number) => {
  const before = load;
  // There is no gap between the two.
  load = startLoad(client, perSecond, "mixed");
  process.send?.((await before?.stop()) ?? { failed: [], answered: [] });
});
process.once("disconnect", () => process.exit(0));
