/**
 * The names under which tabs of this browser had drawings open, in IndexedDB. A browser that dies takes its session
 * with it; whoever comes back goes on under the old name, and so with the old undo.
 */

import { done, write } from "./outbox";

const NAME = "inkcap-tabs";
const STORE = "tab";

export interface Known {
  drawing: string;
  client: string;
  /** The number of its next edit, as far as it was written down. */
  next: number;
  /** When it last made an edit, or was opened. */
  time: number;
}

export class Names {
  private constructor(private readonly database: IDBDatabase) {}

  static async open(factory: IDBFactory = indexedDB): Promise<Names> {
    const request = factory.open(NAME, 1);
    request.onupgradeneeded = () => {
      const store = request.result.createObjectStore(STORE, { keyPath: ["drawing", "client"] });
      store.createIndex("drawing", "drawing");
    };
    return new Names(await done(request));
  }

  async remember(drawing: string, client: string, next: number): Promise<void> {
    const known: Known = { drawing, client, next, time: Date.now() };
    await write(this.store("readwrite"), (store) => store.put(known));
  }

  /** The names that a drawing was open under, the newest first. */
  async of(drawing: string): Promise<Known[]> {
    const known = await done<Known[]>(this.store("readonly").index("drawing").getAll(drawing));
    return known.sort((a, b) => b.time - a.time);
  }

  private store(mode: IDBTransactionMode): IDBObjectStore {
    return this.database.transaction(STORE, mode).objectStore(STORE);
  }
}
