/** What keeps a process from starting and can be mended by whoever started it: shown as one sentence, with no stack. */
export class StartError extends Error {
  override name = 'StartError'
}
