import { openCopy } from "../../../../control/log-copy.ts";

/** Copies a log into a file, and says when all of it is there. */
const [file = ""] = process.argv.slice(2);
await using copy = await openCopy(file);
await copy.write(0, Buffer.from("saving\n"));
await copy.finish();
process.stdout.write("finished\n");
