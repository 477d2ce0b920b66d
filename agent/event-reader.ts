/** Somebody who reads events as they happen. */
export interface Reader {
  /** The number of the latest event that was sent to it whole. */
  heard: number;
  /** Jobs whose logs have grown since it was told. */
  readonly grown: Set<number>;
}
