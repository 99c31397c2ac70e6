// Text of strangers inside a sentence. A name with a mark such as U+202E would turn the rest of the sentence around.
// In elements `<bdi>` or `dir="auto"` keep it apart; here is the same for titles, labels and notices, which are plain text.
const FIRST_STRONG_ISOLATE = '\u2068'
const POP_ISOLATE = '\u2069'

/** Beyond the Latin letters, whose direction is that of the sentences here. */
const MAY_TURN = /[\u0250-\uffff]/
/** One of these inside would end the isolation, or leave it open. */
const ISOLATES = /[\u2066-\u2069]/g

export const isolated = (text: string): string =>
  MAY_TURN.test(text) ? FIRST_STRONG_ISOLATE + text.replace(ISOLATES, '') + POP_ISOLATE : text
