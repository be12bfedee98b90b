export const TARGETS = ['staging', 'production'] as const;
export type Target = (typeof TARGETS)[number];

/** The answer that releases nothing. */
export const HOLD = 'hold';

export function isTarget(value: unknown): value is Target {
  return TARGETS.includes(value as Target);
}
