import { type ReactNode, useEffect, useRef, useState } from "react";
import { link } from "../api/client";
import { arrange, openToNeurons, redo, undo } from "../app/actions";
import { toggleDock, toggleLanguage, toggleTheme } from "../app/preferences";
import { useStudio } from "../app/store";
import { counted, words } from "../app/words";
import { toggleInsight } from "../insight/mode";
import { nameOf } from "../model/drawing";
import { shortNumber } from "../model/findings";
import { TheoryItems } from "../theory/Menu";
import { Crumbs } from "./Crumbs";
import { FileItems } from "./FileMenu";
import { Logo } from "./Logo";

function Totals() {
  const report = useStudio((s) => s.report);
  const word = words(useStudio((s) => s.language));
  if (!report) return null;
  const errors = report.diagnostics.filter((one) => one.severity === "error").length;
  const kind = report.kind ? ` · ${report.kind === "layered" ? word.layered : word.skip}` : "";
  return (
    <div className="chips" role="status" aria-live="polite">
      {report.diagnostics.some((one) => one.rule === "empty") ? (
        <span className="chip">{word.nothingYet}</span>
      ) : errors ? (
        <span className="chip bad">
          {errors} {errors === 1 ? word.error : word.errors}
        </span>
      ) : (
        <span className="chip ok">
          ✓ {word.well}
          {kind}
        </span>
      )}
      <span className="chip wide-only">
        {counted(word, report.capsules, "capsules")} · {counted(word, report.connections, "connections")}
      </span>
      <span className="chip" data-total="parameters">
        {counted(word, report.parameters, "parameters")}
      </span>
      <span className="chip wide-only">{counted(word, report.multiply_adds, "multiplyAdds", shortNumber)}</span>
    </div>
  );
}

export function Menu({
  label,
  children,
  className = "",
}: {
  label: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const close = (event: Event) => {
      if (
        event instanceof KeyboardEvent
          ? event.key === "Escape"
          : !box.current?.contains(event.target as globalThis.Node)
      )
        setOpen(false);
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("keydown", close);
    };
  }, [open]);
  return (
    <div className={`menu ${className}`} ref={box}>
      <button type="button" className="button" aria-haspopup="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
        {label}
      </button>
      {open && (
        <div className="menu-list" role="menu" onClick={() => setOpen(false)} onKeyDown={() => undefined}>
          {children}
        </div>
      )}
    </div>
  );
}

function ExportMenu() {
  const id = useStudio((s) => s.id) ?? "";
  const name = useStudio((s) => nameOf(s.drawing));
  const theme = useStudio((s) => s.theme);
  const word = words(useStudio((s) => s.language));
  return (
    <Menu label={`${word.exportMenu} ▾`}>
      <a role="menuitem" href={link.svg(id, theme === "dark")} download={`${name}.svg`}>
        {word.picture} · SVG
      </a>
      <a role="menuitem" href={link.png(id, theme === "dark")} download={`${name}.png`}>
        {word.picture} · PNG
      </a>
      <button type="button" role="menuitem" onClick={() => useStudio.setState({ dialog: "code" })}>
        {word.pytorch}
      </button>
      <a role="menuitem" href={link.file(id)} download>
        {word.file}
      </a>
      <button type="button" role="menuitem" onClick={() => useStudio.setState({ dialog: "export" })}>
        {word.moreForms}
      </button>
    </Menu>
  );
}

function MoreMenu() {
  const theme = useStudio((s) => s.theme);
  const word = words(useStudio((s) => s.language));
  const show = (dialog: "keys" | "history") => useStudio.setState({ dialog });
  const [only] = useStudio((s) => s.selection);
  const capsule = useStudio((s) => (s.selection.size === 1 && s.scene.capsule.has(only ?? "") ? only : ""));
  return (
    <Menu
      label={
        <span role="img" aria-label={word.more}>
          ⋯
        </span>
      }
    >
      <FileItems />
      <button type="button" role="menuitem" onClick={() => show("history")}>
        {word.history} <kbd>B</kbd>
      </button>
      <button type="button" role="menuitem" onClick={toggleInsight}>
        {word.insight} <kbd>O</kbd>
      </button>
      <TheoryItems />
      <button type="button" role="menuitem" onClick={() => void openToNeurons(capsule)}>
        {word.expand}
        {capsule ? ` · ${capsule}` : ""}
      </button>
      <button type="button" role="menuitem" onClick={() => show("keys")}>
        {word.help} <kbd>?</kbd>
      </button>
      <button type="button" role="menuitem" onClick={toggleTheme}>
        {theme === "dark" ? word.light : word.dark}
      </button>
      <button type="button" role="menuitem" onClick={toggleLanguage}>
        {word.language}
      </button>
    </Menu>
  );
}

export function TopBar() {
  const dock = useStudio((s) => s.dock);
  const back = useStudio((s) => s.canUndo);
  const again = useStudio((s) => s.canRedo);
  const word = words(useStudio((s) => s.language));
  return (
    <header id="top">
      <a className="logo" href="#/" aria-label={`inkcap, ${word.startScreen}`}>
        <Logo />
        inkcap
      </a>
      <Crumbs />
      <Totals />
      <span className="grow" />
      <button
        type="button"
        className="button icon"
        aria-label={word.undo}
        title={`${word.undo} ${back ?? ""} (Ctrl Z)`}
        disabled={back === null}
        onClick={undo}
      >
        ↶
      </button>
      <button
        type="button"
        className="button icon"
        aria-label={word.redo}
        title={`${word.redo} ${again ?? ""} (Ctrl Shift Z)`}
        disabled={again === null}
        onClick={redo}
      >
        ↷
      </button>
      <button type="button" className="button" onClick={arrange}>
        {word.arrange}
      </button>
      <ExportMenu />
      <MoreMenu />
      <a className="button" href="#/runs">
        {word.runs}
      </a>
      <button type="button" className="button primary" aria-pressed={dock} onClick={toggleDock}>
        ▶ {word.train}
      </button>
    </header>
  );
}
