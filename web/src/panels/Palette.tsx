import { type DragEvent, useMemo, useState } from "react";
import type { CapsuleSymbol } from "../api/types";
import { add, addNote, addUse, connect, select } from "../app/actions";
import { perform } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { SmallGlyph, SmallSign } from "../glyphs/Glyphs";
import { changeConnection } from "../model/compose";
import { FACE_TYPE, type FaceItem, facesOf, score } from "./faces";

const carry = (event: DragEvent, key: string) => {
  event.dataTransfer.setData(FACE_TYPE, key);
  event.dataTransfer.effectAllowed = "copy";
};

/** The one capsule that is selected; a new one is joined to it. */
function lastSelected(): string | null {
  const { selection, scene } = useStudio.getState();
  const [id, ...others] = selection;
  return id && !others.length && (scene.capsule.has(id) || scene.use.has(id)) ? id : null;
}

/** One symbol, with a glyph to take for each rank that it has. */
function SymbolRow({ symbol, faces }: { symbol: CapsuleSymbol; faces: FaceItem[] }) {
  const theme = useStudio((s) => s.theme);
  return (
    <div className="symbol" title={`${symbol.tooltip}\n${symbol.formula}`}>
      <span>{symbol.title}</span>
      {faces.map((face) => (
        <button
          type="button"
          key={face.key}
          draggable
          title={`${face.title} — ${symbol.tooltip}`}
          aria-label={face.title}
          data-face={face.key}
          onDragStart={(event) => carry(event, face.key)}
          onClick={() => add(face, null, lastSelected())}
        >
          <SmallGlyph glyph={symbol.glyph} rank={face.rank} theme={theme} />
        </button>
      ))}
    </div>
  );
}

function Connections({ query }: { query: string }) {
  const catalogue = useStudio((s) => s.catalogue);
  const selection = useStudio((s) => s.selection);
  const scene = useStudio((s) => s.scene);
  if (!catalogue) return null;
  const shown = catalogue.connections.filter((one) => `${one.title} ${one.id}`.includes(query.toLowerCase()));
  if (!shown.length) return null;
  const lines = [...selection].flatMap((id) => scene.connection.get(id) ?? []);
  const ends = [...selection].filter((id) => scene.capsule.has(id) || scene.use.has(id));
  const use = (symbol: string) => {
    for (const line of lines) perform(changeConnection(catalogue, line, symbol));
    if (!lines.length && ends.length === 2) connect(ends[0] as string, ends[1] as string, { symbol });
  };
  return (
    <section>
      <h3>connections</h3>
      {shown.map((symbol) => (
        <button
          type="button"
          key={symbol.id}
          className={`item ${lines.some((line) => line.symbol === symbol.id) ? "on" : ""}`}
          title={`${symbol.tooltip}\n${symbol.formula}`}
          data-connection={symbol.id}
          onClick={() => use(symbol.id)}
        >
          <SmallSign symbol={symbol} />
          <span>{symbol.title}</span>
        </button>
      ))}
    </section>
  );
}

function Groups({ query }: { query: string }) {
  const groups = useStudio((s) => s.drawing.group);
  const word = words(useStudio((s) => s.language));
  const shown = [...groups.keys()].filter((id) => id.toLowerCase().includes(query.toLowerCase()));
  return (
    <section>
      <h3>{word.group}</h3>
      {shown.map((id) => (
        <button
          type="button"
          key={id}
          className="item"
          draggable
          onDragStart={(event) => carry(event, `group:${id}`)}
          onClick={() => addUse(id, null, lastSelected())}
        >
          <i className="small-group" />
          <span>{id}</span>
        </button>
      ))}
      <button
        type="button"
        className="item"
        onClick={() => {
          select([]);
          addNote(null);
        }}
      >
        <i className="small-note" />
        <span>{word.note}</span>
      </button>
    </section>
  );
}

export function Palette() {
  const catalogue = useStudio((s) => s.catalogue);
  const word = words(useStudio((s) => s.language));
  const [query, setQuery] = useState("");
  const families = useMemo(() => {
    if (!catalogue) return [];
    const found = facesOf(catalogue).filter((face) => score(face, query) > 0);
    const rows = catalogue.capsules
      .map((symbol) => ({ symbol, faces: found.filter((face) => face.symbol === symbol) }))
      .filter((row) => row.faces.length);
    const ids = [...new Set([...catalogue.families.map((one) => one.id), ...rows.map((row) => row.symbol.family)])];
    const title = (id: string) => catalogue.families.find((one) => one.id === id)?.title ?? id;
    return ids
      .map((id) => ({ id, title: title(id), rows: rows.filter((row) => row.symbol.family === id) }))
      .filter((one) => one.rows.length);
  }, [catalogue, query]);
  return (
    <aside id="palette" aria-label={word.searchSymbols}>
      <div className="search-field">
        <input
          type="search"
          value={query}
          placeholder={word.searchSymbols}
          aria-label={word.searchSymbols}
          onChange={(event) => setQuery(event.target.value)}
        />
        <kbd>/</kbd>
      </div>
      <div className="scroll">
        {families.map((family) => (
          <section key={family.id}>
            <h3>{family.title}</h3>
            {family.rows.map((row) => (
              <SymbolRow key={row.symbol.id} {...row} />
            ))}
          </section>
        ))}
        <Connections query={query} />
        <Groups query={query} />
      </div>
    </aside>
  );
}
