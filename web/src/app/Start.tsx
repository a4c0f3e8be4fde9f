import { type DragEvent, type SyntheticEvent, useCallback, useEffect, useState } from "react";
import { api, link } from "../api/client";
import type { Listed, Workspace, ZooEntry } from "../api/types";
import { OpenFile } from "../exchange/OpenFile";
import { shortNumber } from "../model/findings";
import { RenameDialog } from "../panels/FileMenu";
import { Logo } from "../panels/Logo";
import { Switches } from "../panels/PageBar";
import { Menu } from "../panels/TopBar";
import { GoingRuns } from "../runs/GoingRuns";
import { deleteDrawing, duplicateDrawing, freshTitle, openFiles } from "./files";
import { attempt } from "./session";
import { useStudio } from "./store";
import { counted, words } from "./words";

async function create(body: { name: string; zoo?: string; text?: string }, guide = false): Promise<void> {
  const made = await attempt(api.create(body));
  if (!made) return;
  useStudio.setState({ guide: guide ? 0 : null });
  location.hash = `#/drawing/${made.id}`;
}

function DrawingTile({ drawing, onChange }: { drawing: Listed; onChange: () => void }) {
  const word = words(useStudio((s) => s.language));
  const dark = useStudio((s) => s.theme === "dark");
  const [renaming, setRenaming] = useState(false);
  const duplicate = async () => {
    if (await duplicateDrawing(drawing.id)) onChange();
  };
  return (
    <article className="tile">
      <a href={`#/drawing/${drawing.id}`} aria-label={`${word.open} ${drawing.name}`}>
        <Picture
          src={`${link.picture(drawing.id, dark)}${dark ? "&" : "?"}small=1&at=${encodeURIComponent(drawing.modified)}`}
        />
        <h3>{drawing.name}</h3>
        <p>
          {drawing.error ? (
            <span className="bad">{drawing.error}</span>
          ) : (
            <>
              {drawing.counted === false && !drawing.capsules ? "…" : counted(word, drawing.capsules, "capsules")}
              {drawing.parameters ? ` · ${counted(word, drawing.parameters, "parameters", shortNumber)}` : ""}
              {!drawing.well_formed && drawing.capsules > 0 && <span className="bad"> · !</span>}
            </>
          )}
        </p>
      </a>
      <Menu
        label={
          <span role="img" aria-label={word.more}>
            ⋯
          </span>
        }
        className="tile-menu"
      >
        <button type="button" role="menuitem" onClick={() => setRenaming(true)}>
          {word.rename}
        </button>
        <button type="button" role="menuitem" onClick={() => void duplicate()}>
          {word.duplicate}
        </button>
        <button
          type="button"
          role="menuitem"
          className="danger"
          onClick={() => void deleteDrawing(drawing.id, drawing.name, onChange)}
        >
          {word.remove}
        </button>
      </Menu>
      {renaming && (
        <RenameDialog
          id={drawing.id}
          name={drawing.name}
          onClose={(renamed) => {
            setRenaming(false);
            if (renamed) onChange();
          }}
        />
      )}
    </article>
  );
}

/** A long network shows its beginning, large enough to be read. */
function fitWide(event: SyntheticEvent<HTMLImageElement>): void {
  const { naturalWidth, naturalHeight, classList } = event.currentTarget;
  classList.toggle("wide", naturalWidth > naturalHeight * 4.5);
}

function Picture({ src }: { src: string }) {
  const [bad, setBad] = useState(false);
  return (
    <div className="tile-picture">
      {bad ? <i /> : <img src={src} alt="" loading="lazy" onLoad={fitWide} onError={() => setBad(true)} />}
    </div>
  );
}

function ZooTile({ entry, taken }: { entry: ZooEntry; taken: Listed[] }) {
  const word = words(useStudio((s) => s.language));
  const dark = useStudio((s) => s.theme === "dark");
  const title = entry.title || entry.name;
  return (
    <article className="tile zoo">
      <button
        type="button"
        onClick={() => void create({ name: freshTitle(title, taken), zoo: entry.name })}
        title={entry.reference}
        data-zoo={entry.name}
      >
        <Picture src={link.zooPicture(entry.name, dark)} />
        <h3>{title}</h3>
        <p>
          {entry.parameters ? counted(word, entry.parameters, "parameters", shortNumber) : ""}
          {entry.kind ? ` · ${entry.kind === "layered" ? word.layered : word.skip}` : ""}
        </p>
      </button>
    </article>
  );
}

