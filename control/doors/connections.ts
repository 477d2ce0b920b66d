import { Client, Dispatcher } from "undici";

/**
 * Connections to one agent, one for each exchange at a time; those that rest are used again. Time limits are set by
 * call, as events and logs stay open for as long as there is something to tell. Undici's `Pool` does the same,
 * but takes 16 KiB for each agent, for exchanges that wait for a connection, and forgets none that has ended.
 */
export const openConnections = (connect: Connect): Dispatcher => new Connections(connect);

/** How a connection is made. */
type Connect = NonNullable<Client.Options["connect"]>;

const restMs = 15_000;

class Connections extends Dispatcher {
  readonly #connect: Connect;
  #clients: Client[] = [];
  /** Set once they are closed: it refuses whatever comes later. */
  #closed: Client | undefined;

  constructor(connect: Connect) {
    super();
    this.#connect = connect;
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const resting = this.#clients.find(({ stats }) => stats.size === 0);
    return (this.#closed ?? resting ?? this.#open()).dispatch(options, handler);
  }

  override async close(): Promise<void> {
    await this.#end((client) => client.close());
  }

  override async destroy(): Promise<void> {
    await this.#end((client) => client.destroy());
  }

  #open(): Client {
    const client = new Client("http://agent", {
      connect: this.#connect,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: restMs,
    });
    this.#clients.push(client);
    client.on("disconnect", () => this.#forget(client));
    return client;
  }

  #forget(client: Client): void {
    if (client.stats.size > 0) return;
    this.#clients = this.#clients.filter((one) => one !== client);
  }

  async #end(end: (client: Client) => Promise<void>): Promise<void> {
    const clients = this.#clients;
    this.#closed ??= clients[0] ?? this.#open();
    await Promise.all([...clients, this.#closed].map(end));
  }
}
