/** What is being read, and whether something has happened since. */
const underWay = new Map<string, { isOld: boolean }>()

/** Reads now; or, where that is being read, once more after it: its answer may be older than what happened now. */
export async function readAgain(key: string, read: () => Promise<unknown>): Promise<void> {
  const running = underWay.get(key)
  if (running !== undefined) return void (running.isOld = true)
  const mine = { isOld: true }
  underWay.set(key, mine)
  try {
    while (mine.isOld) {
      mine.isOld = false
      await read()
    }
  } finally {
    underWay.delete(key)
  }
}
