import type { ReactNode } from "react";
import type { Cited } from "./run";

interface Props {
  cited: Cited;
  show: (cited: Cited) => void;
  children?: ReactNode;
}

/** A record's name that leads to the record. A link, since it breaks between words where a button would not. */
export function RecordLink({ cited, show, children }: Props) {
  return (
    <a
      href={`#${cited.kind}:${cited.id}`}
      title={`Show this ${cited.kind}`}
      onClick={(event) => {
        event.preventDefault();
        show(cited);
      }}
    >
      {children ?? cited.label}
    </a>
  );
}
