/** Compose: the edits that gestures make, each one whole. */

import type {
  Attributes,
  Capsule,
  CapsuleSymbol,
  Catalogue,
  Connection,
  ConnectionSymbol,
  Edit,
  Patch,
  Point,
  Rank,
  Use,
  Value,
} from "../api/types";
import { type Drawing, isUse, touching, type Vertex, vertexOf } from "./drawing";

export interface FaceChoice {
  symbol: CapsuleSymbol;
  rank: Rank;
}

export const MAIN_PORT = "in";

export const capsuleSymbol = (catalogue: Catalogue, id: string): CapsuleSymbol | undefined =>
  catalogue.capsules.find((symbol) => symbol.id === id);

export const connectionSymbol = (catalogue: Catalogue, id: string): ConnectionSymbol | undefined =>
  catalogue.connections.find((symbol) => symbol.id === id);

/** Ids as the paper gives them: a, b, c … z, then a2, b2 … */
export function freshId(drawing: Drawing): string {
  for (let round = 1; ; round++) {
    for (const letter of "abcdefghijklmnopqrstuvwxyz") {
      const id = round === 1 ? letter : `${letter}${round}`;
      if (!drawing.capsule.has(id) && !drawing.use.has(id) && !drawing.note.has(id)) return id;
    }
  }
}

export function freshName(stem: string, taken: ReadonlyMap<string, unknown>): string {
  let name = stem.slice(0, 58);
  for (let n = 2; taken.has(name); n++) name = `${stem.slice(0, 58)}-${n}`;
  return name;
}

/** The capsule whose output leaves a vertex: itself, or the one inside a group. */
export function giver(drawing: Drawing, id: string, output = ""): Capsule | undefined {
  let vertex: Vertex | undefined = vertexOf(drawing, id);
  for (let depth = 0; vertex && isUse(vertex) && depth < 32; depth++) {
    const group = drawing.group.get(vertex.group);
    const inner: string | undefined = group?.outputs?.[output] ?? Object.values(group?.outputs ?? {})[0];
    vertex = [...(group?.capsules ?? []), ...(group?.uses ?? [])].find((one) => one.id === inner);
  }
  return vertex && !isUse(vertex) ? vertex : undefined;
}

function outputRank(catalogue: Catalogue, capsule: Capsule): number {
  return capsuleSymbol(catalogue, capsule.symbol)?.output_ranks?.[String(capsule.rank)] ?? capsule.rank;
}

/** The connection symbols that can join two vertices, the proposed one first: the rule of the drawing in Python. */
export function proposals(
  catalogue: Catalogue,
  drawing: Drawing,
  back: string,
  front: Vertex,
  port = MAIN_PORT,
): string[] {
  if (isUse(front)) return ["transfer", ...catalogue.connections.map((c) => c.id).filter((id) => id !== "transfer")];
  const symbol = capsuleSymbol(catalogue, front.symbol);
  const from = giver(drawing, back);
  const entered = symbol?.ports.find((one) => one.name === port);
  const rank = entered?.ranks[String(front.rank)] ?? front.rank;
  if (!symbol || !from) return ["transfer"];
  const given = outputRank(catalogue, from);
  const joins = (one: ConnectionSymbol) => one.ranks.some(([b, f]) => b === given && f === rank);
  const fitting = catalogue.connections.filter(joins).map((one) => one.id);
  const first = propose(given, rank, symbol, fitting.includes("reshaping"));
  return [first, ...fitting.filter((id) => id !== first)];
}

function propose(given: number, rank: number, front: CapsuleSymbol, reshapes: boolean): string {
  if (given === rank && (front.family === "downsampling" || front.ports.length > 1)) return "transfer";
  if (given === rank) return ["amplifying", "full", "convolution", "transfer"][rank] ?? "transfer";
  return reshapes ? "reshaping" : "full";
}

