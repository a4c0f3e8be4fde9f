import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Facts } from "../panels/Cards";
import { fill } from "../theory/words";
import { AnswerLine } from "./Answers";
import { type Activation, type Coupling, insightApi, type Values, type WeightValues } from "./api";
import { ExampleStrip } from "./Examples";
import { useFetched } from "./fetching";
import { Heat } from "./Heat";
import { brief, reading } from "./measures";
import { frameOf, useInsight } from "./mode";
import { Bars, farthest, Raster, wrapped } from "./Pictures";
import { itemsOf } from "./painting";

const told = (value: number | null | undefined) => (typeof value === "number" ? brief(value) : "–");
const shapeText = (shape: readonly number[]) => shape.join("×");

/** A scale with nought in the middle and the numbers at its ends. */
function Range({ far }: { far: number }) {
  const word = words(useStudio((s) => s.language));
  const cells = Array.from({ length: 41 }, (_, i) => (i - 20) / 20);
  return (
    <span className="range" title={word.zeroMiddle}>
      {brief(-far)}
      <Raster picture={{ rows: [cells] }} far={1} />
      {brief(far)}
    </span>
  );
}

function Kernels({ weight }: { weight: WeightValues }) {
  const word = words(useStudio((s) => s.language));
  const kernels = weight.kernels ?? [];
  const far = Math.max(0, ...kernels.map((one) => farthest(one.rows)));
  return (
    <>
      <h4>
        {word.kernels} <Range far={far} />
      </h4>
      <div className="kernels" role="img" aria-label={`${word.kernels}: ${kernels.length}, ± ${brief(far)}`}>
        {kernels.map((kernel, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a kernel is known by its place
          <Raster key={i} picture={kernel} far={far} />
        ))}
      </div>
    </>
  );
}

function Weight({ weight }: { weight: WeightValues }) {
  const word = words(useStudio((s) => s.language));
  const { matrix } = weight;
  const far = matrix ? farthest(matrix.rows) : 0;
  return (
    <section data-weight={weight.name}>
      <h3>
        {word.weightsOf} <code>{weight.name}</code>
      </h3>
      {weight.kernels && weight.kernels.length > 0 && <Kernels weight={weight} />}
      {matrix && (
        <>
          <h4>
            {matrix.whole ? "" : word.matrixBlocks} <Range far={far} />
          </h4>
          <Raster
            picture={matrix}
            className="matrix"
            label={`${weight.name} ${shapeText(weight.shape)}, ± ${brief(far)}`}
          />
        </>
      )}
      {weight.histogram && <Bars histogram={weight.histogram} label={weight.name} />}
      <Facts
        rows={[
          [word.shapeOf, shapeText(weight.shape)],
          [word.norm, told(weight.norm)],
          [`${word.meanOf} ± ${word.deviation}`, `${told(weight.mean)} ± ${told(weight.deviation)}`],
          [word.rangeOf, `${told(weight.minimum)} … ${told(weight.maximum)}`],
        ]}
      />
    </section>
  );
}

function Signals({ values }: { values: Values }) {
  const word = words(useStudio((s) => s.language));
  const { output, delta, gradient } = values;
  return (
    <>
      {output && (
        <section data-values="output">
          <h3>{word.outputOf}</h3>
          {output.histogram && <Bars histogram={output.histogram} label={word.outputOf} />}
          <Facts
            rows={[
              [word.norm, told(output.norm)],
              [`${word.meanOf} ± ${word.deviation}`, `${told(output.mean)} ± ${told(output.deviation)}`],
              ...(output.dead === null ? [] : [[word.measureDead, reading(output.dead, "dead")] as [string, string]]),
            ]}
          />
        </section>
      )}
      {delta && (
        <section data-values="delta">
          <h3>{word.deltaOf}</h3>
          {delta.histogram && <Bars histogram={delta.histogram} label={word.deltaOf} />}
          <Facts rows={[[word.norm, told(delta.norm)]]} />
        </section>
      )}
      {gradient && (
        <section data-values="gradient">
          <h3>{word.gradientOf}</h3>
          {gradient.histogram && <Bars histogram={gradient.histogram} label={word.gradientOf} />}
          <Facts rows={[[word.norm, told(gradient.norm)]]} />
        </section>
      )}
    </>
  );
}

