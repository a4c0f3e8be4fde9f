/** Couriers: edits that other tabs left behind when they died, brought to the server under the names of those tabs. */

import { free, hold } from "./identity";
import { type Keeper, Live, type Socket } from "./live";
import { Mirror } from "./mirror";
import type { Orphan } from "./outbox";

/** Milliseconds between two looks. */
const LOOK_EVERY = 3000;

const nothing = () => undefined;

/** Bring what one tab left; the server counts its edits by its name, so each is applied once, whoever brings it. */
export function bring(
  orphan: Orphan,
  connectTo: () => Socket,
  keeper: Keeper,
  refused: (message: string) => void,
): Live {
  const mirror = new Mirror(orphan.client, orphan.pending);
  const ended = () => {
    if (!mirror.pending.length) courier.stop();
  };
  const courier: Live = new Live(
    mirror,
    connectTo,
    {
      ...{
        drawing: nothing,
        report: nothing,
        layout: nothing,
        clients: nothing,
        outside: nothing,
        trouble: nothing,
        steps: nothing,
      },
      status: (status) => status === "live" && ended(),
      refused: (message) => {
        refused(message);
        ended();
      },
      done: ended,
    },
    keeper,
  );
  courier.start();
  return courier;
}

/** Looks for what other tabs of this browser have left of a drawing, as long as it is open, and has it brought. */
export class Couriers {
  private readonly sent = new Map<string, Live>();
  /** The names that were free at the last look. */
  private missing: Set<string> | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;

  constructor(
    private readonly self: string,
    private readonly left: () => Promise<Orphan[]>,
    private readonly send: (orphan: Orphan) => Live,
  ) {}

  /** Look now and, where the browser tells who lives, again and again: a tab may die at any time. */
  async look(): Promise<void> {
    const others = (await this.left()).map((one) => one.client).filter((client) => this.mayBeGone(client));
    const missing = new Set(await free(others));
    // A tab that is loaded anew holds its name again a moment later: one look is enough only when this tab opens.
    const before = this.missing ?? missing;
    this.missing = missing;
    const gone = new Set<string>();
    for (const client of missing) if (before.has(client) && (await hold(client))) gone.add(client);
    // A tab that is gone writes nothing any more: what is there now is all of it.
    for (const orphan of gone.size ? await this.left() : [])
      if (gone.has(orphan.client) && !this.stopped) this.sent.set(orphan.client, this.send(orphan));
    if (navigator.locks && !this.stopped) this.timer = setTimeout(() => void this.look(), LOOK_EVERY);
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    for (const courier of this.sent.values()) courier.stop();
  }

  /** Tell whether a name is another's, and nobody is under way for it. */
  private mayBeGone(client: string): boolean {
    return client !== this.self && !this.sent.get(client)?.mirror.pending.length;
  }
}
