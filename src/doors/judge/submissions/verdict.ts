// Verdicts: short forms for programs, words for people.

export const VERDICTS = ['AC', 'WA', 'TLE', 'MLE', 'OLE', 'RE', 'CE', 'SE'] as const
export type Verdict = (typeof VERDICTS)[number]

export const STATUS_TEXT = {
  AC: 'Accepted',
  WA: 'Wrong Answer',
  TLE: 'Time Limit Exceeded',
  MLE: 'Memory Limit Exceeded',
  OLE: 'Output Limit Exceeded',
  RE: 'Runtime Error',
  CE: 'Compile Error',
  SE: 'System Error',
} as const satisfies Record<Verdict, string>