/** What the chosen example becomes in this capsule: all its maps, or its numbers. */
function Activated({ activation }: { activation: Activation }) {
  const word = words(useStudio((s) => s.language));
  const maps = activation.maps ?? [];
  const far = Math.max(Math.abs(activation.minimum ?? 0), Math.abs(activation.maximum ?? 0));
  return (
    <section data-values="activation">
      <h3>
        {word.activationOf} <code>{shapeText(activation.shape)}</code>
      </h3>
      <h4>
        <Range far={far} />
      </h4>
      {maps.length > 0 ? (
        <div className="kernels maps" role="img" aria-label={`${word.activationOf}: ${maps.length}, ± ${brief(far)}`}>
          {maps.map((map, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a map is known by its channel
            <Raster key={i} picture={map} far={far} />
          ))}
        </div>
      ) : (
        <Raster
          picture={{ rows: wrapped(activation.row ?? [], 256) }}
          far={far}
          className="matrix"
          label={`${word.activationOf}: ${(activation.row ?? []).slice(0, 24).map(told).join(" ")}`}
        />
      )}
    </section>
  );
}

/** How much of each child goes to each parent. */
function Coupled({ coupling }: { coupling: Coupling }) {
  const word = words(useStudio((s) => s.language));
  return (
    <section data-values="coupling">
      <h3>{fill(word.couplingOf, { n: coupling.iterations })}</h3>
      <Heat
        rows={coupling.rows}
        across={coupling.to}
        down={coupling.from}
        label={fill(word.couplingOf, { n: coupling.iterations })}
        axes={[word.couplingFrom, word.couplingTo]}
        even
      />
    </section>
  );
}

function OfItem({ item }: { item: string }) {
  const word = words(useStudio((s) => s.language));
  const run = useInsight((s) => s.run);
  const frame = useInsight(frameOf);
  const activation = useInsight((s) => s.answer?.activations[item]);
  const coupling = useInsight((s) => s.answer?.couplings[item]);
  const key = run && frame !== null ? `${run} ${item} ${frame}` : null;
  const { found, why, busy } = useFetched("values", key, () => insightApi.values(run ?? "", item, frame));
  return (
    <div className={`values ${busy ? "busy" : ""}`} data-item={found?.id} data-epoch={found?.epoch}>
      <h2>
        {found?.title ?? item}{" "}
        <span className="soft">
          {item} · {word.epochOf} {found?.epoch ?? "…"}
        </span>
      </h2>
      {why && <p className="soft">{why}</p>}
      {activation && <Activated activation={activation} />}
      {coupling && <Coupled coupling={coupling} />}
      {found?.weights.map((weight) => (
        <Weight key={weight.name} weight={weight} />
      ))}
      {found && <Signals values={found} />}
      {found && !found.weights.length && !found.output && !found.delta && <p className="soft">{word.noValues}</p>}
    </div>
  );
}

/** The inspector's tab of values: of the selected capsule or connection, with examples to be sent through. */
export function ValuesCard({ id }: { id: string | undefined }) {
  const word = words(useStudio((s) => s.language));
  const path = useStudio((s) => s.path);
  const group = useStudio((s) => s.scene.use.has(id ?? ""));
  const line = useStudio((s) => `${s.path}${id}` in (s.report?.structures.connections ?? {}));
  const signals = useInsight((s) => s.signals);
  const why = useInsight((s) => s.why);
  const subject = useInsight((s) => s.subject);
  // The playground has the same examples.
  const playing = useInsight((s) => s.sheet === "playground");
  if (!signals?.epochs.length) return <p className="soft">{why || word.noRunHereHint}</p>;
  const items = id && !group ? itemsOf(signals, path, id) : [];
  // A line without weights is not measured, yet belongs to the run.
  const item = items[0] ?? (line ? `${path}${id}` : undefined);
  return (
    <>
      {!playing && <ExampleStrip />}
      {subject ? <AnswerLine /> : !playing && <p className="soft">{word.noExample}</p>}
      {!id && <p className="soft">{word.chooseThing}</p>}
      {group && <p className="soft">{word.openToSee}</p>}
      {id && !group && !item && <p className="soft">{word.notInRun}</p>}
      {item && <OfItem key={item} item={item} />}
    </>
  );
}
