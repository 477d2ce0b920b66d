/**
 * What was read in the last while. Callers share one answer, which was not begun longer ago than that: those who come
 * while an older one is on its way get the one after it.
 */
export function cached<T>(ms: number, read: () => Promise<T>) {
  let last: { at: number; answer: Promise<T> } | undefined;
  let isPending = false;
  let next: Promise<T> | undefined;

  function begin(): Promise<T> {
    const answer = read();
    const now = { at: performance.now(), answer };
    [last, isPending] = [now, true];
    const over = () => {
      if (last === now) isPending = false;
    };
    answer.then(over, () => {
      over();
      if (last === now) last = undefined;
    });
    return answer;
  }

  return {
    read(): Promise<T> {
      if (last !== undefined && performance.now() - last.at < ms) return last.answer;
      if (last === undefined || !isPending) return begin();
      const again = () => {
        next = undefined;
        return begin();
      };
      next ??= last.answer.then(again, again);
      return next;
    },
    forget(): void {
      last = undefined;
    },
  };
}
