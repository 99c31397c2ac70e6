/** What the callback says: it is spread into its body. */
export type Solution =
  | { status: 'success'; answer: string; metadata: Readonly<Record<string, unknown>> }
  | { status: 'failed'; error_code: string; error_message: string }
