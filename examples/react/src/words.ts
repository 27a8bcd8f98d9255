// Amounts, times and events as people read them.

/** An exact amount, which is a string so that no digit is lost on the way. */
export function money(amount: string, currency: string): string {
  // Numbers are formatted from their text, not through a float.
  return new Intl.NumberFormat(undefined, { style: "currency", currency }).format(amount as Intl.StringNumericLiteral);
}

export function shortMoney(amount: string, currency: string): string {
  return new Intl.NumberFormat(undefined, {
    style: "currency",
    currency,
    notation: "compact",
    maximumFractionDigits: 1,
  }).format(amount as Intl.StringNumericLiteral);
}

export const day = (moment: string) =>
  new Date(moment).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" });

export const clock = (moment: string) =>
  new Date(moment).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });

/** "deal_stage_changed" and who did it, as a sentence. */
export function sentence(type: string, data: unknown, who: string | undefined): string {
  const name = typeof data === "object" && data && "name" in data ? ` “${String(data.name)}”` : "";
  return `${type.replaceAll("_", " ")}${name}${who ? `, by ${who}` : ""}`;
}
