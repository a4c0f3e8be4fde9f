/** Where connections enter a vertex: the ports of its symbol, or the inputs of its group. */

import type { Catalogue, Connection, Edit } from "../api/types";
import { capsuleSymbol, MAIN_PORT, putConnection } from "./compose";
import { type Drawing, isUse, type Vertex, vertexOf } from "./drawing";

export interface VertexPort {
  name: string;
  help: string;
  /** What it makes of several connections. */
  kind: "sums" | "gathers" | "keeps" | "single";
  /** Whether nothing need enter it. */
  open: boolean;
}

export function portsOf(catalogue: Catalogue, drawing: Drawing, vertex: Vertex): VertexPort[] {
  if (isUse(vertex))
    return Object.keys(drawing.group.get(vertex.group)?.inputs ?? {}).map((name) => ({
      name,
      help: "",
      kind: "sums",
      open: false,
    }));
  return capsuleSymbol(catalogue, vertex.symbol)?.ports ?? [];
}

/** What enters a port, in the order that counts. */
export const enteringOf = (drawing: Drawing, front: string, port: string): Connection[] =>
  [...drawing.connection.values()].filter((c) => c.front === front && (c.port ?? MAIN_PORT) === port);

/** The port that a line ends at, where its front end has several. */
export function endOf(catalogue: Catalogue, drawing: Drawing, line: Connection): VertexPort | undefined {
  const front = vertexOf(drawing, line.front);
  const ports = front ? portsOf(catalogue, drawing, front) : [];
  return ports.length > 1 ? ports.find((port) => port.name === (line.port ?? MAIN_PORT)) : undefined;
}

/** The number of a line among those that its port keeps apart; nothing where it is alone, or where they mix. */
export function placeOf(catalogue: Catalogue, drawing: Drawing, line: Connection): number | null {
  const front = drawing.capsule.get(line.front);
  const symbol = front && capsuleSymbol(catalogue, front.symbol);
  const port = symbol?.ports.find((one) => one.name === (line.port ?? MAIN_PORT));
  if (port?.kind !== "keeps") return null;
  const all = enteringOf(drawing, line.front, port.name);
  return all.length > 1 ? all.findIndex((one) => one.id === line.id) + 1 : null;
}

type PortWords = Record<"portOf" | "portOptional" | "portNeeded" | "portKeeps", string>;

/** A port in words: its name, what it is for, and whether it may stay open. */
export function portText(port: VertexPort, count: number, word: PortWords): string {
  const missing = count ? "" : port.open ? word.portOptional : word.portNeeded;
  const order = port.kind === "keeps" && count > 1 ? word.portKeeps : "";
  return [`${word.portOf} ${port.name}`, port.help, order, missing].filter(Boolean).join(" · ");
}

/** Let a connection enter another port of its front end. */
export function intoPort(line: Connection, port: string): Edit {
  const { port: _, ...bare } = line;
  const record = port === MAIN_PORT ? bare : { ...bare, port };
  return { label: `let ${line.id} enter ${port}`, patches: [putConnection(record)] };
}

/** Put a connection before the one above it in its port; the order of connections is that of the drawing. */
export function moveEarlier(drawing: Drawing, line: Connection): Edit | undefined {
  const all = enteringOf(drawing, line.front, line.port ?? MAIN_PORT);
  const above = all[all.findIndex((one) => one.id === line.id) - 1];
  if (!above) return undefined;
  const index = [...drawing.connection.keys()].indexOf(above.id);
  return {
    label: `move ${line.id} before ${above.id}`,
    patches: [
      { remove: "connection", id: line.id },
      { put: "connection", id: line.id, record: line, index },
    ],
  };
}
