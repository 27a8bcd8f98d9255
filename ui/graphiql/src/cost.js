/** What an operation cost, in words: `{ text, title }`; null where the answer does not say. */
export function inWords(cost) {
  if (!cost) return null;
  const { requested, actual, throttle } = cost;
  return {
    text: `Cost ${points(actual)} · ${throttle.available.toLocaleString("en")} of ${throttle.maximum.toLocaleString("en")} left`,
    title: `Asked for ${points(requested)}, took ${points(actual)}; ${throttle.restoreRate} come back each second`,
  };
}

/** The answer without its cost, and the cost: `{ answer, cost }`. */
export function apart(answer) {
  if (!answer?.extensions?.cost) return { answer, cost: null };
  const { extensions, ...rest } = answer;
  const { cost, ...others } = extensions;
  return { answer: Object.keys(others).length > 0 ? { ...rest, extensions: others } : rest, cost };
}

function points(number) {
  return `${number.toLocaleString("en")} ${number === 1 ? "point" : "points"}`;
}