function Zoo({ taken }: { taken: Listed[] }) {
  const word = words(useStudio((s) => s.language));
  const [search, setSearch] = useState("");
  const [entries, setEntries] = useState<ZooEntry[] | null>(null);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(
      () => void attempt(api.zoo(search)).then((found) => found && current && setEntries(found)),
      search ? 150 : 0,
    );
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [search]);
  return (
    <section aria-label={word.zoo}>
      <div className="section-head">
        <h2>{word.zoo}</h2>
        <input
          type="search"
          value={search}
          placeholder={word.searchZoo}
          aria-label={word.searchZoo}
          onChange={(event) => setSearch(event.target.value)}
        />
      </div>
      <div className="tiles">
        {entries?.map((entry) => (
          <ZooTile key={entry.name} entry={entry} taken={taken} />
        ))}
        {entries && !entries.length && <p className="soft">{word.noZoo}</p>}
      </div>
    </section>
  );
}

export function Start() {
  const word = words(useStudio((s) => s.language));
  const [workspace, setWorkspace] = useState<Workspace | null>(null);
  const load = useCallback(() => void attempt(api.workspace()).then((found) => found && setWorkspace(found)), []);
  useEffect(load, [load]);
  useEffect(() => {
    // Files that were not checked yet are checked meanwhile.
    if (!workspace?.drawings.some((drawing) => drawing.counted === false)) return;
    const timer = setTimeout(load, 900);
    return () => clearTimeout(timer);
  }, [workspace, load]);
  const drawings = workspace?.drawings ?? [];
  const recent = new Map((workspace?.recent ?? []).map((id, i) => [id, i]));
  const sorted = [...drawings].sort(
    (a, b) => (recent.get(a.id) ?? 1e6) - (recent.get(b.id) ?? 1e6) || b.modified.localeCompare(a.modified),
  );
  const drop = (event: DragEvent) => {
    event.preventDefault();
    void openFiles(event.dataTransfer.files);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a file may be dropped anywhere; the buttons do the same
    <div className="start" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <header id="top">
        <span className="logo">
          <Logo />
          inkcap
        </span>
        <span className="crumbs">{workspace?.name}</span>
        <span className="grow" />
        <a className="button" href="#/runs">
          {word.runs}
        </a>
        <Switches />
      </header>
      <main>
        <div className="hero">
          <button
            type="button"
            className="hero-card new"
            onClick={() => void create({ name: freshTitle("untitled", drawings) })}
          >
            <svg width="72" height="56" viewBox="0 0 72 56" aria-hidden="true">
              <path className="plus" d="M36 16v24M24 28h24" />
            </svg>
            <b>{word.newDrawing}</b>
            <span>{word.newDrawingHint}</span>
          </button>
          <button
            type="button"
            className="hero-card guided"
            onClick={() => void create({ name: freshTitle("My LeNet", drawings) }, true)}
          >
            <svg width="150" height="56" viewBox="0 0 150 56" aria-hidden="true">
              <path className="hero-wire" d="M36 28H58M92 28H112" />
              <rect className="hero-data" x="4" y="12" width="32" height="32" rx="5" />
              <rect className="hero-relu" x="60" y="12" width="32" height="32" rx="5" />
              <path className="hero-mark" d="M67 34h9l9-13" />
              <circle className="hero-dot" cx="20" cy="28" r="5" />
              <rect className="hero-out" x="114" y="6" width="18" height="44" rx="9" />
            </svg>
            <b>{word.guided}</b>
            <span>{word.guidedHint}</span>
          </button>
        </div>
        <GoingRuns />
        <section aria-label={word.recent}>
          <div className="section-head">
            <h2>{word.recent}</h2>
            <OpenFile />
          </div>
          {workspace && !sorted.length && <p className="soft">{word.noDrawings}</p>}
          <div className="tiles">
            {sorted.map((drawing) => (
              <DrawingTile key={drawing.id} drawing={drawing} onChange={load} />
            ))}
          </div>
        </section>
        <Zoo taken={drawings} />
      </main>
    </div>
  );
}
