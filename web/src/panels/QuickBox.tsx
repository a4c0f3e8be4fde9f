import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import type { Catalogue } from "../api/types";
import { add, addNote, addUse, connect, focusCanvas, select } from "../app/actions";
import { chooseNeuron, neuronByName } from "../app/neurons";
import { type QuickAdd, type StudioState, useStudio } from "../app/store";
import { words } from "../app/words";
import { capsuleTitle } from "../canvas/VertexNode";
import { SmallGlyph, SmallSign } from "../glyphs/Glyphs";
import { connectionSymbol, giver, proposals } from "../model/compose";
import { isUse, type Vertex, vertices } from "../model/drawing";
import { enteringOf, portsOf, portText } from "../model/ports";
import { wrongAmong } from "../model/values";
import { type FaceItem, facesOf, readTyped, score, withSizes } from "./faces";

const MOST_CHOICES = 60;

interface Choice {
  key: string;
  title: string;
  hint: string;
  face?: FaceItem;
  vertex?: Vertex;
  sign?: string;
  /** What is wrong with the attributes that were typed behind its name. */
  wrong?: string;
  run: () => void;
}

/** A capsule to add; after another one, those come first that it can enter as it is. */
function additions(state: StudioState, quick: QuickAdd, text: string): Choice[] {
  const { catalogue, scene } = state;
  if (!catalogue) return [];
  const typed = readTyped(text);
  const before = quick.after ? giver(scene, quick.after) : undefined;
  const fits = (face: FaceItem) => {
    const usual = before ? Number(face.rank === before.rank) * 0.4 : [-0.2, 0.1, 0.2, 0][face.rank];
    if (!quick.after) return (usual ?? 0) + (face.symbol.data && !scene.capsule.size ? 0.5 : 0);
    return (usual ?? 0) + (face.symbol.data ? -0.6 : 0);
  };
  const found = facesOf(catalogue)
    .map((face) => ({ face, score: score(face, typed.query) }))
    .filter((one) => one.score > 0)
    .map((one) => ({ ...one, score: one.score + fits(one.face) }))
    .sort((a, b) => b.score - a.score);
  const choices = found.map(({ face }): Choice => {
    const sign = quick.after ? signFor(catalogue, state, quick.after, face) : undefined;
    const declared = [
      ...(face.symbol.faces[String(face.rank)]?.attributes ?? []),
      ...(sign ? (connectionSymbol(catalogue, sign)?.attributes ?? []) : []),
    ];
    const stated = withSizes(face, typed);
    return {
      key: face.key,
      title: face.title,
      hint: (sign && connectionSymbol(catalogue, sign)?.title) || face.symbol.tooltip,
      face,
      ...(sign ? { sign } : {}),
      wrong: wrongAmong(declared, stated, state.language),
      run: () => add(face, quick.at, quick.after, stated),
    };
  });
  for (const group of scene.group.keys())
    if (group.toLowerCase().includes(typed.query.toLowerCase()))
      choices.push({
        key: `group:${group}`,
        title: group,
        hint: "group",
        run: () => addUse(group, quick.at, quick.after),
      });
  // A group has no notes of its own.
  if (!state.path && "note".includes(typed.query.toLowerCase()))
    choices.push({ key: "note", title: words(state.language).note, hint: "", run: () => addNote(quick.at) });
  return choices;
}

function signFor(catalogue: Catalogue, state: StudioState, after: string, face: FaceItem): string | undefined {
  if (face.symbol.data) return undefined;
  return proposals(catalogue, state.scene, after, { id: "", symbol: face.symbol.id, rank: face.rank })[0];
}

/** Vertices to connect to or to find, by name, label or title. */
function existing(state: StudioState, quick: QuickAdd, text: string): Choice[] {
  const { catalogue, scene } = state;
  const wanted = text.toLowerCase().trim();
  const found = (id: string) => {
    select([id]);
    document.dispatchEvent(new CustomEvent("inkcap-show", { detail: id }));
  };
  const notes =
    quick.mode === "find"
      ? [...scene.note.values()]
          .filter((note) => wanted && note.text.toLowerCase().includes(wanted))
          .map((note) => ({
            key: `note:${note.id}`,
            title: note.text.split("\n", 1)[0] ?? "",
            hint: words(state.language).note,
            run: () => found(note.id),
          }))
      : [];
  const neuron = quick.mode === "find" ? neuronByName(wanted) : null;
  const named = neuron === null ? [] : [neuronChoice(neuron, wanted)];
  const portNames = (vertex: Vertex) =>
    quick.mode === "connect" && catalogue
      ? portsOf(catalogue, scene, vertex)
          .map((port) => port.name)
          .join(" ")
      : "";
  const drawn = vertices(scene)
    .filter((vertex) => vertex.id !== quick.after)
    .map((vertex) => ({ vertex, title: isUse(vertex) ? vertex.group : capsuleTitle(catalogue, vertex) }))
    .filter(({ vertex, title }) =>
      fitsWords(`${vertex.id} ${vertex.label ?? ""} ${title} ${portNames(vertex)}`, wanted),
    )
    .sort((a, b) => Number(b.vertex.id === wanted) - Number(a.vertex.id === wanted))
    .slice(0, MOST_CHOICES)
    .flatMap(({ vertex, title }): Choice[] => {
      const named = vertex.label ? `${vertex.id} · ${vertex.label}` : vertex.id;
      const { after } = quick;
      if (quick.mode !== "connect" || !after)
        return [{ key: vertex.id, title: named, hint: title, vertex, run: () => found(vertex.id) }];
      const whole = { key: vertex.id, title: named, hint: title, vertex, run: () => connect(after, vertex.id) };
      return [whole, ...portChoices(state, after, vertex, named, wanted)];
    });
  return [...named, ...drawn, ...notes];
}

