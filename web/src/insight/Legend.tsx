import { useStudio } from "../app/store";
import { words } from "../app/words";
import { css, sequential } from "./colour";
import { reading, shareOf, TOGETHER, ticksOf } from "./measures";
import { useInsight } from "./mode";
import { measureWord, tellsWord } from "./naming";

const STOPS = 24;

/** What the colours mean: the scale with its numbers, whether it is logarithmic, and what groups show. */
export function Legend() {
  const word = words(useStudio((s) => s.language));
  const theme = useStudio((s) => s.theme);
  const groups = useStudio((s) => s.scene.use.size > 0);
  const measure = useInsight((s) => s.measure);
  const domain = useInsight((s) => s.shown.domain);
  const strange = useInsight((s) => s.shown.strange.size > 0);
  const colours = Array.from({ length: STOPS + 1 }, (_, i) => css(sequential(i / STOPS, theme)));
  const ticks = domain ? ticksOf(domain) : [];
  const how = { sum: word.groupSum, norm: word.groupNorm, most: word.groupMost }[TOGETHER[measure]];
  return (
    <figure className="insight-legend" aria-label={word.legend}>
      <figcaption title={word[tellsWord(measure)]}>
        {word[measureWord(measure)]}
        {domain?.logarithmic && <small> · {word.logarithmic}</small>}
      </figcaption>
      {domain ? (
        <div
          className="legend-scale"
          role="img"
          aria-label={`${reading(domain.low, measure)} – ${reading(domain.high, measure)}`}
        >
          <i style={{ background: `linear-gradient(to right, ${colours.join(", ")})` }} />
          {ticks.map((tick) => (
            <span key={tick} style={{ left: `${100 * shareOf(tick, domain)}%` }}>
              {reading(tick, measure)}
            </span>
          ))}
        </div>
      ) : (
        <span className="soft">{word.noNumber}</span>
      )}
      <small className="legend-none">
        <i /> {strange ? word.notInRun : word.noNumber}
      </small>
      {groups && <small className="soft">{how}</small>}
    </figure>
  );
}
