import { Duplex } from "node:stream";

/**
 * A channel that another SSH connection runs over. Each connection of ssh2 works in buffers that all of
 * them share, so none may begin while the other is at it: what one writes the other sees a turn later.
 */
export function apart(channel: Duplex): Duplex {
  let isOver = false;
  const way = new Duplex({
    allowHalfOpen: false,
    read: () => void channel.resume(),
    write: (chunk, _encoding, done) => void setImmediate(() => channel.write(chunk, done)),
    writev: (parts, done) => {
      const chunk = Buffer.concat(parts.map((part) => part.chunk));
      setImmediate(() => channel.write(chunk, done));
    },
    final: (done) => {
      channel.end();
      done();
    },
    destroy: (error, done) => {
      channel.destroy();
      done(error);
    },
  });
  const pass = (chunk: Buffer | null) =>
    setImmediate(() => {
      if (isOver || way.destroyed) return;
      isOver = chunk === null;
      if (!way.push(chunk)) channel.pause();
    });
  channel.on("data", pass);
  for (const end of ["end", "close"]) channel.once(end, () => pass(null));
  channel.on("error", (error) => way.destroy(error));
  return way;
}
