import type { ReactNode } from "react";
import type { Citation } from "./gateway";
import { RecordLink } from "./RecordLink";
import type { Cited } from "./run";

const ITEM = /^(- |\d+\. )/;

interface Props {
  text: string;
  citations: Citation[];
  show: (cited: Cited) => void;
}

/** A text, line by line, whose citations lead to their records. Places are counted in code points. */
export function Prose({ text, citations, show }: Props) {
  const sorted = [...citations].sort((one, other) => one.start - other.start);
  let begin = 0;
  return (
    <div className="prose">
      {text.split("\n").map((line, place) => {
        const points = Array.from(line);
        const end = begin + points.length;
        const within = sorted.filter((cited) => cited.start >= begin && cited.end <= end);
        const pieces: ReactNode[] = [];
        let done = begin;
        for (const cited of within) {
          if (cited.start < done) continue;
          pieces.push(points.slice(done - begin, cited.start - begin).join(""));
          pieces.push(
            <RecordLink key={cited.start} cited={cited} show={show}>
              {points.slice(cited.start - begin, cited.end - begin).join("")}
            </RecordLink>,
          );
          done = cited.end;
        }
        pieces.push(points.slice(done - begin).join(""));
        begin = end + 1;
        return (
          <p key={place} className={ITEM.test(line) ? "item" : ""}>
            {pieces}
          </p>
        );
      })}
    </div>
  );
}