/** What is put into a new thing: what the catalogue suggests. */
function usual(attributes: { name: string; suggested?: Value }[], stated: Attributes): Attributes {
  const filled: Attributes = {};
  for (const one of attributes)
    if (one.suggested !== undefined && one.suggested !== null) filled[one.name] = one.suggested;
  return { ...filled, ...stated };
}

const worth = (attributes: Attributes) => (Object.keys(attributes).length ? { attributes } : {});

export function newCapsule(catalogue: Catalogue, drawing: Drawing, face: FaceChoice, stated: Attributes = {}): Capsule {
  const declared = capsuleSymbol(catalogue, face.symbol.id)?.faces[String(face.rank)]?.attributes ?? [];
  return { id: freshId(drawing), symbol: face.symbol.id, rank: face.rank, ...worth(usual(declared, stated)) };
}

export function newConnection(
  catalogue: Catalogue,
  drawing: Drawing,
  back: string,
  front: Vertex,
  options: {
    symbol?: string | undefined;
    port?: string | undefined;
    output?: string | undefined;
    stated?: Attributes;
  } = {},
): Connection {
  const port = options.port ?? freePort(catalogue, drawing, front);
  const symbol = options.symbol ?? proposals(catalogue, drawing, back, front, port)[0] ?? "transfer";
  const declared = connectionSymbol(catalogue, symbol)?.attributes ?? [];
  const suggested = suits(catalogue, drawing, back, front, symbol)
    ? usual(declared, options.stated ?? {})
    : (options.stated ?? {});
  const record: Connection = {
    id: freshName(`${back}-${front.id}`, drawing.connection),
    symbol,
    back,
    front: front.id,
    ...worth(suggested),
  };
  if (port !== MAIN_PORT) record.port = port;
  if (options.output) record.output = options.output;
  return record;
}

/** A convolution into a vector is as large as its back end: a usual kernel would be wrong there. */
function suits(catalogue: Catalogue, drawing: Drawing, back: string, front: Vertex, symbol: string): boolean {
  const from = giver(drawing, back);
  if (isUse(front) || !from) return true;
  return !(symbol.includes("convolution") && outputRank(catalogue, from) !== front.rank);
}

/** The port that a new connection enters: the first that still needs one, else the main one. */
export function freePort(catalogue: Catalogue, drawing: Drawing, front: Vertex): string {
  if (isUse(front)) {
    const ports = Object.keys(drawing.group.get(front.group)?.inputs ?? {});
    return ports.find((port) => !entered(drawing, front.id, port)) ?? ports[0] ?? MAIN_PORT;
  }
  const ports = capsuleSymbol(catalogue, front.symbol)?.ports ?? [];
  const free = ports.filter((port) => !entered(drawing, front.id, port.name));
  return (free.find((port) => !port.open) ?? free[0] ?? ports[0])?.name ?? MAIN_PORT;
}

const entered = (drawing: Drawing, front: string, port: string) =>
  [...drawing.connection.values()].some((c) => c.front === front && (c.port ?? MAIN_PORT) === port);

export const putCapsule = (record: Capsule): Patch => ({ put: "capsule", id: record.id, record });
export const putConnection = (record: Connection): Patch => ({ put: "connection", id: record.id, record });
export const putPosition = (id: string, at: Point): Patch => ({
  put: "position",
  id,
  record: [Math.round(at[0] * 10) / 10, Math.round(at[1] * 10) / 10],
});

export function addCapsule(
  catalogue: Catalogue,
  drawing: Drawing,
  face: FaceChoice,
  at: Point,
  options: { after?: string | undefined; stated?: Attributes; weighing?: Attributes } = {},
): { edit: Edit; id: string; connection?: string } {
  const capsule = newCapsule(catalogue, drawing, face, options.stated);
  const patches: Patch[] = [putCapsule(capsule), putPosition(capsule.id, at)];
  if (!options.after || face.symbol.data) return { edit: { label: `add ${capsule.id}`, patches }, id: capsule.id };
  const link = newConnection(catalogue, drawing, options.after, capsule, { stated: options.weighing ?? {} });
  patches.splice(1, 0, putConnection(link));
  return { edit: { label: `add ${capsule.id} after ${options.after}`, patches }, id: capsule.id, connection: link.id };
}

