// Draws the gateway's Vega-Lite specifications, without evaluating code: expressions are interpreted.

import type { VisualizationSpec } from "vega-embed";
import type { Column, Value } from "./answers";
import { element } from "./dom";

const WIDE = 640;

/** Draws into the frame, as wide as that is; Vega is loaded with the first chart. */
export async function draw(
  frame: HTMLElement,
  spec: Record<string, unknown>,
  columns: Column[],
  rows: Value[][],
): Promise<void> {
  const { default: embed } = await import("vega-embed");
  const values = rows.map((row) => Object.fromEntries(columns.map(({ name, kind }, index) => [name, shown(kind, row[index])])));
  const filled = { ...spec, data: { ...(spec.data as object), values } };
  const drawing = element("div"); // which Vega names after itself
  frame.replaceChildren(drawing);
  await embed(drawing, { ...filled, ...sizeOf(spec, frame.clientWidth) } as VisualizationSpec, {
    mode: "vega-lite",
    ast: true,
    renderer: "svg",
    actions: false,
    logLevel: 1, // errors
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
    config: {
      background: "transparent",
      font: getComputedStyle(frame).fontFamily,
      view: { stroke: null },
      mark: { tooltip: true },
      axis: { labelFontSize: 12, titleFontSize: 12, labelLimit: frame.clientWidth / 3, maxExtent: frame.clientWidth },
      header: { labelFontSize: 12, labelFontWeight: "bold" },
      title: { anchor: "start", fontSize: 13 },
      axisX: { labelOverlap: true },
      legend: {
        orient: frame.clientWidth < WIDE ? "bottom" : "right",
        columns: frame.clientWidth < WIDE ? 2 : 1,
        labelFontSize: 12,
        labelLimit: frame.clientWidth / 3,
        symbolLimit: 0,
      },
      range: { category: { scheme: "tableau20" } },
    },
  });
}

/** Bars with names are as high as there are names. Rows of currencies are as wide as fits beside names and figures. */
function sizeOf(spec: Record<string, unknown>, width: number): object {
  const encoding = spec.encoding as { y: { type: string }; row?: object };
  const height = encoding.y.type === "quantitative" ? { height: encoding.row ? 140 : 280 } : {};
  if (encoding.row) return { ...height, width: width - Math.min(200, width / 2.5) };
  return { ...height, width, autosize: { type: "fit-x", contains: "padding" } };
}

/** Nothing is a group of its own, and called what the table calls it. */
const shown = (kind: Column["kind"], value: Value = null) => (value === null && kind === "text" ? "–" : value);
