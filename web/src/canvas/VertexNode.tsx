import { Handle, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";
import type { Capsule, Use } from "../api/types";
import { useStudio } from "../app/store";
import { counted, words } from "../app/words";
import { extent, FORMS, type Form, shapeOf } from "../glyphs/forms";
import { CapsuleGlyph } from "../glyphs/Glyphs";
import { usePaint, VertexInsight } from "../insight/Overlay";
import { capsuleSymbol } from "../model/compose";
import { structureText } from "../model/findings";
import { capsuleAt, findingsAt, outputAt } from "../model/within";

import { VertexMark } from "../theory/Overlay";
import { FlawMark } from "./FlawMark";
import { Ports } from "./Ports";

/** The places where lines start and end: the right edge gives, all of the front sheet takes. */
export function Ends({ form }: { form: Form }) {
  const { width } = extent(form);
  const tall = { top: form.sheets, height: form.halfHeight * 2 };
  return (
    <>
      <Handle
        type="target"
        position={Position.Left}
        className="takes"
        style={{ ...tall, left: 0, width: form.halfWidth * 2 }}
      />
      <Handle
        type="source"
        position={Position.Right}
        className="gives"
        style={{ ...tall, left: width - 10, width: 16 }}
      />
    </>
  );
}

export function Captions({
  name,
  title,
  structure,
  listed = "",
  top,
}: {
  name: string;
  title: string;
  structure: string;
  /** What the structure lists, where it is a list. */
  listed?: string;
  top: number;
}) {
  return (
    <div className="captions" style={{ top }}>
      <b>{name}</b>
      <span>{title}</span>
      <code>{structure}</code>
      {listed && <span>{listed}</span>}
    </div>
  );
}

export function capsuleTitle(
  catalogue: Parameters<typeof capsuleSymbol>[0] | null,
  capsule: Capsule,
  named?: string,
): string {
  const symbol = catalogue ? capsuleSymbol(catalogue, capsule.symbol) : undefined;
  const title = symbol?.faces[String(capsule.rank)]?.title ?? capsule.symbol;
  const window = capsule.attributes?.window;
  const short = (named ?? title).replace(/ downsampling$/, "").replace("maximum", "max");
  if (window === undefined || window === null) return short;
  const sides = Array.isArray(window) ? window : Array(Math.max(capsule.rank, 1)).fill(window);
  return `${short} ↓${sides.join("×")}`;
}

export const CapsuleNode = memo(function CapsuleNode({ id }: NodeProps) {
  const catalogue = useStudio((s) => s.catalogue);
  const capsule = useStudio((s) => s.scene.capsule.get(id));
  const output = useStudio((s) => structureText(outputAt(s, id)));
  const listed = useStudio((s) => outputAt(s, id)?.listed ?? "");
  const named = useStudio((s) => capsuleAt(s, id)?.title);
  const theme = useStudio((s) => s.theme);
  const findings = useStudio((s) => findingsAt(s, id));
  const symbol = catalogue && capsule ? capsuleSymbol(catalogue, capsule.symbol) : undefined;
  const paint = usePaint(id);
  if (!capsule) return null;
  const form = FORMS[shapeOf(capsule.rank)];
  return (
    <>
      {symbol && (
        <CapsuleGlyph
          glyph={symbol.glyph}
          rank={capsule.rank}
          theme={theme}
          worn={capsule.wears?.length ?? 0}
          paint={paint}
        />
      )}
      <FlawMark findings={findings} below={extent(form).height + 76} />
      <Captions
        name={capsule.label || id}
        title={capsule.rank ? capsuleTitle(catalogue, capsule, named) : ""}
        structure={capsule.rank ? output || "?" : ""}
        listed={listed}
        top={extent(form).height + 9}
      />
      <Ends form={form} />
      <Ports id={id} form={form} />
      <VertexMark id={id} />
      <VertexInsight id={id} below={extent(form).height + (capsule.rank ? 57 : 27)} />
    </>
  );
});

export const UseNode = memo(function UseNode({ id }: NodeProps) {
  const use = useStudio((s) => s.scene.use.get(id)) as Use | undefined;
  const group = useStudio((s) => s.scene.group.get(use?.group ?? ""));
  const output = useStudio((s) => structureText(outputAt(s, id)));
  const findings = useStudio((s) => findingsAt(s, id));
  const word = words(useStudio((s) => s.language));
  const paint = usePaint(id);
  if (!use) return null;
  const form = FORMS.group;
  const count = (group?.capsules?.length ?? 0) + (group?.uses?.length ?? 0);
  return (
    <>
      <div
        className={`group-box ${paint && !paint.fill ? "bare" : ""}`}
        style={paint?.fill ? { background: paint.fill, color: paint.ink } : undefined}
      >
        <strong>{group?.label || use.group}</strong>
        <small>{counted(word, count, "capsules")}</small>
        {(use.repeat ?? 1) > 1 && <em>×{use.repeat}</em>}
      </div>
      <FlawMark findings={findings} below={form.halfHeight * 2 + 76} />
      <Captions name={use.label || id} title={use.group} structure={output || "?"} top={form.halfHeight * 2 + 9} />
      <Ends form={form} />
      <Ports id={id} form={form} />
      <VertexMark id={id} />
      <VertexInsight id={id} below={form.halfHeight * 2 + 57} />
    </>
  );
});

export const NoteNode = memo(function NoteNode({ id }: NodeProps) {
  const note = useStudio((s) => s.scene.note.get(id));
  return <div className="note">{note?.text}</div>;
});