export function removeThings(drawing: Drawing, ids: ReadonlySet<string>): Edit {
  const lines = new Set(touching(drawing, ids).map((c) => c.id));
  for (const id of ids) if (drawing.connection.has(id)) lines.add(id);
  const patches: Patch[] = [...lines].map((id) => ({ remove: "connection", id }));
  for (const id of ids) {
    for (const kind of ["capsule", "use", "note"] as const)
      if (drawing[kind].has(id)) patches.push({ remove: kind, id });
    if (drawing.position.has(id)) patches.push({ remove: "position", id });
  }
  const names = [...ids].slice(0, 4).join(", ");
  return { label: `remove ${names}${ids.size > 4 ? " …" : ""}`, patches };
}

export function moveThings(places: ReadonlyMap<string, Point>): Edit {
  const ids = [...places.keys()];
  const label = ids.length === 1 ? `move ${ids[0]}` : `move ${ids.length} things`;
  return { label, patches: [...places].map(([id, at]) => putPosition(id, at)) };
}

/** Set or empty one attribute of a capsule, a connection or a use. */
export function changeAttribute(drawing: Drawing, id: string, name: string, value: Value): Edit | undefined {
  const connection = drawing.connection.get(id);
  const capsule = drawing.capsule.get(id);
  const use = drawing.use.get(id);
  const label = value === null ? `empty ${name} at ${id}` : `set ${name} at ${id}`;
  if (use) {
    const record: Use = { ...use, arguments: withValue(use.arguments, name, value) };
    return { label, patches: [{ put: "use", id, record }] };
  }
  if (connection)
    return {
      label,
      patches: [putConnection(cleared({ ...connection, attributes: withValue(connection.attributes, name, value) }))],
    };
  if (capsule)
    return {
      label,
      patches: [putCapsule(cleared({ ...capsule, attributes: withValue(capsule.attributes, name, value) }))],
    };
  return undefined;
}

function withValue(attributes: Attributes | undefined, name: string, value: Value): Attributes {
  const { [name]: _, ...others } = attributes ?? {};
  return value === null ? others : { ...others, [name]: value };
}

function cleared<T extends { attributes?: Attributes }>(record: T): T {
  if (record.attributes && !Object.keys(record.attributes).length) delete record.attributes;
  return record;
}

/** Give a connection another symbol; attributes that both have stay. */
export function changeConnection(catalogue: Catalogue, connection: Connection, symbol: string): Edit {
  const declared = connectionSymbol(catalogue, symbol)?.attributes ?? [];
  const kept: Attributes = {};
  for (const one of declared) {
    const value = connection.attributes?.[one.name];
    if (value !== undefined) kept[one.name] = value;
  }
  const attributes = usual(declared, kept);
  const { attributes: _, ...bare } = connection;
  return {
    label: `make ${connection.id} ${symbol}`,
    patches: [putConnection({ ...bare, symbol, ...worth(attributes) })],
  };
}

/** Give a capsule another symbol or rank; attributes that both have stay. */
export function changeCapsule(catalogue: Catalogue, capsule: Capsule, face: FaceChoice): Edit {
  const declared = face.symbol.faces[String(face.rank)]?.attributes ?? [];
  const kept: Attributes = {};
  for (const one of declared) {
    const value = capsule.attributes?.[one.name];
    if (value !== undefined) kept[one.name] = value;
  }
  const { attributes: _, ...bare } = capsule;
  const record: Capsule = { ...bare, symbol: face.symbol.id, rank: face.rank, ...worth(usual(declared, kept)) };
  void catalogue;
  return {
    label: `make ${capsule.id} ${face.symbol.faces[String(face.rank)]?.title ?? face.symbol.title}`,
    patches: [putCapsule(record)],
  };
}
