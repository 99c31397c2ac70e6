/** What the callback says: it is spread into its body. */
export type Solution =
  | { status: 'success'; answer: string; metadata: Readonly<Record<string, unknown>> }
  | { status: 'failed'; error_code: string; error_message: string }

/** Of a challenge's right answer, and so of any that could be it. */
export const ANSWER_CHARS_MAX = 1_000_000
