import type { Capsule, Connection } from "../api/types";
import { select } from "../app/actions";
import { perform } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { MAIN_PORT } from "../model/compose";
import { vertexOf } from "../model/drawing";
import { structureText } from "../model/findings";
import { enteringOf, intoPort, moveEarlier, portsOf } from "../model/ports";
import { capsuleAt } from "../model/within";
import { useSight } from "./Cards";

/** The ports of a capsule that has several: what each is for, what enters it, and in which order where that counts. */
export function PortList({ capsule }: { capsule: Capsule }) {
  const catalogue = useStudio((s) => s.catalogue);
  const scene = useStudio((s) => s.scene);
  const checked = capsuleAt(useSight(), capsule.id);
  const word = words(useStudio((s) => s.language));
  const ports = catalogue ? portsOf(catalogue, scene, capsule) : [];
  if (ports.length < 2 && ports[0]?.kind !== "keeps") return null;
  return (
    <>
      <h3>{word.ports}</h3>
      <dl className="port-list">
        {ports.map((port) => {
          const lines = enteringOf(scene, capsule.id, port.name);
          const keeps = port.kind === "keeps" && lines.length > 1;
          const state = lines.length ? "entered" : port.open ? "open" : "needed";
          return (
            <div key={port.name} data-port={port.name}>
              <dt>
                <i className={`port-dot ${state}`} aria-hidden="true" />
                <b>{port.name}</b>
                <code>
                  {structureText(port.name === MAIN_PORT ? checked?.total_input : checked?.ports?.[port.name])}
                </code>
              </dt>
              <dd className="soft">{port.help}</dd>
              {!lines.length && (
                <dd className={port.open ? "soft" : "bad"}>{port.open ? word.portOptional : word.portNeeded}</dd>
              )}
              {lines.map((line, i) => (
                <dd key={line.id} className="port-line">
                  {keeps && (
                    <span className="mono" title={word.portKeeps}>
                      {i + 1}
                    </span>
                  )}
                  <button type="button" className="link" onClick={() => select([line.id])}>
                    {line.back}
                  </button>
                  {keeps && i > 0 && (
                    <button
                      type="button"
                      aria-label={`${word.earlier}: ${line.back}`}
                      title={word.earlier}
                      onClick={() => perform(moveEarlier(scene, line))}
                    >
                      ↑
                    </button>
                  )}
                </dd>
              ))}
            </div>
          );
        })}
      </dl>
    </>
  );
}

/** The port that a connection enters, where there are several to choose from. */
export function PortChoice({ connection }: { connection: Connection }) {
  const catalogue = useStudio((s) => s.catalogue);
  const scene = useStudio((s) => s.scene);
  const word = words(useStudio((s) => s.language));
  const front = vertexOf(scene, connection.front);
  const ports = catalogue && front ? portsOf(catalogue, scene, front) : [];
  if (ports.length < 2) return null;
  const now = connection.port ?? MAIN_PORT;
  return (
    <div className="fields">
      <div className="field wide" title={ports.find((port) => port.name === now)?.help}>
        <label htmlFor="connection-port">{word.portOf}</label>
        <select
          id="connection-port"
          value={now}
          onChange={(event) => perform(intoPort(connection, event.target.value))}
        >
          {ports.map((port) => (
            <option key={port.name} value={port.name}>
              {port.name}
              {port.open ? ` (${word.portOptional})` : ""}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}
