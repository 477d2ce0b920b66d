/** Somebody who reads events as they happen. */
export interface Reader {
  /** The number of the latest event that was sent to it whole. */
  heard: number;
}
