/** Couriers: edits that other tabs left behind when they died, brought to the server under the names of those tabs. */

import { hold } from "./identity";
import { type Keeper, Live, type Socket } from "./live";
import { Mirror } from "./mirror";
import type { Orphan } from "./outbox";

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

/** Find the tabs that are gone for good: whoever lives holds its own name. */
export async function abandoned(left: Orphan[], self: string): Promise<Orphan[]> {
  const gone: Orphan[] = [];
  for (const one of left) if (one.client !== self && (await hold(one.client))) gone.push(one);
  return gone;
}
