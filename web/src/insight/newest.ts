/** Questions that come faster than answers: one at a time, and of those that wait only the newest. */

export function newestOnly<Q, A>(
  ask: (question: Q) => Promise<A>,
  take: (answer: A, question: Q) => void,
  trouble: (error: unknown) => void,
): { ask: (question: Q) => void; stop: () => void } {
  let busy = false;
  let waiting: { question: Q } | null = null;
  let stopped = false;
  const run = async (question: Q) => {
    busy = true;
    try {
      const answer = await ask(question);
      if (!stopped) take(answer, question);
    } catch (error) {
      if (!stopped && !waiting) trouble(error);
    } finally {
      busy = false;
      const next = waiting;
      waiting = null;
      if (next && !stopped) void run(next.question);
    }
  };
  return {
    ask: (question) => {
      if (stopped) return;
      if (busy) waiting = { question };
      else void run(question);
    },
    stop: () => {
      stopped = true;
      waiting = null;
    },
  };
}
