import { describe, expect, it } from "vitest";
import type { Catalogue, Connection } from "../api/types";
import { applyEdit, fromFile } from "../model/drawing";
import { endOf, enteringOf, intoPort, moveEarlier, placeOf, portText } from "../model/ports";
import { measured, qualitiesOf, qualityOf, sharesOf } from "../runs/listing";
import { judge, legendOf, type Marks, outlineOf, overlap, pixelShares, spokenMarks, sureBoxes } from "./marks";
import { marksChinese, marksEnglish } from "./words";

const box = (label: number, score: number | null, ...corners: [number, number, number, number]) => ({
  label,
  name: ["", "circle", "square"][label] ?? "",
  score,
  corners,
});
const marks = (...boxes: ReturnType<typeof box>[]): Marks => ({
  height: 10,
  width: 10,
  classes: ["background", "circle", "square"],
  boxes,
  pixels: null,
});

describe("what is where", () => {
  it("judges boxes by their class and their place, each true one once", () => {
    const there = marks(box(1, null, 0, 0, 4, 4), box(2, null, 5, 5, 9, 9));
    const found = marks(
      box(1, 0.9, 0, 0, 4, 4),
      box(1, 0.8, 0, 0, 4, 4.2),
      box(1, 0.7, 5, 5, 9, 9),
      box(2, 0.2, 5, 5, 9, 9),
    );
    expect(judge(found, there, 0.5)).toEqual({ right: 1, extra: 2, missed: 1 });
    expect(judge(found, there, 0)).toEqual({ right: 2, extra: 2, missed: 0 });
    expect(judge(found, null, 0)).toBeNull();
  });

  it("knows what two boxes share", () => {
    expect(overlap(box(1, 1, 0, 0, 2, 2), box(1, 1, 1, 0, 3, 2))).toBeCloseTo(1 / 3);
    expect(overlap(box(1, 1, 0, 0, 2, 2), box(1, 1, 2, 2, 3, 3))).toBe(0);
  });

  it("says what is found, in words", () => {
    const found = marks(box(1, 0.914, 0, 0, 4, 4), box(2, 0.1, 5, 5, 9, 9));
    expect(spokenMarks(found, 0.5, "nothing")).toBe("circle 91 %");
    expect(spokenMarks(found, 0.95, "nothing")).toBe("nothing");
    expect(spokenMarks({ ...marks(), pixels: [[0, 0, 1, 2]] }, 0, "nothing")).toBe("circle 25 %, square 25 %");
    expect(sureBoxes(marks(box(1, null, 0, 0, 1, 1)), 0.9)).toHaveLength(1);
    expect(legendOf([null, found])).toEqual([
      [1, "circle"],
      [2, "square"],
    ]);
  });

  it("draws the edges between classes once", () => {
    expect(outlineOf([[0, 1]])).toBe("M1 0v1");
    expect(
      outlineOf([
        [0, 0],
        [2, 0],
      ]),
    ).toBe("M0 1h1M1 1v1");
    expect([
      ...pixelShares([
        [0, 1],
        [1, 1],
      ]),
    ]).toEqual([
      [0, 0.25],
      [1, 0.75],
    ]);
  });

  it("has all words in both languages", () => {
    expect(Object.keys(marksChinese)).toEqual(Object.keys(marksEnglish));
  });
});

describe("ports", () => {
  const ports = [
    { name: "in", kind: "keeps", help: "offsets", open: false, ranks: {} },
    { name: "boxes", kind: "sums", help: "", open: true, ranks: {} },
  ];
  const catalogue = { capsules: [{ id: "selection", ports }], connections: [] } as unknown as Catalogue;
  const line = (id: string, port?: string): Connection => ({
    id,
    symbol: "transfer",
    back: "a",
    front: "s",
    ...(port ? { port } : {}),
  });
  const drawing = fromFile({
    name: "d",
    capsules: [{ id: "s", symbol: "selection", rank: 2 }],
    connections: [line("one"), line("two"), line("three", "boxes"), line("four")],
  });
  const at = (id: string) => drawing.connection.get(id) as Connection;

  it("number the connections that they keep apart, and no others", () => {
    expect(["one", "two", "three", "four"].map((id) => placeOf(catalogue, drawing, at(id)))).toEqual([1, 2, null, 3]);
    expect(endOf(catalogue, drawing, at("three"))?.name).toBe("boxes");
  });

  it("change their order, and what enters them", () => {
    const moved = moveEarlier(drawing, at("four"));
    const after = moved && applyEdit(drawing, moved);
    expect(after && enteringOf(after, "s", "in").map((one) => one.id)).toEqual(["one", "four", "two"]);
    expect(moveEarlier(drawing, at("one"))).toBeUndefined();
    expect(intoPort(at("three"), "in").patches).toEqual([{ put: "connection", id: "three", record: line("three") }]);
    expect(intoPort(at("one"), "boxes").patches).toEqual([
      { put: "connection", id: "one", record: line("one", "boxes") },
    ]);
  });

  it("say whether they may stay open", () => {
    const [needed, open] = ports as never as Parameters<typeof portText>[0][];
    expect(needed && portText(needed, 0, marksEnglish)).toBe("port in · offsets · needs a connection");
    expect(open && portText(open, 0, marksEnglish)).toBe("port boxes · may stay open");
    expect(needed && portText(needed, 2, marksEnglish)).toContain("in this order");
  });
});

describe("measures", () => {
  it("are told by the most telling one, shares in per cent", () => {
    const values = { val_loss: 1, val_accuracy: 0.9, val_mean_iou: 0.4, val_mae: 0.25, "val_map.rpn": 0.1 };
    expect(qualitiesOf(values).map((one) => one.name)).toEqual(["mean_iou", "accuracy", "mae"]);
    expect(sharesOf({ val_mae: 0.25 })).toEqual([]);
    expect(measured("val_map", 0.5326)).toBe("53.3 %");
    expect(measured("mae", 0.25)).toBe("0.2500");
    expect(qualityOf("val_map.detections")).toBe("map");
    expect(qualityOf("val_loss")).toBeUndefined();
  });
});
