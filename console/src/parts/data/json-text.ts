/** Throws unless the text is a JSON object. `what` names it in the sentence: "The payload". */
export function assertJsonObject(what: string, text: string): void {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Error(`${what} is not JSON: ${error instanceof Error ? error.message : ''}`, { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${what} is a JSON object: {…}.`)
  }
}
