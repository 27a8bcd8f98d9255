import type { ReactNode } from "react";
import type { Citation } from "./gateway";
import { RecordLink } from "./RecordLink";
import type { Cited } from "./run";
import { words } from "./values";

const ITEM = /^\s*(?:[-*•]|(\d{1,4})[.)])\s+/;

interface Props {
  text: string;
  citations: Citation[];
  show: (cited: Cited) => void;
}

/** One line without its mark, and the place of its first code point in the whole text. */
interface Line {
  points: string[];
  begin: number;
  number: number | null;
}

interface Block {
  kind: "text" | "list" | "numbers";
  lines: Line[];
}

/** A text, line by line, whose citations lead to their records. Places are counted in code points. */
export function Prose({ text, citations, show }: Props) {
  const sorted = [...citations].sort((one, other) => one.start - other.start);
  const shown = (line: Line) => pieces(line, sorted, show);
  return (
    <div className="prose">
      {blocksOf(text).map(({ kind, lines }) => {
        const key = lines[0]!.begin;
        if (kind === "text") return <p key={key}>{shown(lines[0]!)}</p>;
        const items = lines.map((line) => (
          <li key={line.begin} value={line.number ?? undefined}>
            {shown(line)}
          </li>
        ));
        return kind === "list" ? <ul key={key}>{items}</ul> : <ol key={key}>{items}</ol>;
      })}
    </div>
  );
}

/** The lines of a text; those of a list that follow one another are one. */
function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let begin = 0;
  for (const line of text.split("\n")) {
    const mark = ITEM.exec(line);
    const number = mark?.[1] === undefined ? null : Number(mark[1]);
    const kind = !mark ? "text" : number === null ? "list" : "numbers";
    const points = Array.from(line);
    const skipped = mark ? Array.from(mark[0]).length : 0;
    const found = { points: points.slice(skipped), begin: begin + skipped, number };
    const last = blocks.at(-1);
    if (kind !== "text" && last?.kind === kind) last.lines.push(found);
    else blocks.push({ kind, lines: [found] });
    begin += points.length + 1;
  }
  return blocks;
}

function pieces({ points, begin }: Line, sorted: Citation[], show: (cited: Cited) => void): ReactNode[] {
  const found: ReactNode[] = [];
  const end = begin + points.length;
  let done = begin;
  for (const cited of sorted) {
    if (cited.start < done || cited.end > end) continue;
    found.push(<span key={done}>{words(points.slice(done - begin, cited.start - begin).join(""))}</span>);
    found.push(
      <RecordLink key={`record ${cited.start}`} cited={cited} show={show}>
        {words(points.slice(cited.start - begin, cited.end - begin).join(""))}
      </RecordLink>,
    );
    done = cited.end;
  }
  return [...found, <span key={done}>{words(points.slice(done - begin).join(""))}</span>];
}
