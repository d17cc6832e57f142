// From numbers to places on a figure, and where an axis has its marks.

/** Round numbers (1, 2, 2.5 or 5 times a power of ten) that cover low to high with about n steps. */
export function roundTicks(low, high, n = 5) {
  const step = roundStep((high - low || Math.abs(high) || 1) / n);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(Math.ceil(high / step - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 2.5, 5, 10].find((times) => times * power >= least * (1 - 1e-9));
}

/** Whole numbers from low to high, at most n of them, evenly spaced. */
export function wholeTicks(low, high, n) {
  const step = Math.max(1, Math.ceil(roundStep(Math.max((high - low) / Math.max(1, n - 1), 1e-9))));
  const first = step === 1 ? low : Math.ceil(low / step) * step;
  const found = [];
  for (let at = first; at <= high; at += step) found.push(at);
  return found.length ? found : [low];
}

/** Powers of two that cover low to high. */
export function powerTicks(low, high) {
  const first = Math.floor(Math.log2(Math.max(1, low)) + 1e-9);
  const last = Math.max(Math.ceil(Math.log2(Math.max(1, high)) - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, i) => 2 ** (first + i));
}

/** A function from [low, high] to [from, to]; a domain of one number lies in the middle. */
export function scale([low, high], [from, to], via = (x) => x) {
  const a = via(low);
  const width = via(high) - a;
  return (x) => (width === 0 ? (from + to) / 2 : from + ((via(x) - a) / width) * (to - from));
}
