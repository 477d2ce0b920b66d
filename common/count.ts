/** `1 cluster`, `2 clusters`. */
export const count = (many: number, noun: string): string =>
  `${many} ${noun}${many === 1 ? "" : "s"}`;
