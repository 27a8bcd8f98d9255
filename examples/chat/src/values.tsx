// How names and values of records are written, wherever the page shows them.

import { Fragment, type ReactNode } from "react";

const DAY = /(\d{4}-\d\d-\d\d)/;
const MOMENT = /^\d{4}-\d\d-\d\dT/;

/** "closeDate" and "next_step" as a reader says them. */
export const worded = (name: string) => name.replace(/([A-Z])/g, " $1").replace(/_/g, " ").toLowerCase();

/** A text whose days stay on one line: a browser would break them at a hyphen. */
export function words(text: string): ReactNode {
  return text.split(DAY).map((piece, place) =>
    place % 2 ? (
      <span key={place} className="whole">
        {piece}
      </span>
    ) : (
      <Fragment key={place}>{piece}</Fragment>
    ),
  );
}

/** A value of a record; of another record its name. */
export function told(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (Array.isArray(value)) return value.map(told).join(", ") || "–";
  if (typeof value === "object") {
    const { name, subject, email } = value as Record<string, unknown>;
    return String(name ?? subject ?? email ?? JSON.stringify(value));
  }
  const text = String(value);
  return MOMENT.test(text) ? new Date(text).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : text;
}
