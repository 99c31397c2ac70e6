// A match on a terminal: two players on a line, redrawn at every tick, and keys that move you.
import type { ArenaSession, SessionState } from '@reeve/sdk/arena'
import { plain } from '../terminal.ts'

const HALF_WIDTH = 30
const NAME_CHARS_MAX = 16
const CTRL_C = '\u0003'

const KEYS: ReadonlyMap<string, number> = new Map([
  ['\u001b[C', 1],
  ['\u001b[D', -1],
  ['d', 1],
  ['a', -1],
  ['1', 1],
  ['2', 2],
  ['3', 3],
  ['!', -1],
  ['@', -2],
  ['#', -3],
])

export interface Screen {
  close(): void
}

export function openScreen(session: ArenaSession, username: string): Screen {
  const { stdin, stdout } = process
  const onKey = (data: Buffer) => {
    const key = String(data)
    if (key === CTRL_C || key === 'q') process.exit(130)
    const delta = KEYS.get(key)
    if (delta !== undefined) session.move(delta)
  }
  stdin.setRawMode(true)
  stdin.resume()
  stdin.on('data', onKey)
  stdout.write(`Right or d, left or a: move one step. 1 2 3: move that many. q: leave.\n${'\n'.repeat(3)}`)
  const draw = (state: SessionState) => stdout.write(`\u001b[3A${linesOf(session, state, username).join('\n')}\n`)
  draw(session.state)
  const stop = session.onState(draw)

  return {
    close() {
      stop()
      stdin.off('data', onKey)
      stdin.setRawMode(false)
      stdin.pause()
    },
  }
}

/** One line for each player, and the tick. */
function linesOf(session: ArenaSession, { tick, players }: SessionState, username: string): string[] {
  const lines = players.map(({ userId, position }) => {
    const name = session.participants.find((one) => one.userId === userId)?.username ?? ''
    const place = Math.max(-HALF_WIDTH, Math.min(HALF_WIDTH, position)) + HALF_WIDTH
    const track = '·'.repeat(2 * HALF_WIDTH + 1)
    const mark = name === username ? '@' : 'o'
    const shown = plain(name).slice(0, NAME_CHARS_MAX).padEnd(NAME_CHARS_MAX)
    return `\u001b[2K${shown} ${track.slice(0, place)}${mark}${track.slice(place + 1)} ${position}`
  })
  return [...lines, `\u001b[2Ktick ${tick}`]
}
