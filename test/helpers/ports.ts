import { createServer } from "node:net";

/** Ports that no other test has. */
export interface OwnPorts {
  /** For documents of services. */
  readonly document: number;
  /** As settings write them. */
  readonly balancers: string;
  readonly replicas: string;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Below those that the system gives to whoever asks for any, and those that nobody has configured. */
const first = 10_000;
const end = 20_000;
const step = 50;

/** Takes ports until the test is over. They are taken from whoever asks here: nobody listens there. */
export async function claimPorts(t: Cleaner): Promise<OwnPorts> {
  for (let claim = first; claim < end; claim += step) {
    const release = await listen(claim);
    if (release === undefined) continue;
    t.after(release);
    return {
      document: claim + 1,
      balancers: `${claim + 2}-${claim + 9}`,
      replicas: `${claim + 10}-${claim + step - 1}`,
    };
  }
  throw new Error(`all ports from ${first} to ${end} are taken`);
}

/** Listening is a claim that ends with its process; undefined when somebody else has it. */
function listen(port: number): Promise<(() => Promise<void>) | undefined> {
  const { promise, resolve } = Promise.withResolvers<(() => Promise<void>) | undefined>();
  const server = createServer().unref();
  const release = async () => void server.close();
  server.once("error", () => resolve(undefined));
  server.listen(port, "127.0.0.1", () => resolve(release));
  return promise;
}
