/** What was read in the last while; callers share one answer, also while it is still on its way. */
export function cached<T>(ms: number, read: () => Promise<T>) {
  let last: { at: number; isPending: boolean; answer: Promise<T> } | undefined;
  return {
    read(): Promise<T> {
      if (last?.isPending || (last !== undefined && performance.now() - last.at < ms))
        return last.answer;
      const answer = read();
      const now = { at: performance.now(), isPending: true, answer };
      last = now;
      answer.then(
        () => {
          now.isPending = false;
        },
        () => {
          if (last === now) last = undefined;
        },
      );
      return answer;
    },
    forget(): void {
      last = undefined;
    },
  };
}
