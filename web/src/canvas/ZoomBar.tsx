import { Panel, useReactFlow, useViewport } from "@xyflow/react";
import { fitView } from "../app/actions";
import { useStudio } from "../app/store";
import { words } from "../app/words";

export function ZoomBar() {
  const flow = useReactFlow();
  const { zoom } = useViewport();
  const word = words(useStudio((s) => s.language));
  return (
    <Panel position="bottom-left" className="zoom-bar">
      <button type="button" aria-label={word.zoomOut} title={`${word.zoomOut} (−)`} onClick={() => void flow.zoomOut()}>
        −
      </button>
      <button
        type="button"
        className="percent"
        title="100 % (0)"
        onClick={() => void flow.zoomTo(1, { duration: 150 })}
      >
        {Math.round(zoom * 100)} %
      </button>
      <button type="button" aria-label={word.zoomIn} title={`${word.zoomIn} (+)`} onClick={() => void flow.zoomIn()}>
        +
      </button>
      <button type="button" aria-label={word.fit} title={`${word.fit} (1)`} onClick={fitView}>
        ⤢
      </button>
    </Panel>
  );
}
