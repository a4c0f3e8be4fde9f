/** The outbox: pending edits of every tab, in IndexedDB, so that a browser that dies loses none that it has kept. */

import type { Pending } from "./mirror";

const NAME = "inkcap-outbox";
const STORE = "pending";

interface Kept {
  drawing: string;
  client: string;
  number: number;
  pending: Pending;
}

export interface Orphan {
  client: string;
  pending: Pending[];
}

/** Wait for what IndexedDB was asked for. */
export function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * Change a store and let the change last at once.
 *
 * A transaction that is left to itself ends only when the page has heard of its success, which a page that is busy
 * drawing hears late and one that dies never.
 */
export function write<T>(store: IDBObjectStore, change: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const request = change(store);
  store.transaction.commit();
  return done(request);
}

export class Outbox {
  private constructor(private readonly database: IDBDatabase) {}

  static async open(factory: IDBFactory = indexedDB): Promise<Outbox> {
    const request = factory.open(NAME, 1);
    request.onupgradeneeded = () => {
      const store = request.result.createObjectStore(STORE, { keyPath: ["drawing", "client", "number"] });
      store.createIndex("drawing", "drawing");
    };
    return new Outbox(await done(request));
  }

  async keep(drawing: string, client: string, pending: Pending): Promise<void> {
    const kept: Kept = { drawing, client, number: pending.number, pending };
    await write(this.store("readwrite"), (store) => store.put(kept));
  }

  async forget(drawing: string, client: string, number: number): Promise<void> {
    await write(this.store("readwrite"), (store) => store.delete([drawing, client, number]));
  }

  /** What tabs have left of a drawing, by tab, each in order. */
  async left(drawing: string): Promise<Orphan[]> {
    const kept = await done<Kept[]>(this.store("readonly").index("drawing").getAll(drawing));
    const clients = new Map<string, Pending[]>();
    for (const one of kept) clients.set(one.client, [...(clients.get(one.client) ?? []), one.pending]);
    return [...clients].map(([client, pending]) => ({
      client,
      pending: pending.sort((a, b) => a.number - b.number),
    }));
  }

  private store(mode: IDBTransactionMode): IDBObjectStore {
    return this.database.transaction(STORE, mode).objectStore(STORE);
  }
}
