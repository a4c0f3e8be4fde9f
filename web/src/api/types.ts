/** What the server says and is told; ids are opaque, structures come as the checks describe them. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Value = Json;
export type Rank = 0 | 1 | 2 | 3;
export type Point = [number, number];

export interface Attribute {
  name: string;
  kind: "size" | "number" | "flag" | "choice" | "dtype" | "axes" | "shape" | "list" | "text";
  help: string;
  default: Value;
  inferred: boolean;
  required: boolean;
  letter: string;
  minimum: number | null;
  maximum: number | null;
  choices: string[];
  axes: number;
  unit: string;
  suggested?: Value;
}

export interface Glyph {
  path: string;
  ink: string;
  wash: string;
  filled: boolean;
}

export interface Port {
  name: string;
  kind: "sums" | "gathers" | "single";
  help: string;
  ranks: Record<string, number>;
}

export interface Face {
  title: string;
  attributes: Attribute[];
}

export interface CapsuleSymbol {
  id: string;
  title: string;
  tooltip: string;
  formula: string;
  family: string;
  ranks: Rank[];
  faces: Record<string, Face>;
  glyph: Glyph;
  ports: Port[];
  bias: boolean;
  data: boolean;
  page: string;
  output_ranks?: Record<string, Rank>;
}

export interface ConnectionSymbol {
  id: string;
  title: string;
  tooltip: string;
  formula: string;
  mark: string;
  sign: string;
  ranks: [number, number][];
  attributes: Attribute[];
}

export interface PartSymbol {
  id: string;
  title: string;
  tooltip: string;
  formula: string;
  place: "before" | "after";
  ranks: Rank[];
  attributes: Attribute[];
}

export interface Catalogue {
  version: string;
  dtypes: string[];
  families: { id: string; title: string }[];
  capsules: CapsuleSymbol[];
  connections: ConnectionSymbol[];
  parts: PartSymbol[];
}

// Records of a drawing -----------------------------------------------------------------------------------------

export type Attributes = Record<string, Value>;

export interface Worn {
  part: string;
  attributes?: Attributes;
}

export interface Capsule {
  id: string;
  symbol: string;
  rank: Rank;
  attributes?: Attributes;
  wears?: Worn[];
  tie?: string;
  label?: string;
}

export interface Connection {
  id: string;
  symbol: string;
  back: string;
  front: string;
  attributes?: Attributes;
  output?: string;
  port?: string;
  tie?: string;
  label?: string;
}

export interface Use {
  id: string;
  group: string;
  arguments?: Attributes;
  repeat?: number;
  tie?: string;
  label?: string;
}

export interface Group {
  id: string;
  arguments?: Attributes;
  capsules?: Capsule[];
  connections?: Connection[];
  uses?: Use[];
  inputs?: Record<string, string>;
  outputs?: Record<string, string>;
  label?: string;
}

export interface Note {
  id: string;
  text: string;
}

export interface Meta {
  name: string;
  dtype?: string;
}

export interface Plain {
  [column: string]: Json;
}

export interface Records {
  meta: Meta;
  capsule: Capsule;
  connection: Connection;
  group: Group;
  use: Use;
  note: Note;
  position: Point;
  plain: Plain;
}

export type Kind = keyof Records;

export type Patch =
  | { [K in Kind]: { put: K; id: string; record: Records[K]; index?: number } }[Kind]
  | { remove: Kind; id: string };

export interface Edit {
  label: string;
  patches: Patch[];
}

/** The drawing file as it is written. */
export interface DrawingFile {
  format?: number;
  name: string;
  dtype?: string;
  capsules?: Capsule[];
  connections?: Connection[];
  groups?: Group[];
  uses?: Use[];
  notes?: Note[];
  positions?: Record<string, Point>;
  plain?: Plain;
}

// Report -------------------------------------------------------------------------------------------------------

export interface Structure {
  shape: (number | string)[];
  dtype: string;
  text?: string;
}

export interface CheckedCapsule {
  /** The title by its attributes, where they name the function. */
  title?: string;
  total_input: Structure | null;
  output: Structure | null;
  bias: number[] | null;
  parameter_count?: number;
  multiply_adds?: number;
  inferred?: Attributes;
}

export interface CheckedConnection {
  back_end: Structure | null;
  front_end: Structure | null;
  weights: Record<string, (number | string)[]>;
  weight_text?: string;
  attributes?: Attributes;
  inferred?: Attributes;
  parameters: number;
  multiply_adds: number;
}

export interface CheckedUse {
  output: Structure | null;
  parameters: number;
  multiply_adds: number;
}

export interface Diagnostic {
  rule: string;
  severity: "error" | "note";
  where: string[];
  message: string;
  fix: Edit | null;
  index?: number;
}

