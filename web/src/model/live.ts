/** The live connection of one tab to one drawing: sends what is pending, takes what is applied, comes back by itself. */

import type { Attributes, Edit, FromServer, Layout, Report, Steps, ToServer } from "../api/types";
import type { Drawing } from "./drawing";
import { unpacked } from "./findings";
import { isEdit, type Mirror, type Pending } from "./mirror";

export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: { data: unknown } & never) => void) | null;
  onclose: ((event: never) => void) | null;
}

export type Status = "connecting" | "live" | "away";

export interface Listener {
  drawing(drawing: Drawing): void;
  report(report: Report, layout: Layout | null): void;
  /** A large drawing has its places before its report. */
  layout(layout: Layout | null): void;
  status(status: Status): void;
  clients(count: number): void;
  refused(message: string, pending: Pending | undefined): void;
  outside(edit: Edit): void;
  trouble(message: string): void;
  steps(steps: Steps): void;
  /** Something of this tab was applied; a command's effect is known by its edit. */
  done(number: number, edit: Edit, made: string[]): void;
}

export interface Keeper {
  keep(pending: Pending): void;
  forget(number: number): void;
}

const SLOWEST = 4000;

export class Live {
  private socket: Socket | null = null;
  private open = false;
  private stopped = false;
  private wait = 150;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly mirror: Mirror,
    private readonly connectTo: () => Socket,
    private readonly listener: Listener,
    private readonly keeper: Keeper,
  ) {}

  start(): void {
    this.listener.drawing(this.mirror.drawing);
    this.connect();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  edit(edit: Edit): number {
    const pending = this.mirror.edit(edit);
    this.hold(pending);
    this.listener.drawing(this.mirror.drawing);
    return pending.number;
  }

  command(command: string, given: Attributes): number {
    const pending = this.mirror.command(command, given);
    this.hold(pending);
    return pending.number;
  }

  answerFile(accept: boolean): void {
    if (this.open) this.say({ type: accept ? "accept-file" : "keep-ours" });
  }

  private hold(pending: Pending): void {
    this.keeper.keep(pending);
    if (this.open) this.sendPending(pending);
  }

  private connect(): void {
    this.listener.status("connecting");
    const socket = this.connectTo();
    this.socket = socket;
    socket.onopen = () => this.say({ type: "hello", client: this.mirror.client, seen: this.mirror.seq });
    socket.onmessage = (event: { data: unknown }) => this.hear(JSON.parse(String(event.data)) as FromServer);
    socket.onclose = () => this.lost();
  }

  private lost(): void {
    this.open = false;
    this.socket = null;
    if (this.stopped) return;
    this.listener.status("away");
    this.timer = setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(this.wait * 2, SLOWEST);
  }

  private hear(message: FromServer): void {
    if (message.type === "state") {
      this.wait = 150;
      this.open = true;
      this.mirror.reset(message.seq, message.document, message.acknowledged ?? 0);
      this.listener.steps(message);
      // The layout comes first: without it every place would be guessed, for one moment that nobody sees.
      if (message.report) this.listener.report(unpacked(message.report), message.layout);
      else this.listener.layout(message.layout);
      this.listener.drawing(this.mirror.drawing);
      this.listener.clients(message.clients);
      this.listener.status("live");
      for (const pending of this.mirror.pending) this.sendPending(pending);
    } else if (message.type === "applied") {
      const own = this.mirror.applied(message.seq, message.client, message.number, message.edit);
      this.listener.drawing(this.mirror.drawing);
      if ("can_undo" in message) this.listener.steps(message);
      if (own && message.number !== null) {
        this.keeper.forget(message.number);
        this.listener.done(message.number, message.edit, message.made ?? []);
      }
    } else if (message.type === "rejected") {
      const refused = message.number === null ? undefined : this.mirror.rejected(message.number);
      if (message.number !== null) this.keeper.forget(message.number);
      this.listener.drawing(this.mirror.drawing);
      this.listener.refused(message.message, refused);
    } else if (message.type === "report") this.listener.report(unpacked(message.report), message.layout ?? null);
    else if (message.type === "file") {
      if (message.change === "outside" && message.edit) this.listener.outside(message.edit);
      else this.listener.trouble(message.message || "The drawing's file was deleted outside the studio.");
    } else if (message.type === "unsaved") this.listener.trouble(message.message);
    else if (message.type === "clients") this.listener.clients(message.clients);
  }

  private sendPending(pending: Pending): void {
    if (isEdit(pending)) this.say({ type: "edit", ...pending });
    else this.say({ type: "command", ...pending });
  }

  private say(message: ToServer): void {
    this.socket?.send(JSON.stringify(message));
  }
}
