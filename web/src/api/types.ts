/** What the server says and is told, by the names of its own description (schema.ts is made by tools/api_types.py). */

import type { components } from "./schema";

export type Schemas = components["schemas"];

export type Json = Schemas["Json"];
export type Value = Json;
export type Point = Schemas["PutPosition"]["record"];
export type Attributes = Record<string, Value>;

// The catalogue ------------------------------------------------------------------------------------------------

export type Attribute = Schemas["Attribute"];
export type Glyph = Schemas["Glyph"];
export type Port = Schemas["Port"];
export type Face = Schemas["Face"];
export type CapsuleSymbol = Schemas["CapsuleSymbol"];
export type ConnectionSymbol = Schemas["ConnectionSymbol"];
export type PartSymbol = Schemas["PartSymbol"];
export type Catalogue = Schemas["Catalogue"];
export type Rank = Capsule["rank"];

// Records of a drawing -----------------------------------------------------------------------------------------

export type Worn = Schemas["Worn"];
export type Capsule = Schemas["Capsule"];
export type Connection = Schemas["Connection"];
export type Use = Schemas["Use"];
export type Group = Schemas["Group"];
export type Note = Schemas["Note"];
export type Meta = Schemas["Meta"];
export type Plain = Schemas["PutPlain"]["record"];
export type Patch = Schemas["Patch"];
export type Edit = Schemas["Edit"];
/** The drawing file as it is written. */
export type DrawingFile = Schemas["DrawingFile"];
export type ExportRequest = Partial<Omit<Schemas["ExportRequest"], "to">> & { to: string };
export type ExportForm = Schemas["ExportForm"];
export type ImportMade = Schemas["ImportMade"];
export type ExportMade = Schemas["ExportMade"];

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

// Report -------------------------------------------------------------------------------------------------------

export type Structure = Schemas["Structure"];
export type CheckedCapsule = Schemas["CheckedCapsule"];
export type CheckedConnection = Schemas["CheckedConnection"];
export type CheckedUse = Schemas["CheckedUse"];
export type Diagnostic = Schemas["Diagnostic"];
export type Report = Schemas["Report"];
export type Layout = Schemas["Layout"];

// Messages -----------------------------------------------------------------------------------------------------

/** What this tab could take back or do again. */
export type Steps = Pick<Schemas["AppliedMessage"], "can_undo" | "can_redo">;

export type FromServer =
  | Schemas["StateMessage"]
  | Schemas["AppliedMessage"]
  | Schemas["RejectedMessage"]
  | Schemas["ReportMessage"]
  | Schemas["FileMessage"]
  | Schemas["UnsavedMessage"]
  | Schemas["SavedMessage"]
  | Schemas["ClientsMessage"]
  | Schemas["PongMessage"];

export type ToServer =
  | Schemas["Hello"]
  | Schemas["EditMessage"]
  | Schemas["CommandMessage"]
  | Schemas["FileAnswer"]
  | Schemas["Ping"];

// Start screen, data and runs ----------------------------------------------------------------------------------

export type Listed = Schemas["Listed"];
export type Workspace = Schemas["Workspace"];
export type ZooEntry = Schemas["ZooEntry"];
export type DataSet = Schemas["DataSet"];
export type DataPreview = Schemas["DataPreview"];
export type PreviewRequest = Schemas["PreviewRequest"];
export type RecipeField = Schemas["RecipeField"];
export type Optimiser = Schemas["Kind"];
export type RecipeFields = Schemas["RecipeFields"];
export type RunRow = Schemas["RunRow"];
export type RunDetail = Schemas["RunDetail"];
export type Drawn = Schemas["Drawn"];
export type MemoryNeeds = Schemas["MemoryNeeds"];
export type Carried = Schemas["Carried"];
export type HistoryRow = Schemas["Past"];
export type Mathematics = Schemas["Mathematics"];
export type Neurons = Schemas["Neurons"];
export type NeuronLine = Schemas["NeuronLine"];
export type Neuron = Schemas["Neuron"];