/** Every word that was typed is somewhere in the text. */
const fitsWords = (text: string, wanted: string) => {
  const whole = text.toLowerCase();
  return whole.includes(wanted) || wanted.split(/\s+/).every((one) => whole.includes(one));
};

/** A vertex with several ports is entered at any of them. */
function portChoices(state: StudioState, after: string, vertex: Vertex, title: string, wanted: string): Choice[] {
  const { catalogue, scene } = state;
  const ports = catalogue ? portsOf(catalogue, scene, vertex) : [];
  if (ports.length < 2) return [];
  const typed = wanted.split(/\s+/).at(-1) ?? "";
  const named = ports.filter((port) => typed && port.name.startsWith(typed));
  return (named.length ? named : ports).map((port) => ({
    key: `${vertex.id} ${port.name}`,
    title: `${title} → ${port.name}`,
    hint: portText(port, enteringOf(scene, vertex.id, port.name).length, words(state.language)),
    vertex,
    run: () => connect(after, vertex.id, { port: port.name }),
  }));
}

function neuronChoice(number: number, name: string): Choice {
  return {
    key: `neuron ${name}`,
    title: `n${name.replace(/^n/, "")}`,
    hint: words(useStudio.getState().language).neuronsInColumns,
    run: () => {
      chooseNeuron(number);
      document.dispatchEvent(new CustomEvent("inkcap-show", { detail: name }));
    },
  };
}

export function QuickBox() {
  const quick = useStudio((s) => s.quickAdd);
  return quick ? <OpenBox quick={quick} /> : null;
}

function OpenBox({ quick }: { quick: QuickAdd }) {
  const state = useStudio();
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const [wrong, setWrong] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const word = words(state.language);
  const choices = useMemo(() => {
    const make = quick.mode === "add" ? additions : existing;
    return make(state, quick, text).slice(0, MOST_CHOICES);
  }, [state, quick, text]);
  useEffect(() => input.current?.focus(), []);
  // What scrolling gives back is a promise in some browsers, and an effect may give back only its own end.
  useEffect(() => {
    list.current?.children[index]?.scrollIntoView({ block: "nearest" });
  }, [index]);

  const close = (refocus = true) => {
    useStudio.setState({ quickAdd: null });
    if (refocus) focusCanvas([...state.selection][0]);
  };
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    setWrong(choice.wrong ?? "");
    if (choice.wrong) return;
    close(false);
    choice.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    else if (event.key === "Enter") choose(choices[index]);
    else if (event.key === "ArrowDown") setIndex(Math.min(index + 1, choices.length - 1));
    else if (event.key === "ArrowUp") setIndex(Math.max(index - 1, 0));
    else return;
    event.preventDefault();
  };
  const [x, y] = quick.screen ?? [window.innerWidth / 2 - 180, Math.max(90, window.innerHeight * 0.2)];
  const place = {
    left: Math.max(8, Math.min(x, window.innerWidth - 376)),
    top: Math.max(8, Math.min(y, window.innerHeight - 390)),
  };
  const title = { add: quick.after ? word.addNext : word.addWhat, connect: `${word.connectTo} …`, find: word.find }[
    quick.mode
  ];
  return (
    <>
      <div className="veil" onPointerDown={() => close()} />
      <div className="quick" role="dialog" aria-label={title} style={place} onKeyDown={onKeyDown}>
        <input
          ref={input}
          value={text}
          placeholder={title}
          aria-label={title}
          role="combobox"
          aria-expanded="true"
          aria-controls="quick-list"
          aria-activedescendant={choices[index] ? `quick-${index}` : undefined}
          onChange={(event) => {
            setText(event.target.value);
            setIndex(0);
            setWrong("");
          }}
        />
        <div className="quick-list" id="quick-list" role="listbox" aria-label={title} ref={list}>
          {choices.map((choice, i) => (
            <div
              key={choice.key}
              id={`quick-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === index}
              className={i === index ? "on" : ""}
              onPointerMove={() => setIndex(i)}
              onPointerDown={(event) => {
                event.preventDefault();
                choose(choice);
              }}
            >
              <Icon choice={choice} state={state} />
              <b>{choice.title}</b>
              <small>{choice.hint}</small>
            </div>
          ))}
          {!choices.length && <p>{word.nothingFound}</p>}
        </div>
        {wrong && (
          <p className="wrong" role="alert">
            {wrong}
          </p>
        )}
        {quick.mode === "add" && <footer>2D-ReLU kernels=32 kernel=5 · 2D-data 28x28x1</footer>}
      </div>
    </>
  );
}

function Icon({ choice, state }: { choice: Choice; state: StudioState }) {
  const { catalogue, theme } = state;
  const symbol = choice.sign && catalogue ? connectionSymbol(catalogue, choice.sign) : undefined;
  const capsule = choice.vertex && !isUse(choice.vertex) ? choice.vertex : undefined;
  const glyph = choice.face?.symbol.glyph ?? catalogue?.capsules.find((one) => one.id === capsule?.symbol)?.glyph;
  return (
    <span className="quick-icon">
      {symbol && <SmallSign symbol={symbol} />}
      {glyph ? (
        <SmallGlyph glyph={glyph} rank={choice.face?.rank ?? capsule?.rank ?? 1} theme={theme} />
      ) : (
        <i className="small-group" />
      )}
    </span>
  );
}