export interface Report {
  name: string;
  well_formed: boolean;
  kind: "layered" | "skip" | null;
  layers: string[][] | number[] | null;
  capsules: number;
  connections: number;
  inputs: string[];
  outputs: string[];
  depth: number;
  parameters: number;
  frozen_parameters: number;
  multiply_adds: number;
  structures: {
    capsules: Record<string, CheckedCapsule>;
    connections: Record<string, CheckedConnection>;
    uses?: Record<string, CheckedUse>;
  };
  diagnostics: Diagnostic[];
  derivation?: { steps: number } | null;
  /** Of a large drawing only what is new or different comes, to be merged into the report before. */
  partial?: boolean;
  gone?: { capsules?: string[]; connections?: string[]; uses?: string[] };
}

export interface Layout {
  positions: Record<string, Point>;
  bends?: Record<string, Point[]>;
}

// Messages -----------------------------------------------------------------------------------------------------

/** What this tab could take back or do again. */
export interface Steps {
  can_undo?: string | null;
  can_redo?: string | null;
}

export type FromServer =
  | ({
      type: "state";
      seq: number;
      document: DrawingFile;
      report: Report | null;
      layout: Layout | null;
      clients: number;
    } & {
      acknowledged?: number;
    } & Steps)
  | ({ type: "applied"; seq: number; client: string; number: number | null; edit: Edit; label: string } & {
      made?: string[];
    } & Steps)
  | { type: "rejected"; number: number; message: string }
  | { type: "report"; seq: number; report: Report; layout?: Layout | null }
  | { type: "file"; change: "outside"; edit: Edit }
  | { type: "file"; change: "broken" | "gone"; message?: string }
  | { type: "unsaved"; message: string }
  | { type: "saved"; seq: number }
  | { type: "clients"; clients: number };

export type ToServer =
  | { type: "hello"; client: string; seen: number | null }
  | { type: "edit"; number: number; edit: Edit; base: number | null }
  | { type: "command"; number: number; command: string; arguments: Attributes; base: number | null }
  | { type: "accept-file" }
  | { type: "keep-ours" };

// Start screen, data and runs ----------------------------------------------------------------------------------

export interface Listed {
  id: string;
  name: string;
  path: string;
  modified: string;
  capsules: number;
  connections: number;
  parameters: number | null;
  well_formed: boolean;
  error: string | null;
  /** False while a new or changed file still waits for its check. */
  counted?: boolean;
}

export interface Workspace {
  name: string;
  drawings: Listed[];
  recent: string[];
  more?: number;
}

export interface ZooEntry {
  name: string;
  aliases: string[];
  title: string;
  reference: string;
  parameters: number | null;
  multiply_adds: number | null;
  capsules: number | null;
  connections: number | null;
  kind: string | null;
}

export interface DataSet {
  name: string;
  title: string;
  samples: number | null;
  shape: (number | string)[] | string | null;
  classes: number | null;
}

export interface RecipeField {
  name: string;
  kind: "whole" | "number" | "flag" | "text" | "choice" | "texts" | "options";
  help: string;
  default: Value;
  choices?: string[] | null;
  minimum?: number | null;
  maximum?: number | null;
}

export interface Optimiser {
  name: string;
  help: string;
  rate: number;
}

export interface RecipeFields {
  data: RecipeField[];
  recipe: RecipeField[];
  optimisers: Optimiser[];
}

export interface RunRow {
  id: string;
  state: string;
  epoch: number;
  epochs: number;
  values: Record<string, number>;
  name?: string;
}

export interface RunDetail extends Partial<RunRow> {
  recipe: Attributes;
  summary: Attributes | null;
  series: Record<string, [number, number][]>;
}

export interface HistoryRow {
  seq: number;
  time: string;
  label: string;
  client: string | null;
}

export interface Mathematics {
  U?: string;
  Y?: string;
  delta?: string;
  update?: string;
}

// Neurons in columns -------------------------------------------------------------------------------------------

/** All neurons of a block, or of too many a sample; numbers as typed arrays in base64. */
export interface Neurons {
  count: number;
  stride: number;
  connections: number;
  lines: number;
  symbols: string[];
  symbol: string;
  places: string;
  back: string;
  front: string;
  weight: string;
  spans: { capsule: string; first: number; count: number; writes: boolean }[];
}

export interface NeuronLine {
  neuron: number;
  weight: number;
}

export interface Neuron {
  name: string;
  symbol: string;
  bias: number;
  layer: number;
  reads: string | null;
  writes: string | null;
  enters: number;
  leaves: number;
  entering: NeuronLine[];
  leaving: NeuronLine[];
}
