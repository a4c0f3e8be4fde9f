import { Handle, Position, useUpdateNodeInternals } from "@xyflow/react";
import { useEffect } from "react";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import type { Form } from "../glyphs/forms";
import { enteringOf, portsOf, portText } from "../model/ports";

const DOT = 9;

/** The places of several ports on the left edge of a glyph: whole where something enters, hollow where it may. */
export function Ports({ id, form }: { id: string; form: Form }) {
  const catalogue = useStudio((s) => s.catalogue);
  const scene = useStudio((s) => s.scene);
  const word = words(useStudio((s) => s.language));
  const vertex = scene.capsule.get(id) ?? scene.use.get(id);
  const ports = vertex && catalogue ? portsOf(catalogue, scene, vertex) : [];
  const names = ports.map((port) => port.name).join(" ");
  const update = useUpdateNodeInternals();
  // Lines end at the ports: what they are must be measured anew when the symbol becomes another one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the names stand for the ports
  useEffect(() => update(id), [update, id, names]);
  if (ports.length < 2) return null;
  const step = (form.halfHeight * 2) / ports.length;
  return (
    <>
      {ports.map((port, i) => {
        const count = enteringOf(scene, id, port.name).length;
        const state = count ? "entered" : port.open ? "open" : "needed";
        return (
          <Handle
            key={port.name}
            id={port.name}
            type="target"
            position={Position.Left}
            className={`port ${state}`}
            data-port={port.name}
            style={{ top: form.sheets + step * (i + 0.5) - DOT / 2, left: -DOT / 2, width: DOT, height: DOT }}
            title={portText(port, count, word)}
          >
            <span aria-hidden="true">
              {port.name}
              {port.open && "?"}
              {port.kind === "keeps" && count > 1 && ` 1–${count}`}
            </span>
          </Handle>
        );
      })}
    </>
  );
}
