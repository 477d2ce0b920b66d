const heldAtMost = 65_536;

/** What bytes come from. */
interface Source {
  pause(): unknown;
  resume(): unknown;
}

/** The bytes that come over one connection, in whatever pieces: keeps those that must wait. */
export class Intake {
  /** How many of the bytes that `add` and `release` answered are to be looked at. */
  to = 0;
  #held: Buffer | undefined;
  #isPaused = false;

  /** Answers what was held, and after it the bytes that came. */
  add(bytes: Buffer, to: number): Buffer {
    const held = this.#held;
    this.#held = undefined;
    const all = held === undefined ? bytes : Buffer.concat([held, bytes.subarray(0, to)]);
    this.to = held === undefined ? to : all.length;
    return all;
  }

  /** Keeps bytes for later; there are none yet. Answers whether they are as many as may wait. */
  hold(bytes: Buffer, from: number, to: number): boolean {
    this.#held = Buffer.from(bytes.subarray(from, to));
    return to - from >= heldAtMost;
  }

  /** Answers what was held, without more. */
  release(): Buffer | undefined {
    const held = this.#held;
    this.#held = undefined;
    this.to = held?.length ?? 0;
    return held;
  }

  get isEmpty(): boolean {
    return this.#held === undefined;
  }

  /** Reads no more until `resume`. */
  pause(source: Source): void {
    this.#isPaused = true;
    source.pause();
  }

  resume(source: Source): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    source.resume();
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }
}
